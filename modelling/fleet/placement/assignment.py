"""Assign units to pools by mixed-integer programming. No Django.

A unit is a machine, or several that lie together. With x_ip = 1 where unit i moves to pool p,

    maximise sum of v_ip x_ip,  sum over p of x_ip <= 1
    sum over i of size_i x_ip <= room_p                          units that leave free no room, as images are kept
    load that comes to p - load that leaves p <= max(most_p - load_p, 0)
    of each group, comers to p <= 1 where it has no member in p, else <= leavers of p / members in p

over v_ip > 0 only: no unit moves at a loss, and staying is always allowed.
Two methods are tried until one is close enough to its bound: the largest gain first; the integer search, as long as
there is time.
Solved by HiGHS (Huangfu and Hall 2018, 10.1007/s12532-017-0130-5) through scipy. Source: docs/models/placement.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from .content import BEST_FOUND, EXACT, GREEDY

_TINY, _WHOLE = 1e-9, 1e-6


@dataclass(frozen=True)
class Problem:
    """n units and P pools.

    values : (n, P) gain of each pool; no move where it is not above 0
    here : (n,) pool of each unit; sizes, loads : (n,)
    room : (P,) bytes that still fit; headroom : (P,) load that may be added, infinite without a known limit
    apart : groups of units of which no two move into one pool
    """

    values: np.ndarray
    here: np.ndarray
    sizes: np.ndarray
    loads: np.ndarray
    room: np.ndarray
    headroom: np.ndarray
    apart: Sequence[np.ndarray] = ()


@dataclass(frozen=True)
class Assignment:
    """A solution of a problem.

    pools : (n,) pool of each unit; bound : upper limit on the gain of any assignment; method : one of content.METHODS
    """

    pools: np.ndarray
    gain: float
    bound: float
    method: str


@dataclass
class Filling:
    """The state of the pools while moves are made one at a time within the constraints of a problem."""

    problem: Problem
    pools: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        self.pools = problem.here.copy()
        self._room, self._headroom = problem.room.copy(), problem.headroom.copy()
        self._groups: dict[int, list[int]] = {}
        self._places = np.zeros((len(problem.apart), len(problem.room)), int)
        for number, units in enumerate(problem.apart):
            self._places[number] = 1 - np.bincount(problem.here[units], minlength=len(problem.room))
            for unit in units:
                self._groups.setdefault(int(unit), []).append(number)

    def forbidden_by(self, unit: int, pool: int) -> str:
        """Return the constraint that forbids the move: space, load, apart; "": none."""
        comes = pool != self.problem.here[unit]
        if comes and self.problem.sizes[unit] > self._room[pool] * (1 + _TINY):
            return "space"
        if comes and self.problem.loads[unit] > self._headroom[pool] * (1 + _TINY):
            return "load"
        if comes and any(self._places[group, pool] < 1 for group in self._groups.get(unit, ())):
            return "apart"
        return ""

    def move(self, unit: int, pool: int) -> None:
        """Move a unit without checking constraints."""
        problem, old = self.problem, self.pools[unit]
        groups = self._groups.get(unit, [])
        for place, sign in ((old, 1), (pool, -1)):
            if place != problem.here[unit]:
                self._room[place] += sign * problem.sizes[unit]
            self._headroom[place] += sign * problem.loads[unit]
            self._places[groups, place] += sign
        self.pools[unit] = pool

    def improve(self) -> None:
        """Make single moves that gain, the largest value first, until constraints allow no more."""
        values = self.problem.values
        changed = True
        while changed:
            changed = False
            now = np.maximum(values[np.arange(len(self.pools)), self.pools], 0.0)
            units, pools = np.nonzero(values > now[:, None] + _TINY)
            for place in np.argsort(-values[units, pools], kind="stable"):
                unit, pool = int(units[place]), int(pools[place])
                held = values[unit, self.pools[unit]] if self.pools[unit] != self.problem.here[unit] else 0.0
                if values[unit, pool] > held + _TINY and not self.forbidden_by(unit, pool):
                    self.move(unit, pool)
                    changed = True

    @property
    def gain(self) -> float:
        """Return the sum of the values of all units that moved."""
        moved = np.flatnonzero(self.pools != self.problem.here)
        return float(self.problem.values[moved, self.pools[moved]].sum())


def greedy(problem: Problem) -> Filling:
    """Solve a problem by the largest gain first."""
    filling = Filling(problem)
    filling.improve()
    return filling


def assign(problem: Problem, seconds: float, gap: float) -> Assignment:
    """Return the best assignment found in the time.

    seconds : for the search; 0: none
    gap : how far from the bound is near enough, a share of it
    """
    best, method = greedy(problem), GREEDY
    bound = float(np.maximum(problem.values.max(axis=1, initial=0.0), 0.0).sum())
    if bound - best.gain > gap * bound and seconds > 0:
        units, pools = np.nonzero(problem.values > 0)
        solution = milp(
            -problem.values[units, pools],
            integrality=np.ones(len(units)),
            bounds=Bounds(0, 1),
            constraints=_constraints(problem, units, pools),
            options={"time_limit": seconds, "mip_rel_gap": gap},
        )
        if solution.mip_dual_bound is not None and np.isfinite(solution.mip_dual_bound):
            bound = min(bound, -float(solution.mip_dual_bound))
        if solution.x is not None:
            taken = Filling(problem)
            for place in np.flatnonzero(solution.x > 1 - _WHOLE):
                taken.move(int(units[place]), int(pools[place]))
            taken.improve()
            if taken.gain > best.gain:
                best, method = taken, BEST_FOUND
    if bound - best.gain <= gap * bound:
        method = EXACT
    return Assignment(best.pools, best.gain, max(bound, best.gain), method)


def _constraints(problem: Problem, units: np.ndarray, pools: np.ndarray) -> LinearConstraint:
    """Return the constraints a x <= b over the cells (units[c], pools[c])."""
    n, size = problem.values.shape
    cells = np.arange(len(units))
    rows, columns, entries, limits = [units], [cells], [np.ones(len(units))], [np.ones(n)]

    def add(first: int, row: np.ndarray, column: np.ndarray, entry: np.ndarray, limit: np.ndarray) -> int:
        rows.append(first + row)
        columns.append(column)
        entries.append(entry)
        limits.append(limit)
        return first + len(limit)

    def add_both(first: int, at: np.ndarray, comes: np.ndarray, leaves: np.ndarray, limit: np.ndarray) -> int:
        row = np.concatenate([pools[at], problem.here[units[at]]])
        return add(first, row, np.concatenate([at, at]), np.concatenate([comes, -leaves]), limit)

    largest, heaviest = problem.sizes.max(initial=_TINY), problem.loads.max(initial=_TINY)
    sizes, loads = problem.sizes / largest, problem.loads / heaviest  # scaled to about 1 for the solver
    first = add(n, pools, cells, sizes[units], problem.room / largest)
    headroom = np.minimum(problem.headroom / heaviest, loads.sum())  # at most the load of all units
    first = add_both(first, cells, loads[units], loads[units], headroom)
    for group in problem.apart:
        at = np.flatnonzero(np.isin(units, group))
        now = np.bincount(problem.here[group], minlength=size)
        share = 1.0 / np.maximum(now, 1)[problem.here[units[at]]]
        first = add_both(first, at, np.ones(len(at)), share, (now == 0).astype(float))
    shape = (first, len(units))
    matrix = csr_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
    return LinearConstraint(matrix, -np.inf, np.concatenate(limits))
