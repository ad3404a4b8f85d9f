"""Proxmox VE's mover against the stand-in of its commands: conformance, what forbids a move, what may fail."""

from dataclasses import replace
from itertools import count

import pytest

from experiments.fleet.driver.contract import CopyEnded, Forbidden, Gone, Held, Image, Move, MoveError, NotSure
from experiments.fleet.driver.proxmox import listing
from experiments.fleet.driver.proxmox.moving import ProxmoxMoving
from experiments.laboratory.reach.ssh import SshError
from tests.experiments.fleet.driver.conformance import ListingConformance, MovingConformance, copied
from tests.experiments.fleet.driver.proxmox.node import NUMBER, SIZE, UUID, LocalConnection, Node

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


class Place:
    """The node with its machine, which has its disk on `slow` at first."""

    listing = listing

    def __init__(self, node: Node) -> None:
        self.node = self.machine = node
        self.host = LocalConnection(node.root)
        self.driver = ProxmoxMoving(self.host)
        self.size_bytes, self._tokens = SIZE, count(1)

    def new_move(self, **fields) -> Move:
        old = self.node.conf().disks["scsi0"].volume
        new = "slow:" if old.startswith("fast:") else "fast:"
        return Move(f"t{next(self._tokens):04d}", UUID, "scsi0", old, new, **fields)

    def exists(self, path: str) -> bool:
        return bool(self.node.volumes(path[:-1])) if path.endswith(":") else self.node.place(path).exists()

    def put(self, path: str) -> None:
        assert self.exists(path)  # the kept name is that of the old volume

    def moved(self, move: Move) -> None:
        assert self.node.conf().disks["scsi0"].volume == move.new

    def stop(self) -> None:
        """Take the machine's power; of a task that begins, once it copies: before that it would copy without QEMU."""
        self.node.wait(lambda: not self.node.is_at_work() or self.node.jobs())
        self.node.stop()

    def free_bytes(self) -> int:
        return self.node.programs().free_on("fast")

    def left(self) -> list[str]:
        """Return volumes that no definition has."""
        conf = self.node.conf()
        known = {*conf.unused.values(), *(drive.volume for drive in conf.disks.values())}
        return [volume for storage in ("slow", "fast") for volume in self.node.volumes(storage) if volume not in known]


@pytest.fixture
def place():
    node = Node()
    try:
        node.start()
        yield Place(node)
    finally:
        node.end()


class TestProxmox(MovingConformance, ListingConformance):
    pass


def road(driver: ProxmoxMoving, move: Move) -> Move:
    """Go the way of modelling.fleet.moving.runner, from whatever an earlier attempt left."""
    if driver.runs_from(move) != Image.NEW:
        copied(driver, move)
        driver.switch(move)
    driver.keep(move)
    return driver.landed(move)


# What forbids a move


@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        ({"lock": "backup"}, NotSure, r"locked by Proxmox VE \(backup\)"),
        ({"scsi0": "slow:100/vm-100-disk-0.raw,size=8M,ro=1"}, Forbidden, "lies at no volume"),
        ({"scsi0": "slow:100/vm-100-disk-7.raw,size=8M"}, Forbidden, "lies at slow:100/vm-100-disk-7.raw"),
        ({"scsi0": "slow:100/vm-100-disk-0.raw"}, NotSure, "does not say how large"),
        ({"smbios1": "uuid=6a7b2a3c-0000-4000-8000-00000000ffff"}, Gone, "no machine 100 that is"),
    ],
)
def test_a_machine_that_is_not_as_it_should_be_is_not_moved(place, change, kind, why):
    move = place.new_move()
    place.node.change(**change)
    with pytest.raises(kind, match=why):
        place.driver.check(move)


@pytest.mark.parametrize(
    ("below", "why"),
    [
        ("[before-update]\nscsi0: slow:100/vm-100-disk-0.raw,size=8M\n", "The snapshot before-update needs"),
        ("[PENDING]\nscsi0: slow:100/vm-100-disk-0.raw,size=8M,cache=writeback\n", "waits for the next start"),
        ("[PENDING]\ndelete: scsi0\n", "waits for the next start"),
    ],
)
def test_snapshots_and_pending_changes_forbid_it(place, below, why):
    move = place.new_move()
    place.node.file().write_text(f"{place.node.file().read_text()}\n{below}")
    with pytest.raises(Forbidden, match=why):
        place.driver.check(move)


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"content": "iso"}, "holds no disks of machines"),
        ({"active": 0}, "is not there on this node"),
        ({"type": "pbs"}, "none that KDB knows"),
    ],
)
def test_a_storage_that_takes_no_disks_forbids_it(place, about, why):
    storages = place.node.state["storages"]
    place.node.keep(storages=storages | {"fast": storages["fast"] | about})
    with pytest.raises(Forbidden, match=why):
        place.driver.check(place.new_move())


def test_replication_forbids_it_unless_the_disk_is_left_out_of_it(place):
    place.node.keep(replication=[{"id": "100-0", "guest": NUMBER, "target": "pve-2"}])
    with pytest.raises(Forbidden, match="replication job 100-0 copies scsi0"):
        place.driver.check(place.new_move())
    place.node.change(scsi0=f"{place.node.first},replicate=0,size=8M")
    assert place.driver.check(place.new_move()).size_bytes == SIZE


def test_a_machine_of_high_availability_stays_on_shared_storage_and_is_left_alone_while_it_is_handled(place):
    storages = place.node.state["storages"]
    place.node.keep(ha={"100": {"managed": 1, "state": "started"}})
    assert place.driver.check(place.new_move()).size_bytes == SIZE  # it lay on no shared one before
    place.node.keep(storages=storages | {"slow": storages["slow"] | {"shared": 1}})
    with pytest.raises(Forbidden, match="other nodes, which do not have fast"):
        place.driver.check(place.new_move())
    place.node.keep(ha={"100": {"managed": 1, "state": "relocate"}})
    with pytest.raises(NotSure, match="High availability is at the machine: relocate"):
        place.driver.check(place.new_move())


def test_without_quorum_nothing_begins(place):
    place.node.fault(no_quorum=True)
    with pytest.raises(NotSure, match="no quorum"):
        place.driver.copy(place.new_move())
    assert place.left() == []


def test_qcow2_stays_so_in_a_folder_and_is_told_to_become_raw_on_a_pool(place):
    disk = f"slow:{NUMBER}/vm-{NUMBER}-disk-0.qcow2"
    place.node.stop()
    place.node.place(place.node.first).rename(place.node.place(disk))
    place.node.change(scsi0=f"{disk},size=8M")
    place.node.start()
    checked = place.driver.check(place.new_move())
    assert (checked.image_format, len(checked.warnings)) == ("raw", 1)
    storages = place.node.state["storages"]
    other = {"type": "dir", "path": "/srv/other", "content": "images", "total": 2**30}
    place.node.keep(storages=storages | {"other": other})
    checked = place.driver.check(replace(place.new_move(), new="other:"))
    assert (checked.image_format, checked.warnings) == ("qcow2", ())
    landed = road(place.driver, replace(place.new_move(), new="other:"))
    assert landed.new == "other:100/vm-100-disk-0.qcow2"


def test_a_machine_that_another_node_has_waits_and_one_that_is_nowhere_is_gone(place):
    move = place.new_move()
    other = place.node.root / "etc/pve/nodes/pve-2/qemu-server/100.conf"
    place.node.file().rename(other)
    with pytest.raises(NotSure, match="on the node pve-2 now"):
        place.driver.runs_from(move)
    other.unlink()
    with pytest.raises(Gone):
        place.driver.runs_from(move)


# What may fail


def test_no_space_on_the_target_ends_the_copy_and_leaves_nothing(place):
    move = place.new_move()
    looked = place.driver._look(move)
    storages = place.node.state["storages"]
    place.driver._checked(move, looked)
    place.node.keep(storages=storages | {"fast": storages["fast"] | {"total": SIZE // 2}})  # taken since the check
    place.driver._call("begin", move.token, NUMBER, "scsi0", "fast", "raw", 0, looked.digest)
    place.node.idle()
    with pytest.raises(CopyEnded, match="out of space"):
        place.driver.progress(move)
    place.driver.undo(move)
    assert (place.left(), place.driver.runs_from(move)) == ([], Image.OLD)


def test_a_lock_that_another_holds_is_waited_for(place):
    held = place.node.programs().locked(str(NUMBER))
    move = place.new_move()
    place.driver.copy(move)
    place.node.idle()
    with pytest.raises(NotSure, match="can't lock file"):
        place.driver.progress(move)
    held.close()
    assert road(place.driver, move).new.startswith("fast:")


def test_a_configuration_that_changed_since_the_check_is_not_moved(place):
    move = place.new_move()
    digest = place.driver._look(move).digest
    place.node.change(cores="2")
    place.driver._call("begin", move.token, NUMBER, "scsi0", "fast", "raw", 0, digest)
    place.node.idle()
    with pytest.raises(CopyEnded, match="modified configuration"):
        place.driver.progress(move)


@pytest.mark.parametrize(
    ("fault", "step"),
    [
        *(("task_dies", step) for step in ("allocated", "ready", "written")),
        ("parent_dies", "copying"),
        *(pytest.param("task_dies", step, marks=pytest.mark.nightly) for step in ("locked", "copying")),
        *(
            pytest.param("parent_dies", step, marks=pytest.mark.nightly)
            for step in ("locked", "allocated", "ready", "written")
        ),
    ],
)
def test_a_task_that_dies_before_qemu_switched_or_after_all_was_written_loses_nothing(place, step, fault):
    place.node.fault(**{fault: step})
    move = place.new_move()
    place.driver.copy(move)
    place.node.idle()
    place.node.fault()
    if place.driver.runs_from(move) == Image.OLD:
        with pytest.raises(CopyEnded):
            place.driver.progress(move)
    landed = road(place.driver, move)  # takes back what is left, and begins anew
    assert (place.left(), list(place.node.conf().unused.values())) == ([], [move.old])
    place.node.stop()
    assert place.node.lost(landed.new) == []
    place.driver.remove(landed)
    assert not place.exists(move.old)


def test_where_qemu_has_switched_and_the_configuration_not_nothing_is_done_and_it_is_told(place):
    place.node.fault(task_dies="switched")
    move = place.new_move()
    place.driver.copy(move)
    place.node.idle()
    for step in (place.driver.runs_from, place.driver.undo, place.driver.copy):
        with pytest.raises(NotSure, match="do not stop the machine"):
            step(move)
    (new,) = place.left()
    assert place.node.lost(new) == []
    # It was stopped all the same: what it wrote last is in the new volume alone, which stays.
    place.node.stop()
    place.node.start()
    with pytest.raises(Held, match=f"{new} stays"):
        place.driver.undo(move)
    assert place.left() == [new]


def test_an_error_after_the_switch_of_qemu_is_told_and_nothing_is_removed_by_us(place):
    place.node.fault(no_quorum_after_the_copy=True)
    move = place.new_move()
    place.driver.copy(move)
    place.node.idle()
    with pytest.raises(NotSure, match="do not stop the machine"):
        place.driver.undo(move)


@pytest.mark.parametrize("says_allocated", [True, False])
def test_what_a_node_that_lost_power_left_stays_and_is_named(place, says_allocated):
    place.node.keep(says_allocated=says_allocated)
    move = place.new_move(copy_rate=2**20)
    place.driver.copy(move)
    place.node.wait(lambda: bool(place.left()))
    place.node.reboot()
    assert place.driver.runs_from(move) == Image.OLD
    with pytest.raises(CopyEnded):
        place.driver.progress(move)
    (new,) = place.left()
    with pytest.raises(Held, match=new):
        place.driver.undo(move)
    with pytest.raises(CopyEnded, match=new):  # so the move ends, and names it
        place.driver.copy(move)
    place.node.place(new).unlink()
    place.driver.undo(move)
    assert place.driver.runs_from(move) == Image.OLD


def test_a_volume_that_somebody_else_made_meanwhile_is_never_removed(place):
    move = place.new_move(copy_rate=2**20)
    place.driver.copy(move)
    place.node.wait(lambda: bool(place.left()))
    theirs = "fast:vm-100-disk-9"
    place.node.place(theirs).write_bytes(b"theirs")
    with pytest.raises(Held, match=theirs):
        place.driver.undo(move)
    assert place.left() == [theirs]
    place.node.writes_on()


def test_the_kept_volume_goes_only_while_nothing_needs_it(place):
    move = road(place.driver, place.new_move())
    place.node.change(protection="1")
    with pytest.raises(Forbidden, match="protection mode"):
        place.driver.remove(move)
    place.node.change(protection="")
    place.node.write(f"scsi1: {move.old},size=8M\n", 101)
    with pytest.raises(Forbidden, match=r"used in 101.conf"):
        place.driver.remove(move)
    place.node.file(101).unlink()
    place.node.change(unused0="", unused3=move.old)
    place.driver.remove(move)
    assert (place.exists(move.old), place.node.conf().unused) == (False, {})


def test_a_kept_volume_that_is_no_unused_disk_any_more_stays(place):
    move = road(place.driver, place.new_move())
    place.node.change(unused0="")
    with pytest.raises(Forbidden, match="not kept as an unused disk"):
        place.driver.remove(move)
    assert place.exists(move.old)


def test_where_qemu_does_not_say_by_a_path_what_it_has_open_the_configuration_is_believed_and_nothing_is_freed(place):
    place.node.fault(odd_path="rbd:pool/vm-100-disk-0:conf=/etc/pve/ceph.conf", task_dies="copying")
    move = place.new_move()
    place.driver.copy(move)
    place.node.idle()
    assert place.driver.runs_from(move) == Image.OLD
    with pytest.raises(Held):
        place.driver.undo(move)
    assert len(place.left()) == 1


def test_proxmox_ve_that_is_away_is_not_taken_for_a_reason_against_the_move(place):
    place.node.fault(pmxcfs_is_away=True)
    with pytest.raises(NotSure, match="ipcc_send_rec"):
        place.driver.check(place.new_move())


class WorkerDied(BaseException):
    """The worker was killed between two of its own steps."""


@pytest.mark.parametrize(
    ("when", "steps"),
    [
        ("before", [9]),
        ("after", [9]),  # the ninth begins the task
        ("times out", [11]),
        *(pytest.param(when, range(1, 17), marks=pytest.mark.nightly) for when in ("before", "after", "times out")),
    ],
)
def test_a_worker_that_dies_at_any_command_is_followed_by_one_that_ends_the_move(place, when, steps):
    for step in steps:
        move = place.new_move()

        def around(number, go_on, step=step):
            if number == step and when == "before":
                raise WorkerDied
            answer = go_on()
            if number == step:
                raise WorkerDied if when == "after" else SshError("did not answer within 60 s.")
            return answer

        host = LocalConnection(place.node.root)
        host.around = around
        try:
            landed = road(ProxmoxMoving(host), move)
        except (WorkerDied, SshError, MoveError):
            landed = road(place.driver, move)
        place.driver.remove(landed)
        assert (place.left(), place.node.conf().unused) == ([], {})
        assert place.node.lost(landed.new) == []
        assert list((place.node.root / "var/lib/kdb-moves").iterdir()) == []
    place.node.writes_on()
