"""The effect that each component adds: against an independent package, and where components cannot be told apart."""

import numpy as np
import pytest

from modelling.estimation.components import additive
from modelling.estimation.network import Trial, networks

from .test_network import of_pairs, rows, trials_of


def pair(name: str, first: str, second: str, effect: float, error: float = 0.1) -> Trial:
    return of_pairs(name, [(first, second, effect, error)])


def fitted(trials: list[Trial], inactive: str | None = None):
    """Fit treatments called "A + B" by their components, but for the inactive one."""
    names = {name for trial in trials for name in trial.treatments}
    return additive(trials, {name: [part for part in name.split(" + ") if part != inactive] for name in names})


@pytest.fixture(scope="module")
def linde():
    return fitted(trials_of("linde2016_contrasts.csv"), "Placebo")


@pytest.mark.parametrize("model", ["common", "random"])
def test_every_component_of_linde_2016_is_reproduced(linde, model):
    fit = getattr(linde, model)
    estimates = {name: (fit.effects[i], fit.errors()[i]) for i, name in enumerate(linde.names)}
    for row in rows("linde2016_components.csv"):
        expected = float(row[f"beta_{model}"]), float(row[f"se_{model}"])
        assert estimates.pop(row["component"]) == pytest.approx(expected, abs=1e-6)
    assert not estimates


def test_the_fit_of_the_additive_and_the_standard_model_of_linde_2016_is_reproduced(linde):
    (row,) = rows("linde2016_summary.csv")
    (standard,) = networks(trials_of("linde2016_contrasts.csv"))
    assert (linde.tau2, linde.q, linde.freedom) == pytest.approx(
        (float(row["tau2"]), float(row["q_additive"]), int(row["df_additive"])), abs=1e-6
    )
    assert (standard.q, standard.freedom) == pytest.approx((float(row["q_standard"]), int(row["df_standard"])))


def test_effects_add_up():
    model = fitted([pair("1", "a", "none", 0.3), pair("2", "a + b", "none", 0.5)], "none")
    assert dict(zip(model.names, model.common.effects, strict=True)) == pytest.approx({"a": 0.3, "b": 0.2})
    assert model.aliases == ()


def test_networks_that_no_trial_joins_are_joined_by_shared_components():
    # a against none, and apart from it a + b against a: nothing links them but the component b.
    model = fitted([pair("1", "a", "none", 0.3), pair("2", "a + b + c", "a + c", 0.2)], "none")
    weights = np.array([1.0, 1.0, 0.0])  # a + b against none
    assert model.contrast(weights) == pytest.approx((0.5, np.sqrt(0.02)))


def test_components_that_only_occur_together_are_named_together():
    model = fitted([pair("1", "a + b", "none", 0.5), pair("2", "c", "none", 0.1)], "none")
    assert model.aliases == (("a", "b"),)
    assert dict(zip(model.names, model.estimable, strict=True)) == {"a": False, "b": False, "c": True}
    assert model.contrast(np.array([1.0, 0.0, 0.0])) is None
    assert model.contrast(np.array([1.0, 1.0, 0.0])) == pytest.approx((0.5, 0.1))


def test_a_component_that_every_treatment_has_cannot_be_told():
    model = fitted([pair("1", "x + a", "x + b", 0.4)])
    assert model.contrast(np.array([1.0, -1.0, 0.0])) == pytest.approx((0.4, 0.1))
    assert set(model.aliases) == {("a", "b"), ("x",)}


def test_additivity_that_does_not_hold_shows_in_q():
    consistent = [pair("1", "a", "none", 0.3), pair("2", "b", "none", 0.2), pair("3", "a + b", "none", 0.5)]
    broken = [*consistent[:2], pair("3", "a + b", "none", 1.5)]
    assert fitted(consistent, "none").q == pytest.approx(0, abs=1e-12)
    # The rest of 1.0 is shared by three contrasts: Q = 1.0^2 / (3 x 0.01).
    assert fitted(broken, "none").q == pytest.approx(1 / 0.03)
    assert fitted(broken, "none").freedom == 1
