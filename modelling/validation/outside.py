"""What others published, as arms to hold forecasts against, by coarser names than those it is filed under. No Django.

In validation it stands in place of what experiments.published_evidence.outside files of the same case studies. A name
says how a source's words are read; what is in no table is counted with its reason.
Source: fixtures/outside/README.md; docs/models/quality.md.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kdb.units import LATENCY, THROUGHPUT
from modelling.evidence.axes import WHERE_STATED

# Patterns are tried in turn on the source's words, in lower case; the first that is found names them.
_HYPERVISORS = {
    "gvisor": "gvisor",
    "docker|overlayfs|lxc": "container",
    "no kvm|tcg": "qemu-tcg",
    "cubesandbox": "",
    "kvm|^qemu$": "kvm",
    "proxmox": "proxmox",
    "firecracker": "firecracker",
    "xen": "xen",
    "virtualbox": "virtualbox",
    "vmware workstation": "vmware-workstation",
    "cloud hypervisor": "cloud-hypervisor",
}
_FILE_SYSTEMS = {
    "flexclone": "flexclone-ext4",
    "overlayfs": "overlayfs",
    "openzfs": "openzfs",
    "bsd-zfs": "bsd-zfs",
    "cephfs": "cephfs",
    "ceph rbd": "ceph-rbd",
    "nfs": "nfs",
    "iscsi": "iscsi",
    "thinpool": "lvm-thin",
    "dir on": "directory",
    "lvm": "lvm",
    "raw nvme|partition": "raw-device",
    **{name: name for name in ("zfs", "btrfs", "ext4", "xfs", "ntfs", "vfat", "virtiofs", "9p")},
    "hfs": "hfs-plus",
}
_IMAGES = {"qcow2": "qcow2", "shared": "shared", "vmdk": "vmdk", "vdi": "vdi"}
_RAW = "raw|lvm|zvol|rbd|zfs storage|nvme"  # a volume holds the guest's bytes as a raw file does
_BUSES = {"bus virtio|virtio-blk": "virtio", "bus sata": "sata"}
_CACHES = {"writethrough|caching disabled": "writethrough", "writeback": "writeback", "^none$": "none"}
_STORAGE = {"nvme|970 evo": "nvme", "ssd": "ssd", "wd3000|wd re|sas 15k|raid5": "hdd"}
_LOADS = {
    "filebench fileserver": "fileserver",
    "filebench varmail": "varmail",
    "postmark|files of": "small-files",
    "filebench append": "sequential-write",
    "boot": "",
    "sync": "sync-write",
    "oltp|pgbench|mysqlslap": "database",
    "blogbench": "blog",
    "ran.*read.write|rndrw": "random-mixed",
    r"ran.*\bread|randread|random seeks": "random-read",
    "ran.*write": "random-write",
    "(?<!th)read": "sequential-read",  # not of threads
    "write": "sequential-write",
    "copy": "sequential-mixed",
}
_METRICS = {  # by unit; throughput where it is none of these
    **dict.fromkeys(("s", "ms", "ms latency", "us", "us p99"), LATENCY),
    **dict.fromkeys(("IOPS", "ops/s", "TPS", "/s", "transactions", "score"), "operation_rate"),
}
_UNSAYABLE = ("MB free-page delta", "write speed (unit not stated)")

# Where the name of a workload repeats the configuration, which would keep its arms apart.
_NOT_OF_THE_WORKLOAD = r"^[\w-]+: |, pool .*| ?bus=\w+|, (?:file|zvol|lvm)\b.*|^(?:baseline|virtio-blk|virtiofs)$"
_LABORATORIES = {"systutorials_xen_file": "systutorials", "systutorials_xen_lvm": "systutorials"}


@dataclass(frozen=True)
class Outside:
    """arms : workload to a frame with the columns of modelling.evidence.frames.arms

    rows : of the file; unused : reason to the rows that are in no arm for it
    """

    arms: Mapping[str, pd.DataFrame]
    rows: int
    unused: Mapping[str, int]


def read(folder: Path) -> Outside:
    """The results in a folder that has measurements.csv and case_studies.json."""
    rows = pd.read_csv(folder / "measurements.csv", keep_default_na=False, dtype={"block_size": str})
    about = json.loads((folder / "case_studies.json").read_text())
    said = [_said(row, about[row["case_study"]]) for row in rows.to_dict("records")]
    unused = Counter(each for each in said if isinstance(each, str))
    arms = _arms(pd.DataFrame([each for each in said if isinstance(each, dict)]))
    return Outside({str(load): frame.drop(columns="load") for load, frame in arms.groupby("load")}, len(rows), unused)


def _said(row: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any] | str:
    """The row in KDB's words, or why it cannot be said."""
    if row["hypervisor"] == "native":
        return "measured without hypervisor, which no axis compares"
    if row["unit"] in _UNSAYABLE:
        return "its unit is not stated or is no measure of speed"
    hypervisor = _named(row["hypervisor"], _HYPERVISORS)
    if not hypervisor:
        return "the hypervisor is not named, or is a product no other source has"
    load = _named(f"{row['benchmark']} {row['workload']} {row['operation']}", _LOADS)
    if not load:
        return "what the load does is not said"
    image = row["image_format"].lower()
    workload = re.sub(_NOT_OF_THE_WORKLOAD, "", row["workload"])
    return {
        "load": load,
        "case_study": row["case_study"],
        "laboratory": _LABORATORIES.get(row["case_study"], row["case_study"]),
        "storage": _named(about.get("storage", ""), _STORAGE),
        "hypervisor": hypervisor,
        "guest_fs": _named(row["guest_fs"], _FILE_SYSTEMS) or None,
        "host_fs": _named(row["host_fs"], _FILE_SYSTEMS) or None,
        "cache_mode": _named(row["cache_mode"], _CACHES) or row["cache_mode"],
        "image_format": _named(image, _IMAGES) or ("raw" if re.search(_RAW, image) else image),
        "disk_bus": _named(image, _BUSES),
        "variant": (row["benchmark"], row["benchmark_version"], workload),
        "operation": row["operation"],
        "block_size_bytes": row["block_size"] or None,
        "vm_count": max(1, int(row["vm_count"])),
        "unit": row["unit"],
        "metric": _METRICS.get(row["unit"], THROUGHPUT),
        "log": np.log(float(row["value"])),
    }


def _named(words: str, names: Mapping[str, str]) -> str:
    """What the words are called here; empty where nothing says so."""
    return next((name for pattern, name in names.items() if re.search(pattern, words.lower())), "")


def _arms(rows: pd.DataFrame) -> pd.DataFrame:
    """One row an arm: the rows that differ in nothing are repetitions."""
    fields = [column for column in rows.columns if column != "log"]
    found = rows.groupby(fields, dropna=False, sort=False)["log"].agg(["mean", "var", "size"]).reset_index()
    configuration = ["case_study", "hypervisor", "guest_fs", "host_fs", "cache_mode", "image_format", "disk_bus"]
    return found.assign(
        variant_id=found.groupby("variant").ngroup(),
        configuration_id=found.groupby(configuration, dropna=False).ngroup(),
        **dict.fromkeys(("reference", "backend", *(name for name in WHERE_STATED if name != "storage")), ""),
        **dict.fromkeys(("guest_mount_options", "host_mount_options"), ""),
        virtualisation="",
        guest_os=None,
        vm_vcpus=None,
        vm_ram_gib=None,
        year=None,
        is_reviewed=False,
        origin="measured",
        measurements=found["size"],
        runs=found["size"],
        mean_log=found["mean"],
        variance=found["var"] / found["size"],
        source="",
    ).drop(columns=["variant", "mean", "var", "size"])
