"""A release of one installation, in another: what comes in, what ends, what stays, and what is refused."""

import csv
import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from experiments.case_studies import endings, life
from experiments.models import CaseStudy, Hypervisor, LoadedCaseStudy, Measurement, Publication
from experiments.releases import ReleaseError, flat, loading, manifest, writing
from experiments.releases.writing import Wanted
from kdb.models import Installation
from modelling.evidence.question import Question
from modelling.kept_answers.selectors import answer_or_none
from modelling.models import RankingSnapshot
from tests import evidence
from tests.conftest import _empty_caches
from tests.factories import (
    make_case_study,
    make_claim,
    make_derived_value,
    make_host,
    make_measurement,
    make_publication,
    make_raw_file,
    publish,
)

OURS = Wanted(name="Laboratory A", address="https://a.example/", creators=("Ann Author",))
ANSWERED = [Question(axis, "varmail") for axis in ("fs-pair", "hypervisor")]


def kvm() -> None:
    """Make the entry as a bundle demands it."""
    about = {"name": "KVM", "kind": "type-1", "kernel_origin": "Linux", "virtual_device_origin": "QEMU"}
    Hypervisor.objects.get_or_create(slug="kvm", defaults=about)


def study(slug: str, *, better: str = "xfs", **fields) -> CaseStudy:
    """Return a published case study of three guest file systems, one of them the fastest."""
    kvm()
    case_study = make_case_study(slug, **fields)
    for number, guest_fs in enumerate(("btrfs", "ext4", "xfs")):
        for host_fs in ("ext4", "xfs"):
            value = 150.1 if guest_fs == better else 100.0 + 7.3 * number + len(host_fs) / 3
            make_measurement(value, case_study=case_study, guest_fs=guest_fs, host_fs=host_fs)
    publish(case_study)
    return case_study


def become_another(*, empty: bool) -> None:
    """Make of this database that of another installation."""
    if empty:
        with connection.cursor() as cursor:
            for model in evidence.own_models():
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")
    Installation.objects.update_or_create(pk=1, defaults={"identity": uuid4()})
    _empty_caches()


def answers(questions: list[Question]) -> list[dict]:
    """Return what is answered, but for the number of the revision, which every installation counts by itself."""
    _empty_caches()
    RankingSnapshot.objects.all().delete()
    return [{**answer_or_none(question, None).result, "revision": None} for question in questions]


def written(tmp_path: Path, wanted: Wanted = OURS) -> Path:
    file = tmp_path / f"release-{len(list(tmp_path.iterdir()))}.zip"
    writing.write(file, wanted)
    return file


def changed(file: Path, name: str, content: bytes | None) -> Path:
    """Return a copy of the release in which one file has other bytes, or is not there."""
    other = file.with_name(f"changed-{uuid4()}.zip")
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(other, "w") as after:
        for member in before.namelist():
            if member != name:
                after.writestr(member, before.read(member))
        if content is not None:
            after.writestr(name, content)
    return other


def with_manifest(file: Path, **fields) -> Path:
    with zipfile.ZipFile(file) as archive:
        made = manifest.parsed(archive.read("release.json"))
    return changed(file, "release.json", manifest.dumped(replace(made, **fields)))


def test_the_same_evidence_gives_the_same_bytes_and_says_what_they_are(db, tmp_path):
    publication = make_publication("paper", authors=["Ann"], doi="10.1000/182", licence="CC-BY-4.0")
    case_study = study("p", publication=publication)
    make_derived_value(case_study=case_study)
    study("q")

    first, second = written(tmp_path), written(tmp_path)

    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        made = manifest.parsed(archive.read("release.json"))
        crate = {row["@id"]: row for row in json.loads(archive.read("ro-crate-metadata.json"))["@graph"]}
        table = list(csv.DictReader(io.TextIOWrapper(archive.open("measurements.csv"), "utf-8")))
        parquet = archive.read("measurements.parquet")
        record = json.loads(archive.read("datacite.json"))["data"]["attributes"]
        assert {*archive.namelist()} == {*made.files, "release.json", "ro-crate-metadata.json"}
    assert crate["measurements.csv"]["sha256"] == made.files["measurements.csv"]
    assert crate["case-studies/p/"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert crate["case-studies/q/"]["license"] == {"@id": "#licence-not-stated"}
    assert [row["value"] for row in table] == [repr(v) for v in Measurement.objects.values_list("value", flat=True)]
    assert parquet[:4] == parquet[-4:] == b"PAR1"
    assert record["relatedIdentifiers"][0]["relatedIdentifier"] == "10.1000/182"
    assert record["creators"] == [{"name": "Ann Author", "nameType": "Personal"}]


def test_a_table_of_parquet_has_every_cell(db, tmp_path, monkeypatch):
    import fastparquet

    monkeypatch.setattr(flat, "_ROWS_AT_ONCE", 4)
    study("p")
    with zipfile.ZipFile(written(tmp_path)) as archive:
        archive.extract("measurements.parquet", tmp_path)

    with (tmp_path / "measurements.parquet").open("rb") as file:
        frame = fastparquet.ParquetFile(file).to_pandas()

    assert list(frame["value"]) == list(Measurement.objects.values_list("value", flat=True))
    assert set(frame["guest_fs"]) == {"btrfs", "ext4", "xfs"}
    assert frame["block_size_bytes"].isna().all()


def test_what_a_laboratory_shares_is_previewed_and_names_of_machines_are_dropped(db, tmp_path, capsys):
    make_host("node7.lab.example")
    case_study = make_case_study("p", notes=["On node7.lab.example, 192.168.1.17"])
    file = make_raw_file(case_study, name="node7.lab.example.txt")
    make_measurement(case_study=case_study, raw_file=file, line=3, source="", note="serial: S64HNE0R1")
    publish(case_study)

    call_command("release_data", str(tmp_path / "r.zip"), "--preview")
    assert not (tmp_path / "r.zip").exists()
    told = capsys.readouterr().out
    assert "node7.lab.example is [host 1]" in told
    assert "left out: 1 raw files" in told

    call_command("release_data", str(tmp_path / "r.zip"), "--name", "Laboratory A")
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    for secret in (b"node7", b"192.168", b"S64HNE0R1"):
        assert secret not in everything
    assert b'"[host 1].txt, line 3"' in everything


def test_a_release_loads_into_an_empty_installation_with_equal_answers(db, tmp_path):
    publication = make_publication("paper", authors=[], title="A report")
    first = study("p", publication=publication)
    told = dict.fromkeys(("location", "scope", "predicate", "checkable_from"), "Section 3")
    make_claim(code="C1", publication=publication, **told).case_studies.add(first)
    study("a", better="btrfs")
    withdrawn = study("w")
    life.retract(withdrawn, reason="The disk was broken.")
    expected, file = answers(ANSWERED), written(tmp_path)
    assert any(answer["entries"] for answer in expected)

    become_another(empty=True)
    report = loading.load(file)

    assert report.came == ["p", "a", "w"]
    assert answers(ANSWERED) == expected
    assert CaseStudy.objects.get(slug="w").retraction_reason == "The disk was broken."
    assert CaseStudy.objects.get(slug="p").claims.get().code == "C1"
    assert {row.origin.name for row in LoadedCaseStudy.objects.all()} == {"Laboratory A"}

    again = loading.load(file)
    assert (again.came, again.ended, again.revision, again.unchanged) == ([], [], None, 3)

    passed_on = written(tmp_path, Wanted(name="Laboratory B"))
    with zipfile.ZipFile(passed_on) as archive:
        entries = manifest.parsed(archive.read("release.json")).case_studies
    assert [(entry.slug, entry.origin.name) for entry in entries] == [(slug, "Laboratory A") for slug in "paw"]


def test_a_later_release_updates_supersedes_and_retracts_and_ones_own_stay(db, tmp_path):
    publication = make_publication("paper", authors=["Ann"], title="slug-as-title")
    changing, retracted, superseded = study("c", publication=publication), study("r"), study("s")
    before = written(tmp_path)
    fastest = Measurement.objects.filter(configuration__case_study=changing, value=150.1)
    endings.end(changing, reason="A cache answered.", rows=list(fastest.values_list("pk", flat=True)))
    Publication.objects.filter(pk=publication.pk).update(title="A title in words")
    life.retract(retracted, reason="Void.")
    endings.end(superseded, reason="Measured again.", replaced_by=study("n", better="ext4"))
    later, expected = written(tmp_path), answers(ANSWERED)

    become_another(empty=True)
    own = study("s", better="ext4")  # another case study of the same name
    loading.load(before)
    own.refresh_from_db()
    assert own.status == "published"
    life.retract(own, reason="So that the answers can be compared.")
    report = loading.load(later)

    assert report.replaced == {"c": "c-2"}
    assert report.came == ["c-2", "n"]
    assert report.ended == ["r: retracted", "s-2: superseded"]
    assert CaseStudy.objects.get(slug="s-2").endings.get().replaced_by.slug == "n"
    assert CaseStudy.objects.get(slug="c").endings.get().replaced_by.slug == "c-2"
    assert Publication.objects.get().title == "A title in words"
    assert not hasattr(CaseStudy.objects.get(slug="s"), "loaded")
    renamed = json.dumps(answers(ANSWERED)).replace("c-2", "c").replace("C-2", "C")
    assert json.loads(renamed) == expected

    earlier = loading.load(before)
    assert earlier.came == []
    assert "was loaded before" in earlier.kept["c"]


def test_what_an_installation_has_itself_is_not_counted_twice(db, tmp_path):
    publication = make_publication("paper", authors=["Ann"])
    study("same")
    study("reading", publication=publication)
    file = written(tmp_path)
    become_another(empty=False)
    Measurement.objects.filter(configuration__case_study__slug="reading").update(note="Read with care.")

    report = loading.load(file)

    assert report.came == []
    assert set(report.kept) == {"same", "reading"}
    assert CaseStudy.objects.count() == 2


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (replace(OURS, licence="free for all"), "an identifier of the SPDX list"),
        (replace(OURS, address="kdb.example.org"), "origin.address"),
        (replace(OURS, only=("draft",)), "no published case study"),
    ],
)
def test_what_cannot_be_released_is_said_and_nothing_is_written(db, tmp_path, wanted, told):
    study("p")
    make_case_study("draft")
    with pytest.raises(ReleaseError, match=told):
        writing.write(tmp_path / "r.zip", wanted)
    assert not list(tmp_path.iterdir())


def test_a_check_changes_nothing(db, tmp_path, capsys):
    study("p")
    file = written(tmp_path)
    become_another(empty=True)

    call_command("load_release", str(file), "--check")

    assert "new: p" in capsys.readouterr().out
    assert not CaseStudy.objects.exists()


def test_hostile_releases_are_refused_and_nothing_changes(db, tmp_path):
    study("p")
    study("q")
    file = written(tmp_path)
    become_another(empty=True)
    with zipfile.ZipFile(file) as archive:
        made = manifest.parsed(archive.read("release.json"))
        numbers = archive.read("case-studies/q/measurements.csv")
        document = archive.read("case-studies/q/case-study.json")
    bent = numbers.replace(b"150.1", b"15000")
    entries = {entry.slug: entry for entry in made.case_studies}

    def listed(name: str, content: bytes) -> Path:
        """Return a release with other bytes in a file, and their digest."""
        import hashlib

        files = {**made.files, name: hashlib.sha256(content).hexdigest()}
        return with_manifest(changed(file, name, content), files=files)

    linked = changed(file, "nothing", None)
    with zipfile.ZipFile(linked, "a") as archive:
        link = zipfile.ZipInfo("case-studies/p/files/x")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    refused = [
        (linked, "a link or device"),
        (changed(file, "../outside", b"x"), "leaves the archive"),
        (changed(file, "case-studies/p/more.txt", b"x"), "disagree"),
        (changed(file, "measurements.csv", None), "disagree"),
        (changed(file, "release.json", b"{}"), "'format' is a required property"),
        (changed(file, "release.json", b"[" * 100_000), "release.json"),
        (changed(file, "case-studies/q/measurements.csv", bent), "are not those that release.json names"),
        (listed("case-studies/q/measurements.csv", bent), "whose digest release.json names"),
        (listed("case-studies/q/case-study.json", document.replace(b'"slug"', b'"slag"', 1)), "case-studies/q/"),
        (with_manifest(file, case_studies=[entries["p"], replace(entries["q"], path="case-studies/p/")]), "twice"),
        (with_manifest(file, case_studies=[entries["p"]]), "has no place"),
    ]
    for bad, why in refused:
        with pytest.raises(ReleaseError, match=why):
            loading.load(bad)
        assert not CaseStudy.objects.exists()
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("release.json", b" " * 2**24)
    with pytest.raises(ReleaseError, match="packed more than"):
        loading.load(bomb)
    (tmp_path / "no.zip").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(CommandError, match="damaged"):
        call_command("load_release", str(tmp_path / "no.zip"))


EVERYTHING = [
    Question(axis, workload)
    for axis in ("fs-pair", "guest-fs", "host-fs", "hypervisor", "configuration", "host-storage")
    for workload in ("varmail", "fileserver", "webserver", "randomfileaccess")
]


@pytest.mark.nightly
def test_the_published_evidence_travels_whole_and_in_two_steps_with_equal_answers(published_evidence, tmp_path):
    """Into an empty installation; and into one that has the half of it, of an earlier release."""
    expected, whole = answers(EVERYTHING), written(tmp_path)
    half = CaseStudy.objects.order_by("pk").values_list("slug", flat=True)[::2]
    part = written(tmp_path, replace(OURS, only=tuple(half)))

    become_another(empty=True)
    loading.load(whole)
    assert answers(EVERYTHING) == expected

    become_another(empty=True)
    loading.load(part)
    loading.load(whole)
    assert answers(EVERYTHING) == expected


@pytest.mark.nightly
def test_nothing_of_the_published_evidence_is_taken_for_a_name_or_an_address(published_evidence, tmp_path):
    assert writing.preview(OURS).dropped == {}


@pytest.mark.nightly
def test_validators_of_others_accept_a_release(published_evidence, tmp_path):
    """script/validate-release brings the validators into an environment of their own, and needs the network."""
    validators = Path(__file__).parents[3] / ".validators" / "bin"
    if not shutil.which("rocrate-validator", path=str(validators)):
        pytest.skip("the validators are missing (script/validate-release brings them)")
    file = written(tmp_path)
    done = subprocess.run(["script/validate-release", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
