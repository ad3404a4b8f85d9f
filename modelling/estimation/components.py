"""Fit the additive component model, and find components that cannot be told apart. No Django.

The effect of a treatment is the sum of the effects of its components, theta = C beta.
Trials need not be connected: two parts of a network are joined where they share components.

Source: Rücker, Petropoulou and Schwarzer 2020 (10.1002/bimj.201800167); docs/models/network.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .graph import connected
from .network import Trial, Weighted

_RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ComponentFit:
    """Effects of the components: (c,) array, NaN-free, and their (c, c) covariance.

    Only directions that the trials inform are estimated; see Components.estimable.
    """

    effects: np.ndarray
    covariance: np.ndarray

    def errors(self) -> np.ndarray:
        """Return (c,) standard errors of the components' effects."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class Components:
    """The additive model on a set of trials.

    estimable : (c,) bool, whether the effect of the component by itself can be told
    aliases : sets of components whose effects only occur together, so that none of them can be told
    informed : (c, c) projection onto the directions the trials inform
    """

    names: tuple[str, ...]
    common: ComponentFit
    random: ComponentFit
    tau2: float | None
    q: float
    freedom: int
    estimable: np.ndarray
    aliases: tuple[tuple[str, ...], ...]
    informed: np.ndarray

    def contrast(self, weights: np.ndarray) -> tuple[float, float] | None:
        """Return the random-effects estimate and standard error of weights @ effects; None where it cannot be told.

        weights : (c,) array, for example the components of one treatment minus those of another.
        """
        if np.abs(weights - self.informed @ weights).max() > 1e-6:
            return None
        error = float(np.sqrt(max(weights @ self.random.covariance @ weights, 0.0)))
        return float(weights @ self.random.effects), error


def additive(trials: Sequence[Trial], made_of: Mapping[str, Sequence[str]]) -> Components:
    """Fit the additive model.

    Parameters
    ----------
    trials : any trials; their networks need not be connected
    made_of : each treatment's components; one without any is the inactive reference

    Returns
    -------
    Components. q and freedom are those of the additive model; tau2 is None without freedom.
    """
    treatments = sorted({treatment for trial in trials for treatment in trial.treatments})
    names = tuple(sorted({component for treatment in treatments for component in made_of[treatment]}))
    design = np.zeros((len(treatments), len(names)))
    for row, treatment in enumerate(treatments):
        for component in made_of[treatment]:
            design[row, names.index(component)] += 1.0
    weighted = Weighted(trials, treatments)
    common, spread = _fit(weighted, design)
    information = design.T @ weighted.laplacian @ design
    informed = np.linalg.pinv(information, rcond=_RANK_TOLERANCE, hermitian=True) @ information
    q = weighted.unexplained(design @ common.effects)
    freedom = weighted.freedom - round(float(np.trace(informed)))
    tau2 = max(0.0, (q - freedom) / weighted.spread_factor(spread)) if freedom > 0 else None
    random = _fit(Weighted(trials, treatments, tau2), design)[0] if tau2 else common
    estimable = np.abs(informed - np.eye(len(names))).max(axis=1, initial=0.0) < 1e-6
    return Components(names, common, random, tau2, q, freedom, estimable, _aliases(names, informed), informed)


def _fit(weighted: Weighted, design: np.ndarray) -> tuple[ComponentFit, np.ndarray]:
    """Return the fit, and the covariance of the treatments' effects it implies."""
    covariance = np.linalg.pinv(design.T @ weighted.laplacian @ design, rcond=_RANK_TOLERANCE, hermitian=True)
    return ComponentFit(covariance @ design.T @ weighted.right, covariance), design @ covariance @ design.T


def _aliases(names: tuple[str, ...], informed: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Return components tied to one another by directions that no trial informs."""
    missing = np.eye(len(names)) - informed
    missing[np.abs(missing) < 1e-6] = 0.0
    if not missing.any():
        return ()
    sets = [part for part in connected(missing) if missing[np.ix_(part, part)].any()]
    return tuple(tuple(names[index] for index in part) for part in sets)
