"""Turn published evidence into the cells of the hierarchical model (modelling.estimation.hierarchy). No Django.

Numbers give a cell for each arm that may be compared with another; a tier list gives one for each pair it names, from
the normal approximation of its likelihood at its own mode, once, however many case studies it is said to hold for.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from kdb.pairs import pair_key
from kdb.units import METRICS, SPEEDS
from modelling.estimation.arms import Spread, comparable_arms
from modelling.estimation.hierarchy import CHOICES, COLUMNS
from modelling.estimation.ordinal import from_tiers, joint
from modelling.estimation.ranking import scored_findings
from modelling.evidence.axes import AXES, Axis
from modelling.evidence.fairplay import counted_once

# What is varied is a choice, so nothing of the disk's path is held equal: other differences are the residual's.
_CHOICES = Axis(
    *("choices", "Configuration", ("choices",), ("workload",)),
    ("allocation", "io_mode", "guest_access", "discard", "iothread"),
)
CONTAINER = "container"  # a virtualisation: shares the kernel and the caches of the host
_STATED = [*(name for name in CHOICES if name not in ("container", "pair")), "virtualisation"]
_READS = {"webserver", "vm-boot"}  # loads whose name does not say it, by what they mostly do (docs/models/profiles.md)
_WRITES = {"varmail", "sync-write"}


def of_numbers(arms: pd.DataFrame, groups: Mapping[str, str], spread: Spread) -> pd.DataFrame:
    """Return a cell for each arm that differs in a choice from one it may be compared with.

    arms : as modelling.evidence.frames.every_arm gives them, native ones and all metrics too
    groups : laboratory to research group; a laboratory that is not named is a group of its own
    """
    rows = arms[arms["metric"].isin(SPEEDS) & (arms["virtualisation"] != "emulated")]
    rows = counted_once(rows.sort_values("workload", kind="stable"))
    made_of = pd.DataFrame(map(choices, rows[_STATED].to_dict("records")), index=rows.index, columns=list(CHOICES))
    named = rows.assign(choices=[repr(made) for made in made_of.itertuples(index=False, name=None)])
    compared = comparable_arms(named, _CHOICES, spread)
    workloads = compared["workload"].astype(str)
    loads = [kind_of_load(*load) for load in zip(workloads, compared["operation"], strict=True)]
    signs = compared["metric"].map(lambda metric: METRICS[metric].direction).to_numpy(dtype=float)
    laboratories = compared["laboratory"].astype(str)
    return (
        made_of.loc[compared.index]
        .assign(
            workload=workloads,
            direction=[direction for direction, _ in loads],
            access=[access for _, access in loads],
            storage=compared["storage"].astype(str),
            group=[groups.get(name, name) for name in laboratories],
            laboratory=laboratories,
            configuration=compared["configuration_id"].to_numpy(),
            level=compared["group"].to_numpy(),
            outcome=signs * compared["mean_log"].to_numpy(),
            variance=compared["arm_variance"].to_numpy(),
        )
        .reset_index(drop=True)
    )


def of_lists(
    findings: Mapping[str, pd.DataFrame], groups: Mapping[str, str], tier_scale: float, tier_doubt: float
) -> pd.DataFrame:
    """Return a cell for each pair of file systems that a tier list names.

    findings : workload to modelling.evidence.frames.findings; the others as for modelling.estimation.ranking.rank
    """
    cells = []
    level = 0
    for workload, rows in sorted(findings.items()):
        for _, tiers in scored_findings(rows, AXES["fs-pair"]).groupby("list"):
            standing = tiers.groupby("entry")["standing"].mean().to_dict()
            entries = sorted(standing)
            own = joint(entries, [], from_tiers(standing, 1, tier_doubt), tier_scale)
            variances = np.diag(own.covariance) * len(entries) / (len(entries) - 1)
            direction, access = kind_of_load(workload, "")
            for place, row in enumerate(tiers.drop_duplicates("entry").sort_values("entry").to_dict("records")):
                laboratory = row["publication"]
                context = {"workload": workload, "direction": direction, "access": access, "storage": ""}
                measured = {"level": level, "outcome": own.effects[place], "variance": variances[place]}
                whose = {
                    "laboratory": laboratory,
                    "group": groups.get(laboratory, laboratory),
                    "configuration": -1 - place,
                }
                cells.append(choices(row) | context | measured | whose)
            level += 1
    return pd.DataFrame(cells, columns=[*COLUMNS, "configuration", "level", "outcome", "variance"])


def choices(row: Mapping[str, object]) -> dict[str, str]:
    """Return each kind of choice with its value, "" where it is not stated. row : of an arm or a finding"""
    stated = {name: value if isinstance(value := row.get(name), str) else "" for name in CHOICES}
    guest_fs, host_fs = stated["guest_fs"], stated["host_fs"]
    stated["pair"] = pair_key(guest_fs, host_fs) if guest_fs and host_fs else ""
    stated["container"] = "yes" if row.get("virtualisation") == CONTAINER else ""
    return stated


def kind_of_load(workload: str, operation: str) -> tuple[str, str]:
    """Return (direction, access) of a load: "read" or "write", "random" or "sequential"; "" where it is both or its
    name does not say."""
    words = f"{workload} {operation}".casefold()
    reads, writes = "read" in words or workload in _READS, "writ" in words or workload in _WRITES
    direction = "" if reads == writes else "read" if reads else "write"
    random, sequential = "rand" in words, "seq" in words
    return direction, "" if random == sequential else "random" if random else "sequential"
