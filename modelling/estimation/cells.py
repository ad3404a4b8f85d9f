"""Turn evidence into the cells of the model of modelling.estimation.hierarchy. No Django.

Each arm that may be compared with another gives a cell. A tier list gives one for each pair it names, from the normal
approximation of its likelihood at its mode; it counts once, however many case studies it is stated for.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kdb.disk_path import SETTINGS
from kdb.host_storage import host_storage_parts
from kdb.pairs import pair_key
from kdb.units import METRICS, SPEEDS, THROUGHPUT
from modelling.evidence.axes import Axis, entry_key, entry_parts
from modelling.evidence.fairplay import (
    ONE_QUANTITY,
    convert_to_metric,
    deduplicate_work,
    first_indices,
    number_rows,
    varies,
)

from .arms import Spread, comparable_arms
from .hierarchy import CHOICES, Knowledge
from .hierarchy import COLUMNS as MODEL_COLUMNS
from .ordinal import bradley_terry, from_tiers

# Extra standard deviation of ln speed for numbers that a clock, a cache or a limit may have caused: as large as the
# widest prior on effects of choices (hierarchy.KINDS).
IMPLAUSIBLE = 0.5
COLUMNS = (*MODEL_COLUMNS, "case_study", "configuration", "level", "outcome", "variance")
# Settings of the disk's path are choices, so they are not held equal; the residual takes up other differences.
_CHOICES = Axis("choices", "Configuration", ("choices",), ("workload",), (*SETTINGS, "guest_access"))
CONTAINER = "container"  # a virtualisation: shares the kernel and the caches of the host
_DERIVED = ("container", "pair", "copy_on_write", "networked", "flushed")
_STATED = [*(name for name in CHOICES if name not in _DERIVED), "virtualisation"]
NETWORK = "network"  # reach of host storage that several hosts use
_NETWORK_FILE_SYSTEMS = {"cephfs", "glusterfs"}
_FLUSHED = {"directsync", "writethrough"}
_COPIES = {"btrfs", "zfs", "openzfs", "bsd-zfs", "bcachefs"}  # file systems that never write in place, on either side
_SYNCHRONOUS = {"varmail", "database"}  # loads that wait for the disk (docs/models/profiles.md)
_READS = {"webserver", "vm-boot"}  # loads that mostly read, though their names do not say so
# Standing of a pair by the tier that names it.
_STANDING = {"best": 1.0, "unlisted": 0.0, "worst": -1.0}


def measurement_cells(arms: pd.DataFrame, spread: Spread, metrics: Iterable[str] = SPEEDS) -> pd.DataFrame:
    """Return a cell for each arm that differs in a choice from one it may be compared with.

    arms : as modelling.evidence.dataframes.arms gives them, with a column workload; of all these metrics of speed
    """
    rows = arms[arms["metric"].isin(list(metrics)) & (arms["virtualisation"] != "emulated")]
    if rows.empty:
        return pd.DataFrame(columns=COLUMNS)
    rows = _unify_quantity(rows.sort_values("workload", kind="stable"))
    combination = number_rows(rows, _STATED)  # few differ, however many arms there are
    distinct = rows[_STATED].iloc[first_indices(combination)].to_dict("records")
    networked = {*rows["backend"][rows["reach"] == NETWORK]}
    made_of = pd.DataFrame([choices(row, networked) for row in distinct], columns=list(CHOICES))
    names = np.array([repr(made) for made in made_of.itertuples(index=False, name=None)], dtype=object)
    compared = comparable_arms(rows.assign(choices=names[combination], combination=combination), _CHOICES, spread)
    workloads = compared["workload"].astype(str)
    signs = compared["metric"].map(lambda metric: METRICS[metric].direction).to_numpy(dtype=float)
    loads = number_rows(compared, ["workload", "operation"])
    first = compared[["workload", "operation"]].iloc[first_indices(loads)].astype(str)
    classes = np.array([load_class(*load) for load in first.itertuples(index=False, name=None)], dtype=object)
    stated = (
        made_of.iloc[compared["combination"]]
        .set_axis(compared.index)
        .assign(
            load=classes[loads],
            storage=compared["storage"].astype(str),
            workload=workloads,
            laboratory=compared["laboratory"].astype(str),
            group=compared["research_group"].astype(str),
            case_study=compared["case_study"].astype(str),
            configuration=compared["configuration_id"].to_numpy(),
            level=compared["fair_play_group"].to_numpy(),
            outcome=signs * compared["mean_log"].to_numpy(),
            variance=compared["arm_variance"] + IMPLAUSIBLE**2 * compared["is_implausible"].to_numpy(dtype=float),
        )
    )
    return stated[list(COLUMNS)].reset_index(drop=True)


def _unify_quantity(arms: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each piece of work, with rates of a known block size converted to throughput."""
    turned = convert_to_metric(arms, THROUGHPUT)
    others = arms[~arms["metric"].isin(ONE_QUANTITY) | arms["block_size_bytes"].isna()]
    others = others[~others.index.isin(turned.index)]
    return deduplicate_work(pd.concat([turned, others]).sort_index()) if len(turned) else deduplicate_work(arms)


def tier_list_cells(findings: pd.DataFrame | None, axis: Axis, tier_scale: float, tier_doubt: float) -> pd.DataFrame:
    """Return a cell for each pair of file systems that a tier list names.

    findings : of modelling.evidence.dataframes, of any workload, or None; axis : which of them may be compared
    tier_scale, tier_doubt : as for modelling.estimation.ranking.Assumptions
    """
    cells: list[dict[str, Any]] = []
    level = 0
    for workload, rows in findings.groupby("workload", sort=True) if findings is not None and len(findings) else ():
        scored = scored_findings(rows, axis)
        for _, tiers in scored.groupby("list") if len(scored) else ():
            standing = tiers.groupby("entry")["standing"].mean().to_dict()
            entries = sorted(standing)
            own = bradley_terry(entries, from_tiers(standing, tier_doubt), tier_scale)
            variances = np.diag(own.covariance) * len(entries) / (len(entries) - 1)
            of_entry = tiers.drop_duplicates("entry").sort_values("entry").to_dict("records")
            for place, row in enumerate(of_entry):
                context = {"workload": workload, "load": load_class(str(workload), ""), "storage": ""}
                estimate = {"level": -1 - level, "outcome": own.effects[place], "variance": variances[place]}
                source = {"laboratory": row["publication"], "group": row["research_groups"][0], "case_study": ""}
                cells.append(choices(row, ()) | context | estimate | source | {"configuration": -1 - place})
            level += 1
    return pd.DataFrame(cells, columns=COLUMNS)


def scored_findings(findings: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """Return the findings that can be compared, with the standing of each entry in its tier list.

    Adds the columns entry str; list int, the tier list the finding is part of; standing float, from +2 (outstanding
    among the best) to -2 (outstanding among the worst), the mean of both where text and table disagree. Lists are
    split by what the axis holds fixed.
    """
    if findings.empty or not set(axis.entry) <= {*findings}:
        return findings.iloc[:0].assign(entry=[], list=[], standing=[])
    text = findings["text_list"].map(_STANDING)
    table = findings["table_list"].map(_STANDING)
    standing = (text * np.where(findings["is_outstanding"], 2.0, 1.0)).where(text == table, (text + table) / 2)
    values = findings[list(axis.entry)].itertuples(index=False, name=None)
    held = [column for column in axis.held if column in findings.columns]
    numbers = findings.groupby(["publication", "hypervisor", *held]).ngroup().to_numpy()
    scored = findings.assign(entry=[entry_key(axis, value) for value in values], list=numbers, standing=standing)
    return scored[varies(numbers, scored["entry"])[numbers]]


def choices(row: Mapping[str, object], networked: Collection[str]) -> dict[str, str]:
    """Return each kind of choice with its value, "" where it is not stated.

    row : of an arm or a finding; networked : backends whose reach is NETWORK
    """
    stated = {name: value if isinstance(value := row.get(name), str) else "" for name in CHOICES}
    guest_fs, host_fs = stated["guest_fs"], stated["host_fs"]
    stated["pair"] = pair_key(guest_fs, host_fs) if guest_fs and host_fs else ""
    stated["copy_on_write"] = "yes" if {guest_fs, host_fs} & _COPIES else ""
    stated["networked"] = "yes" if stated["backend"] in networked or host_fs in _NETWORK_FILE_SYSTEMS else ""
    stated["flushed"] = "yes" if stated["cache_mode"] in _FLUSHED else ""
    stated["container"] = "yes" if row.get("virtualisation") == CONTAINER else ""
    return stated


def entry_rows(axis: Axis, keys: Sequence[str], known: Knowledge, where: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of an axis' entries for modelling.estimation.hierarchy.Fitted.posterior.

    known : what is asked with them; where : load, storage, workload and hypervisor, where it is known
    """
    containers = known.containers
    rows = []
    for key in keys:
        parts = entry_parts(axis, key)
        if "host_storage" in parts:
            backend, host_fs = host_storage_parts(parts.pop("host_storage"))
            parts |= {"backend": backend, "host_fs": host_fs or ""}
        stated = {**where, **parts}
        shares = stated.get("hypervisor") in containers
        rows.append({**where, **choices(stated | {"virtualisation": CONTAINER if shares else ""}, known.networked)})
    return pd.DataFrame(rows, index=pd.Index(keys, name="entry"))


def load_class(workload: str, operation: str) -> str:
    """Return the class of a load by its name and operation, "random read"; choices have one effect within a class."""
    words = f"{workload} {operation}".casefold()
    if not words.strip():
        return ""
    if re.search(r"\bf?d?sync", words) or workload in _SYNCHRONOUS:
        return "synchronous"
    reads, writes = "read" in words or workload in _READS, "writ" in words
    direction = "" if reads == writes else "read" if reads else "write"
    random, sequential = "rand" in words, "seq" in words
    access = "" if random == sequential else "random" if random else "sequential"
    return f"{access} {direction}".strip() or "mixed"
