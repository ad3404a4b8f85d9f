"""Who may do what to a case study: role x state x action, as a table, at every door."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.test import Client

from experiments import permissions
from experiments.case_studies import bundles
from experiments.models import AuditEntry, CaseStudy
from tests.factories import make_case_study, make_import, make_measurement, make_raw_file, make_token, make_user
from tests.factories import revision as make_revision

pytestmark = pytest.mark.django_db

ACTIONS = ("see", "edit", "submit", "return", "publish", "retract")
ROLES = ("anonymous", "nobody", "owner", "researcher", "reviewer", "operator", "administrator", "command line")
FUNCTIONS = {
    "see": permissions.may_see,
    "edit": permissions.may_edit,
    "submit": permissions.may_submit,
    "return": permissions.may_return,
    "publish": permissions.may_publish,
    "retract": permissions.may_retract,
}

# state: action: who may; everybody else may not
TABLE = {
    "draft": {
        "see": {"owner", "administrator", "command line"},
        "edit": {"owner", "administrator", "command line"},
        "submit": {"owner", "administrator", "command line"},
        "return": set(),
        "publish": set(),
        "retract": set(),
    },
    "submitted": {
        "see": {"owner", "reviewer", "administrator", "command line"},
        "edit": set(),
        "submit": set(),
        "return": {"owner", "reviewer", "administrator", "command line"},
        "publish": {"reviewer", "administrator", "command line"},
        "retract": set(),
    },
    "published": {
        "see": set(ROLES),
        "edit": set(),
        "submit": set(),
        "return": set(),
        "publish": set(),
        "retract": {"reviewer", "administrator", "command line"},
    },
    "retracted": {
        "see": set(ROLES),
        "edit": set(),
        "submit": set(),
        "return": set(),
        "publish": set(),
        "retract": set(),
    },
}


@pytest.fixture
def people():
    return {
        "anonymous": AnonymousUser(),
        "nobody": make_user(""),
        "owner": make_user("researchers"),
        "researcher": make_user("researchers"),
        "reviewer": make_user("reviewers"),
        "operator": make_user("operators"),
        "administrator": make_user("administrators"),
        "command line": None,
    }


def study(state: str, owner) -> CaseStudy:
    fields = {"status": state}
    if state in ("published", "retracted"):
        fields["published_revision"] = make_revision(1)
    if state == "retracted":
        fields |= {"retracted_revision": make_revision(2), "retraction_reason": "wrong disk"}
    return make_case_study("lab", owner=owner, **fields)


@pytest.mark.parametrize("state", TABLE)
def test_the_table_of_who_may_what(state, people):
    case_study = study(state, people["owner"])
    for action, allowed in TABLE[state].items():
        permitted = {role for role, user in people.items() if FUNCTIONS[action](user, case_study)}
        assert permitted == allowed, (state, action)


@pytest.mark.parametrize("state", ["draft", "submitted"])
def test_lists_show_what_may_be_seen(state, people):
    case_study = study(state, people["owner"])
    for role, user in people.items():
        listed = case_study in permissions.drafts_of(user)
        assert listed == (role in TABLE[state]["see"]), role


def test_drafts_are_begun_by_researchers_operators_and_administrators(people):
    allowed = {role for role, user in people.items() if permissions.may_create(user)}
    assert allowed == {"owner", "researcher", "operator", "administrator", "command line"}


def test_who_lost_the_role_has_lost_the_drafts(people):
    case_study = study("draft", people["owner"])
    people["owner"].groups.clear()
    owner = type(people["owner"]).objects.get(pk=people["owner"].pk)
    assert not permissions.may_see(owner, case_study)
    assert case_study not in permissions.drafts_of(owner)


# Every address, in the name of each role. S: 2xx or a redirect to a result, 401/302: sign in, 403, 404.

PAGES = [
    # method, address, {role: status}
    ("get", "/drafts/lab/", {"anonymous": 302, "nobody": 404, "owner": 200, "researcher": 404, "reviewer": 404}),
    ("get", "/drafts/lab/edit/", {"anonymous": 302, "nobody": 404, "owner": 200, "researcher": 404}),
    ("post", "/drafts/lab/edit/", {"anonymous": 302, "nobody": 404, "owner": 422, "researcher": 404}),
    ("post", "/drafts/lab/upload/", {"anonymous": 302, "nobody": 404, "owner": 422, "researcher": 404}),
    ("post", "/drafts/lab/imports/", {"anonymous": 302, "nobody": 404, "owner": 422, "researcher": 404}),
    ("get", "/imports/{import}/", {"anonymous": 302, "nobody": 404, "owner": 200, "researcher": 404}),
    ("post", "/imports/{import}/", {"anonymous": 302, "nobody": 404, "researcher": 404}),
    ("get", "/files/{file}/", {"anonymous": 404, "nobody": 404, "owner": 200, "researcher": 404, "administrator": 200}),
    ("get", "/case-studies/lab/", {"anonymous": 404, "nobody": 404, "owner": 200, "researcher": 404}),
    ("get", "/case-studies/lab/bundle.zip", {"anonymous": 404, "owner": 404}),
    ("get", "/case-studies/lab/preview/", {"anonymous": 302, "nobody": 404, "owner": 200, "researcher": 404}),
    ("post", "/case-studies/lab/preview/", {"anonymous": 302, "nobody": 404, "owner": 302, "researcher": 404}),
    ("post", "/case-studies/lab/publish/", {"anonymous": 302, "nobody": 404, "owner": 403, "reviewer": 404}),
    ("post", "/case-studies/lab/retract/", {"anonymous": 302, "nobody": 404, "owner": 404}),
    ("post", "/case-studies/lab/delete/", {"anonymous": 302, "nobody": 404, "researcher": 404}),
    ("post", "/case-studies/lab/nonsense/", {"anonymous": 302, "owner": 404}),
    ("get", "/drafts/new/", {"anonymous": 302, "nobody": 403, "owner": 200, "operator": 200, "reviewer": 403}),
    ("post", "/drafts/bundle/", {"anonymous": 302, "nobody": 403, "owner": 422}),
    ("get", "/api/v1/drafts/lab/", {"anonymous": 401, "nobody": 404, "owner": 200, "researcher": 404}),
    ("post", "/api/v1/drafts/", {"anonymous": 401, "nobody": 403, "owner": 400, "operator": 400, "reviewer": 403}),
    ("patch", "/api/v1/drafts/lab/", {"anonymous": 401, "nobody": 404, "owner": 200, "researcher": 404}),
    ("delete", "/api/v1/drafts/lab/", {"anonymous": 401, "nobody": 404, "researcher": 404, "reviewer": 404}),
    ("post", "/api/v1/drafts/lab/submit/", {"anonymous": 401, "nobody": 404, "researcher": 404, "owner": 409}),
    ("post", "/api/v1/drafts/lab/publish/", {"anonymous": 401, "nobody": 404, "owner": 403, "reviewer": 404}),
    ("post", "/api/v1/drafts/lab/return/", {"anonymous": 401, "nobody": 404, "owner": 403}),
    ("get", "/api/v1/drafts/lab/preview/", {"anonymous": 401, "nobody": 404, "owner": 200}),
    ("post", "/api/v1/case-studies/lab/retract/", {"anonymous": 401, "nobody": 404, "owner": 404}),
    ("post", "/api/v1/drafts/lab/measurements/", {"anonymous": 401, "nobody": 404, "researcher": 404}),
    ("get", "/api/v1/imports/{import}/", {"anonymous": 401, "nobody": 404, "owner": 200, "researcher": 404}),
    ("patch", "/api/v1/imports/{import}/", {"anonymous": 401, "nobody": 404, "owner": 409, "researcher": 404}),
    ("post", "/api/v1/imports/{import}/confirm/", {"anonymous": 401, "nobody": 404, "owner": 409, "researcher": 404}),
    ("delete", "/api/v1/imports/{import}/", {"anonymous": 401, "nobody": 404, "researcher": 404}),
    ("get", "/api/v1/raw-files/{file}/", {"anonymous": 404, "owner": 404}),
    ("get", "/api/v1/raw-files/{file}/content/", {"anonymous": 404, "nobody": 404, "owner": 200, "researcher": 404}),
]


@pytest.mark.sqlite
def test_every_address_keeps_to_the_table(people):
    case_study = study("draft", people["owner"])
    batch = make_import(case_study, report={"new_configurations": []})
    file = make_raw_file(batch=batch)
    clients = {role: Client() for role in ROLES if role != "command line"}
    for role, client in clients.items():
        if role != "anonymous":
            client.force_login(people[role])
    for method, address, expected in PAGES:
        url = address.format(**{"import": batch.pk, "file": file.pk})
        content_type = "text/csv" if address.endswith("measurements/") else "application/json"
        options = {"content_type": content_type} if address.startswith("/api/") and method != "get" else {}
        for role, status in expected.items():
            with transaction.atomic():
                response = getattr(clients[role], method)(url, **options)
                transaction.set_rollback(True)
            assert response.status_code == status, (method, address, role, response.content[:300])


def test_a_reviewer_publishes_and_retracts_what_was_submitted(people, client):
    case_study = study("draft", people["owner"])
    make_measurement(case_study=case_study)
    client.force_login(people["owner"])
    assert client.post("/case-studies/lab/submit/").status_code == 302
    client.force_login(people["reviewer"])
    assert client.post("/case-studies/lab/publish/").status_code == 422  # without a reason
    seen = client.get("/drafts/lab/").context["content_digest"]
    decision = {"reason": "Checked.", "content_digest": seen}
    assert client.post("/case-studies/lab/publish/", decision).url == "/case-studies/lab/"
    assert Client().get("/case-studies/lab/").status_code == 200
    assert "with your reason" in client.get("/case-studies/lab/retract/").content.decode()
    assert client.post("/case-studies/lab/retract/").status_code == 422
    assert client.post("/case-studies/lab/retract/", {"reason": "The disk was another."}).status_code == 302
    assert "The disk was another." in Client().get("/case-studies/lab/").content.decode()
    assert list(case_study.audit_entries.values_list("action", flat=True)) == ["submitted", "published", "retracted"]


@pytest.mark.parametrize("part", ["owner", "edited", "imported", "submitted", "superuser", "returned"])
def test_nobody_publishes_what_they_had_a_part_in(part, people, client, settings):
    reviewer = make_user("", is_superuser=True) if part == "superuser" else people["reviewer"]
    is_owner = part in ("owner", "superuser")
    case_study = make_case_study("lab", owner=reviewer if is_owner else people["owner"], status="submitted")
    make_measurement(case_study=case_study)
    CaseStudy.objects.update(submitted_digest=bundles.digest(case_study))
    if not is_owner:
        AuditEntry.objects.create(case_study=case_study, actor=reviewer, action=part)
    client.force_login(reviewer)
    token = {"authorization": f"Bearer {make_token(reviewer, ('review',))}"}
    by_api = {"path": "/api/v1/drafts/lab/publish/", "content_type": "application/json", "headers": token}

    if part != "returned":  # who gave it back reviewed it and did nothing else
        assert not permissions.may_publish(reviewer, case_study)
        assert "did not work on it" in client.get("/drafts/lab/").content.decode()
        assert client.post("/case-studies/lab/publish/", {"reason": "Mine."}).status_code == 403
        refused = client.post(data={"reason": "Mine."}, **by_api)
        assert (refused.status_code, "had no part in it" in refused.json()["detail"]) == (403, True)
        settings.KDB_AUTHORS_MAY_PUBLISH = True
    assert permissions.may_publish(None, case_study)
    assert client.post(data={"reason": "Checked."}, **by_api).status_code == 200
