"""What others published: every row is in or listed with its reason, and says no more than its source."""

import json

import pytest
from django.conf import settings
from django.core.management import call_command

from experiments.models import CaseStudy, Configuration, Measurement
from experiments.published_evidence import load as evidence
from experiments.published_evidence import outside
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.evidence.question import Question

FOLDER = settings.BASE_DIR / "fixtures" / "outside"


@pytest.fixture(scope="module")
def found():
    return outside.read(FOLDER)


def configurations(found, case_study):
    (study,) = [entry.fields for entry in found.sources["case_studies"] if entry.fields["slug"] == case_study]
    return {each["slug"]: each for each in study["configurations"]}


def test_every_row_is_in_or_listed_with_its_reason(found):
    in_ranges = sum("minimum" in entry.fields for entry in found.measurements)  # two rows each, the ends
    listed = sum(map(len, found.unused.values()))
    assert len(found.measurements) + in_ranges + listed == found.rows == 814
    assert listed == 49
    assert all(found.unused)


def test_a_reason_is_given_once_and_names_the_lines(found):
    assert found.unused["the hypervisor is not named"][0].startswith("measurements.csv, line ")


def test_no_two_different_configurations_share_a_name(found):
    rows = outside.read_csv(FOLDER / "measurements.csv", outside.COLUMNS)
    results = [result for row in rows if not isinstance(result := outside._result(row), str)]
    names = {(result.row["case_study"], result.configuration_slug) for result in results}
    assert len(names) == len({(result.row["case_study"], json.dumps(result.configuration)) for result in results})


@pytest.mark.parametrize(
    ("case_study", "backends"),
    [
        ("temoto_lxd_vm_backends", {"lvm-thin", "zvol", "file"}),
        ("jrs_zvol_vs_qcow2_2018", {"zvol", "file"}),
        ("ibm_roks_kubevirt", {"rbd", "file", "nfs"}),
        ("virtiofs_vs_9p_2020", {"virtiofs", "9p"}),
        ("shakenfist_cache_modes", {None}),  # it does not say
    ],
)
def test_what_images_lie_on_is_what_the_source_says(found, case_study, backends):
    virtual = [each for each in configurations(found, case_study).values() if "hypervisor" in each]
    assert {each.get("backend") for each in virtual} == backends


def test_layers_without_a_hypervisor_are_native(found):
    assert {each["virtualisation"] for each in configurations(found, "flexclone_overlayfs_filebench").values()} == {
        "none"
    }


def test_the_two_ends_of_a_printed_range_are_one_row(found):
    rows = [row.fields for row in found.measurements if row.fields["case_study"] == "dimoulis_pgbench"]
    (row,) = [row for row in rows if row.get("minimum") == "360"]
    assert (row["maximum"], float(row["value"]), row["unit"]) == ("393", 376.5, "TPS")


def test_a_synchronous_engine_makes_no_synchronous_write(found):
    loads = {
        row.fields["case_study"]: json.loads(row.fields["workload"])["workload"]
        for row in found.measurements
        if row.fields["case_study"] in ("jrs_zvol_vs_qcow2_2018", "temoto_lxd_vm_backends", "ppeerttu_oulu_2021")
        and row.fields["operation"] != "sequential read"
    }
    assert loads == {
        "jrs_zvol_vs_qcow2_2018": "random-write",
        "temoto_lxd_vm_backends": "sync-write",
        "ppeerttu_oulu_2021": "sequential-write",
    }


def test_each_case_study_states_its_weakness(found):
    notes = {entry.fields["slug"]: " ".join(entry.fields["notes"]) for entry in found.sources["case_studies"]}
    assert all(text.startswith("Published without review.") for text in notes.values())
    assert "One value of each kind" in notes["jrs_zvol_vs_qcow2_2018"]
    assert "guest's file system is not stated" in notes["bodenr_docker_kvm_2014"]


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.usefixtures("published_evidence")
def test_it_is_loaded_beside_the_papers_and_changes_none_of_their_answers():
    asked = [Question("hypervisor", "fileserver"), Question("fs-pair", "varmail"), Question("guest-fs", "webserver")]
    before = [answer(estimate(question), 1).entries for question in asked]
    report = evidence.load_outside(FOLDER)

    assert (report.published, report.added[Measurement]) == (36, 742)
    assert [answer(estimate(question), 1).entries for question in asked] == before
    backends = answer(estimate(Question("host-storage", "sync-write")), 2)
    assert [entry.key for entry in backends.entries] == ["lvm-thin", "zvol", "dir"]
    assert {entry.grade for entry in backends.entries} == {"C"}
    papers = Question("host-storage", "sync-write", evidence="papers")
    assert answer(estimate(papers), 2).entries == ()
    for configuration in Configuration.objects.filter(case_study__published_revision=2):
        configuration.full_clean()
    assert "Published without review." in CaseStudy.objects.get(slug="temoto_lxd_vm_backends").notes
    assert evidence.load_outside(FOLDER).lines() == ["nothing to add: the database holds all of the published evidence"]


def test_what_cannot_be_said_is_listed_by_a_command(capsys):
    call_command("load_evidence", "--unused")
    assert "5 of 814 rows: its unit is not stated\n  measurements.csv, line 48\n" in capsys.readouterr().out
