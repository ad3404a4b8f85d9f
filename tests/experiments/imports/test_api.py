"""Drafts and imports through the API, as a program uses them with a token."""

import json
import sys
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.timezone import now

from experiments.models import CaseStudy, ImportBatch, Measurement
from kdb.jobs import jobs
from kdb.models import Job
from tests.factories import make_case_study, make_token, make_user

pytestmark = pytest.mark.django_db

HEADER = "hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit\n"
ROW = "kvm,ext4,xfs,varmail,filebench,1.4.9.1,1,{},MiB/s\n"
DRAFT = {
    "slug": "lab",
    "title": "Mail server on KVM",
    "laboratory": "belgrade",
    "run_seconds": 120,
    "server": {"ram_gib": 64},
    "storage": {"description": "Two SSDs", "kind": "ssd"},
}


class Program:
    """A client with a token."""

    def __init__(self, client, user) -> None:
        self.client, self.headers = (
            client,
            {"authorization": f"Bearer {make_token(user, ('read', 'import', 'review', 'delete'))}"},
        )

    def __call__(self, method: str, path: str, body=None, status: int = 200, **options):
        if isinstance(body, dict) and options.get("content_type") != "multipart":
            options["content_type"] = "application/json"
        elif options.get("content_type") == "multipart":
            del options["content_type"]
        headers = self.headers | options.pop("headers", {})
        arguments = [] if body is None else [body]
        response = getattr(self.client, method)(f"/api/v1/{path}", *arguments, headers=headers, **options)
        assert response.status_code == status, response.content
        return response

    def upload(self, *contents: str, status: int = 202, **fields):
        files = [SimpleUploadedFile(f"f{n}.csv", content.encode()) for n, content in enumerate(contents)]
        body = {"case_study": "lab", "file": files, **fields}
        key = fields.pop("key", None)
        headers = {"idempotency-key": key} if key else {}
        body.pop("key", None)
        return self("post", "imports/", body, status, content_type="multipart", headers=headers)


@pytest.fixture
def program(client, published_evidence):
    return Program(client, make_user("researchers", username="ada"))


@pytest.fixture
def draft(program):
    program("post", "drafts/", DRAFT, 201)
    return CaseStudy.objects.get(slug="lab")


def values(slug: str = "lab") -> list[float]:
    rows = Measurement.objects.filter(configuration__case_study__slug=slug).order_by("pk")
    return list(rows.values_list("value", flat=True))


def worked(address: str, program) -> dict:
    jobs.run(ImportBatch.objects.latest("pk").job_id)
    return program("get", address.partition("/api/v1/")[2]).json()


def fields(response) -> set[str]:
    return {error["field"] for error in response.json()["errors"]}


# Drafts


def test_a_draft_is_begun_read_changed_and_deleted(program):
    made = program("post", "drafts/", DRAFT, 201).json()
    assert (made["owner"], made["status"], made["server"]["ram_gib"]) == ("ada", "draft", 64.0)
    assert [entry["action"] for entry in made["audit"]] == ["created"]
    assert [row["slug"] for row in program("get", "drafts/").json()["results"]] == ["lab"]
    changed = program("patch", "drafts/lab/", {"title": "Mail", "server": {"cpu": "Xeon"}}).json()
    assert (changed["title"], changed["laboratory"], changed["run_seconds"]) == ("Mail", "belgrade", 120)
    assert (changed["server"]["cpu"], changed["server"]["ram_gib"]) == ("Xeon", 64.0)
    program("delete", "drafts/lab/", status=204)
    assert not CaseStudy.objects.filter(slug="lab").exists()


@pytest.mark.parametrize(
    ("changed", "faulty"),
    [
        ({"slug": "p0"}, {"slug"}),
        ({"slug": "not a slug"}, {"slug"}),
        ({"title": ""}, {"title"}),
        ({"storage": {}}, {"storage.description"}),
        ({"server": {"ram_gib": "much"}}, {"server.ram_gib"}),
        ({"server": {"speed": 1}}, {"server.speed"}),
        ({"status": "published"}, {"status"}),
        ({"server": []}, {"server"}),
        ({"value_scope": "some"}, {"value_scope"}),
        ({"fits_cache": "perhaps"}, {"fits_cache"}),
        ({"measured_year": "last"}, {"measured_year"}),
    ],
)
def test_a_draft_that_is_wrong_is_refused_by_field(program, changed, faulty):
    assert fields(program("post", "drafts/", DRAFT | changed, 400)) == faulty


def test_a_draft_is_submitted_and_given_back(program, draft, client):
    response = program("post", "drafts/lab/submit/", {}, 409)
    assert "nothing to review" in response.json()["detail"]
    program("post", "drafts/lab/measurements/", HEADER + ROW.format(5), 201, content_type="text/csv")
    assert program("post", "drafts/lab/submit/", {}).json()["status"] == "submitted"
    assert program("post", "drafts/lab/return/", {"reason": "I forgot something"}).json()["status"] == "draft"
    program("post", "drafts/lab/submit/", {})
    reviewer = Program(client, make_user("reviewers"))
    assert fields(reviewer("post", "drafts/lab/publish/", {}, 400)) == {"reason"}
    wrong = {"reason": "Good.", "content_digest": 7}
    assert fields(reviewer("post", "drafts/lab/publish/", wrong, 400)) == {"content_digest"}
    assert reviewer("post", "drafts/lab/publish/", {"reason": "Good."}).json() == {"revision": 2}
    assert reviewer("post", "case-studies/lab/retract/", {"reason": "Wrong disk."}).json() == {"revision": 3}
    program("get", "drafts/lab/", status=404)


def published(reviewer):
    """Return the reviewer's answer to what they read a moment ago."""
    seen = reviewer("get", "drafts/lab/").json()["content_digest"]
    return reviewer("post", "drafts/lab/publish/", {"reason": "Good.", "content_digest": seen})


# Imports


def test_an_upload_is_read_confirmed_and_filed(program, draft):
    sent = program.upload(HEADER + ROW.format(5))
    batch = worked(sent["Location"], program)
    assert (batch["state"], batch["report"]["rows"], batch["door"]) == ("ready", 1, "api")
    program("post", f"imports/{batch['id']}/confirm/", {}, 202)
    assert worked(sent["Location"], program)["state"] == "filed"
    assert values() == [5]
    program("delete", f"imports/{batch['id']}/", status=204)
    assert values() == []


def test_errors_are_corrected_by_answers(program, draft):
    sent = program.upload(HEADER + ROW.format(5).replace("xfs", "XFS5"))
    batch = worked(sent["Location"], program)
    assert [unknown["name"] for unknown in batch["report"]["unknown"]] == ["XFS5"]
    program("patch", f"imports/{batch['id']}/", {"names": {"file_system": {"XFS5": "xfs"}}}, 202)
    assert worked(sent["Location"], program)["state"] == "ready"


def test_answers_may_come_with_the_upload_and_confirm_it(program, draft):
    answers = json.dumps({"context": {"vm_count": 2}})
    text = (HEADER + ROW.format(5)).replace(",vm_count", "").replace(",1,", ",")
    sent = program.upload(text, answers=answers, confirm="true")
    assert worked(sent["Location"], program)["state"] == "filed"


def test_a_request_with_a_key_is_done_once(program, draft):
    first = program.upload(HEADER + ROW.format(5), key="k1").json()["id"]
    assert program.upload(HEADER + ROW.format(5), key="k1", status=200).json()["id"] == first
    program.upload(HEADER + ROW.format(6), key="k1", status=422)
    program.upload(HEADER + ROW.format(6), key="x" * 81, status=400)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"case_study": "nothing"}, 404),
        ({"answers": "{"}, 400),
        ({"answers": '{"speed": 1}'}, 400),
        ({"answers": "[" * 200_000}, 400),
        ({"answers": r'{"names": {"workload": {"\u0000": "mail"}}}'}, 400),
        ({"answers": r'{"create": {"workload": {"mail": {"name": "\ud800"}}}}'}, 400),
        ({"answers": '{"create": {"workload": {"mail": ' + '{"a":[' * 400 + "]}" * 400 + "}}}"}, 400),
        ({"answers": SimpleUploadedFile("answers.json", b"{}")}, 400),
        ({"confirm": "perhaps"}, 400),
        ({"file": []}, 400),
    ],
)
@pytest.mark.sqlite
def test_an_upload_that_is_wrong_is_refused(program, draft, changed, status):
    program.upload(HEADER + ROW.format(5), status=status, **changed)
    assert not ImportBatch.objects.exists()


@pytest.mark.parametrize("body", [None, 0, "text", [1, "a"], {}])
def test_an_upload_as_json_has_no_file(program, draft, body):
    assert fields(program("post", "imports/", json.dumps(body), 400, content_type="application/json")) == {"file"}


@pytest.mark.parametrize("body", [{"title": "\ud800"}, {"server": {"model": ["\udfff"]}}, {"\ud800": 1}])
def test_half_a_character_is_refused_by_its_field(program, draft, body):
    response = program("patch", "drafts/lab/", json.dumps(body), 400, content_type="application/json")
    assert fields(response) == {name.replace("\ud800", "?") for name in body}


def test_an_integer_that_no_number_can_hold_is_refused(program, draft):
    response = program("patch", "drafts/lab/", {"server": {"ram_gib": 10**400}}, 400)
    assert "308 digits" in response.json()["detail"]


def test_what_is_not_ready_is_not_confirmed(program, draft):
    sent = program.upload("hello").json()
    program("post", f"imports/{sent['id']}/confirm/", {}, 409)


def test_a_list_shows_ones_own_imports_only(program, draft, django_assert_max_num_queries):
    program.upload(HEADER + ROW.format(5))
    ImportBatch.objects.create(case_study=make_case_study("other"), door="api")
    with django_assert_max_num_queries(12):
        rows = program("get", "imports/").json()["results"]
    assert [row["case_study"] for row in rows] == ["lab"]


# In bulk


def json_line(value: float) -> str:
    cells = ROW.strip().format(value).split(",")
    return json.dumps(dict(zip(HEADER.strip().split(","), cells, strict=True))) + "\n"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (HEADER + ROW.format(5) + ROW.format(6), "text/csv"),
        (
            "".join(json_line(value) for value in (5, 6)),
            "application/x-ndjson",
        ),
        ("[" + ", ".join(json_line(value) for value in (5, 6)) + "]\n", "application/json"),
    ],
)
def test_measurements_in_bulk_are_filed_before_the_answer(program, draft, body, content_type):
    response = program("post", "drafts/lab/measurements/", body, 201, content_type=content_type)
    assert (response.json()["state"], response.json()["report"]["rows"], values()) == ("filed", 2, [5, 6])
    assert program("post", "drafts/lab/measurements/", body, 200, content_type=content_type).json()["id"]
    assert values() == [5, 6]


def test_an_array_is_taken_apart_by_the_process_without_rights(program, draft, monkeypatch):
    monkeypatch.setattr("experiments.readers.json_array.lines_of", None)  # of this process
    body, options = f"[{json_line(5)}]", {"content_type": "application/json"}
    program("post", "drafts/lab/measurements/", body, 201, **options)
    refused = program("post", "drafts/lab/measurements/", f"{body} x", 400, **options)
    assert "something follows the array." in refused.json()["detail"]


def test_what_all_rows_have_in_common_may_stand_in_the_address(program, draft):
    body = "guest_fs,value\nxfs,5\next4,6\n".replace("value", "Throughput (MiB/s)")
    context = "hypervisor=kvm&host_fs=ext4&workload=mail&benchmark=filebench&vm_count=1"
    program("post", f"drafts/lab/measurements/?{context}", body, 201, content_type="text/csv")
    assert values() == [5, 6]
    refused = program("post", "drafts/lab/measurements/?speed=1", body, 400, content_type="text/csv")
    assert fields(refused) == {"speed"}


@pytest.mark.parametrize("left", ["running", "failed"])
def test_a_request_in_bulk_whose_server_died_is_done_when_it_is_sent_again(program, draft, monkeypatch, left):
    body, options = HEADER + ROW.format(12.5), {"content_type": "text/csv", "headers": {"idempotency-key": "mine"}}
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "run", lambda pk: sys.exit("killed"))
        with pytest.raises(SystemExit):
            program("post", "drafts/lab/measurements/", body, **options)
    silent = {"owner": "gone:1", "heartbeat_at": now() - timedelta(hours=1), "finished_at": None}
    ended = {"finished_at": now(), "error": "Given up after 5 attempts"}
    Job.objects.update(state=left, **(silent if left == "running" else ended))

    answer = program("post", "drafts/lab/measurements/", body, 200, **options).json()

    assert answer["state"] == "filed"
    assert values() == [12.5]
    assert ImportBatch.objects.count() == 1


def test_a_request_in_bulk_takes_the_place_of_a_worker_that_fell_silent(program, draft, monkeypatch):
    do, taken = jobs.run, []

    def run(pk):
        if taken:
            return do(pk)
        taken.append(pk)  # by a worker, which is killed, and so is the beat that would give it back
        Job.objects.filter(pk=pk).update(state="running", owner="gone:1", heartbeat_at=now() - timedelta(hours=1))
        return False

    monkeypatch.setattr(jobs, "run", run)
    answer = program("post", "drafts/lab/measurements/", HEADER + ROW.format(12.5), 201, content_type="text/csv").json()
    assert (answer["state"], values()) == ("filed", [12.5])


def test_errors_in_bulk_are_named_by_line_and_nothing_is_kept(program, draft):
    body = HEADER + ROW.format(5) + ROW.format(0) + ROW.format("x")
    errors = program("post", "drafts/lab/measurements/", body, 422, content_type="text/csv").json()["errors"]
    assert [(error["line"], error["field"]) for error in errors] == [(3, "value"), (4, "value")]
    assert values() == []
    assert ImportBatch.objects.get().state == ImportBatch.State.DISCARDED
    program("post", "drafts/lab/measurements/", HEADER + ROW.format(5), 201, content_type="text/csv")


def test_a_body_of_another_kind_is_refused(program, draft):
    program("post", "drafts/lab/measurements/", "value", 415, content_type="text/plain")
    program("post", "drafts/lab/measurements/", {"value": 1}, 400)
    program("post", "drafts/lab/measurements/", "", 400, content_type="text/csv")


def test_a_body_that_is_too_large_is_refused(program, draft, monkeypatch):
    monkeypatch.setattr("experiments.records.files.raw_files.take.__kwdefaults__", {"largest": 10})
    program("post", "drafts/lab/measurements/", HEADER, 413, content_type="text/csv")


# Files


def test_published_files_are_everybodys_byte_for_byte(program, draft, client):
    body = HEADER + ROW.format(5)
    program("post", "drafts/lab/measurements/", body, 201, content_type="text/csv")
    assert client.get("/api/v1/raw-files/").json()["results"] == []
    program("post", "drafts/lab/submit/", {})
    published(Program(client, make_user("reviewers")))
    (file,) = client.get("/api/v1/raw-files/").json()["results"]
    response = client.get(file["content"])
    assert b"".join(response.streaming_content).decode() == body
    assert response["ETag"] == f'"{file["sha256"]}"'
    assert response["Content-Disposition"] == 'attachment; filename="request.csv"'
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_the_template_is_there_to_download(client, suffix):
    response = client.get(f"/results-template.{suffix}")
    assert response.status_code == 200
    assert f"kdb-results.{suffix}" in response["Content-Disposition"]
    assert client.get("/results-template.exe").status_code == 404


def test_the_schema_of_bundles_is_published(client):
    schema = client.get("/case-study-bundle.schema.json").json()
    assert schema["properties"]["format"] == {"const": "kdb-case-study"}
