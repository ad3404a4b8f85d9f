"""findmnt -J: file systems with their mount options; those of the kernel itself are passed over.

    {"filesystems": [{"target": "/srv", "source": "/dev/sdb1", "fstype": "xfs", "options": "rw,noatime"}]}

With -T and a folder it is the one file system that the folder is on.

Source: captured with util-linux 2.38.1.
"""

import re

from experiments.readers.base import Fact, LineNumbers, Reading, Refusal, TooMuch, text_of, whole_or_nothing

from .json_text import document_of, tree

MAX_MOUNTS = 5_000

_TARGET = re.compile(r'"target"\s{0,20}:')
_OF_THE_KERNEL = {
    *("proc", "sysfs", "devtmpfs", "devpts", "tmpfs", "cgroup", "cgroup2", "pstore", "bpf", "securityfs", "debugfs"),
    *("tracefs", "configfs", "fusectl", "mqueue", "hugetlbfs", "autofs", "binfmt_misc", "efivarfs", "rpc_pipefs"),
    *("ramfs", "nsfs", "squashfs", "selinuxfs", "fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal", "nfsd"),
}


class Findmnt:
    name = "findmnt"

    def recognises(self, data: bytes) -> bool:
        return b'"filesystems"' in data[:4096] and b'"fstype"' in data[: 2**16]

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        text = text_of(data)
        document = document_of(text)
        if document is None or not isinstance(document.get("filesystems"), list):
            return Reading(self.name, refused=(Refusal(None, "the JSON of findmnt is cut, or broken"),))
        mounts = list(tree(document["filesystems"]))
        if len(mounts) > MAX_MOUNTS:
            raise TooMuch(len(mounts), "mounts", MAX_MOUNTS)
        numbers = LineNumbers(text)
        lines = [numbers.at(match.start()) for match in _TARGET.finditer(text)]
        real = [
            (lines[number] if len(lines) == len(mounts) else None, mount)
            for number, mount in enumerate(mounts)
            if mount.get("fstype") and mount.get("target") and mount["fstype"] not in _OF_THE_KERNEL
        ]
        if not real:
            return Reading(self.name, refused=(Refusal(None, "findmnt lists no file system on a storage"),))
        facts: list[Fact] = []
        for line, mount in real:
            about = str(mount["target"])[:200]
            fills = len(real) == 1  # which of several holds the files no list says
            facts.append(Fact(about, "file_system", str(mount["fstype"])[:80], line, "fs" if fills else ""))
            if mount.get("options"):
                options = str(mount["options"])[:200]
                facts.append(Fact(about, "mount_options", options, line, "mount_options" if fills else ""))
            if mount.get("source"):
                facts.append(Fact(about, "source", str(mount["source"])[:200], line))
        return Reading(self.name, facts=tuple(facts))
