"""Split the difference of two configurations into contributions of components. No Django.

The additive component model (modelling.estimation.components) is fitted to all numbers on a workload: the effect of a
configuration is the sum of those of hypervisor, guest file system, host file system and, where stated, cache mode.
Components that the evidence cannot tell apart are reported together. Source: docs/models/components.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from modelling.evidence.normal import NORMAL_95

from .components import Components, additive
from .network import Trial

COMPONENTS = ("hypervisor", "guest_fs", "host_fs", "cache_mode")


@dataclass(frozen=True)
class Share:
    """The contribution of components that cannot be told apart to ln(throughput a / throughput b).

    ratio, low, high : exp of the contribution with its 95 % interval
    share : contribution / whole difference, a signed fraction; None where the whole is about zero
    """

    components: tuple[str, ...]
    ratio: float
    low: float
    high: float
    share: float | None

    @property
    def is_told(self) -> bool:
        """Tell whether the interval excludes one, so that the direction is known."""
        return not self.low <= 1.0 <= self.high


@dataclass(frozen=True)
class Decomposition:
    """The difference of two configurations as the sum of the contributions of its components.

    predicted, low, high : ratio a / b of the additive model; None where some components are untold
    """

    shares: tuple[Share, ...]
    predicted: float | None
    low: float | None
    high: float | None
    untold: tuple[str, ...]


def fit(trials: list[Trial], configurations: Mapping[str, Mapping[str, str]]) -> Components:
    """Return the additive model on trials whose treatments are keys of `configurations`.

    configurations : key to {"hypervisor": "kvm", "guest_fs": "xfs", ...}; empty values are left out.
    """
    return additive(trials, {key: _names(parts) for key, parts in configurations.items()})


def _names(parts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{kind}={parts[kind]}" for kind in COMPONENTS if parts.get(kind))


def decompose(model: Components, a: Mapping[str, str], b: Mapping[str, str]) -> Decomposition:
    """Split the predicted difference of configuration a against b into what its components contribute.

    Components equal on both sides contribute nothing and do not appear. Of all partitions of the others, the one with
    the most estimable components is taken, then the finest; components in no estimable set are untold.
    """
    differing = [kind for kind in COMPONENTS if kind in a and kind in b and a[kind] != b[kind]]
    weights = {kind: _weights(model, kind, a, b) for kind in differing}
    candidates = [_estimate_sets(model, weights, partition) for partition in _partitions(tuple(weights))]
    estimated = max(candidates, key=lambda way: (sum(map(len, way)), len(way)))
    untold = tuple(kind for kind in differing if not any(kind in kinds for kinds in estimated))
    known = [weight for weight in weights.values() if weight is not None]
    whole = None if untold else model.contrast(sum(known, np.zeros(len(model.names))))
    shares = tuple(
        Share(kinds, *_ratios(effect, spread), share=effect / whole[0] if whole and abs(whole[0]) > 1e-6 else None)
        for kinds, (effect, spread) in estimated.items()
    )
    predicted, low, high = _ratios(*whole) if whole else (None, None, None)
    return Decomposition(shares, predicted, low, high, untold)


def _ratios(effect: float, error: float) -> tuple[float, float, float]:
    ratio, low, high = np.exp([effect, effect - NORMAL_95 * error, effect + NORMAL_95 * error]).tolist()
    return ratio, low, high


def _weights(model: Components, kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> np.ndarray | None:
    """Return the (c,) contrast of the kind's component of a minus that of b; None where the model lacks one."""
    weight = np.zeros(len(model.names))
    for parts, sign in ((a, 1.0), (b, -1.0)):
        if parts.get(kind):
            name = f"{kind}={parts[kind]}"
            if name not in model.names:
                return None
            weight[model.names.index(name)] += sign
    return weight


def _estimate_sets(
    model: Components, weights: Mapping[str, np.ndarray | None], partition: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the estimates of those sets of the partition that can be estimated."""
    estimated = {}
    for kinds in partition:
        parts = [weight for kind in kinds if (weight := weights[kind]) is not None]
        if len(parts) < len(kinds):
            continue
        if (contrast := model.contrast(np.sum(parts, axis=0))) is not None:
            estimated[kinds] = contrast
    return estimated


def _partitions(items: tuple[str, ...]) -> list[list[tuple[str, ...]]]:
    """Return all partitions of the items, at most fifteen, as there are at most four components."""
    if not items:
        return [[]]
    first, rest = items[0], items[1:]
    partitions = []
    for partition in _partitions(rest):
        partitions.append([(first,), *partition])
        partitions += [
            [(first, *block), *partition[:index], *partition[index + 1 :]] for index, block in enumerate(partition)
        ]
    return partitions
