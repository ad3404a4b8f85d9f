"""Propose runs or a trial move for machines of which a plan knows too little.

Both are valued as runs that are not made yet (`value.expected_gains`): a run measures a pool's speed with an error, a
trial move the difference of two. No Django. Source: docs/models/placement.md, "What would tell".
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import expm1, log1p

from modelling.estimation.machine import ALIKE
from modelling.estimation.sequential import USUAL
from modelling.estimation.value import expected_gains, propose_run_sets, run_sets

from .content import NO_CHOICE, NOT_KNOWN, NOT_SURE, RUNS, TRIAL, Advice, Machine, Pool, Proposal, Rules
from .host_evidence import HostEvidence, error

REPETITIONS = 3  # most runs of each pool under each workload
COMPARED = 0.05**2  # expected variance of the comparison after a trial move, ln speed
MOST_CONSIDERED = 8  # loads to consider, those of most machines
MOST = 3  # loads to make proposals for, those with the most to gain


def proposals(
    machines: Sequence[Machine],
    pools: Sequence[Pool],
    advice: Mapping[str, Advice],
    evidence_of: Callable[[Machine], HostEvidence],
    rules: Rules,
    *,
    runnable: Collection[str],
    watched: Collection[tuple[str, str]],
    least: float,
) -> tuple[Proposal, ...]:
    """Return proposals, the largest gain of all machines first; for each load runs before a trial.

    advice : by machine; evidence_of : what runs and moves say for a machine's load
    runnable : workloads that can be run; least : smallest gain to propose, a share
    watched : pools between which a move is still watched; no trial is proposed for them
    """
    waiting: dict[tuple[str, str, tuple[tuple[str, float], ...]], list[Machine]] = defaultdict(list)
    by_name = {pool.name: pool for pool in pools}
    for machine in machines:
        stays = advice[machine.name].why in (NOT_KNOWN, NOT_SURE, NO_CHOICE) and not machine.is_pinned
        if stays:
            load = tuple(sorted(machine.shares.items()))
            waiting[by_name[machine.pool].site, machine.guest_fs, load].append(machine)
    groups = sorted(waiting.values(), key=lambda group: -len(group))[:MOST_CONSIDERED]
    by_load = [
        _propose_for_load(group, by_name, evidence_of(group[0]), rules, runnable, watched, least) for group in groups
    ]
    worth = sorted(
        (made for made in by_load if made),
        key=lambda made: (-max(p.gain * p.machines for p in made), made[0].site),
    )
    return tuple(proposal for made in worth[:MOST] for proposal in made)


def _propose_for_load(
    group: Sequence[Machine],
    pools: Mapping[str, Pool],
    evidence: HostEvidence,
    rules: Rules,
    runnable: Collection[str],
    watched: Collection[tuple[str, str]],
    least: float,
) -> list[Proposal]:
    """Return the proposals for machines of one load on one site: runs, a trial move, both or none."""
    group = [
        machine
        for machine in group
        if any(_has_room(pools[name], machine) for name in evidence.pools if name != machine.pool)
    ]
    if not group:
        return []
    here = Counter(machine.pool for machine in group).most_common(1)[0][0]
    one = min(
        (machine for machine in group if machine.pool == here), key=lambda machine: (machine.size_bytes, machine.name)
    )
    able = [name for name in evidence.pools if name != here and _has_room(pools[name], one)]
    names = [here, *able]
    known = evidence.machine.components().select([evidence.pools.index(name) for name in names])
    shares = [share / sum(one.shares.values()) for share in one.shares.values()]
    about = Proposal(RUNS, pools[here].site, one.guest_fs, dict(one.shares), len(group), (), 0.0)
    made = []
    if set(one.shares) <= set(runnable):
        side = sum(share**2 for share in shares) * (USUAL**2 / REPETITIONS + ALIKE**2)  # on the host, at a distance
        sets = propose_run_sets(run_sets(names, known, REPETITIONS * side, REPETITIONS), log1p(least))
        if sets:
            ran = tuple(sorted(sets[-1].entries, key=lambda name: (name != here, name)))
            gain = -expm1(-sets[-1].gain)
            made.append(replace(about, pools=ran, gain=gain, runs=sets[-1].runs * len(shares)))
    if not any({*pair} <= {*names} for pair in watched):
        side = sum(error(COMPARED, 0.0, is_itself=False))
        gains = expected_gains(known, [(0, place) for place in range(1, len(names))], side)
        best = max(range(len(gains)), key=lambda place: (gains[place], -place))
        if gains[best] >= log1p(least):
            pair, seconds = (here, able[best]), one.size_bytes / rules.copy_rate
            gain = -expm1(-gains[best])
            trial = replace(about, kind=TRIAL, pools=pair, gain=gain, machine=one.name, copy_seconds=seconds)
            made.append(trial)
    return made


def _has_room(pool: Pool, machine: Machine) -> bool:
    """Tell whether the machine may move to the pool and fits."""
    return pool.name not in machine.excluded and machine.size_bytes <= pool.free_bytes - pool.reserve_bytes
