"""Moving a disk under libvirt: a block copy while the machine runs, then a switch in which it stands still briefly.

The copy writes each of the machine's writes to both images before it acknowledges it (`--synchronous-writes`). For the
switch the machine is paused, so that both images are the same and on their disks while the persistent definition and
then the running machine go over to the new one (moving.sh): whatever dies in between, it starts from a whole image.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from typing import NoReturn
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from experiments.laboratory.targets.libvirt import virsh
from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection
from experiments.readers.xml_tree import NoTreeError, root_of

from .contract import Checked, CopyEnded, Copying, Forbidden, Gone, Held, Image, Move, MoveError, NotSure

SCRIPT = Path(__file__).with_name("moving.sh").read_text()
FORMATS = ("raw", "qcow2")
UNCACHED = ("none", "directsync")  # O_DIRECT
SWITCH_SECONDS = 660  # longest; moving.sh gives up before
_SIGNS = re.compile(r"/[A-Za-z0-9_.+-][A-Za-z0-9_.+/-]*")  # of a path
_SPARSE = 0.95  # share of its size that a preallocated image takes at least
_SPARE_BYTES = 64 * 2**20  # beside the image, for what its file system notes of it


@dataclass(frozen=True)
class _Machine:
    """libvirt's account of a machine and the disk in question.

    active : it has a QEMU, paused or not; persistent : None where it is transient; size : bytes of the disk
    done, total : of its block job, bytes; 0 where there is none
    """

    state: str
    active: Element | None
    persistent: Element | None
    size: int
    done: int
    total: int
    has_snapshots: bool

    def source(self, disk: str) -> str:
        """Return the image the disk runs from, or where stopped would start from; "" where there is no such disk."""
        definition = self.active if self.active is not None else self.persistent
        element = _disk(definition, disk) if definition is not None else None
        return _file(element) if element is not None else ""

    def mirror(self, disk: str) -> str:
        """Return the image a running block job of the disk copies to; "" where there is none."""
        element = _disk(self.active, disk) if self.active is not None else None
        mirror = element.find("mirror") if element is not None else None
        if mirror is None:
            return ""
        return mirror.get("file") or _file(mirror) or "?"


class LibvirtMoving:
    """The moving half of libvirt's driver, over one connection to the host."""

    def __init__(self, host: Connection) -> None:
        self.host = host

    def check(self, move: Move) -> Checked:
        machine = self._machine(move)
        if machine.active is None or not machine.state.startswith("running"):
            raise Forbidden(f"The machine is {machine.state}: it is moved while it runs.", self._image(machine, move))
        for path in (move.old, move.new):
            if not _SIGNS.fullmatch(path) or normpath(path) != path:
                raise Forbidden(f"{path}: letters, digits, . _ + and - alone are allowed in a path.", Image.OLD)
        if move.token not in move.new:
            raise Forbidden(f"{move.new} does not bear the move's token.", Image.OLD)
        if machine.persistent is None:
            raise Forbidden("Its definition is not kept on the host: what starts it would take the old image.")
        if (source := machine.source(move.disk)) != move.old:
            raise Forbidden(f"{move.disk} lies at {source or 'no file'}, not at {move.old}.")
        disk, kept = _disk(machine.active, move.disk), _disk(machine.persistent, move.disk)
        if disk is None or kept is None or _file(kept) != move.old:
            raise Forbidden(f"After a restart {move.disk} would not lie at {move.old}: the definition was changed.")
        driver = disk.find("driver")
        image_format = driver.get("type", "raw") if driver is not None else "raw"
        if image_format not in FORMATS:
            raise Forbidden(
                f"Images of the format {image_format} are not moved; {' and '.join(FORMATS)} are.", Image.OLD
            )
        if machine.mirror(move.disk):
            raise Forbidden(f"Another block job of {move.disk} is under way.", Image.OLD)
        if disk.find("readonly") is not None or disk.find("shareable") is not None:
            raise Forbidden(f"{move.disk} is shared or read only.", Image.OLD)
        backing = disk.find("backingStore")
        if backing is not None and backing.get("type"):
            raise Forbidden(f"{move.disk} has a backing image: flatten it first.", Image.OLD)
        if disk.find("encryption") is not None or disk.find("source/encryption") is not None:
            raise Forbidden(
                f"{move.disk} is encrypted by QEMU, which a copy would have to know the secret of.", Image.OLD
            )
        if machine.has_snapshots:
            raise Forbidden("The machine has snapshots, which name the old image: remove them first.", Image.OLD)
        about = self._about(move)
        if "taken" in about:
            raise Forbidden(f"{move.new} is there already.", Image.OLD)
        if not (size := machine.size):
            raise NotSure(f"libvirt does not say how large {move.disk} is.", Image.OLD)
        if size + move.reserve_bytes + _SPARE_BYTES > int(about["free"]):
            raise Forbidden(
                f"{int(about['free']):,} bytes are free where {move.new} is to lie; {size:,} are needed, "
                f"and {move.reserve_bytes:,} stay free.",
                Image.OLD,
            )
        cache = driver.get("cache", "") if driver is not None else ""
        uses_native = driver is not None and driver.get("io") == "native"
        if (cache in UNCACHED or uses_native) and "direct" not in about:
            raise Forbidden(f"The cache mode {cache} needs O_DIRECT, which {about['host_fs']} refuses.", Image.OLD)
        if image_format == "qcow2" and "qemu_img" not in about:
            raise Forbidden("The host has no qemu-img (package qemu-utils), which makes images of qcow2.", Image.OLD)
        allocated = int(about["allocated"])
        is_sparse = allocated < _SPARSE * size
        warnings = []
        if cache == "unsafe":
            warnings.append("Its cache mode is unsafe: what it thinks is written may be lost, moved or not.")
        if "C" in about["attributes"]:
            warnings.append(
                "The old image is without copy on write (chattr +C); the new one is where its file system can."
            )
        if image_format == "raw" and not is_sparse:
            warnings.append("The new image is allocated in full, like the old one.")
        return Checked(size, allocated, image_format, is_sparse, tuple(warnings))

    def copy(self, move: Move) -> Copying:
        machine = self._machine(move)
        if machine.active is None:
            raise CopyEnded(f"The machine is {machine.state}.", self._image(machine, move))
        if machine.mirror(move.disk) == move.new or machine.source(move.disk) == move.new:
            return self.progress(move)
        if "taken" in self._about(move):  # of a copy that ended; nobody else has the token
            self.undo(move)
        checked = self.check(move)
        if checked.image_format == "raw":
            form = "sparse" if checked.is_sparse else "full"
            self._call("make", move.token, move.old, move.new, checked.size_bytes, form, image=Image.OLD, timeout=600)
        else:
            cluster = self._cluster(move)
            self._call("make-qcow2", move.token, move.old, move.new, checked.size_bytes, cluster, image=Image.OLD)
        words = ["blockcopy", move.machine, move.disk, "--dest", move.new, "--format", checked.image_format]
        words += ["--reuse-external", "--transient-job", "--synchronous-writes"]
        if move.copy_rate:
            words += ["--bytes", "--bandwidth", str(move.copy_rate)]
        try:
            virsh(self.host, *words)
        except Refused as error:
            raise CopyEnded(f"libvirt does not begin the copy: {error}", Image.OLD) from error
        return Copying(0, checked.size_bytes, is_ready=False)

    def progress(self, move: Move) -> Copying:
        machine = self._machine(move)
        if machine.active is None:
            raise CopyEnded(f"The machine is {machine.state}: the copy ended with it.", self._image(machine, move))
        if machine.source(move.disk) == move.new:
            return Copying(machine.size, machine.size, is_ready=True)
        if machine.mirror(move.disk) != move.new:
            raise CopyEnded(f"The copy ended before it was whole{self._why(move)}.", self._image(machine, move))
        # As QEMU counts: what was written twice counts twice; 0 of 0 is a job that has not looked yet.
        is_ready = machine.total > 0 and machine.done == machine.total
        return Copying(machine.done, machine.total or machine.size, is_ready)

    def switch(self, move: Move) -> None:
        self._call(
            "switch",
            *(move.token, move.machine, move.disk, move.old, move.new),
            *self._definitions(move),
            timeout=SWITCH_SECONDS,
        )
        machine = self._machine(move)
        if self._image(machine, move) != Image.NEW:
            raise NotSure(
                f"After the switch {move.disk} lies at {machine.source(move.disk)}.", self._image(machine, move)
            )
        about = self._about(move, of=move.new)
        if int(about["size"]) < machine.size and not self._is_qcow2(machine, move):
            raise NotSure(f"{move.new} has {about['size']} bytes, the machine sees {machine.size}.", Image.NEW)

    def runs_from(self, move: Move) -> Image:
        return self._image(self._machine(move), move)

    def landed(self, move: Move) -> Move:
        return move

    def kept(self, move: Move) -> str:
        return f"{move.old}.kdb-kept-{move.token}"

    def undo(self, move: Move) -> None:
        if (image := self.runs_from(move)) != Image.OLD:
            raise Forbidden(f"The machine does not run from {move.old}: moving it back is a move of its own.", image)
        old, _ = self._definitions(move)
        self._call("undo", move.token, move.machine, move.disk, move.old, move.new, old, image=Image.OLD, timeout=180)

    def keep(self, move: Move) -> None:
        if (image := self.runs_from(move)) != Image.NEW:
            raise Forbidden(f"The machine does not run from {move.new}.", image)
        self._call("keep", move.token, move.old, self.kept(move), image=Image.NEW)

    def remove(self, move: Move) -> None:
        if (image := self.runs_from(move)) == Image.OLD:
            raise Forbidden(f"The machine runs from {move.old}.", image)
        self._call("remove", move.token, self.kept(move), image=image)

    # What the host says

    def _machine(self, move: Move) -> _Machine:
        """Return what libvirt says of the machine. Raises Gone, and NotSure where it does not say."""
        parts = {"state": "", "job": "", "size": "", "snapshots": ""}
        for part in self._call("look", move.machine, move.disk).split("\x01")[1:]:
            name, _, text = part.partition("\n")
            parts[name] = text
        job = dict(re.findall(r"\b(\w+)=(\d+)", parts["job"]))
        size = re.search(r"^Capacity:\s*(\d+)", parts["size"], re.M)
        if not parts["state"]:
            raise NotSure("libvirt does not say what the machine does.")
        return _Machine(
            state=parts["state"].strip(),
            active=_parsed(parts.get("active", "")),
            persistent=_parsed(parts.get("persistent", "")),
            size=int(size[1]) if size else 0,
            done=int(job.get("cur", 0)),
            total=int(job.get("end", 0)),
            has_snapshots=bool(parts["snapshots"].strip()),
        )

    def _image(self, machine: _Machine, move: Move) -> Image:
        return {move.old: Image.OLD, move.new: Image.NEW}.get(machine.source(move.disk), Image.NOT_KNOWN)

    def _about(self, move: Move, of: str = "") -> dict[str, str]:
        return dict(remote.facts(self._call("about", of or move.old, move.new)))

    def _is_qcow2(self, machine: _Machine, move: Move) -> bool:
        disk = _disk(machine.active or machine.persistent, move.disk)  # type: ignore[arg-type]
        driver = disk.find("driver") if disk is not None else None
        return driver is not None and driver.get("type") == "qcow2"

    def _cluster(self, move: Move) -> int:
        answer = self.host.run(["qemu-img", "info", "--force-share", move.old])
        match = re.search(r"^cluster_size:\s*(\d+)", answer.text, re.M)
        if answer.status or not match:
            raise NotSure(f"qemu-img does not say how {move.old} is made: {answer.errors.strip()[-300:]}", Image.OLD)
        return int(match[1])

    def _definitions(self, move: Move) -> tuple[str, str]:
        """Return the disk as the persistent definition has it, on the old image and on the new one."""
        machine = self._machine(move)
        disk = _disk(machine.persistent, move.disk) if machine.persistent is not None else None
        source = disk.find("source") if disk is not None else None
        if disk is None or source is None or source.get("file") not in (move.old, move.new):
            raise Forbidden(f"The kept definition of the machine has {move.disk} elsewhere by now.")
        written = []
        for path in (move.old, move.new):
            source.set("file", path)
            written.append(ElementTree.tostring(disk, encoding="unicode"))
        return written[0], written[1]

    def _why(self, move: Move) -> str:
        about = self._about(move)
        return ": no space is left there" if int(about["free"]) < _SPARE_BYTES else ""

    def _call(self, verb: str, *arguments: object, image: Image = Image.NOT_KNOWN, timeout: float = 60) -> str:
        """Run a verb of moving.sh; return its answer. Raises MoveError by the first word of its refusal."""
        try:
            return remote.call(self.host, verb, *arguments, timeout=timeout, script=SCRIPT)
        except Refused as error:
            _refused(verb, str(error), image, error)


def _refused(verb: str, text: str, image: Image, cause: Refused) -> NoReturn:
    why = text.partition(": ")[2] or text
    if why.startswith(f"{verb}: "):  # no refusal: a program failed, or was killed
        raise NotSure(text, image) from cause
    kinds: dict[str, type[MoveError]] = {
        **{"unknown": Gone, "held": Held},
        **{"busy": NotSure, "libvirt": NotSure, "ended": CopyEnded, "stopped": CopyEnded},
        **{"no": CopyEnded},
    }
    raise kinds.get(re.split(r"[\s:]", why, maxsplit=1)[0], Forbidden)(text, image) from cause


def _parsed(text: str) -> Element | None:
    """Return the XML, None for none. Raises NotSure at what is no XML of libvirt's."""
    try:
        return root_of(text.strip().encode()) if text.strip() else None
    except NoTreeError as error:
        raise NotSure(f"What libvirt says of the machine is not understood: {error}.") from error


def _disk(definition: Element, target: str) -> Element | None:
    for disk in definition.iterfind("devices/disk"):
        element = disk.find("target")
        if element is not None and element.get("dev") == target:
            return disk
    return None


def _file(disk: Element) -> str:
    source = disk.find("source")
    return source.get("file", "") if source is not None else ""
