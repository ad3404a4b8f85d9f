"""Arms, snapshots, and what a publication does to them."""

import json
import math
from dataclasses import asdict

import pytest
from django.utils.timezone import now

from experiments.case_studies import lifecycle, retraction
from experiments.models import KnowledgeRevision
from kdb.jobs import jobs
from kdb.models import Job
from modelling.answer_pages.overview import overview
from modelling.answer_store import snapshots
from modelling.answer_store.selectors import answer_in, current_snapshot, snapshot_or_none, snapshots_or_none
from modelling.answers import knowledge
from modelling.evidence import dataframes, summaries
from modelling.evidence.question import Question
from modelling.models import RENEWED_WITHIN, Arm, RankingSnapshot
from tests.factories import (
    make_case_study,
    make_configuration,
    make_derived_value,
    make_finding,
    make_measurement,
    make_publication,
    publish,
)

pytestmark = pytest.mark.django_db
MAIL = Question(axis="fs-pair", workload="varmail")


def published_pair(workload="varmail", hypervisor="kvm", values=(100.0, 200.0), **fields):
    """Return a published case study that compares ext4-on-ext4 with xfs-on-ext4."""
    case_study = make_case_study(**fields)
    for guest_fs, value in zip(("ext4", "xfs"), values, strict=True):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload=workload, hypervisor=hypervisor)
    publish(case_study)
    return case_study


def published_natively():
    """Publish a case study that compares ext4 with xfs without a hypervisor."""
    case_study = make_case_study()
    for host_fs, value in (("ext4", 100.0), ("xfs", 200.0)):
        make_measurement(value, configuration=make_configuration(case_study, hypervisor=None, host_fs=host_fs))
    publish(case_study)


def order(question: Question) -> list[str]:
    return [entry["key"] for entry in current_snapshot(question).result["entries"]]


# Arms


def test_repetitions_become_one_arm_with_their_geometric_mean_and_spread():
    case_study = make_case_study()
    for repetition, value in enumerate((100.0, 110.0, 121.0), start=1):
        make_measurement(value, case_study=case_study, repetition=repetition)
    summaries.rebuild_arms([case_study.pk])
    arm = Arm.objects.get()
    # ln 100, ln 110, ln 121 are ln 1.1 apart: mean ln 110, sample variance (ln 1.1)^2, of the mean a third.
    assert arm.mean_log == pytest.approx(math.log(110))
    assert arm.variance == pytest.approx(math.log(1.1) ** 2 / 3)
    assert (arm.measurements, arm.runs) == (3, 3)


def test_a_published_mean_keeps_its_printed_deviation():
    measurement = make_measurement(100.0, repetitions=4, standard_deviation=8.0)
    summaries.rebuild_arms([measurement.configuration.case_study_id])
    assert Arm.objects.get().variance == pytest.approx(0.08**2 / 4)


def test_a_published_mean_without_deviation_has_no_variance_of_its_own():
    measurement = make_measurement(100.0, repetitions=4)
    summaries.rebuild_arms([measurement.configuration.case_study_id])
    arm = Arm.objects.get()
    assert (arm.variance, arm.runs) == (None, 4)


def test_equal_runs_have_a_spread_of_zero_that_answers_pool_with_the_others():
    case_study = make_case_study()
    for repetition in (1, 2):
        make_measurement(100.0, case_study=case_study, repetition=repetition)
    summaries.rebuild_arms([case_study.pk])
    arm = Arm.objects.get()
    assert (arm.variance, arm.runs) == (0.0, 2)


def test_a_derived_value_carries_the_variance_of_its_interval():
    value = make_derived_value(100.0, low=90.0, high=110.0)
    summaries.rebuild_arms([value.configuration.case_study_id])
    arm = Arm.objects.get()
    assert arm.variance == pytest.approx((math.log(110 / 90) / (2 * 1.959964)) ** 2)
    assert arm.origin == Arm.Origin.DERIVED


def test_steps_on_the_way_to_a_derived_value_are_no_evidence():
    value = make_derived_value(is_evidence=False)
    assert summaries.rebuild_arms([value.configuration.case_study_id]) == 0


def test_rebuilding_arms_twice_gives_the_same_arms():
    measurement = make_measurement()
    for _ in range(2):
        summaries.rebuild_arms([measurement.configuration.case_study_id])
    assert Arm.objects.count() == 1


# Snapshots


def test_an_answer_is_computed_once_and_then_read(django_assert_num_queries):
    published_pair()
    first = current_snapshot(MAIL)
    with django_assert_num_queries(1):
        again = current_snapshot(MAIL)
    assert again.digest == first.digest


def test_drafts_do_not_count():
    case_study = make_case_study()
    for guest_fs in ("ext4", "xfs"):
        make_measurement(case_study=case_study, guest_fs=guest_fs)
    summaries.rebuild_arms([case_study.pk])
    assert order(MAIL) == []


def test_a_publication_supersedes_the_answers_it_can_change_and_no_others():
    published_pair()
    published_pair(hypervisor="xen")
    published_pair(workload="webserver")
    published_natively()
    questions = {
        "touched": MAIL,
        "other workload": Question("fs-pair", "webserver"),
        "other hypervisor": Question("fs-pair", "varmail", hypervisor="xen"),
        "native": Question("host-fs", "varmail", hypervisor="native"),
    }
    for question in questions.values():
        current_snapshot(question)
    assert RankingSnapshot.objects.count() == 4
    published_natively()
    superseded = set(RankingSnapshot.objects.filter(superseded_by=5).values_list("question", flat=True))
    assert superseded == {questions["native"].key}
    published_pair(values=(300.0, 100.0))
    superseded = set(RankingSnapshot.objects.filter(superseded_by=6).values_list("question", flat=True))
    assert superseded == {question.key for name, question in questions.items() if name != "native"}


def test_evidence_of_another_workload_renews_an_answer_that_counts_it():
    for values in ((100.0, 130.0), (100.0, 120.0), (100.0, 140.0)):
        published_pair(values=values)
    before = current_snapshot(MAIL)
    for _ in range(3):
        published_pair(workload="webserver", values=(3000.0, 100.0))
    snapshots.answer_waiting_questions(lambda done, total: None)
    after = current_snapshot(MAIL)
    assert after.revision == 6
    assert after.result["entries"] != before.result["entries"]
    assert after.result == snapshots.compute_current(MAIL).result


def test_evidence_of_another_workload_that_compares_nothing_of_it_leaves_an_answer_standing():
    published_pair()
    current_snapshot(MAIL)
    case_study = make_case_study()
    for cache_mode, value in (("none", 100.0), ("directsync", 30.0)):
        configuration = make_configuration(case_study, cache_mode=cache_mode)
        make_measurement(value, configuration=configuration, workload="webserver")
    publish(case_study)
    assert current_snapshot(MAIL).superseded_by is None
    assert current_snapshot(MAIL).result["entries"] == snapshots.compute_current(MAIL).result["entries"]


def rest(question: Question) -> None:
    """Let nobody have asked for the answer lately."""
    RankingSnapshot.objects.filter(question=question.key).update(asked_at=now() - RENEWED_WITHIN)


def test_an_answer_that_nobody_asked_for_lately_is_given_again_when_somebody_asks():
    published_pair()
    current_snapshot(MAIL)
    rest(MAIL)
    published_pair(workload="webserver")
    assert snapshots.renewal_state()["waiting"] == 0
    assert RankingSnapshot.objects.get().superseded_by == 2
    asked = current_snapshot(MAIL)
    assert (asked.revision, asked.superseded_by) == (2, None)
    assert RankingSnapshot.objects.filter(question=MAIL.key).count() == 2


def test_evidence_that_compares_its_entries_renews_an_answer_that_nobody_asked_for_lately():
    published_pair()
    current_snapshot(MAIL)
    rest(MAIL)
    published_pair(values=(900.0, 100.0))
    assert snapshots.renewal_state()["waiting"] == 1
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert RankingSnapshot.objects.filter(question=MAIL.key, superseded_by=None).get().revision == 2


def test_what_the_first_page_shows_is_renewed_when_somebody_looks_at_it():
    published_pair()
    current_snapshot(MAIL)
    rest(MAIL)
    published_pair(workload="webserver")
    assert snapshots.renewal_state()["waiting"] == 0
    overview()
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert RankingSnapshot.objects.filter(question=MAIL.key, superseded_by=None).get().revision == 2


def test_runs_of_containers_bear_on_what_is_said_of_hypervisors_under_any_workload():
    published_pair()
    question = Question("hypervisor", "fileserver")
    case_study = make_case_study()
    for virtualisation, value in (("full", 100.0), ("container", 200.0)):
        configuration = make_configuration(case_study, virtualisation=virtualisation)
        make_measurement(value, configuration=configuration, workload="webserver")
    publish(case_study)
    assert question in knowledge.questions_affected([question], [case_study.pk])


def test_a_resting_answer_that_nobody_can_wait_for_is_shown_while_a_worker_gives_it_again(settings):
    published_pair()
    current_snapshot(MAIL)
    rest(MAIL)
    published_pair(workload="webserver")
    settings.KDB_MOST_ARMS_AT_ONCE = 0
    shown = snapshot_or_none(MAIL)
    assert (shown.revision, shown.superseded_by) == (1, 2)
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert snapshot_or_none(MAIL).revision == 2


def test_a_finding_supersedes_answers_too():
    case_study = make_case_study()
    published_pair()
    current_snapshot(MAIL)
    make_finding(case_studies=[case_study])
    publish(case_study)
    assert RankingSnapshot.objects.get().superseded_by == 2


def test_the_previous_answer_is_served_until_the_job_has_the_new_one():
    published_pair(values=(100.0, 200.0))
    assert order(MAIL) == ["xfs-on-ext4", "ext4-on-ext4"]
    published_pair(values=(900.0, 100.0))
    before = current_snapshot(MAIL)
    assert (before.revision, before.superseded_by) == (1, 2)
    job = Job.objects.get(kind="recompute_rankings")
    assert jobs.run(job.pk)
    after = current_snapshot(MAIL)
    assert (after.revision, after.superseded_by) == (2, None)
    assert order(MAIL) == ["ext4-on-ext4", "xfs-on-ext4"]


def test_a_retracted_case_study_leaves_the_answer():
    case_study = published_pair()
    assert order(MAIL)
    retraction.retract(case_study, reason="wrong disk")
    assert RankingSnapshot.objects.get().superseded_by == 2
    snapshots.compute_and_store(MAIL)
    assert order(MAIL) == []


def test_an_answer_is_not_kept_where_a_publication_came_between(monkeypatch):
    published_pair()
    real = dataframes.Evidence.findings

    def slow(evidence, metric):  # a publication is committed while the evidence is being read
        published_pair()
        return real(evidence, metric)

    monkeypatch.setattr(dataframes.Evidence, "findings", slow)
    snapshots.compute_and_store(MAIL)
    assert not RankingSnapshot.objects.exists()


# Publication


def test_what_is_published_cannot_be_published_again():
    case_study = published_pair()
    with pytest.raises(lifecycle.CaseStudyError):
        publish(case_study)
    assert KnowledgeRevision.objects.count() == 1


def test_a_retraction_needs_a_reason_and_a_published_case_study():
    with pytest.raises(lifecycle.CaseStudyError, match="reason"):
        retraction.retract(published_pair(), reason=" ")
    with pytest.raises(lifecycle.CaseStudyError, match="published"):
        retraction.retract(make_case_study(), reason="never was")


# The published evidence


def numbers(question: Question) -> dict[str, float]:
    return {entry["key"]: entry["ratio"] for entry in current_snapshot(question).result["entries"]}


def test_a_ratio_of_the_published_evidence_can_be_worked_by_hand(published_evidence):
    # P1, Table III, Proxmox at one machine: btrfs 3.9, xfs 3.5, ext4 3.0 MiB/s. 3.9 is 1.1 times 3.5: the
    # sentence tells what was measured, and ratios for other machines are drawn towards one.
    question = Question("guest-fs", "varmail", hypervisor="proxmox", vm_count=1)
    assert "measured Btrfs 1.1 times as fast as XFS" in current_snapshot(question).result["verdict"]["measured"]
    ratio = numbers(question)
    assert 3.5 / 3.9 < ratio["xfs"] / ratio["btrfs"] < 3.9 / 3.5
    assert 3.0 / 3.9 < ratio["ext4"] / ratio["btrfs"] < 3.9 / 3.0


@pytest.mark.sqlite
def test_every_answer_of_the_published_evidence_has_notes_evidence_and_no_made_up_number(published_evidence):
    for axis in ("fs-pair", "guest-fs", "host-fs", "hypervisor", "configuration"):
        for workload in ("varmail", "fileserver", "webserver", "randomfileaccess", "atto"):
            result = current_snapshot(Question(axis, workload)).result
            assert bool(result["entries"]) != bool(result["missing"])
            for entry in result["entries"]:
                values = (entry["ratio"], entry["low"], entry["high"])
                assert values == (None, None, None) or all(math.isfinite(v) and v > 0 for v in values)
                assert (entry["grade"] == "D") == (values == (None, None, None))
                assert 0 <= entry["p_score"] <= 1


def test_questions_that_nothing_answers_leave_nothing_behind(published_evidence):
    for vm_count in (101, 102, 103):
        assert current_snapshot(Question("fs-pair", "varmail", vm_count=vm_count)).result["missing"]
    assert not RankingSnapshot.objects.exists()
    current_snapshot(Question("fs-pair", "varmail", hypervisor="kvm"))
    assert RankingSnapshot.objects.count() == 1


def test_the_laboratory_is_what_the_case_study_states_or_its_publication_or_itself():
    paper = make_publication("p3")
    for slug, fields in (
        ("stated", {"laboratory": "belgrade", "publication": paper}),
        ("printed", {"publication": paper}),
        ("alone", {}),
    ):
        case_study = make_case_study(slug, **fields)
        make_measurement(100.0, case_study=case_study)
        summaries.rebuild_arms([case_study.pk])
        (row,) = dataframes.arms_of(case_study).itertuples()
        assert row.laboratory == {"stated": "belgrade", "printed": "p3", "alone": "alone"}[slug]


def test_a_kept_answer_comes_back_with_its_types(published_evidence):
    """With numbers and with lists alone, with curves and without an answer: what is kept and nothing else."""
    for axis, workload in (("hypervisor", "fileserver"), ("fs-pair", "varmail"), ("guest-fs", "atto")):
        kept = current_snapshot(Question(axis, workload))
        answer = answer_in(kept)
        assert json.loads(json.dumps(asdict(answer))) == kept.result
        assert answer.question == Question(axis, workload)
        best = [entry.key for entry in answer.entries if entry.is_best]
        assert best == kept.result["best"] or not answer.entries  # then it is made of what was compared elsewhere


def test_whoever_published_lists_beside_the_numbers_of_another_laboratory_is_counted(published_evidence):
    """P1 measured on hard disks; the lists of P3 come from another laboratory."""
    answer = answer_in(current_snapshot(Question("guest-fs", "fileserver")))
    assert {row.case_study.split("-")[0] for row in answer.evidence} == {"p1", "p3"}
    assert answer.grounds.laboratories == 2


def test_of_several_questions_each_has_its_newest_answer():
    published_pair()
    current_snapshot(MAIL)
    published_pair()
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert RankingSnapshot.objects.filter(question=MAIL.key).count() == 2
    assert snapshots_or_none([MAIL])[MAIL].revision == 2
