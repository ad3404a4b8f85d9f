"""Effects and the spread between laboratories with its uncertainty, integrated out by quadrature. No Django.

Trials as in modelling.estimation.network; flat prior on the effects of a connected part; one common tau, the standard
deviation of contrasts between laboratories (arms of a trial correlated by one half), with a half-normal prior.
Given tau the posterior of the effects is normal and the marginal likelihood is closed,

    ln p(y | tau) = -1/2 [sum of ln pdet X(tau) + ln pdet sum of L(tau) + Q(tau)] + constant

with pseudo-determinants of the trials' contrast covariances X = P Sigma P and of the sum of their Laplacians
L = X⁺. So every posterior is a mixture of normals over the nodes of a quadrature in tau. Nothing is sampled.
With tier lists each normal is Laplace's, at the mode of the joint likelihood of modelling.estimation.ordinal.

Sources: Higgins, Thompson and Spiegelhalter 2009 (10.1111/j.1467-985X.2008.00552.x); Röver 2020
(10.18637/jss.v093.i06) for the quadrature; docs/models/network.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, owens_t

from .network import EvidenceError, Fit, Trial
from .ordinal import Comparison, Lists

# Gauss-Legendre nodes on each piece of tau, and the share of the mass that a piece may leave unresolved: quantiles
# are right to 1e-8, and to 1e-5 where there are many treatments.
_FINE, _COARSE = (8, 1e-5), (5, 3e-2)
_MANY = 30  # treatments
AT_ONCE = 2**18  # numbers of an array that is made for a sum
_CUTS = np.array([-6.0, -3.0, -1.0, 1.0, 3.0, 6.0])  # of tau around its mode, in standard deviations
_NEGLIGIBLE = 1e-10  # weight of a node that is left out
_CENTRAL = (0.15865525393145707, 0.8413447460685429)  # of a normal distribution: one standard deviation
AT_ONCE = 200_000  # cells of the arrays over tau, trials and treatments: what a cache holds


@dataclass(frozen=True)
class Posterior:
    """The posterior of n treatments.

    A mixture of T components: with weight weights[t] the effects are normal with mean means[t] and covariance
    covariances[t], each up to the same constant, and those of a new laboratory differ from them with covariance
    extras[t].

    weights : (T,) of sum one; means : (T, n); covariances, extras : (T, n, n)
    """

    treatments: tuple[str, ...]
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    extras: np.ndarray

    @property
    def effects(self) -> np.ndarray:
        """Return (n,) posterior means, up to a constant."""
        return self.weights @ self.means

    def errors(self) -> np.ndarray:
        """Return (n, n) posterior standard deviations of effects[i] - effects[j] (mean over laboratories)."""
        return np.sqrt(self._variances())

    def new_errors(self) -> np.ndarray:
        """Return (n, n): half the width of the central 68 % of the difference that a new laboratory will see; tails as
        long as laboratories have leave no finite standard deviation."""
        errors = np.zeros((len(self.treatments),) * 2)
        i, j = np.triu_indices(len(self.treatments), 1)
        low, high = self.new_quantiles(i, j, _CENTRAL).T
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
        """Return (p, T) means and variances of the contrasts first[p] - second[p] in each component, and what a new
        laboratory adds to the variances."""
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

    def new_quantiles(self, first: np.ndarray, second: np.ndarray, probabilities: Sequence[float]) -> np.ndarray:
        """Return (p, k) quantiles of the difference first[p] - second[p] that a new laboratory will see."""
        means, variances, extras = self.differences(first, second)
        return self._quantiles(first, second, means, variances + extras, probabilities)

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

    def new_certainties(self) -> np.ndarray:
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

    def among(self, places: np.ndarray) -> "Posterior":
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


@dataclass(frozen=True)
class Integrated(Posterior):
    """The posterior of a network with one tau, a mixture over T of its values.

    taus : (T,); pieces : (P, 2) intervals of tau; densities : (P, q) posterior density of tau at their Gauss-Legendre
    nodes
    """

    taus: np.ndarray
    pieces: np.ndarray
    densities: np.ndarray

    def tau_quantiles(self, probabilities: Sequence[float]) -> np.ndarray:
        """Return the quantiles of tau."""
        half = np.diff(self.pieces, axis=1)[:, 0] / 2
        series = self.densities @ _to_series(self.densities.shape[1]) * half[:, None]
        masses = 2 * series[:, 0]
        upto = np.cumsum(masses)
        taus = []
        for probability in probabilities:
            place = min(int(np.searchsorted(upto, probability * upto[-1])), len(upto) - 1)
            integral = np.polynomial.legendre.legint(series[place], lbnd=-1)
            integral[0] -= probability * upto[-1] - (upto[place] - masses[place])
            low, high = -1.0, 1.0
            for _ in range(60):
                middle = (low + high) / 2
                below = np.polynomial.legendre.legval(middle, integral) < 0
                low, high = (middle, high) if below else (low, middle)
            taus.append(self.pieces[place, 0] + half[place] * (1 + low))
        return np.array(taus)


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
    by_size = {2: _of_two, 3: _of_three}
    return by_size.get(size, _of_many)(weights, means, covariances, margin)


# The posterior


def posterior(
    treatments: Sequence[str],
    trials: Sequence[Trial],
    tau_scale: float,
    comparisons: Sequence[Comparison] = (),
    tier_scale: float = 1.0,
) -> Integrated:
    """Return the posterior of treatments that trials and comparisons connect.

    Parameters
    ----------
    tau_scale : of the half-normal prior on tau, > 0, ln ratio
    comparisons, tier_scale : as for modelling.estimation.ordinal.joint

    Raises EvidenceError where they are not connected, where lists have no finite estimate, or where the variances
    of a trial's pairs cannot be true together.
    """
    if not (np.isfinite(tau_scale) and tau_scale > 0):
        raise EvidenceError(f"the scale of tau is {tau_scale}; a number above zero is needed")
    numbers = _Numbers(trials, treatments, tau_scale)
    lists = Lists(treatments, comparisons, tier_scale)
    lists.check(numbers.at(np.array([tau_scale]))[0][0])

    order, tolerance = _FINE if len(treatments) < _MANY else _COARSE
    if not trials:  # lists say nothing of tau

        def log_density(taus: np.ndarray) -> np.ndarray:
            return -(taus**2) / (2 * tau_scale**2)
    else:

        def log_density(taus: np.ndarray) -> np.ndarray:
            likelihoods = [_log_likelihood(numbers, lists, some) for some in _chunks(taus, numbers.cells)]
            return np.concatenate(likelihoods) - taus**2 / (2 * tau_scale**2)

    is_cut = len(treatments) >= _MANY
    pieces, densities = _integrated(log_density, numbers.finest, tau_scale, order, tolerance, is_cut)
    nodes, weights = _gauss_legendre(order)
    half = np.diff(pieces, axis=1) / 2
    taus, masses = (pieces[:, :1] + half * (1 + nodes)).ravel(), (densities * weights * half).ravel()
    kept = masses > _NEGLIGIBLE * masses.sum()
    taus, masses = taus[kept], masses[kept]
    parts = [_effects(numbers, lists, some) for some in _chunks(taus, numbers.cells)]
    means, covariances = (np.concatenate(blocks) for blocks in zip(*parts, strict=True))
    extras = (taus**2 / 2)[:, None, None] * np.eye(len(treatments))
    weights = masses / masses.sum()
    return Integrated(tuple(treatments), weights, means, covariances, extras, taus, pieces, densities)


def _chunks(taus: np.ndarray, cells: int) -> list[np.ndarray]:
    return np.array_split(taus, -(-len(taus) * cells // AT_ONCE))


class _Numbers:
    """The trials over numbered treatments, ready for any tau.

    A trial of independent arms has weights 1 / (v + tau² / 2), absent arms an infinite v. Another trial is
    brought to the principal axes of its contrast covariance X: independent contrasts of variance
    eigenvalue + tau² / 2. What remains of the means after a first fit is kept, so that small variances lose no digits.
    """

    def __init__(self, trials: Sequence[Trial], treatments: Sequence[str], tau_scale: float) -> None:
        place = {treatment: index for index, treatment in enumerate(treatments)}
        self.size = len(treatments)
        arms = [trial for trial in trials if trial.arm_variances is not None]
        self.variances = np.full((len(arms), self.size), np.inf)
        self.rest = np.zeros((len(arms), self.size))
        for row, trial in enumerate(arms):
            at = [place[name] for name in trial.treatments]
            self.variances[row, at], self.rest[row, at] = trial.arm_variances, trial.arm_effects
        axes = [_principal_axes(trial) for trial in trials if trial.arm_variances is None]
        others = [trial for trial in trials if trial.arm_variances is None]
        self.axes = np.zeros((sum(len(values) for values, _ in axes), self.size))
        self.values = np.concatenate([np.empty(0), *(values for values, _ in axes)])
        self.rest_along = np.zeros(len(self.values))
        row = 0
        for trial, (values, vectors) in zip(others, axes, strict=True):
            rows = slice(row, row + len(values))
            self.axes[rows, [place[name] for name in trial.treatments]] = vectors.T
            self.rest_along[rows] = vectors.T @ trial.effects.mean(axis=1)
            row += len(values)
        self.cells = max(self.variances.size + self.axes.size, self.size**2, 1)
        self.known = np.concatenate([self.variances[np.isfinite(self.variances)], self.values])
        self.finest = float(np.sqrt(2 * self.known.min())) if len(self.known) else tau_scale
        self.base = np.zeros(self.size)
        laplacians, rights, *_ = self.at(np.array([tau_scale]))
        self.base = np.linalg.pinv(laplacians[0], rcond=1e-10, hermitian=True) @ rights[0]
        present = np.isfinite(self.variances)
        rest = np.where(present, self.rest - self.base, 0.0)
        self.rest = np.where(present, rest - (rest.sum(axis=1) / present.sum(axis=1))[:, None], 0.0)
        self.rest_along = self.rest_along - self.axes @ self.base

    def at(self, taus: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return for (T,) taus Laplacians (T, n, n); right sides (T, n) and weighted squares (T,) of what the first
        fit leaves; and the sums of the weights of each trial of independent arms (T, s)."""
        half = (taus**2 / 2)[:, None]
        weights = self.variances + half[:, :, None]
        np.divide(1.0, weights, out=weights)
        each_trial, each_arm = (np.ones(length) for length in self.variances.shape)
        totals, of_arms = weights @ each_arm, each_trial @ weights  # sums, as matrix products because these are faster
        pull = weights * self.rest
        level = (pull @ each_arm) / totals
        rights = each_trial @ pull - (level[:, None, :] @ weights)[:, 0]
        squares = weights.reshape(len(taus), -1) @ self.rest.ravel() ** 2 - (totals * level**2).sum(axis=1)
        shares = np.divide(weights, np.sqrt(totals)[:, :, None], out=weights)
        laplacians = -(shares.transpose(0, 2, 1) @ shares)
        places = np.arange(self.size)
        laplacians[:, places, places] += of_arms
        along = 1.0 / (self.values + half)
        laplacians += (self.axes.T * along[:, None, :]) @ self.axes
        rights += (along * self.rest_along) @ self.axes
        squares += along @ self.rest_along**2
        return laplacians, rights, squares, totals

    def spreads(self, taus: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Return (T,) sums of the log determinants of the trials' covariances; totals : sums of weights there"""
        return np.log(totals).sum(axis=1) + np.log(self.known + (taus**2 / 2)[:, None]).sum(axis=1)


def _principal_axes(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (k - 1,) and eigenvectors (k, k - 1) of a trial's contrast covariance X = - P V P / 2."""
    arms = len(trial.treatments)
    remove_mean = np.eye(arms) - 1.0 / arms
    values, vectors = np.linalg.eigh(-remove_mean @ trial.variances @ remove_mean / 2)
    one = np.argmax(np.abs(vectors.sum(axis=0)))  # the axis along which all arms move alike
    values, vectors = np.delete(values, one), np.delete(vectors, one, axis=1)
    if not (values > 1e-12 * np.abs(values).max()).all():
        raise EvidenceError(f"{trial.name}: the standard errors of its pairs cannot be true together")
    return values, vectors


def _log_likelihood(numbers: _Numbers, lists: Lists, taus: np.ndarray) -> np.ndarray:
    """Return ln p(y | tau) of (T,) taus, by Laplace where there are lists."""
    laplacians, rights, squares, totals = numbers.at(taus)
    spreads = numbers.spreads(taus, totals)
    size = numbers.size
    if len(lists.weight):
        means, covariances = lists.modes(laplacians, rights + laplacians @ numbers.base)
        moved = means - numbers.base
        numeric = np.einsum("ti,ti->t", moved, rights - np.einsum("tij,tj->ti", laplacians, moved) / 2)
        return numeric + lists.stated(means) - (spreads + squares - np.linalg.slogdet(covariances + 1 / size)[1]) / 2
    shifted, shifts = _invertible(laplacians)
    moved = np.linalg.solve(shifted, rights[:, :, None])[:, :, 0]
    information = np.linalg.slogdet(shifted)[1] - np.log(shifts)
    return -(spreads + information + squares - np.einsum("ti,ti->t", moved, rights)) / 2


def _effects(numbers: _Numbers, lists: Lists, taus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means (T, n) and covariances (T, n, n) of the effects given each of (T,) taus."""
    laplacians, rights, *_ = numbers.at(taus)
    if len(lists.weight):
        return lists.modes(laplacians, rights + laplacians @ numbers.base)
    shifted, shifts = _invertible(laplacians)
    covariances = np.linalg.inv(shifted) - (1 / (shifts * numbers.size))[:, None, None]
    return numbers.base + np.einsum("tij,tj->ti", covariances, rights), covariances


def _invertible(laplacians: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the connected Laplacians with one more eigenvalue, for a shift common to all, and these (T,) eigenvalues.

    Their size keeps the matrices well conditioned.
    """
    size = laplacians.shape[1]
    shifts = np.maximum(np.einsum("tii->t", laplacians) / size, np.finfo(float).tiny)
    return laplacians + (shifts / size)[:, None, None], shifts


def _integrated(
    log_density: Callable[[np.ndarray], np.ndarray],
    finest: float,
    tau_scale: float,
    order: int,
    tolerance: float,
    is_cut: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return pieces (P, 2) of tau that hold its posterior, and its density at their nodes (P, order), up to a factor.

    The pieces begin where the smallest error of the trials ends, grow twofold to beyond the prior and the
    likelihood, are cut around the mode if asked for, and are halved until the last terms of the density's Legendre
    series no longer count.
    """
    nodes, _ = _gauss_legendre(order)

    def at(pieces: np.ndarray) -> np.ndarray:
        return pieces[:, :1] + np.diff(pieces, axis=1) / 2 * (1 + nodes)

    def evaluated(pieces: np.ndarray) -> np.ndarray:
        return log_density(at(pieces).ravel()).reshape(len(pieces), order)

    def replaced(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces and densities with the new pieces in place of the marked old ones."""
        both = np.concatenate([pieces[~old], new])
        rising = np.argsort(both[:, 0])
        return both[rising], np.concatenate([logs[~old], evaluated(new)])[rising]

    ends = [0.0, min(max(finest, 1e-7 * tau_scale), tau_scale / 2)]
    while ends[-1] < 6.5 * tau_scale:
        ends.append(2 * ends[-1])
    pieces = np.array([ends[:-1], ends[1:]]).T
    logs = evaluated(pieces)
    while logs[-1].max() > logs.max() - 25:  # e^-25 of the peak: what lies beyond counts no longer
        further = pieces[-1:, 1:] * [1.0, 2.0]
        pieces, logs = np.concatenate([pieces, further]), np.concatenate([logs, evaluated(further)])
    if is_cut and (mode := _mode(log_density, at(pieces).ravel(), logs.ravel())):
        cuts = mode[0] + mode[1] * _CUTS
        cuts = cuts[(cuts > pieces[0, 0]) & (cuts < pieces[-1, 1])]
        old = (pieces[:, 1] > cuts[0]) & (pieces[:, 0] < cuts[-1])
        cuts = np.array([pieces[old][0, 0], *cuts, pieces[old][-1, 1]])
        pieces, logs = replaced(old, np.array([cuts[:-1], cuts[1:]]).T)
    for _ in range(40):
        series = np.abs(np.exp(logs - logs.max()) @ _to_series(order)) * np.diff(pieces, axis=1)
        coarse = series[:, -2:].sum(axis=1) > tolerance * series[:, 0].sum()
        if not coarse.any():
            break
        middle = pieces[coarse].mean(axis=1)
        halves = np.concatenate([np.array([pieces[coarse, 0], middle]).T, np.array([middle, pieces[coarse, 1]]).T])
        pieces, logs = replaced(coarse, halves)
    return pieces, np.exp(logs - logs.max())


def _mode(
    log_density: Callable[[np.ndarray], np.ndarray], taus: np.ndarray, logs: np.ndarray
) -> tuple[float, float] | None:
    """Find where the density of tau is greatest, and the standard deviation of the normal that fits there.

    taus : rising; logs : logarithm of the density there. None where it is greatest at an end, or wide beside the steps.
    """
    is_narrow = False
    for _ in range(12):
        best = int(np.argmax(logs))
        if not 0 < best < len(taus) - 1:
            return None
        around, heights = taus[best - 1 : best + 2], logs[best - 1 : best + 2]
        if heights.min() > heights[1] - 2.0:
            break
        is_narrow = True
        taus = np.linspace(around[0], around[2], 8)
        logs = np.array([heights[0], *log_density(taus[1:-1]), heights[2]])
    second, first, _ = np.polyfit(around - around[1], heights - heights[1], 2)
    if not is_narrow or second >= 0:
        return None
    return float(around[1] - first / (2 * second)), float(np.sqrt(-1 / (2 * second)))


@lru_cache
def _gauss_legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(nodes)


@lru_cache
def _to_series(nodes: int) -> np.ndarray:
    """Return the (q, q) matrix from values at the nodes (on the left) to coefficients of Legendre's polynomials."""
    return np.linalg.inv(np.polynomial.legendre.legvander(_gauss_legendre(nodes)[0], nodes - 1)).T


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


# What choosing one of them means in a new laboratory


def shortfall(mean: np.ndarray, deviation: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return E[(1 - exp(x)) where x < 0] of x ~ N(mean, deviation²), with the chance of x < 0."""
    mean = np.minimum(mean, 8 * deviation)  # beyond, nothing is left of it
    return chance - np.exp(mean + deviation**2 / 2 + log_ndtr(-mean / deviation - deviation))


def _of_two(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, margin: float) -> Forecast:
    lead = means[:, 0] - means[:, 1]
    deviation = np.sqrt(covariances[:, 0, 0] + covariances[:, 1, 1] - 2 * covariances[:, 0, 1])
    leads = np.stack([lead, -lead])
    return Forecast(
        best=ndtr(leads / deviation) @ weights,
        slower=ndtr((math.log1p(-margin) - leads) / deviation) @ weights,
        loss=shortfall(leads, deviation, ndtr(-leads / deviation)) @ weights,
    )


def _of_three(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, margin: float) -> Forecast:
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


def _of_many(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, margin: float) -> Forecast:
    """Forecast on a fixed set of points, spread over the values of tau by their weights.

    At each point one entry's value is integrated out in closed form, given all others; so the estimate is smooth.
    Entries are taken in the order of their means, which makes the result independent of how they are numbered.
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
        # A shift common to all entries changes nothing; some of it makes the covariance invertible.
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


@lru_cache(maxsize=8)
def _points(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a fixed point set: (N,) uniform numbers and (N, size) normal ones, by a scrambled Sobol sequence."""
    from scipy.stats import qmc  # slow to import, and parts of up to three entries need no points

    points = qmc.Sobol(size + 1, rng=np.random.default_rng(1)).random(2**13 if size < _MANY else 2**12)
    return points[:, 0], ndtri(np.clip(points[:, 1:], 1e-12, 1 - 1e-12))  # ndtri is infinite at 0 and 1
