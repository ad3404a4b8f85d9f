"""Small versions of manage.py simulate_coverage; docs/models/verdict.md has the large ones."""

import io
import json

import numpy as np
import pytest
from django.core.management import call_command

from modelling.estimation.arms import Spread
from modelling.research.coverage import Tally, calibration, simulate

pytestmark = pytest.mark.slow

ASSUMED = {"spread": Spread(0.05), "tau_scale": 0.3, "margin": 0.1}


@pytest.fixture(scope="module")
def over_the_prior() -> Tally:
    """150 worlds for each of four sizes, tau drawn from its prior."""
    rng, found = np.random.default_rng(5), Tally()
    for laboratories, runs in ((1, 3), (3, 2), (5, 5), (8, 10)):
        taus = np.abs(rng.normal(0, 0.3, 150))
        found.add(simulate(rng, 150, laboratories, runs, taus, **ASSUMED))
    return found


def test_both_intervals_hold_over_the_prior_of_tau(over_the_prior):
    # 1,200 contrasts, two of a world: the standard error of a share of 95 % is below 0.9 %.
    mean, new = over_the_prior.coverage()
    assert 0.93 <= mean <= 0.99
    assert 0.93 <= new <= 0.99


@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_three_laboratories_are_honest_at_either_end(tau):
    # 300 contrasts: 90 % less two standard errors.
    found = simulate(np.random.default_rng(6), 150, 3, 3, np.full(150, tau), **ASSUMED).coverage()
    assert min(found) >= 0.865


@pytest.mark.parametrize("what", ["best", "slower"])
def test_what_is_said_with_some_probability_happens_as_often(over_the_prior, what):
    said, was = getattr(over_the_prior, f"said_{what}"), getattr(over_the_prior, f"was_{what}")
    for probability, share, count in calibration(said, was):
        assert abs(probability - share) <= 0.02 + 3 * np.sqrt(0.25 / count)


def test_the_verdict_loses_less_than_always_the_first(over_the_prior):
    lost = {way: np.mean(losses) for way, losses in over_the_prior.lost.items()}
    assert lost["verdict"] < 0.6 * lost["first"]
    assert lost["verdict"] < lost["mean"] + 0.01


def test_the_command_says_the_same_in_both_forms():
    found = []
    for form in ([], ["--json"]):
        out = io.StringIO()
        call_command("simulate_coverage", "--replications", "1", *form, stdout=out)
        found.append(out.getvalue())
    report = json.loads(found[1])
    assert len(report["coverage"]) == 80
    assert f"{report['lost_percent']['verdict']:.2f}" in found[0]
