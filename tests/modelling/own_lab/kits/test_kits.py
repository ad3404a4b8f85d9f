"""A kit's page and API: its plan, who ran it, each laboratory's ratio, and what all evidence says."""

import json
import math
from io import BytesIO
from itertools import product
from zipfile import ZipFile

import pytest
from django.test import Client

from experiments.campaigns.kits.definitions import kits
from experiments.case_studies import lifecycle
from experiments.models import Contributor
from tests.factories import make_case_study, make_configuration, make_measurement, make_user, make_variant

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def publish(laboratory: str, ratio: float, *, kit: str = "cache-mode/1", owner=None):
    """Publish a case study in which writeback was `ratio` times as fast as none under mail."""
    study = make_case_study(
        f"by-{laboratory}", laboratory=laboratory, kit=kit, run_seconds=60, measured_year=2026, owner=owner
    )
    for mode, value in (("none", 100.0), ("writeback", 100.0 * ratio)):
        configuration = make_configuration(study, cache_mode=mode, disk_bus="virtio", image_format="raw")
        for number, factor in enumerate((0.99, 1.01), start=1):
            make_measurement(
                value * factor, configuration=configuration, variant=make_variant(), repetition=number, vm_count=1
            )
    lifecycle.publish([study], reason="A test.")
    return study


def pair_of(report: dict, first: str = "writeback") -> dict:
    return next(pair for pair in report["pairs"] if (pair["workload"], pair["first"]) == ("varmail", first))


def test_nobody_ran_it_yet(client):
    page = client.get("/kits/cache-mode/").content.decode()
    assert "kdb study cache-mode --host NAME" in page
    assert "Nobody has run it yet: run it by one line." in page
    assert "Nobody has run it yet: run it by one line." in client.get("/guides/cache-mode/").content.decode()
    assert client.get("/kits/no-such/").status_code == client.get("/api/v1/kits/no-such/").status_code == 404
    summaries = client.get("/api/v1/kits/").json()["kits"]
    assert (len(summaries), {tuple(kit["ran"]) for kit in summaries}) == (10, {()})


def test_laboratories_are_counted_together_and_each_is_shown_with_its_ratio(client):
    owner = make_user("researchers")
    Contributor.objects.create(user=owner, slug="ada", name="Ada L.")
    publish("lab-a", 1.2, owner=owner)
    publish("lab-b", 1.5)
    report = client.get("/api/v1/kits/cache-mode/").json()
    assert report["ran"] == ["lab-a", "lab-b"]
    pair = pair_of(report)
    assert (pair["second"], pair["axis"]) == ("none", "cache-mode")
    assert [(row["who"], round(row["ratio"], 3)) for row in pair["measured"]] == [("lab-a", 1.2), ("lab-b", 1.5)]
    assert all(row["low"] < row["ratio"] < row["high"] for row in pair["measured"])
    expected = pair["expected"]
    assert (expected["laboratories"], 1 < expected["ratio"] < math.sqrt(1.2 * 1.5) * 1.05) == (2, True)
    assert [run["contributor"] for run in report["runs"]] == ["Ada L.", ""]
    assert pair_of(report, "directsync")["measured"] == []
    assert pair_of(report, "directsync")["expected"] is None
    page = client.get("/kits/cache-mode/").content.decode()
    assert "Run by lab-a, lab-b." in page
    assert pair["address"].replace("&", "&amp;") in page
    assert "Run by lab-a, lab-b." in client.get("/guides/cache-mode/").content.decode()
    assert "Run by lab-a, lab-b." in client.get("/kits/").content.decode()


@pytest.mark.parametrize("slug", ["volume-block-size", "bus-and-iothread", "compression", "log-device"])
def test_what_each_of_a_kits_ways_compares_is_found_in_what_was_published(client, slug):
    kit = kits()[slug]
    (way,) = kit.ways
    study = make_case_study("one", laboratory="lab-a", kit=kit.mark, run_seconds=60)
    native = {} if way.guest_file_systems else {"hypervisor": None}
    for number, values in enumerate(product(*way.disk.values()), start=1):
        options = dict(zip(way.disk, values, strict=True)) | native
        configuration = make_configuration(study, host_fs=way.host_file_systems[0], **options)
        for repetition in (1, 2):
            make_measurement(
                100.0 * number + repetition,
                **{"configuration": configuration, "variant": make_variant(kit.workloads[0]), "repetition": repetition},
                vm_count=int(not native),
            )
    lifecycle.publish([study], reason="A test.")
    pairs = client.get(f"/api/v1/kits/{slug}/").json()["pairs"]
    measured = [bool(pair["measured"]) for pair in pairs if pair["workload"] == kit.workloads[0]]
    assert measured == [True] * len(measured)
    assert len(measured) == {"volume-block-size": 2, "bus-and-iothread": 2, "compression": 2, "log-device": 1}[slug]


def test_another_version_is_shown_and_not_counted(client):
    publish("lab-a", 1.2, kit="cache-mode/0")
    (run,) = client.get("/api/v1/kits/cache-mode/").json()["runs"]
    assert (run["version"], run["counts"]) == (0, False)
    assert "version 0, not counted above" in client.get("/kits/cache-mode/").content.decode()
    assert pair_of(client.get("/api/v1/kits/cache-mode/").json())["measured"] == []


def test_drafts_and_what_was_retracted_are_not_shown(client):
    make_case_study("draft", laboratory="lab-c", kit="cache-mode/1")
    assert Client().get("/api/v1/kits/cache-mode/").json()["runs"] == []


def test_a_bundle_keeps_the_kit_of_its_case_study_which_the_page_names(client):
    study = publish("lab-a", 1.2)
    page = client.get(f"/case-studies/{study.slug}/").content.decode()
    assert 'href="/kits/cache-mode/"' in page
    bundle = client.get(f"/case-studies/{study.slug}/bundle.zip")
    with ZipFile(BytesIO(b"".join(bundle) if bundle.streaming else bundle.content)) as files:
        (name,) = [name for name in files.namelist() if name.endswith("case-study.json")]
        assert json.loads(files.read(name))["case_study"]["kit"] == "cache-mode/1"
