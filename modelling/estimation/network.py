"""Estimate effects from trials that each compared only some treatments: network meta-analysis. No Django.

A trial is a set of arms that were observed independently. Inside a trial the contrasts share arms, and the
weights take that into account: of arms with variances v they are the Laplacian diag(w) - w wᵀ / Σw, w = 1 / v.

Sources: Rücker 2012 (10.1002/jrsm.1058), Rücker and Schwarzer 2014 (10.1002/sim.6236) for trials of
many arms, Jackson, White and Riley 2013 for tau² in networks; docs/models/network.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from .graph import connected


class EvidenceError(ValueError):
    """Evidence that cannot be estimated from; the text is fit to show."""


@dataclass(frozen=True)
class Trial:
    """One trial of k >= 2 arms.

    means : (k,), effects of the arms up to a constant; variances : (k,), > 0
    sources : slugs of its case studies
    """

    name: str
    treatments: tuple[str, ...]
    means: np.ndarray
    variances: np.ndarray
    sources: tuple[str, ...] = ()

    @classmethod
    def from_arms(
        cls,
        name: str,
        treatments: Sequence[str],
        means: np.ndarray,
        variances: np.ndarray,
        sources: tuple[str, ...] = (),
    ) -> "Trial":
        """Return a trial of these means and variances, both (k,). Raises EvidenceError where one is unusable."""
        if not (np.isfinite(means).all() and np.isfinite(variances).all() and (np.asarray(variances) > 0).all()):
            raise EvidenceError(f"{name}: every arm needs a finite mean and a variance above zero")
        return cls(name, tuple(treatments), means - means[0], np.asarray(variances, dtype=float), sources)

    @cached_property
    def effects(self) -> np.ndarray:
        """Return (k, k): the effect of arm i minus that of arm j."""
        return np.subtract.outer(self.means, self.means)


class Weighted:
    """The arms of all trials of one network in flat arrays: trial, place of the treatment, mean and weight of each.

    A trial's Laplacian is diag(w) - w wᵀ / Σw, w = 1 / (variance + tau² / 2); it is never stored.
    """

    def __init__(self, trials: Sequence[Trial], treatments: Sequence[str], tau2: float = 0.0) -> None:
        place = {treatment: index for index, treatment in enumerate(treatments)}
        self.size, self.trials, self.tau2 = len(treatments), tuple(trials), tau2
        self.trial = np.repeat(np.arange(len(trials)), [len(trial.treatments) for trial in trials])
        self.place = np.array([place[name] for trial in trials for name in trial.treatments], dtype=int)
        self.mean = np.concatenate([trial.means for trial in trials])
        self.weight = 1.0 / (np.concatenate([trial.variances for trial in trials]) + tau2 / 2)
        self.total = np.bincount(self.trial, self.weight, len(trials))
        shares = self.weight / np.sqrt(self.total)[self.trial]
        table = csr_array((shares, (self.trial, self.place)), shape=(len(trials), self.size))
        self.shares = table.toarray() if 10 * len(shares) > len(trials) * self.size else table  # (s, n) w / √Σw

    def _within(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the arms without the weighted mean of their trial."""
        return values - (np.bincount(self.trial, self.weight * values, len(self.total)) / self.total)[self.trial]

    @cached_property
    def laplacian(self) -> np.ndarray:
        """Return the (n, n) sum of the trials' Laplacians."""
        product = self.shares.T @ self.shares
        product = product if isinstance(product, np.ndarray) else product.toarray()
        return np.diag(np.bincount(self.place, self.weight, self.size)) - product

    @cached_property
    def right(self) -> np.ndarray:
        """Return the (n,) right side of the normal equations: sum over trials of their weighted effects."""
        return np.bincount(self.place, self.weight * self._within(self.mean), self.size)

    def unexplained(self, estimate: np.ndarray) -> float:
        """Return Q, the weighted squares that the estimate leaves, over all pairs of all trials."""
        return float(self.weight @ self._within(self.mean - estimate[self.place]) ** 2)

    def unexplained_within_designs(self) -> float:
        """Return Q that remains when the trials of each design (set of treatments) are estimated by themselves."""
        designs: dict[tuple[str, ...], list[Trial]] = {}
        for trial in self.trials:
            designs.setdefault(tuple(sorted(trial.treatments)), []).append(trial)
        total = 0.0
        for treatments, same in designs.items():
            if len(same) > 1:  # a single trial is explained completely
                alone = Weighted(same, treatments, self.tau2)
                total += alone.unexplained(fit(alone).effects)
        return total

    @property
    def freedom(self) -> int:
        """Return the number of independent contrasts: one fewer than arms, in each trial."""
        return len(self.place) - len(self.trials)

    def spread_factor(self, covariance: np.ndarray) -> float:
        """Return what one unit of tau² adds to the expectation of Q (the denominator of the moment estimator):
        [tr L - tr(covariance L²)] / 2, with L² = diag(w²) - (w (w²)ᵀ + w² wᵀ) / Σw + Σw² w wᵀ / (Σw)²."""
        total, squares = self.total, self.weight**2
        toward = (self.shares @ covariance)[self.trial, self.place] * np.sqrt(total)[self.trial]  # (wᵀ covariance)
        trace = self.weight.sum() - (squares / total[self.trial]).sum()
        product = np.diag(covariance)[self.place] @ squares
        product -= 2 * (toward * squares / total[self.trial]).sum()
        product += (np.bincount(self.trial, squares) * np.bincount(self.trial, toward * self.weight) / total**2).sum()
        return float(trace - product) / 2


class NotEstimated(ArithmeticError):  # noqa: N818
    """A fit gave numbers that are not finite; the text is fit to show."""


def check_finite(*estimates: np.ndarray) -> None:
    """Raise NotEstimated where an estimate is not finite, before it spoils sums of other estimates."""
    if not all(np.isfinite(estimate).all() for estimate in estimates):
        raise NotEstimated("the fit of its entries came to something that is no number.")


@dataclass(frozen=True)
class Fit:
    """Effects of the treatments of one connected network, each up to the same constant.

    effects : (n,) array; covariance : (n, n) array, rows sum to zero
    """

    effects: np.ndarray
    covariance: np.ndarray

    def __post_init__(self) -> None:
        check_finite(self.effects, self.covariance)

    def errors(self) -> np.ndarray:
        """Return (n, n) standard errors of effects[i] - effects[j]."""
        own = np.diag(self.covariance)
        return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * self.covariance, 0.0))


@dataclass(frozen=True)
class Network:
    """The estimate of one connected part.

    common, random : fits with common effect and with random effects
    tau2 : variance between trials; None where no two trials can disagree
    q, freedom : Cochran's Q of the whole and its degrees of freedom
    q_heterogeneity, q_inconsistency : its split into within and between designs
    """

    treatments: tuple[str, ...]
    trials: tuple[Trial, ...]
    common: Fit
    random: Fit
    tau2: float | None
    q: float
    freedom: int
    q_heterogeneity: float
    q_inconsistency: float

    @property
    def i2(self) -> float | None:
        """Return the share of the variation that is between trials, 0 to 1; None without degrees of freedom."""
        if not self.freedom:
            return None
        return max(0.0, (self.q - self.freedom) / self.q) if self.q > 0 else 0.0


def networks(trials: Iterable[Trial]) -> list[Network]:
    """Return one estimate for each connected part of the network, the part with most treatments first."""
    trials = list(trials)
    treatments = sorted({treatment for trial in trials for treatment in trial.treatments})
    if not treatments:
        return []
    parts = connected(Weighted(trials, treatments).laplacian)
    of_part = {treatments[index]: number for number, part in enumerate(parts) for index in part}
    return [
        _network(
            tuple(treatments[index] for index in part),
            [trial for trial in trials if of_part[trial.treatments[0]] == number],
        )
        for number, part in enumerate(parts)
    ]


def _network(treatments: tuple[str, ...], trials: list[Trial]) -> Network:
    weighted = Weighted(trials, treatments)
    common = fit(weighted)
    q, freedom = weighted.unexplained(common.effects), weighted.freedom - (len(treatments) - 1)
    tau2 = max(0.0, (q - freedom) / weighted.spread_factor(common.covariance)) if freedom > 0 else None
    within = weighted.unexplained_within_designs()
    return Network(
        treatments=treatments,
        trials=tuple(trials),
        common=common,
        random=fit(Weighted(trials, treatments, tau2)) if tau2 else common,
        tau2=tau2,
        q=q,
        freedom=freedom,
        q_heterogeneity=within,
        q_inconsistency=max(0.0, q - within),
    )


def fit(weighted: Weighted) -> Fit:
    """Return the least-squares fit of a connected network: effects = L⁺ b, covariance = L⁺."""
    mean = np.full((weighted.size, weighted.size), 1.0 / weighted.size)
    scale = np.trace(weighted.laplacian) / weighted.size  # keeps the shifted matrix well conditioned
    covariance = np.linalg.inv(weighted.laplacian + scale * mean) - mean / scale
    return Fit(covariance @ weighted.right, covariance)
