"""A confirmed change that is public: the answers it concerns say so and are weaker, a feed tells it, and no others."""

import json

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiments.models import CaseStudy
from modelling.answer_store import staleness
from modelling.answer_store.snapshots import answer_waiting_questions, check_answers
from modelling.answers.words import mix_address
from modelling.estimation.verdict import STRENGTHS, weaker
from modelling.evidence import choices, names
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot, SeriesChange
from modelling.own_lab.changes import detection
from tests.factories import make_case_study, make_measurement, make_user, publish
from tests.modelling.own_lab.changes.conftest import reboot

pytestmark = pytest.mark.django_db
ANSWER = "/api/v1/rankings/guest-fs/?workload=fileserver&hypervisor=kvm"


def make_study(slug, workload="fileserver"):
    study = make_case_study(slug=slug)
    for guest_fs, value in (("ext4", 100.0), ("xfs", 200.0)):
        for repetition in (1, 2, 3):
            make_measurement(
                value + repetition, case_study=study, guest_fs=guest_fs, workload=workload, repetition=repetition
            )
    publish(study)
    return study


@pytest.fixture
def shared(ours, nights):
    """The first night and the one with which the change began are shared and published, among other laboratories'."""
    nights[0].case_study, nights[20].case_study = make_study("before"), make_study("after")
    for night in (nights[0], nights[20]):
        night.save()
    for slug in ("third", "fourth"):
        make_study(slug)
    reboot(ours)
    detection.find_changes(lambda done, total: None)
    return SeriesChange.objects.get()


@pytest.fixture
def answered(client):
    def ask(address=ANSWER):
        return json.loads(client.get(address).content)

    return ask


def test_the_answer_names_a_change_that_was_confirmed_and_is_weaker(shared, ada, answered, client):
    before = answered()
    kept = list(RankingSnapshot.objects.values("result", "digest"))
    detection.handle(shared, ada, "confirm")
    now = answered()
    assert STRENGTHS.index(now["verdict"]["strength"]) == max(0, STRENGTHS.index(before["verdict"]["strength"]) - 1)
    (reason,) = [text for text in now["verdict"]["reasons"] if text not in before["verdict"]["reasons"]]
    assert "Since it was measured, ext4 became 0.85 times as fast in Our laboratory" in reason
    assert "from 2026-11-21 on. It came with kernel 6.8 (was 6.1)." in reason
    assert [entry["ratio"] for entry in now["entries"]] == [entry["ratio"] for entry in before["entries"]]
    page = client.get("/?axis=guest-fs&workload=fileserver&hypervisor=kvm", follow=True).content.decode()
    assert f'<a href="/series-changes/{shared.pk}/">The change</a>' in page
    assert list(RankingSnapshot.objects.values("result", "digest")) == kept
    assert not check_answers().differing
    detection.handle(shared, ada, "reopen")
    assert answered() == before


def test_what_stands_at_a_permanent_address_never_changes(shared, ada, answered):
    permanent = answered()["permanent"]
    before = answered(permanent)
    detection.handle(shared, ada, "confirm")
    assert answered(permanent) == before


@pytest.mark.parametrize(
    "kept_back",
    ["nothing shared before", "nothing shared after", "another workload", "not confirmed", "not side by side"],
)
def test_other_answers_are_the_same_to_the_last_byte(shared, ada, client, nights, kept_back):
    address = ANSWER
    if kept_back == "nothing shared before":
        type(nights[0]).objects.filter(pk=nights[0].pk).update(case_study=None)
    if kept_back == "nothing shared after":
        CaseStudy.objects.filter(slug="after").update(status="submitted", published_revision=None)
    if kept_back == "not side by side":
        SeriesChange.objects.update(confirmed_by=None)
    if kept_back == "another workload":
        make_study("mail", "varmail")
        address = ANSWER.replace("fileserver", "varmail")
    before = client.get(address)
    detection.handle(shared, ada, "acknowledge" if kept_back == "not confirmed" else "confirm")
    after = client.get(address)
    assert (after.content, after["ETag"]) == (before.content, before["ETag"])


def test_everybody_sees_a_public_change_without_its_machine_and_a_feed_has_it(shared, ada, client):
    assert client.get(f"/series-changes/{shared.pk}/").status_code == 302  # to sign in
    assert b"<entry>" not in client.get("/series-changes/feed/").content
    detection.handle(shared, ada, "confirm")
    page = client.get(f"/series-changes/{shared.pk}/").content.decode()
    assert "ext4 on a machine of Our laboratory under fileserver" in page
    assert "A member of the laboratory confirmed it" in page
    feed = client.get("/series-changes/feed/")
    assert feed["Content-Type"].startswith("application/atom+xml")
    text = feed.content.decode()
    assert "ext4 on a machine of Our laboratory under fileserver became slower" in text
    for secret in ("on box", "ada", "Note it"):
        assert secret not in page
        assert secret not in text
    assert client.post(f"/series-changes/{shared.pk}/", {"deed": "reopen"}).status_code == 302
    client.force_login(make_user(username="eve"))
    assert client.get(f"/series-changes/{shared.pk}/").status_code == 200
    assert client.post(f"/series-changes/{shared.pk}/", {"deed": "reopen"}).status_code == 404
    shared.refresh_from_db()
    assert shared.state == "confirmed"


MAIL = "/api/v1/rankings/guest-fs/?workload=varmail&hypervisor=kvm"
COMPARISON = "/api/v1/comparisons/?axis=guest-fs&workload=fileserver&hypervisor=kvm&entries=ext4,xfs"
MIX = "/api/v1/mixes/?axis=guest-fs&hypervisor=kvm&weights=fileserver:1,varmail:3"


def a_step_weaker(strength):
    return STRENGTHS[max(0, STRENGTHS.index(strength) - 1)]


@pytest.fixture
def also_mail(shared):
    """Publish case studies of the mail server as well, under which nothing changed."""
    for slug in ("mail-1", "mail-2", "mail-3"):
        make_study(slug, "varmail")
    choices.clear_cache()
    names.clear_cache()


@pytest.fixture
def confirmed(shared, ada):
    return lambda: detection.handle(shared, ada, "confirm")


def test_an_answer_ages_under_the_workload_that_changed_and_under_no_other(also_mail, confirmed, answered):
    files, mail = answered(), answered(MAIL)
    confirmed()
    assert answered()["verdict"]["strength"] == a_step_weaker(files["verdict"]["strength"])
    assert answered(MAIL) == mail


def test_all_choices_on_one_page_and_the_overview_are_a_step_weaker(also_mail, confirmed, answered, client):
    def overview():
        rows = {row["workload"]: row["cells"] for row in answered("/api/v1/overview/")["rows"]}
        return {name: {cell["axis"]: cell["strength"] for cell in cells} for name, cells in rows.items()}

    answered("/api/v1/overview/")
    answer_waiting_questions(lambda done, total: None)
    before, known = overview(), client.get("/known/fileserver/?hypervisor=kvm").content.decode()
    confirmed()
    now = overview()
    assert before["fileserver"]["guest-fs"] != STRENGTHS[0]
    assert now["fileserver"]["guest-fs"] == a_step_weaker(before["fileserver"]["guest-fs"])
    assert now["varmail"] == before["varmail"]
    aged = client.get("/known/fileserver/?hypervisor=kvm").content.decode()
    assert answered()["verdict"]["confidence"].startswith("Moderate confidence: ")
    assert aged.count("Moderate confidence: ") == known.count("Moderate confidence: ") + 1


def test_a_comparison_names_the_change_of_what_it_compares(shared, confirmed, answered, client):
    before = answered(COMPARISON)
    permanent = answered(before["permanent"])
    assert before["changes"] == []
    confirmed()
    now = answered(COMPARISON)
    (sentence,) = now["changes"]
    assert sentence.startswith("Since it was measured, ext4 became 0.85 times as fast in Our laboratory")
    assert {**now, "changes": []} == before
    assert answered(before["permanent"]) == permanent
    page = client.get("/compare/?axis=guest-fs&workload=fileserver&hypervisor=kvm&a=ext4&b=xfs").content.decode()
    assert f'That counts against this comparison. <a href="/series-changes/{shared.pk}/">' in page


def test_a_comparison_of_what_did_not_change_says_nothing(also_mail, confirmed, answered):
    address = COMPARISON.replace("fileserver", "varmail")
    before = answered(address)
    confirmed()
    assert answered(address) == before


def test_a_mix_is_weaker_by_the_share_that_changed(shared, also_mail, confirmed, answered, client):
    before = answered(MIX)
    permanent = answered(before["permanent"])
    confirmed()
    now = answered(MIX)
    assert now["verdict"]["strength"] == a_step_weaker(before["verdict"]["strength"]) != before["verdict"]["strength"]
    assert now["verdict"]["reasons"][-1].startswith("fileserver: Since it was measured, ext4 became 0.85 times")
    files, mail = now["shares"]
    assert files["verdict"]["strength"] == a_step_weaker(before["shares"][0]["verdict"]["strength"])
    assert mail == before["shares"][1]
    assert now["entries"] == before["entries"]
    assert answered(before["permanent"]) == permanent
    page = client.get(
        mix_address(Question("guest-fs", "", hypervisor="kvm"), {"fileserver": 1, "varmail": 3})
    ).content.decode()
    assert f'That counts against this mix. <a href="/series-changes/{shared.pk}/">' in page


def test_the_number_of_queries_does_not_grow_with_what_aged(shared, also_mail, confirmed, answered, nights):
    """The results of all that may have aged are read by one query, however many they are."""

    def counts():
        told = {}
        for address in (COMPARISON, MIX, "/api/v1/overview/"):
            for _ in range(2):  # what the first makes is kept
                caches["bodies"].clear()
                with CaptureQueriesContext(connection) as queries:
                    answered(address.replace("&hypervisor=kvm", ""))  # which changes nothing, so it would not be kept
            told[address] = len(queries)
        return told

    answered("/api/v1/overview/")
    answer_waiting_questions(lambda done, total: None)
    before = counts()
    confirmed()
    once = counts()
    also = SeriesChange.objects.get(pk=shared.pk)
    also.pk, also.series, also.about = None, "mail", {**also.about, "load": "varmail"}
    also.save()
    type(nights[1]).objects.filter(pk=nights[1].pk).update(case_study=CaseStudy.objects.get(slug="mail-1"))
    also.earlier.set([nights[1]])
    staleness.clear_cache()
    assert [answered(address)["verdict"]["reasons"][-1][:5] for address in (ANSWER, MAIL)] == ["Since", "Since"]
    assert counts() == once
    assert {address: once[address] - before[address] for address in before} == {
        **{COMPARISON: 0, MIX: 2, "/api/v1/overview/": 1}
    }


def test_the_weakest_stays():
    assert [weaker(strength) for strength in STRENGTHS] == ["very weak", "very weak", "weak", "moderate"]
