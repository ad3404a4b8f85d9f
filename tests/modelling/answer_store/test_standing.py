"""The standing answers that a release ships: a new instance has them before anybody asks, and only what is true."""

import gzip
import json
import time

import pytest
from django.conf import settings as deployment
from django.core.management import call_command

from experiments.case_studies import lifecycle
from experiments.models import CaseStudy, KnowledgeRevision
from kdb.cost import budget
from kdb.jobs import jobs
from kdb.models import Job, LeftRequest
from modelling.answer_pages.content import WAITING
from modelling.answer_pages.overview import overview
from modelling.answer_store import snapshots, standing
from modelling.evidence import choices, names
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from tests.factories import make_case_study, make_measurement

pytestmark = pytest.mark.django_db
OUTSIDE = deployment.BASE_DIR / "fixtures" / "outside"
# Addresses of the first page and the README.
NAMED = (
    "/known/varmail/?hypervisor=kvm",
    "/?axis=fs-pair&workload=varmail&hypervisor=kvm",
    "/?axis=hypervisor&workload=webserver&vm_count=1",
    "/api/v1/rankings/hypervisor/?workload=fileserver",
)


@pytest.fixture
def new_instance(settings):
    """Prepare a database as script/server does at its first start."""
    settings.KDB_OUTSIDE = OUTSIDE
    call_command("prepare", verbosity=0)
    choices.clear_cache()
    names.clear_cache()


@pytest.fixture
def published():
    """One case study that compares two guest file systems, published."""
    study = make_case_study("mine")
    for guest_fs, value in (("ext4", 100.0), ("xfs", 400.0)):
        make_measurement(value, case_study=study, guest_fs=guest_fs, workload="varmail")
    lifecycle.publish([study], reason="the first")
    choices.clear_cache()
    names.clear_cache()
    return study


@pytest.fixture
def file(published, tmp_path, monkeypatch):
    """The file made from `published`, in the place of the release's."""
    monkeypatch.setattr(standing, "FILE", tmp_path / "standing.json.gz")
    standing.FILE.write_bytes(standing.build_file())
    return standing.FILE


@pytest.mark.slow
@pytest.mark.sqlite
def test_a_new_instance_leaves_nothing_that_it_names_to_a_worker_and_says_what_is_true(
    new_instance, client, monkeypatch, settings, request
):
    """However slow the machine is: reading the evidence takes seconds of its processor here.

    Where an answer differs, script/standing-answers makes them anew. Every tenth is asked by default, all with --all.
    """
    shipped = standing.shipped_answers()
    assert shipped, "script/standing-answers was not run since the evidence or the method changed"
    assert standing.FILE.stat().st_size < 700_000  # what a clone costs more
    waits = [cell for row in overview().rows for cell in row.cells if cell.kind == WAITING]
    assert not waits
    assert {question.key for question in standing.questions()} <= {*shipped}
    settings.KDB_CPU_SECONDS_A_REQUEST, settings.KDB_CPU_SECONDS_A_MINUTE = 0.3, 0
    clock = {"seconds": 0.0}
    monkeypatch.setattr(time, "thread_time", lambda: clock["seconds"])
    read = choices._read
    monkeypatch.setattr(choices, "_read", lambda: (clock.update(seconds=clock["seconds"] + 60), read())[1])
    for address in ("/", "/api/v1/overview/", *NAMED):
        choices.clear_cache()
        assert client.get(address).status_code == 200, address
    assert not RankingSnapshot.objects.filter(revision=0).exists()
    assert not LeftRequest.objects.exists()

    settings.KDB_CPU_SECONDS_A_REQUEST = 0  # no clock any more
    step = 1 if request.config.getoption("all") else 10
    for question in standing.questions()[::step]:
        worked_out = snapshots.compute_current(question).result
        assert not next(snapshots._differences(shipped[question.key], worked_out), ""), question.key


def test_shipped_answers_are_kept_as_if_they_had_been_asked_for(file, client):
    RankingSnapshot.objects.all().delete()
    assert standing.load_shipped() > 0
    assert standing.load_shipped() == 0  # they are there
    question = Question("guest-fs", "varmail")
    kept = RankingSnapshot.objects.get(question=question.key)
    fresh = snapshots.compute_current(question)
    assert (kept.result, kept.digest, kept.revision) == (fresh.result, fresh.digest, fresh.revision)
    assert client.get("/api/v1/rankings/guest-fs/?workload=varmail").json()["best"] == fresh.result["best"]


@pytest.mark.parametrize("change", ["evidence", "facts", "method", "assumptions", "year", "file"])
def test_answers_of_anything_else_are_never_taken_in(change, file, published, monkeypatch, settings):
    match change:
        case "evidence":
            other = make_case_study("other")
            make_measurement(1.0, case_study=other, guest_fs="btrfs", workload="varmail")
            lifecycle.publish([other], reason="another")
        case "facts":
            CaseStudy.objects.filter(pk=published.pk).update(title="Another title")
        case "method":
            monkeypatch.setattr(standing, "METHOD", standing.METHOD + 1)
        case "assumptions":
            settings.KDB_MARGIN = 0.2
        case "year":
            then = KnowledgeRevision.objects.get().created_at
            KnowledgeRevision.objects.update(created_at=then.replace(year=then.year + standing.YEARS, day=1))
        case "file":
            file.unlink()
    RankingSnapshot.objects.all().delete()
    assert standing.load_shipped() == 0
    assert not RankingSnapshot.objects.exists()


def test_a_later_year_has_the_answers_that_age_makes_weaker(file, published):
    then = KnowledgeRevision.objects.get().created_at
    KnowledgeRevision.objects.update(created_at=then.replace(year=then.year + 1, day=1))
    later = json.loads(gzip.decompress(file.read_bytes()))["answers"][str(then.year + 1)]
    assert standing.shipped_answers().keys() == {question.key for question in standing.questions()}
    for key, result in later.items():
        assert standing.shipped_answers()[key] == result
    question = Question("guest-fs", "varmail")
    assert standing.shipped_answers()[question.key] == snapshots.compute_current(question).result


def test_what_a_publication_compares_for_the_first_time_is_answered_before_anybody_asks(published):
    for kind in (standing.JOB, snapshots.JOB):
        jobs.run(Job.objects.get(kind=kind).pk)
    kept = RankingSnapshot.objects.filter(revision=1).values_list("question", flat=True)
    asked = {Question("guest-fs", "varmail").key, Question("guest-fs", "varmail", hypervisor="kvm").key}
    assert asked <= {*kept}


def test_the_budget_of_a_request_holds_where_an_answer_has_still_to_be_worked_out(published, client, settings):
    settings.KDB_CPU_SECONDS_A_REQUEST = 1e-9
    assert client.get("/api/v1/rankings/guest-fs/?workload=varmail").status_code == 202
    assert budget._check.get() is None
