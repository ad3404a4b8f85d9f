"""The same list by Proxmox VE's API with a token, where KDB has no login on the node. Nothing is changed.

The machines, what they do, the storages and what lies on them are asked for as in listing.py. The machines' files and
the mounts of the node are not the API's to give; in their place are asked

    /nodes/localhost/qemu/NUMBER/config, .../snapshot    of each machine, and the configuration of each snapshot
    /nodes/localhost/disks/directory                     the file systems that Proxmox VE mounted below /mnt/pve

Each answers to a privilege of its own (docs/observation.md). A token that lacks VM.Config.Disk is shown no volume of a
storage (PVE::Storage::check_volume_access): then sizes are those of the configurations. Not yet tried on a real host.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.laboratory.targets.proxmox import BACKENDS, FOLDERS, asked
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection, NotAllowed
from kdb.host_storage import FILE

from ..contract import ListedMachine, ListedPool, Listing
from . import listing as by_commands
from .configuration import Configuration
from .listing import counts, listed, put_together, storages

__all__ = ["SHORTEST_SECONDS", "counts", "file_systems_by_agent", "listing"]

SHORTEST_SECONDS = 10.0  # between two looks: a request of a daemon that runs already


def listing(host: Connection) -> Listing:
    """Return pools and machines. Raises Refused where Proxmox VE answers wrongly, and SshError."""
    return put_together(host, _configurations, _pools)


def file_systems_by_agent(host: Connection, machine: ListedMachine) -> list[str]:
    """Return the kinds of file systems that the guest agent tells of. Raises Refused, also where the token may not."""
    try:
        return by_commands.file_systems_by_agent(host, machine)
    except NotAllowed as error:
        raise Refused(str(error)) from error


def _configurations(host: Connection, numbers: Iterable[int]) -> dict[int, Configuration]:
    """Return the configurations of machines, without those that went meanwhile. Raises Refused."""
    configurations = {}
    for number in numbers:
        place = f"/nodes/localhost/qemu/{number}"
        try:
            now = _options(asked(host, "get", f"{place}/config", "--current", "1"))
            names = [str(entry.get("name")) for entry in listed(host, f"{place}/snapshot")]
            snapshots = {
                name: _options(asked(host, "get", f"{place}/config", "--snapshot", name))
                for name in names
                if name != "current"
            }
        except Refused as error:
            if "does not exist" not in str(error):
                raise
            continue
        configurations[number] = Configuration(number, now, {}, snapshots)
    return configurations


def _options(answer: Any) -> dict[str, str]:
    if not isinstance(answer, dict):
        raise Refused("a machine's configuration is no object")
    return {str(name): str(value) for name, value in answer.items()}


def _pools(host: Connection) -> Iterable[ListedPool]:
    """Yield the storages that hold disks of machines; the kind of disks below them is not told."""
    settings, there = storages(host)
    mounted = _directories(host)
    for entry in there:
        name, kind = str(entry["storage"])[:80], str(entry["type"])
        size, free = int(entry["total"]), int(entry["avail"])
        if kind in FOLDERS:
            path = str(settings.get(name, {}).get("path") or "")
            host_fs = "btrfs" if kind == "btrfs" else mounted.get(path, "")
            yield ListedPool(name, name, FILE, host_fs, "", size, free)
        elif kind in BACKENDS:
            yield ListedPool(name, name, BACKENDS[kind], "", "", size, free)


def _directories(host: Connection) -> Mapping[str, str]:
    """Return the file system by mount point; nothing where the token may not know (Sys.Audit)."""
    try:
        mounted = listed(host, "/nodes/localhost/disks/directory")
    except NotAllowed:
        return {}
    return {str(entry.get("path")): str(entry.get("type") or "")[:40] for entry in mounted}
