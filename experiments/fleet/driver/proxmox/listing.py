"""List the machines of a node of Proxmox VE and the storage of their disks; read-only, with read privileges.

It reads these paths of the API (https://pve.proxmox.com/pve-docs/api-viewer/), by pvesh(1) on the node or by HTTPS:

    /nodes/localhost/qemu --full 1     each machine's state, and by disk QEMU's query-blockstats ("blockstat")
    /nodes/localhost/storage, /storage, /nodes/localhost/storage/STORAGE/content
    /nodes/localhost/qemu/NUMBER/agent/get-fsinfo

Not yet tried on a real host.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from experiments.laboratory.targets.proxmox import BACKENDS, FOLDERS, VOLUMES, asked
from experiments.laboratory.transport.counters import Counts
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection, NotAllowed
from kdb.host_storage import FILE

from ..contract import ListedDisk, ListedMachine, ListedPool, Listing
from ..guests import ALLOCATED, file_systems_in, is_of_campaign
from ..mounts import MOST_BYTES, SECONDS, Mounts, common_kind
from .configuration import FILES, Configuration, parse_configuration

_QEMU = "/nodes/localhost/qemu"
_NANO = 1e-9
# Section headings and options, but neither notes nor cloud-init passwords. Runners allow exactly this command.
_STARTS = ("[[]", "agent", "ide", "meta", "sata", "scsi", "smbios1", "template", "virtio")
GREP = ("grep", "-rH", *(word for start in _STARTS for word in ("-e", f"^{start}")), f"{FILES}/")
_LINE = re.compile(rf"{FILES}/(\d{{1,9}})\.conf:(.*)")
# QEMU's name for each of Counts, in the order of the fields; its times are in ns.
STATISTICS = (
    *("rd_operations", "rd_bytes", "rd_total_time_ns", "wr_operations", "wr_bytes", "wr_total_time_ns"),
    *("flush_operations", "flush_total_time_ns"),
)
_Entry = Mapping[str, Any]  # an object of the API


class ProxmoxListing:
    """Lists the machines of a node and reads the counters of their disks, over one ssh connection.

    One grep reads the files of all machines, as a pvesh for each would be most of the cost.
    """

    shortest_seconds = 30.0  # pvesh is slow to start: it loads all modules of Proxmox VE

    def __init__(self, host: Connection) -> None:
        self.host = host

    def read_counters(self) -> dict[str, dict[str, Counts]]:
        machines = self._machines("--full", "1")
        names = _names(machines)
        return {
            _process_key(number, entry): {
                str(target): counts
                for target, statistics in _as_object(entry.get("blockstat")).items()
                if (counts := _counts(statistics))
            }
            for number, entry in machines.items()
            if entry.get("status") == "running" and not is_of_campaign(names[number])
        }

    def list_all(self) -> Listing:
        machines = self._machines()
        names = _names(machines)
        configurations = self._configurations(machines) if machines else {}
        pools = {pool.path: pool for pool in self._pools()}
        kept = [
            conf
            for number, conf in configurations.items()
            if number in machines and not conf.is_template and not is_of_campaign(names[number])
        ]
        # A machine that was restored next to its original has the same UUID, by which only the first is known.
        first = {conf.uuid: conf.number for conf in reversed(kept)}
        used = {drive.storage for conf in kept for drive in conf.disks.values()} & pools.keys()
        volumes = {
            str(entry.get("volid")): entry
            for storage in sorted(used)
            for entry in self._get(f"/nodes/localhost/storage/{storage}/content", "--content", "images")
        }
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
                    process=_process_key(conf.number, machines[conf.number]),
                )
                for conf in kept
            ),
        )

    def guest_file_systems(self, machine: ListedMachine) -> list[str]:
        answer = asked(self.host, "get", f"{_QEMU}/{machine.number}/agent/get-fsinfo")
        return file_systems_in(machine, _as_object(answer).get("result"))

    def _get(self, *words: str) -> list[_Entry]:
        """Return the objects that the API lists. Raises Refused where it lists none."""
        answer = asked(self.host, "get", *words, timeout=SECONDS, most=MOST_BYTES)
        if not isinstance(answer, list):
            raise Refused(f"{self.host.address}: pvesh get {words[0]} answers no list")
        return [entry for entry in answer if isinstance(entry, dict)]

    def _machines(self, *words: str) -> dict[int, _Entry]:
        machines = self._get(_QEMU, *words)
        return {int(entry["vmid"]): entry for entry in machines if str(entry.get("vmid", "")).isdecimal()}

    def _storages(self) -> list[tuple[_Entry, _Entry]]:
        """Return state and settings of the storages that hold disks of machines."""
        settings = {str(entry.get("storage")): entry for entry in self._get("/storage")}
        states = [entry for entry in self._get("/nodes/localhost/storage") if _holds_disks(entry)]
        return [(state, settings.get(str(state["storage"]), {})) for state in states]

    def _configurations(self, _numbers: Iterable[int]) -> dict[int, Configuration]:
        answer = self.host.run(GREP, timeout=SECONDS, most=MOST_BYTES)
        if answer.status > 1 or (answer.status and answer.errors.strip()):
            reason = answer.errors.strip()[-500:]
            raise Refused(f"{self.host.address}: the files of the machines are not read: {reason}")
        lines: dict[int, list[str]] = {}
        for line in answer.text.splitlines():
            if match := _LINE.fullmatch(line.replace(f"{FILES}//", f"{FILES}/", 1)):
                lines.setdefault(int(match[1]), []).append(match[2])
        return {number: parse_configuration(number, "\n".join(text)) for number, text in sorted(lines.items())}

    def _pools(self) -> Iterator[ListedPool]:
        storages = [(state, settings, str(settings.get("path") or "")) for state, settings in self._storages()]
        mounts = Mounts(self.host, [path for _, _, path in storages if path.startswith("/")])
        for state, settings, path in storages:
            name, kind = str(state["storage"])[:80], str(state["type"])
            if kind in FOLDERS or (path in mounts.real and kind not in BACKENDS) or kind == "nfs":
                folder = mounts.pool(name, mounts.mount_point(mounts.real.get(path, path)), name)
                if folder is not None:
                    yield _pool(state, folder.backend, folder.host_fs, folder.storage_kind)
            elif kind in BACKENDS:
                yield _pool(state, BACKENDS[kind], "", _volume_group_kind(mounts, str(settings.get("vgname") or "")))


class ProxmoxApiListing(ProxmoxListing):
    """The same by HTTPS with a token, where KDB has no login on the node.

    The API gives neither the machines' files nor the node's mounts; in their place it reads

        /nodes/localhost/qemu/NUMBER/config, .../snapshot    of each machine, and the configuration of each snapshot
        /nodes/localhost/disks/directory                     the file systems that Proxmox VE mounted below /mnt/pve

    Each needs a privilege of its own (docs/observation.md). A token without VM.Config.Disk sees no volumes of a storage
    (PVE::Storage::check_volume_access): then sizes are those in the configurations.
    """

    shortest_seconds = 10.0  # a request to a daemon, which is cheaper than pvesh

    def guest_file_systems(self, machine: ListedMachine) -> list[str]:
        try:
            return super().guest_file_systems(machine)
        except NotAllowed as error:
            raise Refused(str(error)) from error

    def _configurations(self, numbers: Iterable[int]) -> dict[int, Configuration]:
        configurations = {}
        for number in numbers:
            try:
                now = self._options(number, "--current", "1")
                names = [str(entry.get("name")) for entry in self._get(f"{_QEMU}/{number}/snapshot")]
                snapshots = {name: self._options(number, "--snapshot", name) for name in names if name != "current"}
            except Refused as error:
                if "does not exist" not in str(error):  # the machine was removed meanwhile
                    raise
                continue
            configurations[number] = Configuration(number, now, {}, snapshots)
        return configurations

    def _options(self, number: int, *words: str) -> dict[str, str]:
        answer = asked(self.host, "get", f"{_QEMU}/{number}/config", *words)
        if not isinstance(answer, dict):
            raise Refused("a machine's configuration is no object")
        return {str(name): str(value) for name, value in answer.items()}

    def _pools(self) -> Iterator[ListedPool]:
        """Yield the storages that hold disks of machines; the API does not tell the kind of disks below them."""
        storages = self._storages()
        try:
            mounted = self._get("/nodes/localhost/disks/directory")
        except NotAllowed:  # Sys.Audit
            mounted = []
        kinds = {str(entry.get("path")): str(entry.get("type") or "")[:40] for entry in mounted}
        for state, settings in storages:
            kind = str(state["type"])
            if kind in FOLDERS:
                host_fs = "btrfs" if kind == "btrfs" else kinds.get(str(settings.get("path") or ""), "")
                yield _pool(state, FILE, host_fs, "")
            elif kind in BACKENDS:
                yield _pool(state, BACKENDS[kind], "", "")


def _as_object(value: Any) -> _Entry:
    return value if isinstance(value, dict) else {}


# Machines


def _process_key(number: int, entry: _Entry) -> str:
    """Return number and process id of a running machine, "" else; the number alone may be reused by another."""
    return f"{number}/{entry.get('pid', '')}" if entry.get("status") == "running" else ""


def _names(machines: Mapping[int, _Entry]) -> dict[int, str]:
    """Return each machine's name, with its number where several share one, as Proxmox VE allows."""
    names = {number: str(entry.get("name") or f"VM {number}") for number, entry in machines.items()}
    counts = Counter(names.values())
    return {number: name if counts[name] == 1 else f"{name}.{number}" for number, name in names.items()}


def _counts(statistics: Any) -> Counts | None:
    """Return QEMU's counters of a disk; None where one of them is missing."""
    numbers = _as_object(statistics)
    if not all(str(numbers.get(name)).isdecimal() for name in STATISTICS):
        return None
    values = [int(numbers[name]) * _NANO if name.endswith("_ns") else int(numbers[name]) for name in STATISTICS]
    return Counts(*values)  # type: ignore[arg-type]


def _disks(conf: Configuration, pools: Mapping[str, ListedPool], volumes: Mapping[str, _Entry]) -> Iterator[ListedDisk]:
    for target, drive in conf.disks.items():
        volume = volumes.get(drive.volume, {})
        size = volume.get("size") or drive.size_bytes
        if not size:
            continue
        used = volume.get("used")
        is_file = drive.storage in pools and pools[drive.storage].backend not in VOLUMES
        yield ListedDisk(
            target=target[:20],
            path=drive.volume[:500],
            pool=drive.storage if drive.storage in pools else "",
            image_format=str(volume.get("format") or drive.image_format)[:20],
            allocation="sparse" if is_file and used is not None and used < ALLOCATED * size else "",
            cache_mode=drive.options.get("cache", "")[:20],
            has_backing_chain=drive.is_linked or bool(volume.get("parent") or conf.snapshots_with(drive.volume)),
            size_bytes=int(size),
            # Most storages do not report the space a volume takes: assume its full size.
            allocated_bytes=int(used if is_file and used is not None else size),
        )


# Storages


def _pool(state: _Entry, backend: str, host_fs: str, storage_kind: str) -> ListedPool:
    name = str(state["storage"])[:80]
    return ListedPool(name, name, backend, host_fs, storage_kind, int(state["total"]), int(state["avail"]))


def _holds_disks(state: _Entry) -> bool:
    has_room = all(str(state.get(key, "")).isdecimal() for key in ("total", "avail")) and int(state["total"]) > 0
    return bool(state.get("active")) and "images" in str(state.get("content", "")).split(",") and has_room


def _volume_group_kind(mounts: Mounts, group: str) -> str:
    """Return the kind of disks below a volume group, by its volumes in lsblk, where a dash of a name is doubled."""
    prefix = f"{group.replace('-', '--')}-"
    return common_kind(
        {
            kind
            for name, kind in mounts.volumes.items()
            if group and name.startswith(prefix) and not name.startswith(f"{prefix}-")
        }
    )
