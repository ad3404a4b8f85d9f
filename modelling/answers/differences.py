"""What the entries of an answer reached beside the first, in the units of the sources. No Django."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from kdb.units import METRICS
from modelling.estimation.ranking import RankedPart

from .content import MeasuredDifference

MOST = 40  # rows; the case studies have the others


def differences(parts: Sequence[RankedPart], arms: Mapping[str, pd.DataFrame]) -> tuple[MeasuredDifference, ...]:
    """What each entry of a part was measured at beside the part's reference, the best ranked first.

    arms : metric to a frame of modelling.evidence.arms.comparable_arms
    Only what one fair-play group holds: nothing is worked out from a ratio for a machine that nobody measured.
    """
    found = []
    for part in parts:
        place = {entry.key: entry.rank for entry in part.entries}
        for metric, frame in arms.items():
            groups = set(frame["group"][frame["entry"] == part.reference])
            inside = frame[frame["group"].isin(groups) & frame["entry"].isin(place)]
            for _, rows in inside.groupby("group", sort=False):
                first = rows[rows["entry"] == part.reference].itertuples(index=False)
                others = rows[rows["entry"] != part.reference].itertuples(index=False)
                for mine, other in product(list(first), list(others)):
                    found.append((place[other.entry], _difference(part.number, metric, mine, other)))
    metrics = list(METRICS)
    found.sort(
        key=lambda each: (
            each[1].part,
            each[0],
            metrics.index(each[1].metric),
            each[1].case_study,
            each[1].vm_count,
            each[1].operation,
            each[1].block_size_bytes or 0,
        )
    )
    return tuple(difference for _, difference in found[:MOST])


def _difference(part: int, metric: str, mine: Any, other: Any) -> MeasuredDifference:
    return MeasuredDifference(
        part=part,
        first=mine.entry,
        other=other.entry,
        case_study=mine.case_study,
        sources=tuple(sorted({mine.source, other.source} - {""})),
        metric=metric,
        unit=mine.unit,
        operation=mine.operation,
        block_size_bytes=None if pd.isna(mine.block_size_bytes) else int(mine.block_size_bytes),
        vm_count=int(mine.vm_count),
        first_value=_value(mine),
        other_value=_value(other),
        derived="derived" in (mine.origin, other.origin),
    )


def _value(arm: Any) -> float:
    """As the source prints it: to as many digits as survive the logarithm."""
    return float(f"{math.exp(arm.mean_log):.12g}")
