"""Anecdotes: what is below the minimum is shown, and turns no answer."""

import numpy as np
import pytest

from experiments.case_studies import lifecycle
from modelling.answers.answer import answer
from modelling.answers.estimate import assumptions, estimate
from modelling.estimation.arms import comparable_arms
from modelling.evidence import dataframes
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_measurement, make_variant

pytestmark = pytest.mark.django_db

ASKED = Question("guest-fs", "varmail")
SHORT = {"runtime": "4"}


def published(slug: str, values: dict[str, float], parameters: dict | None = None, **fields) -> None:
    study = make_case_study(slug, **fields)
    load = make_variant("varmail", parameters=parameters or {})
    for guest_fs, value in values.items():
        make_measurement(value, case_study=study, guest_fs=guest_fs, variant=load)
    lifecycle.publish([study], reason="it counts")


def told(question: Question = ASKED):
    return answer(estimate(question), 0)


def test_a_run_of_four_seconds_of_which_nothing_is_said_turns_nothing():
    published("first", {"ext4": 100.0, "xfs": 130.0})
    before = told()
    published("shout", {"ext4": 1000.0, "xfs": 1.0, "btrfs": 5000.0}, SHORT, procedure="")
    after = told()
    assert after.verdict == before.verdict
    assert after.entries == before.entries
    assert after.grounds == before.grounds
    (anecdote,) = after.anecdotes
    assert (anecdote.case_study, anecdote.numbers, anecdote.entries) == ("shout", 3, ("btrfs", "ext4", "xfs"))
    assert anecdote.sentence == "btrfs came out 5000 times as fast as xfs."
    assert anecdote.why == "Runs of 4 s, of which none is known to be repeated."
    assert after.notes[-1].startswith("Three numbers of one case study are anecdotes")


def test_the_same_numbers_repeated_do_turn_it():
    published("first", {"ext4": 100.0, "xfs": 130.0})
    before = told()
    published("shout", {"ext4": 1000.0, "xfs": 1.0}, SHORT, procedure="", repetitions=3)
    assert (told().verdict.sentence != before.verdict.sentence, told().anecdotes) == (True, ())


def test_where_there_is_nothing_else_nothing_is_known_and_the_anecdote_is_told():
    published("shout", {"ext4": 1000.0, "xfs": 500.0}, procedure="")
    answered = told()
    assert (answered.status, answered.entries) == ("no comparison", ())
    assert answered.verdict.reasons[0].startswith("Only anecdotes compare two entries")
    assert "ext4 came out 2.0 times as fast as xfs." in answered.missing[1]


def test_a_short_run_weighs_by_its_length_as_the_load_tells_it():
    """Four seconds, without a stated spread: c² = 0.05² · 30 / 4, which is expected of the case study and the arm, and
    times (t / 1.96)² with 4 degrees of freedom for the arm and 4 for the case study: 1 / (1/4 + 1/4) = 2."""
    published("short", {"ext4": 100.0, "xfs": 130.0}, SHORT, repetitions=3)
    arms = comparable_arms(dataframes.arms(ASKED), AXES["guest-fs"], assumptions().spread)
    assert arms["arm_variance"].tolist() == pytest.approx([0.05**2 * 30 / 4 * (4.302653 / 1.959964) ** 2] * 2, rel=1e-5)
    assert np.sqrt(0.05**2 * 30 / 4) == pytest.approx(0.137, abs=1e-3)


def test_how_a_case_study_measured_stands_beside_it():
    published("first", {"ext4": 100.0, "xfs": 130.0}, run_seconds=60)
    assert told().evidence[0].protocol == "number of runs not stated, of 60 s; no spread"
