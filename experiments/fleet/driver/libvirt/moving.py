"""Move a disk under libvirt: a block copy while the machine runs, then a switch in which it stands still briefly.

The copy writes every write to both images before it is acknowledged (`--synchronous-writes`). For the switch the
machine is paused, so that both images are equal and flushed while the persistent definition and then the running
machine change to the new one (moving.sh): wherever it is interrupted, the machine starts from a complete image.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from experiments.laboratory.targets.libvirt import virsh
from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Refused
from experiments.readers.xml_tree import NoTreeError, root_of

from ..contract import Checked, CopyEnded, Copying, Forbidden, Image, Move, NotSure
from ..script import FORMATS, UNSAFE, MovingScript

UNCACHED = ("none", "directsync")  # O_DIRECT
SWITCH_SECONDS = 660  # at most; moving.sh gives up earlier
_PATH = re.compile(r"/[A-Za-z0-9_.+-][A-Za-z0-9_.+/-]*")
_SPARSE = 0.95  # an image that takes less than this share of its size is sparse
_NO_SPACE_BYTES = 64 * 2**20  # with less free, a copy that ended ran out of space


@dataclass(frozen=True)
class _Machine:
    """The state of a machine and of the moved disk, as libvirt reports it.

    is_active : it has a QEMU, paused or not; is_persistent : it has a definition that outlives its QEMU
    active_disk, persistent_disk : the disk in the two definitions; None where it is not there
    size : bytes of the disk; done, total : of its block job, bytes; 0 where there is none
    """

    state: str
    is_active: bool
    is_persistent: bool
    active_disk: Element | None
    persistent_disk: Element | None
    size: int
    done: int
    total: int
    has_snapshots: bool

    @property
    def disk(self) -> Element | None:
        return self.active_disk if self.is_active else self.persistent_disk

    @property
    def source(self) -> str:
        """Return the image the disk runs from, or where stopped would start from; "" where there is no such disk."""
        return _source_file(self.disk)

    @property
    def mirror(self) -> str:
        """Return the image a running block job of the disk copies to; "" where there is none."""
        mirror = self.active_disk.find("mirror") if self.active_disk is not None else None
        return (mirror.get("file") or _source_file(mirror) or "?") if mirror is not None else ""

    def image(self, move: Move) -> Image:
        return {move.old: Image.OLD, move.new: Image.NEW}.get(self.source, Image.NOT_KNOWN)


class LibvirtMoving(MovingScript):
    """Moves the disks of machines of libvirt, over one connection to the host."""

    script = Path(__file__).with_name("moving.sh").read_text()

    def check(self, move: Move) -> Checked:
        machine = self._look(move)
        if not machine.is_active or not machine.state.startswith("running"):
            raise Forbidden(f"The machine is {machine.state}: it is moved while it runs.")
        for path in (move.old, move.new):
            if not _PATH.fullmatch(path) or normpath(path) != path:
                raise Forbidden(f"{path}: letters, digits, . _ + and - alone are allowed in a path.")
        if move.token not in move.new:
            raise Forbidden(f"{move.new} does not bear the move's token.")
        if not machine.is_persistent:
            raise Forbidden("Its definition is not kept on the host: what starts it would take the old image.")
        disk = machine.active_disk
        if disk is None or machine.source != move.old:
            raise Forbidden(f"{move.disk} lies at {machine.source or 'no file'}, not at {move.old}.")
        if _source_file(machine.persistent_disk) != move.old:
            raise Forbidden(f"After a restart {move.disk} would not lie at {move.old}: the definition was changed.")
        driver = disk.find("driver")
        options = driver.attrib if driver is not None else {}
        image_format, cache = options.get("type", "raw"), options.get("cache", "")
        if image_format not in FORMATS:
            raise Forbidden(f"Images of the format {image_format} are not moved; {' and '.join(FORMATS)} are.")
        if machine.mirror:
            raise Forbidden(f"Another block job of {move.disk} is under way.")
        if disk.find("readonly") is not None or disk.find("shareable") is not None:
            raise Forbidden(f"{move.disk} is shared or read only.")
        backing = disk.find("backingStore")
        if backing is not None and backing.get("type"):
            raise Forbidden(f"{move.disk} has a backing image: flatten it first.")
        if disk.find("encryption") is not None or disk.find("source/encryption") is not None:
            raise Forbidden(f"{move.disk} is encrypted by QEMU, which a copy would have to know the secret of.")
        if machine.has_snapshots:
            raise Forbidden("The machine has snapshots, which name the old image: remove them first.")
        about = self._image_facts(move)
        if "taken" in about:
            raise Forbidden(f"{move.new} is there already.")
        if not (size := machine.size):
            raise NotSure(f"libvirt does not say how large {move.disk} is.")
        self._require_space(move, size, int(about["free"]), f"where {move.new} is to lie")
        if (cache in UNCACHED or options.get("io") == "native") and "direct" not in about:
            raise Forbidden(f"The cache mode {cache} needs O_DIRECT, which {about['host_fs']} refuses.")
        if image_format == "qcow2" and "qemu_img" not in about:
            raise Forbidden("The host has no qemu-img (package qemu-utils), which makes images of qcow2.")
        is_sparse = int(about["allocated"]) < _SPARSE * size
        warnings = [UNSAFE] if cache == "unsafe" else []
        if "C" in about["attributes"]:
            warnings.append(
                "The old image is without copy on write (chattr +C); the new one is where its file system can."
            )
        if image_format == "raw" and not is_sparse:
            warnings.append("The new image is allocated in full, like the old one.")
        return Checked(size, image_format, is_sparse, tuple(warnings))

    def copy(self, move: Move) -> Copying:
        machine = self._look(move)
        if not machine.is_active:
            raise CopyEnded(f"The machine is {machine.state}.")
        if move.new in (machine.mirror, machine.source):
            return self.progress(move)
        if "taken" in self._image_facts(move):  # by an earlier copy of this move: nobody else has the token
            self.undo(move)
        checked = self.check(move)
        if checked.image_format == "raw":
            form = "sparse" if checked.is_sparse else "full"
            self._call("make", move.token, move.old, move.new, checked.size_bytes, form, timeout=600)
        else:
            self._call("make-qcow2", move.token, move.old, move.new, checked.size_bytes, self._cluster_size(move))
        words = ["blockcopy", move.machine, move.disk, "--dest", move.new, "--format", checked.image_format]
        words += ["--reuse-external", "--transient-job", "--synchronous-writes"]
        if move.copy_rate:
            words += ["--bytes", "--bandwidth", str(move.copy_rate)]
        try:
            virsh(self.host, *words)
        except Refused as error:
            raise CopyEnded(f"libvirt does not begin the copy: {error}") from error
        return Copying(0, checked.size_bytes, is_ready=False)

    def progress(self, move: Move) -> Copying:
        machine = self._look(move)
        if not machine.is_active:
            raise CopyEnded(f"The machine is {machine.state}: the copy ended with it.")
        if machine.source == move.new:
            return Copying(machine.size, machine.size, is_ready=True)
        if machine.mirror != move.new:
            has_no_space = int(self._image_facts(move)["free"]) < _NO_SPACE_BYTES
            raise CopyEnded(f"The copy ended before it was whole{': no space is left there' * has_no_space}.")
        # QEMU counts rewritten blocks again; 0 of 0 is a job that has not started counting.
        is_ready = machine.total > 0 and machine.done == machine.total
        return Copying(machine.done, machine.total or machine.size, is_ready)

    def switch(self, move: Move) -> None:
        words = (move.token, move.machine, move.disk, move.old, move.new, *self._definitions(move))
        self._call("switch", *words, timeout=SWITCH_SECONDS)
        machine = self._look(move)
        if machine.image(move) != Image.NEW:
            raise NotSure(f"After the switch {move.disk} lies at {machine.source}.")
        size = int(self._image_facts(move, of=move.new)["size"])
        driver = machine.disk.find("driver") if machine.disk is not None else None
        is_qcow2 = driver is not None and driver.get("type") == "qcow2"
        if size < machine.size and not is_qcow2:
            raise NotSure(f"{move.new} has {size} bytes, the machine sees {machine.size}.")

    def running_image(self, move: Move) -> Image:
        return self._look(move).image(move)

    def locate_new(self, move: Move) -> Move:
        return move

    def kept_name(self, move: Move) -> str:
        return f"{move.old}.kdb-kept-{move.token}"

    def undo(self, move: Move) -> None:
        self._require_old(move)
        old, _ = self._definitions(move)
        self._call("undo", move.token, move.machine, move.disk, move.old, move.new, old, timeout=180)

    def keep(self, move: Move) -> None:
        if self.running_image(move) != Image.NEW:
            raise Forbidden(f"The machine does not run from {move.new}.")
        self._call("keep", move.token, move.old, self.kept_name(move))

    def remove(self, move: Move) -> None:
        if self.running_image(move) == Image.OLD:
            raise Forbidden(f"The machine runs from {move.old}.")
        self._call("remove", move.token, self.kept_name(move))

    # State of the host

    def _look(self, move: Move) -> _Machine:
        """Return the state of the machine. Raises MachineGone, and NotSure where libvirt does not report it."""
        parts = {"state": "", "job": "", "size": "", "snapshots": ""}
        for part in self._call("look", move.machine, move.disk).split("\x01")[1:]:
            name, _, text = part.partition("\n")
            parts[name] = text
        job = dict(re.findall(r"\b(\w+)=(\d+)", parts["job"]))
        size = re.search(r"^Capacity:\s*(\d+)", parts["size"], re.M)
        if not parts["state"]:
            raise NotSure("libvirt does not say what the machine does.")
        active, persistent = (_parse_definition(parts.get(name, "")) for name in ("active", "persistent"))
        return _Machine(
            state=parts["state"].strip(),
            is_active=active is not None,
            is_persistent=persistent is not None,
            active_disk=_find_disk(active, move.disk),
            persistent_disk=_find_disk(persistent, move.disk),
            size=int(size[1]) if size else 0,
            done=int(job.get("cur", 0)),
            total=int(job.get("end", 0)),
            has_snapshots=bool(parts["snapshots"].strip()),
        )

    def _image_facts(self, move: Move, of: str = "") -> dict[str, str]:
        return dict(remote.facts(self._call("about", of or move.old, move.new)))

    def _cluster_size(self, move: Move) -> int:
        answer = self.host.run(["qemu-img", "info", "--force-share", move.old])
        match = re.search(r"^cluster_size:\s*(\d+)", answer.text, re.M)
        if answer.status or not match:
            raise NotSure(f"qemu-img does not say how {move.old} is made: {answer.errors.strip()[-300:]}")
        return int(match[1])

    def _definitions(self, move: Move) -> tuple[str, str]:
        """Return the XML of the disk in the persistent definition, with the old image and with the new one."""
        disk = self._look(move).persistent_disk
        source = disk.find("source") if disk is not None else None
        if disk is None or source is None or source.get("file") not in (move.old, move.new):
            raise Forbidden(f"The kept definition of the machine has {move.disk} elsewhere by now.")
        written = []
        for path in (move.old, move.new):
            source.set("file", path)
            written.append(ElementTree.tostring(disk, encoding="unicode"))
        return written[0], written[1]


def _parse_definition(text: str) -> Element | None:
    """Return the XML, None for none. Raises NotSure at what is no XML of libvirt's."""
    try:
        return root_of(text.strip().encode()) if text.strip() else None
    except NoTreeError as error:
        raise NotSure(f"What libvirt says of the machine is not understood: {error}.") from error


def _find_disk(definition: Element | None, target: str) -> Element | None:
    for disk in definition.iterfind("devices/disk") if definition is not None else ():
        element = disk.find("target")
        if element is not None and element.get("dev") == target:
            return disk
    return None


def _source_file(disk: Element | None) -> str:
    source = disk.find("source") if disk is not None else None
    return source.get("file", "") if source is not None else ""
