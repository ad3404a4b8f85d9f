"""Read the mounted file systems of a host and the disks below them, from findmnt, lsblk and realpath."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection
from experiments.readers.facts.json_text import document_of, tree
from kdb.host_storage import FILE

from .contract import ListedPool

MOST_BYTES = 64 * 2**20  # of an answer about all machines: five thousand of them
BATCH_SIZE = 400  # machines, or paths, of one command
SECONDS = 120

_SHARED_TYPES = {"nfs": "nfs", "nfs4": "nfs", "virtiofs": "virtiofs", "9p": "9p"}  # type of a mount to a backend
_FINDMNT_OPTIONS = ("--json", "--bytes", "--list", "--real", "--output", "TARGET,SOURCE,FSTYPE,SIZE,AVAIL")


class Mounts:
    """The mounts of a host, and the kinds of disks that they lie on.

    kinds : a block device's path to its kind; volumes : the same by the name of a logical volume
    real : each of the paths asked for with its links followed
    Raises Refused where one of the programs answers wrongly.
    """

    def __init__(self, host: Connection, paths: Sequence[str]) -> None:
        self.mounts = {
            str(entry["target"]): entry
            for entry in tree(_json(host, "findmnt", *_FINDMNT_OPTIONS).get("filesystems"))
            if entry.get("target")
        }
        listed = _json(host, "lsblk", "--json", "--output", "NAME,PATH,TYPE,ROTA,TRAN")
        self.kinds = _kinds(listed, "path")
        self.volumes = _kinds(listed, "name")
        self.real = _real_paths(host, paths)

    def mount_point(self, real: str) -> str:
        """Return the mount point that a path lies below; "" where there is none."""
        place = PurePosixPath(real)
        return next((str(parent) for parent in (place, *place.parents) if str(parent) in self.mounts), "")

    def pool(self, path: str, target: str, name: str) -> ListedPool | None:
        """Return a folder as a pool; None where nothing is mounted at `target`, or its size is not known."""
        mount = self.mounts.get(target)
        if mount is None:
            return None
        size, free = _number(mount.get("size")), _number(mount.get("avail"))
        if size is None or free is None:
            return None
        kind = str(mount.get("fstype") or "")[:40]
        source = str(mount.get("source") or "").partition("[")[0]
        backend = _SHARED_TYPES.get(kind, FILE)
        return ListedPool(path[:200], name, backend, kind, self.kinds.get(source, ""), size, free)


def batches(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), BATCH_SIZE):
        yield items[start : start + BATCH_SIZE]


def _json(host: Connection, *words: str) -> dict[str, Any]:
    answer = host.run(list(words), timeout=SECONDS, most=MOST_BYTES)
    document = document_of(answer.text)
    if answer.status or document is None:
        raise Refused(f"{host.address}: {words[0]}: {answer.errors.strip()[-500:] or 'no JSON'}")
    return document


def _kinds(listed: Mapping[str, Any], named_by: str) -> dict[str, str]:
    """Return a block device to the kind of disk below it; "mixed" over several kinds, "" where not known.

    Virtual disks always report that they rotate, and loop devices are files, so the kind of both is not known.
    """
    below: dict[str, set[str]] = {}
    for top in listed.get("blockdevices") or ():
        if isinstance(top, dict):
            for entry in tree([top]):
                below.setdefault(str(entry.get(named_by)), set()).add(_kind(top))
    return {name: common_kind(kinds) for name, kinds in below.items()}


def common_kind(kinds: set[str]) -> str:
    """Return the one kind; "mixed" of several, "" where one of them is not known."""
    return kinds.pop() if len(kinds) == 1 else "" if "" in kinds or not kinds else "mixed"


def _kind(disk: Mapping[str, Any]) -> str:
    name = str(disk.get("name") or "")
    if disk.get("type") != "disk" or name.startswith(("vd", "xvd")) or disk.get("tran") == "virtio":
        return ""
    if name.startswith("nvme"):
        return "nvme"
    return "hdd" if disk.get("rota") in (True, "1") else "ssd"


def _real_paths(host: Connection, paths: Sequence[str]) -> dict[str, str]:
    """Return each path with its symbolic links resolved."""
    real: dict[str, str] = {}
    for batch in batches(sorted(set(paths))):
        answer = host.run(["realpath", "--zero", "--canonicalize-missing", "--", *batch], most=MOST_BYTES)
        lines = answer.text.split("\0")[:-1]
        if answer.status or len(lines) != len(batch):
            raise Refused(f"{host.address}: realpath: {answer.errors.strip()[-500:]}")
        real |= dict(zip(batch, lines, strict=True))
    return real


def _number(value: Any) -> int | None:
    return int(value) if str(value).isdecimal() else None
