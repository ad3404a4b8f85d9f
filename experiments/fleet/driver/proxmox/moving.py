"""Move a disk under Proxmox VE: `qm disk move`, one task that copies, switches, and keeps the old volume as unusedN.

The task runs on the node independently of KDB; moving.sh starts it once for each attempt and keeps its journal there.
Proxmox VE names the new volume, so a move names a storage ("local-zfs:"), and `locate_new` finds the volume once the
machine runs from it. The running task holds the machine's lock, which excludes backups, migrations and changes of the
configuration.

What `qm disk move` does, prints and leaves follows https://git.proxmox.com/?p=qemu-server.git at e6352be67f70
(move_vm_disk of PVE::API2::Qemu, clone_disk of PVE::QemuServer, PVE::QemuServer::BlockJob) and pve-common.git at
f665029eac78 (fork_worker of PVE::RESTEnvironment), and qm(1). Not yet tried on a real host.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from experiments.laboratory.targets.proxmox import BACKENDS, FOLDERS, asked
from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Refused

from ..contract import Checked, CopyEnded, Copying, Forbidden, Image, ImageInUse, MachineGone, Move, NotSure
from ..script import FORMATS, UNSAFE, MovingScript
from .configuration import Configuration, Drive, owner_of, parse_configuration, storage_of

STOP_SECONDS = 90  # longest that moving.sh waits for a task to end
_FILE_STORAGES = (*FOLDERS, "nfs", "cifs")  # types of storage whose disks are files
_STORAGE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:")
_PERCENT = re.compile(r"transferred [^()]{1,200}\((\d{1,3}(?:\.\d{1,9})?)%\)")
_ALLOCATED = re.compile(r"allocated target volume '([^']+)'")
_JOB = re.compile(r"device ([A-Za-z0-9_.#-]+): Completed")
# Messages of a task that did not begin because the machine is locked: another try may succeed.
_BUSY = re.compile(r"can't lock file|got lock request timeout|VM is locked|got timeout")
_IDLE_HA_STATES = ("started", "ignored", "stopped", "")


@dataclass(frozen=True)
class _NodeState:
    """The state of a machine and of the last attempt of a move, as the node reports it.

    process : QEMU's, "" where the machine does not run; first_process : the same when the task began
    began, alive : the task was started, and still runs; status : exit status of qm, "" where it runs or was killed
    before : volumes of the machine on the target when the task began; log : the last lines of the task
    """

    conf: Configuration
    digest: str
    process: str
    first_process: str
    began: bool
    alive: bool
    status: str
    before: tuple[str, ...]
    log: tuple[str, ...]

    @property
    def is_running(self) -> bool:
        return bool(self.process)

    @property
    def was_killed(self) -> bool:
        """Tell whether the task failed while QEMU kept running, which then may have either image open."""
        return self.began and not self.alive and self.status != "0" and self.is_running

    def volume(self, disk: str) -> str:
        drive = self.conf.disks.get(disk)
        return drive.volume if drive is not None else ""


class ProxmoxMoving(MovingScript):
    """Moves the disks of machines of Proxmox VE, over one connection to the node that they run on."""

    script = Path(__file__).with_name("moving.sh").read_text()
    transient = _BUSY

    def check(self, move: Move) -> Checked:
        return self._check(move, self._look(move))

    def _check(self, move: Move, look: _NodeState) -> Checked:
        conf, drive = look.conf, look.conf.disks.get(move.disk)
        if not look.is_running:
            raise Forbidden("The machine does not run: it is moved while it runs.")
        if drive is None or drive.volume != move.old:
            raise Forbidden(f"{move.disk} lies at {look.volume(move.disk) or 'no volume'}, not at {move.old}.")
        self._check_machine(conf, drive, move)
        about, settings = self._storage(move)
        image_format, warnings = _target_format(drive, str(about["type"]))
        self._check_cluster(conf, drive, about, move)
        size = drive.size_bytes
        if not size:
            raise NotSure(f"Proxmox VE does not say how large {move.disk} is.")
        self._require_space(move, size, int(about["avail"]), f"on {storage_of(move.new)}")
        if drive.options.get("cache") == "unsafe":
            warnings.append(UNSAFE)
        is_sparse = about["type"] in ("lvmthin", "rbd", *_FILE_STORAGES) or str(settings.get("sparse", "0")) == "1"
        return Checked(size, image_format, is_sparse, tuple(warnings))

    def copy(self, move: Move) -> Copying:
        look = self._look(move)
        if look.alive or self._image(look, move) == Image.NEW:
            return self.progress(move)
        if look.began:
            try:
                self.undo(move)
            except ImageInUse as error:
                raise CopyEnded(str(error)) from error
            look = self._look(move)
        checked = self._check(move, look)
        kibs = max(move.copy_rate // 1024, 1) if move.copy_rate else 0
        words = (self._number(move), move.disk, storage_of(move.new), checked.image_format, kibs, look.digest)
        self._call("begin", move.token, *words)
        return Copying(0, checked.size_bytes, is_ready=False)

    def progress(self, move: Move) -> Copying:
        """Return the progress; it is ready once the machine runs from the new volume and the task has ended."""
        look = self._look(move)
        drive = look.conf.disks.get(move.disk)
        size = (drive.size_bytes if drive is not None else None) or 0
        if self._image(look, move) == Image.NEW:
            return Copying(size, size, is_ready=not look.alive)
        if not look.began:
            raise CopyEnded("No copy is under way.")
        if not look.is_running:
            raise CopyEnded("The machine stopped: the copy ended with it.")
        if not look.alive:
            self._raise_ended(look, move)
        percents = [float(match[1]) for line in look.log if (match := _PERCENT.search(line))]
        return Copying(int(size * min(percents[-1] if percents else 0, 100) / 100), size, is_ready=False)

    def switch(self, move: Move) -> None:
        """Check that the machine runs from the new volume, to which the task itself switches it."""
        if not self.progress(move).is_ready:
            raise NotSure("Proxmox VE still copies the disk, and switches by itself.")
        look = self._look(move)
        if look.was_killed and self._has_open(move, look.volume(move.disk)) is False:
            raise NotSure(f"QEMU does not have {look.volume(move.disk)} open, which its configuration names.")

    def running_image(self, move: Move) -> Image:
        look = self._look(move)
        image = self._image(look, move)
        # The task may have died after QEMU's switch and before that of the configuration.
        if image == Image.OLD and look.was_killed and self._has_open(move, move.old) is False:
            raise NotSure(
                f"QEMU no longer writes to {move.old}, which the configuration names and the next start would take: "
                "do not stop the machine. Moving the disk by `qm disk move` to any storage copies what QEMU writes to "
                "now, and sets that right."
            )
        return image

    def locate_new(self, move: Move) -> Move:
        look = self._look(move)
        if self._image(look, move) != Image.NEW:
            raise NotSure(f"The machine does not run from {move.new}.")
        return replace(move, new=look.volume(move.disk))

    def kept_name(self, move: Move) -> str:
        return move.old

    def undo(self, move: Move) -> None:
        self._require_old(move)
        self._call("stop", move.token, timeout=STOP_SECONDS)
        self._require_old(move)
        look = self._look(move)
        if not look.began:
            return
        if look.is_running:
            self._cancel_jobs(move)
        number, made = self._number(move), self._volumes_left(look, move)
        for volume in made:
            self._call("free", move.token, number, volume)
        self._call("forget", move.token)

    def keep(self, move: Move) -> None:
        """Check that nothing uses the old volume, which Proxmox VE keeps as unusedN."""
        look = self._look(move)
        if self._image(look, move) != Image.NEW:
            raise Forbidden(f"The machine does not run from {move.new}.")
        if look.alive:
            raise NotSure("The task of Proxmox VE has not ended.")
        if move.old in {drive.volume for drive in look.conf.disks.values()}:
            raise Forbidden(f"{move.old} is a disk of the machine.")

    def remove(self, move: Move) -> None:
        look = self._look(move)
        if self._image(look, move) == Image.OLD:
            raise Forbidden(f"The machine runs from {move.old}.")
        if look.alive:
            raise NotSure("The task of Proxmox VE has not ended.")
        key = next((key for key, volume in look.conf.unused.items() if volume == move.old), "")
        number = self._number(move)
        if key:
            if names := look.conf.snapshots_with(move.old):
                raise Forbidden(f"The snapshot {names[0]} needs {move.old}: remove it first.")
            self._call("unlink", number, move.old, key, look.digest, timeout=STOP_SECONDS)
        elif move.old in self._call("volumes", storage_of(move.old), number).split():
            raise Forbidden(f"{move.old} is not kept as an unused disk of the machine {number}.")
        self._call("forget", move.token)

    # Reasons against a move

    def _check_machine(self, conf: Configuration, drive: Drive, move: Move) -> None:
        if conf.lock:
            raise NotSure(f"The machine is locked by Proxmox VE ({conf.lock}).")
        if move.disk in conf.pending or move.disk in conf.pending.get("delete", "").split(","):
            raise Forbidden(f"A change of {move.disk} waits for the next start of the machine.")
        if names := conf.snapshots_with(drive.volume):
            raise Forbidden(f"The snapshot {names[0]} needs {move.old}: remove it first.")
        if drive.is_linked:
            raise Forbidden(f"{move.disk} lies on the image of a template: make a full clone first.")
        if drive.image_format not in FORMATS:
            raise Forbidden(f"Images of the format {drive.image_format} are not moved.")
        if not drive.storage:
            raise Forbidden(f"{move.old} is a device of the host, on no storage.")
        if jobs := self._jobs(move):
            raise Forbidden(f"Another block job of {move.disk} is under way: {jobs[0]}.")

    def _storage(self, move: Move) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return state and settings of the target storage. Raises Forbidden where it takes no disks."""
        if not _STORAGE.fullmatch(move.new):
            raise Forbidden(f"{move.new} is no storage of Proxmox VE.")
        name = storage_of(move.new)
        if name == storage_of(move.old):
            raise Forbidden(f"{move.disk} lies on {name} already.")
        about = next((entry for entry in self._get("/nodes/localhost/storage") if entry.get("storage") == name), None)
        if about is None or not about.get("active"):
            raise Forbidden(f"The storage {name} is not there on this node.")
        if "images" not in str(about.get("content", "")).split(","):
            raise Forbidden(f"The storage {name} holds no disks of machines (content: images).")
        if about.get("type") not in (*BACKENDS, *_FILE_STORAGES):
            raise Forbidden(f"A storage of type {about.get('type')} is none that KDB knows.")
        settings = self._get(f"/storage/{name}")
        return about, settings if isinstance(settings, dict) else {}

    def _check_cluster(self, conf: Configuration, drive: Drive, about: Mapping[str, Any], move: Move) -> None:
        """Raise Forbidden or NotSure where high availability or replication would break with the disk on the target."""
        if any(entry.get("type") == "cluster" and not entry.get("quorate") for entry in self._get("/cluster/status")):
            raise NotSure("The cluster has no quorum: a configuration could not be written after the copy.")
        number = conf.number
        jobs = [job for job in self._get("/cluster/replication") if str(job.get("guest")) == str(number)]
        if jobs and drive.options.get("replicate") != "0":
            raise Forbidden(
                f"The replication job {jobs[0].get('id')} copies {move.disk}: remove it, or set replicate=0, first."
            )
        state = self._get(f"/nodes/localhost/qemu/{number}/status/current")
        ha = state.get("ha") if isinstance(state, dict) else None
        if not isinstance(ha, dict) or not int(ha.get("managed") or 0):
            return
        if str(ha.get("state") or "") not in _IDLE_HA_STATES:
            raise NotSure(f"High availability is at the machine: {ha['state']}.")
        there = self._get("/nodes/localhost/storage")
        was_shared = any(storage.get("shared") for storage in there if storage.get("storage") == drive.storage)
        if was_shared and not about.get("shared"):
            raise Forbidden(
                f"High availability starts the machine on other nodes, which do not have {storage_of(move.new)}."
            )

    # State of QEMU

    def _monitor(self, move: Move, command: str) -> str:
        """Run a command of QEMU's monitor; return its output. Raises NotSure."""
        try:
            place = f"/nodes/localhost/qemu/{self._number(move)}/monitor"
            return str(asked(self.host, "create", place, "--command", command))
        except Refused as error:
            raise NotSure(f"QEMU's monitor does not answer: {error}") from error

    def _jobs(self, move: Move) -> list[str]:
        """Return the names of the block jobs of the disk; "mirror-scsi0" of machine types from 10.0 on."""
        names = _JOB.findall(self._monitor(move, "info block-jobs"))
        return [name for name in names if name in (f"drive-{move.disk}", f"mirror-{move.disk}")]

    def _cancel_jobs(self, move: Move) -> None:
        """Cancel the block jobs that a killed task left in QEMU. Raises NotSure where one goes on."""
        for name in self._jobs(move):
            self._monitor(move, f"block_job_cancel -f {name}")
        if jobs := self._jobs(move):
            raise NotSure(f"The block job {jobs[0]} does not end.")

    def _has_open(self, move: Move, volume: str) -> bool | None:
        """Tell whether QEMU has the volume open as the disk; None where that is not known, as for Ceph."""
        place = self._call("path", volume).strip()
        if not place.startswith("/"):
            return None
        disk = re.escape(move.disk)
        lines = re.findall(rf"^(?:drive-)?{disk}\b.*$", self._monitor(move, "info block"), re.M)
        if not lines:
            return None
        return bool(re.search(rf"(?<![\w./-]){re.escape(place)}(?![\w./-])", lines[0]))

    # State of the node

    def _number(self, move: Move) -> int:
        number = owner_of(move.old)
        if number is None:
            raise Forbidden(f"{move.old} is no volume of a machine of Proxmox VE.")
        return number

    def _look(self, move: Move) -> _NodeState:
        """Return the state of the node. Raises MachineGone, and NotSure where another node has the machine."""
        number = self._number(move)
        parts: dict[str, list[str]] = {}
        for key, value in remote.facts(self._call("look", move.token, number)):
            parts.setdefault(key, []).append(value)
        conf = parse_configuration(number, "\n".join(parts["conf"])) if "digest" in parts else None
        if conf is None and "node" in parts:
            raise NotSure(f"The machine {number} is on the node {parts['node'][0]} now.")
        if conf is None or move.machine not in (conf.uuid, conf.uuid_of_number):
            raise MachineGone(f"The node has no machine {number} that is {move.machine}.")
        return _NodeState(
            conf=conf,
            digest=parts["digest"][0],
            process=parts.get("running", [""])[0],
            first_process=parts.get("began", [""])[0].rpartition(" ")[2],
            began="began" in parts,
            alive="alive" in parts,
            status=parts.get("status", [""])[0],
            before=tuple(parts.get("before", ())),
            log=tuple(parts.get("log", ())),
        )

    def _image(self, look: _NodeState, move: Move) -> Image:
        volume = look.volume(move.disk)
        if volume == move.old:
            return Image.OLD
        if volume and volume == move.new:
            return Image.NEW
        # The task held the machine's lock, so that no other task can have made the volume.
        is_made = look.began and volume not in look.before and f"{storage_of(volume)}:" == move.new
        return Image.NEW if is_made else Image.NOT_KNOWN

    def _volumes_left(self, look: _NodeState, move: Move) -> list[str]:
        """Return the volumes that the attempt left on the target. Raises ImageInUse at one that may be another's."""
        there = self._call("volumes", storage_of(move.new), look.conf.number).split()
        known = {*look.before, *(drive.volume for drive in look.conf.disks.values()), *look.conf.unused.values()}
        new = [volume for volume in there if volume not in known]
        named = {match[1] for line in look.log if (match := _ALLOCATED.search(line))}
        if strange := [volume for volume in new if volume not in named]:
            raise ImageInUse(
                f"{strange[0]} appeared while the disk was copied. This release of Proxmox VE does not say whether the "
                "copy made it, so it stays: remove it if it is nobody's."
            )
        is_same = look.is_running and look.process == look.first_process
        if new and not (is_same and self._has_open(move, move.old)):
            raise ImageInUse(
                f"{new[0]} stays: the task was ended from outside, and whether the machine wrote to it last is not "
                f"known. Compare it with {move.old} before you remove it."
            )
        return new

    def _raise_ended(self, look: _NodeState, move: Move) -> NoReturn:
        """Raise the error of a task that ended before its switch."""
        last = next((line for line in reversed(look.log) if line.strip()), "it was killed")
        if _BUSY.search(last):
            self.undo(move)
            raise NotSure(f"Proxmox VE did not begin: {last}")
        raise CopyEnded(f"The copy ended before it was whole: {last}")

    def _get(self, place: str) -> Any:
        try:
            return asked(self.host, "get", place)
        except Refused as error:
            raise NotSure(str(error)) from error


def _target_format(drive: Drive, kind: str) -> tuple[str, list[str]]:
    """Return the format of the copy on a storage of that type, and warnings about what differs."""
    if kind in _FILE_STORAGES or drive.image_format == "raw":
        is_file = kind in _FILE_STORAGES and drive.image_format == "raw"
        return drive.image_format, [
            "As a raw file it can have no snapshots, unless its file system makes them."
        ] * is_file
    return "raw", [f"The copy is raw, not {drive.image_format}: what {drive.image_format} can is the storage's matter."]
