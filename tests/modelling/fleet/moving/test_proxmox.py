"""A move under Proxmox VE, which names the new volume and switches by itself: asked for, done, shown."""

import pytest
from django.urls import reverse

from experiments.campaigns import hosts
from experiments.models import HostStorage, Hypervisor
from kdb.jobs import jobs
from modelling.fleet.moving import manual, moves
from modelling.models import PlacementMove
from tests.experiments.fleet.driver.scripted import ScriptedHost
from tests.experiments.fleet.driver.test_proxmox_moving import (
    KILLED,
    MOVED,
    NEW,
    OLD,
    ON_A_NODE,
    SWITCHED,
    UUID,
    look,
)
from tests.factories import entry, make_host, make_machine, make_pool, make_user

pytestmark = pytest.mark.django_db


class Node(ScriptedHost):
    """A node whose task has one of these ends at once."""

    end = {"look": look(MOVED, task="0")}

    def _run(self, arguments, *more):
        if "begin" in arguments:
            self.answers |= self.end
        return super()._run(arguments, *more)


@pytest.fixture
def node(monkeypatch) -> Node:
    node = Node(dict(ON_A_NODE))
    monkeypatch.setattr(hosts, "connect", lambda host: node)
    return node


@pytest.fixture
def host():
    owner = make_user("operators")
    host = make_host("pve-1", drivers=["proxmox"], hypervisor=entry(Hypervisor, "kvm"), registered_by=owner)
    slow = make_pool(host, "slow")
    make_pool(host, "fast", backend="zvol", host_fs="", is_target=True)
    machine = make_machine(host, "mail-1", pool=slow, uuid=UUID)
    machine.disks.update(target="scsi0", path=OLD)
    return host


def asked(host) -> PlacementMove:
    move = manual.move_disk(manual.find_disk("pve-1/mail-1"), manual.find_pool("pve-1/fast"), user=host.registered_by)
    return PlacementMove.objects.get(pk=move.pk)


def work_on(move: PlacementMove) -> PlacementMove:
    move.refresh_from_db()
    jobs.run(move.job_id)
    return PlacementMove.objects.get(pk=move.pk)


def test_a_disk_is_moved_to_a_volume_that_its_node_names_and_the_old_one_removed(node, host):
    move = work_on(asked(host))
    assert (move.state, move.runs_from, move.new_path) == ("kept", "new", NEW), move.reason
    assert f"the old image is kept as {OLD}" in move.lines.values_list("text", flat=True)
    moves.remove_old(move, user=host.registered_by)
    assert work_on(move).state == "done"
    assert node.verbs()[-2:] == ["unlink", "forget"]


def test_a_move_whose_task_was_killed_after_qemu_switched_waits_and_says_what_to_do(node, host):
    node.end = KILLED | SWITCHED
    move = work_on(asked(host))
    assert move.state == "copying"
    assert "do not stop the machine" in move.step
    assert "free" not in node.verbs()


def test_pages_are_in_the_words_of_proxmox_ve_and_say_that_no_real_host_was_tried(host, client):
    entry(HostStorage, "zvol")
    client.force_login(host.registered_by)
    offered = client.get(reverse("placement-move-disk", args=[host.observed_machines.get().pk])).content.decode()
    assert "fast, ZFS volume: room for" in offered
    shown = client.get(reverse("placement-move", args=[asked(host).pk])).content.decode()
    assert "not yet tried on a real host" in shown
    assert "<code>fast:</code>, ZFS volume" in shown
