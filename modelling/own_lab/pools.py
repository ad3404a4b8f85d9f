"""What a guest gains by moving between the pools of a host, from a laboratory's runs on them.

A run counts for the pool whose path or name is its place, in the newest session of that machine with runs on two pools
or more under the workload. It measured the guest file system on that pool, or something else there, which then follows
at a distance (`machine.add_place_variance`). Pools without runs are as published, on unknown disks.
Source: docs/models/here.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kdb.pairs import pair_key
from modelling.answers.estimate import ranking_of
from modelling.estimation import machine, sequential
from modelling.estimation.bayes import Posterior
from modelling.estimation.machine import Block, Machine
from modelling.evidence.question import Question
from modelling.models import Laboratory, Sitting

from .content import Choice
from .prior import forecast_entries, select_entries
from .sessions import blocks_of, choices_of

_MOST_SESSIONS = 6  # that are looked at
_OF_A_PAIR = {"guest_fs", "host_fs", "backend"}


class OnPools(NamedTuple):
    """The knowledge of a guest on n pools of a host under one workload.

    machine : of the pools, in their order; measured : those that runs were made on; runs : that count
    sitting : the session of these runs; None: nothing was run, and it is what was published, beside disks that nobody
        knows
    """

    machine: Machine
    measured: frozenset[str]
    runs: int
    sitting: int | None


class Runs(NamedTuple):
    """Where to look for runs: on a laboratory's machine. places : place of a run to its pool"""

    laboratory: Laboratory
    machine: str
    places: Mapping[str, str]


def published_on(question: Question, pairs: Iterable[str]) -> Posterior:
    """Return the forecast for these pairs of file systems, whether anything is published of them or not."""
    return forecast_entries(question, ranking_of(question), pairs)


def on_pools(
    question: Question, published: Posterior, guests: Sequence[str], pools: Mapping[str, str], runs: Runs | None
) -> list[OnPools]:
    """Return what is known of each of these guest file systems on the pools.

    question : on pairs of file systems; published : of these guests on the pools (`published_on`)
    pools : pool to its host file system
    """
    session, ran, blocks = (runs and _newest(question, runs)) or (None, {}, [])
    others = [(choice.settings.get("guest_fs"), pool) for pool, choice in ran.values()]
    keys = {*published.treatments, *(pair_key(guest, pools[pool]) for guest, pool in others if guest)}
    if keys - {*published.treatments}:  # of a file system that no machine has
        published = published_on(question, keys)
    return [_knowledge_of_guest(published, guest, pools, session, ran, blocks) for guest in guests]


_Ran = Mapping[int, tuple[str, Choice]]  # choice of a session to its pool and what it is


def _newest(question: Question, runs: Runs) -> tuple[Sitting, _Ran, list[Block]] | None:
    """Return the newest session with runs on two of the pools or more, what it ran and its blocks; None: none."""
    rows = Sitting.objects.filter(laboratory=runs.laboratory, machine=runs.machine, workload=question.workload)
    for session in rows.order_by("-pk").prefetch_related("runs")[:_MOST_SESSIONS]:
        choices = choices_of(session)
        pool_of = {
            number: runs.places[choice.place] for number, choice in enumerate(choices) if choice.place in runs.places
        }
        blocks = blocks_of(session, pool_of)
        ran = sorted({choice for block in blocks for choice in block.entries})
        if len({pool_of[choice] for choice in ran}) > 1:
            return session, {choice: (pool_of[choice], choices[choice]) for choice in ran}, blocks
    return None


def _knowledge_of_guest(
    published: Posterior,
    guest_fs: str,
    pools: Mapping[str, str],
    session: Sitting | None,
    ran: _Ran,
    blocks: Sequence[Block],
) -> OnPools:
    """Return what blocks of runs say of one guest file system."""
    entries = {pool: place for place, pool in enumerate(pools)}
    lie_on, guests, at = [*pools], [guest_fs] * len(pools), {}
    for number, (pool, choice) in ran.items():
        if choice.settings.get("guest_fs") == guest_fs and choice.settings.keys() <= _OF_A_PAIR:
            at[number] = entries[pool]
        else:
            at[number] = len(lie_on)
            lie_on.append(pool)
            guests.append(choice.settings.get("guest_fs") or guest_fs)
    keys = [pair_key(guest, pools[pool]) for guest, pool in zip(guests, lie_on, strict=True)]
    is_the_guest = np.arange(len(keys)) < len(pools)
    known = machine.add_place_variance(select_entries(published, keys), lie_on, are_alike=is_the_guest)
    ran_blocks = [Block(tuple(at[choice] for choice in block.entries), block.outcomes) for block in blocks]
    now = sequential.update_with_sessions(known, [ran_blocks] if blocks else [])
    return OnPools(
        machine.select_entries(now, range(len(pools))),
        frozenset(pool for pool, _ in ran.values()),
        sum(len(block.entries) for block in blocks),
        session.pk if session else None,
    )
