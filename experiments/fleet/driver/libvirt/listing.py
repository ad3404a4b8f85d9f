"""List the machines of a libvirt host and the storage of their disks; read-only."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from xml.etree.ElementTree import Element

from experiments.laboratory.targets.libvirt import URI, virsh
from experiments.laboratory.transport import counters
from experiments.laboratory.transport.counters import Counts
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection
from experiments.readers.facts.json_text import document_of
from experiments.readers.xml_tree import NoTreeError, root_of, text_at

from ..contract import ListedDisk, ListedMachine, ListedPool, Listing
from ..guests import ALLOCATED, file_systems_in, is_of_campaign
from ..mounts import MOST_BYTES, SECONDS, Mounts, batches

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMED = re.compile(rf"^({_UUID.pattern}) (.*)$", re.MULTILINE)


class LibvirtListing:
    """Lists the machines of libvirt and counts what their disks do, over one connection to the host."""

    shortest_seconds = 0.0

    def __init__(self, host: Connection) -> None:
        self.host = host

    def read_counters(self) -> dict[str, dict[str, Counts]]:
        # domstats prints names only: the same call must map them to UUIDs, as names can move to other machines.
        text = self._virsh("list --uuid --name; domstats --block --list-active --nowait")
        uuids = {match[2].strip(): match[1] for match in _NAMED.finditer(text)}
        return {
            uuids[name]: disks
            for name, disks in counters.read(text).items()
            if name in uuids and not is_of_campaign(name)
        }

    def list_all(self) -> Listing:
        domains = [_parse_xml(text) for text in self._dump_xml("list --all --uuid", "dumpxml", "domain")]
        domains = [domain for domain in domains if not is_of_campaign(text_at(domain, "name"))]
        snapshots = set(self._virsh("list", "--all", "--with-snapshot", "--uuid").split())
        sizes = counters.sizes(self._virsh("domstats", "--block", "--list-active", "--nowait"))
        named = [_parse_xml(text) for text in self._dump_xml("pool-list --all --uuid", "pool-dumpxml", "pool")]
        storage = _Storage(self.host, named, [path for domain in domains for path in _image_paths(domain)])
        machines = tuple(_machine(domain, snapshots, sizes, storage) for domain in domains)
        return Listing(tuple(storage.pools.values()), machines)

    def guest_file_systems(self, machine: ListedMachine) -> list[str]:
        command = json.dumps({"execute": "guest-get-fsinfo"})
        answer = document_of(virsh(self.host, "qemu-agent-command", machine.uuid, command, "--timeout", "5"))
        return file_systems_in(machine, answer.get("return") if answer else None)

    def _virsh(self, *words: str) -> str:
        answer = self.host.run(["virsh", "-c", URI, "--quiet", *words], timeout=SECONDS, most=MOST_BYTES)
        if answer.status:
            raise Refused(f"{self.host.address}: virsh {words[0]}: {answer.errors.strip()[-500:]}")
        return answer.text

    def _dump_xml(self, which: str, command: str, tag: str) -> Iterator[str]:
        """Yield the XML of everything that `which` lists, many per process, as starting virsh is most of the cost.

        What was removed between the two commands is left out.
        """
        uuids = [uuid for uuid in self._virsh(*which.split()).split() if _UUID.fullmatch(uuid)]
        for batch in batches(uuids):
            words = "; ".join(f"{command} {uuid}" for uuid in batch)
            answer = self.host.run(["virsh", "-c", URI, "--quiet", words], timeout=SECONDS, most=MOST_BYTES)
            if answer.status and "<" not in answer.text:
                raise Refused(f"{self.host.address}: virsh {command}: {answer.errors.strip()[-500:]}")
            yield from re.findall(rf"^<{tag}[ >].*?^</{tag}>", answer.text, re.S | re.M)


def _parse_xml(text: str) -> Element:
    try:
        return root_of(text.encode())
    except NoTreeError as error:
        raise Refused(f"libvirt's XML is not read: {error}") from error


# Machines


def _writable_disks(domain: Element) -> list[Element]:
    """Return the disks that the machine may write."""
    return [
        disk
        for disk in domain.findall("devices/disk")
        if disk.get("device", "disk") in ("disk", "lun") and disk.find("readonly") is None
    ]


def _image_paths(domain: Element) -> list[str]:
    paths = [_path_of(disk) for disk in _writable_disks(domain)]
    return [path for path in paths if path.startswith("/") and "\n" not in path]


def _path_of(disk: Element) -> str:
    source = disk.find("source")
    if source is None:
        return ""
    return source.get("file") or source.get("dev") or source.get("name") or source.get("dir") or ""


def _machine(
    domain: Element, snapshots: set[str], sizes: Mapping[str, Mapping[str, tuple[int, int]]], storage: "_Storage"
) -> ListedMachine:
    uuid, name = text_at(domain, "uuid"), text_at(domain, "name")
    disks = []
    for disk in _writable_disks(domain):
        target = disk.find("target")
        size = sizes.get(name, {}).get(target.get("dev", "") if target is not None else "")
        if target is not None and size is not None:  # sizes are known only while the machine runs
            disks.append(_disk(disk, target.get("dev", ""), size, uuid in snapshots, storage))
    channels = domain.findall("devices/channel/target[@name='org.qemu.guest_agent.0']")
    has_agent = any(channel.get("state") == "connected" for channel in channels)
    return ListedMachine(uuid, name[:200], domain.get("id") is not None, has_agent, tuple(disks))


def _disk(disk: Element, target: str, size: tuple[int, int], has_snapshot: bool, storage: "_Storage") -> ListedDisk:
    driver, capacity, allocated = disk.find("driver"), *size
    attributes: Mapping[str, str] = driver.attrib if driver is not None else {}
    path = _path_of(disk)
    is_file = disk.get("type") == "file"
    return ListedDisk(
        target=target[:20],
        path=path[:500],
        pool=storage.pool_of(disk, path),
        image_format=attributes.get("type", "")[:20],
        allocation="sparse" if is_file and allocated < ALLOCATED * capacity else "",
        cache_mode="" if attributes.get("cache") == "default" else attributes.get("cache", "")[:20],
        has_backing_chain=has_snapshot or disk.find("backingStore/source") is not None,
        size_bytes=capacity,
        allocated_bytes=allocated,
    )


# Pools


class _Storage:
    """The mounts, disks and libvirt pools of a host; finds the pool of an image."""

    def __init__(self, host: Connection, named: Iterable[Element], images: Sequence[str]) -> None:
        folders = [text_at(pool, "target/path") for pool in named]
        self.mounts = Mounts(host, [*images, *(folder for folder in folders if folder.startswith("/"))])
        self.pools: dict[str, ListedPool] = {}
        for pool in named:
            if (named_pool := self._libvirt_pool(pool)) is not None:
                self.pools[named_pool.path] = named_pool

    def pool_of(self, disk: Element, path: str) -> str:
        """Return the path of the libvirt pool that holds the image, else its mount point; "" for neither."""
        if disk.get("type") not in ("file", "block"):
            return ""
        real = self.mounts.real.get(path, path)
        holding = [place for place in self.pools if self.pools[place].name and _is_below(path, real, place)]
        if holding:
            return max(holding, key=len)
        if disk.get("type") != "file":
            return ""
        target = self.mounts.mount_point(real)
        if target and target not in self.pools and (mounted := self.mounts.pool(target, target, "")) is not None:
            self.pools[target] = mounted
        return target if target in self.pools else ""

    def _libvirt_pool(self, pool: Element) -> ListedPool | None:
        """Return the pool; None where it holds no images that are files or volumes of this host, or is not started."""
        path, name = text_at(pool, "target/path"), text_at(pool, "name")[:80]
        kind = pool.get("type", "")
        if kind in ("dir", "fs", "netfs") and path.startswith("/") and path in self.mounts.real:
            return self.mounts.pool(path, self.mounts.mount_point(self.mounts.real[path]), name)
        if kind in ("logical", "zfs") and text_at(pool, "capacity").isdecimal() and path:
            size, free = int(text_at(pool, "capacity")), int(text_at(pool, "available") or 0)
            devices = [device.get("path", "") for device in pool.findall("source/device")]
            kinds = {self.mounts.kinds.get(device, "") for device in devices}
            storage = kinds.pop() if len(kinds) == 1 else ""
            if size:
                return ListedPool(path, name, "lvm" if kind == "logical" else "zvol", "", storage, size, free)
        return None


def _is_below(path: str, real: str, place: str) -> bool:
    return any(PurePosixPath(spelling).is_relative_to(place) for spelling in (path, real))
