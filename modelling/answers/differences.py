"""Finds what the entries of an answer reached beside the first, in the units of the sources. No Django."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
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
    pairs = list(islice(_pairs(parts, {metric: arms[metric] for metric in METRICS if metric in arms}), MOST))
    told = {}
    for metric in {metric for _, metric, _, _ in pairs}:
        places = sorted({place for _, of, *both in pairs if of == metric for place in both})
        rows = arms[metric][_TOLD].iloc[places].to_dict("records")
        told[metric] = dict(zip(places, rows, strict=True))
    return tuple(
        _difference(part, metric, told[metric][first], told[metric][other]) for part, metric, first, other in pairs
    )


def _pairs(parts: Sequence[RankedPart], arms: Mapping[str, pd.DataFrame]) -> Iterator[tuple[int, str, int, int]]:
    """Yield part, metric, and the rows of the reference and of another entry that one fair-play group holds.

    Told on arrays: a frame for each entry and metric took longer than all else that is said of an answer.
    """
    for part in parts:
        entry = {metric: frame["entry"].to_numpy() for metric, frame in arms.items()}
        first = {metric: _in_order(frame, entry[metric] == part.reference) for metric, frame in arms.items()}
        for key in (ranked.key for ranked in sorted(part.entries, key=lambda ranked: ranked.rank)):
            if key == part.reference:
                continue
            for metric, frame in arms.items():
                group = frame["group"].to_numpy()
                others = np.flatnonzero(entry[metric] == key)
                for place in first[metric][np.isin(group[first[metric]], group[others])][:MOST]:
                    for other in others[group[others] == group[place]]:
                        yield part.number, metric, int(place), int(other)


def _in_order(frame: pd.DataFrame, is_wanted: np.ndarray) -> np.ndarray:
    """Return the places of the wanted rows, by case study, number of machines, operation and block size."""
    places = np.flatnonzero(is_wanted)
    rows = frame[_ORDER].iloc[places].set_axis(places)
    return rows.sort_values(_ORDER, kind="stable", na_position="first").index.to_numpy()


def _difference(part: int, metric: str, first: Mapping[str, Any], other: Mapping[str, Any]) -> MeasuredDifference:
    return MeasuredDifference(
        part=part,
        first=first["entry"],
        other=other["entry"],
        case_study=other["case_study"],
        sources=tuple(sorted({first["source"], other["source"]} - {""})),
        metric=metric,
        unit=other["unit"],
        operation=other["operation"],
        block_size_bytes=None if pd.isna(other["block_size_bytes"]) else int(other["block_size_bytes"]),
        vm_count=int(other["vm_count"]),
        first_value=_value(first["mean_log"]),
        other_value=_value(other["mean_log"]),
        derived="derived" in (first["origin"], other["origin"]),
    )


def _value(mean_log: float) -> float:
    """Return the value as the source prints it: to as many digits as survive the logarithm."""
    return float(f"{math.exp(mean_log):.12g}")
