"""Results into a draft: received, read, corrected, confirmed, taken out again; all of it or nothing."""

import hashlib
import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from experiments.case_studies import bundle_schema, bundles, lifecycle, measurement_rows, reviews
from experiments.imports import normalise, pipeline
from experiments.imports import words as import_words
from experiments.imports.pipeline import ImportRefused, Unusable
from experiments.imports.reading import FileContents, ImportFiler, NoLongerWanted
from experiments.models import (
    AuditEntry,
    CaseStudy,
    Claim,
    Configuration,
    FileSystem,
    ImportBatch,
    Measurement,
    RawChunk,
    RawFile,
)
from experiments.readers import bundle as bundle_reader
from experiments.readers.bundle import members_of
from experiments.records.files import raw_files
from kdb.jobs import jobs
from kdb.models import Job
from tests.factories import make_case_study, make_claim, make_publication, make_user

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parents[2] / "data"
HEADER = "hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit"
TABLE = f"""{HEADER}
KVM,ext4,XFS,mail,filebench,1.4.9.1,1,10.5,MiB/s
KVM,ext4,XFS,mail,filebench,1.4.9.1,2,6.25,MiB/s
kvm,ext4,btrfs,varmail,filebench,1.4.9.1,1,12,MiB/s
kvm,ext4,btrfs,varmail,filebench,1.4.9.1,1,13,MiB/s
native,ext4,,varmail,filebench,1.4.9.1,,20,MiB/s
"""
FILEBENCH = (DATA / "filebench/filebench-1.4.9.1-btrfs-fileserver.txt").read_bytes()
State = ImportBatch.State


@pytest.fixture(autouse=True)
def _catalogue(published_evidence):
    """The names that files use."""


@pytest.fixture
def draft() -> CaseStudy:
    return make_case_study("lab", owner=make_user(username="ada"))


def upload(content: str | bytes, name: str = "results.csv") -> raw_files.Upload:
    return raw_files.take(name, [content.encode() if isinstance(content, str) else content])


SYSBENCH = """sysbench 1.0.20 (using system LuaJIT)
5GiB total file size
Block size 16KiB
Doing sequential read test
    reads/s:                      14646.06
    writes/s:                     0.00
    read, MiB/s:                  228.84
    written, MiB/s:               0.00
    total time:                          30.0004s
"""


def receive(draft: CaseStudy, *contents: str | bytes, **options) -> ImportBatch:
    files = [upload(content, f"file-{number}.txt") for number, content in enumerate(contents, start=1)]
    return pipeline.receive(draft, files, **{"user": draft.owner, "door": "command", **options})[0]


def worked(batch: ImportBatch) -> ImportBatch:
    """Let a worker do the job."""
    batch.refresh_from_db()
    assert jobs.run(batch.job_id), Job.objects.get(pk=batch.job_id).error
    batch.refresh_from_db()
    return batch


def filed(draft: CaseStudy, *contents: str | bytes, **options) -> ImportBatch:
    batch = worked(receive(draft, *contents, is_confirmed=True, **options))
    assert batch.state == State.FILED, batch.report
    return batch


def rows(draft: CaseStudy) -> list[tuple]:
    measurements = Measurement.objects.filter(configuration__case_study=draft).order_by("pk")
    return [(m.configuration.slug, m.vm_count, m.metric, m.repetition, m.value, m.line) for m in measurements]


# From bytes to rows


@pytest.mark.parametrize(("overtaken", "walks"), [(0, 1), (1, 2), (2, 3)])
def test_an_import_that_another_overtakes_is_read_anew_and_numbers_its_rows_after_the_others(
    draft, monkeypatch, overtaken, walks
):
    """Rows are named outside the transaction that writes them: what they rest on may change in between."""
    line = f"{HEADER}\nkvm,ext4,xfs,varmail,filebench,1.4.9.1,1,{{}},MiB/s\n"
    walk, done = ImportFiler.read, []

    def read(filing: ImportFiler):
        report = walk(filing)
        done.append(filing.batch.pk)
        if done.count(mine.pk) <= overtaken and filing.batch == mine:
            filed(draft, line.format(10 + len(done)))
        return report

    mine = receive(draft, line.format(5), is_confirmed=True)
    monkeypatch.setattr(ImportFiler, "read", read)
    assert worked(mine).state == State.FILED
    assert done.count(mine.pk) == walks
    filed_rows = rows(draft)
    assert [repetition for *_, repetition, _, _ in filed_rows] == list(range(1, overtaken + 2))
    assert filed_rows[-1][4] == 5


def test_what_was_read_waits_to_be_confirmed(draft):
    batch = worked(receive(draft, TABLE))
    assert (batch.state, batch.report["rows"], rows(draft)) == (State.READY, 5, [])
    pipeline.confirm(batch)
    assert worked(batch).state == State.FILED
    assert rows(draft) == [
        ("kvm-xfs-on-ext4", 1, "throughput", 1, 10.5, 2),
        ("kvm-xfs-on-ext4", 2, "throughput", 1, 6.25, 3),
        ("kvm-btrfs-on-ext4", 1, "throughput", 1, 12, 4),
        ("kvm-btrfs-on-ext4", 1, "throughput", 2, 13, 5),
        ("native-ext4", 0, "throughput", 1, 20, 6),
    ]
    draft.refresh_from_db()
    assert draft.vm_counts == [1, 2]
    assert AuditEntry.objects.get(case_study=draft).action == AuditEntry.Action.IMPORTED


def test_a_benchmarks_output_needs_what_it_cannot_know(draft):
    batch = worked(receive(draft, FILEBENCH))
    assert batch.state == State.FAULTY
    assert [fault["field"] for fault in batch.report["faults"]] == ["configuration"]
    context = {"hypervisor": "kvm", "host_fs": "ext4", "guest_fs": "btrfs", "vm_count": 1}
    pipeline.correct(batch, {"context": context})
    assert worked(batch).state == State.READY
    pipeline.confirm(batch)
    worked(batch)
    assert {(row[0], row[2]) for row in rows(draft)} == {
        ("kvm-btrfs-on-ext4", "throughput"),
        ("kvm-btrfs-on-ext4", "operation_rate"),
        ("kvm-btrfs-on-ext4", "latency"),
    }


def test_each_part_of_a_file_is_described_or_left_out(draft):
    text = f"### ext4\n{SYSBENCH}### XFS\n{SYSBENCH}{SYSBENCH}### Btrfs\n{SYSBENCH}"
    batch = worked(receive(draft, text, answers={"context": {"hypervisor": "kvm", "host_fs": "ext4", "vm_count": "1"}}))
    (about,) = batch.report["files"]
    assert about["parts"] == [
        {"name": "ext4", "line": 1, "runs": 1},
        {"name": "xfs", "line": 11, "runs": 2},
        {"name": "btrfs", "line": 30, "runs": 1},
    ]
    assert [(fault["line"], fault["field"]) for fault in batch.report["faults"]] == [
        (1, "part"),
        (11, "part"),
        (30, "part"),
    ]
    parts = {
        "ext4": {"context": {"guest_fs": "ext4"}},
        "xfs": {"context": {"guest_fs": "xfs", "host_fs": "xfs"}},
        "btrfs": {"leave_out": True},
    }
    file_answers = {"parts": parts, "runs": {str(about["runs"][2]["line"]): {"vm_count": "2"}}}
    context = {"hypervisor": "kvm", "host_fs": "ext4", "vm_count": "1", "workload": "file"}
    pipeline.correct(batch, {"context": context, "files": {about["sha256"]: file_answers}})
    assert worked(batch).state == State.READY, batch.report
    pipeline.confirm(batch)
    worked(batch)
    assert [row[:4] for row in rows(draft) if row[2] == "throughput"] == [
        ("kvm-ext4-on-ext4", 1, "throughput", 1),
        ("kvm-xfs-on-xfs", 1, "throughput", 1),
        ("kvm-xfs-on-xfs", 2, "throughput", 1),
    ]


def test_what_is_said_of_a_part_or_a_run_that_is_not_there_is_a_fault(draft):
    text = f"### ext4\n{SYSBENCH}### XFS\n{SYSBENCH}"
    parts = {name: {"context": {"guest_fs": name}} for name in ("ext4", "xfs", "zfs")}
    file_answers = {hashlib.sha256(text.encode()).hexdigest(): {"parts": parts, "runs": {"4": {"vm_count": "1"}}}}
    context = {"hypervisor": "kvm", "host_fs": "ext4", "vm_count": "1", "workload": "file"}
    batch = worked(receive(draft, text, answers={"context": context, "files": file_answers}))
    faults = {fault["field"]: (fault["found"], fault["expected"]) for fault in batch.report["faults"]}
    assert faults["parts"] == ("zfs", "one of ext4, xfs")
    assert faults["runs"][0] == "line 4"
    assert faults["runs"][1].startswith("a line on which a run stands: ")


OF_MACHINES = """hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,machine,value,unit,excluded_because,excluded_by
kvm,ext4,xfs,mail,filebench,2,1,10,MiB/s,,
kvm,ext4,xfs,mail,filebench,2,2,12,MiB/s,,
kvm,ext4,xfs,mail,filebench,2,1,11,MiB/s,,
kvm,ext4,xfs,mail,filebench,2,2,500,MiB/s,a backup ran,its author
"""


def test_numbers_of_single_machines_are_repeated_each_for_itself(draft):
    batch = filed(draft, OF_MACHINES)
    measurements = Measurement.objects.filter(configuration__case_study=draft).order_by("pk")
    assert list(measurements.values_list("machine", "repetition", "excluded_by")) == [
        (1, 1, ""),
        (2, 1, ""),
        (1, 2, ""),
        (2, 2, "its author"),
    ]
    assert not [finding for finding in batch.report["lint"] if finding["rule"] == "wide spread"]  # 500 counts nowhere


def test_a_cell_is_of_single_machines_or_of_all_of_them(draft):
    filed(draft, OF_MACHINES)
    batch = worked(receive(draft, OF_MACHINES.replace(",2,1,", ",2,,")))
    (fault,) = batch.report["faults"]
    assert (fault["field"], fault["found"], fault["count"]) == ("machine", "nothing", 2)
    CaseStudy.objects.filter(pk=draft.pk).update(value_scope=CaseStudy.Scope.AGGREGATE)
    draft.refresh_from_db()
    batch = worked(receive(draft, OF_MACHINES.replace("mail", "fileserver")))
    assert {fault["expected"] for fault in batch.report["faults"]} == {
        "nothing: values here are of all machines together"
    }


def test_a_known_log_with_other_line_ends_is_known(draft):
    context = {"hypervisor": "kvm", "host_fs": "ext4", "guest_fs": "xfs", "vm_count": 1, "workload": "varmail"}
    twin = SYSBENCH.replace("\n", "\r\n")
    again = worked(receive(draft, SYSBENCH, twin, answers={"context": context}))
    assert [fault["found"] for fault in again.report["faults"]] == ["the text of file-1.txt again"]
    filed(draft, SYSBENCH + "\n", answers={"context": context})
    late = worked(receive(draft, twin + "\r\n", answers={"context": context}))
    assert [fault["found"] for fault in late.report["faults"]] == ["the text of file-1.txt again"]
    filed(draft, SYSBENCH + "\nanother run with the same figures", answers={"context": context})


def test_facts_of_a_machine_are_shown_and_suggested_and_do_not_count_by_themselves(draft):
    facts = Path(__file__).parents[2] / "data/facts"
    files = {"pack.zip/host/findmnt.json": "findmnt.json", "qm.txt": "qm.txt"}
    uploads = [upload((facts / path).read_bytes(), name) for name, path in files.items()]
    context = {"hypervisor": "kvm", "guest_fs": "xfs", "vm_count": 1, "workload": "varmail"}
    answers = {"context": context}
    batch = pipeline.receive(
        draft, [*uploads, upload(SYSBENCH, "run.txt")], user=draft.owner, door="command", answers=answers
    )[0]
    report = worked(batch).report
    assert report["fault_count"] == 0
    assert report["suggested"] == {
        **{"host_fs": "ext4", "host_mount_options": "rw,noatime", "vm_vcpus": "8", "vm_ram_gib": "8"},
        **{"cache_mode": "writeback", "image_format": "qcow2", "disk_bus": "scsi"},
        **{"discard": "unmap", "iothread": "yes", "io_mode": "native"},
    }
    assert {fact["about"] for fact in report["files"][1]["facts"]} == {"machine", "scsi0", "scsi1"}
    pipeline.confirm(batch)
    worked(batch)
    (configuration,) = draft.configurations.all()
    assert (configuration.host_fs, configuration.cache_mode, configuration.vm_vcpus) == (None, "", None)


def test_repetitions_go_on_where_an_earlier_import_ended(draft):
    filed(draft, TABLE)
    filed(draft, TABLE.replace("10.5", "10.6"))
    assert [row[3] for row in rows(draft) if row[0] == "kvm-btrfs-on-ext4"] == [1, 2, 3, 4]


def test_a_repetition_given_twice_is_a_fault(draft):
    numbered = f"{HEADER},repetition\nkvm,ext4,xfs,mail,filebench,1,1,5,MiB/s,{{}}\n"
    filed(draft, numbered.format(3))
    batch = worked(receive(draft, numbered.format(3) + "# again"))
    assert [(fault["field"], fault["found"]) for fault in batch.report["faults"]] == [("repetition", "3")]


def test_a_cell_has_one_unit(draft):
    mixed = TABLE.replace("13,MiB/s", "13,MB/s")
    batch = worked(receive(draft, mixed))
    assert [(fault["line"], fault["field"]) for fault in batch.report["faults"]] == [(5, "unit")]


# What is wrong is said, all at once


def test_every_error_is_listed_with_file_line_field_and_what_is_expected(draft):
    batch = worked(receive(draft, TABLE.replace("10.5", "0").replace("12,MiB/s", "12,KB/s").replace("XFS", "ZFS")))
    assert batch.state == State.FAULTY
    assert [(f["file"], f["line"], f["field"], f["found"]) for f in batch.report["faults"]] == [
        ("file-1.txt", 2, "value", "0"),
        ("file-1.txt", 4, "unit", "KB/s"),
    ]
    assert batch.report["unknown"] == [
        {"file": "file-1.txt", "line": 2, "kind": "file_system", "name": "ZFS", "count": 2}
    ]
    with pytest.raises(ImportRefused):
        pipeline.confirm(batch)


def test_an_unknown_name_is_mapped_or_becomes_a_new_entry(draft):
    batch = worked(receive(draft, TABLE.replace("XFS", "ZFS").replace("btrfs", "bfs")))
    answers = {
        "names": {"file_system": {"bfs": "btrfs"}},
        "create": {"file_system": {"ZFS": {"slug": "zfs", "name": "OpenZFS"}}},
    }
    pipeline.correct(batch, answers)
    assert worked(batch).report["new_names"] == [{"kind": "file_system", "slug": "zfs", "name": "OpenZFS"}]
    assert not FileSystem.objects.filter(slug="zfs").exists()
    pipeline.confirm(batch)
    worked(batch)
    assert {row[0] for row in rows(draft)} == {"kvm-zfs-on-ext4", "kvm-btrfs-on-ext4", "native-ext4"}
    entry = FileSystem.objects.get(slug="zfs")
    assert "lab" in entry.source


def test_a_foreign_column_hides_no_other_error_and_is_mapped_or_ignored(draft):
    lines = TABLE.replace("XFS", "ZFS").splitlines()
    table = "\n".join([lines[0] + ",CPU idle,rpm", *(f"{line},97,{number}" for number, line in enumerate(lines[1:]))])
    batch = worked(receive(draft, table))
    unknown = [("column", "CPU idle", 1), ("column", "rpm", 1), ("file_system", "ZFS", 2)]
    assert [(u["kind"], u["name"], u["line"]) for u in batch.report["unknown"]] == unknown
    pipeline.correct(
        batch, {"names": {"file_system": {"ZFS": "xfs"}}, "columns": {"CPU idle": "ignore", "rpm": "parameter:rpm"}}
    )
    assert worked(batch).state == State.READY, batch.report
    assert [json.loads(row["parameters"]) for row in batch.report["sample"]] == [{"rpm": n} for n in range(5)]


@pytest.mark.parametrize(
    "answers",
    [
        {"names": {"file_system": {"ZFS": "zfs"}}},
        {"create": {"file_system": {"ZFS": {"slug": "xfs", "name": "ZFS"}}}},
        {"create": {"file_system": {"ZFS": {"slug": "", "name": "ZFS"}}}},
        {"create": {"hypervisor": {"KVM": {"slug": "kvm2", "name": "KVM 2"}}}},
        {"create": {"file_system": {"ZFS": {"slug": "zfs", "name": "ZFS", "source": "x"}}}},
    ],
)
@pytest.mark.sqlite
def test_an_answer_that_fits_nothing_is_a_fault(draft, answers):
    batch = receive(draft, TABLE.replace("XFS", "ZFS"), answers=answers)
    assert worked(batch).state == State.FAULTY
    assert batch.report["fault_count"] >= 1


@pytest.mark.parametrize(
    "answers",
    [
        {"speed": 1},
        {"context": {"value": "1"}},
        {"context": []},
        {"names": {"planet": {"a": "b"}}},
        {"names": {"workload": {"a": 1}}},
        {"files": {"x": {"what": 1}}},
        {"files": {"x": {"runs": {"first": {"vm_count": "1"}}}}},
        {"files": {"x": {"runs": {"1": {"value": "1"}}}}},
        {"files": {"x": {"parts": ["ext4"]}}},
        {"files": {"x": {"parts": {"ext4": {"guest_fs": "ext4"}}}}},
        {"files": {"x": {"parts": {"ext4": {"context": {"value": "1"}}}}}},
        {"create": []},
        {"columns": {"speed": "nothing of ours"}},
        {"columns": {"speed": "parameter:"}},
        {"columns": {"speed": ["note"]}},
        [],
    ],
)
def test_answers_of_another_shape_are_refused(draft, answers):
    with pytest.raises(Unusable):
        receive(draft, TABLE, answers=answers)


def test_a_file_without_results_blocks_until_it_is_left_out(draft):
    batch = worked(receive(draft, TABLE, "hello"))
    assert [fault["field"] for fault in batch.report["faults"]] == ["file"]
    digest = hashlib.sha256(b"hello").hexdigest()
    pipeline.correct(batch, {"files": {digest: {"leave_out": True}}})
    assert worked(batch).state == State.READY


def test_a_refused_run_is_reported_and_the_others_come_in(draft):
    context = {"hypervisor": "kvm", "host_fs": "ext4", "guest_fs": "xfs", "vm_count": "1", "workload": "mail"}
    batch = worked(receive(draft, (DATA / "postmark/composed.txt").read_bytes(), answers={"context": context}))
    assert batch.state == State.READY
    assert [refusal["line"] for refusal in batch.report["files"][0]["refused"]] == [24]


def test_a_lint_error_blocks_and_a_warning_stays_with_the_import(draft):
    blocked = worked(receive(draft, TABLE.replace("10.5", "2000000"), is_confirmed=True))
    assert (blocked.state, rows(draft)) == (State.FAULTY, [])
    batch = filed(draft, TABLE.replace("6.25", "6").replace("XFS", "xfs") + TABLE.splitlines()[1] + "\n")
    assert all(finding["severity"] == "warning" for finding in batch.report["lint"])


# Once, and all or nothing


def test_the_same_bytes_twice_add_nothing(draft):
    first = filed(draft, TABLE)
    again, is_new = pipeline.receive(draft, [upload(TABLE, "other name.csv")], user=None, door="api")
    for job in Job.objects.filter(state=Job.State.QUEUED):
        assert jobs.run(job.pk)
    assert (again.pk, is_new, len(rows(draft))) == (first.pk, False, 5)


def test_of_several_files_only_new_bytes_are_taken(draft):
    filed(draft, TABLE)
    other = TABLE.replace("10.5", "11")
    batch = worked(receive(draft, TABLE, other))
    assert batch.report["known"] == [{"name": "file-1.txt", "import": ImportBatch.objects.earliest("pk").pk}]
    assert batch.report["rows"] == 5


def test_a_fault_late_in_the_files_leaves_nothing_behind(draft, monkeypatch):
    monkeypatch.setattr("experiments.imports.reading.ROWS_AT_ONCE", 2)
    batch = worked(receive(draft, TABLE, TABLE.replace("20,MiB/s", "x,MiB/s"), is_confirmed=True))
    assert batch.state == State.FAULTY
    assert rows(draft) == []
    assert not Configuration.objects.filter(case_study=draft).exists()


def test_a_job_that_fails_in_the_middle_leaves_nothing_and_can_be_asked_again(draft, monkeypatch):
    batch = receive(draft, TABLE, is_confirmed=True)

    def fail(rows):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(measurement_rows, "write", fail)
        jobs.run(batch.job_id)
    batch.refresh_from_db()
    assert (batch.state, batch.job.state, batch.job.error) == (State.READING, Job.State.FAILED, "the disk is full")
    assert rows(draft) == []
    assert not Configuration.objects.filter(case_study=draft).exists()
    pipeline.read_again(batch)
    assert worked(batch).state == State.FILED
    assert len(rows(draft)) == 5


def test_a_reading_overtaken_by_a_correction_changes_nothing(draft):
    batch = worked(receive(draft, TABLE))
    pipeline.correct(batch, {})
    batch.refresh_from_db()
    overtaken = batch.job_id
    ImportBatch.objects.filter(pk=batch.pk).update(state=State.READY)
    pipeline.correct(batch, {})
    jobs.run(overtaken)
    batch.refresh_from_db()
    assert batch.state == State.READING


def test_what_was_filed_can_be_taken_out_of_the_draft_again(draft):
    filed(draft, TABLE)
    second = filed(draft, TABLE.replace("btrfs", "ext4").replace("10.5", "7"))
    pipeline.discard(second, user=draft.owner)
    assert len(rows(draft)) == 5
    assert set(draft.configurations.values_list("slug", flat=True)) == {
        "kvm-xfs-on-ext4",
        "kvm-btrfs-on-ext4",
        "native-ext4",
    }
    assert (RawFile.objects.count(), RawChunk.objects.count()) == (1, 1)
    filed(draft, TABLE.replace("btrfs", "ext4").replace("10.5", "7"))  # the bytes may come again


@pytest.mark.parametrize("status", ["submitted", "published"])
def test_nothing_comes_into_a_case_study_that_is_no_draft(draft, status):
    batch = filed(draft, TABLE)
    reviews.submit(draft, user=draft.owner)
    if status == "published":
        lifecycle.publish([draft], reason="good")
    with pytest.raises(ImportRefused, match="results go into drafts only"):
        receive(draft, TABLE + "#")
    with pytest.raises(ImportRefused):
        pipeline.discard(batch, user=None)


def test_a_draft_published_meanwhile_takes_nothing_any_more(draft):
    batch = receive(draft, TABLE, is_confirmed=True)
    lifecycle.publish([draft], reason="too early")
    jobs.run(batch.job_id)
    assert "results go into drafts only" in Job.objects.get(pk=batch.job_id).error
    assert rows(draft) == []


def test_a_draft_with_an_open_import_is_not_submitted(draft):
    filed(draft, TABLE)
    receive(draft, TABLE + "#")
    with pytest.raises(lifecycle.CaseStudyError, match="not finished"):
        reviews.submit(draft, user=draft.owner)


# Files


def zipped(**members: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def test_a_zip_stands_for_its_members(draft):
    batch = receive(draft, zipped(a=TABLE.encode(), b=TABLE.replace("10.5", "11").encode()))
    assert list(batch.files.values_list("name", flat=True)) == ["file-1.txt/a", "file-1.txt/b"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 broken", "damaged"),
        (zipped(**{"../x": b"1"}), "leaves the archive"),
        (zipped(**{"case-study.json": b"{}"}), "a draft of its own"),
    ],
)
def test_a_file_that_cannot_be_one_is_refused(draft, content, words):
    with pytest.raises(Unusable, match=words):
        receive(draft, content)
    assert not ImportBatch.objects.exists()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("run 1.txt", "run 1.txt"),
        ("C:\\results\\run.csv", "C_/results/run.csv"),
        ("../../etc/passwd", "etc/passwd"),
        ("a\nb\x00<script>.txt", "a_b__script_.txt"),
        ("...", "file"),
    ],
)
def test_names_of_files_are_made_harmless(given, kept):
    assert pipeline.file_name(given) == kept


# The three doors


def test_three_doors_give_the_same_result(draft, client, tmp_path):
    path = tmp_path / "results.csv"
    path.write_text(TABLE)
    reports = {}

    out = io.StringIO()
    call_command("import_results", str(path), into="lab", confirm=True, json=True, stdout=out)
    reports["command"] = json.loads(out.getvalue())
    by_command = rows(draft)

    by_api = make_case_study("by-api", owner=draft.owner)
    client.force_login(draft.owner)
    with path.open("rb") as file:
        sent = client.post("/api/v1/imports/", {"case_study": "by-api", "file": file, "confirm": "true"})
    worked(ImportBatch.objects.get(pk=sent.json()["id"]))
    reports["api"] = client.get(sent["Location"]).json()["report"]

    by_browser = make_case_study("by-browser", owner=draft.owner)
    with path.open("rb") as file:
        sent = client.post("/drafts/by-browser/upload/", {"files": file})
    batch = ImportBatch.objects.get(case_study=by_browser)
    worked(batch)
    client.post(f"/imports/{batch.pk}/", {"do": "confirm"})
    worked(batch)
    reports["browser"] = batch.report

    assert rows(by_api) == rows(by_browser) == by_command
    for name in ("rows", "files", "faults", "unknown", "lint", "sample", "new_configurations"):
        assert reports["api"][name] == reports["browser"][name] == reports["command"][name], name


def test_the_command_keeps_nothing_of_files_with_errors(draft, tmp_path, capsys):
    path = tmp_path / "wrong.csv"
    path.write_text(TABLE.replace("10.5", "0"))
    with pytest.raises(SystemExit):
        call_command("import_results", str(path), into="lab", confirm=True)
    assert "line 2, value: found 0" in capsys.readouterr().out
    assert ImportBatch.objects.get().state == State.DISCARDED
    path.write_text(TABLE)
    call_command("import_results", str(path), into="lab", confirm=True)
    assert len(rows(draft)) == 5


def test_the_command_discards_no_import_that_was_there_before(client, draft, tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_text(TABLE.replace("10.5", "0"))
    client.force_login(draft.owner)
    with path.open("rb") as file:
        client.post("/drafts/lab/upload/", {"files": file})
    worked(ImportBatch.objects.get())
    with pytest.raises(SystemExit):
        call_command("import_results", str(path), into="lab", confirm=True)
    assert ImportBatch.objects.get().state == State.FAULTY


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"into": "nothing"}, "There is no draft"),
        ({"into": "lab", "user": "nobody"}, "There is no user"),
        ({"into": "lab", "user": "bob"}, "There is no draft"),
        ({"into": "lab", "set": ["x"]}, "FIELD=TEXT"),
        ({"into": "lab", "set": ["speed=1"]}, "not a field"),
        ({"into": "lab", "name": ["x"]}, "KIND:NAME=SLUG"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(draft, tmp_path, options, words):
    make_user(username="bob")
    (tmp_path / "t.csv").write_text(TABLE)
    with pytest.raises(CommandError, match=words):
        call_command("import_results", str(tmp_path / "t.csv"), **options)


# Bundles


def bundle_of(slug: str) -> bytes:
    content = io.BytesIO()
    bundles.export(CaseStudy.objects.get(slug=slug), content)
    return content.getvalue()


def emptied() -> None:
    call_command("flush", interactive=False, verbosity=0)


@pytest.mark.parametrize("slug", ["p0", "p2", "p3-cs1", "p4"])
@pytest.mark.django_db(transaction=True)
def test_a_bundle_taken_in_elsewhere_is_the_same_case_study(slug):
    bundle = bundle_of(slug)
    emptied()
    draft, is_new = bundles.import_bundle(bundle, user=None, door="command")
    assert (is_new, draft.status) == (True, CaseStudy.Status.DRAFT)
    before, after = (members_of(content) for content in (bundle, bundle_of(slug)))
    assert before == after


def test_a_bundle_brings_its_files_and_where_each_number_stood(draft):
    filed(draft, TABLE)
    bundle = bundle_of("lab")
    lifecycle.delete_draft(draft)
    again, _ = bundles.import_bundle(bundle, user=draft.owner, door="browser")
    measurement = Measurement.objects.filter(configuration__case_study=again).first()
    assert measurement.line == 2
    assert raw_files.content(RawFile.objects.get(pk=measurement.raw_file_id)) == TABLE.encode()
    assert import_words.summary(again.imports.get()) == "1 file of a bundle: in the case study lab."


def test_a_bundle_carries_every_fact_of_configurations_and_numbers(draft):
    facts = {
        **{"backend": "file", "below": "RAID 10", "storage_kind": "nvme", "image_format": "qcow2"},
        **{"allocation": "falloc", "cache_mode": "none", "io_mode": "io_uring", "discard": "unmap", "disk_bus": "scsi"},
        **{"iothread": "yes", "host_mkfs_options": "-m reflink=0", "host_io_scheduler": "mq-deadline"},
        **{"guest_mkfs_options": "-O ^has_journal", "guest_io_scheduler": "none", "guest_mount_options": "noatime"},
        **{"hypervisor": "kvm", "host_fs": "xfs", "guest_fs": "ext4", "workload": "mail", "benchmark": "filebench"},
    }
    numbers = [
        {"vm_count": "2", "machine": "1", "metric": "latency_p99", "value": "9", "unit": "ms"},
        {"vm_count": "2", "machine": "2", "metric": "latency_p99", "value": "7", "unit": "ms"},
        {"vm_count": "1", "value": "0.8", "unit": "ratio", "reference": "native"},
        {"vm_count": "1", "value": "40", "unit": "s", "minimum": "38", "maximum": "45", "repetitions": "3"},
        {"vm_count": "1", "value": "3", "unit": "MiB/s", "excluded_because": "a backup ran", "excluded_by": "ada"},
    ]
    columns = dict.fromkeys(name for number in numbers for name in number)
    lines = [json.dumps(facts | dict.fromkeys(columns, "") | number) for number in numbers]
    filed(draft, "\n".join(lines))
    asked = Measurement.objects.filter(configuration__case_study__slug="lab").order_by("pk")
    names = [f.name for f in Measurement._meta.fields if f.name not in ("id", "configuration", "variant", "raw_file")]
    of_configuration = [
        f"configuration__{f.name}" for f in Configuration._meta.fields if f.name not in ("id", "case_study")
    ]
    before = list(asked.values(*names, *of_configuration))
    plain = facts.keys() & normalise.EMPTY.keys() - normalise.REFERENCES.keys()
    assert {name: before[0][f"configuration__{name}"] for name in plain} == {name: facts[name] for name in plain}
    assert [row["machine"] for row in before] == [1, 2, None, None, None]
    bundle = bundle_of("lab")
    lifecycle.delete_draft(draft)
    bundles.import_bundle(bundle, user=None, door="command")
    assert list(asked.values(*names, *of_configuration)) == before
    assert members_of(bundle_of("lab")) == members_of(bundle)


def test_the_same_bundle_again_adds_nothing():
    counts = Measurement.objects.count(), CaseStudy.objects.count()
    assert bundles.import_bundle(bundle_of("p1"), user=None, door="command")[1] is False
    assert counts == (Measurement.objects.count(), CaseStudy.objects.count())


def changed(bundle: bytes, name: str, old: bytes, new: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as before, zipfile.ZipFile(content, "w") as after:
        for entry in before.namelist():
            data = before.read(entry)
            if entry == name:
                assert old in data
                data = data.replace(old, new, 1)
            after.writestr(entry, data)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("case-study.json", b'"slug": "lab"', b'"slug": "p0"', "short name p0 is not available"),
        ("case-study.json", b'"format"', b'"form"', "Additional properties"),
        ("case-study.json", b"{", b"[", "case-study.json"),
        ("measurements.csv", b"10.5", b"ten", "line 2, value: 'ten'"),
        ("measurements.csv", b"10.5", b"-1", "breaks a rule"),
        ("measurements.csv", b"kvm-xfs-on-ext4", b"gone", "configuration: 'gone'"),
        ("measurements.csv", b"value", b"worth", "the columns are"),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_a_bundle_that_is_wrong_is_refused_and_leaves_nothing(draft, name, old, new, words):
    filed(draft, TABLE)
    bundle = changed(bundle_of("lab"), name, old, new)
    lifecycle.delete_draft(draft)
    with pytest.raises(bundles.BundleError, match=words):
        bundles.import_bundle(bundle, user=None, door="command")
    assert not CaseStudy.objects.filter(slug="lab").exists()


def test_a_bundle_whose_claim_asks_too_much_is_refused_with_its_code(draft):
    words = dict.fromkeys(("location", "scope", "predicate", "checkable_from"), "x")
    loop = {"for": {"a": list(range(60)), "b": list(range(60))}, "order": [{"guest_fs": "ext4"}, {"guest_fs": "xfs"}]}
    claim = make_claim(code="X-1", publication=make_publication(), checks={"own": loop}, **words)
    claim.case_studies.add(draft)
    bundle = bundle_of("lab")
    claim.delete()
    lifecycle.delete_draft(draft)
    with pytest.raises(bundles.BundleError, match=r"claim X-1, checks: own.* more than 10,000 parts"):
        bundles.import_bundle(bundle, user=None, door="command")
    assert not Claim.objects.filter(code="X-1").exists()


def test_bytes_that_are_not_those_named_are_refused(draft):
    filed(draft, TABLE)
    digest = hashlib.sha256(TABLE.encode()).hexdigest()
    bundle = changed(bundle_of("lab"), f"files/{digest}", b"10.5", b"10.6")
    lifecycle.delete_draft(draft)
    with pytest.raises(bundles.BundleError, match="not those that the bundle names"):
        bundles.import_bundle(bundle, user=None, door="command")


def crafted(document: str, measurements: str = "") -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("case-study.json", document)
        archive.writestr("measurements.csv", measurements)
        archive.writestr("derived.csv", "")
    return content.getvalue()


def listed(count: int, of: str = "0") -> str:
    """Return a document with so many faults, unless they are entries."""
    return '{"publications": [' + ", ".join([of] * count) + "]}"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (listed(20_000_000), "packed more than 200 times"),
        (json.dumps({"publications": [*range(700_000)]}), "more than 4,194,304 bytes"),
        (listed(90_000), r"\$.*; and more"),
        (listed(100_001), "more than 100,000 values"),
        (listed(60_000, "[[]]"), "more than 100,000 values"),
        (listed(1, "[" * 200 + "]" * 200), "nested more than 100 deep"),
        (listed(1, "9" * 400), "more than 308 digits"),
    ],
)
def test_a_crafted_bundle_costs_whoever_takes_it_in_next_to_nothing(document, words, monkeypatch):
    bundle = crafted(document)
    assert len(bundle) < 2**21
    tracemalloc.start()
    monkeypatch.setattr(bundle_reader, "read", lambda *given: pytest.fail("it was read in this process"))
    try:
        with pytest.raises(bundles.BundleError, match=words) as refusal:
            bundles.import_bundle(bundle, user=None, door="browser")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**20
    assert len(str(refusal.value)) < 4_000


def test_a_bundle_with_too_many_entries_is_refused(draft, monkeypatch):
    filed(draft, TABLE)
    bundle = bundle_of("lab")
    monkeypatch.setattr(bundle_reader, "MAX_ENTRIES", 0)
    with pytest.raises(bundles.BundleError, match="at most 0 are taken"):
        bundle_reader.read(bundle, bundle_schema.schema())


# Limits of reading


def test_an_import_that_takes_too_long_ends_with_a_sentence(draft, settings):
    settings.KDB_READ_SECONDS = 0
    for is_confirmed in (False, True):
        batch = worked(receive(draft, TABLE + "#" * is_confirmed, is_confirmed=is_confirmed))
        assert batch.state == State.FAULTY
        (fault,) = batch.report["faults"]
        assert (fault["file"], fault["found"]) == ("file-1.txt", "more than 0 s for all files of the import")
    assert not Measurement.objects.filter(configuration__case_study=draft).exists()


def test_an_import_that_is_discarded_while_it_is_read_frees_its_worker(draft):
    batch = receive(draft, TABLE)
    contents = FileContents(batch, batch.job_id)
    with contents:
        pipeline.discard(batch, user=draft.owner)
        with pytest.raises(NoLongerWanted):
            contents.check()
    with pytest.raises(NoLongerWanted), FileContents(batch, batch.job_id):
        pass
    assert worked(batch).state == State.DISCARDED


def test_an_import_whose_draft_is_deleted_while_it_is_read_is_no_failure(draft, monkeypatch):
    job = receive(draft, TABLE, is_confirmed=True).job_id

    def fails_once_it_is_gone(filing):
        lifecycle.delete_draft(draft)
        return filing.case_study.storage.server

    monkeypatch.setattr(ImportFiler, "read", fails_once_it_is_gone)
    jobs.run(job)
    assert Job.objects.get(pk=job).state == "done"


@pytest.mark.sqlite
def test_more_new_configurations_than_an_import_may_add_are_a_fault(draft):
    header = "hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,value,unit,host_mount_options\n"
    rows = (f"kvm,ext4,xfs,varmail,filebench,1,2,MiB/s,commit={n}\n" for n in range(normalise.MOST_NEW + 3))
    batch = worked(receive(draft, header + "".join(rows)))
    (fault,) = batch.report["faults"]
    assert (fault["line"], fault["found"], fault["count"]) == (1002, "more than 1,000 new ones", 3)
    rows = [f"kvm,ext4,xfs,varmail,filebench,1,2,MiB/s,commit={n}\n" for n in range(normalise.MOST_NEW)]
    assert worked(receive(draft, header + "".join([*rows, *rows]))).report["fault_count"] == 0


@pytest.mark.parametrize("cell", ["{", "[1]", "5", "[" * 100_000])
@pytest.mark.sqlite
def test_parameters_that_are_no_object_are_a_fault(draft, cell):
    header = "hypervisor;host_fs;guest_fs;workload;benchmark;vm_count;value;unit;parameters\n"
    batch = worked(receive(draft, f"{header}kvm;ext4;xfs;varmail;filebench;1;2;MiB/s;{cell[:9000]}\n"))
    (fault,) = batch.report["faults"]
    assert (fault["line"], fault["field"], fault["expected"]) == (
        2,
        "parameters",
        'a JSON object, like {"threads": 16}',
    )


def test_a_bundle_with_long_tables_is_left_to_the_command(draft, monkeypatch):
    filed(draft, TABLE)
    bundle = bundle_of("lab")
    lifecycle.delete_draft(draft)
    monkeypatch.setattr(bundles, "_MAX_BROWSER_LINES", 3)
    with pytest.raises(bundles.BundleError, match=r"manage\.py import_results"):
        bundles.import_bundle(bundle, user=draft.owner, door="browser")
    assert bundles.import_bundle(bundle, user=None, door="command")[1]
