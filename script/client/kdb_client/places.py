"""Where a measurement runs: a folder as it is, or a scratch disk with a file system made for each run."""

import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from .disks import LABEL, Disk, blank, output_of
from .errors import KdbError
from .fio_job import file_bytes
from .guardian import DISK, FOLDER, MOUNT, Guardian, remove_folder, unmount

MAKE = {  # of each file system: how it is made, without work that goes on after it was mounted
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-L", LABEL),
    "xfs": ("mkfs.xfs", "-q", "-f", "-L", LABEL),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "-L", LABEL),
    "f2fs": ("mkfs.f2fs", "-q", "-f", "-l", LABEL),
}
# What systemd calls a hypervisor, and KDB. It cannot tell which of VMware's it is.
_HYPERVISORS = {"kvm": "kvm", "qemu": "qemu-tcg", "xen": "xen", "microsoft": "hyper-v"}
# Programs whose releases may change how fast a disk is, and how each tells its own.
_RELEASES = {
    "qemu": ("qemu-system-x86_64", "--version"),
    "libvirt": ("libvirtd", "--version"),
    "proxmox": ("pveversion",),
    "zfs": ("zfs", "version"),
    "e2fsprogs": ("mkfs.ext4", "-V"),
    "xfsprogs": ("mkfs.xfs", "-V"),
    "btrfs-progs": ("mkfs.btrfs", "--version"),
}
_LEAST_FREE = 1.2  # times the files that a run makes
_SHARE_OF_ROOM, _SET_A_SECOND, _MOST_SET = 10, 50 * 2**20, 2**33  # bytes, by what is free and by the seconds of a run
_FILES_A_SECOND = 600  # of a run: hard disks, and file systems over a network, make and remove twice as many


@dataclass(frozen=True)
class Place:
    """A folder, or a disk and the file system that it gets.

    name : as its owner calls it; storage : what is below it; stated : further settings of it, as KDB's API names them
    disk : of one that gets a file system, once it is held
    """

    name: str
    path: str
    fs: str = ""
    storage: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)
    disk: Disk | None = None

    @property
    def choice(self) -> str:
        return f"{self.name} {self.fs}" if self.fs else self.name

    @property
    def identity(self) -> str:
        """Return what tells this disk or folder from another one of the same name."""
        if self.disk:
            return f"{self.choice} {self.disk.record}"
        return f"{self.choice} {os.path.realpath(self.path)} {os.stat(self.path).st_dev}"

    def settings(self, *, in_guest: bool) -> dict[str, str]:
        """Return the settings as KDB's API names them."""
        fs = self.fs or file_system_of(self.path)
        side = "guest_fs" if in_guest else "host_fs"
        return {name: value for name, value in ((side, fs), ("backend", self.storage)) if value} | {**self.stated}


class Prepared:
    """An empty folder on the place while a run is made: `with Prepared(place, guardian) as folder`."""

    def __init__(self, place: Place, guardian: Guardian) -> None:
        self.place, self.guardian = place, guardian

    def __enter__(self) -> str:
        disk = self.place.disk
        if disk is None:
            self.folder = self.guardian.new_folder(self.place.path)
            return self.folder
        disk.check()
        self.guardian.watch(DISK, disk.record)
        make = [*MAKE[self.place.fs], disk.handle]
        self.guardian.run(make, f"{' '.join(make)} on {self.place.path}")
        self.folder = self.guardian.new_folder(tempfile.gettempdir(), MOUNT)
        mount = ["mount", "-t", self.place.fs, disk.handle, self.folder]
        self.guardian.run(mount, f"{' '.join(mount)} on {self.place.path}")
        return self.folder

    def __exit__(self, *exception: object) -> None:
        if self.place.disk is None:
            remove_folder(self.folder)
            self.guardian.forget(FOLDER, self.folder)
        else:
            unmount(self.folder)
            self.guardian.forget(MOUNT, self.folder)
            if left_alone := blank(self.place.disk.record):
                raise KdbError(f"{left_alone}.")
            self.guardian.forget(DISK, self.place.disk.record)


def hold(places: Sequence[Place], held: ExitStack) -> list[Place]:
    """Return the places, looked at, with each disk opened once and held by `held`. Raises KdbError."""
    disks: dict[tuple[str, str], Disk] = {}
    for place in places:
        if not place.fs:
            check_folder(place.path, 0)
        elif (place.path, place.name) not in disks:
            disk = held.enter_context(closing(Disk(place.path)))
            if other := next((other for other in disks.values() if other.identity == disk.identity), None):
                raise KdbError(
                    f"{other.path} and {disk.path} are one disk, {other.node}, and so one choice: name it once."
                )
            disk.check()
            disks[place.path, place.name] = disk
    return [replace(place, disk=disks.get((place.path, place.name))) for place in places]


def check_folder(path: str, needed: int) -> None:
    """Raise KdbError unless this is a folder that can be written, with room for the files of a run."""
    if not Path(path).is_dir() or not os.access(path, os.W_OK | os.X_OK):
        raise KdbError(f"{path} is no folder that you may write to.")
    room = os.statvfs(path)
    free = room.f_bavail * room.f_frsize
    if free < _LEAST_FREE * needed:
        raise KdbError(f"{path} has {free / 2**20:,.0f} MiB free; a run needs {_LEAST_FREE * needed / 2**20:,.0f}.")


def set_mib(places: Sequence[Place], load: Mapping[str, int]) -> int:
    """Return the MiB of files that runs of a load have, a power of two; 0: as many as the load itself has.

    They are more than caches of disks and hosts hold, as far as the places have room and making and removing them takes
    no longer than about half a run each.
    """
    rooms = [_MOST_SET, load["seconds"] * _SET_A_SECOND, load["seconds"] * _FILES_A_SECOND * load["file_bytes"]]
    for place in places:
        if place.disk:
            rooms.append(place.disk.size // _SHARE_OF_ROOM)
            continue
        room = os.statvfs(place.path)
        rooms.append(room.f_bavail * room.f_frsize // _SHARE_OF_ROOM)
        if room.f_files:  # of some file systems they never run out
            rooms.append(room.f_favail // 2 * load["file_bytes"])
    mib = min(rooms) // 2**20
    size = 2 ** (mib.bit_length() - 1) if mib else 0
    return size if size * 2**20 > file_bytes(load) else 0


def file_system_of(path: str) -> str:
    """Return the kind of file system that holds the folder, the last that was mounted, as the kernel calls it."""
    return output_of(["findmnt", "--noheadings", "--output", "FSTYPE", "--target", path]).split()[-1]


def is_guest() -> bool:
    """Tell whether this machine is a virtual one."""
    return bool(_virtual()) or " hypervisor" in _cpuinfo()


def facts_of(places: Sequence[Place], hypervisor: str, *, in_guest: bool, waits: bool) -> dict[str, str]:
    """Return what this machine says of itself; what it cannot know is left out.

    hypervisor : as its owner says, or ""; waits : until other programs are quiet
    """
    model = next((line.partition(":")[2] for line in _cpuinfo().splitlines() if line.startswith("model name")), "")
    facts = {
        "kernel": platform.release(),
        "virtual": "yes" if in_guest else "no",
        "cpu": model.strip(),
        "cores": str(os.cpu_count() or ""),
        "ram_gib": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f}",
        **{name: release_of(command) for name, command in _RELEASES.items()},
    }
    if in_guest:
        facts["hypervisor"] = hypervisor or _HYPERVISORS.get(_virtual(), "")
    else:
        kinds = {_kind_of_disk(place) for place in places}
        facts["storage_kind"] = kinds.pop() if len(kinds) == 1 else ""
        facts["quiet_host"] = "yes" if waits else ""
    return {name: text[:200] for name, text in facts.items() if text}


def release_of(command: Sequence[str]) -> str:
    """Return the first number with a dot that a program says of itself; "" where it is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return ""
    match = re.search(r"\d+\.[\w.+~-]*\w", done.stdout + done.stderr)
    return match.group() if match else ""


def _virtual() -> str:
    """Return what a machine runs under, as systemd calls it; "" where it is none, or systemd is not there."""
    try:
        hypervisor = subprocess.run(["systemd-detect-virt", "--vm"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
    return hypervisor.strip().removeprefix("none")


def _cpuinfo() -> str:
    return Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")


def _kind_of_disk(place: Place) -> str:
    """Return hdd, ssd or nvme; "" where what lies below the place is not one disk."""
    try:
        device = (
            place.disk.node
            if place.disk
            else output_of(["findmnt", "-n", "-o", "SOURCE", "--target", place.path]).strip()
        )
        lines = output_of(["lsblk", "--inverse", "--noheadings", "--raw", "-o", "NAME,TYPE,ROTA", device]).splitlines()
    except KdbError:
        return ""
    disks = {name: rotates for name, kind, rotates in map(str.split, lines) if kind == "disk"}
    if len(disks) != 1:
        return ""
    ((name, rotates),) = disks.items()
    return "nvme" if name.startswith("nvme") else "hdd" if rotates == "1" else "ssd"
