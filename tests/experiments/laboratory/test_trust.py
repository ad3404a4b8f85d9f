"""Grounds to trust a figure, on real machines: one beginning, what others did, and the course of a run."""

import subprocess
from itertools import pairwise

import pytest

from experiments.campaigns import control, drafts
from experiments.campaigns.runs.figures import throughput
from experiments.laboratory.benchmarks import background, bench, calibration
from experiments.models import Benchmark, OperatingSystem, Workload
from kdb.jobs import jobs
from tests import factories
from tests.experiments.laboratory.conftest import registered, said, started, work_off

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SHORT = {"disk_mib": 320, "scale_percent": 10}


@pytest.mark.nightly
def test_the_curve_of_a_run_comes_to_what_the_benchmark_says_of_itself(host):
    campaign = started(host, run_seconds=12, **SHORT)
    work_off(campaign)
    run = campaign.runs.get()
    assert run.state == "done", said(run)
    (curve,) = run.curves
    assert 10 <= len(curve["mib_s"]) <= 12
    assert curve["until_s"] == sorted(curve["until_s"])
    assert curve["until_s"][-1] <= 12.1
    seconds = [until - before for before, until in pairwise([0.0, *curve["until_s"]])]  # on a busy machine unlike
    written = sum(mib_s * of for mib_s, of in zip(curve["mib_s"], seconds, strict=True))
    assert written / sum(seconds) == pytest.approx(throughput(run), rel=0.15)


@pytest.mark.nightly
def test_the_files_are_made_first_and_begin_cold(host, plain_lab, monkeypatch):
    """While the machine waits at the barrier its files are there, and nothing was measured."""
    seen = []

    def go(watches):
        area = f"{plain_lab.pool}/.kdb"
        seen.append((plain_lab.inside("ls", f"{area}/fs"), plain_lab.inside("ls", area)))
        return sent(watches)

    sent = bench._go
    monkeypatch.setattr(bench, "_go", go)
    campaign = started(host, run_seconds=2, **SHORT)
    work_off(campaign)
    run = campaign.runs.get()
    assert run.state == "done", said(run)
    ((files, area),) = seen
    assert len(files.split()) >= 90
    assert "benchmark.ready" in area
    assert "benchmark.began" not in area
    lines = list(run.lines.values_list("text", flat=True))
    made, dropped = (next(n for n, line in enumerate(lines) if words in line) for words in ("make the files", "drop"))
    assert made < dropped < next(n for n, line in enumerate(lines) if "start fio with varmail for 2 s" in line)


def test_a_disturbed_run_is_repeated_at_the_end_and_the_repeat_counts(host, plain_lab, monkeypatch):
    """Somebody else's programs use the processors during the first of two runs."""
    monkeypatch.setattr(background, "CPU_LIMIT", 0.7)
    campaign = started(host, run_seconds=4, repetitions=2, **SHORT)
    first = campaign.runs.get(state="active")
    burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        jobs.run(first.job_id)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    monkeypatch.setattr(background, "CPU_LIMIT", float("inf"))
    first.refresh_from_db()
    (load_by_others,) = first.facts["background"]
    assert first.state == "done", said(first)
    assert load_by_others["where"] == "host"
    assert load_by_others["cpu"] > 0.7
    assert "CPU-seconds a second on host; 0.7 are allowed" in first.disturbed
    repeat = campaign.runs.get(repeats=first)
    assert (repeat.position, repeat.state, repeat.cell, repeat.repetition) == (3, "waiting", first.cell, 1)
    work_off(campaign)
    assert list(campaign.runs.values_list("state", flat=True)) == ["done"] * 3
    assert list(campaign.runs.counting().values_list("position", flat=True)) == [2, 3]
    first.refresh_from_db()
    assert first.figures
    with pytest.raises(control.CampaignError, match="another is done in its place"):
        control.retry(campaign, first)
    for model, slug in ((Workload, "varmail"), (Benchmark, "fio"), (OperatingSystem, "debian-12")):
        factories.entry(model, slug)
    draft, _ = drafts.create_draft(campaign, user=None)
    assert any("Run 3, its repeat, counts." in note for note in draft.notes)
    assert plain_lab.left_overs() == []


@pytest.mark.nightly
def test_a_reference_load_runs_before_each_repetition_and_drift_marks_its_runs(host, plain_lab, monkeypatch):
    """The figures of the first repetition are made a tenth of what they were: the second has drifted."""
    campaign = started(host, run_seconds=2, repetitions=2, host_file_systems=["ext4", "xfs"], **SHORT)
    for _ in range(2):
        jobs.run(campaign.runs.get(state="active").job_id)
    campaign.refresh_from_db()
    (first,) = campaign.calibrations
    assert (first["before"], first["run"]) == ("repetition 1", 1)
    assert min(first[name] for name in calibration.FIGURES) > 0
    slow = first | {name: first[name] / 10 for name in calibration.FIGURES}
    type(campaign).objects.filter(pk=campaign.pk).update(calibrations=[slow])
    work_off(campaign)
    assert [reference_load["before"] for reference_load in campaign.calibrations] == ["repetition 1", "repetition 2"]
    for run in campaign.runs.all():
        assert run.state == "done", said(run)
        assert len([warning for warning in run.warnings if "reference load" in warning]) == (
            4 if run.repetition == 2 else 0
        )
    assert plain_lab.left_overs() == []


@pytest.mark.nightly
def test_virtual_machines_begin_together_and_their_host_is_judged(qemu_lab, keys):
    keys(qemu_lab)
    host = registered(qemu_lab, drivers=["libvirt"], guest_image=str(qemu_lab.image))
    guests = {"driver": "libvirt", "guest_file_systems": ["ext4"], "vm_counts": [2], "vm_ram_mib": 512}
    campaign = started(host, run_seconds=6, **SHORT | guests)
    work_off(campaign)
    run = campaign.runs.get()
    assert run.state == "done", said(run)
    assert run.facts["start_spread_seconds"] <= 0.1 + run.facts["start_spread_unsure_seconds"]
    assert run.facts["start_spread_unsure_seconds"] < 1
    assert [load_by_others["where"] for load_by_others in run.facts["background"]] == ["machine-1", "machine-2", "host"]
    assert [curve["machine"] for curve in run.curves] == [1, 2]
