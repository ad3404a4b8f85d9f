"""The parts of a plan and the advice in it. No Django.

Bytes are bytes, loads MiB/s, times seconds; gains are shares (0.1 is a tenth).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from modelling.estimation.verdict import STRENGTHS


class FleetError(ValueError):
    """Machines, pools or rules that cannot be; the text names the one, the field, and what is allowed."""


@dataclass(frozen=True)
class Pool:
    """A place where images lie.

    free_bytes : of it reserve_bytes stay free
    most_load : all its machines together may ask of it; None: not known, and then nothing is held against it
    site : machines move between pools of one site only
    """

    name: str
    host_fs: str
    free_bytes: float
    reserve_bytes: float = 0.0
    most_load: float | None = None
    site: str = ""


@dataclass(frozen=True)
class Machine:
    """A virtual machine, and what it does.

    pool : where it lies; shares : known workload to its share of the time, above 0, need not add up to 1
    size_bytes : to be copied; load : on average
    excluded : pools it must not move to
    apart : of machines with the same name here no two move into one pool; together : those are in one pool
    """

    name: str
    pool: str
    guest_fs: str
    hypervisor: str
    shares: Mapping[str, float]
    size_bytes: float
    load: float = 0.0
    is_pinned: bool = False
    excluded: tuple[str, ...] = ()
    apart: str = ""
    together: str = ""


@dataclass(frozen=True)
class Rules:
    """The rules that a move must meet.

    margin : gain that counts
    least_gaining, most_losing : probability of gaining the margin at least, and of being slower at all
    least_strength : of the evidence, a word of modelling.estimation.verdict.STRENGTHS
    horizon : time over which a move must pay; copy_rate : bytes a second
    slowdown : share of its throughput that a machine loses while it is copied
    seconds : after which no site is searched any longer; gap : how far from the bound is near enough, a share of it
    """

    margin: float = 0.1
    least_gaining: float = 0.5
    most_losing: float = 0.05
    least_strength: str = STRENGTHS[1]
    horizon: float = 30 * 86_400.0
    copy_rate: float = 100 * 2.0**20
    slowdown: float = 0.5
    seconds: float = 20.0
    gap: float = 1e-3


@dataclass(frozen=True)
class Prospect:
    """The ratio that will be seen of a machine there against here: by a new laboratory, like those that measured, or
    where the pools themselves were measured.

    ratio : of the throughput, with low and high its 95 % interval
    gain : expected, a share of the better of both: what staying is expected to lose less what moving is
    gaining, losing : probability of gaining the margin at least, and of being slower
    strength : of the weakest answer it rests on; laboratories : of that answer
    runs, moves : on the two pools' host that it rests on; measured : share of the load under which they were made
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
    moves: int = 0


@dataclass(frozen=True)
class Unknown:
    """A move of which nothing can be said.
    missing : workload to what it lacks: "numbers" (only lists know it) or "answer"."""

    missing: Mapping[str, str]


@dataclass(frozen=True)
class Better:
    """A pool that promises more than where the machine ends, and the constraint that forbids it."""

    pool: str
    gain: float
    forbidden_by: str


@dataclass(frozen=True)
class Advice:
    """The advice on one machine.

    pool : where it ends; it stays where that is `here`
    gain : expected, net of the copy; None where it stays
    prospect : there against here, of a move; else of the pool that came nearest to one
    why : a word of WHYS; better : of all pools it may not have, the one with the most gain
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


# Why a machine moves or stays: the gain; no room; it must; one kind of host storage only; no evidence; weak
# evidence; a gain too small, or less than the copy costs.
MOVES, CONSTRAINED, PINNED, NO_CHOICE, NOT_KNOWN, NOT_SURE, NO_GAIN = WHYS = (
    *("moves", "constrained", "pinned", "no choice", "not known", "not sure", "no gain"),
)


@dataclass(frozen=True)
class ToMeasure:
    """Two pairs that nobody compared by numbers under a load, and how many machines wait for it."""

    workload: str
    hypervisor: str
    pairs: tuple[str, str]
    machines: int


RUNS, TRIAL = ("runs", "trial move")
MOVE = "move"  # of what is counted; the other kind are RUNS


@dataclass(frozen=True)
class Proposal:
    """A proposal names what would tell where to put machines of one load: runs on pools, or one trial move.

    site, guest_fs, shares : of the machines; machines : how many wait for it
    pools : that are run on, the one most lie on first; of a trial, where it lies and where it goes
    gain : by which the pool chosen after it is expected to be faster than the one chosen now, a share; at most, where
        pools are too full for all
    runs : that it takes, under all workloads together; 0: of a trial move
    machine : that is moved for a trial, the smallest; copy_seconds : of its copy
    """

    kind: str
    site: str
    guest_fs: str
    shares: Mapping[str, float]
    machines: int
    pools: tuple[str, ...]
    gain: float
    runs: int = 0
    machine: str = ""
    copy_seconds: float = 0.0


@dataclass(frozen=True)
class Counted:
    """Runs of one sitting, or one move, that a plan rests on.

    number : of the sitting or the move; site : where; text : what it was and what came of it
    """

    kind: str
    number: int
    site: str
    text: str


# How a site was planned: within the gap; time was up; time was up, and nothing was found better than taking the largest
# gain first.
EXACT, BEST_FOUND, GREEDY = METHODS = ("exact", "best found", "greedy")


@dataclass(frozen=True)
class Plan:
    """The advice on all machines, in their order.

    gain : sum of the machines' expected gains; bound : no plan under the same constraints and in the same regions gains
        more; gap : what may be missing, a share of the bound
    method : the least exact of the regions'; regions : that were planned each for itself
    measured : sites of whose pools runs of a laboratory tell
    counted : these runs, and the moves whose outcome it rests on; proposals : what would tell where too little is known
    """

    advice: tuple[Advice, ...]
    gain: float
    bound: float
    method: str
    regions: int
    to_measure: tuple[ToMeasure, ...]
    measured: tuple[str, ...] = ()
    counted: tuple[Counted, ...] = ()
    proposals: tuple[Proposal, ...] = ()

    @property
    def gap(self) -> float:
        """Return the share of the bound that a better plan could still gain."""
        return max(0.0, 1.0 - self.gain / self.bound) if self.bound > 0 else 0.0

    @cached_property
    def moves(self) -> tuple[Advice, ...]:
        """Return the moves, the largest gain first."""
        return tuple(
            sorted((advice for advice in self.advice if advice.is_move), key=lambda advice: -(advice.gain or 0.0))
        )
