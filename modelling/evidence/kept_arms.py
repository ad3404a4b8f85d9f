"""The arms of a workload that were read once: in the memory of each process, and in a file for all of a machine.

What is published does not change until rows of it end, so what is kept stays true; a process that has not read the arms
finds them in the file in a hundredth of the time that the database takes.
"""

import logging
import pickle
import zlib
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

import pandas as pd
from django.core.cache import caches

from kdb import __version__
from kdb.disk_path import SETTINGS

logger = logging.getLogger(__name__)


class Kept(NamedTuple):
    """Arms, and of each case study that was read for them what would have to be read again if it differed."""

    case_studies: dict[int, Any]
    arms: pd.DataFrame | None


NOTHING = Kept({}, None)
_unpickled: tuple[str, Kept] = ("", NOTHING)  # what was asked for last, and its stamp: an answer asks six times


def in_memory(name: str) -> Kept:
    """Return what this process has kept; NOTHING where it has none. Nobody changes it."""
    global _unpickled
    stamp = caches["arms"].get(_key(name), "")
    last, kept = _unpickled
    if stamp != last:
        kept = caches["arms"].get(f"{_key(name)}:arms", NOTHING)
        _unpickled = (stamp, kept)
    return kept


def in_file(name: str) -> Kept:
    """Return what any process of this machine has kept; NOTHING where none has, or the file cannot be read."""
    try:
        kept: Kept = caches["arms-in-files"].get(_key(name), NOTHING)
    except (OSError, EOFError, zlib.error, pickle.UnpicklingError) as error:  # cut off where the power failed
        logger.warning("kept arms cannot be read, and are read from the database name=%s reason=%r", name, error)
        return NOTHING
    return kept


def keep_in_memory(name: str, kept: Kept) -> None:
    caches["arms"].set(f"{_key(name)}:arms", kept)
    caches["arms"].set(_key(name), uuid4().hex)


def keep(name: str, kept: Kept) -> None:
    """Keep it for this process, and for all where there is room."""
    keep_in_memory(name, kept)
    try:
        caches["arms-in-files"].set(_key(name), kept)
    except OSError as error:
        logger.warning("arms cannot be kept in a file name=%s reason=%s", name, error.strerror)


def _key(name: str) -> str:
    """Return the key of what this version of KDB keeps: a column for each setting."""
    return sha256(f"{name} {__version__} {pd.__version__} {' '.join(SETTINGS)}".encode()).hexdigest()
