"""A recommendation: the least expected loss, how sure it is, and who breaks a tie."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from modelling.estimation.bayes import Posterior
from modelling.estimation.recommendation import (
    ADVISED,
    BY_DEFAULT,
    CONDITIONAL,
    DURABLE,
    LISTS,
    NOTHING,
    ONE,
    SEVERAL,
    STRONG,
    Option,
    Recommended,
    recommend,
)
from modelling.estimation.verdict import AVOID, LEADS, NO_DIFFERENCE, NOT_KNOWN, USE

MARGIN = 0.1


def known(*means: float, deviation: float = 0.2) -> Posterior:
    """Return the posterior of entries a, b, ... whose ln speeds are independent."""
    names = tuple("abcdefghi"[: len(means)])
    covariance = deviation**2 / 2 * np.eye(len(means))  # so that a difference has this deviation
    return Posterior(names, np.ones(1), np.array([means]), covariance[None], np.zeros((1, *covariance.shape)))


def options(posterior: Posterior, groups: int = 1, **fields: dict[str, object]) -> list[Option]:
    """Return an option for each entry. fields : name of a field to {key: value}"""
    return [
        Option(key, groups, place=number + 1, **{name: of[key] for name, of in fields.items() if key in of})
        for number, key in enumerate(posterior.treatments)
    ]


def test_it_is_the_entry_that_loses_least_with_its_chance_and_cost_by_hand():
    posterior = known(0.1, 0.0)
    recommended = recommend(options(posterior), posterior, NOT_KNOWN, MARGIN)
    assert (recommended.choice, recommended.force, recommended.basis) == (("a",), CONDITIONAL, ONE)
    # ln(a/b) ~ N(0.1, 0.2): a is the faster with a probability of 0.6915, and loses 1 - exp(d) where d < 0.
    assert recommended.chance == pytest.approx(norm.cdf(0.5), abs=1e-6)
    assert recommended.blind == 0.5
    below = np.linspace(-3, 0, 200_001)
    lost = np.trapezoid((1 - np.exp(below)) * norm.pdf(below, 0.1, 0.2), below)
    assert recommended.cost == pytest.approx(100 * lost / (1 - norm.cdf(0.5)), rel=1e-3)
    often = 1 - math.exp(norm.ppf(0.1, 0.1, 0.2))
    assert recommended.cost_one_in_ten == pytest.approx(100 * often, rel=0.02)


def test_strong_is_what_the_verdict_says_to_use_and_either_what_it_calls_alike():
    posterior = known(0.5, 0.0, -0.5)
    used = recommend(options(posterior, 3, verdict={"a": USE, "c": AVOID}), posterior, USE, MARGIN)
    assert (used.choice, used.force, used.basis) == (("a",), STRONG, SEVERAL)
    assert (used.rather_not, used.is_sure_of_not) == (("c",), True)
    alike = options(posterior, 2, verdict={"a": NO_DIFFERENCE, "b": NO_DIFFERENCE})
    either = recommend(alike, posterior, NO_DIFFERENCE, MARGIN)
    assert (set(either.choice), either.force, either.blind) == ({"a", "b"}, STRONG, pytest.approx(2 / 3))
    leading = recommend(options(posterior, 3, verdict={"a": LEADS}), posterior, LEADS, MARGIN)
    assert (leading.choice, leading.force) == (("a",), CONDITIONAL)


@pytest.mark.parametrize(("groups", "force"), [((2, 2), STRONG), ((3, 1), CONDITIONAL), ((1, 1), CONDITIONAL)])
def test_either_is_strong_only_where_two_groups_have_numbers_on_each(groups, force):
    posterior = known(0.01, 0.0)
    alike = [Option(key, own, verdict=NO_DIFFERENCE) for key, own in zip("ab", groups, strict=True)]
    assert recommend(alike, posterior, NO_DIFFERENCE, MARGIN).force == force


@pytest.mark.parametrize(
    ("fields", "choice"),
    [
        ({"is_default": {"a": True}}, "a"),
        ({"is_durable": {"a": False}}, "b"),
        ({"advised": {"b": 1}}, "b"),
        ({"is_durable": {"b": False}, "advised": {"b": 3}}, "a"),
        ({"advised": {"c": 3}}, "a"),  # far slower: no advice makes it a tie
    ],
)
def test_a_tie_goes_to_the_durable_one_and_then_to_what_makers_advise(fields, choice):
    posterior = known(0.001, 0.0, -0.5)
    assert recommend(options(posterior, **fields), posterior, NOT_KNOWN, MARGIN).choice == (choice,)


@pytest.mark.parametrize(
    ("fields", "tie_break"),
    [
        ({"is_durable": {"b": False}}, DURABLE),
        ({"advised": {"a": 1}}, ADVISED),
        ({"is_default": {"a": True}}, BY_DEFAULT),
    ],
)
def test_of_a_coins_toss_it_says_what_decided(fields, tie_break):
    posterior = known(0.001, 0.0, -0.5)
    recommended = recommend(options(posterior, **fields), posterior, NOT_KNOWN, 0.001)
    assert (recommended.choice, recommended.is_toss) == (("a",), False)
    assert recommended.tie_break == ""  # it is far better than one of three picked blindly
    two = known(0.001, 0.0)
    recommended = recommend(options(two, **fields), two, NOT_KNOWN, MARGIN)
    assert (recommended.choice, recommended.tie_break) == (("a",), tie_break)


def test_a_coins_toss_that_nothing_decides_is_any_of_those_that_lose_as_little():
    posterior = known(0.001, 0.0)
    tossed = recommend(options(posterior), posterior, NOT_KNOWN, MARGIN)
    assert (tossed.choice, tossed.is_toss, tossed.blind) == (("a", "b"), True, 0.5)
    assert tossed.chance == pytest.approx(0.5, abs=0.02)  # of one that is picked
    led = recommend(options(posterior, verdict={"a": LEADS}), posterior, LEADS, MARGIN)
    assert (led.choice, led.is_toss) == (("a",), False)


def test_where_lists_alone_speak_their_first_is_chosen_whatever_the_model_expects():
    posterior = known(0.0, 0.4, 0.0)
    listed = options(posterior, 0, is_listed=dict.fromkeys("abc", True))
    recommended = recommend(listed, posterior, NOT_KNOWN, MARGIN, worst=("c",))
    assert (recommended.choice, recommended.rather_not, recommended.basis) == (("a",), ("c",), LISTS)


def test_the_slowest_is_held_against_the_chosen_one_however_many_there_are():
    alike = known(*[0.0] * 8)
    assert recommend(options(alike), alike, NOT_KNOWN, MARGIN).rather_not == ()


def test_what_makers_discourage_gives_way_to_what_loses_little_more():
    posterior = known(0.02, 0.0, -0.5)
    discouraged = options(posterior, advised={"a": -3})
    assert recommend(discouraged, posterior, NOT_KNOWN, MARGIN).choice == ("b",)
    assert recommend(discouraged, posterior, NOT_KNOWN, MARGIN, worst={"b"}).choice != ("b",)  # which lists put last
    apart = known(0.5, 0.0)
    assert recommend(options(apart, advised={"a": -3}), apart, NOT_KNOWN, MARGIN).choice == ("a",)


def test_the_slowest_is_named_only_where_it_is_probably_slower_by_the_margin():
    close, apart = known(0.0, -0.05), known(0.0, -1.0)
    assert recommend(options(close), close, NOT_KNOWN, MARGIN).rather_not == ()
    assert recommend(options(apart), apart, NOT_KNOWN, MARGIN).rather_not == ("b",)


def test_one_option_has_no_chance_to_tell_and_none_is_nothing():
    posterior = known(0.0)
    alone = recommend(options(posterior), posterior, NOT_KNOWN, MARGIN)
    assert (alone.choice, alone.chance, alone.blind, alone.cost) == (("a",), None, None, None)
    assert recommend([], posterior, NOT_KNOWN, MARGIN) == Recommended(basis=NOTHING)


def test_the_loss_in_one_of_ten_is_that_of_a_million_draws():
    random = np.random.default_rng(4)
    means, root = random.normal(0, 0.3, (3, 5)), random.normal(0, 0.3, (3, 5, 5))
    covariances, weights = root @ root.swapaxes(1, 2), np.array([0.2, 0.5, 0.3])
    posterior = Posterior(tuple("abcde"), weights, means, covariances, np.zeros_like(covariances))
    node = random.choice(3, size=1_000_000, p=weights)
    values = np.concatenate([random.multivariate_normal(means[t], covariances[t], (node == t).sum()) for t in range(3)])
    expected = 1 - np.exp(-np.quantile(values.max(axis=1) - values[:, 2], 0.9))
    assert posterior.loss_quantile(2, 0.9) == pytest.approx(expected, abs=0.01)
