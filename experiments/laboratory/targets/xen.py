"""Guests through xl of Xen: their configuration, their life, and the way to their sshd.

What is asked for and how it is answered was read in the sources of Xen (xl.cfg(5), xl-disk-configuration(5),
xl-network-configuration(5), tools/xl, tools/libs/light) and QEMU (hw/block/xen-block.c); test_real_xen.py asks
Debian's Xen.

A guest is a transient one (`xl create`, nothing under /etc/xen), of the kind PVH: the processor virtualises it, nothing
is emulated, and disks, network and console are Xen's own. (QEMU would hand over a kernel of 14 MB byte by byte to one
of the kind HVM.) It has an identity (UUID) that was drawn and written down before: remote.sh ends what has it, and no
other.

Its network is one interface whose other end lies in the control domain, in no bridge and without addresses but the
link-local ones of IPv6, which each end makes of its MAC by itself: QEMU's user network, by which the other drivers come
in, is left out where QEMU is built for Xen (Debian's, XCP-ng's).
"""

import json
import re
import uuid
from collections.abc import Iterator

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Area, NotNow, Refused
from experiments.laboratory.transport.ssh import Connection

from . import disks, hypervisors
from .hypervisors import KERNEL_LINE, Guest, GuestGone, GuestStopped

# Places of the disks. remote.sh and the guest's first program know them, too.
ROOT_AT, TESTED_AT = "xvde", "xvdf"
USUAL = disks.Options(cache_mode="writeback", disk_bus="xen", iothread="yes")
_MAC = "00:16:3e:6b:64:62"  # each machine is alone on its link
_ADDRESS = "fe80::216:3eff:fe6b:6462"  # of it, as RFC 4291 has it (appendix A)
_SERVED = (("none", "native"), ("writeback", "threads"))  # xen_block_drive_create: with direct-io-safe, without


def problems(options: disks.Options) -> Iterator[tuple[str, str]]:
    """Yield what Xen cannot do of a disk: the option and a sentence."""
    if options.disk_bus != "xen":
        yield "disk_bus", f"Disks of Xen's machines are on its own bus: take xen, not {options.disk_bus}."
    if options.iothread != "yes":
        yield "iothread", "Under Xen each disk is served by a thread of its own: take yes."
    if (options.cache_mode, options.io_mode) not in _SERVED:
        yield (
            "cache_mode",
            "QEMU serves Xen's disks with cache none and I/O mode native, or with writeback and threads, not "
            f"{options.cache_mode} and {options.io_mode}.",
        )


def problems_on_volumes(options: disks.Options) -> Iterator[tuple[str, str]]:
    """Yield what Xen cannot do of a disk on a volume: the option and a sentence."""
    if options.cache_mode != "none":
        yield "cache_mode", "Xen serves a volume in the kernel (blkback), past the host's cache: take none."


def make_disk(area: Area, place: str, host_storage: str, number: int, mib: int, options: disks.Options) -> str:
    """Make the disk and return it in xl.cfg's words: an image file, served by QEMU, or a volume, by the kernel."""
    path = hypervisors.make_image(area, place, host_storage, number, mib, options)
    is_volume = host_storage in disks.VOLUMES
    words = [
        *(f"format={options.image_format}", f"vdev={TESTED_AT}", "access=rw"),
        f"backendtype={'phy' if is_volume else 'qdisk'}",
        "discard" if options.discard == "unmap" else "no-discard",
        *(["direct-io-safe"] if options.cache_mode == "none" and not is_volume else []),
        f"target={path}",  # takes the rest, whatever is in it
    ]
    return ",".join(words)


def configuration(guest: Guest, identity: str, root: str) -> str:
    """Return the configuration as xl wants it. root : the path of the guest's overlay over the image's root disk"""
    root = f"format=qcow2,vdev={ROOT_AT},access=rw,backendtype=qdisk,target={root}"
    folder = guest.console.rpartition("/")[0]
    line = KERNEL_LINE.replace("ttyS0", "hvc0")
    settings: dict[str, str | int | list[str]] = {
        **{"name": guest.name, "uuid": identity, "type": "pvh", "memory": guest.ram_mib, "vcpus": guest.vcpus},
        **{"kernel": f"{guest.image_folder}/vmlinuz", "ramdisk": f"{guest.image_folder}/initrd"},
        **{"cmdline": line, "disk": [root, guest.disk]},
        "vif": [f"type=vif,mac={_MAC},script={folder}/vif"],  # written by remote.sh
        **dict.fromkeys(("on_poweroff", "on_reboot", "on_crash"), "destroy"),
    }
    if guest.pinned_cpus:
        settings["cpus"] = [str(cpu) for cpu in guest.pinned_cpus]
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())


def start(area: Area, guest: Guest) -> None:
    """Create a guest; its identity is recorded first, so that a clean-up finds it. Raises Refused.

    Its root disk is an overlay that the run removes: QEMU 7.2 opens the file of a read-only disk read-only and what
    lies over it for writing (xen_block_drive_create), so the machine starts without the disk.
    """
    identity = str(uuid.uuid4())
    root = area.call("make-overlay", f"root{guest.number}", f"{guest.image_folder}/root.squashfs")["path"]
    given = configuration(guest, identity, root).encode()
    words = ("start-xen", area.pool, area.token, guest.name, identity, guest.console.rpartition("/")[2])
    remote.call(area.machine, *words, given=given, timeout=300)


def _xl(host: Connection, *words: str) -> str:
    """Run xl and return what it prints. Raises Refused where it fails."""
    answer = host.run(["xl", *words])
    if answer.status:
        raise Refused(f"{host.address}: xl {words[0]}: {answer.errors.strip()[-500:]}")
    return answer.text


def check_running(host: Connection, name: str) -> None:
    """Raise GuestGone, GuestStopped where Xen says that the guest is anything but running."""
    try:
        listed = _xl(host, "list", name)
    except Refused as error:
        if "invalid domain identifier" in str(error):  # find_domain of xl, where the name is nobody's
            raise GuestGone(f"the virtual machine {name} is gone: {error}") from error
        raise NotNow(str(error)) from error
    # Running, blocked, paused, shut down, why it did, dying (xl(1), list); none of them between two time slices.
    match = re.search(rf"^{re.escape(name)}\s.{{0,80}}\s([r-][b-][p-][s-]\S[d-])\s", listed, re.MULTILINE)
    if not match or match[1][3] == "s" or match[1][5] == "d":
        raise GuestGone(f"the virtual machine {name} is gone: xl says {listed.strip()[-200:]!r}")
    if match[1][2] == "p":
        raise GuestStopped(f"the virtual machine {name} is paused")


def way_in(host: Connection, name: str) -> tuple[str, int]:
    """Return address and port by which the host reaches the guest's sshd."""
    try:
        domain = _xl(host, "domid", name).strip()
    except Refused as error:  # also where Xen lists nothing: it says the same of both
        check_running(host, name)
        raise NotNow(str(error)) from error
    if not re.fullmatch(r"\d{1,5}", domain):
        raise Refused(f"the virtual machine {name} has no number: xl says {domain[:200]!r}")
    return f"{_ADDRESS}%vif{domain}.0", 22
