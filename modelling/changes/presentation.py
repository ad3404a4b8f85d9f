"""A history as a chart and as rows of tables, for a reader. No Django."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from modelling.answers.words import Chart

from .content import UNIT, History, Level, Point, Series
from .statistics.divisive import change_points, segments

SHOWN = 60  # points of a chart: more cannot be told apart on a phone


def history(key: str, series: Series, name: str, points: Sequence[Point], most_p: float) -> History:
    """Return a series over time with the changes that are at least as sure as asked for."""
    counted = [point for point in points if point.value is not None]
    values = np.log([point.value for point in counted if point.value is not None])
    changes = change_points(values, most_p) if len(values) else ()
    parts = segments(len(values), [change.place for change in changes]) if len(values) else []
    levels = []
    for number, part in enumerate(parts):
        first, told = counted[part.start], changes[number - 1].difference if number else None
        low, high = told.interval if told else (None, None)
        levels.append(
            Level(
                first.sitting,
                first.at,
                part.stop - part.start,
                exp(float(values[part].mean())),
                *((told.ratio, low, high, told.p) if told else (None, None, None, None)),
            )
        )
    return History(key, series, name, UNIT, most_p, tuple(points), tuple(levels))


@dataclass(frozen=True)
class Row:
    """A line of the table of points. level : that begins with it, if it is not the first one"""

    point: Point
    level: Level | None


def rows(told: History) -> list[Row]:
    """Return the points, newest first, each with the change that it begins."""
    begins = {level.sitting: level for level in told.levels if level.ratio is not None}
    return [Row(point, begins.get(point.sitting)) for point in reversed(told.points)]


def chart(told: History) -> Chart | None:
    """Draw the newest points, the range of each one's runs, and the levels; None where there is nothing to draw."""
    shown = told.points[-SHOWN:]
    if not any(point.value is not None for point in shown):
        return None
    levels = {level.sitting: level.value for level in told.levels}
    level, lines = None, []
    for point in told.points:
        level = levels.get(point.sitting, level)
        lines.append({"value": level, "low": None, "high": None} if level is not None and point.value else None)
    return Chart(
        id="chart-history",
        size="tall",
        label=f"Line chart: {UNIT} of {told.name} over time, and its levels. The table has the numbers.",
        data={
            "kind": "line",
            "horizontal": False,
            "unit": UNIT,
            "axis": "operations a second",
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
