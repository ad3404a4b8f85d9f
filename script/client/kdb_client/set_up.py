"""The commands that set up a place, as they may follow from what its owner named: no others of a server are shown."""

import re
import shlex
from collections.abc import Iterable

from .places import Place

# Each line that there may be; a test compares with what a server says. stated : words that the owner said of the place
_LINES = r"""
mkfs\.{fs} "\${side}_DEVICE"
mount -t {fs} "\${side}_DEVICE" "\${side}_FOLDER"
{proxmox}pvesm add (?:dir|lvm|lvmthin|zfspool|rbd|nfs) "\$STORAGE"{where}{options} --content images
qemu-img create -f {stated}(?: -o preallocation={allocated})? "\$HOST_FOLDER/\$IMAGE" "\$DISK_SIZE"
# virtual disk: cache={stated}
# libvirt: <iothreads>1</iothreads>
# libvirt: <controller type="scsi" model="virtio-scsi">(?:<driver iothread="1"/>)?</controller>
# libvirt: <driver name="qemu"{attributes}/>(?:<target dev="\$DISK" bus="{stated}"/>)?
{proxmox}qm set "\$VM" (?:--scsihw virtio-scsi-single )?"--(?:{stated}|\$BUS)\$NUMBER" "\$STORAGE:\$GIB{words}"
"""
_ALLOCATED = "(?:off|metadata|falloc|full)"
_WORD = re.compile(r"[a-z0-9][a-z0-9_-]{0,30}")


def formed(place: Place, lines: Iterable[str], *, in_guest: bool) -> list[str]:
    """Return those of the lines that may follow from the place's settings, with its own names in them.

    A folder has its file system already: nothing makes another one.
    """
    settings = {name: value.lower() for name, value in place.settings(in_guest=in_guest).items()}
    # Not unsafe, a cache mode that can lose what was written.
    known = {value for value in settings.values() if _WORD.fullmatch(value) and value != "unsafe"}
    stated = f"(?:{'|'.join([*known, '1', 'on'])})"
    allowed = _LINES.format(
        fs=re.escape(settings.get("guest_fs" if in_guest else "host_fs", "")),
        side="GUEST" if in_guest else "HOST",
        stated=stated,
        allocated=_ALLOCATED,
        proxmox="(?:# Proxmox VE: )?",
        where=r'(?: --[a-z]+ "\$(?:HOST_FOLDER|VOLUME_GROUP|THIN_POOL|ZFS_POOL|CEPH_POOL|NFS_SERVER|NFS_EXPORT)")+',
        attributes=f'(?: (?:type|cache|io|discard|iothread)="{stated}")*',
        options=f"(?: --(?:blocksize [0-9]+k|sparse [01]|preallocation {_ALLOCATED}))*",
        words=f"(?:,(?:format|cache|aio|discard|iothread)={stated})*",
    )
    patterns = [re.compile(pattern) for pattern in allowed.strip().splitlines()]
    devices, folders = ('"$GUEST_DEVICE"', '"$HOST_DEVICE"'), ('"$GUEST_FOLDER"', '"$HOST_FOLDER"')
    told = []
    for line in lines:
        if any(pattern.fullmatch(line) for pattern in patterns):
            if not place.fs and any(device in line for device in devices):
                continue
            for own in devices if place.fs else folders:
                line = line.replace(own, shlex.quote(place.disk.node if place.disk else place.path))
            told.append(line)
    return told
