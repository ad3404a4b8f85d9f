"""What a guest gains by moving between the pools of a host, from a laboratory's runs on them.

A run counts for the pool whose path or name is its place. Of each load the newest session with runs on two pools or
more counts, of at most MOST_LOADS loads. Runs under one load tell of every other load what host storages have in common
(`ACROSS`), so that a load which nobody measured there, or nobody knows, has an answer too. A run measured the
guest file system on that pool, or something else there, which then follows at a distance
(`machine.add_place_variance`). Source: docs/models/here.md.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kdb.pairs import pair_key
from modelling.answers.knowledge import knowledge_of
from modelling.estimation import machine, sequential
from modelling.estimation.machine import Block, Machine
from modelling.estimation.value import Components
from modelling.evidence.question import Question
from modelling.models import Laboratory, Sitting

from .content import LIKE, Choice
from .prior import prior_in_laboratory
from .sessions import blocks_of, choices_of

MOST_LOADS = 8
# Shares of the variance between disks that are common to all loads, equally likely before there are runs: those under
# several loads on the same pools tell how much pools are alike.
ACROSS = (0.2, 0.5, 0.8, 0.95)
_LEAST = 0.05  # probability of such a share below which it is left out
_LEVEL = 100.0  # variance of the level of a load's runs: flat
_MOST_SESSIONS = 60  # that are looked at
_OF_A_PAIR = {"guest_fs", "host_fs", "backend"}


class OnPools(NamedTuple):
    """The knowledge of a guest on the n pools of a host that were measured, under one load.

    pools : their names; machine : of them, in this order
    measured : those with runs under this load or, where is_own is False, under others; runs, sittings : of these
    """

    pools: tuple[str, ...]
    machine: Machine
    measured: frozenset[str]
    runs: int
    is_own: bool
    sittings: tuple[int, ...]


class Runs(NamedTuple):
    """Where to look for runs: on a laboratory's machine. places : place of a run to its pool"""

    laboratory: Laboratory
    machine: str
    places: Mapping[str, str]


class PoolSession(NamedTuple):
    """A session that compares pools. ran : choice to its pool and what it is; blocks : of these alone"""

    session: Sitting
    ran: Mapping[int, tuple[str, Choice]]
    blocks: Sequence[Block]

    @property
    def pools(self) -> frozenset[str]:
        return frozenset(pool for pool, _ in self.ran.values())

    @property
    def runs(self) -> int:
        """Count the runs on pools that count."""
        return sum(len(block.entries) for block in self.blocks)


def load_of_machine(name: str) -> str:
    """Return how plans call the load of an observed machine. name : "lab-1/vm-117", as for `kdb measure --like`"""
    return LIKE + name


def sessions_on_pools(runs: Runs) -> dict[str, PoolSession]:
    """Return load to the newest session under it with runs on two of the pools or more. Two queries."""
    newest: dict[str, PoolSession] = {}
    rows = Sitting.objects.filter(laboratory=runs.laboratory, machine=runs.machine, is_night=False).order_by("-pk")
    for session in rows.prefetch_related("runs")[:_MOST_SESSIONS]:
        load = load_of_machine(session.like["machine"]) if session.like else session.workload
        if load in newest or len(newest) == MOST_LOADS:
            continue
        choices = choices_of(session)
        pool_of = {
            number: runs.places[choice.place] for number, choice in enumerate(choices) if choice.place in runs.places
        }
        blocks = blocks_of(session, pool_of)
        ran = {choice: (pool_of[choice], choices[choice]) for block in blocks for choice in block.entries}
        if len({pool for pool, _ in ran.values()}) > 1:
            newest[load] = PoolSession(session, ran, blocks)
    return newest


def on_pools(
    question: Question,
    laboratory: Laboratory,
    guest_fs: str,
    loads: Collection[str],
    pools: Mapping[str, str],
    sessions: Mapping[str, PoolSession],
) -> dict[str, OnPools]:
    """Return what is known of a guest file system on the pools under each of these loads; {} without sessions.

    question : on pairs of file systems, of any workload; loads : workloads, or any other names, of which nothing is
    published; pools : pool to its host file system; sessions : of `sessions_on_pools`
    """
    known = knowledge_of(question, str(question.metric))
    if not sessions or known is None:
        return {}
    names = tuple(pool for pool in pools if any(pool in own.pools for own in sessions.values()))
    measured = ((load, pool) for load, own in sessions.items() for pool in sorted(own.pools))
    elements = list(dict.fromkeys([*((load, pool) for load in loads for pool in names), *measured]))
    at = {element: place for place, element in enumerate(elements)}
    keys = [(load, pair_key(guest_fs, pools[pool])) for load, pool in elements]
    size, ran = len(elements), {}
    for load, own in sessions.items():
        for number, (pool, choice) in own.ran.items():
            if choice.settings.get("guest_fs") == guest_fs and choice.settings.keys() <= _OF_A_PAIR:
                ran[load, number] = at[load, pool]
            else:
                ran[load, number] = len(elements)
                elements.append((load, pool))
                keys.append((load, pair_key(choice.settings.get("guest_fs") or guest_fs, pools[pool])))
    published = prior_in_laboratory(question, known, keys, laboratory)
    priors = [
        machine.add_place_variance(
            published,
            [pool for _, pool in elements],
            [load for load, _ in elements],
            are_alike=np.arange(len(elements)) < size,
            across=across,
        )
        for across in ACROSS
    ]
    blocks = {
        load: [replace(block, entries=tuple(ran[load, number] for number in block.entries)) for block in own.blocks]
        for load, own in sorted(sessions.items(), key=lambda item: item[1].session.pk)  # the oldest first
    }
    shares = _shares([_log_evidence(prior, blocks) for prior in priors])
    now = _mixture(
        [
            (share, sequential.update_with_sessions(prior, blocks.values()))
            for share, prior in zip(shares, priors, strict=True)
            if share
        ]
    )
    return {
        load: OnPools(
            names,
            machine.select_entries(now, [at[load, pool] for pool in names]),
            frozenset().union(*(own.pools for own in bearing)),
            sum(own.runs for own in bearing),
            load in sessions,
            tuple(own.session.pk for own in bearing),
        )
        for load in loads
        if (bearing := [sessions[load]] if load in sessions else [*sessions.values()])
    }


def _log_evidence(prior: Components, blocks: Mapping[str, Sequence[Block]]) -> float:
    """Return the log density of the choices' mean outcomes as one normal, up to a constant and a level of each load."""
    weights, means, covariances = Machine.from_components(prior)
    outcomes: dict[int, list[float]] = {}
    load_of: dict[int, str] = {}
    for load, of_load in blocks.items():
        for block in of_load:
            for entry, outcome in zip(block.entries, block.outcomes, strict=True):
                outcomes.setdefault(entry, []).append(outcome)
                load_of[entry] = load
    at = [*outcomes]
    loads = np.array([load_of[entry] for entry in at])
    errors = np.array([sequential.USUAL**2 / len(outcomes[entry]) for entry in at])
    mean = weights @ means
    apart = means - mean
    spread = np.tensordot(weights, covariances, 1) + (weights * apart.T) @ apart
    level = _LEVEL * (loads[:, None] == loads)
    own = spread[np.ix_(at, at)] + level + np.diag(errors)
    missed = np.array([np.mean(outcomes[entry]) for entry in at]) - mean[at]
    return float(-(np.linalg.slogdet(own)[1] + missed @ np.linalg.solve(own, missed)) / 2)


def _shares(logs: Sequence[float]) -> np.ndarray:
    """Return the posterior probabilities of assumptions that are equally likely before; those below _LEAST are 0."""
    likely = np.exp(np.array(logs) - max(logs))
    likely[likely < _LEAST * likely.sum()] = 0.0
    shares: np.ndarray = likely / likely.sum()
    return shares


def _mixture(parts: Sequence[tuple[float, Machine]]) -> Machine:
    """Return the mixture of what is known under several assumptions, each with its share."""
    weights = np.concatenate([share * one.weights for share, one in parts])
    return Machine(weights, *(np.concatenate([one[part] for _, one in parts]) for part in (1, 2)))
