"""The signatures that come with KDB."""

import json

import pytest
from django.core.management import call_command

from experiments.laboratory.benchmarks import engines
from experiments.models import FileSystem, Signature
from experiments.published_evidence import signatures
from experiments.published_evidence.files import EvidenceError
from modelling.fleet.detection.content import OTHERS
from tests import factories
from tests.test_architecture import ROOT

FILE = ROOT / "fixtures/signatures.csv"
LINE = "varmail,a run,ext4,1,5,20480,7,28672,3,0.0,10.5,0.1,0.2,0.3"


def written(folder, *lines: str):
    path = folder / "signatures.csv"
    path.write_text("\n".join([",".join(signatures.COLUMNS), *lines]) + "\n")
    return path


@pytest.mark.django_db
def test_loading_again_adds_nothing_and_follows_the_file(tmp_path):
    factories.entry(FileSystem, "ext4")
    mine = factories.make_run().signatures.create(
        workload="varmail", starts_after=0, seconds=9, **dict.fromkeys(signatures.NAMES, 1)
    )
    path = written(tmp_path, LINE, LINE.replace("a run", "another"))
    assert [signatures.load(path), signatures.load(path)] == [2, 0]
    row = Signature.objects.get(source="a run")
    assert (row.guest_fs.slug, row.writes, row.write_bytes, row.flush_seconds) == ("ext4", 7, 28672, 0.3)
    signatures.load(written(tmp_path, LINE.replace("a run", "another")))
    assert set(Signature.objects.values_list("source", flat=True)) == {mine.source, "another"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LINE.replace(",7,", ",-7,"), 'line 2, writes: found "-7", allowed is a whole number, 0 or more'),
        (LINE.replace("10.5", "0"), 'line 2, seconds: found "0", allowed is a number above 0'),
        (LINE.replace("0.3", "nan"), 'line 2, flush_seconds: found "nan", allowed is a number, 0 or more'),
        (LINE.replace("varmail", ""), 'line 2, workload: found "", allowed is a name'),
        (LINE + ",1", "line 2: found 15 cells, allowed is 14"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, line, said):
    with pytest.raises(EvidenceError, match=said.replace("[", r"\[")):
        signatures.read(written(tmp_path, line))


@pytest.mark.django_db
@pytest.mark.sqlite
def test_they_come_with_the_evidence(settings):
    settings.KDB_SIGNATURES = FILE
    call_command("load_evidence", papers=True, verbosity=0)
    assert not Signature.objects.exists()
    call_command("load_evidence", verbosity=0)
    assert Signature.objects.count() == len(signatures.read(FILE))


def test_loads_that_are_none_of_the_four_are_no_workload_that_any_evidence_brings():
    """Else they would be learnt, and told."""
    catalogues = [
        json.loads((ROOT / folder / "catalogue.json").read_text()) for folder in ("fixtures", "fixtures/outside")
    ]
    brought = {entry["slug"] for catalogue in catalogues for entry in catalogue["workloads"]}
    foreign = {row["workload"] for row in signatures.read(FILE)} - set(engines.WORKLOADS)
    assert set(OTHERS) < foreign
    assert set(engines.WORKLOADS) < brought
    assert not foreign & brought
