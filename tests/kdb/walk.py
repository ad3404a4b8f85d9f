"""One request to every operation of the API, in an order in which each succeeds, with its answer.

The examples of the OpenAPI document are these (test_api_examples).
"""

import json
import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.timezone import now

from experiments.laboratory.transport import ssh
from experiments.models import AskedCommand, CampaignRun, Host, ImportBatch, RunArtifact
from kdb.jobs import jobs
from kdb.models import Job
from modelling.guidance import loading
from modelling.models import Laboratory, PlacementMove, PlacementPlan, PlacementPolicy, Sitting, SittingRun
from tests.factories import (
    HOST_KEY,
    make_host,
    make_machine,
    make_minutes,
    make_series_change,
    make_token,
    make_user,
)
from tests.modelling.fleet.moving.fleets import mail_server, observed_host

API = "/api/v1/"
TABLE = (
    "hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit\n"
    "kvm,ext4,xfs,varmail,filebench,1.4.9.1,1,12.5,MiB/s\n"
    "kvm,ext4,ext4,varmail,filebench,1.4.9.1,1,14.25,MiB/s\n"
)
SCOPES = ("read", "import", "delete", "review", "campaign", "notify", "laboratory")
LINE = (
    '{"hypervisor": "kvm", "host_fs": "xfs", "guest_fs": "xfs", "workload": "varmail", "benchmark": "filebench", '
    '"benchmark_version": "1.4.9.1", "vm_count": 1, "value": 9.5, "unit": "MiB/s"}\n'
)
DRAFT = {
    "slug": "my-lab",
    "title": "Mail server on KVM",
    "run_seconds": 120,
    "server": {"model": "HPE DL380 Gen10", "ram_gib": 64},
    "storage": {"description": "Two SSDs, RAID 1", "kind": "ssd", "sequential_read_limit": 550},
}
PUBLISHED = "Virtualizer,Host FS,Throughput (GB/s)\nKVM,ext4,1.2\nKVM,xfs,1.1\n"
CONDITIONS = """
[case_study]
slug = "their-lab"
title = "Two file systems below KVM"

[source]
title = "Which file system?"
address = "https://example.org/which"

[storage]
description = "Two NVMe disks"

[everywhere]
guest_fs = "ext4"
workload = "varmail"
benchmark = "filebench"
vm_count = "1"

[columns]
Virtualizer = "hypervisor"
"Host FS" = "host_fs"
"""
HOST = {
    **{"slug": "lab-1", "name": "Lab 1", "address": "192.0.2.10", "port": 22, "login": "root", "key_name": "lab"},
    **{"laboratory": "local", "drivers": ["native"], "pools": ["/srv/kdb image"]},
}
CAMPAIGN = {
    **{"slug": "lab-2-native", "title": "Lab 2, native", "host": "lab-2", "pool": "/srv/kdb", "driver": "native"},
    **{"engine": "fio", "host_file_systems": ["ext4", "xfs"], "workloads": ["varmail"], "run_seconds": 60},
    **{"repetitions": 1, "seed": 1},
}
ADVICE = {"personality": "[mail]\nrw=randrw\nrwmixread=57\nbs=16k\nfsync=1\nnumjobs=16\n", "hypervisor": "kvm"}
# Parameters that a public operation needs; where a path has others, the first row of the list gives them.
ASKED = {
    "ranking": {"axis": "hypervisor", "workload": "fileserver", "vm_count": 1},
    "heat_map": {"workload": "varmail", "hypervisor": "kvm"},
    "mix": {"axis": "fs-pair", "weights": "varmail:3,webserver:1", "hypervisor": "kvm"},
    "explanation": {"axis": "hypervisor", "workload": "fileserver", "a": "kvm", "b": "esxi"},
    "comparison": {"axis": "hypervisor", "workload": "fileserver", "entries": "kvm,esxi,xen"},
    "search": {"q": "btrfs"},
    "ask": {"text": "ext4 or xfs for mail"},
    "case_studies_retrieve": {"slug": "p0"},
    "claims_retrieve": {"id": "P0-C18"},
    "kit": {"slug": "cache-mode"},
}


@dataclass
class Walk:
    """Asks, and keeps each first answer by its operation."""

    operations: dict[str, tuple[str, str]]  # operationId: method, path with {parameters}
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, name: str, body: Any = None, media_type: str = "", **parameters: Any) -> Any:
        method, path = self.operations[name]
        address = re.sub(r"{(\w+)}", lambda match: str(parameters[match[1]]), path)
        query = {key: value for key, value in parameters.items() if f"{{{key}}}" not in path}
        options: dict[str, Any] = {"headers": self.headers, "query_params": query}
        shown = body
        if media_type == "multipart/form-data":
            shown = {key: value if isinstance(value, str) else "(a file)" for key, value in body.items()}
        elif body is not None:
            media_type = media_type or "application/json"
            body = json.dumps(body) if media_type == "application/json" else body
            options["content_type"] = media_type
        arguments = [] if body is None else [body]
        response = getattr(Client(), method)(address, *arguments, **options)
        assert response.status_code < 300, (name, response.content[:2000])
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        answer = response.json() if is_json else None
        exchange = {"parameters": parameters, "status": response.status_code, "answer": answer}
        if shown is not None:
            exchange |= {"media_type": media_type, "body": shown}
        self.found.setdefault(name, exchange)
        return answer


def walk(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every operation of the document with its request and answer, on the published evidence."""
    operations = {
        operation["operationId"]: (method, path)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    ask = Walk(operations)
    user = make_user("", username="ada", is_superuser=True)
    ask.headers["authorization"] = f"Bearer {make_token(user, SCOPES)}"
    loading.load()  # what makers advise
    _contribute(ask)
    _operate(ask)
    _be_told(ask)
    _measure(ask)
    _read(ask, schema)
    return {name: ask.found[name] for name in operations if name in ask.found}


def _run(job: Job | None) -> None:
    if job is not None:
        jobs.run(job.pk)


def _contribute(ask: Walk) -> None:
    ask("drafts_create", DRAFT)
    ask("drafts_update", {"title": "Mail server on KVM, two file systems"}, slug="my-lab")
    ask("drafts_measurements_create", TABLE, "text/csv", slug="my-lab")
    ask("drafts_measurements_create", LINE, "application/x-ndjson", slug="my-lab")
    table = TABLE.replace(",kvm", ",KVM").replace("ext4,xfs", "ext4,XFS5").replace("12.5", "12.75")
    made = ask(
        "imports_create",
        {"case_study": "my-lab", "file": SimpleUploadedFile("results.csv", table.encode())},
        "multipart/form-data",
    )
    _run(ImportBatch.objects.get(pk=made["id"]).job)
    ask("imports_correct", {"names": {"file_system": {"XFS5": "btrfs"}}}, id=made["id"])
    broken = Job.objects.filter(pk=ImportBatch.objects.get(pk=made["id"]).job_id)
    broken.update(state=Job.State.FAILED, finished_at=now(), error="The worker's disk is full.")
    ask("imports_read", id=made["id"])
    _run(ImportBatch.objects.get(pk=made["id"]).job)
    ask("imports_retrieve", id=made["id"])
    ask("imports_list", page_size=1)
    ask("imports_confirm", id=made["id"])
    _run(ImportBatch.objects.get(pk=made["id"]).job)
    ask("imports_discard", id=made["id"])
    ask("drafts_preview_create", slug="my-lab")
    for job in Job.objects.filter(kind__contains="preview", state="queued"):
        _run(job)
    ask("drafts_preview", slug="my-lab")
    ask("drafts_list", page_size=1)
    ask("drafts_retrieve", slug="my-lab")
    ask("drafts_submit", slug="my-lab")
    ask("drafts_return", {"reason": "The second run is missing."}, slug="my-lab")
    ask("drafts_submit", slug="my-lab")
    author = ask.headers["authorization"]
    ask.headers["authorization"] = (
        f"Bearer {make_token(make_user('reviewers', username='rev'), ('read', 'import', 'review'))}"
    )
    seen = ask("drafts_retrieve", slug="my-lab")["content_digest"]
    ask("drafts_publish", {"reason": "Checked against the raw outputs.", "content_digest": seen}, slug="my-lab")
    ask.headers["authorization"] = author
    ask("published_tables_create", {"table": PUBLISHED, "conditions": CONDITIONS}, "multipart/form-data")
    ask("drafts_create", {**DRAFT, "slug": "begun-by-mistake"})
    ask("drafts_delete", slug="begun-by-mistake")


def _operate(ask: Walk) -> None:
    ask("hosts_create", HOST)
    ask("hosts_contact", slug="lab-1")
    Host.objects.filter(slug="lab-1").update(offered_key=HOST_KEY)
    ask("hosts_accept_key", {"fingerprint": ssh.fingerprint(HOST_KEY)}, slug="lab-1")
    ask("hosts_check", slug="lab-1")
    ask("hosts_clear", slug="lab-1")
    make_user("operators", username="carol")
    ask("hosts_operators", {"operators": ["carol"]}, slug="lab-1")
    ask("hosts_stop", slug="lab-1")
    ask("hosts_statement", {"text": "kdb-facts: 1\nhypervisor: kvm\nimage_format: raw\n"}, slug="lab-1")
    _be_a_runner(ask)
    make_host("lab-2", name="Lab 2", pools=("/srv/kdb",))
    ask("campaigns_estimate", CAMPAIGN)
    ask("campaigns_replicate", {"case_study": "p3", "host": CAMPAIGN["host"], "short": True, "dry_run": True})
    ask("campaigns_study", {"kit": "io-mode", "host": CAMPAIGN["host"], "short": True, "dry_run": True})
    ask("campaigns_create", CAMPAIGN)
    slug = CAMPAIGN["slug"]
    ask("campaigns_start", slug=slug)
    ask("campaigns_pause", slug=slug)
    figure = {"machine": 0, "operation": "mixed", "throughput_mib_s": 12.5, "ops_per_s": 800.0, "latency_ms": 1.5}
    facts = {
        **{"tool_version": "3.33", "working_set_bytes": 16_777_216, "parameters": {"threads": 16}},
        "machines": [{"kernel": "6.1.0", "mount_options": "rw,relatime"}],
    }
    figures = [figure | {"duration_s": 60.0}]
    CampaignRun.objects.filter(campaign__slug=slug).update(state="done", figures=figures, facts=facts)
    run = CampaignRun.objects.filter(repetition=1).order_by("position").first()
    for done in (CampaignRun.objects.get(repetition=0), run):
        output = RunArtifact.objects.create(run=done, attempt=0, name="host.txt", data=b"{}", sha256="0" * 64)
    others = CampaignRun.objects.filter(repetition=1).exclude(pk=run.pk)
    others.update(state="failed", reason="no space: /srv/kdb has 3 MiB free")
    other = others.get()
    ask("campaign_outputs_content", id=output.pk)
    ask("campaigns_runs", slug=slug, page_size=1)
    ask("campaigns_deviations", slug=slug)
    ask("campaigns_retry_cell", slug=slug, position=other.position)
    others.update(state="failed", reason="no space: /srv/kdb has 3 MiB free")
    ask("campaigns_retry", slug=slug, position=other.position)
    ask("campaigns_plan", slug=slug)
    ask("campaigns_top_up", {"repetitions": 1}, slug=slug)
    ask("campaigns_nightly", {"minutes": 720}, slug=slug)
    ask("campaigns_draft", slug=slug)
    ask("campaigns_list", page_size=1)
    ask("campaigns_retrieve", slug=slug)
    ask("campaigns_cancel", slug=slug)
    ask("campaigns_removal", slug=slug)
    ask("campaigns_remove", {"deed": "archive"}, slug=slug)
    ask("campaigns_bring_back", slug=slug)
    _observe(ask)
    ask("hosts_list", page_size=1)
    ask("hosts_retrieve", slug="lab-1")
    ask("hosts_take", slug="lab-2")
    ask("hosts_removal", slug="lab-2")
    ask("hosts_remove", {"deed": "archive"}, slug="lab-2")
    ask("hosts_bring_back", slug="lab-2")
    _place(ask)


def _be_a_runner(ask: Walk) -> None:
    host = make_host("lab-3", name="Lab 3", address="", host_key="", is_by_runner=True)
    operator = ask.headers["authorization"]
    ask.headers["authorization"] = f"Bearer {ask('hosts_runner_token', slug='lab-3')['key']}"
    ask.found["hosts_runner_token"]["answer"] = {"key": "kdb_..."}  # no example holds a key
    ask("runner_scripts")
    expires = now() + timedelta(days=1)
    asked = {"words": ["uname", "-r"], "seconds": 60, "most_bytes": 2**20, "expires_at": expires}
    AskedCommand.objects.create(pk=17, host=host, **asked)
    runner = "3f0c6f5e-8d3b-4b57-9a51-5d8a4f1f7c11"
    (command,) = ask("runner_lease", {"runner": runner, "held": [], "room": 4})["commands"]
    answer = {"outcome": "done", "status": 0, "output": "Ni4xLjAK", "error_output": ""}
    ask("runner_answer", {"id": command["id"], **answer})
    ask.headers["authorization"] = operator
    host.delete()


def _be_told(ask: Walk) -> None:
    asked = {"way": "webhook", "address": "https://hooks.example.org/kdb", "topics": ["question"]}
    made = ask("notifications_create", asked)
    ask("notifications_test", id=made["id"])
    ask("notifications_deliveries", id=made["id"])
    ask("notifications_update", {"topics": ["question"]}, id=made["id"])
    ask("notifications_list")
    ask("notifications_retrieve", id=made["id"])
    ask("notifications_delete", id=made["id"])
    followed = ask("followed_questions_create", {"axis": "fs-pair", "workload": "mail", "hypervisor": "kvm"})
    ask("followed_questions_list", page_size=1)
    ask("followed_questions_delete", id=followed["id"])


def _place(ask: Walk) -> None:
    machine = mail_server(observed_host("kvm-1", name="KVM 1"), uuid="6a7b2a3c-0000-4000-8000-000000000002")
    ask("placement_mix_update", {"shares": {"varmail": 3}}, id=machine.pk)
    policy = {"mode": "confirm", "copy_rate_mib": 50, "keeps_days": 14}
    ask("placement_policy_update", policy, slug="kvm-1")
    ask("placement_policy_retrieve", slug="kvm-1")
    rules = {"margin": 0.1, "least_gaining": 0.6, "horizon": 2_592_000}
    plan = ask("placement_plans_create", {"hosts": ["kvm-1"], "rules": rules})
    advice = PlacementPlan.objects.get(pk=plan["id"])
    (only,) = advice.content["machines"]
    only |= {"is_move": True, "pool": "kvm-1/srv/xfs", "gain": 0.2}  # the papers alone carry no move
    advice.save()
    ask("placement_plans_confirm", {"machines": ["kvm-1/mail-1"]}, id=plan["id"])
    move = PlacementMove.objects.get()
    PlacementPolicy.objects.update(second_person=True)
    PlacementMove.objects.update(state="waiting", job=None, asked_by=make_user("administrators"))  # another one's
    ask("placement_moves_approve", id=move.pk)
    PlacementPolicy.objects.update(second_person=False)
    ask("placement_moves_call_off", id=move.pk)
    moved = {"state": "kept", "switched_at": now(), "runs_from": "new", "is_called_off": False, "job": None}
    PlacementMove.objects.update(**moved)
    ask("placement_moves_remove_old", id=move.pk)
    ask("placement_moves_back", id=move.pk)
    ask("placement_plans_list", page_size=1)
    ask("placement_plans_retrieve", id=plan["id"])
    ask("placement_moves_list", page_size=1)
    ask("placement_moves_retrieve", id=move.pk)
    PlacementMove.objects.update(state="cancelled")
    ask("placement_moves_create", {"disk": "kvm-1/mail-1", "pool": "kvm-1/srv/xfs"})
    PlacementMove.objects.update(state="cancelled")
    ask("placement_moves_empty", {"pool": "kvm-1/srv/ext4", "to": "kvm-1/srv/xfs"})
    ask("freeze_set", {"reason": "The storage network is repaired."})
    ask("freeze_retrieve")
    ask("freeze_end")
    ask("placement_audit_trail", host="kvm-1")


def _observe(ask: Walk) -> None:
    ask("observed_hosts_turn_on", {"every": 10}, slug="lab-2")
    ask("observed_hosts_turn_off", slug="lab-2")
    ask("observed_hosts_list", page_size=1)
    ask("observed_hosts_retrieve", slug="lab-2")
    machine = make_machine(Host.objects.get(slug="lab-2"), "mail", uuid="6a7b2a3c-0000-4000-8000-000000000001")
    make_minutes(machine, 1)
    pool = machine.disks.get().pool_id
    ask("observed_pools_list", page_size=1)
    ask("observed_pools_retrieve", id=pool)
    ask("observed_pools_change", {"is_target": True, "reserve_bytes": 1_000_000_000, "most_load": 80.0}, id=pool)
    ask("observed_machines_list", page_size=1)
    ask("observed_machines_retrieve", id=machine.pk)
    ask("observed_machines_change", {"guest_fs": "xfs", "is_pinned": True, "apart": "mail"}, id=machine.pk)
    ask("observed_machines_statistics", id=machine.pk, span="minute")
    ask("observed_machines_mix", id=machine.pk)
    ask("observed_hosts_removal", slug="lab-2")
    ask("observed_hosts_remove", {"deed": "forget"}, slug="lab-2")
    ask("detection_model")


def _measure(ask: Walk) -> None:
    make_user(username="bob")
    ask("laboratories_create", {"slug": "our-lab", "name": "Our laboratory"})
    ask("laboratories_members", {"username": "bob"}, slug="our-lab")
    ask("laboratories_list", page_size=1)
    ask("laboratories_retrieve", slug="our-lab")
    choices = [{"name": f"vdb {fs}", "place": "vdb", "settings": {"guest_fs": fs}} for fs in ("ext4", "xfs")]
    asked = {"laboratory": "our-lab", "machine": "vm-117", "workload": "fileserver", "choices": choices, "seconds": 30}
    sitting = ask("sittings_create", asked)
    ask("sittings_report", {"value": 1250.5}, id=sitting["id"], number=sitting["next"][0]["number"])
    ask("sittings_list", page_size=1)
    ask("sittings_retrieve", id=sitting["id"])
    Sitting.objects.update(state="spent", facts={"virtual": "yes", "hypervisor": "kvm"})
    SittingRun.objects.update(value=1250.5)
    ask("sittings_share", id=sitting["id"])
    change = make_series_change(Laboratory.objects.get(slug="our-lab"))
    ask("series_list", slug="our-lab")
    runs = [{"block": 1, "choice": choice["name"], "value": 1250.5} for choice in asked["choices"]]
    night = {name: asked[name] for name in ("machine", "workload", "choices")}
    ask("series_add_night", {**night, "runs": runs}, slug="our-lab")
    ask("series_retrieve", slug="our-lab", key=change.series)
    ask("series_changes_list", page_size=1)
    ask("series_changes_retrieve", id=change.pk)
    ask("series_changes_causes", id=change.pk)
    excuse = {"deed": "excuse", "reason": "The pool is being scrubbed.", "until": "2099-12-31"}
    ask("series_changes_handle", excuse, id=change.pk)
    ask("laboratories_remove_member", slug="our-lab", username="bob")
    ask("laboratories_create", {"slug": "begun-by-mistake", "name": "Not ours"})
    mistaken = ask("sittings_create", {**asked, "laboratory": "begun-by-mistake"})
    ask("sittings_remove", id=mistaken["id"])
    ask("laboratories_remove", slug="begun-by-mistake")


def _read(ask: Walk, schema: dict[str, Any]) -> None:
    """Read everything public. A list gives the parameters of its rows."""
    ask("advice", ADVICE)
    for name, (method, path) in ask.operations.items():
        if name in ask.found or method != "get":
            continue
        parameters = dict(ASKED.get(name, {}))
        if name.endswith("_list"):
            parameters["page_size"] = 1
        wanted = [key for key in re.findall(r"{(\w+)}", path) if key not in parameters]
        if wanted:
            (row,) = Client().get(path[: path.index("{")], {"page_size": 1}).json()["results"]
            parameters |= {key: row[key] for key in wanted}
        ask(name, **parameters)
    ask("case_studies_end", {"reason": "Nobody can say which cache mode it ran with."}, slug="p4")
    ask("case_studies_retract", {"reason": "The disk was not the one that was named."}, slug="my-lab")
