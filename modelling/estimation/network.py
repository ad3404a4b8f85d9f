"""Network meta-analysis: one estimate from many trials which each compared only some treatments.

No Django. A trial is a set of arms with pairwise effects and pairwise variances. Inside a trial the
contrasts share arms, and the weights take that into account: with X = -P V P / 2, where V holds the
variances of the pairwise effects and P removes the mean, the weights of the trial are the Laplacian
L = X⁺. For independent arms with variances v it is diag(w) - w wᵀ / Σw, w = 1 / v.

Sources: Rücker 2012 (10.1002/jrsm.1058), Rücker and Schwarzer 2014 (10.1002/sim.6236) for trials of
many arms, Jackson, White and Riley 2013 for tau² in networks; docs/models/network.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from .graph import connected


class EvidenceError(ValueError):
    """Contrasts that cannot be true together, or have no usable standard error; the text is fit to show."""


@dataclass(frozen=True)
class Trial:
    """One trial of k >= 2 arms.

    effects : (k, k) array, effects[i, j] = effect of arm i minus effect of arm j
    variances : (k, k) array, symmetric, variances[i, j] > 0 the variance of effects[i, j], zero diagonal
    arm_effects, arm_variances : (k,) arrays, the effects up to a constant and variances > 0, where the arms were
        observed independently, which makes everything linear in arms; None where only the pairs are known
    sources : the case studies it was made of, where it was made of some
    """

    name: str
    treatments: tuple[str, ...]
    effects: np.ndarray
    variances: np.ndarray
    arm_effects: np.ndarray | None = None
    arm_variances: np.ndarray | None = None
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
        """Return a trial whose arms were observed independently: means and variances have shape (k,)."""
        if not (np.isfinite(means).all() and np.isfinite(variances).all() and (np.asarray(variances) > 0).all()):
            raise EvidenceError(f"{name}: every arm needs a finite mean and a variance above zero")
        return _OfArms(name, tuple(treatments), means - means[0], np.asarray(variances, dtype=float), sources)

    @classmethod
    def from_contrasts(cls, name: str, contrasts: Iterable[tuple[str, str, float, float]]) -> "Trial":
        """Return a trial given by all its pairs (treat1, treat2, effect of treat1 - treat2, standard error).

        Raises EvidenceError where a pair is missing, double or of a treatment with itself, or a
        number is not finite or a standard error not above zero.
        """
        rows = list(contrasts)
        treatments = tuple(sorted({name for row in rows for name in row[:2]}))
        place = {treatment: index for index, treatment in enumerate(treatments)}
        effects = np.zeros((len(treatments), len(treatments)))
        variances = np.zeros_like(effects)
        for first, second, effect, error in rows:
            i, j = place[first], place[second]
            if i == j:
                raise EvidenceError(f"{name}: {first} is compared with itself")
            if not (np.isfinite(effect) and np.isfinite(error) and error > 0):
                raise EvidenceError(f"{name}: {first} against {second} needs an effect and a standard error above zero")
            if variances[i, j]:
                raise EvidenceError(f"{name}: {first} against {second} is given twice")
            effects[i, j], effects[j, i] = effect, -effect
            variances[i, j] = variances[j, i] = error**2
        if np.count_nonzero(variances) != len(treatments) * (len(treatments) - 1):
            raise EvidenceError(f"{name}: a trial of {len(treatments)} arms needs all its pairs")
        return cls(name, treatments, effects, variances)


class _OfArms(Trial):
    """A trial of independent arms: its pairs are written out when somebody asks for them."""

    arm_effects: np.ndarray
    arm_variances: np.ndarray

    def __init__(
        self,
        name: str,
        treatments: tuple[str, ...],
        arm_effects: np.ndarray,
        arm_variances: np.ndarray,
        sources: tuple[str, ...],
    ) -> None:
        vars(self).update(
            name=name, treatments=treatments, arm_effects=arm_effects, arm_variances=arm_variances, sources=sources
        )

    @cached_property
    def effects(self) -> np.ndarray:
        return np.subtract.outer(self.arm_effects, self.arm_effects)

    @cached_property
    def variances(self) -> np.ndarray:
        both = np.add.outer(self.arm_variances, self.arm_variances)
        np.fill_diagonal(both, 0.0)
        return both


class Weighted:
    """Trials with their Laplacians, over the numbered treatments of one network.

    Trials of independent arms are kept as flat arrays of arms. Other trials of equally many arms are kept in
    one stack. Either way work on them is one array operation.
    """

    def __init__(self, trials: Sequence[Trial], treatments: Sequence[str], tau2: float = 0.0) -> None:
        place = {treatment: index for index, treatment in enumerate(treatments)}
        self.size, self.trials, self.tau2 = len(treatments), tuple(trials), tau2
        self.arms = _Arms([trial for trial in trials if trial.arm_variances is not None], place, tau2)
        by_arms: dict[int, list[Trial]] = {}
        for trial in trials:
            if trial.arm_variances is None:
                by_arms.setdefault(len(trial.treatments), []).append(trial)
        self.stacks = []  # (places (s, k), effects (s, k, k), Laplacians (s, k, k))
        for arms, same in by_arms.items():
            places = np.array([[place[treatment] for treatment in trial.treatments] for trial in same])
            variances = np.stack([trial.variances for trial in same]) + tau2 * (1 - np.eye(arms))
            self.stacks.append((places, np.stack([trial.effects for trial in same]), laplacians(variances)))

    @cached_property
    def laplacian(self) -> np.ndarray:
        """Return the (n, n) sum of the trials' Laplacians."""
        total = self.arms.laplacian()
        for places, _, weights in self.stacks:
            np.add.at(total, (places[:, :, None], places[:, None, :]), weights)
        return total

    @cached_property
    def right(self) -> np.ndarray:
        """Return the (n,) right side of the normal equations: sum over trials of their weighted effects."""
        total = self.arms.right()
        for places, effects, weights in self.stacks:
            np.add.at(total, places, -np.einsum("sij,sij->si", weights, effects))
        return total

    def unexplained(self, estimate: np.ndarray) -> float:
        """Return Q, the weighted squares that the estimate leaves, over all pairs of all trials."""
        total = self.arms.unexplained(estimate)
        for places, effects, weights in self.stacks:
            fitted = estimate[places]
            rest = effects - (fitted[:, :, None] - fitted[:, None, :])
            total += float(-np.einsum("sij,sij->", weights, rest**2) / 2)
        return total

    def unexplained_within_designs(self) -> float:
        """Return Q that remains when the trials of each design (set of treatments) are estimated by themselves."""
        designs: dict[tuple[str, ...], list[Trial]] = {}
        for trial in self.trials:
            designs.setdefault(tuple(sorted(trial.treatments)), []).append(trial)
        total = 0.0
        for treatments, same in designs.items():
            if len(same) > 1:  # one trial by itself is explained whole
                alone = Weighted(same, treatments, self.tau2)
                total += alone.unexplained(fit(alone).effects)
        return total

    @property
    def freedom(self) -> int:
        """Return the number of independent contrasts: one fewer than arms, in each trial."""
        return sum(len(trial.treatments) - 1 for trial in self.trials)

    def spread_factor(self, covariance: np.ndarray) -> float:
        """Return what one unit of tau² adds to the expectation of Q (the denominator of the moment estimator)."""
        total = self.arms.spread_factor(covariance)
        for places, _, weights in self.stacks:
            inside = covariance[places[:, :, None], places[:, None, :]]
            total += float(np.einsum("sii->", weights) - np.einsum("sij,sjk,ski->", inside, weights, weights)) / 2
        return total


class _Arms:
    """Trials of independent arms, flat: of each arm its trial, the place of its treatment, its mean and weight.

    A trial's Laplacian is diag(w) - w wᵀ / Σw, w = 1 / (variance + tau² / 2), and is never written out.
    """

    def __init__(self, trials: Sequence[Trial], place: Mapping[str, int], tau2: float) -> None:
        self.size = len(place)
        self.trial = np.repeat(np.arange(len(trials)), [len(trial.treatments) for trial in trials])
        self.place = np.array([place[name] for trial in trials for name in trial.treatments], dtype=int)
        self.mean = np.concatenate([np.empty(0), *(trial.arm_effects for trial in trials)])
        variances = np.concatenate([np.empty(0), *(trial.arm_variances for trial in trials)])
        self.weight = 1.0 / (variances + tau2 / 2)
        self.total = np.bincount(self.trial, self.weight, len(trials))
        shares = self.weight / np.sqrt(self.total)[self.trial]
        table = csr_array((shares, (self.trial, self.place)), shape=(len(trials), self.size))
        self.shares = table.toarray() if 10 * len(shares) > len(trials) * self.size else table  # (s, n) w / √Σw

    def _within(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the arms without the weighted mean of their trial."""
        return values - (np.bincount(self.trial, self.weight * values, len(self.total)) / self.total)[self.trial]

    def laplacian(self) -> np.ndarray:
        product = self.shares.T @ self.shares
        product = product if isinstance(product, np.ndarray) else product.toarray()
        return np.diag(np.bincount(self.place, self.weight, self.size)) - product

    def right(self) -> np.ndarray:
        right = np.bincount(self.place, self.weight * self._within(self.mean), self.size)
        return right.astype(float)  # of no arms, bincount counts in whole numbers

    def unexplained(self, estimate: np.ndarray) -> float:
        return float(self.weight @ self._within(self.mean - estimate[self.place]) ** 2)

    def spread_factor(self, covariance: np.ndarray) -> float:
        """Return [tr L - tr(covariance L²)] / 2, with L² = diag(w²) - (w (w²)ᵀ + w² wᵀ) / Σw + Σw² w wᵀ / (Σw)²."""
        total, squares = self.total, self.weight**2
        toward = (self.shares @ covariance)[self.trial, self.place] * np.sqrt(total)[self.trial]  # (wᵀ covariance)
        trace = self.weight.sum() - (squares / total[self.trial]).sum()
        product = np.diag(covariance)[self.place] @ squares
        product -= 2 * (toward * squares / total[self.trial]).sum()
        product += (np.bincount(self.trial, squares) * np.bincount(self.trial, toward * self.weight) / total**2).sum()
        return float(trace - product) / 2


def laplacians(variances: np.ndarray) -> np.ndarray:
    """Turn (s, k, k) variances of pairwise effects into (s, k, k) Laplacians of the trials' weights."""
    arms = variances.shape[1]
    mean = np.full((arms, arms), 1.0 / arms)
    remove_mean = np.eye(arms) - mean
    return np.linalg.inv(-remove_mean @ variances @ remove_mean / 2 + mean) - mean


class NotEstimated(ArithmeticError):  # noqa: N818
    """A fit came to something that is no number; the text is fit to show."""


def check_finite(*estimates: np.ndarray) -> None:
    """Raise NotEstimated where an estimate that leaves a fit is no number: it would spoil every sum it gets into."""
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

    def p_scores(self) -> np.ndarray:
        """Return the (n,) mean certainty of being better (larger) than another treatment, 0 to 1."""
        return p_scores(self.effects, self.errors())


def p_scores(effects: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return (n,) P-scores from (n,) effects and (n, n) standard errors of their differences.

    Source: Rücker and Schwarzer 2015 (10.1186/s12874-015-0060-8). Two treatments without any
    uncertainty between them and the same effect share the point.
    """
    differences = effects[:, None] - effects[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        certainty = ndtr(differences / errors)
    certainty = np.where(np.isnan(certainty), 0.5, certainty)
    np.fill_diagonal(certainty, 0.0)
    return certainty.sum(axis=1) / max(len(effects) - 1, 1)


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
        """Return the share of the variation that is between trials, 0 to 1; None where none can be told."""
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
