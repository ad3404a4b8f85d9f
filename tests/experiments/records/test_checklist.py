"""The ticks of a case study: what its rows and its words say, on its pages and in the API."""

import pytest
from django.urls import reverse

from experiments.case_studies import lifecycle
from experiments.case_studies.api import DraftFieldsSerializer
from experiments.case_studies.bundle_schema import row_schema
from experiments.case_studies.forms import draft_forms
from experiments.imports.tables import conditions
from experiments.models import CaseStudy, Storage
from experiments.records.checklist import protocol_of
from tests.factories import (
    make_campaign,
    make_case_study,
    make_configuration,
    make_measurement,
    make_storage,
    make_user,
    make_variant,
)

pytestmark = pytest.mark.django_db


def found(case_study) -> dict[str, str]:
    return {tick.name: tick.state for tick in protocol_of(case_study).ticks}


def test_rows_and_facts_are_read_as_they_stand():
    study = make_case_study("lab", run_seconds=120, warm_up_seconds=0, quiet_host="yes")
    study.server.ram_gib = 8
    study.server.save()
    load = make_variant("varmail", parameters={"size": "1g"})
    configuration = make_configuration(study, cache_mode="none", disk_bus="virtio", image_format="raw")
    for repetition, value in enumerate((100.0, 110.0), start=1):
        make_measurement(value, configuration=configuration, variant=load, repetition=repetition)
    assert found(study) == {
        **dict.fromkeys(("runs", "length", "procedure", "spread", "cache mode", "quiet host"), "met"),
        **{"warm-up": "not met", "memory": "not stated", "settings": "not stated"},  # of the guest, which caches
    }
    assert protocol_of(study).anecdotes == 0


def test_a_single_run_of_four_seconds_is_an_anecdote():
    study = make_case_study("lab", procedure="")
    make_measurement(case_study=study, variant=make_variant(benchmark="fio", parameters={"runtime": "4"}))
    protocol = protocol_of(study)
    assert (protocol.numbers, protocol.anecdotes) == (1, 1)
    assert found(study)["length"] == "not met"


def test_what_a_case_study_says_of_its_runs_holds_for_its_means():
    study = make_case_study("lab", procedure="", repetitions=3)
    make_measurement(case_study=study)
    assert (found(study)["runs"], protocol_of(study).anecdotes) == ("met", 0)


def test_excluded_rows_are_not_looked_at():
    study = make_case_study("lab")
    make_measurement(case_study=study, excluded_because="disturbed", excluded_by="ada")
    assert protocol_of(study).numbers == 0


def test_the_api_has_them_of_one_case_study_and_not_of_a_list(client):
    study = make_case_study("lab", procedure="")
    make_measurement(case_study=study)
    lifecycle.publish([study], reason="it counts")
    one = client.get("/api/v1/case-studies/lab/").json()
    assert (one["protocol"]["anecdotes"], one["quiet_host"]) == (1, None)
    assert {"name", "asked", "state", "met", "of", "remedy"} == set(one["protocol"]["ticks"][0])
    assert client.get("/api/v1/case-studies/").json()["results"][0]["protocol"] is None


def test_readers_author_and_reviewer_see_them(client):
    study = make_case_study("lab", procedure="", owner=make_user(username="ada"))
    make_measurement(case_study=study)
    client.force_login(study.owner)
    draft = client.get("/drafts/lab/").content.decode()
    assert "Its numbers are anecdotes." in draft
    assert "Repeat the runs, or state how many a number averages." in draft
    assert f'hx-get="{reverse("publication-preview", args=["lab"])}"' in draft
    lifecycle.publish([study], reason="it counts")
    assert "Its numbers are anecdotes." in client.get("/case-studies/lab/").content.decode()


def test_what_is_said_of_files_and_memory_counts_where_no_size_is_known():
    study = make_case_study("lab", fits_cache="yes")
    make_measurement(case_study=study)
    assert found(study)["memory"] == "not met"
    study.fits_cache = "no"
    assert found(study)["memory"] == "met"


@pytest.mark.parametrize(("size", "expected"), [("1m", "not met"), ("999g", "met")])
def test_known_sizes_stand_before_what_is_said_of_all_loads(size, expected):
    study = make_case_study("lab", fits_cache="no" if expected == "not met" else "yes")
    server = study.server
    server.ram_gib = 64.0
    server.save()
    make_measurement(case_study=study, variant=make_variant("varmail", parameters={"size": size}))
    assert found(study)["memory"] == expected


def test_numbers_that_no_disk_made_stand_with_their_reason_on_pages_and_in_the_api(client):
    study = make_case_study("lab", owner=make_user(username="ada"))  # on one hard disk
    make_measurement(400.0, case_study=study)
    client.force_login(study.owner)
    reason = "419 MB/s are more than the 300 MB/s that one hard disk carries"
    assert reason in client.get("/drafts/lab/").content.decode()
    lifecycle.publish([study], reason="it counts")
    assert reason in client.get("/case-studies/lab/").content.decode()
    (number,) = client.get("/api/v1/case-studies/lab/").json()["protocol"]["flagged"]
    assert (number["case_study"], number["flag"], number["value"]) == ("lab", "above the interface", 400.0)


def test_the_year_says_which_interface_there_was():
    study = make_case_study("lab", storage=make_storage(kind="nvme"), measured_year=2018)
    make_measurement(4_000.0, case_study=study)
    assert [number.flag for number in protocol_of(study).flagged] == ["above the interface"]
    study.measured_year = 2019
    assert not protocol_of(study).flagged


def test_a_campaigns_numbers_are_held_against_its_own_reference_load():
    study = make_case_study("lab", storage=make_storage(kind=""))
    campaign = make_campaign(case_study=study, calibrations=[{"before": "repetition 1", "write_mib_s": 100.0}])
    campaign.save()
    make_measurement(151.0, case_study=study)
    assert [number.flag for number in protocol_of(study).flagged] == ["above the reference load"]
    campaign.calibrations[0]["read_mib_s"] = 101.0
    campaign.save()
    assert not protocol_of(study).flagged


def test_numbers_of_single_machines_are_added_up():
    study = make_case_study("lab", vm_counts=[2])
    for machine in (1, 2):
        make_measurement(200.0, case_study=study, vm_count=2, machine=machine)
    assert [number.value for number in protocol_of(study).flagged] == [200.0]


@pytest.mark.parametrize(
    ("of_study", "of_disks"),
    [
        (draft_forms()["case_study"].fields, draft_forms()["storage"].fields),
        (conditions.FACTS["case_study"], conditions.FACTS["storage"]),  # and the form that asks for them
        (DraftFieldsSerializer().fields, DraftFieldsSerializer().fields["storage"].fields),
        (row_schema(CaseStudy)["properties"], row_schema(Storage)["properties"]),
    ],
    ids=["form", "conditions", "API", "bundle"],
)
def test_every_door_asks_for_year_kind_of_disk_and_whether_files_fit_memory(of_study, of_disks):
    assert {"measured_year", "fits_cache"} <= set(of_study)
    assert "kind" in of_disks
