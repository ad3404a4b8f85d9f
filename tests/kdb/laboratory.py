"""One of everything that the API keeps from strangers, somebody in each role, and every operation asked of it."""

import json
import re
from functools import cache
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from experiments.campaigns import control
from experiments.case_studies import bundles
from experiments.models import CaseStudy, RunArtifact
from kdb.api.schema import EXAMPLES, CachedGenerator
from kdb.notifications import subscriptions
from modelling.answer_store.subscriptions import followers
from modelling.evidence.question import Question
from modelling.models import Laboratory
from tests.factories import (
    HOST_KEY,
    make_campaign,
    make_case_study,
    make_host,
    make_import,
    make_machine,
    make_measurement,
    make_raw_file,
    make_series_change,
    make_sitting,
    make_user,
)
from tests.modelling.fleet.moving.fleets import shown

from .walk import TABLE as CSV

_CLIENT = Client()  # one, because each reads its middleware and the static files anew


@cache
def schema() -> dict[str, Any]:
    return CachedGenerator(api_version="v1").get_schema(public=True)


def operations(*, private: bool = False) -> dict[str, tuple[str, str]]:
    """Operation to (method, path): all, or what not everybody may do."""
    return {
        operation["operationId"]: (method, path)
        for path, methods in schema()["paths"].items()
        for method, operation in methods.items()
        if not (private and {} in operation.get("security", [{}]))
    }


def make_laboratory() -> tuple[dict[str, Any], dict[str, Any]]:
    """The user of each role, and what each kind of address names: a draft of `owner` with an import and its file, a
    host and a campaign of `operator`, what is observed there, and what `owner` is told."""
    users = {
        "nobody": make_user(""),
        "owner": make_user("researchers"),
        "researcher": make_user("researchers"),
        "reviewer": make_user("reviewers"),
        "operator": make_user("operators"),
        "member": make_user("operators"),
        "colleague": make_user("operators", username="carol"),
        "administrator": make_user("administrators"),
    }
    draft = make_case_study("lab", owner=users["owner"])
    make_measurement(case_study=draft, guest_fs="xfs")
    make_measurement(case_study=draft, guest_fs="ext4")
    batch = make_import(draft, uploaded_by=users["owner"], report={"new_configurations": []})
    host = make_host("lab-2", pools=("/srv/kdb",), registered_by=users["operator"], offered_key=HOST_KEY)
    host.operators.add(users["member"])
    campaign = control.create(make_campaign(host, slug="night"), user=users["operator"])
    run = campaign.runs.get()
    output = RunArtifact.objects.create(run=run, attempt=1, name="host.txt", data=b"{}", sha256="0" * 64)
    shown(host)
    machine = make_machine(host)
    ids = {"imports": batch.pk, "campaign-outputs": output.pk, "raw-files": make_raw_file(batch=batch).pk}
    ids |= {"observed-machines": machine.pk, "observed-pools": machine.disks.get().pool_id}
    slugs = {"drafts": "lab", "case-studies": "lab", "hosts": "lab-2", "campaigns": "night", "observed-hosts": "lab-2"}
    ids |= {"sittings": make_sitting(users["owner"], slug="our-lab").pk, "laboratories": "our-lab"}
    change = make_series_change(Laboratory.objects.get(slug="our-lab"))
    ids |= {"series-changes": change.pk, "series-keys": change.series}
    told = {
        "notifications": subscriptions.add(
            users["owner"], "webhook", "https://x.org/", ["question"], "https://x.org"
        ).pk,
        "followed-questions": followers.follow(users["owner"], Question("guest-fs", "varmail")).pk,
    }
    placement = {"plans": 1, "moves": 1, "mixes": 7, "policies": "lab-2"}
    return users, {**ids, **slugs, **placement, **told}


def ask(name: str, names: dict[str, Any], key: str | None, *, method: str = "", body: Any = None) -> HttpResponse:
    """Answer the operation's example with a token, or another method at a path; nothing of it stays.

    body : in place of the example's
    """
    usual, path = operations().get(name, (method, name))
    example = EXAMPLES.get(name, {})
    media_type, body = example.get("media_type", "application/json"), example.get("body") if body is None else body
    if name == "drafts_publish" and body is example.get("body"):
        body = body | {"content_digest": bundles.digest(CaseStudy.objects.get(slug="lab"))}
    arguments, options = [], {}
    if media_type == "multipart/form-data":
        file = {"case_study": "lab", "file": SimpleUploadedFile("results.csv", CSV.encode())}
        arguments = [body if name == "published_tables_create" else file]
    elif body is not None:
        arguments, options = [body if isinstance(body, str) else json.dumps(body)], {"content_type": media_type}
    if key:
        options["headers"] = {"authorization": f"Bearer {key}"}
    kind = path.split("/")[4 if path.split("/")[3] == "placement" else 3]
    address = re.sub(
        r"{\w+}",
        str(names.get(kind, 1)),
        path.replace("{position}", "1").replace("{number}", "1").replace("{key}", str(names.get("series-keys", 1))),
    )
    with transaction.atomic():
        response = getattr(_CLIENT, method or usual)(address, *arguments, **options)
        if response.streaming:
            b"".join(response)
        transaction.set_rollback(True)
    return response
