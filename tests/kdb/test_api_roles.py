"""Who may do what by the API: every private operation, in the name of every role, with the status that is expected.

A draft of `owner` with an import, a host and a campaign of `operator`. 401: sign in; 403: not yours to do; 404: as if
it were not there; 409 and 422: may be done, but not as things stand.
"""

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client

from experiments.campaigns import steering
from experiments.case_studies import bundles
from experiments.models import CaseStudy, RunArtifact
from kdb.api_schema import EXAMPLES, CachedGenerator
from kdb.notifications import subscriptions
from modelling.answers import following
from modelling.evidence.question import Question
from tests.factories import (
    HOST_KEY,
    make_campaign,
    make_case_study,
    make_host,
    make_import,
    make_machine,
    make_measurement,
    make_token,
    make_user,
    revision,
)
from tests.modelling.moving.fleets import shown

from .walk import TABLE as CSV

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]

ROLES = ("anonymous", "nobody", "owner", "researcher", "reviewer", "operator", "colleague", "administrator")
STATES = {"drafts_publish": "submitted", "drafts_return": "submitted", "case_studies_retract": "published"}
TABLE = {  # in the order of ROLES
    "campaign_outputs_content": "401 403 403 403 403 200 200 200",
    "campaigns_cancel": "401 403 403 403 403 200 403 200",
    "campaigns_create": "401 403 403 403 403 201 201 201",
    "campaigns_draft": "401 403 403 403 403 409 403 409",
    "campaigns_estimate": "401 403 403 403 403 200 200 200",
    "campaigns_list": "401 403 403 403 403 200 200 200",
    "campaigns_pause": "401 403 403 403 403 409 403 409",
    "campaigns_retrieve": "401 403 403 403 403 200 200 200",
    "campaigns_retry": "401 403 403 403 403 409 403 409",
    "campaigns_plan": "401 403 403 403 403 200 200 200",
    "campaigns_deviations": "401 403 403 403 403 200 200 200",
    "campaigns_retry_cell": "401 403 403 403 403 409 403 409",
    "campaigns_runs": "401 403 403 403 403 200 200 200",
    "campaigns_start": "401 403 403 403 403 200 403 200",
    "campaigns_top_up": "401 403 403 403 403 200 403 200",
    "case_studies_retract": "401 403 403 403 200 403 403 200",
    "drafts_create": "401 403 201 201 403 201 201 201",
    "drafts_delete": "401 404 204 404 404 404 404 204",
    "drafts_list": "401 200 200 200 200 200 200 200",
    "drafts_measurements_create": "401 404 201 404 404 404 404 201",
    "drafts_preview": "401 404 200 404 404 404 404 200",
    "drafts_preview_create": "401 404 202 404 404 404 404 202",
    "drafts_publish": "401 404 403 404 200 404 404 200",
    "drafts_retrieve": "401 404 200 404 404 404 404 200",
    "drafts_return": "401 404 200 404 200 404 404 200",
    "drafts_submit": "401 404 200 404 404 404 404 200",
    "drafts_update": "401 404 200 404 404 404 404 200",
    "detection_model": "401 403 403 403 403 200 200 200",
    "followed_questions_create": "401 400 400 400 400 400 400 400",
    "followed_questions_delete": "401 404 204 404 404 404 404 404",
    "followed_questions_list": "401 200 200 200 200 200 200 200",
    "hosts_accept_key": "401 403 403 403 403 202 403 202",
    "hosts_check": "401 403 403 403 403 202 403 202",
    "hosts_contact": "401 403 403 403 403 202 403 202",
    "hosts_create": "401 403 403 403 403 201 201 201",
    "hosts_statement": "401 403 403 403 403 200 403 200",
    "hosts_list": "401 403 403 403 403 200 200 200",
    "hosts_retrieve": "401 403 403 403 403 200 200 200",
    "imports_confirm": "401 404 409 404 404 404 404 409",
    "imports_correct": "401 404 409 404 404 404 404 409",
    "imports_create": "401 404 202 404 404 404 404 202",
    "imports_discard": "401 404 204 404 404 404 404 204",
    "imports_list": "401 200 200 200 200 200 200 200",
    "imports_read": "401 404 409 404 404 404 404 409",
    "imports_retrieve": "401 404 200 404 404 404 404 200",
    "notifications_create": "401 201 201 201 201 201 201 201",
    "notifications_delete": "401 404 204 404 404 404 404 404",
    "notifications_deliveries": "401 404 200 404 404 404 404 404",
    "notifications_list": "401 200 200 200 200 200 200 200",
    "notifications_retrieve": "401 404 200 404 404 404 404 404",
    "notifications_test": "401 404 202 404 404 404 404 404",
    "notifications_update": "401 404 200 404 404 404 404 404",
    "observed_hosts_list": "401 403 403 403 403 200 200 200",
    "observed_hosts_retrieve": "401 403 403 403 403 200 200 200",
    "observed_hosts_turn_off": "401 403 403 403 403 200 403 200",
    "observed_hosts_turn_on": "401 403 403 403 403 200 403 200",
    "observed_machines_change": "401 403 403 403 403 200 403 200",
    "observed_machines_list": "401 403 403 403 403 200 200 200",
    "observed_machines_mix": "401 403 403 403 403 200 200 200",
    "observed_machines_retrieve": "401 403 403 403 403 200 200 200",
    "observed_machines_statistics": "401 403 403 403 403 200 200 200",
    "observed_pools_change": "401 403 403 403 403 200 403 200",
    "observed_pools_list": "401 403 403 403 403 200 200 200",
    "observed_pools_retrieve": "401 403 403 403 403 200 200 200",
    "placement_mix_update": "401 403 403 403 403 200 403 200",
    "placement_moves_back": "401 403 403 403 403 200 403 200",
    "placement_moves_call_off": "401 403 403 403 403 409 403 409",
    "placement_moves_list": "401 403 403 403 403 200 200 200",
    "placement_moves_remove_old": "401 403 403 403 403 200 403 200",
    "placement_moves_retrieve": "401 403 403 403 403 200 200 200",
    "placement_plans_commands": "401 403 403 403 403 200 200 200",
    "placement_plans_confirm": "401 403 403 403 403 409 403 409",
    "placement_plans_create": "401 403 403 403 403 400 400 400",
    "placement_plans_list": "401 403 403 403 403 200 200 200",
    "placement_plans_retrieve": "401 403 403 403 403 200 200 200",
    "placement_policy_retrieve": "401 403 403 403 403 200 200 200",
    "placement_policy_update": "401 403 403 403 403 200 403 200",
}


@pytest.fixture(scope="module")
def operations():
    """Operation to (method, path) of what not everybody may do."""
    schema = CachedGenerator(api_version="v1").get_schema(public=True)
    return {
        operation["operationId"]: (method, path)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if {} not in operation.get("security", [{}])
    }


@pytest.fixture
def laboratory():
    """The rows, and the user of each role."""
    users = {
        "nobody": make_user(""),
        "owner": make_user("researchers"),
        "researcher": make_user("researchers"),
        "reviewer": make_user("reviewers"),
        "operator": make_user("operators"),
        "colleague": make_user("operators"),
        "administrator": make_user("administrators"),
    }
    draft = make_case_study("lab", owner=users["owner"])
    make_measurement(case_study=draft, guest_fs="xfs")
    make_measurement(case_study=draft, guest_fs="ext4")
    batch = make_import(draft, uploaded_by=users["owner"], report={"new_configurations": []})
    host = make_host("lab-2", pools=("/srv/kdb",), registered_by=users["operator"], offered_key=HOST_KEY)
    campaign = steering.create(make_campaign(host, slug="night"), user=users["operator"])
    run = campaign.runs.get()
    output = RunArtifact.objects.create(run=run, attempt=1, name="host.txt", data=b"{}", sha256="0" * 64)
    shown(host)
    machine = make_machine(host)
    ids = {"imports": batch.pk, "campaign-outputs": output.pk}
    ids |= {"observed-machines": machine.pk, "observed-pools": machine.disks.get().pool_id}
    slugs = {"drafts": "lab", "case-studies": "lab", "hosts": "lab-2", "campaigns": "night", "observed-hosts": "lab-2"}
    told = {
        "notifications": subscriptions.add(
            users["owner"], "webhook", "https://x.org/", ["question"], "https://x.org"
        ).pk,
        "followed-questions": following.follow(users["owner"], Question("guest-fs", "varmail")).pk,
    }
    placement = {"plans": 1, "moves": 1, "mixes": 7, "policies": "lab-2"}
    return users, {**ids, **slugs, **placement, **told}


def ask(name: str, method: str, address: str, user) -> int:
    """The status that the operation's example gets in the name of a user; nothing of it stays."""
    example = EXAMPLES[name]
    media_type, body = example.get("media_type"), example.get("body")
    if name == "drafts_publish":
        body = body | {"content_digest": bundles.digest(CaseStudy.objects.get(slug="lab"))}
    arguments, options = [], {}
    if media_type == "multipart/form-data":
        arguments = [{"case_study": "lab", "file": SimpleUploadedFile("results.csv", CSV.encode())}]
    elif body is not None:
        arguments, options = [body if isinstance(body, str) else json.dumps(body)], {"content_type": media_type}
    with transaction.atomic():
        if user:
            token = make_token(user, ("read", "import", "campaign", "notify"))
            options["headers"] = {"authorization": f"Bearer {token}"}
        status = getattr(Client(), method)(address, *arguments, **options).status_code
        transaction.set_rollback(True)
    return status


def _kind(path: str) -> str:
    """Of what an operation's address is: the word after the version, or after placement."""
    words = path.split("/")
    return words[4] if words[3] == "placement" else words[3]


@pytest.mark.parametrize("name", TABLE)
def test_each_role_gets_what_the_table_says(name, operations, laboratory):
    users, names = laboratory
    if name in STATES:
        published = revision(1) if STATES[name] == "published" else None
        CaseStudy.objects.update(status=STATES[name], published_revision=published)
    method, path = operations[name]
    address = re.sub(r"{\w+}", str(names.get(_kind(path))), path.replace("{position}", "1"))
    found = [ask(name, method, address, users.get(role)) for role in ROLES]
    assert " ".join(map(str, found)) == TABLE.get(name)


def test_the_table_is_complete(operations):
    assert TABLE.keys() == operations.keys()
