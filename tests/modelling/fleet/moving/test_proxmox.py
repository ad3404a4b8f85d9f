"""From the first look at a node of Proxmox VE to the removed old volume, against the stand-in of its commands."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.urls import reverse

from experiments.campaigns import hosts
from experiments.fleet import deeds, watching
from experiments.fleet.driver.contract import Image
from experiments.fleet.driver.proxmox.moving import ProxmoxMoving
from experiments.laboratory.reach.ssh import SshError
from experiments.models import DiskStatistics, Host, Hypervisor, ObservedMachine
from kdb.models import Job
from kdb.work import jobs
from modelling.fleet.moving import by_hand, moves, plans, runner
from modelling.models import PlacementMove
from tests.experiments.fleet.driver.proxmox.node import LocalConnection, Node
from tests.factories import entry, make_host, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def node():
    node = Node()
    try:
        node.start()
        yield node
    finally:
        node.end()


@pytest.fixture
def host(node, monkeypatch):
    """A registered node that was looked at; `fast` is a target."""
    monkeypatch.setattr(hosts, "connect", lambda host: LocalConnection(node.root))
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.1)
    node.keep(agents={"100": [{"type": "vfat"}, {"type": "xfs"}]})
    host = make_host(
        "pve-1", drivers=["proxmox"], hypervisor=entry(Hypervisor, "kvm"), registered_by=make_user("operators")
    )
    deeds.turn_on(host, user=host.registered_by)
    assert watching.watch_for(host, 0.1), Host.objects.get(pk=host.pk).observation_error
    host.observed_pools.filter(path="fast").update(is_target=True)
    return Host.objects.get(pk=host.pk)


def work_on(move: PlacementMove) -> PlacementMove:
    """Run the job of a move as a worker would."""
    move.refresh_from_db()
    jobs.run(move.job_id)
    return PlacementMove.objects.get(pk=move.pk)


def asked(host) -> PlacementMove:
    move = by_hand.ask(by_hand.disk_named("pve-1/mail-1"), by_hand.pool_named("pve-1/fast"), user=host.registered_by)
    return PlacementMove.objects.get(pk=move.pk)


def test_a_node_is_observed_its_disk_moved_moved_back_and_the_old_volumes_removed(node, host):
    machine = ObservedMachine.objects.get()
    assert (machine.name, machine.guest_fs, machine.guest_fs_source) == ("mail-1", "xfs", "agent")
    assert set(host.observed_pools.values_list("path", "backend", "host_fs")) == {
        ("slow", "file", "ext4"),
        ("fast", "zvol", ""),
    }
    assert watching.watch_for(host, 0.1)
    assert sum(DiskStatistics.objects.filter(disk__machine=machine).values_list("writes", flat=True)) > 0

    move = work_on(asked(host))
    assert (move.state, move.runs_from, move.new_path) == ("kept", "new", "fast:vm-100-disk-0"), move.reason
    disk = machine.disks.get()
    assert (disk.path, disk.pool.path) == ("fast:vm-100-disk-0", "fast")
    assert "the old image is kept as slow:100/vm-100-disk-0.raw" in move.lines.values_list("text", flat=True)

    back = work_on(moves.move_back(move, user=host.registered_by))
    assert (back.state, back.new_path) == ("kept", "slow:100/vm-100-disk-1.raw"), back.reason
    for finished_move in (back, move):
        finished_move.refresh_from_db()
        moves.remove_old(finished_move, user=host.registered_by)
        work_on(finished_move)
    assert (node.volumes("fast"), node.volumes("slow")) == ([], ["slow:100/vm-100-disk-1.raw"])
    node.stop()
    assert node.lost("slow:100/vm-100-disk-1.raw") == []


def test_a_move_that_is_called_off_after_its_worker_died_is_taken_back(node, host, monkeypatch):
    move = asked(host)

    class Dies(LocalConnection):
        def run(self, arguments, **how):
            answer = super().run(arguments, **how)
            if "begin" in arguments:
                raise SshError("the worker is gone")
            return answer

    monkeypatch.setattr(runner, "wanted", slowly(runner.wanted))
    monkeypatch.setattr(hosts, "connect", lambda host: Dies(node.root))
    assert work_on(move).state == "copying"
    moves.call_off(move, user=host.registered_by)
    monkeypatch.setattr(hosts, "connect", lambda host: LocalConnection(node.root))
    PlacementMove.objects.filter(pk=move.pk).update(job=jobs.enqueue(moves.MOVE_JOB, queue=host.queue, move_id=move.pk))
    move = work_on(move)
    assert (move.state, move.left_over, move.runs_from) == ("cancelled", "", "old"), move.step
    assert node.volumes("fast") == []
    assert not Job.objects.filter(state="queued", kind=moves.MOVE_JOB).exists()


@pytest.mark.nightly
def test_a_move_that_is_called_off_once_its_host_has_switched_is_kept(node, host, monkeypatch):
    move = asked(host)
    driver = ProxmoxMoving(LocalConnection(node.root))

    def call_off_too_late(seconds):
        while driver.runs_from(runner.wanted(move)) != Image.NEW:
            time.sleep(0.1)
        PlacementMove.objects.filter(pk=move.pk).update(is_called_off=True)

    monkeypatch.setattr(runner, "time", SimpleNamespace(sleep=call_off_too_late))
    done = work_on(move)
    assert (done.state, done.runs_from, done.new_path) == ("kept", "new", "fast:vm-100-disk-0"), done.step


def slowly(wanted):
    return lambda move: replace(wanted(move), copy_rate=2**20)


def test_pages_offer_volumes_and_say_that_no_real_host_was_tried(host, client):
    client.force_login(host.registered_by)
    machine = ObservedMachine.objects.get()
    assert "not yet tried on a real host" in client.get(reverse("observed-host", args=[host.slug])).content.decode()
    offered = client.get(reverse("placement-move-disk", args=[machine.pk])).content.decode()
    assert "fast, ZFS volume: room for" in offered
    move = asked(host)
    shown = client.get(reverse("placement-move", args=[move.pk])).content.decode()
    assert "not yet tried on a real host" in shown
    assert "<code>fast:</code>, ZFS volume" in shown


def test_commands_of_a_plan_are_those_of_proxmox_ve(host):
    entry = {"path": "slow:100/vm-100-disk-0.raw", "disk": "scsi0"}
    pool = host.observed_pools.get(path="fast")
    assert plans._by_qm(entry, pool)[1].startswith("qm disk move 100 scsi0 fast ")
