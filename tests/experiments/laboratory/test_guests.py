"""Campaigns with real QEMU guests under libvirt: pairs, several machines, and everything that goes wrong."""

from dataclasses import replace

import pytest

from experiments.campaigns.runs import outcomes, signatures
from experiments.laboratory import plan
from experiments.laboratory.benchmarks import bench, engines
from experiments.laboratory.transport import remote
from tests.experiments.laboratory.conftest import (
    begun,
    looked_at,
    registered,
    said,
    started,
    wait_for_end,
    wait_until,
    work_off,
)

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SHORT = {
    **{"driver": "libvirt", "engine": "fio", "run_seconds": 3, "disk_mib": 320, "scale_percent": 10},
    **{"vm_ram_mib": 512, "guest_file_systems": ["ext4"], "vm_counts": [1]},
}


@pytest.fixture
def host(qemu_lab, keys):
    keys(qemu_lab)
    return registered(qemu_lab, drivers=["libvirt", "native"], guest_image=str(qemu_lab.image))


def test_a_killed_machine_voids_the_attempt_and_the_run_is_repeated(host, qemu_lab, measuring):
    campaign = started(host, **SHORT | {"run_seconds": 300})
    run, worker = begun(campaign, measuring)
    qemu_lab.inside("pkill", "-KILL", "qemu-system")
    wait_for_end(run, worker)
    assert (run.state, run.lost_attempts, run.figures) == ("active", 1, []), said(run)
    assert run.lines.filter(text__startswith="void, and to be repeated: ").exists()
    type(campaign).objects.filter(pk=campaign.pk).update(run_seconds=3)
    work_off(campaign)
    run.refresh_from_db()
    assert (run.state, len(run.figures)) == ("done", 1), said(run)
    assert qemu_lab.left_overs() == []


def test_libvirt_that_is_away_when_a_run_begins_pauses_the_campaign_and_fails_nothing(host, qemu_lab):
    campaign = started(host, **SHORT)
    qemu_lab.inside("pkill", "libvirtd")
    wait_until(lambda: not qemu_lab.inside("pgrep", "libvirtd"))
    work_off(campaign)
    run = campaign.runs.get()
    assert (campaign.state, run.state, run.lost_attempts) == ("paused", "waiting", 0), said(run)
    assert looked_at(campaign).state == "paused"
    qemu_lab.inside("libvirtd", "-d")
    assert looked_at(campaign).state == "running"
    work_off(campaign)
    run.refresh_from_db()
    assert run.state == "done", said(run)
    assert qemu_lab.left_overs() == []


def test_a_run_files_what_its_machines_disks_did(host, qemu_lab, monkeypatch):
    monkeypatch.setattr(signatures, "STRETCH_SECONDS", 1.0)
    campaign = started(host, **SHORT | {"run_seconds": 10})
    work_off(campaign)
    run = campaign.runs.get()
    stretches = list(run.signatures.all())
    assert {(stretch.workload, stretch.machine) for stretch in stretches} == {("varmail", 1)}, said(run)
    assert all(stretch.writes and stretch.flushes for stretch in stretches)


def test_a_frozen_machine_is_noticed_whatever_it_reports(host, qemu_lab, measuring):
    campaign = started(host, **SHORT | {"run_seconds": 300})
    run, worker = begun(campaign, measuring)
    (domain,) = qemu_lab.inside("virsh", "-c", "qemu:///system", "--quiet", "list", "--name").split()
    qemu_lab.inside("virsh", "-c", "qemu:///system", "suspend", domain)
    wait_for_end(run, worker)
    assert (run.state, "paused" in run.reason) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []


def test_a_machine_that_hangs_fails_its_run(host, qemu_lab, monkeypatch, measuring):
    """Its QEMU is stopped, which libvirt does not see: it runs, and does not answer."""
    monkeypatch.setattr(bench, "SILENCE_SECONDS", 3)
    monkeypatch.setattr(bench, "POLL_SECONDS", 3)
    campaign = started(host, **SHORT | {"run_seconds": 300})
    run, worker = begun(campaign, measuring)
    qemu_lab.inside("pkill", "-STOP", "qemu-system")
    wait_for_end(run, worker)
    assert (run.state, "does not answer" in run.reason) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []


def test_a_full_host_stops_the_machine_and_fails_the_run(host, qemu_lab, monkeypatch):
    """The file system below its sparse disk is too small for it."""
    monkeypatch.setattr(remote, "SCRIPT", remote.SCRIPT.replace('need_space "$AREA/$3" "$5"', ":"))
    monkeypatch.setattr(plan, "host_disk_mib", lambda *_: 100)
    campaign = started(host, **SHORT | {"workloads": ["fileserver"], "disk_mib": 512, "allocation": "sparse"})
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, "I/O error" in run.reason) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []


def test_a_machine_that_panics_is_repeated_and_then_given_up(host, qemu_lab, monkeypatch):
    def panic(*arguments, **named):
        load = engines_load(*arguments, **named)
        return replace(load, command=("sh", "-c", "sleep 1; echo c > /proc/sysrq-trigger"))

    engines_load = engines.load
    monkeypatch.setattr(engines, "load", panic)
    monkeypatch.setattr(outcomes, "MAX_LOST_ATTEMPTS", 1)
    campaign = started(host, **SHORT | {"run_seconds": 20})
    work_off(campaign)
    run = campaign.runs.get()
    is_gone = "shut off" in run.reason or "in shutdown" in run.reason  # as libvirt says it in the moment
    assert (run.state, is_gone) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []


def test_a_machine_that_cannot_start_fails_its_run(host, qemu_lab):
    campaign = started(host, **SHORT)
    type(host).objects.filter(pk=host.pk).update(guest_image="/srv/nothing")
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, "/srv/nothing/vmlinuz is not there" in run.reason) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []
