"""Posteriors made by hand, for tests of placement."""

import numpy as np

from modelling.estimation.bayes import Posterior
from modelling.fleet.placement.expected_gain import Known


def known(effects: dict[str, float], tau: float = 0.1, *, numbers: bool = True, strength: str = "moderate") -> Known:
    """Pairs whose effects are known but for tau, by numbers or by lists alone."""
    size = len(effects)
    posterior = Posterior(
        tuple(effects),
        weights=np.ones(1),
        means=np.array([list(effects.values())]),
        covariances=np.zeros((1, size, size)),
        extras=tau**2 / 2 * np.eye(size)[None],
    )
    return Known(posterior, (frozenset(effects),) if numbers else (), strength, 2 if numbers else 0)
