"""Campaigns as rows: planned against what the host has, steered, and looked after. No machine is asked."""

import io
import json
import time as clock
from datetime import UTC, datetime, time, timedelta

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.utils.timezone import now

from experiments.campaigns import checks, control, host_checks, hosts
from experiments.campaigns.runs import figures, preparation, sequence
from experiments.campaigns.runs.attempt import Attempt
from experiments.campaigns.runs.content import Record
from experiments.laboratory.benchmarks import bench
from experiments.laboratory.targets import drivers, hypervisors
from experiments.laboratory.transport import remote, ssh
from experiments.models import CampaignRun, Host, RunLine, StoragePool
from kdb.jobs import jobs
from kdb.models import Job
from tests.factories import FileSystem, entry, make_campaign, make_host

pytestmark = pytest.mark.django_db

GUESTS = {"driver": "libvirt", "guest_file_systems": ["xfs"], "vm_counts": [1, 2]}


def planned(**fields):
    return control.create(make_campaign(**fields), user=None)


def running(**fields):
    campaign = planned(**fields)
    control.start(campaign)
    campaign.refresh_from_db()
    return campaign


def active(campaign):
    return campaign.runs.filter(state="active").first()


def end(run, state="done", **fields):
    """End a run as a worker would."""
    figures = (
        [{"machine": 0, "operation": "mixed", "throughput_mib_s": fields.pop("value", 10.0)}] if state == "done" else []
    )
    CampaignRun.objects.filter(pk=run.pk).update(state=state, figures=figures, **fields)
    return control.next_run(run.host_id)


# Planning


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"driver": "attached"}, "driver", "is registered for native, libvirt"),
        ({"workloads": []}, "workloads", "At least one"),
        ({"workloads": ["atto"]}, "workloads", "atto: the workloads are"),
        ({"guest_file_systems": ["xfs"]}, "guest_file_systems", "native campaign has no guests"),
        ({"driver": "libvirt"}, "vm_counts", "At least one"),
        ({"host_file_systems": ["ntfs"]}, "host_file_systems", "cannot make ntfs"),
        ({"disk_mib": 200_000}, "disk_mib", "MiB are needed in /srv/pool"),
        ({"disk_mib": 100}, "disk_mib", "varmail at 100 % needs"),
        ({**GUESTS, "disk_mib": 60_000}, "disk_mib", "MiB are needed in /srv/pool"),
        ({**GUESTS, "vm_ram_mib": 8_000}, "vm_ram_mib", "Found 8,000 MiB for each of 2 guests"),
        ({**GUESTS, "vm_ram_mib": 10**6}, "vm_ram_mib", "has 16,384 MiB in all, of which 7,936 MiB each are allowed"),
        ({**GUESTS, "vm_vcpus": 512}, "vm_vcpus", "has 8 CPUs, so 1 to 8 are allowed"),
        ({"host_file_systems": ["ext4", "ext4"]}, "host_file_systems", "Found more than once: ext4. Each is allowed"),
        ({"workloads": ["varmail", "varmail"]}, "workloads", "Found more than once: varmail"),
        ({**GUESTS, "guest_file_systems": ["xfs", "xfs"]}, "guest_file_systems", "Found more than once: xfs"),
        ({**GUESTS, "vm_counts": [2, 2]}, "vm_counts", "Found more than once: 2"),
        ({"host_file_systems": ["vmfs"]}, "host_file_systems", "cannot make vmfs: KDB cannot either. Allowed are ext4"),
        (
            {**GUESTS, "engine": "filebench", "workloads": ["webserver"], "vm_ram_mib": 1024},
            "vm_ram_mib",
            "100 threads",
        ),
        ({"repetitions": 10_001}, "repetitions", "more than a campaign holds"),
        ({**GUESTS, "io_mode": "native", "cache_mode": "writeback"}, "io_mode", "none or directsync"),
        ({**GUESTS, "discard": "unmap"}, "discard", "take a sparse image"),
        ({**GUESTS, "disk_bus": "ide", "iothread": "yes"}, "iothread", "virtio and scsi can have their own"),
        ({**GUESTS, "disk_bus": "sata"}, "disk_bus", "has no driver for sata disks"),
        ({**GUESTS, "pinned_cpus": [2]}, "pinned_cpus", "2 vCPUs run at once"),
        ({**GUESTS, "pinned_cpus": [2, 8]}, "pinned_cpus", "has the CPUs 0 to 7, and no 8"),
        ({"host_file_systems": ["raw"]}, "host_file_systems", "native campaign runs on file systems, not on raw"),
        ({**GUESTS, "host_file_systems": ["lvm"]}, "host_file_systems", "has no device-mapper"),
        ({**GUESTS, "host_file_systems": ["raw"], "image_format": "qcow2"}, "image_format", "is raw, not qcow2"),
    ],
)
def test_what_a_host_cannot_run_is_refused_when_planning(fields, field, words):
    with pytest.raises(control.PlanRefused) as refused:
        planned(**fields)
    assert words in " ".join(refused.value.problems[field])
    assert CampaignRun.objects.count() == 0


def test_a_login_that_is_not_root_makes_no_file_system_and_uses_what_is_mounted():
    host = make_host(login="ada", pools=())
    host.facts |= {"root": "1000", "pools": {"/srv/pool": {"file_system": "ext4", "free_mib": 102_400}}}
    host.save()
    pool = StoragePool.objects.create(host=host, path="/srv/pool")
    with pytest.raises(control.PlanRefused, match=r"ada is not root on .*may sudo without a password"):
        planned(host=host)
    StoragePool.objects.filter(pk=pool.pk).update(kind=StoragePool.Kind.EXISTING)
    assert planned(host=host).runs.exists()


def test_a_pool_has_room_for_the_disk_and_64_mib_beside_it():
    host = make_host()
    (pool,) = host.facts["pools"].values()
    pool["free_mib"] = 8_192 + 63
    host.save()
    with pytest.raises(control.PlanRefused, match=r"8,256 MiB are needed in .*, 8,255 MiB were free"):
        planned(host=host, disk_mib=8_192)
    pool["free_mib"] += 1
    host.save()
    assert planned(host=host, disk_mib=8_192).runs.exists()


def test_a_host_without_loop_devices_is_told_how_to_get_some_and_may_use_what_is_mounted():
    host = make_host()
    host.facts |= {"missing": [{"program": "loop devices"}]}
    host.save()
    with pytest.raises(control.PlanRefused, match=r"has no loop devices: .* start a container with --privileged"):
        planned(host=host)
    host.pools.update(kind=StoragePool.Kind.EXISTING)
    assert planned(host=host).runs.exists()


def test_by_kdbs_protocol_the_disk_is_measured_whatever_the_memory():
    host = make_host()
    limited = {"host": host, "follows_protocol": True, "vm_ram_mib": 1536}
    with pytest.raises(control.PlanRefused, match=r"cannot limit the memory of Filebench, so its files would be read"):
        planned(**limited, engine="filebench")
    assert checks.estimate(planned(**limited)).files_mib == {"varmail": 16}  # fio passes the memory by
    host.facts["limits_memory"] = "yes"
    host.save()
    for driver in ({}, GUESTS):
        campaign = planned(**limited, **driver, engine="filebench")
        assert checks.estimate(campaign).files_mib == {"varmail": 3072}
        assert checks.estimate(campaign).runs == campaign.runs.count() == campaign.run_count + 1
    with pytest.raises(control.PlanRefused, match=r"webserver at 100 % runs 100 threads of 1 MiB each, beside 64 MiB"):
        planned(**limited | {"vm_ram_mib": 128}, workloads=["webserver"])
    with pytest.raises(control.PlanRefused, match=r"varmail at 100 % needs 8,320 MiB"):
        planned(**limited | {"vm_ram_mib": 2048}, engine="fio")


def test_the_first_run_warms_up_and_does_not_count():
    campaign = running(repetitions=2, follows_protocol=True, precision_percent=5)
    first = active(campaign)
    assert str(first) == "native ext4, varmail, warm-up"
    end(first, disturbed="Others read.")
    control.repeat_at_the_end(first)
    for _ in range(2):
        end(active(campaign))
    campaign.refresh_from_db()
    assert (campaign.state, campaign.runs.counting().count(), first in campaign.runs.counting()) == (
        *("finished", 2),
        False,
    )
    first.refresh_from_db()
    assert not first.counts
    control.retry_cell(campaign, campaign.runs.last())
    assert sorted(campaign.runs.values_list("repeats__repetition", flat=True), key=str) == [1, 2, None, None, None]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"filebench": ""}, "has no filebench: manage.py build_filebench"),
        ({"filebench": "1.3.4"}, "1.4.8, 1.4.9 and 1.5 are supported"),
    ],
)
def test_a_host_without_a_usable_filebench_is_refused(facts, words):
    host = make_host()
    host.facts |= facts
    with pytest.raises(control.PlanRefused, match=words):
        planned(host=host, engine="filebench")


def test_a_pool_that_holds_its_own_file_system_is_used_as_it_is():
    host = make_host()
    host.pools.update(kind=StoragePool.Kind.EXISTING)
    with pytest.raises(control.PlanRefused, match="/srv/pool is ext4; it is used as it is"):
        planned(host=host, host_file_systems=["xfs"])
    assert planned(host=host, host_file_systems=["ext4"]).runs.count() == 1


def test_what_the_host_has_for_disks_is_asked_for():
    host = make_host()
    host.facts |= {"running": "QEMU 4.2.1", "missing": [{"program": "qemu-img"}, {"program": "lvm"}]}
    host.save()
    with pytest.raises(control.PlanRefused) as refused:
        planned(host=host, **GUESTS, io_mode="io_uring", image_format="qcow2", host_file_systems=["ext4", "lvm"])
    assert "needs QEMU 5.0, not 4.2.1" in refused.value.problems["io_mode"][0]
    assert "has no qemu-img: package qemu-utils" in refused.value.problems["image_format"][0]
    assert "A disk on a volume is raw" in refused.value.problems["image_format"][1]
    assert "has no lvm: package lvm2" in refused.value.problems["host_file_systems"][0]


def test_a_campaign_varies_its_disks_and_leaves_out_what_cannot_be():
    disk = {"cache_mode": ["none", "writeback"], "io_mode": ["threads", "native"]}
    campaign = make_campaign(**GUESTS | {"vm_counts": [1]}, disk=disk, repetitions=2)
    estimate = checks.estimate(campaign)
    assert (estimate.runs, len(estimate.steps)) == (6, 3)
    assert estimate.left_out == [
        "ext4, cache mode writeback, I/O mode native: native passes the host's cache by: the cache mode is none or "
        "directsync with it."
    ]
    control.create(campaign, user=None)
    tried = {
        "cache_mode=none io_mode=threads",
        "cache_mode=none io_mode=native",
        "cache_mode=writeback io_mode=threads",
    }
    assert {*campaign.runs.values_list("disk", flat=True)} == tried
    first = campaign.runs.get(disk="cache_mode=none io_mode=native", repetition=1)
    assert first.cell == "xfs-on-ext4, cache mode none, I/O mode native, varmail, 1 VM"
    assert (first.options.cache_mode, first.options.io_mode, first.options.disk_bus) == ("none", "native", "virtio")
    # What the host lost since changes no cell of what is planned.
    campaign.host.facts |= {"guest_image": {"disk_buses": []}}
    control.top_up(campaign, 1)
    assert campaign.runs.count() == 9


@pytest.mark.parametrize(
    ("fields", "disk", "field", "words"),
    [
        (
            GUESTS,
            {"cache_mode": ["writeback", "unsafe"], "io_mode": ["threads", "native"]},
            "io_mode",
            "none or direct",
        ),
        (GUESTS | {"host_file_systems": ["ext4", "raw"]}, {"image_format": ["qcow2"]}, "image_format", "is raw"),
        (GUESTS, {"cache_mode": ["none", "none"]}, "cache_mode", "allowed once"),
        (GUESTS, {"cache_mode": ["none", "perhaps"]}, "cache_mode", "Found perhaps; allowed are none,"),
        ({}, {"cache_mode": ["none", "unsafe"]}, "cache_mode", "one value"),
    ],
)
def test_a_value_that_can_run_with_nothing_is_refused(fields, disk, field, words):
    problems = checks.problems_of(make_campaign(**fields, disk=disk))
    assert problems.keys() == {field}
    assert words in " ".join(problems[field])


PVE = {"driver": "proxmox", "guest_file_systems": ["xfs"], "vm_counts": [1]}


@pytest.fixture
def storage() -> StoragePool:
    """Return a thin storage of a host of Proxmox VE, beside a folder."""
    host = make_host(drivers=["proxmox"])
    host.facts |= {"pve": "pve-manager/8.0.3/bbf3993334bfa916 (running kernel: 6.2.16-3-pve)"}
    host.facts["pools"]["local-lvm"] = {"file_system": "lvm-thin", "free_mib": 102_400, "allocation": {"raw": "sparse"}}
    host.save()
    return StoragePool.objects.create(host=host, path="local-lvm", kind="storage")


def test_a_storage_of_proxmox_ve_is_used_as_it_is(storage):
    campaign = planned(host=storage.host, pool=storage, host_file_systems=["lvm-thin"], discard="unmap", **PVE)
    assert str(campaign.runs.get()).startswith("xfs-on-lvm-thin, varmail")
    assert checks.estimate(campaign).pool_mib == campaign.disk_mib
    assert "on the storage local-lvm for each" in " ".join(checks.estimate(campaign).steps[0]["steps"])


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"host_file_systems": ["ext4"]}, "host_file_systems", "local-lvm is lvm-thin; it is used as it is"),
        ({"image_format": "qcow2"}, "image_format", "A disk on local-lvm is raw"),
        ({"pinned_cpus": [1]}, "pinned_cpus", "pins a machine to several CPUs"),
        ({"vm_counts": [100], "vm_ram_mib": 128, "disk_mib": 500}, "vm_counts", "At most 99 machines"),
        ({"disk_mib": 200_000}, "disk_mib", "200,064 MiB are needed in local-lvm"),
    ],
)
def test_what_proxmox_ve_cannot_do_is_refused_when_planning(storage, fields, field, words):
    with pytest.raises(control.PlanRefused) as refused:
        planned(**{"host": storage.host, "pool": storage, "host_file_systems": ["lvm-thin"]} | PVE | fields)
    assert words in " ".join(refused.value.problems[field])


def test_a_storage_is_for_proxmox_ve_only_and_a_folder_for_all_others(storage):
    folder = storage.host.pools.get(kind="image")
    with pytest.raises(control.PlanRefused, match="lie on a storage of it"):
        planned(host=storage.host, pool=folder, **PVE)
    storage.host.drivers = ["libvirt"]
    with pytest.raises(control.PlanRefused, match="everything else lies in a folder"):
        planned(host=storage.host, pool=storage, **GUESTS)


def test_a_host_that_is_none_of_proxmox_ve_or_has_no_folder_is_refused(storage):
    storage.host.facts.pop("pve")
    storage.host.pools.get(kind="image").delete()
    with pytest.raises(control.PlanRefused) as refused:
        planned(host=storage.host, pool=storage, host_file_systems=["lvm-thin"], **PVE)
    assert "has no pveversion" in refused.value.problems["driver"][0]
    assert "needs a folder among its pools" in refused.value.problems["pool"][0]


XEN = {
    **{"driver": "xen", "guest_file_systems": ["xfs"], "vm_counts": [1], "disk_bus": "xen", "iothread": "yes"},
    **{"cache_mode": "none", "io_mode": "native"},
}


@pytest.fixture
def xen_host() -> Host:
    host = make_host(drivers=["xen", "libvirt"])
    host.facts |= {"xen": "4.17.6-pre", "xen_caps": "xen-3.0-x86_64 hvm-3.0-x86_32 hvm-3.0-x86_64"}
    host.facts["guest_image"] |= {"disk_buses": ["virtio", "scsi", "xen"]}
    host.save()
    return host


def test_a_campaign_on_xen_is_planned_in_a_folder_and_on_volumes(xen_host):
    campaign = planned(host=xen_host, host_file_systems=["ext4", "raw"], **XEN)
    assert sorted(str(run).partition(",")[0] for run in campaign.runs.all()) == ["xfs-on-ext4", "xfs-on-raw"]
    assert checks.estimate(campaign).pool_mib > campaign.disk_mib
    steps = " ".join(step for kind in checks.estimate(campaign).steps for step in kind["steps"])
    assert "make a disk image of" in steps
    assert "raw device, on a loop device" in steps


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"disk_bus": "virtio"}, "disk_bus", "take xen, not virtio"),
        ({"iothread": "no"}, "iothread", "a thread of its own: take yes"),
        ({"io_mode": "threads"}, "cache_mode", "not none and threads"),
        ({"cache_mode": "unsafe", "io_mode": "threads"}, "cache_mode", "not unsafe and threads"),
        ({"cache_mode": "writeback", "host_file_systems": ["raw"]}, "cache_mode", "the kernel (blkback)"),
        ({"driver": "libvirt"}, "disk_bus", "Only Xen's machines"),
    ],
)
def test_what_xen_cannot_do_is_refused_when_planning(xen_host, fields, field, words):
    with pytest.raises(control.PlanRefused) as refused:
        planned(**{"host": xen_host} | XEN | fields)
    assert words in " ".join(refused.value.problems[field])


def test_a_host_that_is_no_xen_or_cannot_virtualise_fully_is_refused(xen_host):
    xen_host.facts["xen_caps"] = "xen-3.0-x86_64"
    with pytest.raises(control.PlanRefused, match="whose processors can virtualise fully"):
        planned(host=xen_host, **XEN)
    del xen_host.facts["xen_caps"]
    with pytest.raises(control.PlanRefused, match="is no Xen, seen by xl"):
        planned(host=xen_host, **XEN)


def attached(count: int, **fields):
    """Return a hypervisor host that nobody logs in to, with `count` virtual machines on ext4."""
    top = make_host("esxi", pools=(), address="", host_key="", drivers=["attached"], facts={})
    for number in range(count):
        machine = make_host(f"vm-{number}", pools=("/mnt/data",), runs_on=top, drivers=["native"], **fields)
        machine.pools.update(kind=StoragePool.Kind.EXISTING, host_fs=entry(FileSystem, "xfs"))
    return top


def test_attached_machines_are_counted():
    top = attached(2)
    plan = {"driver": "attached", "host_file_systems": ["xfs"], "guest_file_systems": ["ext4"]}
    assert planned(host=top, vm_counts=[1, 2], **plan).runs.count() == 2
    with pytest.raises(control.PlanRefused, match="3 virtual machines with a pool for ext4 on xfs are needed, 2"):
        planned(host=top, vm_counts=[3], **plan)


def test_of_machines_alike_by_name_each_runs_its_own_program():
    top = attached(2)
    machines = list(top.machines.order_by("slug"))
    for number, machine in enumerate(machines, start=1):
        machine.name = "vm"
        machine.facts |= {"filebench": "1.5-alpha3", "filebench_program": f"/opt/{number}/filebench"}
        machine.save()
    plan = {"driver": "attached", "engine": "filebench", "host_file_systems": ["xfs"], "guest_file_systems": ["ext4"]}
    run = planned(host=top, vm_counts=[2], **plan).runs.get()
    attempt = Attempt(None, run, attached=machines)
    for number in (1, 2):
        machine = drivers.Machine(number, remote.Area(None, "/mnt/data", 1), {})
        assert f"/opt/{number}/filebench" in " ".join(preparation.load(attempt, Record(), machine).command)


def test_a_load_keeps_its_size_when_a_check_finds_another_memory_limit():
    host = make_host()
    host.facts["limits_memory"] = "yes"
    host.save()
    campaign = running(host=host, repetitions=2, follows_protocol=True, vm_ram_mib=1536)
    machine, record = drivers.Machine(0, remote.Area(None, "/srv/pool", 1), {}), Record()
    preparation.load(Attempt(None, active(campaign)), record, machine)
    assert record.facts["working_set_bytes"] == 3 * 2**30
    end(active(campaign), facts=record.facts)
    preparation.load(Attempt(None, active(campaign)), Record(), machine)
    del host.facts["limits_memory"]
    host.save()
    with pytest.raises(hosts.HostError, match="varmail would use 16 MiB of files, and used 3,072 before"):
        preparation.load(Attempt(None, active(campaign)), Record(), machine)


def test_a_virtual_machine_is_used_through_its_host():
    machine = attached(1).machines.get()
    with pytest.raises(control.PlanRefused, match="plan the campaign there"):
        planned(host=machine)


# Steering


def test_one_run_of_a_host_at_a_time_in_the_planned_order():
    host = make_host()
    first, second = running(host=host, repetitions=2), running(host=host)
    assert (active(first).position, active(second)) == (1, None)
    end(active(first))
    assert (active(first).position, active(second)) == (2, None)
    end(active(first))
    first.refresh_from_db()
    assert (first.state, active(second).position) == ("finished", 1)
    assert active(second).job.queue == "lab-local"


def test_a_pause_lets_the_run_end_and_begins_no_other():
    campaign = running(repetitions=3)
    run = active(campaign)
    control.pause(campaign)
    assert active(campaign) == run
    assert end(run) is None
    control.start(campaign)
    assert active(campaign).position == 2


def test_a_cancelled_campaign_gives_up_what_waits():
    campaign = running(repetitions=3)
    control.cancel(campaign)
    assert sorted(campaign.runs.values_list("state", flat=True)) == ["active", "cancelled", "cancelled"]
    with pytest.raises(control.CampaignError, match="The campaign is cancelled"):
        control.start(campaign)


def test_a_topped_up_campaign_goes_on_with_the_same_seed():
    campaign = running(workloads=["varmail", "webserver"])
    end(active(campaign))
    end(active(campaign))
    control.top_up(campaign, 2)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.repetitions, campaign.runs.count()) == ("paused", 3, 6)
    assert list(campaign.runs.values_list("position", flat=True)) == [1, 2, 3, 4, 5, 6]


def test_one_run_is_done_again():
    campaign = running(repetitions=2)
    failed = active(campaign)
    end(failed, state="failed", reason="no space")
    control.retry(campaign, failed)
    failed.refresh_from_db()
    assert (failed.state, failed.reason) == ("waiting", "")
    with pytest.raises(control.CampaignError, match="has not ended"):
        control.retry(campaign, failed)


def test_a_run_that_waits_goes_on_with_its_paused_campaign():
    campaign = running(repetitions=2)
    run = active(campaign)
    CampaignRun.objects.filter(pk=run.pk).update(state="waiting")
    control.pause_by_itself(campaign.pk, "The host is silent.")
    campaign.refresh_from_db()
    run.refresh_from_db()
    control.retry(campaign, run)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.state_reason, active(campaign)) == ("running", "", run)


def test_a_blocked_host_begins_nothing():
    campaign = running(repetitions=2)
    run = active(campaign)
    type(campaign.host).objects.filter(pk=campaign.host_id).update(blocked_reason="its key has changed")
    assert end(run) is None


@pytest.mark.parametrize(
    ("at", "expected"),
    [("21:00", False), ("21:58", True), ("23:30", True), ("00:30", True), ("02:01", False), ("12:00", False)],
)
def test_no_run_is_under_way_in_the_maintenance_window(at, expected):
    """From 22:00 over midnight to 02:00; a run of 60 s may take three minutes."""
    host = make_host(window_start=time(22), window_end=time(2))
    hour, minute = map(int, at.split(":"))
    moment = datetime(2026, 5, 4, hour, minute, tzinfo=UTC)
    assert control.in_window(host, moment, make_campaign(host)) == expected


# Looking after


def test_a_run_whose_job_failed_fails_and_the_next_begins():
    campaign = running(repetitions=2)
    run = active(campaign)
    Job.objects.filter(pk=run.job_id).update(
        state="failed", error="the tables are others", finished_at="2026-01-01T00:00Z"
    )
    control.reconcile()
    run.refresh_from_db()
    assert (run.state, run.reason) == ("failed", "the tables are others")
    assert RunLine.objects.get(run=run).text == "failed: the tables are others"
    assert active(campaign).position == 2


@pytest.mark.parametrize("why", [f"{jobs.NO_DATABASE}: database is locked", f"{jobs.GIVEN_UP}, last lab-1:77."])
def test_a_run_whose_workers_died_or_had_no_database_waits_and_its_campaign_pauses(why):
    campaign = running(repetitions=2)
    run = active(campaign)
    error = f"Given up after 5 attempts: {why}"
    Job.objects.filter(pk=run.job_id).update(state="failed", error=error, finished_at="2026-01-01T00:00Z")
    control.reconcile()
    campaign.refresh_from_db()
    run.refresh_from_db()
    assert (campaign.state, campaign.state_reason) == ("paused", error)
    assert (run.state, run.reason) == ("waiting", "")
    control.start(campaign)
    assert active(campaign) == run


# What fails for another reason than the run


def do(run) -> None:
    """Do the run as a worker would, the first time or again."""
    Job.objects.filter(pk=run.job_id, state="running").update(state="queued")
    jobs.run(run.job_id)
    run.refresh_from_db()


@pytest.fixture
def breaks(monkeypatch):
    """Let every attempt meet this error."""

    def use(error: Exception) -> None:
        def measure(attempt, record, stack):
            raise error

        monkeypatch.setattr(sequence, "measure", measure)

    return use


def test_a_locked_database_never_fails_a_run(breaks, monkeypatch):
    campaign = running()
    run = active(campaign)
    breaks(OperationalError("database is locked"))
    do(run)
    assert (run.state, run.reason, run.job.state, run.job.attempt) == ("active", "", "queued", 2)
    figures = [{"machine": 0, "operation": "mixed", "throughput_mib_s": 10.0}]
    monkeypatch.setattr(sequence, "measure", lambda attempt, record, stack: figures)
    do(run)
    assert (run.state, run.attempt) == ("done", 2)


def unreachable_guest() -> ssh.Unreachable:
    error = ssh.Unreachable("kdb-1-1 cannot be reached.")
    error.guest = "kdb-1-1"
    return error


def test_a_dead_machine_is_told_from_a_silent_one_though_its_host_sees_that_a_moment_late(monkeypatch):
    campaign = running(**GUESTS | {"vm_counts": [1]})
    run = active(campaign)
    sights = iter(["running", "running", "shut off"])

    class SlowHypervisor:
        @staticmethod
        def check_running(host, name):
            if (state := next(sights)) != "running":
                raise hypervisors.GuestGone(f"the virtual machine {name} is {state}")

    def measure(attempt, record, stack):
        record.areas.append(remote.Area(None, "/pool", attempt.token))
        raise unreachable_guest()

    monkeypatch.setitem(drivers.HYPERVISORS, "libvirt", SlowHypervisor)
    monkeypatch.setattr(sequence, "measure", measure)
    monkeypatch.setattr(sequence, "clean_up", lambda attempt, record: None)
    do(run)
    assert (run.state, run.lost_attempts) == ("active", 1)


def test_a_campaign_pauses_when_two_runs_in_a_row_fail_alike_and_four_of_who_goes_on(breaks):
    campaign = running(repetitions=9)
    failed = []

    def fail_until_it_pauses() -> None:
        while (run := active(campaign)) is not None:
            breaks(remote.Refused(f"lab-1: virsh define kdb-{run.pk}-1: XML error: No such machine"))
            do(run)
            failed.append(run)
        campaign.refresh_from_db()
        assert campaign.state == "paused"

    fail_until_it_pauses()
    assert [run.state for run in failed] == ["failed", "failed"]
    assert campaign.state_reason.startswith("2 runs in a row failed alike: ")
    assert "XML error: No such machine" in campaign.state_reason
    for count in (4, 8):
        control.start(campaign)
        fail_until_it_pauses()
        assert len(failed) == count


def test_a_campaign_goes_on_where_runs_fail_for_reasons_of_their_own(breaks):
    campaign = running(repetitions=3)
    for reason in ("no result", "the machine stood still", "no result"):
        breaks(bench.RunFailed(reason))
        do(active(campaign))
    campaign.refresh_from_db()
    assert campaign.state == "finished"


def test_a_host_that_somebody_forgot_goes_on():
    campaign = running(repetitions=2)
    CampaignRun.objects.filter(pk=active(campaign).pk).update(state="cancelled")
    control.reconcile()
    assert active(campaign).position == 2


# Enough is known


def test_repetitions_stop_when_every_ratio_is_known_well_enough():
    campaign = running(host_file_systems=["ext4", "xfs"], repetitions=6, precision_percent=5)
    for _ in range(6):
        run = active(campaign)
        end(run, value={"ext4": 100.0, "xfs": 50.0}[run.host_fs] + run.repetition / 100)
        figures.skip_what_is_known(campaign, CampaignRun.objects.get(pk=run.pk))
    states = list(campaign.runs.order_by("repetition").values_list("state", flat=True))
    assert states.count("done") == 6
    assert states.count("unneeded") >= 5
    assert "every ratio is known to" in campaign.runs.filter(state="unneeded").first().reason


def test_noisy_repetitions_go_on():
    campaign = running(host_file_systems=["ext4", "xfs"], repetitions=4, precision_percent=5)
    for _ in range(6):
        run = active(campaign)
        end(run, value=100.0 * (1 + run.repetition % 2))
        figures.skip_what_is_known(campaign, CampaignRun.objects.get(pk=run.pk))
    assert not campaign.runs.filter(state="unneeded").exists()


def test_the_figure_of_a_run_is_the_mean_over_machines_of_the_sum_over_operations():
    printed = [
        {"machine": machine, "operation": operation, "throughput_mib_s": value}
        for machine, operation, value in ((1, "read", 10.0), (1, "write", 20.0), (2, "read", 30.0), (2, "write", 40.0))
    ]
    assert figures.throughput(CampaignRun(vm_count=2, figures=printed)) == 50.0
    assert figures.throughput(CampaignRun(vm_count=2, figures=[])) is None


# Runs done again


def test_a_run_done_again_counts_until_the_new_figures_stand():
    campaign = running(host_file_systems=["ext4", "xfs"])
    first = active(campaign)
    end(first)
    control.retry(campaign, first)
    with pytest.raises(control.CampaignError, match="another is done in its place"):
        control.retry(campaign, first)
    end(active(campaign))

    again = active(campaign)

    assert (again.repeats, again.cell) == (first, first.cell)
    first.refresh_from_db()
    assert (first.state, first.counts, bool(first.figures)) == ("done", True, True)
    end(again, state="failed", reason="no result")
    assert [run.position for run in campaign.runs.counting()] == [1, 2]
    control.retry(campaign, first)
    control.start(campaign)
    end(active(campaign))
    assert [run.position for run in campaign.runs.counting()] == [2, 3]
    control.retry(campaign, again)
    control.start(campaign)
    end(active(campaign))
    assert [run.position for run in campaign.runs.counting()] == [2, 4]


# Disturbed runs


def disturb(run):
    run.refresh_from_db()
    CampaignRun.objects.filter(pk=run.pk).update(disturbed="Others used 1.2 CPU-seconds a second on the host.")
    control.repeat_at_the_end(run)
    return end(run)


def test_a_disturbed_run_is_repeated_after_all_others_and_once():
    campaign = running(repetitions=2)
    first = active(campaign)
    disturb(first)
    assert (active(campaign).repetition, active(campaign).repeats) == (2, None)
    end(active(campaign))
    repeat = active(campaign)
    assert (repeat.repeats, repeat.repetition, repeat.position) == (first, 1, 3)
    disturb(repeat)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.runs.count()) == ("finished", 3)
    assert [run.position for run in campaign.runs.counting()] == [2, 3]
    assert [run.counts for run in campaign.runs.all()] == [False, True, True]


def test_repeats_end_where_two_in_a_row_were_disturbed_as_well():
    campaign = running(repetitions=5)
    for _ in range(5):
        disturb(active(campaign))
    assert campaign.runs.filter(repeats__isnull=False).count() == 5
    disturb(active(campaign))
    disturb(active(campaign))
    campaign.refresh_from_db()
    assert campaign.state == "finished"
    repeats = campaign.runs.filter(repeats__isnull=False)
    assert [repeat.state for repeat in repeats] == ["done", "done", "unneeded", "unneeded", "unneeded"]
    assert "as busy as before" in repeats.last().reason
    assert campaign.runs.counting().count() == 5


def test_repeats_go_on_where_the_machine_was_quiet_in_between():
    campaign = running(repetitions=4)
    for _ in range(4):
        disturb(active(campaign))
    disturb(active(campaign))
    end(active(campaign))
    disturb(active(campaign))
    assert active(campaign).position == 8


def test_a_disturbed_run_counts_where_its_repeat_failed():
    campaign = running()
    first = active(campaign)
    disturb(first)
    end(active(campaign), state="failed", reason="no result")
    assert [run.position for run in campaign.runs.counting()] == [1]


def test_a_run_whose_repeat_counts_is_not_done_again_but_the_repeat_is():
    campaign = running()
    first = active(campaign)
    disturb(first)
    repeat = active(campaign)
    end(repeat)
    with pytest.raises(control.CampaignError, match="another is done in its place"):
        control.retry(campaign, first)
    control.retry_cell(campaign, repeat)
    assert list(campaign.runs.values_list("position", "state", "disturbed")) == [
        (1, "done", "Others used 1.2 CPU-seconds a second on the host."),
        (2, "done", ""),
        (3, "waiting", ""),
    ]
    assert [run.position for run in campaign.runs.counting()] == [2]


def test_a_cancelled_campaign_repeats_nothing():
    campaign = running()
    control.cancel(campaign)
    run = CampaignRun.objects.get()
    control.repeat_at_the_end(run)
    assert campaign.runs.count() == 1


def test_repeats_that_wait_do_not_keep_repetitions_from_stopping():
    campaign = running(host_file_systems=["ext4", "xfs"], repetitions=6, precision_percent=5)
    for number in range(6):
        run = active(campaign)
        value = {"ext4": 100.0, "xfs": 50.0}[run.host_fs] + run.repetition / 100
        if number == 0:
            control.repeat_at_the_end(run)
        end(run, value=value)
        figures.skip_what_is_known(campaign, CampaignRun.objects.get(pk=run.pk))
    assert campaign.runs.filter(state="unneeded").count() >= 5
    assert campaign.runs.exclude(repeats=None).get().state == "waiting"


# Waiting for workers


@pytest.fixture
def asked(monkeypatch):
    """Return the jobs that this process asked for."""
    numbers = []
    monkeypatch.setattr(jobs, "run", numbers.append)
    return numbers


def taken_by_a_worker(job_id):
    job = Job.objects.filter(pk=job_id)
    job.update(state=Job.State.RUNNING, owner="another:1", heartbeat_at=now())
    return job


def test_a_command_waits_for_the_run_that_a_worker_has_without_asking_for_it(asked, monkeypatch):
    """Beside a running server its workers do the runs: asking for theirs again filled the log."""
    campaign = running()
    taken_by_a_worker(active(campaign).job_id)
    pauses = iter(range(3))

    def pause(seconds):
        if next(pauses, None) is None:
            end(active(campaign))

    monkeypatch.setattr(clock, "sleep", pause)
    printed = io.StringIO()
    call_command("run_campaign", campaign.slug, stdout=printed)
    assert "is finished: 1 done" in printed.getvalue()
    assert asked == []


@pytest.mark.parametrize("failed", [False, True])
def test_a_command_takes_back_the_run_of_a_worker_that_fell_silent(asked, monkeypatch, failed):
    """Without another worker nobody else does: the command waited for ever, also after its own thread lost the run."""
    campaign = running()
    job = taken_by_a_worker(active(campaign).job_id)
    job.update(heartbeat_at=now() - timedelta(hours=1), attempt=jobs.MAX_ATTEMPTS if failed else 1)
    pauses = iter(range(20))

    def pause(seconds):
        assert next(pauses, None) is not None, "it waits for ever"
        if asked and active(campaign):
            end(active(campaign))

    monkeypatch.setattr(clock, "sleep", pause)
    printed = io.StringIO()
    call_command("run_campaign", campaign.slug, stdout=printed)
    assert ("is paused" if failed else "is finished: 1 done") in printed.getvalue()
    assert bool(asked) != failed


def test_who_waits_for_a_check_takes_it_back_from_a_worker_that_fell_silent(monkeypatch):
    host, done = make_host(), []
    hosts.request_check(host)
    taken_by_a_worker(host.job_id).update(heartbeat_at=now() - timedelta(hours=1))

    def do(job_id):
        done.append(Job.objects.filter(pk=job_id).update(state="done", finished_at=now()))
        return True

    monkeypatch.setattr(jobs, "run", do)
    pauses = iter(range(3))
    monkeypatch.setattr(clock, "sleep", lambda seconds: next(pauses))
    hosts.wait_for_job(host)
    assert done == [1]


@pytest.mark.parametrize(
    ("error", "is_defect"),
    [
        (remote.Refused("lab-1: /srv/image/image.json is not there"), False),
        (ssh.Unreachable("lab-1 cannot be reached."), False),
        (hosts.HostError("No virtual machine comes up"), False),
        (KeyError("free_mib"), True),
    ],
)
def test_a_check_that_fails_as_expected_prints_no_traceback_and_a_defect_does(error, is_defect, monkeypatch, caplog):
    def connect(host):
        raise error

    host = make_host()
    hosts.request_check(host)
    monkeypatch.setattr(hosts, "connect", connect)
    assert jobs.run(host.job_id)
    assert ("Traceback" in caplog.text) == is_defect
    assert str(error) in caplog.text


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"root": "1000", "uri": ""}, "ada may not ask libvirt: log in as root"),
        ({"root": "0", "uri": ""}, "libvirt does not answer"),
        ({"root": "0", "uri": "qemu:///system"}, "libvirt offers neither kvm nor qemu"),
    ],
)
def test_a_check_says_why_libvirt_offers_nothing(found, why):
    with pytest.raises(hosts.HostError, match=why):
        host_checks._try_guest(
            "libvirt", None, make_host(login="ada"), "/srv/pool", {"guest_image": {}, "domain_types": ""} | found, None
        )


def test_check_host_shows_what_the_worker_found_that_took_the_check(asked, monkeypatch):
    """It printed the facts as they had been, while the worker looked for those of now."""
    host, ask = make_host(facts={"kernel": "old"}), hosts.request_check

    def ask_while_a_worker_waits(host, **options):
        ask(host, **options)
        taken_by_a_worker(host.job_id)

    def pause(seconds):
        Host.objects.update(facts={"kernel": "new"})
        Job.objects.update(state=Job.State.DONE, finished_at=now())

    monkeypatch.setattr(hosts, "request_check", ask_while_a_worker_waits)
    monkeypatch.setattr(clock, "sleep", pause)
    printed = io.StringIO()
    call_command("check_host", host.slug, stdout=printed)
    assert json.loads(printed.getvalue()) == {"kernel": "new"}
    assert asked == []
