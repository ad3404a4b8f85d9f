"""Read from a laboratory's runs on the pools of one host what a guest gains by moving between them.

A run counts for the pool whose path or name is its place, in the newest sitting of that machine that ran on two pools
or more under the workload. What it measured is the guest file system on that pool, or something else there: then it
follows at a distance (`machine.apart`). Source: docs/models/here.md.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kdb.pairs import pair_key
from modelling.answers.estimate import ranking_of
from modelling.estimation import machine
from modelling.estimation.bayes import Posterior
from modelling.estimation.machine import VARIATION, Block
from modelling.estimation.value import Components, reduced
from modelling.evidence.question import Question
from modelling.models import Laboratory, Sitting

from .content import Choice
from .known import among, foretold
from .sittings import blocks_of, choices_of

_MOST_SITTINGS = 6  # that are looked at
_OF_A_PAIR = {"guest_fs", "host_fs", "backend"}


class OnPools(NamedTuple):
    """Knowledge of a guest on the pools that were measured. runs : that count

    posterior : of `pair_key(guest file system, pool)`
    """

    posterior: Posterior
    runs: int


def on_pools(
    question: Question,
    laboratory: Laboratory,
    machine_name: str,
    guest_fs: str,
    pools: Mapping[str, str],
    places: Mapping[str, str],
) -> OnPools | None:
    """Return what runs say of the guest file system on these pools; None where no sitting ran on two of them.

    question : on pairs of file systems; pools : pool to its host file system; places : place of a run to its pool
    """
    rows = Sitting.objects.filter(laboratory=laboratory, machine=machine_name, workload=question.workload)
    for sitting in rows.order_by("-pk").prefetch_related("runs")[:_MOST_SITTINGS]:
        choices = choices_of(sitting)
        of = {number: places[choice.place] for number, choice in enumerate(choices) if choice.place in places}
        blocks = blocks_of(sitting, of)
        ran = sorted({choice for block in blocks for choice in block.entries})
        if len({of[choice] for choice in ran}) > 1:
            return _told(question, guest_fs, pools, {choice: (of[choice], choices[choice]) for choice in ran}, blocks)
    return None


def _told(
    question: Question,
    guest_fs: str,
    pools: Mapping[str, str],
    ran: Mapping[int, tuple[str, Choice]],
    blocks: list[Block],
) -> OnPools:
    """Return what blocks of runs say. ran : choice to its pool and what it is"""
    measured = sorted({pool for pool, _ in ran.values()})
    entries = {pool: place for place, pool in enumerate(measured)}
    lie_on, guests, at = [*measured], [guest_fs] * len(measured), {}
    for number, (pool, choice) in ran.items():
        if choice.settings.get("guest_fs") == guest_fs and choice.settings.keys() <= _OF_A_PAIR:
            at[number] = entries[pool]
        else:
            at[number] = len(lie_on)
            lie_on.append(pool)
            guests.append(choice.settings.get("guest_fs") or guest_fs)
    keys = [pair_key(guest, pools[pool]) for guest, pool in zip(guests, lie_on, strict=True)]
    is_the_guest = np.arange(len(keys)) < len(measured)
    published = among(foretold(question, ranking_of(question), keys), keys)
    now = machine.before(machine.apart(published, lie_on, are_alike=is_the_guest), VARIATION**2)
    now = machine.after(now, [Block(tuple(at[choice] for choice in each.entries), each.outcomes) for each in blocks])
    now = machine.among(now, range(len(measured)))
    few = reduced(Components(now.weights, now.means, now.covariances, np.zeros_like(now.covariances)))
    names = tuple(pair_key(guest_fs, pool) for pool in measured)
    runs = sum(len(each.entries) for each in blocks)
    return OnPools(Posterior(names, few.weights, few.means, few.covariances, few.extras), runs)
