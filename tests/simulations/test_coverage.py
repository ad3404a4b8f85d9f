"""Small versions of python -m tests.simulations simulate_coverage; docs/models/verdict.md has the large ones."""

import io
import json
from itertools import product

import numpy as np
import pytest
from django.core.management import call_command

from modelling.estimation.arms import Spread
from modelling.estimation.hierarchy import NAMES, Scales, published_scales
from modelling.estimation.verdict import AVOID, KINDS, LEADS, USE
from tests.simulations.commands import simulate_coverage
from tests.simulations.coverage import (
    GROUP,
    NORMAL,
    ODD,
    TAILS,
    Tally,
    World,
    calibration,
    deviations,
    simulate,
    worlds,
)

pytestmark = pytest.mark.slow

# Effects and laboratories that differ about as much as in these worlds; published evidence differs by more.
DRAWS = list(product((0.2, 0.5), (0.03, 0.1, 0.3)))
LIKE_THESE = Scales(
    weights=np.full(len(DRAWS), 1 / len(DRAWS)),
    variances=np.square(
        [
            [shared if name == "shared guest_fs" else own if name == "own guest_fs" else 0.02 for name in NAMES]
            for shared, own in DRAWS
        ]
    ),
    freedom=np.full(len(DRAWS), 4.0),
    factors={},
    sizes={},
)
INDEPENDENT = (
    World(NORMAL, 0.2, 0.1, 2),
    World(NORMAL, 0.5, 0.3, 5),
    World(TAILS, 0.5, 0.1, 3),
    World(ODD, 0.5, 0.1, 5),
)
ONE_GROUP = (World(GROUP, 0.5, 0.5, 3), World(GROUP, 0.2, 0.3, 5))


def simulated(*several: World, scales: Scales = LIKE_THESE, replications: int = 40) -> Tally:
    rng, tally = np.random.default_rng(5), Tally()
    for world in several:
        tally.add(simulate(rng, world, replications, spread=Spread(0.05), scales=scales, margin=0.1, differ=20.0))
    return tally


@pytest.fixture(scope="module")
def independent() -> Tally:
    return simulated(*INDEPENDENT)


@pytest.fixture(scope="module")
def of_one_group() -> Tally:
    return simulated(*ONE_GROUP)


def test_the_interval_of_a_new_laboratory_holds_in_worlds_of_every_kind(independent, of_one_group):
    # 320 and 160 contrasts, two of a world: 95 % less three standard errors, counted by worlds.
    assert independent.coverage()[1] >= 0.90
    assert of_one_group.coverage()[1] >= 0.88
    # As answers have it, whatever is published: 120 contrasts.
    assert simulated(*INDEPENDENT, *ONE_GROUP, scales=published_scales(), replications=10).coverage()[1] >= 0.89


@pytest.mark.parametrize("word", [USE, AVOID])
def test_use_and_avoid_come_true_as_often_as_said(independent, word):
    told, came_true = independent.told[word], independent.came_true[word]
    assert len(told) >= 25
    assert np.mean(came_true) >= np.mean(told) - 0.05 - 2 * np.sqrt(0.25 * 0.36 / len(told))


def test_laboratories_of_one_research_group_give_no_imperative(of_one_group):
    assert of_one_group.kinds[LEADS] > 0
    assert of_one_group.kinds[USE] == 0
    assert of_one_group.told == {USE: [], AVOID: []}


def test_every_replication_has_one_sentence(independent):
    assert independent.kinds.total() == 160
    assert set(independent.kinds) <= set(KINDS)


def test_the_probability_of_being_slower_is_no_larger_than_how_often_it_happens(independent):
    for probability, share, count in calibration(independent.said_slower, independent.was_slower):
        if probability > 0.5:
            assert share >= probability - 0.05 - 3 * np.sqrt(0.25 / count)


def test_the_verdict_loses_less_than_always_the_first(independent):
    lost = {way: np.mean(losses) for way, losses in independent.lost.items()}
    assert lost["verdict"] < 0.6 * lost["first"]
    assert lost["verdict"] < lost["mean"] + 0.02


@pytest.mark.parametrize(
    ("kind", "times"),
    # Standard deviations against those of "normal": sqrt(3) times of Student's t with 3 degrees, though samples seldom
    # show it all; one in four fourfold sqrt(0.75 + 0.25 * 16) times.
    [(NORMAL, (0.97, 1.03)), (TAILS, (1.4, 2.3)), (ODD, (2.1, 2.26)), (GROUP, (0.97, 1.03))],
)
def test_worlds_are_drawn_as_they_are_described(kind, times):
    drawn = deviations(np.random.default_rng(3), World(kind, 0.2, 0.3, 2), 20_000)
    assert times[0] < drawn.std() / (0.3 / np.sqrt(2)) < times[1]
    seen = [np.corrcoef(drawn[:, 0].ravel(), drawn[:, place].ravel())[0, 1] for place in (1, 2)]
    assert seen == pytest.approx([0.6 if kind == GROUP else 0.0, 0.0], abs=0.03)


@pytest.mark.nightly
def test_the_command_says_the_same_in_both_forms(simulated_once):
    simulated_once(simulate_coverage)
    printed = []
    for form in ([], ["--json"]):
        out = io.StringIO()
        call_command(simulate_coverage.Command(), "--replications", "1", *form, stdout=out)
        printed.append(out.getvalue())
    report = json.loads(printed[1])
    assert len(report["coverage"]) == len(list(worlds())) == 104
    assert [row["worlds"] for row in report["sentences"]] == [16, 16] + [12] * 6
    assert f"{report['lost_percent']['verdict']:.2f}" in printed[0]
    assert f"{100 * report['coverage_of_all']['new']:.1f}" in printed[0]
