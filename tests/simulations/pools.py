"""The few runs on each pool of a site whose truth is known, and what they tell. No Django.

Under each workload every guest file system on every pool is an entry of one machine: the pair as published, beside a
disk that nobody knows (`machine.add_place_variance`). Each guest's machines need the best pool, and the next best once
that is full. So a decision is made by the rule of `kdb measure`, a block at a time; when it stands its pool is set
aside and the next one is among the rest. The guests take turns until the runs are used up. Source: docs/placement.md.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from kdb.pairs import pair_key
from modelling.estimation import machine
from modelling.estimation.bayes import Posterior
from modelling.estimation.sequential import Trial, begin, is_settled, next_block, update
from modelling.estimation.value import Components
from modelling.estimation.verdict import STRENGTHS
from modelling.fleet.placement.expected_gain import Known

from .machines import TROUBLES, TrueMachine

_TROUBLE = next(trouble for trouble in TROUBLES if trouble.disturbed)


def pool_name(number: int) -> str:
    """Name a pool, where what is known of pairs has a host file system."""
    return f"pool {number}"


def measured_on_pools(
    known: Mapping[str, Known],
    guests: Sequence[str],
    on: Sequence[str],
    truth: np.ndarray,
    runs: int,
    margin: float,
    rng: np.random.Generator,
) -> tuple[dict[str, Known], int]:
    """Return workload to what is known of guests on pools (`pool_name`) after runs on them, and how many there were.

    known : workload to what is published of pairs; on : (P,) host file system of each pool
    truth : (workloads, guests, P) ln throughput; runs : a pool and workload at most, on average over the pools
    Runs drift, and one in ten is disturbed.
    """
    told, made = {}, 0
    pairs = [pair_key(guest, host) for guest in guests for host in on]
    names = [pair_key(guest, pool_name(pool)) for guest in guests for pool in range(len(on))]
    for (workload, published), speeds in zip(known.items(), truth, strict=True):
        treatments = published.posterior.treatments
        components = Components.from_posterior(published.posterior).select([treatments.index(pair) for pair in pairs])
        places = [pool_name(pool) for _ in guests for pool in range(len(on))]
        start = begin(machine.add_place_variance(components, places, are_alike=True))
        true = TrueMachine(rng, speeds.ravel(), _TROUBLE)
        trial, own = _measured(start, true, names, len(guests), runs * len(on), margin)
        made += own
        few = trial.machine.components()
        posterior = Posterior(tuple(names), few.weights, few.means, few.covariances, few.extras)
        told[workload] = Known(posterior, (frozenset(names),), STRENGTHS[-1], 1)
    return told, made


def _measured(
    trial: Trial, true: TrueMachine, names: Sequence[str], guests: int, most: int, margin: float
) -> tuple[Trial, int]:
    """Return what is known after so many runs at most, and how many there were."""
    made, undecided = 0, [[*map(int, part)] for part in np.split(np.arange(len(names)), guests)]
    while undecided and made + 1 < most:  # a block is of two at least
        for left in [*undecided]:
            while len(left) > 1:
                stands = machine.decide(machine.select_entries(trial.machine, left), margin)
                if not is_settled(stands, trial.runs[left]):
                    break
                del left[stands.first]
            if len(left) == 1:
                undecided.remove(left)
            elif made + 1 < most:
                block = tuple(left[place] for place in next_block(stands, trial.runs[left]))[: most - made]
                trial = update(trial, [true.block(block)])
                made += len(block)
    return trial, made
