"""The signatures that come with KDB."""

import json
import math

import pytest
from django.core.management import call_command

from experiments.laboratory.benchmarks import engines
from experiments.models import FileSystem, Signature
from experiments.published_evidence import signatures
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


def test_every_line_of_the_file_is_a_stretch_of_a_known_load():
    for row in signatures.read(FILE):
        assert row["workload"], row
        assert row["source"], row
        assert row["seconds"] > 0, row
        assert all(0 <= row[name] < math.inf for name in (*signatures.NAMES, "machine", "starts_after")), row


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
