"""Campaigns on a real host over a real sshd: fio on ext4, xfs and btrfs made on loop devices."""

import json
import subprocess
import threading
from pathlib import Path

import pytest

from experiments.campaigns import control, drafts, host_checks, hosts, plans
from experiments.campaigns.flagged import number_of
from experiments.imports import pipeline
from experiments.laboratory.benchmarks import engines
from experiments.laboratory.transport.remote import SCRIPT, Area
from experiments.models import (
    Benchmark,
    CampaignRun,
    FileSystem,
    Hypervisor,
    OperatingSystem,
    StoragePool,
    Workload,
)
from experiments.records.checklist import protocol_of
from kdb.jobs import jobs
from tests import factories
from tests.experiments.laboratory.conftest import SHORT, do, registered, said, started, wait_until, work_off

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_a_check_finds_out_what_the_host_is(host, plain_lab):
    facts = host.facts
    assert facts["kernel"] in plain_lab.inside("uname", "-r")
    assert (facts["cores"] >= 1, facts["ram_mib"] > 100, facts["fio"][:4]) == (True, True, "fio-")
    assert facts["pools"][str(plain_lab.pool)]["free_mib"] > 0
    assert {"program": "filebench", "from": host_checks.PROGRAM_SOURCES["filebench"]} in facts["missing"] or facts[
        "filebench"
    ]


@pytest.mark.nightly
def test_a_campaign_measures_three_file_systems(host, plain_lab):
    campaign = started(host, host_file_systems=["ext4", "xfs", "btrfs"], **SHORT)
    work_off(campaign)
    assert campaign.state == "finished"
    for run in campaign.runs.all():
        assert run.state == "done", said(run)
        (figure,) = run.figures
        output = json.loads(bytes(run.artifacts.get(name="host.txt").data))
        job = output["jobs"][0]
        assert figure["throughput_mib_s"] == pytest.approx(
            sum(job[way]["io_bytes"] for way in ("read", "write")) / 2**20 / (job["read"]["runtime"] / 1000), rel=0.05
        )
        (machine,) = run.facts["machines"]
        assert machine["mount_options"].startswith("rw")
        assert machine["kernel"] == host.facts["kernel"]
    assert plain_lab.left_overs() == []


def test_where_no_control_group_has_memory_none_is_limited_and_the_check_goes_on(plain_lab):
    """As in a container: the folder of the controller is there, and nothing is mounted on it."""
    apart = ["unshare", "--mount", "--propagation", "private", "sh", "-ec"]
    hidden = "mount -t tmpfs tmpfs /sys/fs/cgroup; mkdir /sys/fs/cgroup/memory; "
    done = subprocess.run(
        [*apart, f'{hidden}sh -c "$0" kdb-remote facts; ls /sys/fs/cgroup/memory', SCRIPT],
        **{"capture_output": True, "text": True, "check": True},
    )
    assert ("limits_memory" in done.stdout, "kdb-" in done.stdout, "root\t0" in done.stdout) == (False, False, True)


def test_a_benchmark_may_use_so_much_memory_and_no_more_with_its_files_in_the_cache(host, plain_lab):
    assert host.facts["limits_memory"] == "yes"
    with hosts.connect(host) as machine:
        area = Area(machine, str(plain_lab.pool), 1)
        area.call("begin")
        area.call("make-folder", "fs", host.facts["pools"][area.pool]["file_system"])
        area.call("limit-memory", 32)
        mine = f'cd "$(cat {area.pool}/.kdb/group)"; cat memory.peak memory.max_usage_in_bytes 2>/dev/null'
        area.call("start", "t", 60, 1, "fs", "sh", "-c", f"dd if=/dev/zero of=f bs=1M count=128 2>&1; {mine}")
        wait_until(lambda: area.poll("t").state == "exited")
        assert 2**24 < int(area.output("t.out").split()[-1]) <= 2**25
        (group,) = area.output("group").decode().splitlines()
        area.call("clean")
    assert (Path(group).exists(), plain_lab.left_overs()) == (False, [])


@pytest.mark.nightly
def test_a_campaign_as_planned_by_default_meets_the_whole_protocol(host, plain_lab):
    """Runs of a second stand for whole ones; the rest is as on the form."""
    host.facts["pools"][str(plain_lab.pool)]["disk"] = "sda SSD 0 1T"
    host.save()
    fields = {"title": "T", "slug": "by-default", "host": host.pk, "pool": host.pools.get().pk, "driver": "native"}
    fields |= {"engine": "fio", "host_file_systems": ["ext4"], "workloads": ["fileserver"], "repetitions": 2}
    form = plans.plan_form(fields | {"vm_ram_mib": 128, "disk_mib": 700, "scale_percent": 10}, user=None)
    assert form.is_valid(), form.errors
    assert form.instance.run_seconds >= 30
    form.instance.run_seconds = 2
    campaign = control.create(form.instance, user=None)
    control.start(campaign)
    work_off(campaign)
    assert set(campaign.runs.values_list("state", flat=True)) == {"done"}, [said(run) for run in campaign.runs.all()]
    assert not any(number_of(campaign, run).fits_memory for run in campaign.runs.all())
    for model, slug in ((Workload, "fileserver"), (Benchmark, "fio"), (OperatingSystem, "debian-12")):
        factories.entry(model, slug)
    draft, batch = drafts.create_draft(campaign, user=None)
    pipeline.finish(batch)
    draft.run_seconds = 120
    assert {tick.name: tick.state for tick in protocol_of(draft).ticks if tick.state != "met"} == {}
    assert plain_lab.left_overs() == []


@pytest.mark.nightly
def test_a_pool_with_its_own_file_system_is_used_and_never_formatted(host, plain_lab):
    kind = host.facts["pools"][str(plain_lab.pool)]["file_system"]
    host.pools.update(kind=StoragePool.Kind.EXISTING)
    (plain_lab.pool / "precious").write_text("keep me")
    before = plain_lab.inside("cat", "/proc/self/mounts")
    try:
        campaign = started(host, host_file_systems=[kind], **SHORT)
        work_off(campaign)
        run = campaign.runs.get()
        assert (run.state, "a folder on" in said(run)) == ("done", True), said(run)
        assert (plain_lab.pool / "precious").read_text() == "keep me"
        assert plain_lab.inside("cat", "/proc/self/mounts") == before
    finally:
        (plain_lab.pool / "precious").unlink()


@pytest.mark.nightly
def test_attached_machines_are_measured_through_their_own_sshd(plain_lab, keys):
    """The laboratory's host as the virtual machine of a hypervisor that nobody logs in to."""
    keys(plain_lab)
    esxi = factories.make_host(
        "esxi-1",
        **{"pools": (), "address": "", "host_key": "", "drivers": ["attached"], "facts": {}},
        hypervisor=factories.entry(Hypervisor, "esxi"),
        stated={"hypervisor_release": "7.0U3", "image_format": "vmdk", "virtualisation": "full"},
    )
    machine = registered(plain_lab, slug="vm-1", runs_on=esxi)
    machine.pools.update(host_fs=factories.entry(FileSystem, "vmfs"))
    campaign = started(
        esxi,
        driver="attached",
        pool=None,
        host_file_systems=["vmfs"],
        guest_file_systems=["xfs"],
        vm_counts=[1],
        **SHORT,
    )
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, [figure["machine"] for figure in run.figures]) == ("done", [1]), said(run)
    assert plain_lab.left_overs() == []
    for model, slug in ((Workload, "varmail"), (Benchmark, "fio"), (OperatingSystem, "debian-12")):
        factories.entry(model, slug)
    draft, batch = drafts.create_draft(campaign, user=None)
    pipeline.finish(batch)
    assert batch.state == "filed", batch.report
    configuration = draft.configurations.get()
    assert (configuration.hypervisor.slug, configuration.pair) == ("esxi", "xfs-on-vmfs")
    assert (configuration.hypervisor_release, configuration.image_format) == ("7.0U3", "vmdk")


def test_a_run_that_fails_says_why_and_the_rest_goes_on(host, plain_lab, monkeypatch):
    campaign = started(host, repetitions=2, **SHORT)
    first = campaign.runs.get(state="active")
    with monkeypatch.context() as patch:
        patch.setattr(engines, "fio_job", lambda *_: "[global]\nrw=read\n")
        jobs.run(first.job_id)
    work_off(campaign)
    first.refresh_from_db()
    assert (first.state, first.reason[:6]) == ("failed", "Host: ")
    assert campaign.runs.exclude(pk=first.pk).get().state == "done"
    control.retry(campaign, first)
    control.start(campaign)
    work_off(campaign)
    first.refresh_from_db()
    assert first.state == "done", said(first)
    assert plain_lab.left_overs() == []


@pytest.mark.nightly
def test_a_full_file_system_fails_the_run(host, plain_lab):
    """The plan is checked against what a workload needs; here the file system became smaller since."""
    campaign = started(host, **SHORT | {"workloads": ["fileserver"], "disk_mib": 400})
    type(campaign).objects.filter(pk=campaign.pk).update(disk_mib=40)
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, "error" in run.reason.lower() or "space" in run.reason) == ("failed", True), said(run)
    assert plain_lab.left_overs() == []


@pytest.mark.nightly
def test_a_cancelled_campaign_ends_the_run_under_way(host, plain_lab):
    campaign = started(host, repetitions=2, **SHORT | {"run_seconds": 60})
    run = campaign.runs.get(state="active")
    worker = threading.Thread(target=jobs.run, args=[run.job_id])
    worker.start()
    wait_until(lambda: CampaignRun.objects.filter(pk=run.pk, step__contains="varmail for 60 s").exists())
    control.cancel(campaign)
    worker.join(30)
    assert not worker.is_alive()
    assert list(campaign.runs.values_list("state", flat=True)) == ["cancelled"] * 2
    assert plain_lab.left_overs() == []
    assert "fio" not in plain_lab.inside("ps", "-eo", "comm").split()


@pytest.mark.nightly
def test_a_changed_key_blocks_the_host_and_loses_nothing(host, plain_lab):
    campaign = started(host, **SHORT)
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrb2RSpmd8E5tMOPTxF1qbMd3eEhvg0Uih5N5VcxYWf"
    type(host).objects.filter(pk=host.pk).update(host_key=other)
    work_off(campaign)
    host.refresh_from_db()
    run = campaign.runs.get()
    assert "shows another host key than SHA256:" in host.blocked_reason
    assert (run.state, campaign.state) == ("waiting", "paused"), said(run)
    with pytest.raises(control.CampaignError, match="is blocked"):
        control.start(campaign)
    hosts.request_contact(host)
    do(host.job)
    host.refresh_from_db()
    hosts.accept_key(host, hosts.ssh.fingerprint(plain_lab.host_key))
    control.start(campaign)
    work_off(campaign)
    run.refresh_from_db()
    assert run.state == "done", said(run)


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["a link", "somebody's folder"])
def test_the_host_refuses_an_area_that_is_not_kdbs(host, plain_lab, what, tmp_path):
    (tmp_path / "precious").write_text("keep me")
    area = plain_lab.pool / ".kdb"
    if what == "a link":
        area.symlink_to(tmp_path)
    else:
        area.mkdir()
        (area / "precious").write_text("keep me")
    try:
        campaign = started(host, **SHORT)
        work_off(campaign)
        run = campaign.runs.get()
        assert (run.state, "is not KDB's" in run.reason) == ("failed", True), said(run)
        assert (area / "precious").read_text() == "keep me"
    finally:
        if what == "a link":
            area.unlink()
        else:
            (area / "precious").unlink()
            area.rmdir()
