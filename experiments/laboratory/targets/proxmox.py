"""Guests through qm and pvesh of Proxmox VE: their life, the storages they lie on, and the way to their sshd.

What is asked for and how it is answered was read in the sources of Proxmox VE 9 (qemu-server and pve-storage at
git.proxmox.com: PVE::CLI::qm, PVE::API2::Qemu, PVE::QemuServer::Drive, PVE::API2::Storage::Status) and its manual
(pve.proxmox.com/pve-docs/qm.1.html). No real host was asked by this module yet (drivers.UNTRIED).

Machines have numbers from 900,000,000 on, which nobody gives by hand, names that begin with kdb- and the tag kdb.
remote.sh ends those of its area only, and only where number, name and tag agree.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.laboratory.transport.facts import PoolFacts
from experiments.laboratory.transport.remote import Area, NotNow, Refused
from experiments.laboratory.transport.ssh import MOST_BYTES, Connection

from . import disks
from .hypervisors import KERNEL_LINE, MAC, SERIAL, Guest, GuestGone, GuestStopped, forwarded

FIRST_ID = 900_000_000
MOST_GUESTS = 99  # of a run: two digits of the number
TAG = "kdb"
_JOBS = 900_000  # whose machines have different numbers; a campaign ends those of a job before the next begins
_STOPPED = ("paused", "io-error", "suspended", "internal-error", "prelaunch", "postmigrate")
# Free places on the first bus: that of the watchdog and of passed-through devices (PVE::QemuServer::PCI).
_ROOT_AT, _NETWORK_AT, _RANDOM_AT = "0x4", "0x10", "0x11"

# By type of storage; what is not here makes no disks of machines that KDB could tell apart.
BACKENDS = {"lvm": "lvm", "lvmthin": "lvm-thin", "zfspool": "zvol", "rbd": "rbd", "nfs": "nfs", "iscsi": "iscsi"}
FOLDERS = ("dir", "btrfs")
VOLUMES = ("lvm", "lvm-thin", "zvol", "rbd", "iscsi")  # backends whose disks are no files


def vmid(name: str) -> int:
    """Return the number of a machine by its name, "kdb-TOKEN-N". Raises ValueError where it is none of ours."""
    match = re.fullmatch(r"kdb-(?:probe-)?(\d+)(?:-(\d{1,2}))?", name)
    if not match:
        raise ValueError(f"{name} is no machine of a campaign")
    return FIRST_ID + int(match[1]) // 100 % _JOBS * 100 + int(match[2] or 0)


def make_disk(area: Area, place: str, host_storage: str, number: int, mib: int, options: disks.Options) -> str:
    """Return the disk in the words of `qm create`, which makes it. place : the storage"""
    gib = f"{mib / 1024:.6f}".rstrip("0").rstrip(".")
    words = [
        *(f"{place}:{gib}", *disks.qm_options(options.values), "backup=0", f"serial={SERIAL}"),
        # A write that fails stops the guest: a benchmark that goes on would count it as done.
        *("rerror=stop", "werror=stop"),
    ]
    return ",".join(words)


def creation(guest: Guest) -> list[str]:
    """Return the words of `qm create` for a guest. What boots it has no option of qm's and is passed to QEMU as is."""
    is_kvm = guest.accelerator == "kvm"
    to_qemu = [
        *("-kernel", f"{guest.image_folder}/vmlinuz", "-initrd", f"{guest.image_folder}/initrd"),
        *("-append", KERNEL_LINE),
        *("-drive", f"file={guest.image_folder}/root.squashfs,if=none,id=kdbroot,format=raw,readonly=on"),
        *("-device", f"virtio-blk-pci,drive=kdbroot,bus=pci.0,addr={_ROOT_AT}"),
        *("-netdev", "user,id=kdbnet,restrict=on,hostfwd=tcp:127.0.0.1:0-:22"),
        *("-device", f"virtio-net-pci,netdev=kdbnet,mac={MAC},bus=pci.0,addr={_NETWORK_AT},romfile="),
        *("-device", f"virtio-rng-pci,bus=pci.0,addr={_RANDOM_AT}"),
        *("-serial", f"file:{guest.console}"),
    ]
    return [
        *("create", str(vmid(guest.name)), "--name", guest.name, "--tags", TAG, "--ostype", "l26"),
        *("--memory", str(guest.ram_mib), "--balloon", "0", "--sockets", "1", "--cores", str(guest.vcpus)),
        *("--kvm", str(int(is_kvm)), "--cpu", "host" if is_kvm else "max"),
        *("--onboot", "0", "--reboot", "0", "--tablet", "0", "--vga", "none", "--scsihw", "virtio-scsi-single"),
        *(f"--{guest.options.disk_bus}0", guest.disk, "--args", shlex.join(to_qemu)),
    ]


def qm(host: Connection, *words: str, timeout: float = 60) -> str:
    """Run qm and return what it prints. Raises Refused where it fails."""
    return _printed(host, ["qm", *words], timeout)


def _printed(host: Connection, words: list[str], timeout: float = 60, most: int = MOST_BYTES) -> str:
    # Its programs fail with 255 (PVE::CLI::qm, $upid_exit).
    answer = host.run(words, timeout=timeout, most=most, may_end_255=True)
    if answer.status:
        raise Refused(f"{host.address}: {' '.join(words[:2])}: {answer.errors.strip()[-500:]}")
    return answer.text


def asked(host: Connection, *words: str, timeout: float = 60, most: int = MOST_BYTES) -> Any:
    """Return what pvesh answers. Raises Refused, also where it is no JSON."""
    text = _printed(host, ["pvesh", *words, "--output-format", "json"], timeout, most)
    try:
        return json.loads(text)
    except ValueError as error:
        raise Refused(f"{host.address}: pvesh {' '.join(words[:2])} answers no JSON: {text[:200]!r}") from error


def _node(host: Connection) -> str:
    return _printed(host, ["uname", "-n"]).strip().partition(".")[0]


def start(area: Area, guest: Guest) -> None:
    """Create and start a guest; its number is recorded first, so that a clean-up finds it. Raises Refused."""
    number = str(vmid(guest.name))
    area.call("note-proxmox", number, guest.name)
    qm(area.machine, *creation(guest), timeout=600)
    qm(area.machine, "start", number, timeout=120)


def check_running(host: Connection, name: str) -> None:
    """Raise GuestGone, GuestStopped where Proxmox VE says that the guest is anything but running."""
    try:
        answer = qm(host, "status", str(vmid(name)))
    except Refused as error:
        if "does not exist" in str(error) and "ipcc_send_rec" not in str(error):  # which is its cluster's silence
            raise GuestGone(f"the virtual machine {name} is gone: {error}") from error
        raise NotNow(str(error)) from error
    status = answer.strip().removeprefix("status: ")
    if status == "stopped":
        raise GuestGone(f"the virtual machine {name} is {status}")
    if status in _STOPPED:
        raise GuestStopped(f"the virtual machine {name} is {status}")
    if status != "running":
        raise NotNow(f"{host.address}: Proxmox VE says of the virtual machine {name}: {status!r}")


def way_in(host: Connection, name: str) -> tuple[str, int]:
    """Return address and port by which the host reaches the guest's sshd."""
    place = f"/nodes/{_node(host)}/qemu/{vmid(name)}/monitor"
    return forwarded(str(asked(host, "create", place, "--command", "info usernet")), name)


def storages(host: Connection, names: Iterable[str]) -> dict[str, PoolFacts]:
    """Return the facts of these storages, like those of other pools: kind in the words of kdb.host_storage, and room.

    allocation : of the host's setting, by image format; "" where the volume is reserved as a whole. Raises Refused.
    """
    wanted = list(names)
    listed = (
        {storage["storage"]: storage for storage in asked(host, "get", f"/nodes/{_node(host)}/storage")}
        if wanted
        else {}
    )
    facts: dict[str, PoolFacts] = {}
    for name in wanted:
        if why := _why_not(name, listed.get(name)):
            facts[name] = {"is_missing": True, "why": why}
            continue
        about = asked(host, "get", f"/storage/{name}")
        system, options = _folder(host, about["path"]) if about["type"] in FOLDERS else ("", "")
        facts[name] = {
            "file_system": system or BACKENDS[about["type"]],
            "free_mib": int(listed[name]["avail"]) // 2**20,
            "disk": f"{about['type']} storage",
            "mount_options": options,
            "allocation": allocations(about),
        }
    return facts


def _why_not(name: str, status: Mapping[str, Any] | None) -> str:
    if status is None:
        return f"Proxmox VE has no storage {name} on this host"
    if not status.get("active"):
        return f"the storage {name} is not active"
    if "images" not in str(status.get("content", "")).split(","):
        return f"the storage {name} holds no disks of machines (content: images)"
    if status["type"] not in (*BACKENDS, *FOLDERS):
        return f"a storage of type {status['type']} is none that KDB knows"
    return ""


def _folder(host: Connection, path: str) -> tuple[str, str]:
    """Return the file system of a folder and its mount options."""
    words = _printed(host, ["findmnt", "--noheadings", "--output", "FSTYPE,OPTIONS", "--target", path]).split()
    if len(words) != 2:
        raise Refused(f"{host.address}: findmnt does not know what {path} lies on")
    return words[0], words[1]


def allocations(about: Mapping[str, Any]) -> dict[str, str]:
    """Return how the space of a new disk is reserved on a storage, by image format. about : its settings"""
    kind = about["type"]
    if kind in (*FOLDERS, "nfs"):
        chosen = about.get("preallocation", "metadata")
        qcow2 = "sparse" if chosen == "off" else chosen
        return {"raw": "sparse" if chosen in ("off", "metadata") else chosen, "qcow2": qcow2}
    is_thin = kind in ("lvmthin", "rbd") or (kind == "zfspool" and bool(int(about.get("sparse", 0))))
    return {"raw": "sparse" if is_thin else ""}
