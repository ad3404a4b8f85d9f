"""The ladder of sentences: a table of what may be said, and the same over posteriors made by hand."""

import numpy as np
import pytest

from modelling.estimation.bayes import Posterior
from modelling.estimation.links import Links
from modelling.estimation.network import Trial
from modelling.estimation.verdict import EntryForecast, ladder

FIRST = EntryForecast(0.0, 0.1, 0.03)
OPEN = EntryForecast(0.0, 0.4, 0.12)


@pytest.mark.parametrize(
    ("choices", "is_whole", "kind", "verdicts"),
    [
        # the first alone within the margin, and two groups between it and the second
        ([FIRST, EntryForecast(0.3, 0.7, 0.3, 2, 1.4)], True, "use", "use, unknown"),
        # one group: no imperative
        ([FIRST, EntryForecast(0.3, 0.7, 0.3, 1, 1.4)], True, "leads", "leads, unknown"),
        # loss beyond the margin
        ([EntryForecast(0.0, 0.1, 0.11), EntryForecast(0.3, 0.7, 0.3, 2, 1.4)], True, "leads", "leads, unknown"),
        # not within it surely enough
        ([EntryForecast(0.0, 0.21, 0.03), EntryForecast(0.3, 0.7, 0.3, 2, 1.4)], True, "leads", "leads, unknown"),
        # the question has entries that nothing joins to these
        ([FIRST, EntryForecast(0.3, 0.7, 0.3, 2, 1.4)], False, "leads", "leads, unknown"),
        # what counts is the second with numbers: a list between them has none
        ([FIRST, None, EntryForecast(0.3, 0.7, 0.3, 2, 1.4)], True, "use", "use, unknown, unknown"),
        # several within the margin
        (
            [FIRST, EntryForecast(0.02, 0.2, 0.05, 1, 1.02), None],
            True,
            "no difference",
            "no difference, no difference, unknown",
        ),
        # the second is as fast where it was measured: both lead over the third
        (
            [OPEN, EntryForecast(0.02, 0.5, 0.1, 1, 1.05), EntryForecast(0.3, 0.8, 0.3, 1, 1.5)],
            True,
            "leads",
            "leads, leads, unknown",
        ),
        # never side by side: by the estimate
        ([OPEN, EntryForecast(0.3, 0.7, 0.3, 1)], True, "leads", "leads, unknown"),
        # shrunk to nearly nothing, but measured
        ([OPEN, EntryForecast(0.05, 0.5, 0.1, 1, 1.7)], True, "leads", "leads, unknown"),
        # one laboratory measured the reverse
        ([OPEN, EntryForecast(0.3, 0.6, 0.2, 2, 0.8)], True, "not known", "unknown, unknown"),
        ([OPEN, EntryForecast(0.02, 0.5, 0.1, 1, 1.02)], True, "not known", "unknown, unknown"),
        # lists alone
        ([None, None], True, "not known", "unknown, unknown"),
        ([OPEN, None], True, "not known", "unknown, unknown"),
        # avoid: two groups, or one with a factor that laboratories never differ by, never less
        ([OPEN, EntryForecast(0.9, 0.95, 0.9, 2, 3.0)], True, "leads", "leads, avoid"),
        ([OPEN, EntryForecast(0.9, 0.89, 0.9, 2, 3.0)], True, "leads", "leads, unknown"),
        ([OPEN, EntryForecast(0.9, 0.95, 0.9, 1, 19.0)], True, "leads", "leads, unknown"),
        ([OPEN, EntryForecast(0.9, 0.95, 0.9, 1, 20.0)], True, "leads", "leads, avoid"),
        ([OPEN, EntryForecast(0.9, 0.95, 0.9, 1)], True, "leads", "leads, unknown"),
        ([OPEN, EntryForecast(0.9, 0.95, 0.9, 0, 30.0)], True, "leads", "leads, unknown"),
    ],
)
def test_one_of_four_kinds_is_said(choices, is_whole, kind, verdicts):
    steps = ladder(choices, 0.1, differ=20.0, is_whole=is_whole)
    assert (steps.kind, ", ".join(steps.verdicts)) == (kind, verdicts)


def posterior(means, deviations):
    """Return a posterior of entries that are independent of each other, in laboratories that do not differ."""
    names = tuple("abcdefgh"[: len(means)])
    covariance = np.diag(np.square(deviations).astype(float))
    return Posterior(
        names, np.ones(1), np.array([means], dtype=float), covariance[None], np.zeros((1, *covariance.shape))
    )


@pytest.mark.parametrize(
    ("means", "deviations", "kind"),
    [
        ([0.5, 0.0, -0.5], [0.05, 0.05, 0.05], "use"),
        ([0.02, 0.0, -0.02], [0.01, 0.01, 0.01], "no difference"),
        ([0.5, 0.0, 0.0], [0.4, 0.4, 0.4], "leads"),
        ([0.02, 0.0, 0.0], [0.4, 0.4, 0.4], "not known"),
    ],
)
def test_a_posterior_comes_to_its_kind(means, deviations, kind):
    assert ladder(choices_of(posterior(means, deviations)), 0.1).kind == kind


def test_an_entry_that_nobody_measured_counts_with_its_wide_prediction():
    sure = posterior([0.5, 0.0], [0.05, 0.05])
    assert ladder(choices_of(sure), 0.1).kind == "use"
    with_unknown = choices_of(posterior([0.5, 0.0, 0.2], [0.05, 0.05, 1.0]))
    assert ladder([*with_unknown[:2], None], 0.1).kind == "leads"


def choices_of(estimate):
    """Take what two groups measured as it is estimated."""
    forecast, lead = estimate.forecast(0.1), estimate.effects[0] - estimate.effects
    rows = zip(lead, forecast.slower, forecast.loss, strict=True)
    return [EntryForecast(1 - np.exp(-ahead), slower, loss, 2, np.exp(ahead)) for ahead, slower, loss in rows]


def trial(name, **means):
    return Trial.from_arms(name, list(means), np.array(list(means.values())), np.full(len(means), 0.01))


def test_groups_are_counted_on_the_weakest_link_of_the_best_way():
    group_of = {"one": "G", "two": "G", "three": "H"}
    links = Links([trial("one", a=0.7, b=0.0), trial("two", a=0.5, b=0.0), trial("three", b=0.0, c=0.0)], group_of)
    assert (links.groups("a", "b"), links.groups("b", "c"), links.groups("a", "c")) == (1, 1, 1)
    assert links.measured("a", "b") == {"one": pytest.approx(np.exp(0.7)), "two": pytest.approx(np.exp(0.5))}
    more = Links([*links.trials, trial("four", a=0.1, b=0.0), trial("five", a=0.1, c=0.0), trial("six", a=0, c=0)], {})
    assert (more.groups("a", "b"), more.groups("b", "c"), more.groups("a", "d")) == (3, 2, 0)


def test_what_was_measured_slower_than_the_one_held_against_does_not_lead():
    choices = [OPEN, EntryForecast(0.02, 0.5, 0.1), EntryForecast(0.03, 0.5, 0.1), EntryForecast(0.3, 0.8, 0.3, 1, 1.5)]
    assert ladder(choices, 0.1).verdicts == ("leads", "leads", "leads", "unknown")
    assert ladder(choices, 0.1, beaten_by={2: {3}}).verdicts == ("leads", "leads", "unknown", "unknown")


def test_beaten_is_what_every_laboratory_that_compared_the_two_measured_slower():
    links = Links([trial("one", a=0.7, b=0.0, c=0.2), trial("two", a=0.5, b=0.0), trial("three", b=0.0, c=-0.1)], {})
    # b lost to a in both; c lost to a in one, and to b in one of two; d was never measured
    assert links.beaten_by(["d", "a", "b", "c"]) == {2: {1}, 3: {1}}
