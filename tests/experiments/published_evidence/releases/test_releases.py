"""A release of one installation, in another: what comes in, what ends, what stays, and what is refused."""

import csv
import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from experiments.case_studies import retraction
from experiments.models import CaseStudy, Hypervisor, LoadedCaseStudy, Measurement, Origin, Publication
from experiments.published_evidence.releases import ReleaseError, loading, manifest, signing, writing
from experiments.published_evidence.releases.writing import ReleaseOptions
from kdb.models import Installation
from modelling.answer_store.selectors import snapshot_or_none
from modelling.evidence.question import Question
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

OURS = ReleaseOptions(name="Laboratory A", address="https://a.example/", creators=("Ann Author",))
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
    (settings.DATA_DIR / "release_key").unlink(missing_ok=True)
    _empty_caches()


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path_factory) -> Path:
    settings.DATA_DIR = tmp_path_factory.mktemp("data")
    return settings.DATA_DIR


def answers(questions: list[Question]) -> list[dict]:
    """Return what is answered, but for the number of the revision, which every installation counts by itself."""
    _empty_caches()
    RankingSnapshot.objects.all().delete()
    return [{**snapshot_or_none(question).result, "revision": None} for question in questions]


def written(tmp_path: Path, wanted: ReleaseOptions = OURS) -> Path:
    file = tmp_path / f"release-{len(list(tmp_path.iterdir()))}.zip"
    writing.write(file, wanted)
    return file


def changed(file: Path, name: str, content: bytes | None) -> Path:
    """Return a copy of the release in which one file has other bytes, or is not there; signed as by its publisher."""
    return signed(file, {name: content}, signing.own_key())


def signed(file: Path, others: dict[str, bytes | None], key: Ed25519PrivateKey) -> Path:
    """Return a copy of the release with other files, signed with the key."""
    other = file.with_name(f"changed-{uuid4()}.zip")
    with zipfile.ZipFile(file) as before:
        files = {name: before.read(name) for name in before.namelist()} | others
    made, crate = (files["release.json"], files["ro-crate-metadata.json"])
    files |= {"release.sig": signing.sign(made, crate, key).encode()} | others
    with zipfile.ZipFile(other, "w") as after:
        for name, content in files.items():
            if content is not None:
                after.writestr(name, content)
    return other


def with_manifest(file: Path, *, key: Ed25519PrivateKey | None = None, **fields) -> Path:
    with zipfile.ZipFile(file) as archive:
        made = manifest.parse(archive.read("release.json"))
    return signed(file, {"release.json": manifest.to_json(replace(made, **fields))}, key or signing.own_key())


def test_the_same_evidence_gives_the_same_bytes_and_says_what_they_are(db, tmp_path):
    publication = make_publication("paper", authors=["Ann"], doi="10.1000/182", licence="CC-BY-4.0")
    case_study = study("p", publication=publication)
    make_derived_value(case_study=case_study)
    study("q")

    first, second = written(tmp_path), written(tmp_path)

    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        made = manifest.parse(archive.read("release.json"))
        crate = {row["@id"]: row for row in json.loads(archive.read("ro-crate-metadata.json"))["@graph"]}
        table = list(csv.DictReader(io.TextIOWrapper(archive.open("measurements.csv"), "utf-8")))
        assert {*archive.namelist()} == {*made.files, "release.json", "release.sig", "ro-crate-metadata.json"}
    assert crate["measurements.csv"]["sha256"] == made.files["measurements.csv"]
    assert crate["case-studies/p/"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert crate["case-studies/q/"]["license"] == {"@id": "#licence-not-stated"}
    assert {row["guest_fs"] for row in table} == {"btrfs", "ext4", "xfs"}
    assert [row["value"] for row in table] == [repr(v) for v in Measurement.objects.values_list("value", flat=True)]


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
    retraction.retract(withdrawn, reason="The disk was broken.")
    expected, file = answers(ANSWERED), written(tmp_path)
    assert any(answer["entries"] for answer in expected)

    become_another(empty=True)
    report = loading.load(file)

    assert report.added == ["p", "a", "w"]
    assert answers(ANSWERED) == expected
    assert CaseStudy.objects.get(slug="w").retraction_reason == "The disk was broken."
    assert CaseStudy.objects.get(slug="p").claims.get().code == "C1"
    assert {row.origin.name for row in LoadedCaseStudy.objects.all()} == {"Laboratory A"}

    again = loading.load(file)
    assert (again.added, again.ended, again.revision, again.unchanged) == ([], [], None, 3)

    passed_on = written(tmp_path, ReleaseOptions(name="Laboratory B"))
    with zipfile.ZipFile(passed_on) as archive:
        entries = manifest.parse(archive.read("release.json")).case_studies
    assert [(entry.slug, entry.origin.name) for entry in entries] == [(slug, "Laboratory A") for slug in "paw"]


def test_a_later_release_updates_supersedes_and_retracts_and_ones_own_stay(db, tmp_path):
    publication = make_publication("paper", authors=["Ann"], title="slug-as-title")
    changing, retracted, superseded = study("c", publication=publication), study("r"), study("s")
    before = written(tmp_path)
    fastest = Measurement.objects.filter(configuration__case_study=changing, value=150.1)
    retraction.end(changing, reason="A cache answered.", rows=list(fastest.values_list("pk", flat=True)))
    Publication.objects.filter(pk=publication.pk).update(title="A title in words")
    retraction.retract(retracted, reason="Void.")
    retraction.end(superseded, reason="Measured again.", replaced_by=study("n", better="ext4"))
    later, expected = written(tmp_path), answers(ANSWERED)

    become_another(empty=True)
    own = study("s", better="ext4")  # another case study of the same name
    loading.load(before)
    own.refresh_from_db()
    assert own.status == "published"
    retraction.retract(own, reason="So that the answers can be compared.")
    report = loading.load(later)

    assert report.replaced == {"c": "c-2"}
    assert report.added == ["c-2", "n"]
    assert report.ended == ["r: retracted", "s-2: superseded"]
    assert CaseStudy.objects.get(slug="s-2").endings.get().replaced_by.slug == "n"
    assert CaseStudy.objects.get(slug="c").endings.get().replaced_by.slug == "c-2"
    assert Publication.objects.get().title == "A title in words"
    assert not hasattr(CaseStudy.objects.get(slug="s"), "loaded")
    renamed = json.dumps(answers(ANSWERED)).replace("c-2", "c").replace("C-2", "C")
    assert json.loads(renamed) == expected

    earlier = loading.load(before)
    assert earlier.added == []
    assert "was loaded before" in earlier.skipped["c"]


def test_what_an_installation_has_itself_is_not_counted_twice(db, tmp_path):
    publication = make_publication("paper", authors=["Ann"])
    study("same")
    study("reading", publication=publication)
    file = written(tmp_path)
    become_another(empty=False)
    Measurement.objects.filter(configuration__case_study__slug="reading").update(note="Read with care.")

    report = loading.load(file)

    assert report.added == []
    assert set(report.skipped) == {"same", "reading"}
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
        made = manifest.parse(archive.read("release.json"))
        numbers = archive.read("case-studies/q/measurements.csv")
        document = archive.read("case-studies/q/case-study.json")
    bent = numbers.replace(b"150.1", b"15000")
    entries = {entry.slug: entry for entry in made.case_studies}

    def listed(name: str, content: bytes) -> Path:
        """Return a release with other bytes in a file, and their digest."""
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


# Who speaks for an origin


@pytest.fixture
def genuine(db, tmp_path) -> Path:
    """Load a release of laboratory A into another installation, and return A's next one, which has a study more."""
    publication = make_publication("paper", authors=["Ann"], title="As its authors have it", doi="10.1000/182")
    study("p", publication=publication)
    study("q")
    first = written(tmp_path)
    study("later", publication=publication)
    second = written(tmp_path)
    become_another(empty=True)
    loading.load(first)
    return second


@pytest.fixture
def stranger() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


def retracting(file: Path, key: Ed25519PrivateKey, *, retracts: bool = True, **fields) -> Path:
    """Return a release that retracts everything, with a number that none will reach."""
    with zipfile.ZipFile(file) as archive:
        entries = manifest.parse(archive.read("release.json")).case_studies
    ended = manifest.Ending("retracted", "So I say.", "") if retracts else None
    entries = [replace(entry, number=2**31 - 1, ended=ended) for entry in entries]
    return with_manifest(file, key=key, number=2**31 - 1, case_studies=entries, **fields)


def here() -> dict:
    """Return what stands here of every case study."""
    return dict(CaseStudy.objects.values_list("slug", "status"))


def test_a_stolen_origin_changes_nothing_and_the_genuine_one_goes_on(genuine, stranger):
    before = here()
    forged = retracting(genuine, stranger)
    known = Origin.objects.get().key

    with pytest.raises(ReleaseError) as refused:
        loading.load(forged)

    assert "trust_origin" in str(refused.value)
    assert known in str(refused.value)
    assert (here(), Origin.objects.get().key) == (before, known)
    assert loading.load(genuine).added == ["later"]


@pytest.mark.parametrize(
    ("signature", "why"),
    [
        (None, "releases are signed"),
        (b"", "changed"),
        (b"x" * 192, "changed"),
        (b"\xff", "changed"),
        (b"00" * 96, "changed"),
    ],
)
def test_what_is_unsigned_or_badly_signed_is_refused(genuine, signature, why):
    before = here()
    with pytest.raises(ReleaseError, match=why):
        loading.load(changed(genuine, "release.sig", signature))
    assert here() == before


@pytest.mark.parametrize("name", ["release.json", "ro-crate-metadata.json"])
def test_what_was_changed_after_it_was_signed_is_refused(genuine, name):
    with zipfile.ZipFile(genuine) as archive:
        kept = {"release.sig": archive.read("release.sig"), name: archive.read(name) + b" "}
    with pytest.raises(ReleaseError, match="they were changed"):
        loading.load(signed(genuine, kept, signing.own_key()))


def test_an_origin_whose_key_is_lost_signs_with_another_where_an_operator_says_so(genuine, stranger, capsys):
    with zipfile.ZipFile(genuine) as archive:
        made = manifest.parse(archive.read("release.json"))
    renewed = with_manifest(genuine, key=stranger)
    with pytest.raises(CommandError, match="the key of"):
        call_command("load_release", str(renewed))
    with pytest.raises(CommandError, match="64 hexadecimal digits"):
        call_command("trust_origin", made.origin.identity, "AB")

    call_command("trust_origin", made.origin.identity, stranger.public_key().public_bytes_raw().hex())
    call_command("load_release", str(renewed))

    assert "new: later" in capsys.readouterr().out
    with pytest.raises(ReleaseError, match="the key of"):
        loading.load(genuine)


def test_a_key_may_be_known_before_the_first_release(db, tmp_path, stranger):
    study("p")
    file = written(tmp_path)
    identity = str(Installation.objects.get().identity)
    become_another(empty=True)
    call_command("trust_origin", identity, stranger.public_key().public_bytes_raw().hex())

    with pytest.raises(ReleaseError, match="the key of"):
        loading.load(file)

    assert loading.load(with_manifest(file, key=stranger)).added == ["p"]
    assert Origin.objects.get().name == "Laboratory A"


def test_what_was_loaded_before_releases_were_signed_waits_for_an_operators_word(genuine):
    LoadedCaseStudy.objects.update(signer=None)
    Origin.objects.update(key="")
    with pytest.raises(ReleaseError, match="not known here") as refused:
        loading.load(genuine)

    call_command(*str(refused.value).rpartition("manage.py ")[2].split())
    assert loading.load(genuine).added == ["later"]


def test_a_release_of_another_origin_neither_changes_nor_ends_what_it_passes_on(genuine, stranger):
    """A stranger with an identity of its own retracts, renumbers and rewrites the studies of others."""
    before = here()
    publications = list(Publication.objects.values())
    theirs = manifest.Publisher(str(uuid4()), "A stranger", "")
    with zipfile.ZipFile(genuine) as archive:
        name, files = "case-studies/later/case-study.json", manifest.parse(archive.read("release.json")).files
        bent = archive.read(name).replace(b"As its authors have it", b"As a stranger has it")
    rewritten = changed(genuine, name, bent)
    files[name] = hashlib.sha256(bent).hexdigest()

    report = loading.load(retracting(rewritten, stranger, origin=theirs, files=files))

    assert {name: status for name, status in here().items() if name in before} == before
    assert list(Publication.objects.values()) == publications
    assert report.added == ["later"]  # which nobody else had told of yet
    assert Origin.objects.get(name="Laboratory A").key != report.key


@pytest.mark.parametrize("retracts", [True, False])
@pytest.mark.parametrize("value", [150.1, 15_000.0])
def test_the_origins_word_counts_more_than_what_others_passed_on(db, tmp_path, stranger, value, retracts):
    study("p")
    genuine = written(tmp_path)
    identity, key = str(Installation.objects.get().identity), signing.public_key()
    Measurement.objects.filter(value=150.1).update(value=value)
    theirs = manifest.Publisher(str(uuid4()), "A stranger", "")
    forged = retracting(written(tmp_path), stranger, origin=theirs, retracts=retracts)
    become_another(empty=True)
    loading.load(forged)
    with pytest.raises(ReleaseError, match="not known here"):
        loading.load(genuine)  # anybody can say that identity

    call_command("trust_origin", identity, key)
    loading.load(genuine)
    loading.load(retracting(forged, stranger, origin=theirs))

    counting = Measurement.objects.filter(configuration__case_study__status="published")
    assert max(counting.values_list("value", flat=True)) == 150.1
    assert loading.load(genuine).added == []


def test_the_private_key_is_a_file_of_its_owner_alone_and_nowhere_else(transactional_db, tmp_path, data_dir):
    study("p")
    writing.preview(OURS)
    assert not list(data_dir.glob("release_key"))  # made for the first release
    file = written(tmp_path)
    call_command("backup", str(tmp_path / "archive.zip"))

    private = (data_dir / "release_key").read_bytes()
    assert (data_dir / "release_key").stat().st_mode & 0o777 == 0o600
    for place in (file, tmp_path / "archive.zip"):
        with zipfile.ZipFile(place) as archive:
            assert all(private not in archive.read(name) for name in archive.namelist())


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
    assert writing.preview(OURS).redacted == {}


@pytest.mark.nightly
def test_validators_of_others_accept_a_release(published_evidence, tmp_path):
    """script/validate-release brings the validators into an environment of their own, and needs the network."""
    validators = Path(__file__).parents[4] / ".validators" / "bin"
    if not shutil.which("rocrate-validator", path=str(validators)):
        pytest.skip("the validators are missing (script/validate-release brings them)")
    file = written(tmp_path)
    done = subprocess.run(["script/validate-release", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
