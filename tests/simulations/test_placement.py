"""Small versions of python -m tests.simulations simulate_placement; docs/placement.md has the large ones."""

import io
import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from kdb.pairs import pair_key
from modelling.estimation.bayes import posterior
from modelling.estimation.network import Trial
from modelling.fleet.placement.content import Rules
from modelling.fleet.placement.expected_gain import Known
from tests.modelling.fleet.placement.beliefs import known
from tests.simulations.commands import simulate_placement
from tests.simulations.placement import HYPERVISOR, POLICIES, in_common, measured, simulate
from tests.simulations.pools import measured_on_pools, pool_name

PAIRS = [f"{guest}-on-{host}" for guest in ("ext4", "xfs") for host in ("ext4", "xfs")]


def beliefs(spread: float) -> dict[str, Known]:
    """Return beliefs on two workloads, by lists alone: every effect about zero, give or take the spread, tau 0.2."""
    by_workload = {}
    for workload in ("varmail", "webserver"):
        one = known(dict.fromkeys(PAIRS, 0.0), tau=0.2, numbers=False)
        one.posterior.covariances[:] = spread**2 * (np.eye(4) - 0.25)
        by_workload[workload] = one
    return by_workload


def simulated(laboratories: int, machines: int = 60, seed: int = 1, spread: float = 0.4, **pools: float):
    return simulate(beliefs(spread), machines, 3, laboratories, 1e-3, Rules(), seed, **pools)


@pytest.fixture(scope="module")
def informed():
    return simulated(laboratories=3)


def test_what_lists_alone_say_moves_no_machine(informed):
    by_lists = simulated(laboratories=0)
    assert by_lists["kdb"].moves == by_lists["never"].moves == 0
    assert by_lists["kdb"].gains == by_lists["never"].gains == [0.0] * 3
    assert by_lists["point"].bytes_copied == by_lists["list"].gains[0] * 0  # no effect is ahead of another
    assert informed["kdb"].moves > 0


def test_no_policy_gains_more_than_the_oracle_in_any_world(informed):
    assert tuple(informed) == POLICIES
    for outcome in informed.values():
        assert all(ours <= best + 1e-12 for ours, best in zip(outcome.gains, informed["oracle"].gains, strict=True))
    assert informed["oracle"].harmed < informed["kdb"].harmed + informed["list"].harmed
    assert informed["random"].harmed > 0
    assert informed["never"].harmed == informed["never"].bytes_copied == 0


@pytest.mark.slow
def test_doubt_taken_into_account_harms_fewer_of_those_it_moves():
    """Over eight draws of three worlds: in a single one a rounding of the machine's can decide over one machine."""
    drawn = [simulated(laboratories=3, seed=seed) for seed in range(1, 9)]
    harmed = {
        policy: sum(draw[policy].harmed for draw in drawn) / sum(draw[policy].moves for draw in drawn)
        for policy in ("kdb", "point")
    }
    assert harmed["kdb"] < 0.75 * harmed["point"]
    assert np.mean([draw["kdb"].gains for draw in drawn]) > 0


@pytest.fixture(scope="module")
def on_disks():
    """Four pools of two host file systems a fleet, on disks that differ by 0.7."""
    return simulated(laboratories=3, machines=200, disks=0.7)


@pytest.mark.nightly
@pytest.mark.slow
def test_runs_on_each_pool_recover_what_pools_gain_and_harm_next_to_nobody(on_disks):
    measured, oracle = on_disks["measured"], on_disks["oracle"]
    assert np.mean(measured.gains) >= 0.7 * np.mean(oracle.gains) > 0.1
    assert measured.harmed <= 0.01 * measured.lives
    assert np.mean(measured.harms) == pytest.approx(measured.harmed / measured.lives, abs=0.002)
    assert on_disks["kdb"].runs == 0 < measured.runs <= 3 * 3 * 2 * 4  # fleets, runs, workloads, pools


@pytest.mark.nightly
@pytest.mark.slow
def test_one_run_a_pool_and_workload_tells_less_than_three(on_disks):
    fewer = simulated(laboratories=3, machines=200, disks=0.7, runs=1)["measured"]
    assert fewer.runs <= 3 * 2 * 4 < on_disks["measured"].runs
    assert np.mean(fewer.gains) < np.mean(on_disks["measured"].gains)


@pytest.mark.nightly
@pytest.mark.slow
def test_who_knows_file_systems_alone_harms_machines_where_disks_differ(on_disks):
    kdb, measured = on_disks["kdb"], on_disks["measured"]
    assert kdb.harmed > 0.05 * kdb.lives > 5 * measured.harmed
    assert np.mean(measured.gains) > np.mean(kdb.gains)


def test_runs_tell_pools_of_one_file_system_apart():
    """Three pools on XFS and one on ext4, for two guests of one workload: 12 runs at most, of which some are off."""
    truth = np.array([0.0, 0.8, -0.8, 0.1]) + np.zeros((1, 2, 1))
    published = {"varmail": beliefs(0.4)["varmail"]}
    on, rng = ["xfs", "xfs", "xfs", "ext4"], np.random.default_rng(1)
    told, made = measured_on_pools(published, ["ext4", "xfs"], on, truth, 3, 0.1, rng)
    known_there = told["varmail"]
    names = known_there.posterior.treatments
    fastest, slowest = (np.array([names.index(pair_key("ext4", pool_name(pool)))]) for pool in (1, 2))
    low, high = known_there.posterior.predictive_quantiles(fastest, slowest, (0.025, 0.975))[0]
    assert 0.6 < low < 1.6 < high < 2.4
    assert known_there.joins(names[0], names[-1])
    assert 0 < made <= 12


@pytest.mark.nightly
@pytest.mark.slow
def test_the_same_seed_gives_the_same_and_every_policy_sees_the_same_machines():
    first, again, other = (simulated(2, machines=20, seed=seed) for seed in (1, 1, 2))
    told = [
        {policy: (outcome.gains, outcome.moves, outcome.harmed) for policy, outcome in outcomes.items()}
        for outcomes in (first, again, other)
    ]
    assert told[0] == told[1] != told[2]
    assert len({outcome.lives for outcome in first.values()}) == 1


def test_learning_from_laboratories_is_the_posterior_of_their_trials():
    """From a first laboratory's posterior, a second one's numbers: each component is updated exactly."""
    rng = np.random.default_rng(4)
    pairs, noise = PAIRS[:3], 0.01
    one = Trial.from_arms("one", pairs, np.array([0.0, 0.3, -0.1]), np.full(3, noise))
    before = Known(posterior(pairs, [one], 0.3), (frozenset(pairs),), "weak", 1)
    effects, extra = np.array([0.1, 0.2, 0.3]), 0.25**2 / 2 * np.eye(3)
    seen = np.random.default_rng(4).multivariate_normal(effects, extra + noise * np.eye(3), method="eigh")
    ours = measured(before, pairs, effects, extra, 1, noise, rng).posterior
    exact = posterior(pairs, [one, Trial.from_arms("two", pairs, seen, np.full(3, noise))], 0.3)
    assert ours.fit().effects == pytest.approx(exact.fit().effects, abs=1e-4)
    assert ours.predictive_errors() == pytest.approx(exact.predictive_errors(), abs=1e-3)


def test_the_pairs_simulated_are_those_that_most_workloads_know():
    grid = {"ext4-on-ext4": 0.0, "ext4-on-xfs": 0.1, "xfs-on-ext4": 0.2, "xfs-on-xfs": 0.3}
    answered = {
        ("varmail", HYPERVISOR): [known({"jfs-on-ext4": 0.9, **grid})],
        ("webserver", HYPERVISOR): [known({"ntfs-on-ext4": 0.0, "ntfs-on-xfs": 0.5}), known(grid)],
        ("random-read", HYPERVISOR): [known({"ntfs-on-ext4": 0.0, "ntfs-on-xfs": 0.5})],
        ("database", HYPERVISOR): [],
    }

    common = in_common(answered)

    assert {workload: belief.posterior.treatments for workload, belief in common.items()} == {
        "varmail": tuple(sorted(grid)),
        "webserver": tuple(sorted(grid)),
    }
    assert common["varmail"].posterior.means.tolist() == [[0.0, 0.1, 0.2, 0.3]]
    assert common["varmail"].numbers == (frozenset(grid),)
    assert simulate(common, 20, 1, 1, 1e-3, Rules(), 1)["oracle"].lives >= 20


@pytest.mark.sqlite
@pytest.mark.slow
def test_the_command_prints_the_same_figures_as_a_table_and_as_json(published_evidence):
    outputs = []
    for form in ([], ["--json"]):
        out = io.StringIO()
        call_command(
            simulate_placement.Command(), "--machines", "20", "--worlds", "1", *form, stdout=out, stderr=io.StringIO()
        )
        outputs.append(out.getvalue())
    report = json.loads(outputs[1])
    assert [row["policy"] for row in report["policies"]] == list(POLICIES)
    assert report["workloads"] == ["fileserver", "randomfileaccess", "varmail", "webserver"]
    assert len(report["pairs"]) == 9
    for row in report["policies"]:
        line = next(line for line in outputs[0].splitlines() if line.startswith(row["policy"]))
        assert line.split()[1] == f"{row['gain_percent']:.1f}"
        assert f" {row['harmed_percent']:.2f}" in line
    by_policy = {row["policy"]: row for row in report["policies"]}
    assert by_policy["never"] == by_policy["kdb"] | {"policy": "never"}  # lists alone, today
    assert by_policy["oracle"]["gain_percent"] > 0


@pytest.mark.sqlite
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--machines", "9"], "--machines 9: between 10 and 10000"),
        (["--worlds", "0"], "--worlds 0: between 1 and 1000"),
        (["--laboratories", "-1"], "--laboratories -1: between 0 and 100"),
        (["--disks", "-0.1"], "--disks -0.1: between 0 and 3"),
        (["--runs", "0"], "--runs 0: between 1 and 100"),
        (["--seed", "-1"], "--seed -1: between 0 and"),
        ([], "load_evidence"),
    ],
)
def test_what_cannot_be_simulated_is_said(given, said):
    with pytest.raises(CommandError, match=said):
        call_command(simulate_placement.Command(), *given, stdout=io.StringIO())
