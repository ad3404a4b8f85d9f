"""The list of what runs on a node of Proxmox VE and where its disks lie; nothing is changed, and read rights suffice.

`listing` asks for everything and belongs every few minutes; `counts` is one command for all machines of the node. Asked
are the paths of the API of https://pve.proxmox.com/pve-docs/api-viewer/, by pvesh(1) on the node itself:

    /nodes/localhost/qemu --full 1     each machine's state, and by disk QEMU's query-blockstats ("blockstat")
    /nodes/localhost/storage, /storage, /nodes/localhost/storage/STORAGE/content
    /nodes/localhost/qemu/NUMBER/agent/get-fsinfo

The machines' files are read by one grep, because a pvesh for each of them would be most of the cost.
Not yet tried on a real host.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from experiments.laboratory.targets.proxmox import BACKENDS, FOLDERS, asked
from experiments.laboratory.transport.counters import Counts
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection
from kdb.host_storage import VOLUMES

from ..contract import ListedDisk, ListedMachine, ListedPool, Listing
from ..guests import file_systems_in, is_of_a_campaign
from ..mounts import MOST_BYTES, SECONDS, Mounts, joined
from .configuration import FILES, Configuration, Drive, parsed

SHORTEST_SECONDS = 30.0  # between two looks: each starts pvesh, which reads all of Proxmox VE's own modules

_ALLOCATED = 0.98  # of its size: what a sparse image has less of
_NANO = 1e-9
# Heads of sections and what is needed: no notes, no passwords of cloud-init. Runners know this very command.
_STARTS = ("[[]", "agent", "ide", "meta", "sata", "scsi", "smbios1", "template", "virtio")
GREP = ("grep", "-rH", *(word for start in _STARTS for word in ("-e", f"^{start}")), f"{FILES}/")
_LINE = re.compile(rf"{FILES}/(\d{{1,9}})\.conf:(.*)")
# QEMU's name for each of Counts, in the order of the fields; its times are in ns.
_STATS = (
    *("rd_operations", "rd_bytes", "rd_total_time_ns", "wr_operations", "wr_bytes", "wr_total_time_ns"),
    *("flush_operations", "flush_total_time_ns"),
)


def counts(host: Connection) -> dict[str, dict[str, Counts]]:
    """Return running machine by number and process to disk by target to what QEMU counted since its start. One command.

    Raises Refused where Proxmox VE does not answer, and what ssh raises.
    """
    machines = _machines(host, "--full", "1")
    names = _names(machines)
    return {
        _process(number, about): {
            str(target): told for target, stats in _object(about.get("blockstat")).items() if (told := _counts(stats))
        }
        for number, about in machines.items()
        if about.get("status") == "running" and not is_of_a_campaign(names[number])
    }


def listing(host: Connection) -> Listing:
    """Return pools and machines. Raises Refused where Proxmox VE or other programs answer wrongly, and SshError."""
    return put_together(host, _configurations, _pools)


def put_together(
    host: Connection,
    configurations_of: Callable[[Connection, Iterable[int]], Mapping[int, Configuration]],
    pools_of: Callable[[Connection], Iterable[ListedPool]],
) -> Listing:
    """Return pools and machines, by whichever way the machines' configurations and the storages are read."""
    machines = _machines(host)
    names = _names(machines)
    files = configurations_of(host, machines) if machines else {}
    pools = {pool.path: pool for pool in pools_of(host)}
    kept = [
        conf
        for number, conf in files.items()
        if number in machines and not conf.is_template and not is_of_a_campaign(names[number])
    ]
    # A machine restored beside its original has the UUID of that.
    first = {conf.uuid: conf.number for conf in reversed(kept)}
    used = {drive.storage for conf in kept for drive in conf.disks.values()} & pools.keys()
    volumes = {volume: about for storage in sorted(used) for volume, about in _volumes(host, storage).items()}
    return Listing(
        tuple(pools.values()),
        tuple(
            ListedMachine(
                uuid=conf.uuid if first[conf.uuid] == conf.number else conf.uuid_of_number,
                name=names[conf.number][:200],
                is_running=machines[conf.number].get("status") == "running",
                has_agent=conf.has_agent,
                disks=tuple(_disks(conf, pools, volumes)),
                number=conf.number,
                process=_process(conf.number, machines[conf.number]),
            )
            for conf in kept
        ),
    )


def file_systems_by_agent(host: Connection, machine: ListedMachine) -> list[str]:
    """Return the kinds of file systems that the guest agent tells of. Raises Refused where it does not answer."""
    answer = asked(host, "get", f"/nodes/localhost/qemu/{machine.number}/agent/get-fsinfo")
    entries = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise Refused(f"the guest agent of {machine.name} says nothing of file systems")
    return file_systems_in(entries)


# Machines


def _machines(host: Connection, *words: str) -> dict[int, dict[str, Any]]:
    machines = listed(host, "/nodes/localhost/qemu", *words)
    return {int(entry["vmid"]): entry for entry in machines if str(entry.get("vmid", "")).isdecimal()}


def _process(number: int, about: Mapping[str, Any]) -> str:
    """Name the process of a machine; "" where it does not run. Its number alone may be another machine's later."""
    return f"{number}/{about.get('pid', '')}" if about.get("status") == "running" else ""


def _names(machines: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    """Return each machine's name; where several have one name, its number beside it: Proxmox VE allows that."""
    names = {number: str(about.get("name") or f"VM {number}") for number, about in machines.items()}
    often = Counter(names.values())
    return {number: name if often[name] == 1 else f"{name}.{number}" for number, name in names.items()}


def _counts(stats: Any) -> Counts | None:
    """Return what QEMU counted of a disk; None where it does not count all of it."""
    if not isinstance(stats, dict) or not all(str(stats.get(name)).isdecimal() for name in _STATS):
        return None
    values: list[Any] = [int(stats[name]) * _NANO if name.endswith("_ns") else int(stats[name]) for name in _STATS]
    return Counts(*values)


def _configurations(host: Connection, _numbers: Iterable[int]) -> dict[int, Configuration]:
    """Return the files of the node's machines. Raises Refused."""
    answer = host.run(GREP, timeout=SECONDS, most=MOST_BYTES)
    if answer.status > 1 or (answer.status and answer.errors.strip()):
        raise Refused(f"{host.address}: the files of the machines are not read: {answer.errors.strip()[-500:]}")
    lines: dict[int, list[str]] = {}
    for line in answer.text.splitlines():
        if match := _LINE.fullmatch(line.replace(f"{FILES}//", f"{FILES}/", 1)):
            lines.setdefault(int(match[1]), []).append(match[2])
    return {number: parsed(number, "\n".join(text)) for number, text in sorted(lines.items())}


def _disks(
    conf: Configuration, pools: Mapping[str, ListedPool], volumes: Mapping[str, Mapping[str, Any]]
) -> Iterable[ListedDisk]:
    for target, drive in conf.disks.items():
        about = volumes.get(drive.volume, {})
        size = about.get("size") or drive.size_bytes
        if not size:
            continue
        used = about.get("used")
        is_file = drive.storage in pools and pools[drive.storage].backend not in VOLUMES
        yield ListedDisk(
            target=target[:20],
            path=drive.volume[:500],
            pool=drive.storage if drive.storage in pools else "",
            image_format=str(about.get("format") or drive.image_format)[:20],
            allocation="sparse" if is_file and used is not None and used < _ALLOCATED * size else "",
            cache_mode=drive.options.get("cache", "")[:20],
            has_backing_chain=_lies_on_another(conf, drive, about),
            size_bytes=int(size),
            # Most kinds of storage do not tell what a volume takes: then it is taken to take all of it.
            allocated_bytes=int(used if is_file and used is not None else size),
        )


def _lies_on_another(conf: Configuration, drive: Drive, about: Mapping[str, Any]) -> bool:
    return drive.is_linked or bool(about.get("parent")) or bool(conf.snapshots_with(drive.volume))


# Storages


def _pools(host: Connection) -> Iterable[ListedPool]:
    """Yield the storages that hold disks of machines and are there, with their room."""
    settings, there = storages(host)
    paths = [str(settings.get(str(entry["storage"]), {}).get("path") or "") for entry in there]
    mounts = Mounts(host, [path for path in paths if path.startswith("/")])
    for entry, path in zip(there, paths, strict=True):
        name, kind = str(entry["storage"])[:80], str(entry["type"])
        size, free = int(entry["total"]), int(entry["avail"])
        if kind in FOLDERS or (path in mounts.real and kind not in BACKENDS) or kind == "nfs":
            folder = mounts.pool(name, mounts.below(mounts.real.get(path, path)), name)
            if folder is not None:
                yield ListedPool(name, name, folder.backend, folder.host_fs, folder.storage_kind, size, free)
        elif kind in BACKENDS:
            disks = _kind_of_group(mounts, str(settings.get(name, {}).get("vgname") or ""))
            yield ListedPool(name, name, BACKENDS[kind], "", disks, size, free)


def storages(host: Connection) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Return the settings of all storages by name, and the states of those that hold disks of machines."""
    settings = {str(entry.get("storage")): entry for entry in listed(host, "/storage")}
    return settings, [entry for entry in listed(host, "/nodes/localhost/storage") if _holds_disks(entry)]


def _holds_disks(entry: Mapping[str, Any]) -> bool:
    has_room = all(str(entry.get(key, "")).isdecimal() for key in ("total", "avail")) and int(entry["total"]) > 0
    return bool(entry.get("active")) and "images" in str(entry.get("content", "")).split(",") and has_room


def _kind_of_group(mounts: Mounts, group: str) -> str:
    """Return the kind of disks below a volume group, by its volumes in lsblk, where a dash of a name is doubled."""
    prefix = f"{group.replace('-', '--')}-"
    kinds = {
        kind
        for name, kind in mounts.volumes.items()
        if group and name.startswith(prefix) and not name.startswith(f"{prefix}-")
    }
    return joined(kinds)


def _volumes(host: Connection, storage: str) -> dict[str, dict[str, Any]]:
    """Return the disks of machines on a storage by volume: size, format, and used and parent where it tells them."""
    images = listed(host, f"/nodes/localhost/storage/{storage}/content", "--content", "images")
    return {str(entry.get("volid")): entry for entry in images}


def listed(host: Connection, *words: str) -> list[dict[str, Any]]:
    """Return the objects that pvesh lists. Raises Refused where it lists none."""
    answer = asked(host, "get", *words, timeout=SECONDS, most=MOST_BYTES)
    if not isinstance(answer, list):
        raise Refused(f"{host.address}: pvesh get {words[0]} answers no list")
    return [entry for entry in answer if isinstance(entry, dict)]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
