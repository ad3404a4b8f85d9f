"""A disk of Proxmox VE on its way: what is asked for, what forbids it, and that a kill loses no write.

Where a task was killed, what the machine's QEMU has open decides. Below are the states that a kill may leave, and
moving.sh itself with a `qm` that is killed.
"""

import os
import signal
import subprocess
import time
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest

from experiments.fleet.driver.contract import (
    CopyEnded,
    Copying,
    Forbidden,
    Image,
    ImageInUse,
    MachineGone,
    Move,
    NotSure,
)
from experiments.fleet.driver.proxmox.moving import ProxmoxMoving
from experiments.laboratory.transport.ssh import Answer
from tests.experiments.fleet.driver.scripted import FAILED, ScriptedHost
from tests.experiments.runner import forms

UUID = "6a7b2a3c-0000-4000-8000-000000000100"
OLD, NEW = "slow:100/vm-100-disk-0.raw", "fast:vm-100-disk-0"
MOVE = Move("k0123456789ab", UUID, "scsi0", OLD, "fast:")
CONFIGURATION = f"smbios1: uuid={UUID}\nscsi0: {OLD},size=8M"
MOVED = f"smbios1: uuid={UUID}\nscsi0: {NEW},size=8M\nunused0: {OLD}"
DIGEST = "d" * 40
QEMU = "pvesh create /nodes/localhost/qemu/100/monitor --command info"
STORAGES = "pvesh get /nodes/localhost/storage"
STATE = "pvesh get /nodes/localhost/qemu/100/status/current"
SLOW = {"storage": "slow", "type": "dir", "active": 1, "content": "images", "avail": 2**30, "shared": 1}
MIRROR = "Type mirror, device mirror-scsi0: Completed 1 of 2"
FAST = SLOW | {"storage": "fast", "type": "zfspool", "shared": 0}


def look(text: str = CONFIGURATION, *, running: str = "77", task: str = "", log: str = "", before: str = "") -> str:
    """Return the node's account. task : "alive", "killed", or the status of its end; "" where none began"""
    lines = [f"digest\t{DIGEST}", *(f"conf\t{line}" for line in text.split("\n"))]
    lines += [f"running\t{running}"] * bool(running) + ["alive\tyes"] * (task == "alive")
    lines += [f"status\t{task}"] * task.isdecimal() + ["began\t100 scsi0 fast 77"] * bool(task)
    lines += [f"log\t{line}" for line in log.split("\n")] + [f"before\t{before}"] * bool(before)
    return "\n".join(lines)


# Answers of a node on which the move may begin, and whose QEMU has the old image open
ON_A_NODE = {
    **{"look": look(), "volumes": "", "path": "/srv/slow/images/100/vm-100-disk-0.raw\n"},
    **dict.fromkeys(("begin", "stop", "free", "forget", "unlink"), ""),
    **{STORAGES: [SLOW, FAST], "pvesh get /storage/fast": {"sparse": 1}, STATE: {"ha": {"managed": 0}}},
    **{"pvesh get /cluster/status": [{"type": "cluster", "quorate": 1}], "pvesh get /cluster/replication": []},
    f"{QEMU} block-jobs": "No active jobs",
    f"{QEMU} block": "drive-scsi0 (#b1): /srv/slow/images/100/vm-100-disk-0.raw (raw)\r\nide2: empty",
}


@pytest.fixture
def host() -> ScriptedHost:
    return ScriptedHost(dict(ON_A_NODE))


@pytest.fixture
def driver(host):
    yield ProxmoxMoving(host)
    assert forms.refused(host.asked, ["slow", "fast"]) == []  # a runner may be asked all of it


def test_a_move_is_one_task_and_is_over_once_the_machine_runs_from_the_volume_it_made(host, driver):
    checked = driver.check(MOVE)
    assert (checked.size_bytes, checked.image_format, checked.is_sparse) == (8 * 2**20, "raw", True)
    assert (host.verbs(), driver.running_image(MOVE)) == (["look"], Image.OLD)
    driver.copy(replace(MOVE, copy_rate=2**20))
    assert host.asked[-1][4:] == ["begin", MOVE.token, "100", "scsi0", "fast", "raw", "1024", DIGEST]
    host.answers["look"] = look(task="alive", log="drive-scsi0: transferred 4.0 MiB of 8.0 MiB (50.00%) in 1s")
    assert driver.copy(MOVE) == driver.progress(MOVE) == Copying(4 * 2**20, 8 * 2**20, is_ready=False)
    assert host.verbs().count("begin") == 1
    with pytest.raises(NotSure, match="still copies"):
        driver.switch(MOVE)
    host.answers["look"] = look(MOVED, task="0")
    driver.switch(MOVE)
    landed = driver.locate_new(MOVE)
    assert (driver.running_image(MOVE), landed.new, driver.kept_name(landed)) == (Image.NEW, NEW, OLD)
    driver.keep(landed)
    with pytest.raises(Forbidden, match="does not run from"):
        driver.undo(landed)
    driver.remove(landed)
    assert [words[4:] for words in host.asked[-2:]] == [
        ["unlink", "100", OLD, "unused0", DIGEST],
        ["forget", MOVE.token],
    ]


def changed(old: str, new: str) -> dict:
    return {"look": look(CONFIGURATION.replace(old, new))}


@pytest.mark.parametrize(
    ("answers", "kind", "why"),
    [
        ({"look": look(running="")}, Forbidden, "does not run"),
        (changed("scsi0", "lock: backup\nscsi0"), NotSure, r"locked by Proxmox VE \(backup\)"),
        (changed("disk-0", "disk-7"), Forbidden, "lies at slow:100/vm-100-disk-7.raw"),
        (changed(",size=8M", ""), NotSure, "does not say how large"),
        (changed(UUID, UUID[:-1] + "1"), MachineGone, "no machine 100 that is"),
        ({"look": "node\tpve-2"}, NotSure, "on the node pve-2 now"),
        ({"look": look(f"{CONFIGURATION}\n[before]\nscsi0: {OLD}")}, Forbidden, "The snapshot before needs"),
        ({"look": look(f"{CONFIGURATION}\n[PENDING]\ndelete: scsi0")}, Forbidden, "waits for the next start"),
        ({f"{QEMU} block-jobs": MIRROR}, Forbidden, "Another block job"),
        ({STORAGES: [FAST | {"content": "iso"}]}, Forbidden, "holds no disks of machines"),
        ({STORAGES: [FAST | {"active": 0}]}, Forbidden, "is not there on this node"),
        ({STORAGES: [FAST | {"type": "pbs"}]}, Forbidden, "none that KDB knows"),
        ({STORAGES: [FAST | {"avail": 8 * 2**20}]}, Forbidden, "bytes are free on fast"),
        ({"pvesh get /cluster/status": [{"type": "cluster", "quorate": 0}]}, NotSure, "no quorum"),
        ({"pvesh get /cluster/replication": [{"id": "100-0", "guest": 100}]}, Forbidden, "job 100-0 copies scsi0"),
        ({STATE: {"ha": {"managed": 1, "state": "relocate"}}}, NotSure, "at the machine: relocate"),
        ({STATE: {"ha": {"managed": 1, "state": "started"}}}, Forbidden, "other nodes, which do not have fast"),
        ({STORAGES: FAILED}, NotSure, "ipcc_send_rec"),
    ],
)
def test_what_is_against_a_move_is_told_and_nothing_begins(host, driver, answers, kind, why):
    host.answers |= answers
    with pytest.raises(kind, match=why):
        driver.copy(MOVE)
    assert host.verbs() == ["look"]


def test_qcow2_becomes_raw_on_a_pool_and_stays_in_a_folder(host, driver):
    host.answers |= changed(".raw", ".qcow2") | {
        f"{QEMU} block": "drive-scsi0: /srv/slow/images/100/vm-100-disk-0.qcow2"
    }
    move = replace(MOVE, old=OLD.replace("raw", "qcow2"))
    checked = driver.check(move)
    assert (checked.image_format, len(checked.warnings)) == ("raw", 1)
    host.answers[STORAGES] = [SLOW, FAST | {"type": "dir"}]
    assert driver.check(move).image_format == "qcow2"


# What a kill leaves

ALLOCATED = f"allocated target volume '{NEW}'"
KILLED = {"look": look(task="killed", log=ALLOCATED), "volumes": NEW}
CANCEL = "pvesh create /nodes/localhost/qemu/100/monitor --command block_job_cancel -f mirror-scsi0"
SWITCHED = {f"{QEMU} block": f"drive-scsi0 (#b2): /dev/fast/{NEW} (raw)"}


def test_a_task_killed_before_qemu_switched_is_taken_back_and_the_move_begins_anew(host, driver):
    host.answers |= KILLED
    assert driver.running_image(MOVE) == Image.OLD
    with pytest.raises(CopyEnded, match="allocated target"):
        driver.progress(MOVE)
    driver.undo(MOVE)
    assert host.verbs()[-2:] == ["free", "forget"]
    assert host.asked[-2][4:] == ["free", MOVE.token, "100", NEW]


@pytest.mark.parametrize(
    ("answers", "kind", "why"),
    [
        (KILLED | SWITCHED, NotSure, "do not stop the machine"),
        (KILLED | {"look": look(task="killed", log=ALLOCATED, running="99")}, ImageInUse, f"{NEW} stays"),
        (KILLED | {"look": look(task="killed", log=ALLOCATED, running="")}, ImageInUse, f"{NEW} stays"),
        (KILLED | {"look": look(task="killed")}, ImageInUse, f"{NEW} appeared while"),
        (KILLED | {"path": "rbd:pool/vm-100-disk-0"}, ImageInUse, f"{NEW} stays"),
        (KILLED | {f"{QEMU} block": FAILED}, NotSure, "monitor does not answer"),
        (KILLED | {f"{QEMU} block-jobs": MIRROR, CANCEL: ""}, NotSure, "mirror-scsi0 does not end"),
        ({"look": look(MOVED, task="killed"), "volumes": NEW}, Forbidden, "does not run from"),
        ({"look": look(MOVED, task="alive"), "volumes": NEW}, Forbidden, "does not run from"),
    ],
    ids=["switched", "restarted", "stopped", "not-ours", "no-path", "silent", "copying", "moved", "moved-and-alive"],
)
def test_a_volume_that_may_have_what_was_written_last_stays_and_is_named(host, driver, answers, kind, why):
    host.answers |= answers
    with pytest.raises(kind, match=why):
        driver.undo(MOVE)
    assert not {"free", "stop" if kind is Forbidden else ""} & {*host.verbs()}


def test_another_attempt_does_not_begin_over_what_an_earlier_one_left(host, driver):
    host.answers |= KILLED | {"look": look(task="killed", log=ALLOCATED, running="99")}
    with pytest.raises(CopyEnded, match=f"{NEW} stays"):
        driver.copy(MOVE)
    assert "begin" not in host.verbs()


@pytest.mark.parametrize(
    ("told", "kind", "why"),
    [
        (look(), CopyEnded, "No copy is under way"),
        (look(task="1", running=""), CopyEnded, "The machine stopped"),
        (look(task="255", log="storage migration failed: out of space"), CopyEnded, "out of space"),
        (look(task="255", log="can't lock file '/var/lock/100.conf' - got timeout"), NotSure, "did not begin: can't"),
    ],
)
def test_a_copy_that_is_over_says_why(host, driver, told, kind, why):
    host.answers["look"] = told
    with pytest.raises(kind, match=why):
        driver.progress(MOVE)


def test_volumes_that_were_there_before_stay(host, driver):
    host.answers |= {"look": look(task="1", before=NEW), "volumes": NEW}
    driver.undo(MOVE)
    assert "free" not in host.verbs()


@pytest.mark.parametrize(
    ("text", "task", "why"),
    [
        (CONFIGURATION, "0", "The machine runs from"),
        (MOVED, "alive", "has not ended"),
        (f"{MOVED}\n[before]\nscsi0: {OLD}", "0", "The snapshot before needs"),
        (MOVED.replace("\nunused0", "\nsata0"), "0", "not kept as an unused disk"),
    ],
)
def test_the_old_volume_goes_only_while_nothing_needs_it(host, driver, text, task, why):
    host.answers |= {"look": look(text, task=task), "volumes": OLD}
    with pytest.raises((Forbidden, NotSure), match=why):
        driver.remove(replace(MOVE, new=NEW))
    assert "unlink" not in host.verbs()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(90, b"", "busy: Proxmox VE is at this move"), NotSure),
        (Answer(90, b"", f"held: {OLD} is still open in the processes 7"), ImageInUse),
        (Answer(90, b"", f"used: {OLD} is used in 101.conf"), Forbidden),
        (Answer(1, b"", "sh: qm: not found"), NotSure),
    ],
)
def test_a_refusal_of_the_node_says_whether_another_try_may_succeed(host, driver, answer, kind):
    host.answers |= {"look": look(MOVED, task="0"), "unlink": answer}
    with pytest.raises(kind) as refusal:
        driver.remove(replace(MOVE, new=NEW))
    assert type(refusal.value) is kind


# moving.sh

QM = f"""#!/bin/sh
case $1 in
disk) echo "$*" >"$KDB_ROOT/asked"; echo "{ALLOCATED}"; touch "$KDB_ROOT/fast"; exec sleep 60 ;;
set) echo "$*" >"$KDB_ROOT/asked" ;;
esac
"""
PVESM = """#!/bin/sh
case $1 in
list) echo Volid; cat "$KDB_ROOT/volumes" ;;
path) echo "$KDB_ROOT/fast" ;;
free) rm "$KDB_ROOT/fast" ;;
esac
"""


class Node:
    def __init__(self, root: Path) -> None:
        self.root, self.journal = root, root / "var/lib/kdb-moves" / MOVE.token
        for folder in ("bin", "etc/pve/nodes/pve-1/qemu-server", "run/qemu-server"):
            (root / folder).mkdir(parents=True)
        (root / "etc/pve/qemu-server").symlink_to("nodes/pve-1/qemu-server")
        for name, text in (("bin/qm", QM), ("bin/pvesm", PVESM), ("volumes", ""), ("run/qemu-server/100.pid", "1")):
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        self.file = root / "etc/pve/qemu-server/100.conf"
        self.file.write_text(f"{CONFIGURATION}\n")

    def call(self, verb: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        words = ["sh", "-c", ProxmoxMoving.script, "kdb-remote", verb, *map(str, arguments)]
        environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "KDB_ROOT": str(self.root)}
        return subprocess.run(words, capture_output=True, text=True, env=environment)

    def begin(self) -> None:
        assert self.call("begin", MOVE.token, 100, "scsi0", "fast", "raw", 512, DIGEST).returncode == 0
        self.until(lambda: (self.root / "fast").exists())

    def look(self) -> dict[str, str]:
        return dict(line.split("\t", 1) for line in self.call("look", MOVE.token, 100).stdout.splitlines())

    def kill(self) -> None:
        """Kill qm and what waits for it."""
        held = str(self.journal / "lock")
        for link in Path("/proc").glob("[0-9]*/fd/9"):
            if os.path.exists(link) and os.readlink(link) == held:
                os.kill(int(link.parts[2]), signal.SIGKILL)
        self.until(lambda: "alive" not in self.look())

    @staticmethod
    def until(condition) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    yield node
    node.kill()


@pytest.mark.slow
def test_a_task_outlives_who_began_it_is_begun_once_and_ends_on_order(node):
    node.begin()
    words = f"disk move 100 scsi0 fast --format raw --digest {DIGEST} --bwlimit 512\n"
    assert (node.root / "asked").read_text() == words
    assert os.getsid(int((node.journal / "pid").read_text())) != os.getsid(0)
    told = node.look()
    assert (told["alive"], told["began"], told["log"]) == ("yes", "100 scsi0 fast 1", ALLOCATED)
    assert told["digest"] == sha1(node.file.read_bytes()).hexdigest()
    for verb, *more in (("begin", 100, "scsi0", "fast", "raw", 0, DIGEST), ("free", 100, NEW), ("forget",)):
        assert "busy: " in node.call(verb, MOVE.token, *more).stderr
    assert node.call("stop", MOVE.token).returncode == 0
    told = node.look()
    assert ("alive" in told, told["status"]) == (False, "143")
    assert "busy: an attempt" in node.call("begin", MOVE.token, 100, "scsi0", "fast", "raw", 0, DIGEST).stderr


@pytest.mark.slow
def test_after_a_kill_the_copy_goes_only_where_it_is_surely_of_the_move_and_nobody_has_it(node):
    node.begin()
    node.kill()
    assert "status" not in node.look()
    theirs = "fast:vm-100-disk-9"
    assert f"{theirs} is not surely of this move" in node.call("free", MOVE.token, 100, theirs).stderr
    other = node.file.with_name("101.conf")
    other.write_text(f"[before]\nscsi1: {NEW},size=8M\n")
    assert f"used: {NEW} is used in 101.conf" in node.call("free", MOVE.token, 100, NEW).stderr
    other.unlink()
    with (node.root / "fast").open():
        assert f"held: {NEW} is still open" in node.call("free", MOVE.token, 100, NEW).stderr
    (node.journal / "before").write_text(f"{NEW}\n")
    assert "was there before the move" in node.call("free", MOVE.token, 100, NEW).stderr
    (node.journal / "before").write_text("")
    assert (node.root / "fast").exists()
    assert node.call("free", MOVE.token, 100, NEW).returncode == 0
    assert not (node.root / "fast").exists()
    assert node.call("forget", MOVE.token).returncode == 0
    assert not node.journal.exists()


@pytest.mark.slow
def test_an_unused_volume_is_unlinked_only_while_no_definition_has_it(node):
    node.file.write_text(f"{MOVED}\n[before]\nscsi0: {OLD}\n")
    assert f"used: {OLD} is used in 100.conf" in node.call("unlink", 100, OLD, "unused0", DIGEST).stderr
    node.file.write_text(f"{MOVED}\n")
    assert "changed: unused1 is not" in node.call("unlink", 100, OLD, "unused1", DIGEST).stderr
    assert not (node.root / "asked").exists()
    assert node.call("unlink", 100, OLD, "unused0", DIGEST).returncode == 0
    assert (node.root / "asked").read_text() == f"set 100 --delete unused0 --digest {DIGEST}\n"
