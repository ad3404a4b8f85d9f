"""The report on the models' quality as charts with their tables. No queries, no HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from modelling.answers.words import Chart
from modelling.evidence.axes import COLUMN_LABELS, KINDS
from modelling.evidence.words import listed

from .tables import Column, Table

Names = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Plot:
    """A chart, what it shows in a sentence, and its numbers."""

    title: str
    sentence: str
    chart: Chart
    table: Table


def plots(result: Mapping[str, Any], names: Names) -> list[Plot]:
    """Draw how forecasts of research groups that were left out did; nothing where none was tested."""
    groups = result["groups"]
    return [_calibration(groups["calibration"]), _examples(groups["examples"], names)] if groups["calibration"] else []


def _calibration(points: Sequence[Mapping[str, Any]]) -> Plot:
    intervals = [point for point in points if point["of"] == "interval"]
    directions = [point for point in points if point["of"] == "direction"]
    series = [("Inside its interval", intervals), ("Right which of two is faster", directions)]
    return Plot(
        title="Said against came true",
        sentence="On the broken line, what was said to be 80 % sure came true 80 times in 100. Below it forecasts were "
        "too sure of themselves, above it too cautious.",
        chart=Chart(
            id="chart-calibration",
            size="",
            label="How often forecasts came true over how sure they were. The table has the numbers.",
            data={
                "kind": "against",
                "scale": "linear",
                "unit": "%",
                "across": "Said, %",
                "axis": "Came true, %",
                "labels": [],
                "series": [
                    {
                        "name": name,
                        "points": [
                            _point(100 * p["said"], 100 * p["came_true"], f"{p['weight']:.1f} weight") for p in shown
                        ],
                    }
                    for name, shown in series
                ],
            },
        ),
        table=Table(
            "Said against came true",
            (Column("Forecast"), Column("Said", True), Column("Came true", True), Column("Weight", True)),
            tuple(
                (name, f"{p['said']:.0%}", f"{p['came_true']:.0%}", f"{p['weight']:.1f}")
                for name, shown in series
                for p in shown
            ),
        ),
    )


def _examples(examples: Sequence[Mapping[str, Any]], names: Names) -> Plot:
    inside = sum(example["low"] <= example["found"] <= example["high"] for example in examples)
    title = "Forecast against found"
    return Plot(
        title=title,
        sentence=f"{len(examples)} forecasts, spread over all research groups, each made without the group that then "
        f"found something; {inside} of them found it inside their 95 % interval, which crosses the broken line.",
        chart=Chart(
            id="chart-examples",
            size="",
            label="Forecast ratios with their 95 % intervals over the ratios that were found, logarithmic. The table "
            "has the numbers.",
            data={
                "kind": "against",
                "scale": "logarithmic",
                "unit": "×",
                "across": "Found, times",
                "axis": "Forecast with 95 %, times",
                "labels": [],
                "series": [
                    {
                        "name": "Forecast",
                        "points": [
                            _point(e["found"], e["forecast"], _said(e, names), e["low"], e["high"]) for e in examples
                        ],
                    }
                ],
            },
        ),
        table=Table(
            title,
            (
                Column("Compared"),
                Column("Research group left out"),
                Column("Forecast", True),
                Column("95 % interval", True),
                Column("Found", True),
                Column("Inside"),
            ),
            tuple(
                (
                    _said(e, names),
                    e["group"],
                    f"{e['forecast']:.2f}×",
                    f"{e['low']:.2f} to {e['high']:.2f}",
                    f"{e['found']:.2f}×",
                    "yes" if e["low"] <= e["found"] <= e["high"] else "no",
                )
                for e in examples
            ),
        ),
    )


def _point(x: float, value: float, name: str, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"x": x, "value": value, "low": low, "high": high, "name": name}


def _said(example: Mapping[str, Any], names: Names) -> str:
    """Name the two that were compared by what they differ in: "KVM against Xen"; with its kind where it says little."""
    return listed(_choice(choice, names) for choice in example["differing"])


def _choice(choice: Mapping[str, str], names: Names) -> str:
    known = names.get(KINDS.get(choice["column"], ""), {})
    one, other = (known.get(choice[side], choice[side]) or "not stated" for side in ("first", "second"))
    column = COLUMN_LABELS.get(choice["column"], choice["column"].replace("_", " "))
    return f"{one} against {other}" if known else f"{column} {one} against {other}"
