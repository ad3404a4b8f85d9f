"""findmnt -J: file systems with their mount options; those of the kernel itself are passed over.

    {"filesystems": [{"target": "/srv", "source": "/dev/sdb1", "fstype": "xfs", "options": "rw,noatime"}]}

With -T and a folder it is the one file system that the folder is on.

Source: captured with util-linux 2.38.1.
"""

from collections.abc import Iterator

from ..base import Fact
from ..reader import Outcome, Reader
from .json_text import numbered_tree

_OF_THE_KERNEL = {
    *("proc", "sysfs", "devtmpfs", "devpts", "tmpfs", "cgroup", "cgroup2", "pstore", "bpf", "securityfs", "debugfs"),
    *("tracefs", "configfs", "fusectl", "mqueue", "hugetlbfs", "autofs", "binfmt_misc", "efivarfs", "rpc_pipefs"),
    *("ramfs", "nsfs", "squashfs", "selinuxfs", "fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal", "nfsd"),
}


class Findmnt(Reader):
    name = "findmnt"
    benchmark, counted = "", "facts"
    nothing = "findmnt lists no file system on a storage"

    def recognises(self, data: bytes) -> bool:
        return b'"filesystems"' in data[:4096] and b'"fstype"' in data[: 2**16]

    def parse(self, data: bytes) -> Iterator[Outcome]:
        mounts = [
            (line, mount)
            for line, mount in numbered_tree(data, "filesystems", "target", self.name)
            if mount.get("fstype") and mount.get("target") and mount["fstype"] not in _OF_THE_KERNEL
        ]
        is_alone = len(mounts) == 1  # which of several holds the files no list says
        for line, mount in mounts:
            about = str(mount["target"])[:200]
            yield Fact(about, "file_system", str(mount["fstype"])[:80], line, "fs" if is_alone else "")
            if mount.get("options"):
                options = str(mount["options"])[:200]
                yield Fact(about, "mount_options", options, line, "mount_options" if is_alone else "")
            if mount.get("source"):
                yield Fact(about, "source", str(mount["source"])[:200], line)
