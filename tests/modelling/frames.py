"""Frames of evidence built by hand, with the columns of modelling.evidence.dataframes; and a line of a ranking."""

import math

import pandas as pd

from modelling.answers.content import RankedEntry
from modelling.estimation.ranking import _NO_NUMBERS, RankedPart
from modelling.evidence.axes import WHERE_STATED
from modelling.evidence.dataframes import _FINDING_COLUMNS, NO_ARMS

ARM = {
    "case_study": "one",
    "storage": "hdd",
    "is_reviewed": True,
    "year": None,
    "variant_id": 1,
    "operation": "mixed",
    "block_size_bytes": None,
    "vm_count": 1,
    "metric": "throughput",
    "unit": "MiB/s",
    "reference": "",
    "hypervisor": "kvm",
    "guest_fs": "ext4",
    "host_fs": "ext4",
    "virtualisation": "full",
    "cache_mode": "",
    "image_format": "",
    **{name: "" for name in WHERE_STATED if name != "storage"},
    "disk_bus": "",
    "guest_mount_options": "",
    "host_mount_options": "",
    "backend": "file",
    "reach": "",
    "guest_os": "centos",
    "vm_vcpus": 4,
    "vm_ram_gib": 4.0,
    "origin": "measured",
    "measurements": 1,
    "runs": 1,
    "run_seconds": None,
    "variance": None,
    "is_implausible": False,
    "source": "Table I",
}


def arm(value: float, **fields) -> dict:
    """Return one arm whose measurements have the geometric mean `value`."""
    row = ARM | {"mean_log": math.log(value)} | fields
    identity = (row["case_study"], row["hypervisor"], row["guest_fs"], row["host_fs"], row["cache_mode"])
    return {"configuration_id": hash(identity)} | row


def arms(*rows: dict) -> pd.DataFrame:
    named = [{"laboratory": row["case_study"]} | row for row in rows]
    named = [{"research_group": row["laboratory"], "runtime": row["hypervisor"]} | row for row in named]
    return pd.DataFrame.from_records(named, columns=NO_ARMS.columns)


def finding(guest_fs: str, host_fs: str, text_list: str, outstanding: bool = False, **fields) -> dict:
    return {
        "publication": "paper",
        "hypervisor": "kvm",
        "guest_fs": guest_fs,
        "host_fs": host_fs,
        "text_list": text_list,
        "is_outstanding": outstanding,
        "table_list": text_list,
        "text_source": "Section 7",
        "table_source": "Table 2",
        "case_studies": ("one",),
        "research_groups": ("one",),
        "cache_mode": "",
        "losing": (),
    } | fields


def findings(*rows: dict) -> pd.DataFrame:
    return pd.DataFrame.from_records(
        list(rows), columns=[*_FINDING_COLUMNS, "case_studies", "research_groups", "cache_mode", "losing"]
    )


def ranked_entry(key: str, **fields) -> RankedEntry:
    """Return a line of a ranking of which only tier lists speak, but for what `fields` say."""
    standing = {"label": key, "rank": 1, "part": 1, "verdict": "unknown", "p_score": 0.5, "grade": "D"}
    beside = {**dict.fromkeys(("tied_with", "confounded_with", "unsafe_options", "lacks"), ()), "always_unsafe": False}
    counts = dict.fromkeys(("case_studies", "laboratories", "groups", "measurements", "derived", "findings"), 0)
    return RankedEntry(key=key, **{**_NO_NUMBERS, **standing, **beside, **counts, **fields})


def having(part: RankedPart, verdict: str) -> tuple[str, ...]:
    """Return the keys of the entries of a part that have a verdict, in their order."""
    return tuple(entry.key for entry in part.entries if entry.verdict == verdict)
