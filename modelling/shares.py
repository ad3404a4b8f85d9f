"""How much of a difference each component of two configurations accounts for. No Django.

The additive component model (modelling.components) is fitted to all numbers on a workload: the
effect of a configuration is that of its hypervisor platform plus its guest file system plus its
host file system (and its cache mode where sources state one). Components that the evidence cannot
tell apart are reported together. Source: design section 5; docs/models/components.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from .components import Components, additive
from .evidence import NORMAL_95
from .network import Trial

COMPONENTS = ("hypervisor", "guest_fs", "host_fs", "cache_mode")


@dataclass(frozen=True)
class Share:
    """What some components, told only together, contribute to ln(throughput a / throughput b).

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
        """Whether the interval excludes one, so that the direction is known."""
        return not self.low <= 1.0 <= self.high


@dataclass(frozen=True)
class Decomposition:
    """The difference of two configurations as the sum of the contributions of its components.

    predicted, low, high : ratio a / b of the additive model. untold names the components whose
    contribution cannot be told even together; then predicted is None.
    """

    shares: tuple[Share, ...]
    predicted: float | None
    low: float | None
    high: float | None
    untold: tuple[str, ...]


def fit(trials: list[Trial], configurations: Mapping[str, Mapping[str, str]]) -> Components:
    """The additive model on trials whose treatments are keys of `configurations`.

    configurations : key to {"hypervisor": "kvm", "guest_fs": "xfs", ...}; empty values are left out.
    """
    return additive(trials, {key: _names(parts) for key, parts in configurations.items()})


def _names(parts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{kind}={parts[kind]}" for kind in COMPONENTS if parts.get(kind))


def decompose(model: Components, a: Mapping[str, str], b: Mapping[str, str]) -> Decomposition:
    """Split the predicted difference of configuration a against b into what its components contribute.

    Components equal on both sides contribute nothing and do not appear. Of all ways to group the
    others into sets that can be told, the finest is taken; what cannot be told at all is untold.
    """
    weights = {kind: _weights(model, kind, a, b) for kind in COMPONENTS if a.get(kind, "") != b.get(kind, "")}
    unknown = tuple(kind for kind, weight in weights.items() if weight is None)
    told = None
    if not unknown:
        partitions = sorted(_partitions(tuple(weights)), key=len, reverse=True)
        told = next(filter(None, (_told(model, weights, partition) for partition in partitions)), None)
    if told is None:
        return Decomposition((), None, None, None, unknown or tuple(weights))
    whole = model.contrast(sum(weights.values(), np.zeros(len(model.names))))
    assert whole is not None  # a sum of contrasts that can be told
    difference, error = whole
    shares = tuple(
        Share(
            kinds,
            *_ratios(effect, spread),
            share=effect / difference if abs(difference) > 1e-6 else None,
        )
        for kinds, (effect, spread) in told.items()
    )
    return Decomposition(shares, *_ratios(difference, error), untold=())


def _ratios(effect: float, error: float) -> tuple[float, float, float]:
    return tuple(float(x) for x in np.exp([effect, effect - NORMAL_95 * error, effect + NORMAL_95 * error]))


def _weights(model: Components, kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> np.ndarray | None:
    """(c,) contrast of the kind's component of a minus that of b; None where the model lacks one."""
    weight = np.zeros(len(model.names))
    for parts, sign in ((a, 1.0), (b, -1.0)):
        if parts.get(kind):
            name = f"{kind}={parts[kind]}"
            if name not in model.names:
                return None
            weight[model.names.index(name)] += sign
    return weight


def _told(
    model: Components, weights: Mapping[str, np.ndarray], partition: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[float, float]] | None:
    """The estimate of each set of the partition, or None where one of them cannot be told."""
    found = {}
    for kinds in partition:
        contrast = model.contrast(sum(weights[kind] for kind in kinds))
        if contrast is None:
            return None
        found[kinds] = contrast
    return found


def _partitions(items: tuple[str, ...]) -> list[list[tuple[str, ...]]]:
    """Every way to group the items; at most four items, so at most fifteen ways."""
    if not items:
        return [[]]
    first, rest = items[0], items[1:]
    found = []
    for partition in _partitions(rest):
        found.append([(first,), *partition])
        found += [
            [(first, *block), *partition[:index], *partition[index + 1 :]] for index, block in enumerate(partition)
        ]
    return found
