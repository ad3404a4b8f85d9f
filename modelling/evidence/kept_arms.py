"""Cache the arms of a workload in the memory of each process, and in a file for all processes of a machine.

Published arms do not change until rows end, so the cache stays valid. Reading the file takes a hundredth of the time of
the database.
"""

import json
import logging
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pandas as pd
from django.core.cache import caches

from kdb import __version__
from kdb.disk_path import SETTINGS

logger = logging.getLogger(__name__)


class Kept(NamedTuple):
    """Cached arms. case_studies : key to publication time and latest revision that ended rows, when they were read"""

    case_studies: dict[int, tuple[datetime, int | None]]
    arms: pd.DataFrame | None


NOTHING = Kept({}, None)
_newest: tuple[str, Kept] = (
    "",
    NOTHING,
)  # stamp and arms, unpickled once for the six uses of an answer


def in_memory(name: str) -> Kept:
    """Return the arms cached by this process, else NOTHING. Callers must not change them."""
    global _newest
    stamp = caches["arms"].get(_key(name), "")
    last, kept = _newest
    if stamp != last:
        kept = caches["arms"].get(f"{_key(name)}:arms", NOTHING)
        _newest = (stamp, kept)
    return kept


def in_file(name: str) -> Kept:
    """Return the arms cached by any process of this machine; NOTHING where none has, or the file cannot be read."""
    try:
        content: bytes | None = caches["arms-in-files"].get(_key(name))
        return _deserialize(content) if content is not None else NOTHING
    except Exception as error:  # of a truncated file NumPy raises many types
        logger.warning("kept arms cannot be read, and are read from the database name=%s reason=%r", name, error)
        return NOTHING


def keep_in_memory(name: str, kept: Kept) -> None:
    caches["arms"].set(f"{_key(name)}:arms", kept)
    caches["arms"].set(_key(name), uuid4().hex)


def keep(name: str, kept: Kept) -> None:
    """Cache the arms for this process and, if there is room, for all processes of the machine."""
    keep_in_memory(name, kept)
    try:
        caches["arms-in-files"].set(_key(name), _serialize(kept))
    except OSError as error:
        logger.warning("arms cannot be kept in a file name=%s reason=%s", name, error.strerror)


def _key(name: str) -> str:
    """Return the cache key, which changes with versions and settings, as these change the columns."""
    return sha256(f"{name} {__version__} {pd.__version__} {' '.join(SETTINGS)}".encode()).hexdigest()


def _serialize(kept: Kept) -> bytes:
    """Return arrays and texts without pickle: others who can write files there must not run code here."""
    arrays, columns = dict[str, Any](), list[Any]()
    for name, column in kept.arms.items() if kept.arms is not None else ():
        categories = None
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories = [column.cat.categories.tolist(), str(column.cat.categories.dtype)]
            column = column.cat.codes
        arrays[f"column {len(columns)}"] = column.to_numpy()
        columns.append([name, categories])
    case_studies = [[pk, begun.isoformat(), ended] for pk, (begun, ended) in kept.case_studies.items()]
    about = json.dumps([case_studies, columns if kept.arms is not None else None])
    content = BytesIO()
    np.savez_compressed(content, about=np.array(about), allow_pickle=False, **arrays)
    return content.getvalue()


def _deserialize(content: bytes) -> Kept:
    """Return what _serialize wrote. Raises Exception where the file is broken."""
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        case_studies, columns = json.loads(str(arrays["about"]))
        frame = None
        if columns is not None:
            frame = pd.DataFrame(
                {
                    name: pd.Categorical.from_codes(values, pd.Index(categories[0], dtype=categories[1]))
                    if categories
                    else values
                    for number, (name, categories) in enumerate(columns)
                    for values in (arrays[f"column {number}"],)
                }
            )
    return Kept({pk: (datetime.fromisoformat(begun), ended) for pk, begun, ended in case_studies}, frame)
