"""Inference on a host's pools from its own runs and moves: numbers worked by hand."""

from math import log

import numpy as np
import pytest
from scipy.stats import norm

from modelling.estimation.machine import ALIKE, DISTURBED, SLOWER, WIDER, Comparison, Machine, update
from modelling.fleet.placement.content import NOT_KNOWN, PINNED, RUNS, TRIAL, Advice, Pool, Prospect, Rules
from modelling.fleet.placement.content import Machine as Guest
from modelling.fleet.placement.expected_gain import host_prospect, is_sure
from modelling.fleet.placement.host_evidence import (
    Load,
    Outcome,
    add_moves,
    as_known,
    comparison,
    distance,
    error,
    evidence_of_runs,
)
from modelling.fleet.placement.proposals import proposals

POOLS = ("old", "new", "far")
MAIL = Load("ext4", {"varmail": 1.0})


def machine(spread: float = 0.7, *, pools: int = 3, means=None) -> Machine:
    """Pools of which nothing is known but how far apart they may be, ln speed."""
    told = np.zeros((1, pools)) if means is None else np.array([means])
    return Machine(np.ones(1), told, spread**2 * np.eye(pools)[None])


def home(spread: float = 0.7, measured=()):
    return evidence_of_runs([(1.0, machine(spread))], POOLS, measured, 0)


def outcome(speed: float = 1.5, **fields) -> Outcome:
    told = {"number": 1, "machine": "mail-1", "guest_fs": "ext4", "shares": {"varmail": 1.0}, "here": "old"}
    return Outcome(**told | {"there": "new", "speed": log(speed), "variance": 0.05**2} | fields)


def at(known, there="new", here="old") -> Prospect | None:
    return host_prospect(as_known(known, "ext4"), f"ext4-on-{there}", f"ext4-on-{here}", 0.1)


def test_an_outcome_is_a_normal_observation_of_the_difference_but_for_the_disturbed():
    """Prior N(0, 2 x 0.7²), seen 0.5 with variance 2e; three ways: neither side was disturbed, there, here."""
    e, prior = 0.02, 2 * 0.7**2
    known = update(machine(pools=2), [Comparison((1, 0), (0.5, 0.0), e)])
    ways = ((1.0, 0.0, 0.0), (DISTURBED, -SLOWER, WIDER**2), (DISTURBED, SLOWER, WIDER**2))
    totals = np.array([prior + 2 * e + more for _, _, more in ways])
    leads = np.array([0.5 - lead for _, lead, _ in ways])
    shares = np.array([share for share, _, _ in ways]) * norm.pdf(leads, 0.0, totals**0.5)
    shares /= shares.sum()
    means = prior / totals * leads
    variance = shares @ (prior - prior**2 / totals + means**2) - (shares @ means) ** 2
    assert len(known.weights) == 1  # one normal with the mean and variance of all three
    assert known.means[0, 1] - known.means[0, 0] == pytest.approx(shares @ means, abs=2e-3)  # the level is nearly flat
    contrast = np.array([-1.0, 1.0])
    assert contrast @ known.covariances[0] @ contrast == pytest.approx(variance, abs=2e-3)


def test_the_error_of_an_outcome_has_a_weeks_the_pools_drift_and_the_distance_of_another_disk():
    own = 0.005 + 0.07**2
    assert error(0.01, 0.0, is_itself=True) == pytest.approx((own, 0.0))
    assert error(0.01, 60.0, is_itself=True) == pytest.approx((own, 2 * 0.05**2))
    assert error(0.01, 0.0, is_itself=False) == pytest.approx((own, ALIKE**2))


def test_moves_between_the_same_pools_average_their_own_errors_and_not_what_they_share():
    """Two forth at 0.3 and two back at -0.5: by equal weights 0.4 ahead; a quarter of a side's own error is left."""
    forth = [outcome(np.exp(0.3), machine=f"mail-{n}") for n in (2, 3)]
    back = [outcome(np.exp(-0.5), machine=f"mail-{n}", here="new", there="old") for n in (4, 5)]
    told = comparison(POOLS, 0, 1, False, [*forth, *back])
    assert (told.entries, told.outcomes) == ((1, 0), pytest.approx((0.4, 0.0)))
    assert told.error == pytest.approx((0.05**2 / 2 + 0.07**2) / 4 + ALIKE**2)
    many = at(add_moves(home(), [outcome(number=n, machine=f"mail-{n}") for n in range(2, 200)], MAIL, "mail-1"))
    assert many.high / many.low > np.exp(2 * 1.9 * 2**0.5 * ALIKE)  # 198 moves: what is left is both sides' distance


def test_what_came_of_a_move_tells_most_of_the_disk_that_moved_and_less_of_the_like():
    own = at(add_moves(home(), [outcome()], MAIL, "mail-1"))
    like = at(add_moves(home(), [outcome()], MAIL, "mail-2"))
    assert 1.3 < own.ratio < 1.55
    assert own.low < 1.5 < own.high
    assert log(own.high / own.low) < log(like.high / like.low)
    assert (own.moves, own.runs, own.measured, own.strength) == (1, 0, 1.0, "moderate")


def test_one_good_move_advises_it_to_the_like_and_one_for_the_worse_does_not():
    assert is_sure(at(add_moves(home(), [outcome(2.0)], MAIL, "mail-2")), Rules())
    assert not is_sure(at(add_moves(home(), [outcome(0.6)], MAIL, "mail-2")), Rules())


def test_a_disk_that_fared_a_little_worse_is_not_sent_back_by_a_plan():
    """To and fro needs evidence both ways: at 0.97 of the speed the way back is not sure to gain."""
    back = at(add_moves(home(), [outcome(0.97)], MAIL, "mail-1"), "old", "new")
    assert not is_sure(back, Rules())


def test_only_pools_that_runs_or_moves_lead_to_are_compared():
    moved = add_moves(home(), [outcome()], MAIL)
    assert at(home()) is None
    assert at(moved, "far") is None
    further = add_moves(home(), [outcome(), outcome(number=2, here="new", there="far")], MAIL)
    assert at(further, "far").moves == 2
    measured = evidence_of_runs([(1.0, machine())], POOLS, ("new", "far"), 6)
    assert as_known(measured, "ext4").strength == "strong"
    assert as_known(add_moves(measured, [outcome()], MAIL), "ext4").strength == "moderate"


def test_a_move_under_another_load_does_not_count():
    """Half of the sum of |0.6 - 1| and |0.4 - 0| is 0.4, above 0.3."""
    mixed = {"varmail": 6.0, "webserver": 4.0}
    assert distance(mixed, MAIL.shares) == pytest.approx(0.4)
    assert distance({"varmail": 8.0, "webserver": 2.0}, MAIL.shares) == pytest.approx(0.2)
    assert add_moves(home(), [outcome(shares=mixed)], MAIL).numbers == ()
    assert add_moves(home(), [outcome(shares={"varmail": 8.0, "webserver": 2.0})], MAIL).numbers == (1,)


def test_runs_and_moves_are_one_posterior():
    """Runs say 0.2 ± 0.1 about, a move says the same: sure together where neither is alone."""
    prior = update(machine(), [Comparison((1, 0), (0.12, 0.0), 0.008)])
    ran = evidence_of_runs([(1.0, prior)], POOLS, ("old", "new"), 2)
    moves = [outcome(1.13, number=number, variance=0.001) for number in (1, 2)]
    together = at(add_moves(ran, moves, MAIL, "mail-1"))
    assert together.losing < min(at(ran).losing, at(add_moves(home(), moves, MAIL, "mail-1")).losing)
    assert (together.runs, together.moves) == (2, 2)


# What would tell

ROOMY = [Pool(name, "ext4", 1e12, site="kvm-1") for name in POOLS]


def guests(number: int, pool: str = "old", **fields) -> list[Guest]:
    return [Guest(f"mail-{n}", pool, "ext4", "kvm", {"varmail": 1.0}, 1e10 * n, **fields) for n in range(1, number + 1)]


def proposed(machines, spread: float = 0.7, why: str = NOT_KNOWN, pools=ROOMY, **fields):
    advice = {guest.name: Advice(guest.name, guest.pool, guest.pool, why) for guest in machines}
    told = {"runnable": ("varmail",), "watched": set(), "least": 0.005} | fields
    return proposals(machines, pools, advice, lambda _: home(spread), Rules(), **told)


def test_where_nothing_is_known_runs_and_a_trial_of_the_smallest_are_proposed_with_their_gain():
    runs, trial = proposed(guests(3))
    assert (runs.kind, runs.machines, runs.pools[0], runs.runs) == (RUNS, 3, "old", 9)
    assert set(runs.pools) == set(POOLS)
    assert (trial.kind, trial.machine, trial.pools[0], trial.runs) == (TRIAL, "mail-1", "old", 0)
    assert trial.copy_seconds == pytest.approx(1e10 / (100 * 2**20))
    assert runs.gain > trial.gain > 0.1


def test_the_gain_of_a_trial_is_the_expected_lead_of_the_pool_chosen_after_it():
    """Two pools N(0, 0.7²) each: of the difference, variance v = 0.98, 2 x error is not seen; E max(0, mean after) is
    sd / sqrt(2 pi), and sd² = v² / (v + 2 error). As a share: 1 - exp(-that)."""
    (trial,) = proposed(guests(1), pools=[*ROOMY[:2], Pool("far", "ext4", 0.0, site="kvm-1")], runnable=())
    spread = 2 * 0.7**2
    deviation = spread / (spread + 2 * sum(error(0.05**2, 0.0, is_itself=False))) ** 0.5
    assert trial.gain == pytest.approx(1 - np.exp(-deviation / (2 * np.pi) ** 0.5), rel=0.02)


def test_nothing_is_proposed_where_it_would_tell_nothing_or_is_under_way_or_fits_nowhere():
    assert proposed(guests(3), spread=0.001) == ()
    assert proposed(guests(3), why=PINNED) == ()
    assert proposed(guests(3, is_pinned=True)) == ()
    assert [proposal.kind for proposal in proposed(guests(3), watched={("old", "far")})] == [RUNS]
    assert [proposal.kind for proposal in proposed(guests(3), runnable=("webserver",))] == [TRIAL]
    assert proposed(guests(3), pools=[Pool(name, "ext4", 0.0, site="kvm-1") for name in POOLS]) == ()


def test_the_load_of_which_most_machines_wait_comes_first():
    others = [Guest(f"web-{n}", "old", "ext4", "kvm", {"webserver": 1.0}, 1e10) for n in range(5)]
    told = proposed([*guests(2), *others], runnable=())
    assert [(proposal.machine, proposal.machines) for proposal in told] == [("web-0", 5), ("mail-1", 2)]
