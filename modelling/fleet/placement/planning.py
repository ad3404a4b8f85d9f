"""Plan moves for all machines, with the evidence of each and the constraint against a better one. No Django.

Source: docs/models/placement.md.
"""

import math
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from kdb.pairs import pair_key

from .assignment import Assignment, Filling, Problem, assign
from .content import (
    ANY_LOAD,
    CONSTRAINED,
    EXACT,
    METHODS,
    MOVES,
    NO_CHOICE,
    NO_GAIN,
    NOT_KNOWN,
    NOT_SURE,
    PINNED,
    Advice,
    Better,
    FleetError,
    Machine,
    Plan,
    Pool,
    Possible,
    Prospect,
    Rules,
    ToMeasure,
    Unknown,
)
from .expected_gain import Knowledge, is_sure, prospect

_NOT_A_MOVE = -math.inf


def plan(machines: Sequence[Machine], pools: Sequence[Pool], knowledge: Knowledge, rules: Rules) -> Plan:
    """Return the moves that gain most under the constraints. Raises FleetError."""
    check(machines)
    seen = _Prospects(knowledge, rules)
    advice: dict[str, Advice] = {}
    assignments: list[Assignment] = []
    end = time.monotonic() + rules.seconds
    sites = list(dict.fromkeys(pool.site for pool in pools))
    for number, site in enumerate(sites):
        inside = [pool for pool in pools if pool.site == site]
        names = {pool.name for pool in inside}
        if not (there := [machine for machine in machines if machine.pool in names]):
            continue
        one = _Site(there, inside, seen, rules)
        left = max(end - time.monotonic(), 0.0) / (len(sites) - number)
        assignments.append(assign(one.problem, left, rules.gap))
        advice |= one.advice(assignments[-1].pools)
    return Plan(
        advice=tuple(advice[machine.name] for machine in machines),
        gain=sum(assignment.gain for assignment in assignments),
        bound=sum(assignment.bound for assignment in assignments),
        method=max((assignment.method for assignment in assignments), key=METHODS.index, default=EXACT),
        to_measure=_to_measure(machines, pools, seen),
    )


def cost(machine_bytes: float, rules: Rules) -> float:
    """Return the cost of copying a machine as a share of its throughput over the horizon."""
    return rules.slowdown * machine_bytes / rules.copy_rate / rules.horizon


class _Prospects:
    """Compute prospects, each once for all machines that it is the same for."""

    def __init__(self, knowledge: Knowledge, rules: Rules) -> None:
        @cache
        def of(
            hypervisor: str,
            guest_fs: str,
            shares: tuple[tuple[str, float], ...],
            there: str,
            here: str,
            pools: tuple[str, str] | None,
            others: tuple[tuple[float, tuple[tuple[str, float], ...]], ...],
        ) -> Prospect | Unknown:
            instead = [Possible(probability, dict(doing)) for probability, doing in others]
            return prospect(knowledge, hypervisor, guest_fs, dict(shares), there, here, rules.margin, pools, instead)

        self._of = of
        parts = [part for several in knowledge.values() for part in several if part.runs]
        self._on_pools = {pair for part in parts for joined in part.numbers for pair in joined}

    def __call__(self, machine: Machine, there: Pool, here: Pool) -> Prospect | Unknown:
        ran = {pair_key(machine.guest_fs, pool.name) for pool in (there, here)} <= self._on_pools
        shares = tuple(sorted(machine.shares.items()))
        pools = (there.name, here.name) if ran else None
        others = tuple((other.probability, tuple(sorted(other.shares.items()))) for other in machine.others)
        return self._of(machine.hypervisor, machine.guest_fs, shares, there.host_fs, here.host_fs, pools, others)


class _Site:
    """The machines of one site as units over its pools."""

    def __init__(self, machines: Sequence[Machine], pools: Sequence[Pool], seen: _Prospects, rules: Rules) -> None:
        self.machines, self.pools, self.seen, self.rules = machines, pools, seen, rules
        place = {pool.name: index for index, pool in enumerate(pools)}
        self.here = np.array([place[machine.pool] for machine in machines], int)
        units = {machine.together or f"\0{machine.name}": len(machines) for machine in machines}
        numbers = {name: number for number, name in enumerate(units)}
        self.unit = np.array([numbers[machine.together or f"\0{machine.name}"] for machine in machines], int)
        self.members = [np.flatnonzero(self.unit == number) for number in range(len(units))]
        self.allowed = np.array([[self._reason(m, p) for p in range(len(pools))] for m in range(len(machines))], object)
        self.allowed = self.allowed.reshape(len(machines), len(pools))
        self.net = np.array([[self._net(m, p) for p in range(len(pools))] for m in range(len(machines))], float)
        self.net = self.net.reshape(len(machines), len(pools))
        values = np.zeros((len(units), len(pools)))
        np.add.at(values, self.unit, np.where(self.allowed == "", self.net, _NOT_A_MOVE))
        sizes = np.array([machine.size_bytes for machine in machines], float)
        loads = np.array([machine.load for machine in machines], float)
        most = np.array([math.inf if pool.most_load is None else pool.most_load for pool in pools])
        groups: dict[str, list[int]] = {}
        for number, machine in enumerate(machines):
            if machine.apart:
                groups.setdefault(machine.apart, []).append(self.unit[number])
        self.problem = Problem(
            values=values,
            here=np.array([self.here[members[0]] for members in self.members], int),
            sizes=np.bincount(self.unit, sizes, len(units)),
            loads=np.bincount(self.unit, loads, len(units)),
            room=np.array([max(pool.free_bytes - pool.reserve_bytes, 0.0) for pool in pools]),
            headroom=np.maximum(most - np.bincount(self.here, loads, len(pools)), 0.0),
            apart=[np.array(units) for units in groups.values() if len(units) > 1],
        )

    def _reason(self, machine: int, pool: int) -> str:
        """Return what forbids the move regardless of other moves, a key of words._FORBIDS; "": nothing."""
        one = self.machines[machine]
        members = self.members[self.unit[machine]]
        if any(self.machines[other].is_pinned for other in members):
            return "pinned" if one.is_pinned else "together"
        if self.pools[pool].name in one.excluded:
            return "excluded"
        if len({self.machines[other].pool for other in members}) > 1:
            return "together"
        if any(self.pools[pool].name in self.machines[other].excluded for other in members):
            return "together"
        return ""

    def _net(self, machine: int, pool: int) -> float:
        """Return the expected gain less the cost of the copy, if the evidence suffices for a move."""
        prospect = self._prospect(machine, pool)
        if not isinstance(prospect, Prospect) or not is_sure(prospect, self.rules):
            return _NOT_A_MOVE
        return prospect.gain - cost(self.machines[machine].size_bytes, self.rules)

    def _prospect(self, machine: int, pool: int) -> Prospect | Unknown | None:
        """Return the prospect; None for pools of one host file system that runs do not compare."""
        there, here = self.pools[pool], self.pools[self.here[machine]]
        if there is here:
            return None
        seen = self.seen(self.machines[machine], there, here)
        return None if there.host_fs == here.host_fs and isinstance(seen, Unknown) else seen

    def advice(self, ends: np.ndarray) -> dict[str, Advice]:
        """Return the advice on each machine. ends : (units,) the pools that the units end in"""
        filling = Filling(self.problem)
        for unit in np.flatnonzero(ends != self.problem.here):
            filling.move(int(unit), int(ends[unit]))
        return {
            machine.name: self._advice(n, int(ends[self.unit[n]]), filling) for n, machine in enumerate(self.machines)
        }

    def _advice(self, number: int, end: int, filling: Filling) -> Advice:
        machine = self.machines[number]
        here = self.here[number]
        stays = filling.pools[self.unit[number]] == filling.problem.here[self.unit[number]]
        better = self._better(number, here if stays else end, filling)
        if not stays:
            return Advice(
                machine.name,
                machine.pool,
                self.pools[end].name,
                MOVES,
                float(self.net[number, end]),
                self._moved(number, end),
                machine.size_bytes,
                machine.size_bytes / self.rules.copy_rate,
                better,
            )
        others = [prospect for p in range(len(self.pools)) if (prospect := self._prospect(number, p)) is not None]
        known = [prospect for prospect in others if isinstance(prospect, Prospect)]
        nearest = max(known, key=lambda prospect: prospect.gain, default=None)
        if machine.is_pinned:
            why = PINNED
        elif better is not None:
            why = CONSTRAINED
        elif not others:
            why = NO_CHOICE
        elif len(known) < len(others) and (nearest is None or nearest.gain <= 0):
            why = NOT_KNOWN
        elif nearest is not None and nearest.gain > cost(machine.size_bytes, self.rules):
            why = NO_GAIN if is_sure(nearest, self.rules) else NOT_SURE
        else:
            why = NO_GAIN
        return Advice(machine.name, machine.pool, machine.pool, why, prospect=nearest, better=better)

    def _moved(self, number: int, end: int) -> Prospect:
        prospect = self._prospect(number, end)
        assert isinstance(prospect, Prospect)
        return prospect

    def _better(self, number: int, end: int, filling: Filling) -> Better | None:
        """Return the pool that promises this machine more than the one it ends in, with what forbids it."""
        gains = self.net[number]
        held = gains[end] if end != self.here[number] else 0.0
        best = int(np.argmax(gains))
        if not gains[best] > max(held, 0.0) + 1e-9:
            return None
        unit = int(self.unit[number])
        reason = self.allowed[number, best] or filling.forbidden_by(unit, best)
        return Better(self.pools[best].name, float(gains[best]), reason or "together")


def _to_measure(machines: Sequence[Machine], pools: Sequence[Pool], seen: _Prospects) -> tuple[ToMeasure, ...]:
    """List comparisons without numbers, with the number of machines that need them, the most first."""
    of_site: dict[str, list[Pool]] = {}
    for pool in pools:
        of_site.setdefault(pool.site, []).append(pool)
    where = {pool.name: pool for pool in pools}
    waiting: Counter[tuple[str, str, tuple[str, str]]] = Counter()
    for machine in machines:
        here, asked = where[machine.pool], set()
        for there in of_site[here.site] if not machine.is_pinned else ():
            prospect = seen(machine, there, here) if there.host_fs != here.host_fs else None
            if isinstance(prospect, Unknown):
                first, second = sorted(pair_key(machine.guest_fs, pool.host_fs) for pool in (here, there))
                workloads = (workload for workload in prospect.missing if workload != ANY_LOAD)
                asked |= {(workload, machine.hypervisor, (first, second)) for workload in workloads}
        waiting.update(asked)
    ordered = sorted(waiting.items(), key=lambda item: (-item[1], item[0]))
    return tuple(ToMeasure(*asked, machines=number) for asked, number in ordered)


def check(machines: Sequence[Machine]) -> None:
    """Raise FleetError where two machines are to lie both together and apart."""
    units: dict[str, list[Machine]] = {}
    for machine in machines:
        if machine.together:
            units.setdefault(machine.together, []).append(machine)
    for group, members in units.items():
        apart = Counter(machine.apart for machine in members if machine.apart)
        if both := [name for name, number in apart.items() if number > 1]:
            raise FleetError(f"machines of {group!r} are to lie together, and as {both[0]!r} apart; one of the two")
