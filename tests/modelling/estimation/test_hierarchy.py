"""The hierarchical model: against dense algebra, a brute-force integral, and laboratories whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import halfnorm, invgamma, norm

from modelling.estimation import hierarchy
from modelling.estimation.hierarchy import CHOICES, COLUMNS, Hierarchy, Prediction, Proposal, fit
from modelling.estimation.network import EvidenceError

WHERE = {"workload": "mail", "direction": "write", "access": "", "storage": "ssd"}


def cells(*rows: tuple[str, str, str, float], variance: float = 0.01) -> pd.DataFrame:
    """Return cells of (laboratory, choice, value, ln speed), comparable inside a laboratory."""
    records = [
        dict.fromkeys(COLUMNS, "")
        | WHERE
        | {"laboratory": laboratory, "group": laboratory, choice: value}
        | {"configuration": place, "level": laboratory, "outcome": outcome, "variance": variance}
        for place, (laboratory, choice, value, outcome) in enumerate(rows)
    ]
    frame = pd.DataFrame(records)
    return frame.assign(level=pd.factorize(frame["level"])[0])


NOWHERE = Proposal({}, np.eye(len(hierarchy.NAMES)))  # draws are given
TWO = (("a", "guest_fs", "xfs", 1.3), ("a", "guest_fs", "ext4", 1.0), ("b", "guest_fs", "xfs", 5.1))
THREE = (*TWO, ("b", "guest_fs", "ext4", 5.0), ("c", "guest_fs", "xfs", 0.2), ("c", "guest_fs", "ext4", 0.0))


def at(frame: pd.DataFrame, squares: np.ndarray, factors: float = 1.0) -> Hierarchy:
    """Return the model with its standard deviations known; squares : (names,)"""
    covariance = hierarchy._Covariance(frame)
    logs = np.concatenate([np.log(squares) / 2, np.full(len(covariance.laboratories), np.log(factors))])
    _, solution = covariance.solved(logs)
    return Hierarchy(frame, {}, {}, lambda: [hierarchy._Draw(0.0, squares, *solution)], NOWHERE)


def test_one_laboratory_is_shrunk_as_worked_by_hand():
    # The difference d = 0.3 of two cells has variance 2 (0.04 + 0.04 * 3 * 1e-9 + 0.01 + 0.01 + 0.01): main effect,
    # residuals of configuration and cell, error. Of the main effects' difference 2 * 0.04 are expected.
    squares = np.full(len(hierarchy.NAMES), 1e-9)
    squares[list(CHOICES).index("guest_fs")] = 0.04
    squares[-2:] = 0.01

    prediction = at(cells(*TWO[:2]), squares).contrast({"guest_fs": "xfs"}, {"guest_fs": "ext4"}, WHERE, 0.02)

    share = 0.04 / (0.04 + 0.03)
    assert prediction.mean == pytest.approx(0.3 * share, rel=1e-4)
    left = 2 * 0.04 * (1 - share)
    expected = np.sqrt(left + 0.04 * hierarchy._FACTORS + 0.02)
    np.testing.assert_allclose(prediction.deviations, expected, rtol=1e-4)


def test_the_prediction_is_what_the_joint_normal_of_all_cells_says():
    generator = np.random.default_rng(3)
    squares = generator.uniform(0.01, 0.3, len(hierarchy.NAMES))
    frame = cells(*THREE, ("c", "cache_mode", "none", 0.4))
    query = cells(("new", "guest_fs", "xfs", 0.0), ("new", "guest_fs", "ext4", 0.0), variance=0.005)
    model = at(frame, squares)

    prediction = model.contrast({"guest_fs": "xfs"}, {"guest_fs": "ext4"}, WHERE, 0.01)

    for number in (0, 16, 31):
        together = pd.concat([frame, query.assign(level=99, configuration=[90, 91])], ignore_index=True)
        covariance = hierarchy._Covariance(together)
        factor = [np.log(hierarchy._FACTORS[number]) if name == "new" else 0.0 for name in covariance.laboratories]
        half, *_ = covariance._sum(np.concatenate([np.log(squares) / 2, factor]))
        whole = half + np.tril(half, -1).T
        n = len(frame)
        difference = np.array([1.0, -1.0])
        towards = difference @ whole[n:, :n]
        solved = np.linalg.solve(whole[:n, :n], np.column_stack([frame["outcome"], towards]))
        assert prediction.means[number] == pytest.approx(towards @ solved[:, 0], rel=1e-6)
        variance = difference @ whole[n:, n:] @ difference - towards @ solved[:, 1]
        assert prediction.deviations[number] ** 2 == pytest.approx(variance, rel=1e-6)


def test_the_gradient_is_that_of_the_posterior():
    covariance = hierarchy._Covariance(cells(*THREE, ("c", "cache_mode", "none", 0.4)))
    scores = np.random.default_rng(5).normal(0.0, 1.0, len(hierarchy.NAMES) + 3)

    _, gradient = covariance.posterior(scores)

    for place in range(len(scores)):
        step = np.zeros(len(scores))
        step[place] = 1e-5
        slope = (covariance.posterior(scores + step)[0] - covariance.posterior(scores - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


def test_a_model_that_keeps_no_draws_foretells_the_same():
    kept, anew = fit(cells(*THREE)), fit(cells(*THREE), keeps=False)

    for _ in range(2):
        one, other = (model.contrast({"guest_fs": "xfs"}, {"guest_fs": "ext4"}, WHERE, 0.01) for model in (kept, anew))
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.means, other.means)
        np.testing.assert_array_equal(one.deviations, other.deviations)


@pytest.mark.nightly
def test_standard_deviations_are_integrated_out_as_draws_of_their_priors_do():
    # Brute force: draws of the priors, each weighted by its likelihood, at the laboratories' factors of the fit.
    model = fit(cells(*THREE))
    covariance = hierarchy._Covariance(model.cells)
    spreads = np.abs(np.random.default_rng(7).normal(0.0, hierarchy._SCALES, (8_000, len(hierarchy.NAMES))))
    logs = np.column_stack([np.log(spreads + 1e-6), np.tile(np.log(list(model.factors.values())), (len(spreads), 1))])
    solutions = [covariance.solved(row) for row in logs]
    weights = np.array([value for value, _ in solutions])
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    assert 1 / (weights**2).sum() > 300
    drawn = np.random.default_rng(8).choice(len(weights), 2_000, p=weights)
    draws = [hierarchy._Draw(0.0, spreads[place] ** 2, *solutions[place][1]) for place in drawn]

    xfs, ext4 = {"guest_fs": "xfs"}, {"guest_fs": "ext4"}
    brute = Hierarchy(model.cells, {}, {}, lambda: draws, NOWHERE).contrast(xfs, ext4, WHERE, 0.01)
    fitted = model.contrast(xfs, ext4, WHERE, 0.01)

    assert fitted.mean == pytest.approx(brute.mean, abs=0.02)
    assert fitted.below(0.0) == pytest.approx(brute.below(0.0), abs=0.04)
    assert fitted.deviation == pytest.approx(brute.deviation, rel=0.2)


def test_the_other_way_round_is_the_inverse_and_the_order_of_rows_changes_nothing():
    frame = cells(*THREE)
    xfs, ext4 = {"guest_fs": "xfs"}, {"guest_fs": "ext4"}
    model = fit(frame)
    there, back = model.contrast(xfs, ext4, WHERE, 0.01), model.contrast(ext4, xfs, WHERE, 0.01)
    shuffled = fit(frame.sample(frac=1, random_state=2).reset_index(drop=True)).contrast(xfs, ext4, WHERE, 0.01)

    assert there.quantile(0.975) == pytest.approx(-back.quantile(0.025))
    assert shuffled.quantile(0.975) == pytest.approx(there.quantile(0.975), abs=2e-3)


def test_levels_tell_nothing():
    frame = cells(*THREE)
    higher = frame.assign(outcome=frame["outcome"] + np.where(frame["laboratory"] == "b", 3.0, 0.0))

    medians = [
        fit(f).contrast({"guest_fs": "xfs"}, {"guest_fs": "ext4"}, WHERE, 0.01).quantile(0.5) for f in (frame, higher)
    ]

    assert medians[0] == pytest.approx(medians[1], abs=0.01)


def test_what_nobody_measured_is_foretold_without_a_side_and_wider():
    model = fit(cells(*THREE))
    known = model.contrast({"guest_fs": "xfs"}, {"guest_fs": "ext4"}, WHERE, 0.01)
    unknown = model.contrast({"guest_fs": "btrfs"}, {"guest_fs": "f2fs"}, WHERE, 0.01)

    assert known.mean > 0.03
    assert unknown.mean == pytest.approx(0.0, abs=1e-9)
    assert unknown.deviation > known.deviation


def test_two_that_are_stated_alike_differ_by_residuals_and_runs_only():
    prediction = fit(cells(*THREE)).contrast({"guest_fs": "xfs"}, {"guest_fs": "xfs"}, WHERE, 0.01)

    assert prediction.mean == 0.0
    assert prediction.below(0.0) == pytest.approx(0.5)
    assert 0.1 < prediction.deviation < 0.6


def test_without_cells_there_is_nothing_to_fit():
    with pytest.raises(EvidenceError, match="no cells"):
        fit(cells(*THREE).iloc[:0])


@pytest.mark.nightly
def test_a_new_laboratory_is_inside_the_interval_as_often_as_said():
    generator = np.random.default_rng(11)
    inside = []
    for _ in range(60):
        effects = generator.normal(0.0, 0.2, 3)
        spread = abs(generator.normal(0.0, 0.3))
        rows = []
        for laboratory in ("a", "b", "c", "new"):
            own = effects + generator.normal(0.0, spread / np.sqrt(2), 3)
            rows += [(laboratory, "guest_fs", fs, own[i] + generator.normal(0.0, 0.07)) for i, fs in enumerate("xyz")]
        model = fit(cells(*rows[:9], variance=0.07**2))
        for one, other in ((0, 1), (1, 2)):
            truth = rows[9 + one][3] - rows[9 + other][3]
            sides = {"guest_fs": "xyz"[one]}, {"guest_fs": "xyz"[other]}
            inside.append(0.025 < model.contrast(*sides, WHERE, 2 * 0.07**2).below(truth) < 0.975)
    assert np.mean(inside) >= 0.92


def test_scores_are_standard_normal_where_the_priors_hold():
    scores = np.linspace(-3.0, 3.0, len(hierarchy.NAMES) + 1)
    logs, _ = hierarchy._logarithms(scores)

    np.testing.assert_allclose(halfnorm.cdf(np.exp(logs[:-1]) / hierarchy._SCALES), norm.cdf(scores[:-1]), rtol=1e-9)
    freedom = hierarchy._FREEDOM / 2
    assert invgamma.cdf(np.exp(logs[-1]), freedom, scale=freedom) == pytest.approx(norm.cdf(3.0))


def test_a_mixture_has_the_quantiles_of_its_normals():
    one = Prediction(np.array([1.0]), np.array([0.3]), np.array([0.2]))
    two = Prediction(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.array([0.1, 0.1]))

    assert one.quantile(0.975) == pytest.approx(norm.ppf(0.975, 0.3, 0.2))
    assert one.density(0.3) == pytest.approx(norm.pdf(0.0) / 0.2)
    assert two.quantile(0.25) == pytest.approx(-1.0, abs=1e-6)
    assert (two.mean, two.below(0.0)) == (0.0, pytest.approx(0.5))
