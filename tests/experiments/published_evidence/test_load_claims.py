"""Loading claims, the conditions they are checked by, and the ratios that only they use."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from experiments.models import Claim, KnowledgeRevision, PrintedRatio
from experiments.published_evidence import load as evidence
from experiments.published_evidence.files import EvidenceError
from experiments.signals import claims_changed

pytestmark = pytest.mark.django_db


@pytest.fixture
def directory(tmp_path) -> Path:
    return Path(shutil.copytree(evidence.DIRECTORY, tmp_path / "evidence"))


@pytest.fixture
def heard():
    """Record each time that modelling is told that claims changed."""
    times = []

    def listen(sender, **kwargs) -> None:
        times.append(sender)

    claims_changed.connect(listen)
    yield times
    claims_changed.disconnect(listen)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def without_ratios_of(path: Path, workload: str) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(row for row in table if row[1] != workload)


def test_every_claim_has_its_checks(published_evidence):
    stored = dict(Claim.objects.values_list("code", "checks"))
    written = json.loads((evidence.DIRECTORY / "claim_checks.json").read_text(encoding="utf-8"))["claims"]
    assert stored == {entry["claim"]: entry["checks"] for entry in written}


def test_a_claim_without_checks_is_loaded_without_them(directory):
    text = (directory / "claim_checks.json").read_text(encoding="utf-8").splitlines(keepends=True)
    (directory / "claim_checks.json").write_text("".join(line for line in text if '"P0-C01"' not in line))
    evidence.load(directory)
    assert Claim.objects.get(code="P0-C01").checks == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"claim": "P0-C02"', '"claim": "P9-C02"', 'claims P9-C02, claim: found "P9-C02", allowed is the code of a'),
        (
            '"claim": "P0-C02"',
            '"claim": "P0-C01"',
            'claims P0-C01, claim: found "P0-C01", allowed is the code of a claim, each',
        ),
        ('"checks": {"own"', '"checks": {"mine"', 'claims P0-C01, checks: found {"mine"'),
        ('"is": [1.1, null]', '"is": [1.1, "much"]', 'claims P0-C01, checks: own.is: "much" is no number'),
        ('"vm_count": [1, 2, 3, 4]', f'"vm_count": {list(range(9000))}', "claims P0-C14, checks: own"),
    ],
)
def test_a_wrong_entry_of_the_checks_is_named(directory, old, new, message):
    replace(directory / "claim_checks.json", old, new)
    with pytest.raises(EvidenceError) as error:
        evidence.load(directory)
    assert str(error.value).startswith(f"claim_checks.json, {message}")
    assert not Claim.objects.exists()


@pytest.mark.parametrize("counts", ["", "1 two", "1,2"])
def test_the_machine_counts_of_a_ratio_are_whole_numbers(directory, counts):
    replace(directory / "ratios.csv", "p0,fileserver,kvm,xen,,1 2 3 4,", f'p0,fileserver,kvm,xen,,"{counts}",')
    with pytest.raises(EvidenceError, match=r"ratios\.csv, line 18, vm_counts: .* allowed is whole numbers"):
        evidence.load(directory)


def test_ratios_and_checks_may_be_added_to_a_case_study_that_is_published(directory, heard):
    before = Path(shutil.copytree(directory, directory.parent / "before"))
    without_ratios_of(before / "ratios.csv", "varmail")
    evidence.load(before)
    assert not heard  # the publication has told it
    report = evidence.load(directory)
    assert report.added[PrintedRatio] == 7
    assert report.revision is None
    assert KnowledgeRevision.objects.count() == 1
    assert len(heard) == 1


def test_loading_again_tells_nobody(heard, published_evidence):
    evidence.load()
    assert not heard


def test_a_claim_that_is_checked_otherwise_is_told(directory, heard, published_evidence):
    replace(directory / "claim_checks.json", '"is": [1.1, null]', '"is": [1.2, null]')
    evidence.load(directory)
    assert len(heard) == 1
