"""Rankings as data: the answers the published evidence must give, and how they are sent."""

import csv
import io

import pytest

from experiments.case_studies import lifecycle, retraction
from experiments.models import CaseStudy, Measurement
from kdb.disk_path import SETTINGS
from modelling.answer_store.selectors import current_snapshot
from modelling.estimation.ranking import METHOD
from modelling.evidence.question import Question
from tests import factories

MAIL_ON_KVM = "/api/v1/rankings/fs-pair/?workload=varmail&hypervisor=kvm"


def ranking(client, axis, **query):
    response = client.get(f"/api/v1/rankings/{axis}/", query)
    assert response.status_code == 200, response.content
    return response.json()


def order(answer):
    return [entry["key"] for entry in answer["entries"]]


def errors(response, status=400):
    assert response.status_code == status
    return {error["field"]: error for error in response.json()["errors"]}


def rows(response):
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))


# What must come out of the five papers


def test_a_question_without_evidence_says_what_is_missing(client, published_evidence):
    answer = ranking(client, "fs-pair", workload="varmail", hypervisor="kvm", vm_count=77)
    answer = answer if not answer["entries"] else ranking(client, "fs-pair", workload="atto", hypervisor="xen")
    assert answer["entries"] == answer["best"] == answer["worst"] == []
    assert answer["reference"] is None
    assert answer["missing"]


# Page and program get the same


def test_the_answer_is_the_kept_snapshot(client, published_evidence):
    answer = ranking(client, "fs-pair", workload="varmail", hypervisor="kvm", vm_count=1)
    snapshot = current_snapshot(Question("fs-pair", "varmail", hypervisor="kvm", vm_count=1))
    permanent = "/api/v1/rankings/fs-pair/?workload=varmail&hypervisor=kvm&vm_count=1&as_of=1"
    address = {"method": METHOD, "permanent": f"{permanent}&method={METHOD}", "pinned": None}
    assert answer == {
        **snapshot.result,
        "superseded_by": None,
        "fit": answer["fit"],
        "releases": answer["releases"],
        "doubt": "",
        "here": None,
        **address,
    }


def test_a_machine_is_held_against_the_evidence_and_narrows_nothing(client, published_evidence):
    plain, mine = client.get(MAIL_ON_KVM), client.get(f"{MAIL_ON_KVM}&disks=nvme&images=rbd")
    assert mine.json()["entries"] == plain.json()["entries"]
    states = {fact["name"]: fact["state"] for fact in mine.json()["fit"]["facts"]}
    assert (states["storage"], states["host_storage"], states["hypervisor"]) == ("differs", "differs", "matches")
    assert "Your NVMe was never measured here: all evidence is from hard disks" in mine.json()["fit"]["sentence"]
    assert mine["ETag"] != plain["ETag"]


def test_a_machine_that_is_not_understood_is_refused_by_field(client, published_evidence):
    refusals = errors(client.get(f"{MAIL_ON_KVM}&disks=tape&images=ext4"))
    assert "nvme" in refusals["disks"]["allowed"]
    assert "host_fs" in refusals["images"]["message"]


def test_keys_come_in_the_documented_order_on_every_database(client, published_evidence):
    answer = ranking(client, "hypervisor", workload="fileserver")
    assert list(answer)[:4] == ["question", "revision", "superseded_by", "method"]
    assert list(answer["entries"][0])[:4] == ["rank", "part", "key", "label"]
    assert list(answer["question"])[:2] == ["axis", "workload"]


@pytest.mark.parametrize(
    ("alias", "slug"), [("mail", "varmail"), ("rfa", "randomfileaccess"), ("web", "webserver"), ("MAIL", "varmail")]
)
def test_aliases_are_understood(client, published_evidence, alias, slug):
    by_alias = client.get("/api/v1/rankings/hypervisor/", {"workload": alias})
    by_slug = client.get("/api/v1/rankings/hypervisor/", {"workload": slug})
    assert by_alias.json() == by_slug.json()
    assert by_alias["ETag"] == by_slug["ETag"]
    assert by_alias.json()["question"]["workload"] == slug


# CSV


@pytest.mark.parametrize("workload", ["varmail", "fileserver"])
def test_csv_says_what_json_says(client, published_evidence, workload):
    path = f"/api/v1/rankings/hypervisor/?workload={workload}"
    entries = client.get(path).json()["entries"]
    by_address, by_header = client.get(f"{path}&format=csv"), client.get(path, headers={"accept": "text/csv"})
    assert by_address.content == by_header.content
    csv_rows = rows(by_address)
    assert len(csv_rows) == len(entries) > 0
    for row, entry in zip(csv_rows, entries, strict=True):
        for name in ("ratio", "low", "high"):
            assert (float(row[name]) if row[name] else None) == entry[name]
        for name in ("rank", "part", "case_studies", "measurements", "derived", "findings"):
            assert int(row[name]) == entry[name]
        for name in ("key", "label", "grade"):
            assert row[name] == entry[name]
        assert row["tied_with"].split() == entry["tied_with"]
        assert list(row) == list(entry)


def test_the_points_of_the_chart_are_rows_too(client, published_evidence):
    path = "/api/v1/rankings/hypervisor/?workload=fileserver"
    points = client.get(path).json()["side_by_side"]
    csv_rows = rows(client.get(f"{path}&format=csv&rows=side_by_side"))
    assert [(row["other"], float(row["ratio"]), row["case_studies"]) for row in csv_rows] == [
        (point["other"], point["ratio"], " ".join(point["case_studies"])) for point in points
    ]
    assert len(points) > 0
    refused = client.get(f"{path}&format=csv&rows=nothing")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "rows")


def test_missing_numbers_are_empty_cells_never_zero(client, published_evidence):
    response = client.get(MAIL_ON_KVM, headers={"accept": "text/csv"})
    assert {row["ratio"] for row in rows(response) if row["grade"] == "D"} == {""}


def test_a_csv_file_is_named_after_its_question(client, published_evidence):
    disposition = client.get(f"{MAIL_ON_KVM}&format=csv")["Content-Disposition"]
    assert disposition == f'attachment; filename="kdb-fs-pair-varmail-kvm-revision-1-method-{METHOD}.csv"'


def test_the_address_wins_over_the_accept_header(client, published_evidence):
    response = client.get(f"{MAIL_ON_KVM}&format=csv", headers={"accept": "application/json"})
    assert response["Content-Type"].startswith("text/csv")


# Conditional requests


def test_an_answer_one_has_is_not_sent_again(client, published_evidence):
    first = client.get(MAIL_ON_KVM)
    by_tag = client.get(MAIL_ON_KVM, headers={"if-none-match": first["ETag"]})
    by_time = client.get(MAIL_ON_KVM, headers={"if-modified-since": first["Last-Modified"]})
    for response in (by_tag, by_time):
        assert response.status_code == 304
        assert response.content == b""
        assert response["ETag"] == first["ETag"]
        assert "Accept" in response["Vary"]
        assert "must-revalidate" in response["Cache-Control"]


def test_a_cache_before_the_server_may_keep_what_was_known_and_for_seconds_what_is(client, published_evidence):
    for address in (MAIL_ON_KVM, MAIL_ON_KVM.replace("rankings/fs-pair/", "heat-maps/")):
        now, then = client.get(address), client.get(f"{address}&as_of=1&method={METHOD}")
        assert "s-maxage=10" in now["Cache-Control"]
        assert "immutable" in then["Cache-Control"]
        for response in (now, then):
            assert "public" in response["Cache-Control"]
            assert "Cookie" not in response.get("Vary", "")
            assert "Set-Cookie" not in response


def test_an_answer_as_of_a_revision_stays_the_same_bytes_when_the_knowledge_grows(client, published_evidence):
    address = "/api/v1/rankings/fs-pair/?workload=fileserver&hypervisor=kvm&vm_count=1"
    client.get(address)
    before = client.get(f"{address}&as_of=1")
    study = factories.make_case_study()
    for guest_fs, value in (("ext4", 300.0), ("xfs", 200.0)):
        factories.make_measurement(value, case_study=study, guest_fs=guest_fs, workload="fileserver")
    lifecycle.publish([study], reason="new")
    assert client.get(address).json()["superseded_by"] == 2
    after = client.get(f"{address}&as_of=1")
    assert (after.content, after["ETag"]) == (before.content, before["ETag"])


def test_each_format_has_its_own_tag(client, published_evidence):
    tag = client.get(MAIL_ON_KVM)["ETag"]
    response = client.get(f"{MAIL_ON_KVM}&format=csv", headers={"if-none-match": tag})
    assert response.status_code == 200
    assert response["ETag"] != tag


def test_a_publication_that_changes_the_answer_changes_the_tag(client, published_evidence):
    path = "/api/v1/rankings/fs-pair/?workload=fileserver&hypervisor=kvm&vm_count=1"
    first = client.get(path)
    study = factories.make_case_study()
    for guest_fs, value in (("ext4", 300.0), ("xfs", 200.0)):
        factories.make_measurement(value, case_study=study, guest_fs=guest_fs, workload="fileserver")
    lifecycle.publish([study], reason="new")
    current = client.get(path, headers={"if-none-match": first["ETag"]})
    # The previous answer stands until the worker has the new one, and says so.
    assert (current.status_code, current.json()["revision"], current.json()["superseded_by"]) == (200, 1, 2)
    current_snapshot(Question("fs-pair", "fileserver", hypervisor="kvm", vm_count=1)).delete()
    renewed = client.get(path, headers={"if-none-match": current["ETag"]})
    assert (renewed.status_code, renewed.json()["revision"], renewed.json()["superseded_by"]) == (200, 2, None)


def test_head_tells_what_get_would(client, published_evidence):
    get, head = client.get(MAIL_ON_KVM), client.head(MAIL_ON_KVM)
    assert head.status_code == 200
    assert head.content == b""
    assert all(head[name] == get[name] for name in ("ETag", "Last-Modified", "Content-Type", "Content-Length"))


# What is refused


def test_an_unknown_value_is_refused_with_what_is_allowed(client, published_evidence):
    path = "/api/v1/rankings/fs-pair/?workload=gaming&hypervisor=bhyve&guest_fs=zfs&grade=E&vm_count=0&storage=tape"
    refusals = errors(client.get(path))
    assert refusals["workload"]["allowed"] == ["atto", "fileserver", "randomfileaccess", "varmail", "webserver"]
    assert refusals["hypervisor"]["allowed"] == ["esxi", "hyper-v", "kvm", "proxmox", "qemu-tcg", "xen", "native"]
    assert refusals["guest_fs"]["allowed"] == ["btrfs", "ext4", "ntfs", "vmfs", "xfs"]
    assert refusals["grade"]["allowed"] == ["A", "B", "C", "D"]
    assert refusals["storage"]["allowed"] == ["hdd", "ssd", "nvme", "mixed"]
    assert "1" in refusals["vm_count"]["message"]
    assert "'bhyve'" in refusals["hypervisor"]["message"]


def test_a_question_needs_a_workload(client, published_evidence):
    assert "varmail" in errors(client.get("/api/v1/rankings/fs-pair/"))["workload"]["allowed"]


def test_an_unknown_filter_is_refused_with_the_allowed_ones(client, published_evidence):
    refusals = errors(client.get(f"{MAIL_ON_KVM}&vms=1"))
    others = ("disks", "images", "rows", "as_of", "method", "here", "format")
    assert refusals["vms"]["allowed"] == [*QUESTION_FILTERS, *others]


QUESTION_FILTERS = [name for name in Question.__dataclass_fields__ if name != "axis"]


AXES = [
    *("fs-pair", "guest-fs", "host-fs", "host-storage", "hypervisor", "configuration"),
    *(setting.axis for setting in SETTINGS.values()),
]


def test_an_unknown_axis_is_refused_with_the_allowed_ones(client, db):
    refusals = errors(client.get("/api/v1/rankings/colour/?workload=varmail"), status=404)
    assert refusals["axis"]["allowed"] == AXES


def test_a_value_with_a_percent_sign_is_quoted_as_it_is(client, published_evidence):
    assert "'100%s'" in errors(client.get("/api/v1/rankings/fs-pair/?workload=100%25s"))["workload"]["message"]


def test_the_axes_are_listed_with_their_addresses(client, published_evidence):
    axes = client.get("/api/v1/rankings/").json()["axes"]
    assert [axis["axis"] for axis in axes] == AXES
    for axis in axes:
        assert axis["label"]
        assert client.get(axis["url"], {"workload": "varmail"}).status_code == 200


# Cost


def test_a_warm_answer_is_one_query(client, published_evidence, django_assert_num_queries):
    first = client.get(MAIL_ON_KVM)
    with django_assert_num_queries(1):
        client.get(MAIL_ON_KVM)
    with django_assert_num_queries(1):
        client.get(MAIL_ON_KVM, headers={"if-none-match": first["ETag"]})


# Status


def test_status_counts_what_is_published(client, published_evidence):
    status = client.get("/api/v1/status/").json()
    counted = {name: status[name] for name in ("case_studies", "measurements", "derived", "findings", "claims")}
    assert counted == {"case_studies": 7, "measurements": 158, "derived": 98, "findings": 36, "claims": 282}
    assert status["revision"] == 1
    assert status["configurations"] > 0
    assert set(status["health"]) == {"database", "broker", "workers", "storage"}
    assert all(set(part) >= {"status", "detail"} for part in status["health"].values())


def test_status_counts_once_a_revision_and_never_reads_measurements(
    client, published_evidence, django_assert_num_queries
):
    with django_assert_num_queries(11) as queries:
        counted = client.get("/api/v1/status/").json()["measurements"]
    assert not [query for query in queries if "experiments_measurement" in query["sql"]]
    assert counted == Measurement.objects.filter(configuration__case_study__status="published").count()
    with django_assert_num_queries(5):
        client.get("/api/v1/status/")


def test_drafts_and_retracted_case_studies_do_not_count(client, published_evidence):
    before = client.get("/api/v1/status/").json()
    factories.make_measurement(case_study=factories.make_case_study("draft"))
    assert client.get("/api/v1/status/").json()["measurements"] == before["measurements"]
    retraction.retract(CaseStudy.objects.get(slug="p1"), reason="test")
    after = client.get("/api/v1/status/").json()
    retracted = Measurement.objects.filter(configuration__case_study__slug="p1").count()
    assert after["case_studies"] == before["case_studies"] - 1
    assert after["measurements"] == before["measurements"] - retracted
    assert after["revision"] == before["revision"] + 1


def test_an_empty_knowledge_base_has_a_status(client, db):
    status = client.get("/api/v1/status/").json()
    assert status["revision"] == status["measurements"] == 0
