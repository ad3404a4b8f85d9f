"""The posterior by quadrature against brute force, its limits, and what must not matter."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.linalg import block_diag
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from modelling.estimation.bayes import Posterior, posterior, quantiles
from modelling.estimation.network import EvidenceError, Trial

from .test_network import trials_of

PROBABILITIES = (0.025, 0.5, 0.975)
# tau is integrated piece by piece between these, so that quad misses no narrow peak
BREAKS = (0.0, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 4.0, 12.0)


def trial(name: str, treatments: str, variances, means) -> Trial:
    return Trial.from_arms(name, list(treatments), np.array(means, float), np.array(variances, float))


NETWORKS = {
    "one study of two": [trial("1", "ab", [0.01, 0.01], [0, 0.3])],
    "one study of three": [trial("1", "abc", [0.01, 0.02, 0.001], [0, 0.3, 0.1])],
    "three studies of two": [
        trial("1", "ab", [0.01, 0.01], [0, 0.3]),
        trial("2", "ab", [0.002, 0.001], [0, 0.1]),
        trial("3", "ab", [1e-6, 1e-6], [0, 0.2]),
    ],
    "exact agreement": [trial(name, "ab", [1e-6, 1e-6], [0, 0.3]) for name in "123"],
    "four with a conflict": [
        trial("1", "abc", [0.01, 0.01, 0.02], [0, 0.3, 0.5]),
        trial("2", "bcd", [0.002, 0.001, 0.01], [0, 0.1, 0.2]),
        trial("3", "ad", [0.001, 0.0001], [0, 2.0]),
    ],
    "Senn 2013, by pairs": trials_of("senn2013_contrasts.csv"),
}


class Brute:
    """The same model written the long way: contrasts against each trial's first arm, dense covariances, quad."""

    def __init__(self, trials: list[Trial], scale: float) -> None:
        self.names = sorted({name for t in trials for name in t.treatments})
        self.trials, self.scale = trials, scale
        self.known: dict[float, tuple] = {}  # quad asks for the same tau again and again
        self.top = max(self.given(tau)[0] for tau in np.geomspace(1e-6, 12, 200))  # keeps exp in bounds
        self.whole = self.integral(lambda tau: self.density(tau))

    def given(self, tau: float):
        if tau not in self.known:
            self.known[tau] = self.solved(tau)
        return self.known[tau]

    def solved(self, tau: float):
        designs, covariances, observed = [], [], []
        for t in self.trials:
            arms = len(t.treatments)
            pairs = (np.add.outer(t.variances, t.variances) + tau**2) * (1 - np.eye(arms))
            design = np.zeros((arms - 1, len(self.names)))
            for arm in range(1, arms):
                design[arm - 1, self.names.index(t.treatments[arm])] += 1
                design[arm - 1, self.names.index(t.treatments[0])] -= 1
            designs.append(design)
            covariances.append((pairs[1:, :1] + pairs[:1, 1:] - pairs[1:, 1:]) / 2)
            observed.append(t.effects[1:, 0])
        design, covariance, y = np.vstack(designs)[:, 1:], block_diag(*covariances), np.concatenate(observed)
        weights = np.linalg.inv(covariance)
        spread = np.linalg.inv(design.T @ weights @ design)
        mean = spread @ design.T @ weights @ y
        q = (y - design @ mean) @ weights @ (y - design @ mean)
        log = -(np.linalg.slogdet(covariance)[1] - np.linalg.slogdet(spread)[1] + q) / 2 - (tau / self.scale) ** 2 / 2
        return log, np.concatenate([[0.0], mean]), np.pad(spread, ((1, 0), (1, 0)))

    def density(self, tau: float) -> float:
        return np.exp(self.given(tau)[0] - self.top)

    def integral(self, function, upto: float = np.inf) -> float:
        ends = [*(end for end in BREAKS if end < upto), min(upto, BREAKS[-1])]
        return sum(quad(function, a, b, epsabs=1e-11, epsrel=1e-9, limit=300)[0] for a, b in zip(ends, ends[1:]))  # noqa: B905, RUF007

    def expected(self, function) -> float:
        """E of function(tau, mean, covariance)."""

        def weighted(tau):
            log, mean, covariance = self.given(tau)
            return np.exp(log - self.top) * function(tau, mean, covariance)

        return self.integral(weighted) / self.whole

    def below(self, x: float, new: bool) -> float:
        """P(effect of the second treatment - effect of the first < x)."""
        return self.expected(lambda tau, m, c: ndtr((x - m[1]) / math.sqrt(c[1, 1] + new * tau**2)))


@pytest.fixture(scope="module", params=NETWORKS)
def both(request) -> tuple[Posterior, Brute]:
    brute = Brute(NETWORKS[request.param], 0.3)
    return posterior(brute.names, NETWORKS[request.param], 0.3), brute


def test_the_mean_is_that_of_brute_force(both):
    fitted, brute = both
    assert fitted.effects[1] - fitted.effects[0] == pytest.approx(brute.expected(lambda tau, m, c: m[1]), abs=0.003)
    assert fitted.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("new", [False, True], ids=["mean", "new laboratory"])
def test_the_intervals_are_those_of_brute_force(both, new):
    fitted, brute = both
    places = np.array([1]), np.array([0])
    (ends,) = (fitted.predictive_quantiles if new else fitted.mean_quantiles)(*places, PROBABILITIES)
    for end, probability in zip(ends, PROBABILITIES, strict=True):
        assert brute.below(end, new) == pytest.approx(probability, abs=0.003)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_of_tau_that_is_none_is_refused(scale):
    with pytest.raises(EvidenceError, match="scale of tau"):
        posterior("ab", NETWORKS["one study of two"], scale)


def test_quantiles_of_a_mixture_whose_parts_lie_far_apart():
    # Half at -100, half at 100, deviations one: the first quartile is the median of the lower part.
    quartile = quantiles(np.array([[-100.0, 100.0]]), np.ones((1, 2)), np.array([0.5, 0.5]), 0.25)
    assert quartile == pytest.approx([-100.0], abs=1e-9)


# What choosing means


def mixture(means, covariance, weights=(1.0,), taus=(0.1,)) -> Posterior:
    means, covariance = np.atleast_2d(np.asarray(means, float)), np.asarray(covariance, float)
    stack = covariance if covariance.ndim == 3 else covariance[None].repeat(len(weights), 0)
    names = tuple(f"t{i}" for i in range(means.shape[1]))
    extras = (np.array(taus) ** 2 / 2)[:, None, None] * np.eye(len(names))
    return Posterior(names, np.array(weights), means, stack, extras)


def test_two_entries_in_closed_form_against_an_integral():
    forecast = mixture([0.0, -0.1], np.diag([0.01, 0.02])).forecast(0.1)
    deviation = np.sqrt(0.03 + 0.01)  # of the difference, tau² = 0.01
    lead = norm(-0.1, deviation)  # of the second over the first
    assert forecast.best == pytest.approx([lead.cdf(0), lead.sf(0)])
    assert forecast.slower[1] == pytest.approx(lead.cdf(np.log(0.9)))
    loss = quad(lambda x: (1 - np.exp(x)) * lead.pdf(x), -3, 0)[0]
    assert forecast.loss[1] == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.9])
def test_three_entries_in_closed_form_against_integrals(correlation):
    spread = np.array([[0.04, correlation * 0.02, 0], [correlation * 0.02, 0.01, 0], [0, 0, 0.02]])
    forecast = mixture([0.05, 0.0, -0.08], spread, taus=(0.14,)).forecast(0.1)
    covariance = spread + 0.14**2 / 2 * np.eye(3)
    for i in range(3):
        differ = np.delete(np.eye(3), i, axis=0) - np.eye(3)[i]
        middle, joint_spread = differ @ [0.05, 0.0, -0.08], differ @ covariance @ differ.T
        lead = multivariate_normal(middle, joint_spread)
        (p, q), ((a, b), (_, d)) = middle, np.linalg.inv(joint_spread)
        height = math.sqrt(a * d - b * b) / (2 * math.pi)
        assert forecast.best[i] == pytest.approx(lead.cdf([0, 0]), abs=1e-6)
        assert forecast.slower[i] == pytest.approx(1 - lead.cdf([-np.log(0.9)] * 2), abs=1e-6)

        def kept(y, x, p=p, q=q, a=a, b=b, d=d, height=height):
            """Return the share kept times lead's density, which takes SciPy thirty times as long."""
            x0, y0 = x - p, y - q
            return height * math.exp(-max(x, y, 0.0) - (a * x0 * x0 + 2 * b * x0 * y0 + d * y0 * y0) / 2)

        assert kept(0.1, 0.2) == pytest.approx(math.exp(-0.2) * lead.pdf([0.2, 0.1]))

        # Split where the maximum changes hands, or dblquad sees no smooth function.
        parts = [
            dblquad(kept, -2, 0, -2, 0, epsabs=1e-7)[0],
            dblquad(kept, 0, 2, -2, lambda x: x, epsabs=1e-7)[0],
            dblquad(lambda x, y, kept=kept: kept(y, x), 0, 2, -2, lambda y: y, epsabs=1e-7)[0],
        ]
        assert forecast.loss[i] == pytest.approx(1 - sum(parts), abs=1e-6)


def test_certain_answers_are_certain_also_far_out():
    for means in ([0.0, -40.0], [0.0, -40.0, -41.0], [0.0, -40.0, -41.0, -42.0]):
        forecast = mixture(means, 0.01 * np.eye(len(means))).forecast(0.1)
        expected = np.eye(len(means))[0]
        np.testing.assert_allclose(forecast.best, expected, atol=1e-9)
        np.testing.assert_allclose(forecast.slower, 1 - expected, atol=1e-9)
        np.testing.assert_allclose(forecast.loss, 1 - expected, atol=1e-9)


def drawn(fitted: Posterior, draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same by brute force."""
    rng, size = np.random.default_rng(3), len(fitted.treatments)
    best, slower, loss = np.zeros(size), np.zeros(size), np.zeros(size)
    for count, extra, mean, covariance in zip(
        rng.multinomial(draws, fitted.weights), fitted.extras, fitted.means, fitted.covariances, strict=True
    ):
        full = covariance + extra + np.trace(covariance) / size  # a common shift changes nothing
        values = mean + rng.normal(size=(count, size)) @ np.linalg.cholesky(full).T
        top = values.max(axis=1, keepdims=True, initial=-np.inf)
        best += np.bincount(values.argmax(axis=1), minlength=size)
        slower += (values < top + np.log(0.9)).sum(axis=0)
        loss += (1 - np.exp(values - top)).sum(axis=0)
    return best / draws, slower / draws, loss / draws


def several(size: int, laboratories: int, apart: float) -> list[Trial]:
    rng, names = np.random.default_rng(size), [f"e{i:02}" for i in range(size)]
    truth = rng.normal(0, apart, size)
    return [
        Trial.from_arms(f"lab {i}", names, truth + rng.normal(0, 0.15, size), rng.uniform(1e-4, 1e-2, size))
        for i in range(laboratories)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "laboratories", "apart"),
    [(3, 2, 0.1), *(pytest.param(*of, marks=pytest.mark.nightly) for of in ((4, 1, 0.1), (9, 3, 0.05), (40, 4, 0.2)))],
)
def test_probabilities_of_entries_are_right_to_two_thousandths(size, laboratories, apart):
    fitted = posterior([f"e{i:02}" for i in range(size)], several(size, laboratories, apart), 0.3)
    forecast = fitted.forecast(0.1)
    assert forecast.best.sum() == pytest.approx(1)
    # 1,600,000 draws have a standard error of at most 0.0004 of their own.
    for mine, theirs in zip((forecast.best, forecast.slower, forecast.loss), drawn(fitted, 1_600_000), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=0.002)


def test_how_entries_are_numbered_changes_no_probability():
    trials = several(6, 3, 0.1)
    names = [f"e{i:02}" for i in range(6)]
    one, other = posterior(names, trials, 0.3).forecast(0.1), posterior(names[::-1], trials, 0.3).forecast(0.1)
    np.testing.assert_allclose(other.best[::-1], one.best, atol=1e-9)
    np.testing.assert_allclose(other.slower[::-1], one.slower, atol=1e-9)
    np.testing.assert_allclose(other.loss[::-1], one.loss, atol=1e-9)


def test_one_entry_is_the_best_of_itself():
    forecast = mixture([0.0], np.zeros((1, 1))).forecast(0.1)
    assert (forecast.best[0], forecast.slower[0], forecast.loss[0]) == (1, 0, 0)


def test_errors_of_a_mixture_worked_by_hand():
    """Two components have weights 1/4 and 3/4; the difference is 0.3 and 0.5, its variance 0.02 and 0.04.

    Its mean is 0.45, so its variance over the mixture is (0.02 + 0.15^2) / 4 + (0.04 + 0.05^2) * 3 / 4 = 0.0425.
    """
    pair = mixture([[0.3, 0.0], [0.5, 0.0]], [np.diag([0.02, 0.0]), np.diag([0.04, 0.0])], (0.25, 0.75), (0.1, 0.5))
    assert pair.errors() == pytest.approx(np.sqrt([[0, 0.0425], [0.0425, 0]]))


def test_errors_of_a_new_laboratory_are_those_of_a_normal_distribution_where_it_is_one():
    pair = mixture([[0.3, 0.0]], np.diag([0.02, 0.01]), taus=(0.2,))
    assert pair.predictive_errors() == pytest.approx(np.sqrt([[0, 0.07], [0.07, 0]]))


def test_who_is_ahead_and_what_one_in_ten_loses_is_that_of_a_new_laboratory():
    """The difference is N(0.3, 0.02 + 0.01 + 0.2^2)."""
    pair, difference = mixture([[0.3, 0.0]], np.diag([0.02, 0.01]), taus=(0.2,)), norm(0.3, np.sqrt(0.07))
    assert pair.predictive_certainties()[0, 1] == pytest.approx(difference.sf(0.0))
    assert pair.loss_quantile(1, 0.9) == pytest.approx(1 - np.exp(-difference.ppf(0.9)), rel=0.02)


def test_a_contrast_is_the_mixture_that_a_new_laboratory_will_measure():
    """As above, with noise: N(0.3, 0.02 + 0.01 + 0.02) a quarter of the time, else N(0.5, 0.04 + 0.25 + 0.02)."""
    pair = mixture([[0.3, 0.0], [0.5, 0.0]], [np.diag([0.02, 0.0]), np.diag([0.04, 0.0])], (0.25, 0.75), (0.1, 0.5))
    contrast, parts = pair.contrast(0, 1, 0.02), [(0.25, norm(0.3, np.sqrt(0.05))), (0.75, norm(0.5, np.sqrt(0.31)))]
    assert contrast.below(0.2) == pytest.approx(sum(share * part.cdf(0.2) for share, part in parts))
    assert contrast.log_density(0.2) == pytest.approx(np.log(sum(share * part.pdf(0.2) for share, part in parts)))
    assert contrast.below(contrast.quantile(0.9)) == pytest.approx(0.9)
    assert pair.contrast(1, 0).quantile(0.1) == pytest.approx(-pair.contrast(0, 1).quantile(0.9))
