"""Evidence that others published: every row is in or left out with its reason, and says no more than its source."""

import csv
import json
import shutil

import pytest
from django.conf import settings
from django.core.management import call_command

from experiments.imports.tables.conditions import as_toml, read_conditions
from experiments.models import CaseStudy, Configuration, Measurement
from experiments.published_evidence import load as evidence
from experiments.published_evidence import studies
from experiments.published_evidence.files import EvidenceError
from modelling.answer_pages.fair_play_audit import audit
from modelling.answers.answer import answer
from modelling.answers.estimate import assumptions, estimate
from modelling.estimation.arms import find_compared
from modelling.evidence import dataframes
from modelling.evidence.question import Question

FOLDER = settings.BASE_DIR / "fixtures" / "outside"
LEFT_OUT_WHOLE = {"openzfs5119_gcp"}


def read(folder=FOLDER):
    return studies.read(folder, evidence.DIRECTORY)


@pytest.fixture(scope="module")
def found():
    return read()


def configurations(outside_evidence, case_study):
    (study,) = [
        entry.fields for entry in outside_evidence.sources["case_studies"] if entry.fields["slug"] == case_study
    ]
    return {configuration["slug"]: configuration for configuration in study["configurations"]}


def test_every_case_study_is_in(found):
    """The 61 that were transcribed: of one no row can be used, and one is of two machines, so a case study each."""
    slugs = studies.slugs(FOLDER)
    assert {entry.fields["slug"] for entry in found.sources["case_studies"]} == {*slugs} - LEFT_OUT_WHOLE
    assert len(slugs) - len(LEFT_OUT_WHOLE) == 62


def test_every_row_is_in_or_left_out_with_its_reason(found):
    in_ranges = sum("minimum" in entry.fields for entry in found.measurements)
    listed = sum(map(len, found.unused.values()))
    taken = {entry.place for entry in found.measurements}
    assert len(taken) + listed == found.rows == 1152
    assert (len(found.measurements), listed, in_ranges) == (1162, 66, 24)
    assert all(found.unused)


def test_a_reason_names_the_lines(found):
    assert found.unused["its unit is not stated"][0] == "temoto_lxd_vm_backends/table.csv, line 3"


def test_each_case_study_loads_alone(tmp_path, found):
    shutil.copy(FOLDER / "catalogue.json", tmp_path)
    proposed = [entry.fields["slug"] for entries in found.catalogue.values() for entry in entries]
    for slug in studies.slugs(FOLDER):
        shutil.copytree(FOLDER / slug, tmp_path / slug)
        alone = read(tmp_path)
        rows = [entry for entry in found.measurements if entry.fields["case_study"] == slug]
        assert [entry.fields for entry in alone.measurements] == [entry.fields for entry in rows]
        shutil.rmtree(tmp_path / slug)
    assert len(proposed) == len(set(proposed))


def test_conditions_are_written_as_a_form_writes_them():
    for slug in studies.slugs(FOLDER):
        text = (FOLDER / slug / studies.CONDITIONS).read_text()
        assert as_toml(read_conditions(text)) == text, slug


def test_no_two_different_configurations_share_a_name(found):
    for study in found.sources["case_studies"]:
        facts = [
            json.dumps({name: value for name, value in configuration.items() if name != "slug"}, sort_keys=True)
            for configuration in study.fields["configurations"]
        ]
        assert len(facts) == len(set(facts)), study.fields["slug"]


@pytest.mark.parametrize(
    ("case_study", "backends"),
    [
        ("temoto_lxd_vm_backends", {"lvm-thin", "zvol", "file"}),
        ("jrs_zvol_vs_qcow2_2018", {"zvol", "file"}),
        ("ibm_roks_kubevirt", {"rbd", "file", "nfs"}),
        ("virtiofs_vs_9p_2020", {"virtiofs", "9p"}),
        ("shakenfist_cache_modes", {None}),  # it does not say
        ("longhorn3037_localpath_vs_longhorn", {"longhorn", "file"}),
    ],
)
def test_what_images_lie_on_is_what_the_source_says(found, case_study, backends):
    virtual = [
        configuration for configuration in configurations(found, case_study).values() if "hypervisor" in configuration
    ]
    assert {configuration.get("backend") for configuration in virtual} == backends


@pytest.mark.parametrize(
    ("case_study", "setting", "values"),
    [
        ("virtiowin_cachemodes_2026", "cache_mode", {"none", "directsync", "writethrough"}),
        ("9llo_pvscsi_vs_lsi_2026", "disk_bus", {"pvscsi", "lsilogic"}),
        ("openzfs824_volblocksize", "volume_block_bytes", {2**n for n in range(13, 18)}),
        ("pastebin_zfs_layouts", "pool_layout", {"raidz1", "raidz2", "striped-mirrors"}),
        ("duzlov_zfs_fsync_2023", "pool_devices", {"slog-special", "special", "none", None}),
        (
            "trenb_zvol_releases_2017",
            "host_fs_release",
            {"0.6.4.2", *(f"0.7.0-rc4-92{rest}" for rest in ("", " with PR 6294", ", zvol_request_sync=1"))},
        ),
        ("ibm_roks_kubevirt_2026_05_remeasured", "pool_layout", {"replicated", "erasure-coded", None}),
    ],
)
def test_settings_are_facts_of_their_own(found, case_study, setting, values):
    assert {configuration.get(setting) for configuration in configurations(found, case_study).values()} == values


def test_layers_without_a_hypervisor_are_native(found):
    assert {
        configuration["virtualisation"]
        for configuration in configurations(found, "flexclone_overlayfs_filebench").values()
    } == {"none"}


def test_an_append_under_overlayfs_is_no_sequential_write(found):
    (study,) = [e.fields for e in found.sources["case_studies"] if e.fields["slug"] == "flexclone_overlayfs_filebench"]
    assert {load["workload"] for load in study["workloads"]} == {"append", "fileserver", "varmail"}


def test_the_two_ends_of_a_printed_range_are_one_row(found):
    rows = [row.fields for row in found.measurements if row.fields["case_study"] == "dimoulis_pgbench"]
    (row,) = [row for row in rows if row.get("minimum") == 360]
    assert (row["maximum"], row["value"], row["unit"]) == (393, 376.5, "TPS")


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


def rows_of(found, case_study):
    return [row.fields for row in found.measurements if row.fields["case_study"] == case_study]


def test_a_sweep_of_threads_is_loads_and_no_repetitions(found):
    rows = rows_of(found, "cloudhypervisor6520_writers")
    loads = {
        (row["configuration"], json.loads(json.loads(row["workload"])["parameters"])["threads"]): row["value"]
        for row in rows
    }
    assert len(loads) == len(rows) == 15
    assert {row["repetition"] for row in rows} == {1}
    assert (loads["native", 1], loads["kvm-raw-not-stated", 30]) == (1485.33, 2101.6)


def test_a_rate_is_of_other_blocks_than_a_throughput(found):
    """So no headline mixes 12 times by rate with 1.8 times by throughput."""
    rows = rows_of(found, "openebs_local_vs_rook_2025")
    assert {(row["metric"], row["block_size_bytes"]) for row in rows} == {
        *(("operation_rate", 4096), ("latency", 4096)),
        ("throughput", 131072),
    }
    writes = {(row["metric"], row["configuration"]): row["value"] for row in rows if row["operation"] == "random write"}
    assert writes["operation_rate", "kubernetes-openebs-local"] == 54018
    assert writes["throughput", "kubernetes-rook"] == pytest.approx(375440 / 1024, abs=1e-4)
    assert writes["latency", "kubernetes-rook"] == 7209.196


def test_volumes_and_engines_of_others_have_their_own_words(found):
    backends = {
        configuration["backend"] for configuration in configurations(found, "bigbang_k8s_storage_2021").values()
    }
    assert backends == {"raw", "longhorn", "openebs-jiva", "rook", "portworx"}
    rates = [row["value"] for row in rows_of(found, "bigbang_k8s_storage_2021") if row["metric"] == "operation_rate"]
    assert (len(rates), max(rates), min(rates)) == (20, 35100, 533)
    engines = configurations(found, "firecracker_ci_baselines_2023").values()
    assert {engine["io_mode"] for engine in engines} == {"sync", "io_uring"}
    assert sum(row["value"] for row in rows_of(found, "firecracker_ci_baselines_2023")) == 32_785_987


def test_each_case_study_states_its_weakness(found):
    notes = {entry.fields["slug"]: " ".join(entry.fields["notes"]) for entry in found.sources["case_studies"]}
    assert all(text.startswith("Published without review.") for text in notes.values())
    assert "One value of each kind" in notes["jrs_zvol_vs_qcow2_2018"]
    assert "guest's file system is not stated" in notes["bodenr_docker_kvm_2014"]


def test_everything_that_is_wrong_is_told_by_study_line_and_column(tmp_path):
    shutil.copy(FOLDER / "catalogue.json", tmp_path)
    for slug in ("smerrill_vbox", "lima1268_vz"):
        shutil.copytree(FOLDER / slug, tmp_path / slug)
    conditions = tmp_path / "smerrill_vbox" / studies.CONDITIONS
    conditions.write_text(conditions.read_text().replace('"virtualbox"', '"virtual-boks"'))
    table = tmp_path / "lima1268_vz" / studies.TABLE
    rows = list(csv.reader(table.read_text().splitlines()))
    rows[2][rows[0].index("value")] = "fast"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(EvidenceError) as error:
        read(tmp_path)
    assert "smerrill_vbox/table.csv, line 2: found virtual-boks, allowed is a hypervisor" in str(error.value)
    assert "lima1268_vz/table.csv, line 3, value: found fast, allowed is a number such as" in str(error.value)


@pytest.mark.nightly
@pytest.mark.sqlite
@pytest.mark.usefixtures("published_evidence")
def test_it_is_loaded_beside_the_papers():
    report = evidence.load_outside(FOLDER)

    assert (report.published, report.added[Measurement]) == (62, 1162)
    backends = answer(estimate(Question("host-storage", "sync-write")), 2)
    assert {entry.key for entry in backends.entries[:2]} == {"lvm-thin", "dir"}  # two thousandths apart
    assert {entry.key for entry in backends.entries} == {"lvm-thin", "zvol", "dir"}
    assert {entry.grade for entry in backends.entries} == {"C"}
    papers = Question("host-storage", "sync-write", evidence="papers")
    assert answer(estimate(papers), 2).entries == ()
    assert all(audit(case_study) for case_study in CaseStudy.objects.filter(published_revision=2))
    arms = dataframes.every_arm()
    numbers = arms["measurements"].where(~arms["is_reviewed"], 0)
    assert numbers[find_compared(arms, assumptions().spread)].sum() > 0.6 * read().rows
    for configuration in Configuration.objects.filter(case_study__published_revision=2):
        configuration.full_clean()
    assert "Published without review." in CaseStudy.objects.get(slug="temoto_lxd_vm_backends").notes
    assert evidence.load_outside(FOLDER).lines() == ["nothing to add: the database holds all of the published evidence"]


def test_what_cannot_be_said_is_listed_by_a_command(capsys):
    call_command("load_evidence", "--unused")
    printed = capsys.readouterr().out
    assert "5 of 1152 rows: its unit is not stated\n  temoto_lxd_vm_backends/table.csv, line 3\n" in printed
