"""Native runs: ranked where the question names them, and mixed with nothing that ran in machines."""

import pytest

from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.evidence import choices, dataframes, summaries
from modelling.evidence.question import Question
from modelling.models import Arm
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
NATIVELY = Question("host-fs", "varmail", hypervisor="native")


def measured_natively_and_in_guests(slug: str = "lab", laboratory: str = "lab"):
    """Publish that ext4 is twice as fast as XFS on the host itself, and half as fast under the images of guests."""
    study = make_case_study(slug, laboratory=laboratory, vm_counts=[0, 1])
    for host_fs, natively, in_guest in (("ext4", 200.0, 50.0), ("xfs", 100.0, 100.0)):
        native = make_configuration(study, hypervisor=None, host_fs=host_fs)
        guest = make_configuration(study, hypervisor="kvm", guest_fs="ext4", host_fs=host_fs)
        for repetition in (1, 2, 3):
            spread = 1 + repetition / 1000
            make_measurement(natively * spread, configuration=native, vm_count=0, repetition=repetition)
            make_measurement(in_guest * spread, configuration=guest, vm_count=1, repetition=repetition)
    publish(study)
    return study


def order(question: Question) -> list[str]:
    return [entry.key for entry in answer_in(current_snapshot(question)).entries]


def test_native_runs_are_ranked_where_they_are_asked_for_by_name():
    measured_natively_and_in_guests()

    answer = answer_in(current_snapshot(NATIVELY))

    assert order(NATIVELY) == ["ext4", "xfs"]
    assert answer.verdict.measured.startswith("One laboratory measured ext4 2.0 times as fast as xfs")
    assert answer.grounds.vm_counts == (0,)
    assert answer.parts[0].held_equal == "hypervisor and kind of storage"
    assert order(Question("host-storage", "varmail", hypervisor="native")) == ["dir-ext4", "dir-xfs"]


@pytest.mark.parametrize("hypervisor", [None, "kvm"])
def test_no_other_question_counts_native_runs(hypervisor):
    study = measured_natively_and_in_guests()
    question = Question("host-fs", "varmail", hypervisor=hypervisor)
    assert order(question) == ["xfs", "ext4"]
    measured = answer_in(current_snapshot(question)).verdict.measured
    assert measured.startswith("One laboratory measured xfs 2.0 times as fast as ext4")
    asked = [
        Question(axis, "varmail") for axis in ("hypervisor", "configuration", "host-storage", "fs-pair", "guest-fs")
    ]
    assert all((dataframes.arms(question)["vm_count"] > 0).all() for question in asked)
    assert not order(Question("hypervisor", "varmail"))  # nor is native an entry: it runs no number of machines
    assert Arm.objects.filter(configuration__case_study=study, configuration__hypervisor=None).exists()


def test_a_native_publication_renews_native_answers_alone():
    measured_natively_and_in_guests("first", "one")
    kept = {question: current_snapshot(question).revision for question in (NATIVELY, Question("host-fs", "varmail"))}
    second = make_case_study("second", laboratory="two", vm_counts=[0])
    for host_fs, value in (("ext4", 90.0), ("xfs", 30.0)):
        configuration = make_configuration(second, hypervisor=None, host_fs=host_fs)
        make_measurement(value, configuration=configuration, vm_count=0)
    summaries.rebuild_arms([second.pk])

    reached = set(filter(dataframes.Reach([second.pk]).admits, kept))

    assert reached == {NATIVELY}


def test_how_much_lies_behind_native_is_counted_natively():
    measured_natively_and_in_guests()
    choices.clear_cache()

    behind = choices.count_evidence({"hypervisor": ["kvm", "native"], "host_fs": ["ext4"]}, {"workload": "varmail"})

    assert behind.case_studies["hypervisor"] == {"kvm": 1, "native": 1}
    with_axis = choices.count_evidence({"hypervisor": ["kvm", "native"]}, {"workload": "varmail", "axis": "guest-fs"})
    assert with_axis.case_studies["hypervisor"] == {"kvm": 0, "native": 0}


@pytest.mark.parametrize("spelling", ["native", "No hypervisor", "bare metal", "natively"])
def test_page_and_api_answer_natively_however_it_is_spelled(client, spelling):
    measured_natively_and_in_guests()
    asked = {"workload": "varmail", "hypervisor": spelling}

    answer = client.get("/api/v1/rankings/host-fs/", asked).json()
    page = client.get("/", asked, follow=True).content.decode()  # the axis is left open: natively the host file system

    assert answer["question"]["hypervisor"] == "native"
    assert [entry["key"] for entry in answer["entries"]] == ["ext4", "xfs"]
    assert "varmail natively: which host file system?" in page
    assert "Native, no hypervisor (one case study)" in page


def test_own_words_and_the_search_find_native_answers(client):
    measured_natively_and_in_guests()
    current_snapshot(NATIVELY)

    page = client.get("/", {"text": "varmail on bare metal"}, follow=True).content.decode()
    hits = client.get("/api/v1/search/", {"q": "varmail natively"}).json()["hits"]

    assert "varmail without a hypervisor: what to choose" in page
    assert {"Answer"} == {hit["kind"] for hit in hits if "hypervisor=native" in hit["address"]}


def test_what_has_no_meaning_natively_is_not_said(client):
    measured_natively_and_in_guests()

    asked = {"workload": "varmail", "hypervisor": "native"}
    why = client.get("/api/v1/explanations/", {"axis": "host-fs", **asked}).json()
    page = client.get("/", asked, follow=True).content.decode()
    none = client.get("/api/v1/rankings/fs-pair/", asked).json()

    steps = {step["kind"]: step["text"] for step in why["steps"]}
    assert "Of the three components that a native run has" in steps["components"]
    assert not steps.keys() & {"mechanisms", "decomposition", "forecast"}
    assert "virtual disk" not in page
    assert "Machines at once" not in page.partition("Change the question")[0]
    assert "A native run has no guest" in " ".join(none["missing"])
