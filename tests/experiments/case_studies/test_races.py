"""Two people, or one person twice, or a dead connection: what is decided on is what was seen, and happens once."""

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.test import Client

from experiments.campaigns import control
from experiments.campaigns.control import CampaignError
from experiments.campaigns.runs import outcomes
from experiments.campaigns.runs.attempt import Attempt
from experiments.case_studies import bundles, lifecycle, retraction, reviews
from experiments.case_studies.lifecycle import CaseStudyError
from experiments.imports import pipeline
from experiments.imports.pipeline import ImportRefused
from experiments.imports.reading import ImportFiler
from experiments.models import (
    Benchmark,
    CampaignRun,
    CaseStudy,
    FileSystem,
    Hypervisor,
    ImportBatch,
    KnowledgeRevision,
    Measurement,
    Workload,
)
from experiments.records.files import raw_files
from kdb.jobs import jobs
from kdb.models import Job
from tests.factories import (
    entry,
    make_campaign,
    make_case_study,
    make_claim,
    make_host,
    make_measurement,
    make_token,
    make_user,
    publish,
)

pytestmark = [pytest.mark.both, pytest.mark.django_db]
State = ImportBatch.State

HEADER = "hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit\n"
ROW = "kvm,ext4,{guest_fs},varmail,filebench,1.4.9.1,{vm_count},{value},MiB/s\n"


@pytest.fixture
def draft(db) -> CaseStudy:
    for model, slugs in {
        Hypervisor: "kvm",
        FileSystem: "ext4 xfs",
        Workload: "varmail",
        Benchmark: "filebench",
    }.items():
        for slug in slugs.split():
            entry(model, slug)
    return make_case_study("lab", owner=make_user(username="ada"))


def table(*values: float, vm_count: int = 1, guest_fs: str = "xfs") -> str:
    return HEADER + "".join(ROW.format(value=value, vm_count=vm_count, guest_fs=guest_fs) for value in values)


def receive(draft: CaseStudy, text: str, **options) -> ImportBatch:
    upload = raw_files.take("results.csv", [text.encode()])
    return pipeline.receive(draft, [upload], **{"user": draft.owner, "door": "command"} | options)[0]


def filed(draft: CaseStudy, text: str) -> ImportBatch:
    batch = pipeline.finish(receive(draft, text, is_confirmed=True))
    assert batch.state == State.FILED, batch.report
    return batch


def submitted(draft: CaseStudy, value: float = 10.0) -> str:
    """Submit it for review; the digest that a reviewer sees then."""
    filed(draft, table(value))
    reviews.submit(draft, user=draft.owner)
    return bundles.digest(draft)


# Two at once, on PostgreSQL


def beside(step: Callable[[], object]) -> tuple[threading.Thread, list]:
    """Take a step in a thread with a connection of its own; what it returned or raised lies in the list."""
    came: list = []

    def take() -> None:
        try:
            came.append(step())
        except Exception as error:
            came.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=take)
    thread.start()
    return thread, came


@contextmanager
def just_before(step: Callable[[], object]):
    """Commit what is done inside while `step` waits for it: the other one looked before, and acts after."""
    with transaction.atomic():
        came: list = []
        yield came
        thread, outcomes = beside(step)
        wait_for_a_lock()
    thread.join()
    came.extend(outcomes)


def wait_for_a_lock() -> int:
    """Return the process number of the connection that waits for somebody's lock."""
    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # else a transaction sees what it saw before
            cursor.execute(query)
            if row := cursor.fetchone():
                return row[0]
        time.sleep(0.02)
    raise AssertionError("nobody waits for a lock")


# Publication


def test_what_is_published_is_what_the_reviewer_saw(draft):
    seen = submitted(draft)
    lifecycle.give_back(draft, reason="I meant another file", user=draft.owner)
    filed(draft, table(99.0))
    reviews.submit(draft, user=draft.owner)
    with pytest.raises(CaseStudyError, match="lab has changed since you looked at it"):
        reviews.publish(draft, seen=seen, reason="Good.", user=None)
    draft.refresh_from_db()
    assert (draft.status, KnowledgeRevision.objects.count()) == ("submitted", 0)
    reviews.publish(draft, seen=bundles.digest(draft), reason="Good.", user=None)


def test_what_was_given_back_is_not_published(draft):
    seen = submitted(draft)
    lifecycle.give_back(draft, reason="wait", user=None)
    with pytest.raises(CaseStudyError, match="Only a submitted case study can be published"):
        reviews.publish(draft, seen=seen, reason="Good.", user=None)


CHANGES = {
    "a number": lambda study: Measurement.objects.update(value=11.0),
    "a description": lambda study: CaseStudy.objects.update(procedure="another"),
    "a server": lambda study: type(study.server).objects.update(ram_gib=1.0),
    "a configuration": lambda study: study.configurations.update(cache_mode="unsafe"),
    "a claim": lambda study: make_claim().case_studies.add(study),
    "an entry of the catalogue": lambda study: FileSystem.objects.filter(slug="xfs").update(name="ext4, really"),
    "a file": lambda study: study.raw_files.update(sha256="0" * 64),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_is_of_everything_that_is_published(draft, change):
    seen = submitted(draft)
    CHANGES[change](draft)
    assert bundles.digest(CaseStudy.objects.get(pk=draft.pk)) != seen


def test_a_digest_costs_the_same_queries_for_many_configurations(draft, django_assert_max_num_queries):
    for number in range(20):
        make_measurement(case_study=draft, guest_fs=f"fs-{number}", host_fs=f"fs-{number}")
    with django_assert_max_num_queries(16):
        bundles.digest(CaseStudy.objects.get(pk=draft.pk))


def test_both_doors_refuse_to_publish_what_has_changed(draft, client):
    submitted(draft)
    reviewer = make_user("reviewers")
    client.force_login(reviewer)
    headers = {"authorization": f"Bearer {make_token(reviewer)}"}
    page = client.get("/drafts/lab/")
    seen = page.context["content_digest"]
    assert f'name="content_digest" value="{seen}"' in page.content.decode()
    assert client.get("/api/v1/drafts/lab/", headers=headers).json()["content_digest"] == seen
    assert client.get("/api/v1/drafts/", headers=headers).json()["results"][0]["content_digest"] is None

    Measurement.objects.update(value=11.0)
    decision = {"reason": "Good.", "content_digest": seen}
    answer = client.post("/case-studies/lab/publish/", decision)
    assert (answer.status_code, "has changed since you looked" in answer.content.decode()) == (409, True)
    answer = client.post("/api/v1/drafts/lab/publish/", decision, "application/json", headers=headers)
    assert (answer.status_code, "has changed since you looked" in answer.json()["detail"]) == (409, True)
    answer = client.post("/case-studies/lab/publish/", {"reason": "Good."})  # the page always says what it showed
    assert answer.status_code == 409
    assert CaseStudy.objects.get().status == "submitted"


def test_who_names_no_digest_publishes_what_was_submitted_and_nothing_else(draft, client):
    submitted(draft)
    headers = {"authorization": f"Bearer {make_token(make_user('reviewers'))}"}

    def publish():
        return client.post("/api/v1/drafts/lab/publish/", {"reason": "Good."}, "application/json", headers=headers)

    value = Measurement.objects.values_list("value", flat=True).get()
    Measurement.objects.update(value=value + 1)
    answer = publish()
    assert (answer.status_code, "has changed since it was submitted" in answer.json()["detail"]) == (409, True)
    Measurement.objects.update(value=value)
    assert publish().status_code == 200
    assert CaseStudy.objects.get().status == "published"


def test_what_was_given_back_is_no_longer_submitted(draft):
    submitted(draft)
    assert CaseStudy.objects.get().submitted_digest == bundles.digest(draft)
    lifecycle.give_back(draft, reason="Not yet.", user=None)
    assert CaseStudy.objects.get().submitted_digest == ""


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", ["page", "api"])
def test_a_draft_given_back_while_the_reviewer_presses_publish_stays_a_draft(draft, door):
    seen = submitted(draft)
    reviewer = make_user("reviewers")
    decision = {"reason": "Good.", "content_digest": seen}
    headers = {"authorization": f"Bearer {make_token(reviewer)}"}
    client = Client()
    client.force_login(reviewer)

    def press():
        if door == "page":
            return client.post("/case-studies/lab/publish/", decision)
        return client.post("/api/v1/drafts/lab/publish/", decision, "application/json", headers=headers)

    with just_before(press) as came:
        lifecycle.give_back(draft, reason="wait", user=draft.owner)
    (answer,) = came
    assert (answer.status_code, "Only a submitted case study" in answer.content.decode()) == (409, True)
    assert CaseStudy.objects.get().status == "draft"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", ["page", "api"])
def test_the_second_of_two_retractions_is_told_so(draft, door):
    filed(draft, table(10.0))
    publish(draft)
    reviewer = make_user("reviewers")
    headers = {"authorization": f"Bearer {make_token(reviewer)}"}
    client = Client()
    client.force_login(reviewer)

    def press():
        reason = {"reason": "Wrong disk."}
        if door == "page":
            return client.post("/case-studies/lab/retract/", reason)
        return client.post("/api/v1/case-studies/lab/retract/", reason, "application/json", headers=headers)

    with just_before(press) as came:
        retraction.retract(draft, reason="Wrong server.", user=None)
    (answer,) = came
    assert (answer.status_code, "Only a published case study" in answer.content.decode()) == (409, True)
    assert CaseStudy.objects.get().retraction_reason == "Wrong server."


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_draft_submitted_while_it_is_changed_or_deleted_is_left_alone(draft):
    filed(draft, table(10.0))
    client = Client()
    client.force_login(draft.owner)
    form = {"title": "Changed", "storage-description": "Disks"}
    with just_before(lambda: client.post("/drafts/lab/edit/", form)) as came:
        reviews.submit(draft, user=draft.owner)
    assert (came[0].status_code, "Only a draft can be changed" in came[0].content.decode()) == (409, True)
    lifecycle.give_back(draft, reason="wait", user=None)
    with just_before(lambda: client.post("/case-studies/lab/delete/")) as came:
        reviews.submit(draft, user=draft.owner)
    assert (came[0].status_code, "Only a draft can be deleted" in came[0].content.decode()) == (409, True)


def test_a_short_name_that_is_taken_is_refused_at_both_doors(draft, client):
    """The form looks first; a server may have the name too, and another request may be quicker."""
    make_case_study("other", server=make_case_study("third").server)
    type(draft.server).objects.filter(case_studies=draft).update(slug="wanted")
    client.force_login(draft.owner)
    headers = {"authorization": f"Bearer {make_token(draft.owner)}"}
    answer = client.post("/drafts/new/", {"slug": "wanted", "title": "New", "storage-description": "Disks"})
    assert (answer.status_code, "is not available" in answer.content.decode()) == (422, True)
    body = {"slug": "wanted", "title": "New", "storage": {"description": "Disks"}}
    answer = client.post("/api/v1/drafts/", body, "application/json", headers=headers)
    assert (answer.status_code, "is not available" in answer.json()["detail"]) == (409, True)


# Imports


def test_what_is_taken_out_takes_its_numbers_of_machines_with_it(draft):
    first, second = filed(draft, table(10.0, vm_count=1)), filed(draft, table(11.0, vm_count=3))
    third = filed(draft, table(12.0, 13.0, vm_count=3, guest_fs="ext4"))

    def counts() -> list[int]:
        return CaseStudy.objects.get(pk=draft.pk).vm_counts

    assert counts() == [1, 3]
    pipeline.discard(second, user=None)
    assert counts() == [1, 3]  # the third import has three machines too
    pipeline.discard(third, user=None)
    assert counts() == [1]
    pipeline.discard(first, user=None)
    assert counts() == []


def test_the_same_bytes_while_they_are_read_are_the_same_import_and_the_same_job(draft):
    first = receive(draft, table(10.0), is_confirmed=True)
    second = receive(draft, table(10.0), is_confirmed=True)
    assert (second.pk, second.job_id, Job.objects.count()) == (first.pk, first.job_id, 1)
    third = receive(draft, table(10.0))  # other wishes: read with these
    assert (third.pk, third.job_id == first.job_id) == (first.pk, False)
    assert pipeline.finish(first).state == State.READY  # whoever waited for the first reading gets the last one


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_import_is_filed_though_a_deleted_draft_took_its_load_along(draft, monkeypatch):
    """SQLite has one writer, so nobody deletes anything while another files."""
    other = make_case_study("other")
    filed(other, table(10.0))
    find = ImportFiler.variant_id

    def find_then_lose(variant):
        stored = find(variant)
        if CaseStudy.objects.filter(pk=other.pk).exists():
            thread, came = beside(lambda: lifecycle.delete_draft(other))
            thread.join()
            assert came == [None]
        return stored

    monkeypatch.setattr(ImportFiler, "variant_id", staticmethod(find_then_lose))
    assert filed(draft, table(11.0)).state == State.FILED
    assert Measurement.objects.get(configuration__case_study=draft).value == 11.0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("value", "statuses"), [(10.0, [200, 201]), (-1.0, [422, 422])])
def test_identical_bulk_uploads_at_once_are_one(draft, value, statuses):
    headers = {"authorization": f"Bearer {make_token(draft.owner)}"}
    together = threading.Barrier(2)

    def send():
        together.wait()
        body = table(value)
        return Client().post("/api/v1/drafts/lab/measurements/", body, content_type="text/csv", headers=headers)

    both = [beside(send) for _ in range(2)]
    for thread, _ in both:
        thread.join()
    answers = [came[0] for _, came in both]
    assert sorted(answer.status_code for answer in answers) == statuses, [answer.content for answer in answers]
    assert Measurement.objects.count() == (value > 0)


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        ({"state": "done", "finished_at": "2026-01-01T00:00Z"}, "Its reading was broken off."),
        ({"state": "failed", "finished_at": "2026-01-01T00:00Z", "error": "No disk."}, "No disk."),
        ({"state": "running", "owner": "gone:1", "heartbeat_at": "2026-01-01T00:00Z"}, "Its reading was broken off."),
        (None, "Its reading was broken off."),
    ],
)
def test_an_import_whose_reading_was_broken_off_says_so_and_is_read_again(draft, client, fate, why):
    batch = receive(draft, table(10.0))
    if fate is None:
        batch.job.delete()
    else:
        Job.objects.filter(pk=batch.job_id).update(**fate)
    client.force_login(draft.owner)
    headers = {"authorization": f"Bearer {make_token(draft.owner)}"}
    page = client.get(f"/imports/{batch.pk}/").content.decode()
    assert ("Reading failed." in page, why in page, 'value="read"' in page, "every 1s" in page) == (True,) * 3 + (
        False,
    )
    told = client.get(f"/api/v1/imports/{batch.pk}/", headers=headers).json()
    assert (told["error"], told["summary"]) == (why, f"Reading failed: {why}")
    if fate is None or fate["state"] != "running":  # the place of a silent worker would be taken
        with pytest.raises(ImportRefused, match=why):
            pipeline.finish(batch)

    answer = client.post(f"/api/v1/imports/{batch.pk}/read/", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (202, "")
    again = client.post(f"/api/v1/imports/{batch.pk}/read/", headers=headers)
    assert (again.status_code, again.json()["detail"]) == (409, "The import is being read.")
    assert pipeline.finish(batch).state == State.READY


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_import_whose_connection_dies_is_read_by_the_next_attempt_or_asked_for_again(draft):
    batch = receive(draft, table(10.0, 11.0))

    def die() -> Job:
        """Read it, and cut its connection while it waits for the bytes of the file."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE experiments_rawchunk IN ACCESS EXCLUSIVE MODE")
            thread, came = beside(lambda: jobs.run(batch.job_id))
            cursor.execute("SELECT pg_terminate_backend(%s)", [wait_for_a_lock()])
        thread.join()
        assert came == [False]
        return Job.objects.get(pk=batch.job_id)

    job = die()
    assert (job.state, job.attempt, job.error) == ("queued", 2, "")
    for _ in range(3):
        die()
    job = die()
    assert (job.state, job.error[:24]) == ("failed", "Given up after 5 attempt")
    batch.refresh_from_db()
    assert (batch.state, batch.is_being_read) == (State.READING, False)
    pipeline.read_again(batch)
    assert pipeline.finish(batch).state == State.READY


# Campaigns


def active_run(campaign) -> tuple[jobs.JobRun, CampaignRun]:
    """Return the run under way, as its worker has it."""
    run = campaign.runs.select_related("campaign", "host").get(state="active")
    Job.objects.filter(pk=run.job_id).update(state="running", owner="a:1", heartbeat_at="2026-01-01T00:00Z")
    return jobs.JobRun(Job.objects.get(pk=run.job_id)), run


@pytest.fixture
def campaign(db):
    user = make_user("operators")
    campaign = control.create(make_campaign(make_host(registered_by=user), repetitions=2), user=user)
    control.start(campaign)
    return campaign


def states(campaign) -> tuple[str, list[str]]:
    campaign.refresh_from_db()
    return campaign.state, sorted(campaign.runs.values_list("state", flat=True))


@pytest.mark.parametrize("ending", ["wait_for_host", "repeat_attempt"])
def test_a_cancelled_campaign_keeps_no_waiting_run(campaign, ending):
    attempt = Attempt(*active_run(campaign))
    control.cancel(campaign)
    getattr(outcomes, ending)(attempt, "the host does not answer")
    assert states(campaign) == ("cancelled", ["cancelled", "cancelled"])


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ending", ["wait_for_host", "repeat_attempt"])
def test_a_campaign_cancelled_while_its_run_is_given_back_keeps_no_waiting_run(campaign, ending):
    attempt = Attempt(*active_run(campaign))
    with just_before(lambda: getattr(outcomes, ending)(attempt, "the host does not answer")) as came:
        control.cancel(campaign)
    assert (came, states(campaign)) == ([None], ("cancelled", ["cancelled", "cancelled"]))


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_campaign_cancelled_during_the_tick_begins_no_run(campaign):
    CampaignRun.objects.filter(state="active").update(state="waiting", job=None)
    with just_before(lambda: control.next_run(campaign.host_id)) as came:
        control.cancel(campaign)
    assert (came, states(campaign)) == ([None], ("cancelled", ["cancelled", "cancelled"]))


@pytest.mark.parametrize("run", ["abc", "", "-1", "0", "1e3", "9" * 30, "9" * 5000, "\u0663"])
def test_a_run_that_is_none_is_answered_with_a_sentence(campaign, client, run):
    client.force_login(campaign.owner)
    answer = client.post(f"/laboratory/campaigns/{campaign.slug}/", {"do": "retry", "run": run})
    assert (answer.status_code, "There is no run" in answer.content.decode()) == (409, True)


def test_a_campaign_of_the_same_name_is_refused_with_a_sentence(campaign):
    """The form looks first; another request may be quicker."""
    with pytest.raises(CampaignError, match=f"There is a campaign {campaign.slug} already"):
        control.create(make_campaign(campaign.host, slug=campaign.slug), user=None)


def test_a_pool_that_was_given_up_meanwhile_takes_no_campaign():
    plan = make_campaign(make_host(pools=("/srv/a", "/srv/b")))
    plan.host.pools.filter(path="/srv/a").delete()
    with pytest.raises(CampaignError, match="has given up /srv/a"):
        control.create(plan, user=None)
