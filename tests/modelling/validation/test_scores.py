"""Scores by laboratory and distinct question: what counts once, and what may forecast."""

import math

import pytest

from modelling.evidence.axes import AXES
from modelling.validation.methods import Task
from modelling.validation.scores import Outcome, cell_scores, clustered_score, mean_over_laboratories, shortfalls


def asked(study, workload, axis="guest-fs", **outcomes):
    return Task((study,), AXES[axis], workload, None, {}), outcomes


def said(log_score, inside=True):
    return Outcome(errors=(0.1,), inside=(inside,), log_scores=(log_score,))


def test_questions_of_one_source_on_one_workload_count_once():
    results = [
        asked("a", "mail", "guest-fs", model=Outcome(kendall=1.0)),
        asked("a", "mail", "fs-pair", model=Outcome(kendall=0.0)),
        asked("a", "files", model=Outcome(kendall=-1.0)),
        asked("b", "mail", model=Outcome(kendall=0.5)),
        asked("c", "mail", model=Outcome(reason="unknown")),
    ]
    cells = cell_scores(results, "model", "kendall")
    assert cells == {(("a",), "mail"): 0.5, (("a",), "files"): -1.0, (("b",), "mail"): 0.5}
    summary = clustered_score(results, "model", "kendall")
    assert (summary.mean, summary.cells, summary.laboratories) == (0.0, 3, 2)


def test_the_interval_is_as_wide_as_laboratories_differ():
    # One laboratory's ten questions agree: drawn again, it is they or the other's, so the ends are the two themselves.
    cells = {(("a",), str(n)): 1.0 for n in range(10)} | {(("b",), "mail"): -1.0}
    assert mean_over_laboratories(cells)[1:] == (-1.0, 1.0)


def test_two_methods_are_compared_where_both_answer():
    results = [asked("a", "mail", model=said(-1.0), naive=said(-2.0)), asked("b", "mail", model=said(-9.0))]
    assert cell_scores(results, "model", "log_score", "naive") == {(("a",), "mail"): 1.0}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ([said(-1.0)] * 10, []),
        ([said(-3.0)] * 10, ["log_score against naive"]),
        ([said(-1.0, inside=n > 0) for n in range(10)], []),
        ([said(-1.0, inside=n > 1) for n in range(10)], ["inside"]),
        ([Outcome(reason="unknown")] * 10, ["inside"]),
    ],
)
def test_a_form_forecasts_where_it_is_not_worse_than_the_naive(model, expected):
    results = [asked(str(n), "mail", model=outcome, naive=said(-2.0)) for n, outcome in enumerate(model)]
    assert list(shortfalls(results, "model", ["naive"])) == expected


def test_a_median_is_taken_of_the_pairs_of_one_question():
    results = [asked("a", "mail", model=Outcome(errors=(0.1, 0.2, math.log(9))))]
    assert cell_scores(results, "model", "error") == {(("a",), "mail"): 0.2}
