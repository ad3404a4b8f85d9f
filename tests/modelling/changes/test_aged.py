"""A confirmed change that is public: the answers it concerns say so and are weaker, a feed tells it, and no others."""

import json

import pytest

from experiments.models import CaseStudy
from modelling.changes import keeping
from modelling.estimation.verdict import STRENGTHS, weaker
from modelling.kept_answers.snapshots import check
from modelling.models import RankingSnapshot, SeriesChange
from tests.factories import make_case_study, make_measurement, make_user, publish

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
    keeping.find_changes(lambda done, total: None)
    return SeriesChange.objects.get()


@pytest.fixture
def answered(client):
    def ask(address=ANSWER):
        return json.loads(client.get(address).content)

    return ask


def test_the_answer_names_a_change_that_was_confirmed_and_is_weaker(shared, ada, answered, client):
    before = answered()
    kept = list(RankingSnapshot.objects.values("result", "digest"))
    keeping.handle(shared, ada, "confirm")
    now = answered()
    assert STRENGTHS.index(now["verdict"]["strength"]) == max(0, STRENGTHS.index(before["verdict"]["strength"]) - 1)
    (reason,) = [text for text in now["verdict"]["reasons"] if text not in before["verdict"]["reasons"]]
    assert "Since it was measured, ext4 became 0.85 times as fast in Our laboratory" in reason
    assert "from 2026-11-21 on. It came with kernel 6.8 (was 6.1)." in reason
    assert [entry["ratio"] for entry in now["entries"]] == [entry["ratio"] for entry in before["entries"]]
    page = client.get("/?axis=guest-fs&workload=fileserver&hypervisor=kvm", follow=True).content.decode()
    assert f'<a href="/series-changes/{shared.pk}/">The change</a>' in page
    assert list(RankingSnapshot.objects.values("result", "digest")) == kept
    assert not check().differing
    keeping.handle(shared, ada, "reopen")
    assert answered() == before


def test_what_stands_at_a_permanent_address_never_changes(shared, ada, answered):
    permanent = answered()["permanent"]
    before = answered(permanent)
    keeping.handle(shared, ada, "confirm")
    assert answered(permanent) == before


@pytest.mark.parametrize(
    "kept_back", ["nothing shared before", "nothing shared after", "another workload", "not confirmed"]
)
def test_other_answers_are_the_same_to_the_last_byte(shared, ada, client, nights, kept_back):
    address = ANSWER
    if kept_back == "nothing shared before":
        type(nights[0]).objects.filter(pk=nights[0].pk).update(case_study=None)
    if kept_back == "nothing shared after":
        CaseStudy.objects.filter(slug="after").update(status="submitted", published_revision=None)
    if kept_back == "another workload":
        make_study("mail", "varmail")
        address = ANSWER.replace("fileserver", "varmail")
    before = client.get(address)
    keeping.handle(shared, ada, "acknowledge" if kept_back == "not confirmed" else "confirm")
    after = client.get(address)
    assert (after.content, after["ETag"]) == (before.content, before["ETag"])


def test_everybody_sees_a_public_change_without_its_machine_and_a_feed_has_it(shared, ada, client):
    assert client.get(f"/series-changes/{shared.pk}/").status_code == 302  # to sign in
    assert b"<entry>" not in client.get("/series-changes/feed/").content
    keeping.handle(shared, ada, "confirm")
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


def test_the_weakest_stays():
    assert [weaker(strength) for strength in STRENGTHS] == ["very weak", "very weak", "weak", "moderate"]
