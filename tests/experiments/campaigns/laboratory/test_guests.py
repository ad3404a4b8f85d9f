"""Campaigns with real QEMU guests under libvirt: pairs, several machines, and everything that goes wrong."""

import threading
import time
from dataclasses import replace

import pytest

from experiments.campaigns import runs, signatures
from experiments.campaigns.laboratory import bench, engines, plan, remote
from experiments.models import CampaignRun
from kdb import jobs

from .conftest import registered, said, started, wait_until, work_off

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SHORT = {
    **{"driver": "libvirt", "engine": "fio", "run_seconds": 3, "disk_mib": 320, "scale_percent": 10},
    **{"vm_ram_mib": 512, "guest_file_systems": ["ext4"], "vm_counts": [1]},
}


@pytest.fixture
def host(qemu_lab, keys):
    keys(qemu_lab)
    return registered(qemu_lab, drivers=["libvirt", "native"], guest_image=str(qemu_lab.image))


def under_way(campaign):
    """Begin the active run in a thread, as a worker; returns when its benchmark runs."""
    run = campaign.runs.get(state="active")
    worker = threading.Thread(target=jobs.run, args=[run.job_id])
    worker.start()
    is_running = CampaignRun.objects.filter(pk=run.pk, step__contains="varmail for")
    wait_until(lambda: is_running.exists() or not worker.is_alive(), 120)
    time.sleep(2.5)  # it is put there and started
    assert worker.is_alive(), said(run)
    return run, worker


def test_a_killed_machine_voids_the_attempt_and_the_run_is_repeated(host, qemu_lab, monkeypatch):
    monkeypatch.setattr(signatures, "STRETCH_SECONDS", 1.0)
    campaign = started(host, **SHORT | {"run_seconds": 20})
    run, worker = under_way(campaign)
    qemu_lab.inside("pkill", "-KILL", "qemu-system")
    worker.join(60)
    run.refresh_from_db()
    assert (run.state, run.lost_attempts, run.figures) == ("active", 1, []), said(run)
    type(campaign).objects.filter(pk=campaign.pk).update(run_seconds=6)
    work_off(campaign)
    run.refresh_from_db()
    assert (run.state, len(run.figures)) == ("done", 1), said(run)
    stretches = list(run.signatures.all())
    assert {(each.workload, each.machine) for each in stretches} == {("varmail", 1)}
    assert sum(each.seconds for each in stretches) <= 9
    assert all(each.writes and each.flushes for each in stretches)
    assert qemu_lab.left_overs() == []


def test_a_frozen_machine_is_noticed_whatever_it_reports(host, qemu_lab):
    campaign = started(host, **SHORT | {"run_seconds": 6})
    run, worker = under_way(campaign)
    (domain,) = qemu_lab.inside("virsh", "-c", "qemu:///system", "--quiet", "list", "--name").split()
    qemu_lab.inside("virsh", "-c", "qemu:///system", "suspend", domain)
    worker.join(60)
    run.refresh_from_db()
    assert (run.state, "paused" in run.reason) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []


def test_a_machine_that_hangs_fails_its_run(host, qemu_lab, monkeypatch):
    """Its QEMU is stopped, which libvirt does not see: it runs, and does not answer."""
    monkeypatch.setattr(bench, "SILENCE_SECONDS", 3)
    monkeypatch.setattr(bench, "POLL_SECONDS", 3)
    campaign = started(host, **SHORT | {"run_seconds": 6})
    run, worker = under_way(campaign)
    qemu_lab.inside("pkill", "-STOP", "qemu-system")
    worker.join(120)
    assert not worker.is_alive()
    run.refresh_from_db()
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
    monkeypatch.setattr(runs, "MAX_LOST_ATTEMPTS", 1)
    campaign = started(host, **SHORT | {"run_seconds": 20})
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, "shut off" in run.reason) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []


def test_a_machine_that_cannot_start_fails_its_run(host, qemu_lab):
    campaign = started(host, **SHORT)
    type(host).objects.filter(pk=host.pk).update(guest_image="/srv/nothing")
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, "virsh start" in run.reason) == ("failed", True), said(run)
    assert qemu_lab.left_overs() == []
