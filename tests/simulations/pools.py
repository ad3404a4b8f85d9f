"""The few runs on each pool of a site whose truth is known, and what they tell. No Django.

Under each workload every guest file system on every pool is an entry of one machine: the pair as published, beside a
disk that nobody knows (`machine.add_place_variance`). Each guest's machines need the best pool, and the next best once
that is full. So a decision is made by the rule of `kdb measure`, a block at a time; when it stands its pool is set
aside and the next one is among the rest. The guests take turns until the runs are used up. Source: docs/placement.md.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import multivariate_normal

from kdb.pairs import pair_key
from modelling.estimation import machine
from modelling.estimation.bayes import Posterior
from modelling.estimation.sequential import Trial, begin, is_settled, next_block, update
from modelling.estimation.value import Components
from modelling.estimation.verdict import STRENGTHS
from modelling.fleet.placement.expected_gain import Known
from modelling.own_lab.pools import ACROSS

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


def any_load(
    measured: Mapping[str, Known], published: Mapping[str, Known], guests: Sequence[str], on: Sequence[str]
) -> Known:
    """Return what the measured loads tell of one that was not: what disks have in common (`own_lab.pools.ACROSS`).

    Plans have it from one joint state. Here each load's posterior is one observation of the common part, beside its own
    part of the disks and of the pairs, which counts its prior once more: a little less is learnt.
    """
    pairs = [pair_key(guest, host) for guest in guests for host in on]
    names = next(iter(measured.values())).posterior.treatments
    pools, size, loads = np.tile(np.arange(len(on)), len(guests)), len(pairs), len(measured)
    same = machine.PLACES**2 * (pools[:, None] == pools)
    deviates = np.zeros(same.shape)
    for known in published.values():
        posterior = known.posterior
        at = np.ix_(*2 * [[posterior.treatments.index(pair) for pair in pairs]])
        deviates += np.tensordot(posterior.weights, posterior.covariances + posterior.extras, 1)[at] / len(published)
    seen, within = [], np.zeros((loads * size, loads * size))
    for number, known in enumerate(measured.values()):
        weights, means = known.posterior.weights, known.posterior.means
        apart = means - weights @ means
        seen.append(weights @ means)
        rows = slice(number * size, (number + 1) * size)
        within[rows, rows] = np.tensordot(weights, known.posterior.covariances, 1) + (weights * apart.T) @ apart
    outcome, level = np.concatenate(seen), np.kron(np.eye(loads), np.full((size, size), 100.0))
    logs, means_now, covariances = [], [], []
    for share in ACROSS:
        own, common = (1 - share) * same + deviates, share * same
        spread = np.kron(np.ones((loads, loads)), common) + np.kron(np.eye(loads), own) + within + level
        gain = np.tile(common, (1, loads)) @ np.linalg.pinv(spread, hermitian=True)
        logs.append(multivariate_normal.logpdf(outcome, None, spread, allow_singular=True))
        means_now.append(gain @ outcome)
        covariances.append(common - gain @ np.tile(common, (1, loads)).T + own)
    likely = np.exp(np.array(logs) - max(logs))
    zero = np.zeros((len(ACROSS), size, size))
    posterior = Posterior(names, likely / likely.sum(), np.array(means_now), np.array(covariances), zero)
    return Known(posterior, (frozenset(names),), STRENGTHS[-2], 1, is_borrowed=True)


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
