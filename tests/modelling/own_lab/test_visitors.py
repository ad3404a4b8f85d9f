"""Measuring without an account: a key measures, an address shows, both end; what was measured can be handed in."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from experiments.models import CaseStudy
from modelling.models import Laboratory, Sitting
from modelling.own_lab import visitors
from modelling.own_lab.changes import detection
from tests.factories import make_sitting, make_user
from tests.modelling.own_lab.test_sharing import HOST

pytestmark = pytest.mark.django_db
SPEED = {"ssd": 900.0, "hdd": 300.0}
ASKED = {
    "machine": "box",
    "workload": "varmail",
    "choices": [{"name": name, "place": name, "settings": {"host_fs": "ext4"}} for name in SPEED],
    "facts": HOST,
}


@pytest.fixture(autouse=True)
def _catalogue(published_evidence):
    """The names that measurements are filed under."""


def begin(client=None, status: int = 201, remote: str = "127.0.0.1", **more):
    """Begin a sitting without an account; return the answer."""
    own = client or Client()
    answer = own.post("/api/v1/sittings/", ASKED | more, content_type="application/json", REMOTE_ADDR=remote)
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture
def visit():
    return begin()


def post(visit, path: str, body=None, status: int = 200):
    headers = {"authorization": f"Bearer {visit['key']}"}
    answer = Client().post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)
    assert answer.status_code == status, answer.content
    return answer.json()


def measured(visit):
    sitting = visit
    while sitting["next"]:
        for run in sitting["next"]:
            sitting = post(visit, f"sittings/{sitting['id']}/runs/{run['number']}/", {"value": SPEED[run["choice"]]})
    assert (sitting["key"], sitting["page"]) == (None, visit["page"])
    return sitting


def address(visit: dict[str, str]) -> str:
    return visit["page"].removeprefix("http://testserver")


def test_a_key_measures_and_the_address_shows_it_to_whoever_has_it(visit):
    sitting = measured(visit)
    assert sitting["state"] == "decided"
    stranger = Client()
    page = stranger.get(address(visit))
    assert (page.status_code, page["X-Robots-Tag"]) == (200, "noindex")
    assert "no-store" in page["Cache-Control"]
    assert sitting["decision"]["sentence"] in " ".join(page.content.decode().split())
    assert visit["key"] not in page.content.decode()


def test_neither_key_nor_address_is_kept_where_a_reader_of_the_database_could_measure(visit):
    laboratory = Laboratory.objects.get()
    assert visit["key"] not in {str(value) for value in vars(laboratory).values()}
    assert not laboratory.members.exists()


@pytest.mark.parametrize("path", ["sittings/{}/share/", "laboratories/", "sittings/"])
def test_a_key_opens_nothing_but_runs(visit, path):
    headers = {"authorization": f"Bearer {visit['key']}"}
    asked = {"data": ASKED, "content_type": "application/json"}
    assert Client().post(f"/api/v1/{path.format(visit['id'])}", headers=headers, **asked).status_code in (401, 403)
    assert Client().delete(f"/api/v1/sittings/{visit['id']}/", headers=headers).status_code in (401, 403)
    assert Client().get("/api/v1/sittings/", headers=headers).status_code in (401, 403)


def test_what_others_measured_does_not_exist_for_a_visitor(visit, client):
    theirs = make_sitting(make_user(username="eve"), "theirs")
    for pk in (theirs.pk, begin()["id"]):
        headers = {"authorization": f"Bearer {visit['key']}"}
        assert client.get(f"/api/v1/sittings/{pk}/", headers=headers).status_code == 404
    assert client.get("/measured/theirs/").status_code == 404


@pytest.mark.parametrize("more", [{"laboratory": "ours"}, {"again": True}, {"like": "vm-117", "workload": None}])
def test_what_needs_an_account_asks_for_one(more):
    told = {name: value for name, value in (ASKED | more).items() if value is not None}
    answer = Client().post("/api/v1/sittings/", told, content_type="application/json")
    assert answer.status_code == 401
    assert not Sitting.objects.exists()


def test_without_an_account_it_is_handed_in_once_and_names_neither_machine_nor_address(visit):
    measured(visit)
    page, own = address(visit), Client()
    for _ in range(2):
        assert own.post(page).status_code == 302
    draft = CaseStudy.objects.exclude(status=CaseStudy.Status.PUBLISHED).get()
    assert (draft.status, draft.owner) == (CaseStudy.Status.SUBMITTED, None)
    told = f"{draft.slug} {draft.laboratory} {draft.title} {draft.storage.description}"
    assert not any(word in told for word in ("visit-", ASKED["machine"], *SPEED))
    assert own.get(f"/case-studies/{draft.slug}/").status_code == 404  # it is a draft


def test_a_researcher_makes_a_draft_of_their_own_of_it(visit, client):
    measured(visit)
    researcher = make_user()
    client.force_login(researcher)
    client.post(address(visit))
    draft = CaseStudy.objects.exclude(status=CaseStudy.Status.PUBLISHED).get()
    assert (draft.status, draft.owner) == (CaseStudy.Status.DRAFT, researcher)


def test_after_thirty_days_it_is_gone_and_what_was_handed_in_stays(visit, client):
    measured(visit)
    client.post(address(visit))
    Laboratory.objects.update(expires_at=now() + timedelta(minutes=1))
    visitors.delete_expired()
    assert Sitting.objects.exists()
    Laboratory.objects.update(expires_at=now())
    assert client.get(address(visit)).status_code == 404
    assert post(visit, f"sittings/{visit['id']}/runs/1/", {"value": 1.0}, 401)
    visitors.delete_expired()
    assert not Laboratory.objects.exists()
    assert not Sitting.objects.exists()
    assert CaseStudy.objects.filter(status=CaseStudy.Status.SUBMITTED).exists()


def test_so_many_measure_from_an_address_a_network_and_in_all(monkeypatch):
    monkeypatch.setattr(visitors, "MOST_VISITS", (1, 2, 3))
    begin(remote="192.0.2.7")
    begin(remote="192.0.2.7", status=429)
    begin(remote="192.0.2.8")
    begin(remote="192.0.2.9", status=429)
    begin(remote="198.51.100.1")
    assert "--offline" in begin(remote="203.0.113.1", status=429)["detail"]


def test_so_much_is_handed_in_a_day(visit, client, monkeypatch):
    measured(visit)
    monkeypatch.setattr(visitors, "MOST_CONTRIBUTIONS", (0, 0, 0))
    refused = client.post(address(visit))
    assert refused.status_code == 422
    assert "try it tomorrow" in refused.content.decode()
    assert not CaseStudy.objects.filter(status=CaseStudy.Status.SUBMITTED).exists()


def test_a_reviewer_who_hands_in_is_named_and_cannot_publish_it_alone(visit, client):
    measured(visit)
    reviewer = make_user("reviewers")
    client.force_login(reviewer)
    client.post(address(visit))
    draft = CaseStudy.objects.exclude(status=CaseStudy.Status.PUBLISHED).get()
    assert draft.audit_entries.filter(actor=reviewer).exists()


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"facts": {f"fact{number}": "x" for number in range(41)}}, "facts"),
        ({"facts": {"x" * 41: "x"}}, "facts"),
        ({"runs": [{"block": 1, "choice": "ssd", "value": 3.0}] * 2}, "runs"),
        ({"runs": [{"block": 1, "choice": "ssd", "value": 3.0}], "again": True}, "again"),
    ],
)
def test_what_no_program_sends_is_refused(more, field):
    assert begin(status=400, **more)["errors"][0]["field"] == field
    assert not Laboratory.objects.exists()


def test_a_visitors_sitting_is_looked_at_for_no_change(visit):
    measured(visit)
    assert not detection._waiting().exists()
    make_sitting(make_user(username="eve"), "theirs")
    Sitting.objects.update(ended_at=now())
    assert detection._waiting().get().laboratory.slug == "theirs"


def test_names_of_visitors_are_no_laboratory_of_anybody(client):
    client.force_login(make_user())
    for slug in ("visitor-7", "visit-7"):
        assert client.post("/laboratories/", {"slug": slug, "name": "Mine"}).status_code == 422
    assert not Laboratory.objects.exists()
