"""A folder whose paths say the settings comes in by a manifest of ten lines: all of it, or nothing."""

import io
import zipfile

import pytest
from django.core.management import CommandError, call_command

from experiments.case_studies import lifecycle
from experiments.imports import pipeline
from experiments.imports.manifest import explain, lines_of, read_manifest
from experiments.imports.tables.conditions import ConditionsError
from experiments.models import CaseStudy, ImportBatch, Measurement
from experiments.records.files import raw_files
from tests.factories import make_case_study, make_user
from tests.test_architecture import ROOT

LOG = (ROOT / "tests/data/filebench/filebench-1.4.9.1-btrfs-fileserver.txt").read_text()
MANIFEST = """\
[case_study]
slug = "fileserver-threads"
title = "File server by number of threads"
[storage]
description = "One disk"
[everywhere]
workload = "fileserver"
vm_count = 1
guest_fs = "ext4"
[[files]]
pattern = "{hypervisor}/fileserver_{threads}T_{files}kF.f_{repetition}"
columns = { files = "parameter nfiles" }
words.hypervisor.host4 = { hypervisor = "kvm", host_fs = "ext4", cache_mode = "none" }
[[leave_out]]
pattern = "README*"
reason = "no results"
"""
PATHS = [
    f"{hypervisor}/fileserver_{threads}T_{files}kF.f_{repetition}"
    for hypervisor in ("host4", "xen")
    for threads in (1, 8)
    for files in (10, 50)
    for repetition in (1, 2)
]


def log_of(number: int, threads: int = 8) -> str:
    """Return a log with a result of its own, which says how many threads ran."""
    log = LOG.replace("14470.919 ops/s", f"{14470 + number}.5 ops/s").replace("338.4mb/s", f"{300 + number}.4mb/s")
    return log.replace("Starting 50 filereaderthread", f"Starting {threads} filereaderthread")


@pytest.fixture
def archive(tmp_path, published_evidence):
    folder = tmp_path / "results"
    for number, path in enumerate(PATHS):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(log_of(number, threads=8 if "_8T_" in path else 1))
    (folder / "README.txt").write_text("What this is.")
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    return folder


def filed(slug: str = "fileserver-threads") -> list[tuple]:
    rows = Measurement.objects.filter(configuration__case_study__slug=slug, metric="operation_rate")
    facts = ("configuration__hypervisor__slug", "configuration__cache_mode", "repetition", "value")
    rows = rows.values_list(*facts, "variant__parameters__nfiles", "variant__parameters__threads")
    return sorted(rows)


def import_archive(folder, *words) -> None:
    call_command("import_archive", str(folder), str(folder.parent / "manifest.toml"), *words)


# What a manifest says of paths


def test_paths_say_parameters_settings_and_repetitions():
    explained = explain(read_manifest(MANIFEST), [*PATHS, "README.txt", "xen/varmail.f"])
    assert explained.settings["host4/fileserver_8T_50kF.f_2"] == {
        **{"workload": "fileserver", "vm_count": "1", "guest_fs": "ext4"},
        **{"hypervisor": "kvm", "host_fs": "ext4", "cache_mode": "none"},
        **{"parameter:threads": "8", "parameter:nfiles": "50", "repetition": "2"},
    }
    assert explained.settings["README.txt"] is None
    assert list(lines_of(explained)) == [
        "README*: 1 file left out, no results",
        "{hypervisor}/fileserver_{threads}T_{files}kF.f_{repetition}: 16 files",
        "  {hypervisor}  hypervisor  xen, host4",
        "  {threads}  parameter threads  1, 8",
        "  {files}  parameter nfiles  10, 50",
        "  {repetition}  repetition  1, 2",
        "no pattern explains 1 file: xen/varmail.f",
    ]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ("", r"files: found nothing, allowed is 1 to 200 tables \[\[files\]\]"),
        ('[[files]]\npattern = "{a}{b}"', "a sign between two names"),
        ('[[files]]\npattern = "{a}-{a}"', "names of letters, digits and _, each once"),
        ('[[files]]\npattern = "{a}"\ncolumns = { b = "host_fs" }', "files 1: found b, allowed is a name in braces"),
        ('[[files]]\npattern = "{a}"\ncolumns = { a = "nothing" }', 'allowed is ignore, "parameter NAME"'),
        ('[[files]]\npattern = "{a}"\n[[leave_out]]\npattern = "b"', "leave_out 1.reason: found nothing"),
    ],
)
def test_a_wrong_manifest_says_where(files, told):
    with pytest.raises(ConditionsError, match=told):
        read_manifest(files)


def test_a_hostile_pattern_takes_no_time():
    many = "_".join(f"{{a{number}}}" for number in range(30))
    assert explain(read_manifest(f'[[files]]\npattern = "{many}x"'), ["_" * 200, "a_" * 100]).unexplained


# From a folder to a draft


@pytest.mark.django_db
def test_an_archive_comes_in_and_a_later_state_of_it_adds_what_is_new(archive, capsys):
    import_archive(archive, "--dry-run")
    assert "{threads}  parameter threads  1, 8" in capsys.readouterr().out
    assert not CaseStudy.objects.filter(slug="fileserver-threads").exists()

    import_archive(archive)
    assert "draft fileserver-threads" in capsys.readouterr().out
    rows = filed()
    assert len(rows) == 16
    assert ("kvm", "none", 2, 14477.5, 50, 8) in rows
    assert ("xen", "", 1, 14478.5, 10, 1) in rows
    kept = CaseStudy.objects.get(slug="fileserver-threads").raw_files.get(name="manifest.toml")
    assert raw_files.content(kept).decode() == MANIFEST

    (archive / "xen/fileserver_8T_50kF.f_3").write_text(log_of(99))
    import_archive(archive)
    assert len(filed()) == 17
    import_archive(archive)
    assert "nothing new for fileserver-threads" in capsys.readouterr().out

    (archive.parent / "manifest.toml").write_text(MANIFEST.replace('"none"', '"writeback"'))
    with pytest.raises(CommandError, match=r"Files that came in with import \d+ keep the settings of its manifest"):
        import_archive(archive)
    (archive.parent / "manifest.toml").write_text(MANIFEST)
    lifecycle.publish([CaseStudy.objects.get(slug="fileserver-threads")], reason="Checked.")
    import_archive(archive)
    assert len(filed("fileserver-threads-2")) == 17
    (archive / "xen/fileserver_8T_50kF.f_4").write_text(log_of(98))
    import_archive(archive)
    assert len(filed("fileserver-threads-2")) == 18


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("xen/varmail.f", LOG, "give each file a pattern, or leave it out"),
        ("xen/fileserver_9T_9kF.f_1", log_of(3, threads=1), "the bytes of another file with other settings"),
        ("xen/fileserver_8T_9kF.f_x", log_of(77), "repetition: found x, expected is a whole number"),
        ("xen/fileserver_9T_9kF.f_1", "no result", "fileserver_9T_9kF.f_1, file"),
        ("xen/fileserver_4T_9kF.f_1", log_of(77), "parameter:threads: found 4, expected is 8, as the file itself says"),
    ],
)
def test_what_cannot_be_read_keeps_the_whole_archive_out(archive, capsys, path, text, told):
    (archive / path).write_text(text)
    with pytest.raises(CommandError) as refused:
        import_archive(archive)
    assert told in str(refused.value) + capsys.readouterr().out
    assert not CaseStudy.objects.filter(slug="fileserver-threads").exists()


@pytest.mark.django_db
def test_a_zip_brings_its_manifest_through_every_door(archive, client):
    """As pages and API take it: what the paths say stands in the report, before anything is filed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as members:
        members.writestr("top/manifest.toml", MANIFEST)
        for path in (*PATHS, "README.txt"):
            members.writestr(f"top/{path}", (archive / path).read_text())
    upload = raw_files.take("results.zip", [packed.getvalue()])
    user = make_user("researchers")

    batch, _ = pipeline.receive(make_case_study(owner=user), [upload], user=user, door=ImportBatch.Door.BROWSER)
    batch = pipeline.finish(batch)

    assert batch.state == "ready"
    assert batch.report["rows"] == 48
    client.force_login(user)
    page = client.get(f"/imports/{batch.pk}/").content.decode()
    assert "16 files\n  {hypervisor}  hypervisor  xen, host4\n  {threads}  parameter threads  1, 8\n" in page
