"""Find the evidence on two entries: an estimate, fair-play groups with both, confounding, tier lists."""

import numpy as np
import pandas as pd

from kdb.units import METRICS
from modelling.estimation.ranking import RankedPart, Ranking
from modelling.evidence import names as catalogue
from modelling.evidence.axes import Axis
from modelling.evidence.fairplay import find_confounders

from .facts import Confounding, Contrast, DirectGroup, Tier

_GROUP_COLUMNS = ["case_study", "source", "vm_count", "operation", "block_size_bytes", "metric"]


def shared_part(ranking: Ranking, a: str, b: str) -> RankedPart | None:
    """Return the part of the ranking that holds both; None where none does."""
    return next((part for part in ranking.parts if {a, b} <= set(part.members)), None)


def contrast_between(part: RankedPart | None, a: str, b: str) -> Contrast | None:
    """Return the estimated ratio of two entries of a part; None where no chain of numbers joins them."""
    if part is None or a == b or not part.has_numbers_between(a, b):
        return None
    ends = np.exp([part.difference(a, b)[0], *part.interval(a, b)])
    return Contrast(*(float(x) for x in ends))


def direct_groups(used: pd.DataFrame, a: str, b: str) -> tuple[DirectGroup, ...]:
    """Return the fair-play groups that hold both entries. used : arms of the two"""
    if a == b:
        return ()
    means = [
        rows.groupby("fair_play_group")["mean_log"].mean() for rows in (used[used["entry"] == key] for key in (a, b))
    ]
    difference = (means[0] - means[1]).dropna()
    derived = set(used["fair_play_group"][used["origin"] == "derived"])
    first = used.drop_duplicates("fair_play_group").set_index("fair_play_group").loc[difference.index]
    return tuple(
        DirectGroup(
            row.case_study,
            row.source,
            int(row.vm_count),
            row.operation,
            None if pd.isna(row.block_size_bytes) else int(row.block_size_bytes),
            float(np.exp(METRICS[row.metric].direction * difference[row.Index])),
            "derived" if row.Index in derived else "measured",
        )
        for row in first[_GROUP_COLUMNS].itertuples()
    )


def find_confounding(axis: Axis, a: str, b: str, used: pd.DataFrame) -> Confounding:
    """Return the confounding columns in the fair-play groups that hold both entries. used : arms of the two"""
    both = used[used.groupby("fair_play_group")["entry"].transform("nunique") > 1]
    came = find_confounders(both, axis.may_confound, axis.set_by_entry)
    causes = [name for name, is_cause in came.items() if is_cause.any()]
    left_open = tuple(name for name in causes if name in axis.set_by_entry and (both[name] == "").any())
    values = {name: [set(both[name][both["entry"] == key].map(str)) for key in (a, b)] for name in causes}
    differing = tuple(name for name, (of_a, of_b) in values.items() if name not in left_open and of_a != of_b)
    return Confounding(differing, left_open)


def tiers_between(ranking: Ranking, axis: Axis, a: str, b: str) -> tuple[Tier, ...]:
    """Return the tier lists that place both entries."""
    if a == b:
        return ()
    tiers, file_systems = [], catalogue.names()["file_system"]
    for _, rows in ranking.findings.groupby("list"):
        standing = rows.groupby("entry")["standing"].mean()
        if {a, b} <= set(standing.index):
            first = next(rows.itertuples(index=False))
            tiers.append(
                Tier(
                    first.publication,
                    first.case_studies,
                    first.text_source,
                    float(standing[a]),
                    float(standing[b]),
                    {
                        column: file_systems.get(getattr(first, column), getattr(first, column))
                        for column in axis.held
                        if column in ("guest_fs", "host_fs")
                    },
                )
            )
    return tuple(tiers)
