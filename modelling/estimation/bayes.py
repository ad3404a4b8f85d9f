"""Posteriors that are mixtures of normals, what they forecast, and one of them: of trials alone. No Django.

`posterior` integrates the spread between laboratories out. Trials as in modelling.estimation.network; flat prior on the
effects of a connected part; one common tau, the standard deviation of contrasts between laboratories (arms of a trial
correlated by one half), with a half-normal prior.
Given tau the posterior of the effects is normal and the marginal likelihood is closed,

    ln p(y | tau) = -1/2 [sum of ln pdet X(tau) + ln pdet sum of L(tau) + Q(tau)] + constant

with pseudo-determinants of the trials' contrast covariances X (of arms with weights w in proportion to sum w / prod w)
and of the sum of their Laplacians L = X⁺. So every posterior is a mixture of normals, here over equal steps of ln tau.

Sources: Higgins, Thompson and Spiegelhalter 2009 (10.1111/j.1467-985X.2008.00552.x); docs/models/network.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, owens_t

from .network import EvidenceError, Fit, Trial, Weighted, check_finite, fit

_NODES = 96  # values of tau
_MANY = 30  # treatments
AT_ONCE = 200_000  # cells of a temporary array, so that it fits into a processor's cache
_CENTRAL = (0.15865525393145707, 0.8413447460685429)  # a normal distribution's mean -+ one standard deviation


@dataclass(frozen=True)
class Posterior:
    """The posterior of n treatments.

    A mixture of T components: with weight weights[t] the effects are normal with mean means[t] and covariance
    covariances[t], each up to the same constant, and those of a new laboratory differ from them with covariance
    extras[t].

    weights : (T,) of sum one; means : (T, n); covariances, extras : (T, n, n)
    Raises NotEstimated where one of the numbers is not finite.
    """

    treatments: tuple[str, ...]
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    extras: np.ndarray

    def __post_init__(self) -> None:
        check_finite(self.weights, self.means, self.covariances, self.extras)

    @property
    def effects(self) -> np.ndarray:
        """Return (n,) posterior means, up to a constant."""
        return self.weights @ self.means

    def errors(self) -> np.ndarray:
        """Return (n, n) posterior standard deviations of effects[i] - effects[j] (mean over laboratories)."""
        return np.sqrt(self._variances())

    def predictive_errors(self) -> np.ndarray:
        """Return (n, n) half widths of the central 68 % of the difference in a new laboratory.

        The predictive distribution's tails are so heavy that it has no finite standard deviation.
        """
        errors = np.zeros((len(self.treatments),) * 2)
        i, j = np.triu_indices(len(self.treatments), 1)
        low, high = self.predictive_quantiles(i, j, _CENTRAL).T
        errors[i, j] = errors[j, i] = (high - low) / 2
        return errors

    def fit(self) -> Fit:
        """Return the means and covariance of the effects over the mixture."""
        centred = self.means - self.means.mean(axis=1, keepdims=True)
        mean = self.weights @ centred
        between = (centred - mean).T @ ((centred - mean) * self.weights[:, None])
        return Fit(mean, np.tensordot(self.weights, self.covariances, 1) + between)

    def _variances(self) -> np.ndarray:
        own = np.einsum("tii->ti", self.covariances)
        inner = own[:, :, None] + own[:, None, :] - 2 * self.covariances
        apart = self.means[:, :, None] - self.means[:, None, :]
        mean = np.tensordot(self.weights, apart, 1)
        return np.maximum(np.tensordot(self.weights, inner + (apart - mean) ** 2, 1), 0.0)

    def differences(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (p, T) means, variances, and extra variances in a new laboratory, of first[p] - second[p]."""
        means = (self.means[:, first] - self.means[:, second]).T
        return means, *(
            np.maximum(own[:, first, first] + own[:, second, second] - 2 * own[:, first, second], 0.0).T
            for own in (self.covariances, self.extras)
        )

    def mean_quantiles(self, first: np.ndarray, second: np.ndarray, probabilities: Sequence[float]) -> np.ndarray:
        """Return (p, k) quantiles of the effects first[p] - second[p], means over laboratories.

        first, second : (p,) places of treatments; probabilities : k numbers between 0 and 1
        """
        means, variances, _ = self.differences(first, second)
        return self._quantiles(first, second, means, variances, probabilities)

    def predictive_quantiles(self, first: np.ndarray, second: np.ndarray, probabilities: Sequence[float]) -> np.ndarray:
        """Return (p, k) quantiles of the difference first[p] - second[p] that a new laboratory will see."""
        means, variances, extras = self.differences(first, second)
        return self._quantiles(first, second, means, variances + extras, probabilities)

    def contrast(self, first: int, second: int, noise: float = 0.0) -> "Mixture":
        """Return the difference that a new laboratory will measure.

        first, second : places of treatments; noise : variance of the errors of both sides' runs together
        """
        means, variances, extras = self.differences(np.array([first]), np.array([second]))
        return Mixture(self.weights, means[0], np.sqrt(np.maximum(variances[0] + extras[0] + noise, 1e-18)))

    def _quantiles(
        self,
        first: np.ndarray,
        second: np.ndarray,
        means: np.ndarray,
        variances: np.ndarray,
        probabilities: Sequence[float],
    ) -> np.ndarray:
        apart = np.asarray(first) != np.asarray(second)
        quantiles_of_pairs = np.zeros((len(apart), len(probabilities)))
        for column, probability in enumerate(probabilities):
            quantiles_of_pairs[apart, column] = quantiles(
                means[apart], np.sqrt(variances[apart]), self.weights, probability
            )
        return quantiles_of_pairs

    def predictive_certainties(self) -> np.ndarray:
        """Return the (n, n) probabilities that i is ahead of j in a new laboratory; one half on the diagonal."""
        size = len(self.treatments)
        i, j = np.triu_indices(size, 1)
        ahead = np.zeros(len(i))
        covariances = self.covariances + self.extras
        for part in np.array_split(np.arange(len(self.weights)), 1 + ahead.size * len(self.weights) // AT_ONCE):
            own = np.diagonal(covariances[part], axis1=1, axis2=2)
            spread = np.sqrt(own[:, i] + own[:, j] - 2 * covariances[part][:, i, j])
            ahead += self.weights[part] @ ndtr((self.means[part][:, i] - self.means[part][:, j]) / spread)
        total = np.full((size, size), 0.5)
        total[i, j], total[j, i] = ahead, 1.0 - ahead
        return total

    def select(self, places: np.ndarray) -> "Posterior":
        """Return the posterior of the treatments at these places alone."""
        names = tuple(self.treatments[place] for place in places)
        inside = (covariances[:, places][:, :, places] for covariances in (self.covariances, self.extras))
        return Posterior(names, self.weights, self.means[:, places], *inside)

    def forecast(self, margin: float) -> "Forecast":
        """Forecast what choosing each treatment means in a new laboratory.

        margin : share of the best's value, 0.1 for "10 % slower"
        For two and three treatments in closed form; for more on a fixed point set, with an error below 0.002 in each
        probability.
        """
        return forecast(self.weights, self.means, self.covariances + self.extras, margin)

    def loss_quantile(self, place: int, probability: float) -> float:
        """Return a quantile of a treatment's loss in a new laboratory, a share of the best's value; on fixed points."""
        size = len(self.treatments)
        uniform, normal = _points(size)
        node = np.minimum(np.searchsorted(np.cumsum(self.weights), uniform), len(self.weights) - 1)
        covariances = self.covariances + self.extras
        shifts = np.trace(covariances, axis1=1, axis2=2)[:, None, None] * (1e-12 * np.eye(size) + 1 / size)
        roots = np.linalg.cholesky(covariances + shifts)
        order = np.argsort(node, kind="stable")
        values = self.means[node]
        for own in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
            values[own] += normal[own] @ roots[node[own[0]]].T
        return float(-np.expm1(-np.quantile(values.max(axis=1) - values[:, place], probability)))


@dataclass(frozen=True)
class Mixture:
    """The distribution of an ln ratio in a new laboratory: a mixture of normals. All (components,)."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    @property
    def deviation(self) -> float:
        """Return half the width of the central 68 %, as heavy tails have no finite standard deviation."""
        return (self.quantile(_CENTRAL[1]) - self.quantile(_CENTRAL[0])) / 2

    def below(self, value: float) -> float:
        """Return the probability that the ln ratio is below a value."""
        return float(self.weights @ ndtr((value - self.means) / self.deviations))

    def log_density(self, value: float) -> float:
        z = (value - self.means) / self.deviations
        return float(logsumexp(-(z**2) / 2 - np.log(self.deviations), b=self.weights)) - math.log(2 * math.pi) / 2

    def quantile(self, probability: float) -> float:
        return float(quantiles(self.means[None], self.deviations[None], self.weights, probability)[0])


@dataclass(frozen=True)
class Forecast:
    """For each of n treatments, in a new laboratory:

    best : (n,) probability that it is the best; they sum to one
    slower : (n,) probability that it is slower than the best by the margin or more
    loss : (n,) expected loss when it is chosen, as a share of the best's value
    """

    best: np.ndarray
    slower: np.ndarray
    loss: np.ndarray


def forecast(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, margin: float) -> Forecast:
    """Forecast what choosing each of n treatments means, where their values are a mixture of normal distributions.

    weights : (T,), their sum is 1; means : (T, n) and covariances : (T, n, n) of ln(value), up to a constant
    """
    size = means.shape[1]
    if size == 1:
        return Forecast(np.ones(1), np.zeros(1), np.zeros(1))
    by_size = {2: _forecast_two, 3: _forecast_three}
    return by_size.get(size, _forecast_many)(weights, means, covariances, margin)


# The posterior


def posterior(treatments: Sequence[str], trials: Sequence[Trial], tau_scale: float) -> Posterior:
    """Return the posterior of treatments that trials connect.

    tau_scale : of the half-normal prior on tau, > 0, ln ratio

    Raises EvidenceError where the scale is not a positive number.
    """
    if not (np.isfinite(tau_scale) and tau_scale > 0):
        raise EvidenceError(f"the scale of tau is {tau_scale}; a number above zero is needed")
    taus = tau_scale * np.geomspace(1e-4, 6.0, _NODES)
    logs, means, covariances = zip(*(_given_tau(tau**2, treatments, trials) for tau in taus), strict=True)
    logs = np.array(logs) - (taus / tau_scale) ** 2 / 2 + np.log(taus)  # the half-normal prior, as a density of ln tau
    weights = np.exp(logs - logs.max())
    extras = (taus**2 / 2)[:, None, None] * np.eye(len(treatments))
    return Posterior(tuple(treatments), weights / weights.sum(), np.array(means), np.array(covariances), extras)


def _given_tau(tau2: float, treatments: Sequence[str], trials: Sequence[Trial]) -> tuple[float, np.ndarray, np.ndarray]:
    """Return ln p(y | tau) up to a constant, and the means (n,) and covariance (n, n) of the effects given tau."""
    weighted = Weighted(trials, treatments, tau2)
    effects = fit(weighted)
    shifted = weighted.laplacian + 1 / weighted.size  # adds an eigenvalue of one, so that it is invertible
    information = np.linalg.slogdet(shifted)[1]
    spreads = np.log(weighted.total).sum() - np.log(weighted.weight).sum()  # ln pdet X of all trials, up to constants
    return -(spreads + information + weighted.unexplained(effects.effects)) / 2, effects.effects, effects.covariance


def quantiles(
    means: np.ndarray, deviations: np.ndarray, weights: np.ndarray, probability: float | np.ndarray
) -> np.ndarray:
    """Return (p,) quantiles of mixtures of normals, by Newton steps that stay inside a bracket.

    means, deviations : (p, T), deviations > 0; weights : (T,) of sum one; 0 < probability < 1, one or (p,)
    """
    reach = np.asarray(ndtri(probability))[..., None] * deviations
    low, high = (means + reach).min(axis=1), (means + reach).max(axis=1)
    mean = means @ weights
    deviation = np.sqrt((deviations**2 + (means - mean[:, None]) ** 2) @ weights)
    quantile = np.clip(mean + ndtri(probability) * deviation, low, high)
    for _ in range(100):
        z = (quantile[:, None] - means) / deviations
        excess = ndtr(z) @ weights - probability
        high, low = np.where(excess > 0, quantile, high), np.where(excess > 0, low, quantile)
        slope = (np.exp(-(z**2) / 2) / deviations) @ weights / math.sqrt(2 * math.pi)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = quantile - excess / slope
        step = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        moved = np.abs(step - quantile).max(initial=0.0)
        quantile = step
        if moved <= 1e-12 * (1.0 + np.abs(quantile).max(initial=0.0)):
            break
    return quantile


# Forecasts of choices


def shortfall(mean: np.ndarray, deviation: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return E[(1 - exp(x)) where x < 0] of x ~ N(mean, deviation²), with the chance of x < 0."""
    mean = np.minimum(mean, 8 * deviation)  # beyond, the shortfall is 0
    return chance - np.exp(mean + deviation**2 / 2 + log_ndtr(-mean / deviation - deviation))


def _forecast_two(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, margin: float) -> Forecast:
    lead = means[:, 0] - means[:, 1]
    deviation = np.sqrt(covariances[:, 0, 0] + covariances[:, 1, 1] - 2 * covariances[:, 0, 1])
    leads = np.stack([lead, -lead])
    return Forecast(
        best=ndtr(leads / deviation) @ weights,
        slower=ndtr((math.log1p(-margin) - leads) / deviation) @ weights,
        loss=shortfall(leads, deviation, ndtr(-leads / deviation)) @ weights,
    )


def _forecast_three(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, margin: float) -> Forecast:
    """Forecast from probabilities that two jointly normal differences are both negative.

    With a, b the leads of the two others over i: i is best where both are below zero; it is not slower where both
    are below -ln(1 - margin); and the expected loss splits by which of the two is ahead, where exp(-a) turns the
    normal into one moved by minus its covariance with a.
    """
    best, slower, loss = np.zeros(3), np.zeros(3), np.zeros(3)
    for i in range(3):
        others = [j for j in range(3) if j != i]
        differ = np.zeros((2, 3))
        differ[:, i] = -1.0
        differ[[0, 1], others] = 1.0
        lead = means @ differ.T  # (T, 2)
        spread = differ @ covariances @ differ.T  # (T, 2, 2)
        best[i] = weights @ _both_below(0.0 - lead, spread)
        slower[i] = 1.0 - weights @ _both_below(-math.log1p(-margin) - lead, spread)
        kept = best[i]
        for a in (0, 1):
            # Where a > 0 and a > b: (-a, b - a) are both below zero, under the density tilted by exp(-a).
            turned = np.array([[-1.0, 0.0], [-1.0, 1.0]]) if a == 0 else np.array([[0.0, -1.0], [1.0, -1.0]])
            turned_spread = turned @ spread @ turned.T
            chance = _both_below(-(lead @ turned.T), turned_spread)
            tilted = _both_below(-((lead - spread[:, :, a]) @ turned.T), turned_spread)
            with np.errstate(over="ignore", invalid="ignore"):
                share = np.exp(spread[:, a, a] / 2 - lead[:, a]) * tilted
            kept += weights @ np.fmin(share, chance)  # exp(-a) < 1 there; far out the tilt has no digits left
        loss[i] = 1.0 - kept
    return Forecast(best / best.sum(), np.clip(slower, 0.0, 1.0), np.clip(loss, 0.0, 1.0))


def _both_below(limits: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Return P(x < limits) of x ~ N(0, covariance) in two dimensions, for (T, 2) limits and (T, 2, 2) covariances.

    Source: Owen 1956 (10.1214/aoms/1177728074), by his function T.
    """
    deviations = np.sqrt(np.einsum("tii->ti", covariances))
    h, k = (limits / deviations).T
    correlation = np.clip(covariances[:, 0, 1] / deviations.prod(axis=1), -1.0, 1.0)
    tiny = np.finfo(float).tiny ** 0.5
    h, k = np.where(h == 0, tiny, h), np.where(k == 0, tiny, k)  # each is divided by below
    across = np.sqrt(np.maximum((1 - correlation) * (1 + correlation), np.finfo(float).tiny))
    with np.errstate(over="ignore"):
        probability = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, (k / h - correlation) / across)
        probability -= owens_t(k, (h / k - correlation) / across)
    return np.clip(probability - np.where(h * k < 0, 0.5, 0.0), 0.0, 1.0)


def _forecast_many(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, margin: float) -> Forecast:
    """Forecast on a fixed set of points, spread over the components by their weights.

    At each point an entry's value is integrated out in closed form given all others, which makes the estimate smooth.
    Entries are sorted by their means, which makes the result independent of their numbering.
    """
    from scipy.linalg.lapack import dtrtri  # slow to import

    order = np.lexsort((np.einsum("t,tii->i", weights, covariances).round(12), -(weights @ means).round(12)))
    means, covariances = means[:, order], covariances[:, order][:, :, order]
    size = len(order)
    uniform, normal = _points(size)
    node = np.minimum(np.searchsorted(np.cumsum(weights), uniform), len(weights) - 1)
    by_node = np.argsort(node, kind="stable")
    drawn = normal[by_node]
    value, pulled, alone = np.empty_like(drawn), np.empty_like(drawn), np.empty_like(drawn)
    used, starts = np.unique(node[by_node], return_index=True)
    for t, start, end in zip(used, starts, [*starts[1:], len(node)], strict=True):
        # A common shift of all entries changes no difference, and makes the covariance invertible.
        covariance = covariances[t] + np.trace(covariances[t]) / size
        factor = np.linalg.cholesky(covariance + np.finfo(float).eps * np.trace(covariance) * np.eye(size))
        unfactor, _ = dtrtri(factor, lower=1)
        value[start:end] = drawn[start:end] @ factor.T + means[t]
        pulled[start:end] = drawn[start:end] @ unfactor
        alone[start:end] = 1.0 / (unfactor**2).sum(axis=0)  # the inverse of the covariance's inverse, on its diagonal
    given_others = value - pulled * alone
    rows, top = np.arange(len(value)), np.argmax(value, axis=1)
    lead = given_others - value[rows, top, None]
    value[rows, top] = -np.inf
    lead[rows, top] = given_others[rows, top] - value.max(axis=1)
    deviation = np.sqrt(alone)
    ahead = ndtr(lead / deviation)
    best = ahead.sum(axis=0)
    slower = ndtr((math.log1p(-margin) - lead) / deviation).sum(axis=0)
    loss = shortfall(lead, deviation, 1.0 - ahead).sum(axis=0)
    back = np.argsort(order)
    return Forecast((best / best.sum())[back], (slower / len(node))[back], (loss / len(node))[back])


def _points(size: int) -> tuple[np.ndarray, np.ndarray]:
    return sobol_points(size, 2**13 if size < _MANY else 2**12)


@lru_cache(maxsize=28)
def sobol_points(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (count,) uniform and (count, size) normal numbers, always the same, by a scrambled Sobol sequence."""
    from scipy.stats import qmc  # slow to import, and up to three entries need no points

    points = qmc.Sobol(size + 1, rng=np.random.default_rng(1)).random(count)
    return points[:, 0], ndtri(np.clip(points[:, 1:], 1e-12, 1 - 1e-12))  # ndtri is infinite at 0 and 1
