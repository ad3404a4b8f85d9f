"""Others' published results in KDB's words: from the rows of fixtures/outside to entries for the loader. No Django.

A pattern says how a source's words are read, and is tried on them in lower case; what its source does not state stays
not stated. What cannot be said is listed with its reason. Source: fixtures/outside/README.md.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kdb.disk_path import bytes_of

from .files import Entry, read_csv

Row = Mapping[str, str]

COLUMNS = (
    *("source", "case_study", "hypervisor", "hypervisor_version", "guest_fs", "host_fs", "image_format", "cache_mode"),
    *("guest_os", "benchmark", "benchmark_version", "workload", "operation", "block_size", "vm_count", "value", "unit"),
    *("where_in_source", "quality", "note"),
)

# Patterns are tried in turn; the first that is found names the words.
_HYPERVISORS = {
    "gvisor": "gvisor",
    "docker": "docker",
    "lxc": "lxc",
    "no kvm|tcg": "qemu-tcg",
    "cubesandbox": "cubesandbox",
    "firecracker": "firecracker",
    "^kvm": "kvm",
    "^qemu$": "qemu-unstated",
    "proxmox": "proxmox",
    "xen": "xen",
    "virtualbox": "virtualbox",
    "vmware workstation": "vmware-workstation",
    "cloud hypervisor": "cloud-hypervisor",
    "apple vz": "apple-vz",
}
_CONTAINERS = ("docker", "gvisor", "lxc")
_GUEST_FILE_SYSTEMS = {
    "none|zvol|virtiofs|9p|overlayfs": "",
    "openzfs": "openzfs",
    "bsd-zfs": "bsd-zfs",
    **{name: name for name in ("zfs", "btrfs", "ext4", "xfs", "ntfs", "vfat")},
}
_BACKENDS = {  # on host file system and image together
    "rbd": "rbd",
    "iscsi": "iscsi",
    "thin": "lvm-thin",
    r"none \(lvm": "lvm",
    "zvol|lxd zfs": "zvol",  # LXD keeps the disks of virtual machines on ZFS as volumes
    "raw nvme|partition": "raw",
    "nfs": "nfs",
    "virtiofs": "virtiofs",
    "dir on|hostpath": "file",
}
_HOST_FILE_SYSTEMS = {
    "flexclone": "flexclone-ext4",
    "cephfs": "cephfs",
    "hfs": "hfs-plus",
    **{name: name for name in ("zfs", "btrfs", "ext4", "xfs")},
}
_IMAGES = {"qcow2": "qcow2", "vmdk": "vmdk", "vdi": "vdi", r"^raw(?! block)": "raw"}
_ASYNCHRONOUS = {"aio=native|tap:aio": "native", "aio=threads": "threads", "io_uring": "io_uring"}
_COMPRESSIONS = {"compression=off|no compression": "off", "zstd": "zstd", "lz4": "lz4"}
_LAYOUTS = {  # of the host's storage
    "raidz2": "raidz2",
    "raidz1": "raidz1",
    "raid5": "raid5",
    "mirror|raid1": "mirror",
}
_BUSES = {"bus virtio|virtio-blk": "virtio", "bus sata": "sata"}
_GUEST_SYSTEMS = {"coreos": "coreos", "wheezy|debian 7": "debian-7", "ubuntu 16": "ubuntu-16-04"}
_BENCHMARKS = {
    "sysbench": "sysbench",
    "dd": "dd",
    "hdparm": "hdparm",
    "postmark": "postmark",
    "bonnie": "bonnie",
    "script|probe|measure-|boot": "own-script",
}
_LOADS = {  # on benchmark and workload
    "filebench fileserver": "fileserver",
    "filebench varmail": "varmail",
    "filebench append": "sequential-write",
    "postmark|files of": "small-files",
    "boot": "vm-boot",
    "dsync|fsync(?!=0)|synchronous": "sync-write",
    "oltp|pgbench|mysqlslap": "database",
    "blogbench": "blog",
}
_ACCESSES = {  # on the operation, where the benchmark alone says nothing
    "not stated": "",
    "meta_": "metadata",
    r"\bfsync|sync write": "sync-write",
    "ran.*read.write": "random-mixed",
    "ran.*read|random seeks": "random-read",
    "ran.*write": "random-write",
    r"seq read\+write|copy|rewrite": "sequential-mixed",
    "read|scrub": "sequential-read",
    "write|compress": "sequential-write",
}
_UNITS = {  # to unit and metric; the tools that print KB count 1024 bytes
    "KB/s": ("KiB/s", "throughput"),
    "kB/s": ("KiB/s", "throughput"),
    "IOPS": ("ops/s", "operation_rate"),
    "/s": ("ops/s", "operation_rate"),
    "TPS": ("TPS", "transaction_rate"),
    "ms": ("ms", "latency"),
    "ms latency": ("ms", "latency"),
    "us": ("us", "latency"),
    "us p99": ("us", "latency_p99"),
    "s": ("s", "duration"),
    "score": ("score", "score"),
    "ops/s": ("ops/s", "operation_rate"),
    "MB/s": ("MB/s", "throughput"),
    "MiB/s": ("MiB/s", "throughput"),
}
_UNSAYABLE = {
    "MB free-page delta": "its unit measures no speed",
    "write speed (unit not stated)": "its unit is not stated",
    "transactions": "a count of transactions in a run whose length is not stated",
}
_NO_HYPERVISOR_NAMED = "the hypervisor is not named"
_NO_LOAD = "whether the load is random or sequential is not stated"

_STORAGE_KINDS = {
    **dict.fromkeys(("linuxtut_kvm_win10", "shakenfist_cache_modes", "osv_zfs_ports"), "nvme"),
    **dict.fromkeys(("flexclone_overlayfs_filebench", "proxmox_e2386g_2023"), "nvme"),
    **dict.fromkeys(("temoto_lxd_vm_backends", "dimoulis_pgbench", "jrs_zvol_vs_qcow2_2018"), "ssd"),
    **dict.fromkeys(("ppeerttu_oulu_2021", "virtiofs_vs_9p_2020"), "ssd"),
    **dict.fromkeys(("bassu_xen_zvol", "majorhayden_kvm_xen_2014"), "hdd"),
}
_LABORATORIES = {"systutorials_xen_file": "systutorials", "systutorials_xen_lvm": "systutorials"}

# Parts of a workload's name that tell of the configuration; the rest is the workload.
_PLACE = r"^[\w-]+: |, pool [\w-]+|, (?:host [AB]|local|EMC)[^,]*(?:\(nested\))?| ?bus=\w+|, (?:file|zvol|lvm)\b.*"
_PLACE_NAMED = "volume|layer"  # in the name of a hypervisor: where its disk is, and no release
_ONLY_PLACE = ("baseline", "virtio-blk", "virtiofs")
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True)
class Outside:
    """sources : sections of the loader's case_studies.json to their entries; measurements : entries of its rows

    unused : reason to the lines of measurements.csv that are in no entry for it; rows : lines there are
    """

    sources: Mapping[str, list[Entry]]
    measurements: list[Entry]
    unused: Mapping[str, list[str]]
    rows: int


def read(folder: Path) -> Outside:
    """Return the results in a folder that has measurements.csv and case_studies.json. Raises EvidenceError."""
    entries = read_csv(folder / "measurements.csv", COLUMNS)
    about: dict[str, dict[str, Any]] = json.loads((folder / "case_studies.json").read_text())
    unused: dict[str, list[str]] = {}
    cells: dict[tuple[str, ...], list[_Result]] = {}
    for entry in entries:
        result = _result(entry)
        if isinstance(result, str):
            unused.setdefault(result, []).append(entry.place)
        else:
            cells.setdefault(result.cell, []).append(result)
    kept = [result for same in cells.values() for result in same]
    sources: dict[str, list[Entry]] = {"publications": [], "servers": [], "storages": [], "case_studies": []}
    for slug, facts in about.items():
        for name in ("title", "publication"):
            if name not in facts:
                raise Entry(f"case_studies.json, {slug}", facts).error(name, "what the case study is called, or cites")
        if mine := [result for result in kept if result.row["case_study"] == slug]:
            for section, fields in _source(slug, facts, mine).items():
                sources[section].append(Entry(f"case_studies.json, {slug}", fields))
    rows = [row for same in cells.values() for row in _measurements(same)]
    return Outside(sources, rows, unused, len(entries))


@dataclass(frozen=True)
class _Result:
    """One published result in KDB's words. configuration, variant : fields of the models; number : of Measurement."""

    place: str
    row: Row
    configuration: dict[str, str]
    variant: dict[str, Any]
    number: dict[str, Any]

    @property
    def configuration_slug(self) -> str:
        native = "" if "hypervisor" in self.configuration else "native"
        words = [native, *((self.configuration | self._as_before).get(name, "") for name in _IN_SLUG)]
        return re.sub(r"[^a-z0-9]+", "-", " ".join(filter(None, words)).lower()).strip("-")[:80]

    @property
    def _as_before(self) -> dict[str, str]:
        """Return what slugs have said since before it was a fact of its own: addresses of configurations stay."""
        if "hypervisor" not in self.configuration:
            return {}
        words, product = self.row["image_format"], _product(self.row["hypervisor"])
        image = words.replace("CoW overlay, ", "") if "qcow2 (" in words else _named(words, _IMAGES)
        place = {"hypervisor_release": product, "vm_disk": ""} if re.search(_PLACE_NAMED, product) else {}
        if self.row["guest_fs"] in ("virtiofs", "9p"):
            place["cache_mode"] = _cache_of_directory(self.row["cache_mode"])
        return {"image_format": image, **place}

    @property
    def variant_key(self) -> str:
        return json.dumps(self.variant, sort_keys=True)

    @property
    def cell(self) -> tuple[str, ...]:
        number = self.number
        coordinates = (number["operation"], str(number["block_size_bytes"]), number["metric"])
        return (self.row["case_study"], self.configuration_slug, self.variant_key, *coordinates)


_IN_SLUG = (
    *("hypervisor", "hypervisor_release", "virtual_devices", "guest_os", "guest_fs", "guest_mount_options", "backend"),
    *("host_fs", "host_mount_options", "below", "image_format", "cache_mode", "disk_bus", "vm_disk"),
)


def _result(entry: Entry) -> _Result | str:
    """Return the row in KDB's words, or why it cannot be used."""
    row: Row = entry.fields
    if row["unit"] in _UNSAYABLE:
        return _UNSAYABLE[row["unit"]]
    if row["hypervisor"].startswith("unnamed"):
        return _NO_HYPERVISOR_NAMED
    load = _named(f"{row['benchmark']} {row['workload']}", _LOADS) or _named(row["operation"], _ACCESSES)
    if not load:
        return _NO_LOAD
    is_native = row["hypervisor"] == "native" or row["hypervisor"].startswith("none")
    configuration = _native(row) if is_native else _virtual(row)
    workload = "" if row["workload"] in _ONLY_PLACE else re.sub(_PLACE, "", row["workload"])
    variant = {
        "workload": load,
        "benchmark": _named(row["benchmark"], _BENCHMARKS) or row["benchmark"].lower(),
        "benchmark_version": row["benchmark_version"],
        "parameters": {"job": f"{row['benchmark']}: {workload}".removesuffix(": ")},
    }
    return _Result(entry.place, row, configuration, variant, _number(row, 0 if is_native else 1))


def _named(words: str, names: Mapping[str, str]) -> str:
    """Return what the words are called here; empty where nothing says so."""
    return next((name for pattern, name in names.items() if re.search(pattern, words.lower())), "")


def _where(row: Row) -> str:
    """Return what the workload's name says of the machine or the storage it ran on."""
    match = re.search(_PLACE, row["workload"])
    return match[0].strip(" ,:") if match and "bus=" not in match[0] else ""


def _native(row: Row) -> dict[str, str]:
    over = "under OverlayFS" if row["guest_fs"] == "overlayfs" else ""
    host_fs = row["host_fs"] or row["guest_fs"]
    below = "; ".join(filter(None, [host_fs if host_fs.startswith("none") else "", row["image_format"], _where(row)]))
    return _filled(
        virtualisation="none",
        host_os=_system(row["guest_os"]),
        host_fs=_named(host_fs, _HOST_FILE_SYSTEMS),
        **_host_facts(host_fs),
        host_mount_options=over,
        below=below,
    )


def _virtual(row: Row) -> dict[str, str]:
    hypervisor = _named(row["hypervisor"], _HYPERVISORS)
    host = f"{row['host_fs']} {row['image_format']}"
    is_container, shared = hypervisor in _CONTAINERS, row["guest_fs"] in ("virtiofs", "9p")
    guest_fs = "" if is_container else _named(row["guest_fs"], _GUEST_FILE_SYSTEMS)
    host_words = row["guest_fs"] if hypervisor == "lxc" else row["host_fs"]
    host_fs = _named(host_words, _HOST_FILE_SYSTEMS)
    backend = row["guest_fs"] if shared else _named(host, _BACKENDS) or ("file" if host_fs else "")
    product = _product(row["hypervisor"])
    is_place = re.search(_PLACE_NAMED, product) is not None
    is_raw_inside = "none" in row["guest_fs"] or "zvol" in row["guest_fs"]
    storage = re.sub(r"^none ?", "", row["host_fs"]) if backend != "file" or not host_fs else row["host_fs"]
    below = "; ".join(filter(None, [storage if storage != host_fs else "", _where(row)]))
    cache = row["cache_mode"]
    if shared and cache:  # "9p-none", "vtfs-auto-dax": none of a directory is not none of a disk
        cache = f"{row['guest_fs']} {_cache_of_directory(cache)}"
    return _filled(
        hypervisor=hypervisor,
        hypervisor_release=" ".join(filter(None, [row["hypervisor_version"], "" if is_place else product])),
        virtualisation="container" if is_container else "emulated" if hypervisor == "qemu-tcg" else "",
        virtual_devices=cache if re.search("loopback|blktap", cache) else "",
        guest_os=_system(row["guest_os"]),
        guest_fs=guest_fs,
        guest_access="raw-device" if is_raw_inside else "file-system" if shared else "",
        guest_mount_options=row["guest_fs"] if is_raw_inside or (" " in row["guest_fs"] and guest_fs == "zfs") else "",
        backend=backend,
        host_fs=host_fs if backend in ("file", "") else "",
        below=below if hypervisor != "lxc" else f"in a virtual machine whose disk is a file on {row['host_fs']}",
        **_host_facts(f"{row['guest_fs'] if hypervisor == 'lxc' else ''} {host}"),
        guest_fs_release=_release(row["guest_fs"]) if guest_fs else "",
        image_format=_named(row["image_format"], _IMAGES),
        volume_block_bytes=_cluster(row["image_format"]),
        snapshot="overlay" if "CoW overlay" in row["image_format"] else "",
        allocation="full" if "vdi fixed" in row["image_format"] else "",
        io_mode=_named(cache, _ASYNCHRONOUS),
        cache_mode="" if re.search("loopback|blktap", cache) else cache,
        disk_bus=_named(row["image_format"], _BUSES),
        storage_kind=_storage_kind(row),
        vm_disk=product
        if is_place
        else "preallocated, how is not stated"
        if "preallocated" in row["image_format"]
        else "",
    )


def _filled(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _product(words: str) -> str:
    """Return "Synology VMM" of "KVM (Synology VMM)"."""
    match = re.search(r"\((?!no KVM|TCG)(.*)\)", words)
    return match[1] if match else "Kata" if "Kata" in words else ""


def _host_facts(words: str) -> dict[str, str]:
    """Return what is said of the host's storage beside its name: "zfs 0.6.2 (lz4, mirror)"."""
    return {
        "host_fs_release": _release(words) if "zfs" in words else "",
        "compression": _named(words, _COMPRESSIONS),
        "pool_layout": _named(words, _LAYOUTS),
    }


def _cache_of_directory(words: str) -> str:
    """Return "auto dax" of "vtfs-auto-dax"."""
    return words.partition("-")[2].replace("-", " ")


def _release(words: str) -> str:
    """Return "0.8.3" of "zfs 0.8.3 zvol (no compression)"."""
    match = re.search(r"\bzfs (\d[\w.-]*)", words.lower())
    return match[1] if match else ""


def _cluster(words: str) -> str:
    """Return the bytes of a cluster, "65536" of "qcow2 (CoW overlay, 64K clusters)"; empty where none is stated."""
    match = re.search(r"\b(\d{1,6}[KM]) clusters", words)
    return str(bytes_of(match[1])) if match else ""


def _system(words: str) -> str:
    return _named(words, _GUEST_SYSTEMS) or re.sub(r"[^a-z0-9]+", "-", words.lower())


def _storage_kind(row: Row) -> str:
    """Return the kind of storage where it is not that of the whole case study; else empty."""
    if row["case_study"] == "ibm_roks_kubevirt" and re.search("Ceph", row["host_fs"]):
        return "nvme"
    return "ssd" if "SATA SSD" in row["workload"] else ""


def _number(row: Row, vm_count: int) -> dict[str, Any]:
    unit, metric = _UNITS[row["unit"]]
    size = re.match(r"(\d+) ?([kmg]?)", row["block_size"].lower())
    note = row["note"]
    printed = f"printed in {row['unit']}" if unit == "KiB/s" else ""
    runs = re.search(r"(?:mean|median) of (?:the )?(\d+) (?:listed|repetitions|stored|samples)", note)
    deviation = re.search(r"\bsd ([\d.]+)", note)
    other = re.search(r'printed as "(\d+,\d+)"', note) if row["quality"] == "ocr_ambiguous" else None
    operation = re.sub(r"\bseq\b", "sequential", row["operation"]).removesuffix(" min").removesuffix(" max")
    return {
        "operation": {"total": "mixed", "transactions": "mixed"}.get(operation, operation),
        "block_size_bytes": str(int(size[1]) * _SIZES[size[2]]) if size else "",
        "vm_count": str(vm_count),
        "metric": metric,
        "unit": unit,
        "value": row["value"],
        **({"quality": "ocr-ambiguous", "alternative_value": other[1].replace(",", ".")} if other else {}),
        "repetitions": runs[1] if runs else "",
        "standard_deviation": deviation[1] if deviation else "",
        "source": row["where_in_source"][:120],
        "note": "; ".join(filter(None, [note, printed])),
    }


def _measurements(same: Sequence[_Result]) -> list[Entry]:
    """Return the rows of one cell: repetitions, but the two ends of a printed range are one row with its middle."""
    entries: list[Entry] = []
    ends: dict[str, _Result] = {}
    for result in same:
        end = re.search(r"range (min|max)|boot time (min|max)", f"{result.row['note']} {result.row['operation']}")
        if end is None:
            entries.append(_measurement(result, len(entries) + 1, {}))
            continue
        ends[end[1] or end[2]] = result
        if len(ends) == 2:
            low, high = sorted(float(bound.number["value"]) for bound in ends.values())
            spread = {"minimum": f"{low:g}", "maximum": f"{high:g}", "value": repr((low + high) / 2)}
            note = f"The middle of the printed range. {result.number['note']}".strip()
            entries.append(_measurement(result, len(entries) + 1, {**spread, "note": note}))
            ends = {}
    entries += [_measurement(bound, len(entries) + number, {}) for number, bound in enumerate(ends.values(), start=1)]
    return entries


def _measurement(result: _Result, repetition: int, more: Mapping[str, str]) -> Entry:
    where = {
        "case_study": result.row["case_study"],
        "configuration": result.configuration_slug,
        "workload": result.variant_key,
    }
    fields = {**where, **result.number, "repetition": str(repetition), **more}
    return Entry(result.place, {name: value for name, value in fields.items() if value != ""})


def _source(slug: str, about: Mapping[str, Any], results: Sequence[_Result]) -> dict[str, dict[str, Any]]:
    """Return the entries of one case study, by section."""
    configurations = {result.configuration_slug: result.configuration for result in results}
    variants = {result.variant_key: result.variant for result in results}
    storage = about.get("storage", "")
    ram = about.get("ram", "")
    return {
        "publications": {"slug": slug, "is_reviewed": False, **about["publication"]},
        "servers": {"slug": slug, "cpu": about.get("cpu", about.get("host", ""))[:200], "ram_kind": ram[:80]},
        "storages": {
            "server": slug,
            "slug": slug,
            "description": storage[:300] or "Not stated",
            "kind": _STORAGE_KINDS.get(slug, ""),
        },
        "case_studies": {
            "slug": slug,
            "title": about["title"],
            "publication": slug,
            "server": slug,
            "storage": slug,
            "laboratory": _LABORATORIES.get(slug, ""),
            "research_group": about.get("research_group", ""),
            "vm_counts": [1],
            "procedure": about.get("protocol", about.get("benchmark", "")),
            "notes": list(weaknesses(about, results)),
            "workloads": [{**variant, "key": key} for key, variant in variants.items()],
            "configurations": [{"slug": name, **fields} for name, fields in configurations.items()],
        },
    }


def weaknesses(about: Mapping[str, Any], results: Sequence[_Result]) -> Iterable[str]:
    """Yield what a reader must hold against the case study, a sentence each."""
    yield "Published without review."
    cells = Counter(result.cell for result in results)
    spread = [result for result in results if result.number["standard_deviation"] or result.number["repetitions"]]
    if not spread and max(cells.values()) == 1:
        yield "One value of each kind: how many runs it is the mean of, and their spread, are not stated."
    virtual = [result.configuration for result in results if "hypervisor" in result.configuration]
    if not all(fields.get("guest_fs") or fields.get("guest_access") for fields in virtual):
        yield "The guest's file system is not stated of every configuration."
    if not all(fields.get("host_fs") or fields.get("backend") for fields in virtual):
        yield "What the disk images lie on is not stated of every configuration."
    if not _STORAGE_KINDS.get(results[0].row["case_study"]):
        yield "The kind of disks is not stated of every configuration."
    for name in ("incomplete", "caveat", "unstated", "note"):
        if text := about.get(name):
            yield f"{text[:1].upper()}{text[1:]}."
