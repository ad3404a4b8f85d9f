"""Leaving one case study out, in worlds whose truth is known."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from modelling.estimation.arms import Spread
from modelling.estimation.network import Trial
from modelling.estimation.ranking import Assumptions, rank
from modelling.evidence.axes import AXES
from modelling.validation.content import Duel
from modelling.validation.leave_one_out import leave_one_out, sources
from modelling.validation.methods import METHODS, CannotPredict, Evidence, Forecast, Task
from modelling.validation.scores import score, summaries
from tests.modelling import frames
from tests.modelling.scales import BY_LOAD, variances

ASSUMED = Assumptions(Spread(0.05), tier_scale=0.1, tier_doubt=0.5, scales=BY_LOAD)
MAIL = {"xfs": 0.5, "btrfs": 0.2, "ext4": -0.4}
FILES = {"xfs": -1.5, "btrfs": -0.6, "ext4": 1.2}  # the other way round, and stronger


def evidence(arms=(), findings=()):
    """Evidence from {"varmail": rows} for arms and for findings."""
    arms, findings = dict(arms), dict(findings)
    names = sorted({*arms, *findings})
    return Evidence(
        {name: frames.arms(*arms.get(name, ())).assign(variant_id=number) for number, name in enumerate(names)},
        {name: frames.findings(*findings.get(name, ())) for name in names},
        ASSUMED.spread,
    )


def guests(study, effects, noise=None, variance=0.0001, **fields):
    """Return one arm for each guest file system, on ext4 under KVM."""
    return [
        frames.arm(
            100 * math.exp(effect + (noise[i] if noise is not None else 0.0)),
            case_study=study,
            guest_fs=name,
            variance=variance,
            **fields,
        )
        for i, (name, effect) in enumerate(effects.items())
    ]


def report(world, assumed=ASSUMED):
    return leave_one_out(world, assumed)[0]


def outcomes(validation, axis="guest-fs", workload="varmail", study=None):
    """Method to its outcomes on the tasks of an axis and a workload."""
    kept = [
        told
        for task, told in validation
        if (task.axis.name, task.workload) == (axis, workload) and study in (None, *task.case_studies)
    ]
    return {name: [told[name] for told in kept if name in told] for name in METHODS}


def summary(validation, method, axis=None):
    return next(s for s in summaries(validation) if (s.axis, s.method) == (axis, method))


TWO_WORKLOADS = evidence(
    {
        "varmail": [row for study in "abc" for row in guests(study, MAIL)],
        "fileserver": [row for study in "abc" for row in guests(study, FILES)],
    }
)


@cache
def of_two_workloads():
    """Return the report on TWO_WORKLOADS, which several tests read from several sides."""
    return report(TWO_WORKLOADS)


@pytest.mark.slow
def test_the_network_foretells_a_study_that_finds_what_others_found():
    told = outcomes(of_two_workloads())["network"]
    assert [outcome.order for outcome in told] == [("xfs", "btrfs", "ext4")] * 3
    assert [(outcome.kendall, outcome.top) for outcome in told] == [(1.0, 1.0)] * 3
    assert max(error for outcome in told for error in outcome.errors) < 0.01  # drawn a little towards no difference


@pytest.mark.slow
def test_what_is_best_for_one_workload_misleads_the_naive_about_another():
    told = outcomes(of_two_workloads())
    assert [outcome.kendall for outcome in told["mean"]] == [-1.0] * 3  # file servers weigh more
    assert all(outcome.kendall < 0 for outcome in told["ext4"])


@pytest.mark.slow
def test_better_and_worse_are_counted_over_what_both_answer():
    validation = of_two_workloads()
    # Mail: the mean is wrong, three times better. File server: both right. On fs-pair the same again.
    assert summary(validation, "network", "guest-fs").duels[1] == Duel("mean", 3, 3, 0)
    assert summary(validation, "mean", "guest-fs").duels[0] == Duel("ext4", 3, 0, 3)


@pytest.mark.slow
def test_the_component_model_adds_up_what_was_never_measured_together():
    rows = [
        frames.arm(100.0, case_study="a", guest_fs="ext4", host_fs="ext4"),
        frames.arm(150.0, case_study="a", guest_fs="xfs", host_fs="ext4"),
        frames.arm(100.0, case_study="b", guest_fs="ext4", host_fs="ext4"),
        frames.arm(80.0, case_study="b", guest_fs="ext4", host_fs="xfs"),
        frames.arm(100.0, case_study="c", guest_fs="ext4", host_fs="ext4"),
        frames.arm(120.0, case_study="c", guest_fs="xfs", host_fs="xfs"),
    ]
    told = outcomes(report(evidence({"varmail": rows})), axis="fs-pair", study="c")
    assert told["components"][0].order == ("xfs-on-xfs", "ext4-on-ext4")
    assert told["components"][0].errors == pytest.approx([0.0], abs=1e-9)  # 1.5 x 0.8 = 1.2
    assert told["network"][0].reason


@pytest.mark.slow
def test_components_that_always_come_together_are_not_told_apart():
    rows = [
        frames.arm(value, case_study=study, hypervisor=hypervisor, host_fs=host, guest_fs="ext4")
        for study in "ab"
        for hypervisor, host, value in (("kvm", "ext4", 100.0), ("esxi", "vmfs", 80.0))
    ]
    rows += [
        frames.arm(value, case_study="c", hypervisor=hypervisor, host_fs="ext4")
        for hypervisor, value in (("kvm", 100.0), ("esxi", 90.0))
    ]
    told = outcomes(report(evidence({"varmail": rows})), axis="hypervisor")["components"]
    # a and b foretell each other's sum of both; what ESXi does on ext4 is c's alone.
    assert [bool(outcome.reason) for outcome in told] == [False, False, True]


@pytest.mark.slow
def test_a_study_that_nobody_overlaps_cannot_be_predicted():
    rows = [*guests("a", MAIL), *guests("b", MAIL)]
    rows += [
        frames.arm(value, case_study="lonely", hypervisor=hypervisor, guest_fs="ntfs", host_fs="ntfs")
        for hypervisor, value in (("xen", 10.0), ("hyper-v", 20.0))
    ]
    told = outcomes(report(evidence({"varmail": rows})), axis="hypervisor", study="lonely")
    assert all(outcome.reason and outcome.kendall is None for name in told for outcome in told[name])
    assert [len(told[name]) for name in ("network", "components", "mean")] == [1, 1, 1]
    assert told["ext4"] == []  # no question for it


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2, 3))])
def test_intervals_cover_what_they_promise(seed):
    random = np.random.default_rng(seed)
    between, within = 0.2, 0.05
    rows = [
        row
        for number in range(40)
        for row in guests(
            f"study-{number:02}",
            MAIL,
            noise=random.normal(0, math.hypot(between / math.sqrt(2), within), size=3),
            variance=within**2,
        )
    ]
    # Of the variance of a ratio, each of its two choices brings half.
    differ = replace(BY_LOAD, variances=variances(shared=0.01, load=1e3, own_guest_fs=between**2 / 2))
    told = summary(report(evidence({"varmail": rows}), replace(ASSUMED, scales=differ)), "network", "guest-fs")
    assert told.pairs == 120
    assert 0.88 <= told.covered / told.pairs <= 1.0
    assert told.ratio_error == pytest.approx(math.exp(0.67 * math.hypot(between, within * math.sqrt(2))), rel=0.06)


def test_case_studies_that_share_a_list_are_left_out_together():
    lists = [
        frames.finding(name, "ext4", tier, case_studies=("a", "b"))
        for name, tier in (("xfs", "best"), ("ext4", "worst"))
    ]
    world = evidence({"varmail": guests("c", MAIL)}, {"varmail": lists})
    assert sources(world) == [("a", "b"), ("c",)]
    validation = report(world)
    assert outcomes(validation, study="a")["network"][0].order == ("xfs", "ext4")  # c's numbers foretell the list
    assert outcomes(validation, study="c")["network"][0].order == ("xfs", "ext4")  # the list foretells two of c's three
    assert outcomes(validation, study="c")["network"][0].errors == ()


@pytest.mark.nightly
def test_of_very_many_case_studies_some_are_left_out():
    rows = [row for number in range(150) for row in guests(f"study-{number:03}", {"xfs": 0.1, "ext4": 0.0})]
    _, left_out, case_studies = leave_one_out(evidence({"varmail": rows}), ASSUMED)
    assert (len(left_out), len(case_studies)) == (75, 150)


# Scores by hand


def task(truth, trial=None):
    return Task(("s",), AXES["guest-fs"], "varmail", "kvm", truth, trial)


def test_a_tie_at_the_top_hits_in_part():
    outcome = score(task({"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0}), Forecast({"a": 1.0, "b": 1.0, "c": 0.0}))
    assert outcome.top == 0.5
    assert outcome.by_chance == pytest.approx(1 / 3)
    # tau-b: 2 pairs agree, none disagrees, one is tied: 2 / sqrt(3 * 2).
    assert outcome.kendall == pytest.approx(2 / math.sqrt(6))
    assert outcome.order == ("a", "b", "c")


def test_a_ratio_is_held_against_the_measured_one_and_its_error():
    trial = Trial.from_arms("s", ("a", "b"), np.array([0.3, 0.0]), np.array([0.01, 0.01]))
    told = {"a": 1.0, "b": 0.0}
    near = score(task({"a": 0.3, "b": 0.0}, trial), Forecast(told, {("a", "b"): (0.6, 0.01)}))
    far = score(task({"a": 0.3, "b": 0.0}, trial), Forecast(told, {("b", "a"): (-0.7, 0.01)}))
    # Half an interval is 1.96 sqrt(0.01 + 0.02) = 0.339.
    assert (near.errors, near.inside) == (pytest.approx((0.3,)), (True,))
    assert (far.errors, far.inside) == (pytest.approx((0.4,)), (False,))


@pytest.mark.parametrize(
    ("truth", "told", "why"),
    [
        ({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, "no entry above"),
        ({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 0.0}, "one tier"),
    ],
)
def test_what_has_no_order_cannot_be_scored(truth, told, why):
    with pytest.raises(CannotPredict, match=why):
        score(task(truth), Forecast(told))


@pytest.mark.slow
@pytest.mark.parametrize("with_list", [False, True])
def test_the_network_foretells_what_the_ranking_of_the_others_would_say(with_list):
    noise = np.random.default_rng(7).normal(0, 0.2, size=(4, 3))
    rows = {study: guests(study, MAIL, noise=noise[i]) for i, study in enumerate("abcd")}
    lists = [frames.finding("ext4", "ext4", "best"), frames.finding("xfs", "ext4", "worst")] if with_list else []
    told = outcomes(
        report(evidence({"varmail": [row for own in rows.values() for row in own]}, {"varmail": lists})), study="d"
    )["network"][0]
    others = frames.arms(*rows["a"], *rows["b"], *rows["c"])
    where = {"workload": "varmail", "load": "synchronous"}
    (part,) = rank(others, frames.findings(*lists), AXES["guest-fs"], ASSUMED, where=where).parts
    assert told.order == tuple(entry.key for entry in part.entries)
    log_ratios = {entry.key: math.log(entry.ratio) for entry in part.entries}
    truth = dict(zip(MAIL, np.array(list(MAIL.values())) + noise[3], strict=True))
    pairs = [("btrfs", "ext4"), ("btrfs", "xfs"), ("ext4", "xfs")]
    assert told.errors == pytest.approx([abs(log_ratios[a] - log_ratios[b] - truth[a] + truth[b]) for a, b in pairs])
