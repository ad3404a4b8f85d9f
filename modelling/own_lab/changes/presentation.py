"""A history as a chart and as rows of tables, for a reader. No Django."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import Any

import numpy as np

from modelling.answers.words import Chart

from .content import FASTER, SLOWER, STEADY, UNKNOWN, Current, Drift, History, Level, Point, Series
from .statistics.newest import newest_drift
from .words import drift_sentence

_COLOURS, _DOUBT = {STEADY: "#2e7d32", SLOWER: "#b3261e", FASTER: "#1565c0", UNKNOWN: "#5f6368"}, "#8a5a00"
SHOWN = 60  # points of a chart: more cannot be told apart on a phone
LISTED = 100  # rows of the table of points


def make_history(
    current: Current, series: Series, points: Sequence[Point], changes: Mapping[int, tuple[float, float, float, bool]]
) -> History:
    """Return a series over time. changes : by first sitting; ratio, its ends, and whether it is confirmed"""
    counted = [point for point in points if point.value is not None]
    values = np.log([point.value for point in counted if point.value is not None])
    starts = [place for place, point in enumerate(counted) if place == 0 or point.sitting in changes]
    levels = []
    for start, end in pairwise([*starts, len(counted)]):
        first, middle = counted[start], exp(float(values[start:end].mean()))
        of_change = changes[first.sitting] if start else (None, None, None, None)
        levels.append(Level(first.sitting, first.at, end - start, middle, *of_change))
    rate = newest_drift(values[starts[-1] :]) if starts else None
    of_rate = (rate.ratio, *rate.interval) if rate else None
    drift = Drift(*of_rate, drift_sentence(*of_rate)) if of_rate else None
    return History(series.key, series, current.name, series.unit, current, tuple(points), tuple(levels), drift)


def badge(current: Current) -> tuple[str, str, str]:
    """Return the label of a badge, its text and its colour."""
    label = f"{current.load} on {current.name}"
    state = current.not_known or current.state
    text = f"{current.point.value:,.0f} {current.unit}, {state}" if current.point else state
    return label, text, _COLOURS.get(current.state, _DOUBT)


@dataclass(frozen=True)
class Row:
    """A line of the table of points. level : that begins with it, if it is not the first one"""

    point: Point
    level: Level | None


def rows(history: History) -> list[Row]:
    """Return the newest LISTED points, newest first, each with the change that it begins."""
    begins = {level.sitting: level for level in history.levels if level.ratio is not None}
    return [Row(point, begins.get(point.sitting)) for point in history.points[: -LISTED - 1 : -1]]


def chart(history: History) -> Chart | None:
    """Draw the newest points, the range of each one's runs, and the levels; None where there is nothing to draw."""
    shown = history.points[-SHOWN:]
    if not any(point.value is not None for point in shown):
        return None
    levels = {level.sitting: level.value for level in history.levels}
    level, lines = None, []
    for point in history.points:
        level = levels.get(point.sitting, level)
        lines.append({"value": level, "low": None, "high": None} if level is not None and point.value else None)
    return Chart(
        id="chart-history",
        size="tall",
        label=f"Line chart: {history.unit} of {history.name} over time, and its levels. The table has the numbers.",
        data={
            "kind": "line",
            "horizontal": False,
            "unit": history.unit,
            "axis": history.unit,
            "across": "UTC",
            "labels": [f"{point.at[5:10]} #{point.sitting}" for point in shown],
            "series": [
                {"name": "median of its runs, from slowest to fastest", "points": [_drawn(point) for point in shown]},
                {"name": "level", "points": lines[-SHOWN:]},
            ],
            "tones": None,
            "reference": None,
        },
    )


def _drawn(point: Point) -> dict[str, Any] | None:
    if point.value is None:
        return None
    return {"value": point.value, "low": point.slowest, "high": point.fastest}
