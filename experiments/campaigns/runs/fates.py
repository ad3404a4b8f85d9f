"""Decide what becomes of an attempt that did not end well, by the kind of its error. No other place decides it.

Who meets an error raises the kind that says how it is known; docs/campaigns.md has the same table in words.
"""

from enum import Enum, auto

from django.db import InterfaceError, OperationalError

from experiments.laboratory.measuring import bench
from experiments.laboratory.places import hypervisors
from experiments.laboratory.reach import remote, ssh
from kdb.jobs import jobs

from ..hosts import HostError


class Cancelled(Exception):  # noqa: N818
    """The campaign was cancelled while the run was under way."""


class Fate(Enum):
    GIVEN_UP = auto()  # another attempt has the run: nothing more is written
    CANCELLED = auto()
    DATABASE = auto()  # KDB's own is away: the job is tried again
    WAITS = auto()  # the run waits and its campaign pauses, until the host can be used again
    WAITS_FOR_SOMEBODY = auto()  # the same, until a person did something
    REPEATED = auto()  # the attempt is void, and made again a few times
    FAILED = auto()
    MISTAKE = auto()  # of ours: failed, and logged


# The first row that an error is of holds.
_TABLE: tuple[tuple[Fate, tuple[type[Exception], ...]], ...] = (
    (Fate.GIVEN_UP, (jobs.LeaseLost, remote.Superseded)),
    (Fate.CANCELLED, (Cancelled,)),
    (Fate.DATABASE, (OperationalError, InterfaceError)),
    (Fate.WAITS, (ssh.Unreachable, remote.NotNow)),
    (Fate.WAITS_FOR_SOMEBODY, (ssh.SshError, HostError)),
    (Fate.REPEATED, (hypervisors.GuestGone, hypervisors.GuestNotUp)),
    (Fate.FAILED, (bench.RunFailed, bench.Silent, hypervisors.GuestStopped, remote.Refused)),
)


def fate_of(error: Exception) -> Fate:
    return next((fate for fate, kinds in _TABLE if isinstance(error, kinds)), Fate.MISTAKE)
