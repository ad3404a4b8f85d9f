"""Each check of a soak finds the fault that it is there for."""

import pytest

from experiments.case_studies import lifecycle
from experiments.models import CaseStudy, KnowledgeRevision, Measurement, RawChunk
from kdb.models import Job
from modelling.answer_store.selectors import current_snapshot
from modelling.evidence.question import Question
from modelling.models import Arm, RankingSnapshot
from tests.factories import make_campaign, make_case_study, make_import, make_job, make_measurement, make_raw_file

from . import invariants
from .people import Ledger
from .place import complaints_in

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture
def ledger() -> Ledger:
    """Return the ledger of one published case study, whose answer somebody asked."""
    study = make_case_study("soak-1", title="Soak soak-1")
    for value, host_fs in ((100.0, "ext4"), (120.0, "xfs")):
        make_measurement(value, case_study=study, host_fs=host_fs)
    make_raw_file(study)
    lifecycle.publish([study], reason="looked at")
    assert current_snapshot(Question("host-fs", "varmail"))
    Job.objects.all().delete()
    return Ledger(studies={"soak-1": [100.0, 120.0]}, statuses={"soak-1": "published"})


def complaints(ledger: Ledger) -> list[str]:
    return [complaint for _, of_check in invariants.in_database(ledger, revisions_before=0) for complaint in of_check]


def test_what_is_right_gets_no_complaint(ledger):
    assert complaints(ledger) == []


def lose_a_value(ledger):
    Measurement.objects.filter(value=100.0).delete()


def double_a_value(ledger):
    row = Measurement.objects.get(value=100.0)
    row.pk = None
    row.repetition = 2
    row.save()


def leave_a_gap(ledger):
    KnowledgeRevision.objects.create(number=3, action="published")


def publish_once_more(ledger):
    KnowledgeRevision.objects.create(number=2, action="published")


def forget_the_publication(ledger):
    ledger.statuses["soak-1"] = "retracted"


def leave_a_draft(ledger):
    make_case_study("soak-2", title="Soak soak-2")


def leave_a_job(ledger):
    make_job()


def fail_a_job(ledger):
    make_job(state="failed", error="division by zero", finished_at="2026-11-22T12:00Z")


def leave_an_import(ledger):
    make_import(CaseStudy.objects.get(), state="ready")


def change_bytes(ledger):
    RawChunk.objects.update(data=b"other")


def change_an_arm(ledger):
    Arm.objects.filter(pk=Arm.objects.first().pk).update(mean_log=1.0)


def change_an_answer(ledger):
    snapshot = RankingSnapshot.objects.get()
    snapshot.result["entries"] = []
    RankingSnapshot.objects.filter(pk=snapshot.pk).update(result=snapshot.result)


def leave_a_campaign(ledger):
    campaign = make_campaign(slug="nobody-knows")
    campaign.save()


@pytest.mark.parametrize(
    "spoil",
    [
        *(lose_a_value, double_a_value, leave_a_gap, publish_once_more, forget_the_publication, leave_a_draft),
        *(leave_a_job, fail_a_job, leave_an_import, change_bytes, change_an_arm, change_an_answer, leave_a_campaign),
    ],
)
def test_what_is_wrong_gets_one(ledger, spoil):
    spoil(ledger)
    assert complaints(ledger)


def test_a_job_whose_workers_were_all_killed_is_no_fault(ledger):
    error = "Given up after 5 attempts: each time the worker stopped answering"
    make_job(state="failed", error=error, finished_at="2026-11-22T12:00Z")
    assert complaints(ledger) == []


def test_mistakes_are_found_in_the_log():
    assert complaints_in("x\n12:00 ERROR django.request Internal Server Error: /\ny") == [
        "12:00 ERROR django.request Internal Server Error: /"
    ]
