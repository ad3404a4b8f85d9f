"""List the values and ratios of entries that were measured side by side. No Django."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from kdb.units import METRICS
from modelling.estimation.network import Trial
from modelling.estimation.ranking import RankedPart, Ranking, part_links
from modelling.evidence.axes import Axis

from .content import MeasuredDifference, MeasuredRatio, TierList

MOST = 40  # rows; the pages of case studies show all
_ORDER = ["case_study", "vm_count", "operation", "block_size_bytes"]  # equal within a fair-play group
_COLUMNS = [*_ORDER, "fair_play_group", "entry", "mean_log", "unit", "origin", "source"]


def find_differences(parts: Sequence[RankedPart], arms: Mapping[str, pd.DataFrame]) -> tuple[MeasuredDifference, ...]:
    """Return each entry's values and those of its part's reference in the same fair-play group, best ranked first.

    arms : metric to a frame of modelling.estimation.arms.comparable_arms
    """
    pairs = list(islice(_pairs(parts, {metric: arms[metric] for metric in METRICS if metric in arms}), MOST))
    records = {}
    for metric in {metric for _, metric, _, _ in pairs}:
        places = sorted({place for _, of_metric, *both in pairs if of_metric == metric for place in both})
        rows = arms[metric][_COLUMNS].iloc[places].to_dict("records")
        records[metric] = dict(zip(places, rows, strict=True))
    return tuple(
        _difference(part, metric, records[metric][first], records[metric][other])
        for part, metric, first, other in pairs
    )


def _pairs(parts: Sequence[RankedPart], arms: Mapping[str, pd.DataFrame]) -> Iterator[tuple[int, str, int, int]]:
    """Yield part, metric, and the row numbers of the reference and of another entry in one fair-play group.

    Works on arrays: a frame for each entry and metric took longer than all other wording of an answer.
    """
    for part in parts:
        entry = {metric: frame["entry"].to_numpy() for metric, frame in arms.items()}
        first = {metric: _sort(frame, entry[metric] == part.reference) for metric, frame in arms.items()}
        for key in (ranked.key for ranked in sorted(part.entries, key=lambda ranked: ranked.rank)):
            if key == part.reference:
                continue
            for metric, frame in arms.items():
                group = frame["fair_play_group"].to_numpy()
                others = np.flatnonzero(entry[metric] == key)
                for place in first[metric][np.isin(group[first[metric]], group[others])][:MOST]:
                    for other in others[group[others] == group[place]]:
                        yield part.number, metric, int(place), int(other)


def _sort(frame: pd.DataFrame, is_wanted: np.ndarray) -> np.ndarray:
    """Return the numbers of the wanted rows, sorted by case study, number of machines, operation and block size."""
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
    """Return the value as the source prints it, without the digits that the logarithm adds."""
    return float(f"{math.exp(mean_log):.12g}")


def find_ratios(ranking: Ranking, choice: Collection[str]) -> tuple[MeasuredRatio, ...]:
    """Return each laboratory's ratios of the recommended entry to the others, best ranked first.

    choice : keys of the recommended entries
    The ratio of the two entries of a part's verdict is included, last where neither is recommended.
    """
    ratios = []
    for part in ranking.parts:
        links, contrast = part_links(part, ranking.arms), part.verdict.contrast
        contrasted = [(contrast.first, contrast.second)] if contrast else []
        keys = [entry.key for entry in part.entries]
        by_choice = sorted([*(first for first, _ in contrasted), *keys], key=lambda key: key not in choice)
        first = next((key for key in by_choice if key in links.place), None)
        pairs = [(first, key) for key in keys if first and key != first]
        pairs += [pair for pair in contrasted if first not in pair]
        ratios += [
            _ratio(part.number, pair, trial, ranking.arms)
            for pair in pairs
            for trial in links.trials
            if {*pair} <= {*trial.treatments}
        ]
    return tuple(ratios[:MOST])


def _ratio(part: int, pair: tuple[str, str], trial: Trial, arms: pd.DataFrame) -> MeasuredRatio:
    first, other = (trial.treatments.index(key) for key in pair)
    rows = arms[arms["case_study"].isin(trial.sources) & arms["entry"].isin(pair)]
    return MeasuredRatio(
        part=part,
        first=pair[0],
        other=pair[1],
        ratio=float(np.exp(trial.effects[first, other])),
        case_studies=tuple(sorted(rows["case_study"].unique())),
        years=tuple(sorted({int(year) for year in rows["year"].dropna()})),
        storage=tuple(sorted({str(kind) for kind in rows["storage"].dropna() if kind})),
        derived=bool((rows["origin"] != "measured").any()),
    )


def list_tiers(ranking: Ranking, axis: Axis, names: Mapping[str, str]) -> tuple[TierList, ...]:
    """Return the published tier lists. names : slug of a file system to its name"""
    return tuple(
        TierList(
            case_studies=tuple(sorted({slug for slugs in rows["case_studies"] for slug in slugs})),
            best=tuple(rows["entry"][rows["standing"] > 0]),
            middle=tuple(rows["entry"][rows["standing"] == 0]),
            worst=tuple(rows["entry"][rows["standing"] < 0]),
            beside=" and ".join(
                text.format(names[rows[column].iloc[0]])
                for column, text in (("guest_fs", "{} in the guest"), ("host_fs", "{} on the host"))
                if column in axis.held
            ),
        )
        for _, rows in ranking.findings.sort_values("standing", ascending=False, kind="stable").groupby("list")
    )
