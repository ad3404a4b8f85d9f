"""Finds what the entries of an answer reached beside the first, in the units of the sources. No Django."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kdb.units import METRICS
from modelling.estimation.ranking import RankedPart

from .content import MeasuredDifference

MOST = 40  # rows; the case studies have the others
_ORDER = ["case_study", "vm_count", "operation", "block_size_bytes"]  # equal within a fair-play group
_TOLD = [*_ORDER, "group", "entry", "mean_log", "unit", "origin", "source"]


def differences(parts: Sequence[RankedPart], arms: Mapping[str, pd.DataFrame]) -> tuple[MeasuredDifference, ...]:
    """Find what each entry of a part reached, beside the part's reference, the best ranked first.

    arms : metric to a frame of modelling.estimation.arms.comparable_arms
    Only what one fair-play group holds: nothing is worked out from a ratio for a machine that nobody measured.
    """
    beside: list[MeasuredDifference] = []
    for part in parts:
        measured = {metric: arms[metric][_TOLD] for metric in METRICS if metric in arms}
        first = {
            metric: frame[frame["entry"] == part.reference].sort_values(_ORDER, kind="stable", na_position="first")
            for metric, frame in measured.items()
        }
        for entry in sorted(part.entries, key=lambda entry: entry.rank):
            if len(beside) >= MOST:
                return tuple(beside[:MOST])
            if entry.key == part.reference:
                continue
            for metric, frame in measured.items():
                other = frame[frame["entry"] == entry.key]
                paired = first[metric][first[metric]["group"].isin(other["group"])].head(MOST)
                pairs = paired.merge(other, on="group", suffixes=("_first", "")).head(MOST)
                beside += [_difference(part.number, metric, pair) for pair in pairs.to_dict("records")]
    return tuple(beside[:MOST])


def _difference(part: int, metric: str, pair: Mapping[str, Any]) -> MeasuredDifference:
    return MeasuredDifference(
        part=part,
        first=pair["entry_first"],
        other=pair["entry"],
        case_study=pair["case_study"],
        sources=tuple(sorted({pair["source_first"], pair["source"]} - {""})),
        metric=metric,
        unit=pair["unit"],
        operation=pair["operation"],
        block_size_bytes=None if pd.isna(pair["block_size_bytes"]) else int(pair["block_size_bytes"]),
        vm_count=int(pair["vm_count"]),
        first_value=_value(pair["mean_log_first"]),
        other_value=_value(pair["mean_log"]),
        derived="derived" in (pair["origin_first"], pair["origin"]),
    )


def _value(mean_log: float) -> float:
    """Return the value as the source prints it: to as many digits as survive the logarithm."""
    return float(f"{math.exp(mean_log):.12g}")
