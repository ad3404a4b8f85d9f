"""The parts of a plan and the advice in it. No Django.

Bytes are bytes, loads MiB/s, times seconds; gains are shares (0.1 is a tenth).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from modelling.estimation.verdict import STRENGTHS


class FleetError(ValueError):
    """What machines are to do contradicts itself; the text says where."""


@dataclass(frozen=True)
class Pool:
    """A place for images. host_fs : slug

    free_bytes : including reserve_bytes, which have to stay free
    most_load : limit on the load of all its machines; None: not known, so not limited
    site : machines move only between pools of one site
    """

    name: str
    host_fs: str
    free_bytes: float
    reserve_bytes: float = 0.0
    most_load: float | None = None
    site: str = ""


ANY_LOAD = "any load"  # one that nobody knows


class Possible(NamedTuple):
    """What a machine may do. shares : as of Machine"""

    probability: float
    shares: Mapping[str, float]


@dataclass(frozen=True)
class Machine:
    """A virtual machine and its load.

    pool : where it is now; guest_fs, hypervisor : slugs
    shares : load to its share of the time, above 0, in any unit: workloads by their slugs, or ANY_LOAD
    others : what it may do instead, each with its probability, of a sum of at most 1
    size_bytes : to copy; load : mean
    excluded : pools it must not move to
    apart : name of a group of which no two move into one pool; together : of a group that stays in one pool
    """

    name: str
    pool: str
    guest_fs: str
    hypervisor: str
    shares: Mapping[str, float]
    size_bytes: float
    load: float = 0.0
    others: tuple[Possible, ...] = ()
    is_pinned: bool = False
    excluded: tuple[str, ...] = ()
    apart: str = ""
    together: str = ""

    @property
    def loads(self) -> set[str]:
        """Return the loads of everything it may do."""
        return {*self.shares}.union(*(other.shares for other in self.others))


@dataclass(frozen=True)
class Rules:
    """The rules that a move must meet.

    margin : smallest gain of interest
    least_gaining, most_losing : bounds on the probability of gaining the margin, and of being slower at all
    least_strength : of the evidence, one of modelling.estimation.verdict.STRENGTHS
    horizon : time over which a move must pay; copy_rate : bytes a second
    slowdown : share of its throughput that a machine loses while it is copied
    seconds : time limit of the search; gap : share of the bound by which a solution may miss it
    """

    margin: float = 0.1
    least_gaining: float = 0.5
    most_losing: float = 0.1
    least_strength: str = STRENGTHS[1]
    horizon: float = 30 * 86_400.0
    copy_rate: float = 100 * 2.0**20
    slowdown: float = 0.5
    seconds: float = 20.0
    gap: float = 1e-3


@dataclass(frozen=True)
class Prospect:
    """The predicted ratio of a machine's throughput there to here, in a new laboratory or on measured pools.

    ratio : of the throughput, with low and high its 95 % interval
    gain : expected loss by staying less that by moving, as a share of the better of both
    gaining, losing : probability of gaining at least the margin, and of being slower
    strength : of the weakest answer used; laboratories : of that answer
    runs : used, on the host of the pools; measured : share of the load that these cover
    borrowed : share of it for which runs under other loads stand; doubt : probability that it does something of which
        nothing is known
    """

    ratio: float
    low: float
    high: float
    gain: float
    gaining: float
    losing: float
    strength: str
    laboratories: int
    runs: int = 0
    measured: float = 0.0
    borrowed: float = 0.0
    doubt: float = 0.0


@dataclass(frozen=True)
class Unknown:
    """A move of which nothing can be said. missing : workloads under which no numbers compare the pools"""

    missing: tuple[str, ...]


@dataclass(frozen=True)
class Better:
    """A pool that promises more than the one the machine ends in, and the constraint that forbids it."""

    pool: str
    gain: float
    forbidden_by: str


@dataclass(frozen=True)
class Advice:
    """The advice on one machine.

    pool : where it ends, `here` if it stays
    gain : expected, net of the copy; None if it stays
    prospect : of the move; if it stays, of the pool with the largest gain
    why : one of WHYS; better : of the forbidden pools, the one with the largest gain
    """

    machine: str
    here: str
    pool: str
    why: str
    gain: float | None = None
    prospect: Prospect | None = None
    copy_bytes: float = 0.0
    copy_seconds: float = 0.0
    better: Better | None = None

    @property
    def is_move(self) -> bool:
        """Tell whether the machine is to move."""
        return self.pool != self.here


# Why a machine moves or stays: for the gain; a constraint; pinned; all pools of one kind; no evidence; weak evidence; a
# gain too small, or below the cost of the copy.
MOVES, CONSTRAINED, PINNED, NO_CHOICE, NOT_KNOWN, NOT_SURE, NO_GAIN = WHYS = (
    *("moves", "constrained", "pinned", "no choice", "not known", "not sure", "no gain"),
)


@dataclass(frozen=True)
class ToMeasure:
    """Two pairs that no numbers compare under a load, and how many machines need that."""

    workload: str
    hypervisor: str
    pairs: tuple[str, str]
    machines: int


RUNS = "runs"  # kind of Counted


@dataclass(frozen=True)
class Counted:
    """Runs of one sitting that a plan uses. number : of the sitting; text : description with the outcome"""

    kind: str
    number: int
    site: str
    text: str


# How a site was solved: within the gap; at the time limit; at the time limit by the largest gain first.
EXACT, BEST_FOUND, GREEDY = METHODS = ("exact", "best found", "greedy")


@dataclass(frozen=True)
class Plan:
    """The advice on all machines, in their order.

    gain : sum of the machines' expected gains; bound : upper limit under the same constraints; gap : share of the bound
        that may be missing
    method : the least exact of all sites
    measured : sites with runs of a laboratory on their pools; counted : these runs
    """

    advice: tuple[Advice, ...]
    gain: float
    bound: float
    method: str
    to_measure: tuple[ToMeasure, ...]
    measured: tuple[str, ...] = ()
    counted: tuple[Counted, ...] = ()

    @property
    def gap(self) -> float:
        """Return the share of the bound that a better plan could still gain."""
        return max(0.0, 1.0 - self.gain / self.bound) if self.bound > 0 else 0.0
