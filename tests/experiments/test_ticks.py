"""The ticks of a case study: what its rows and its words say, on its pages and in the API."""

import pytest
from django.urls import reverse

from experiments.case_studies import life
from experiments.ticks import protocol_of
from tests.factories import make_case_study, make_configuration, make_measurement, make_user, make_variant

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
        **{"warm-up": "not met", "memory": "not met", "settings": "not stated"},
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
    life.publish([study], reason="it counts")
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
    life.publish([study], reason="it counts")
    assert "Its numbers are anecdotes." in client.get("/case-studies/lab/").content.decode()
