"""Lay out the report on model quality as sentences, tables and charts, for page, command and documentation.

No queries, no HTML. `result` is the JSON of content.ModelQuality; missing values are an en dash.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from modelling.answers.words import Chart
from modelling.evidence.axes import AXES, COLUMN_LABELS, KINDS
from modelling.evidence.words import listed

Names = Mapping[str, Mapping[str, str]]  # of modelling.evidence.names.names
Json = Mapping[str, Any]

NOTHING = "–"


@dataclass(frozen=True)
class Column:
    heading: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """A table of texts. rows : cells, one for each column; links : address of each row, or ''"""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[str, ...] = ()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return the rows for a template: heading, link, and other cells with their columns."""
        links = self.links or ("",) * len(self.rows)
        return [
            {"head": row[0], "link": link, "cells": list(zip(row[1:], self.columns[1:], strict=True))}
            for row, link in zip(self.rows, links, strict=True)
        ]


def _table(title: str, headings: Iterable[str], rows: Iterable[tuple[str, ...]], links: Iterable[str] = ()) -> Table:
    """Return a table. headings : with a leading # for columns of numbers"""
    columns = tuple(Column(heading.removeprefix("#"), heading.startswith("#")) for heading in headings)
    return Table(title, columns, tuple(rows), tuple(links))


def markdown(table: Table) -> str:
    """Return the table in Markdown."""
    lines = [
        [column.heading for column in table.columns],
        ["---:" if column.is_number else "---" for column in table.columns],
        *table.rows,
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(table: Table) -> str:
    """Return the table in columns, for a terminal."""
    lines = [tuple(column.heading for column in table.columns), *table.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(line, widths, table.columns, strict=True)
        ).rstrip()
        for line in lines
    )


# Tables


def tables(result: Json, names: Names) -> list[Table]:
    """Return all tables of a report; one without rows is left out."""
    every = []
    if forms := result["groups"]["forms"]:
        every.append(_table("Each research group left out", _FORM, (_form_row(form, names) for form in forms)))
    return [*every, _implausible_table(result, names)] if result["flagged"] else every


_FORM = (
    *("Forecasts of", "#Research groups", "#Comparisons", "#Weight", "#Inside the 95 % interval"),
    *("#Inside the central half", "#Log score", "#Log score of “no difference”", "#80 % sure or more, and right"),
    "Better than “no difference”",
)


def _form_row(form: Json, names: Names) -> tuple[str, ...]:
    right = NOTHING if form["right"] is None else f"{form['right']:.0%} of {form['sure']:.1f}"
    verdict = "too few groups to tell"
    if form["is_better"] is not None:
        verdict = f"{'yes' if form['is_better'] else 'no'}: {_score_difference(form)}"
    rival = _format_score(form["no_difference"])
    if form["by"] == "group":  # the width of one group comes from its results, so it is no fair rival
        rival = verdict = NOTHING
    return (
        _form_name(form["by"], form["name"], names),
        str(form["groups"]),
        str(form["contrasts"]),
        f"{form['weight']:.1f}",
        f"{form['inside_95']:.0%}",
        f"{form['inside_50']:.0%}",
        _format_score(form["log_score"]),
        rival,
        right,
        verdict,
    )


def _form_name(by: str, name: str, names: Names) -> str:
    match by:
        case "all":
            return "Everything"
        case "laboratory":
            of_choice = f": {_form_name('choice', name, names)}" if name else ""
            return f"Same laboratory, other workloads known{of_choice}"
        case "choice":
            return AXES[name].label if name in AXES else COLUMN_LABELS[name].capitalize()  # of an earlier report
        case "group":
            return f"Left out: {name}"
        case "load":
            return f"Load: {name or 'mixed or not stated'}"
        case _:
            return f"Disks: {names['storage'].get(name, name) if name else 'not stated'}"


def _score_difference(form: Json) -> str:
    """Return the difference of its log score to that of "no difference", with the standard error."""
    return f"{_format_score(form['log_score'] - form['no_difference'])} ± {form['error']:.2f}"


def _implausible_table(result: Json, names: Names) -> Table:
    """Return the table of implausible published numbers."""
    rows, links = [], []
    for number in result["flagged"]:
        workload = names["workload"].get(number["workload"], number["workload"])
        load, value = ", ".join(dict.fromkeys((workload, number["operation"]))), f"{number['value']:,.5g}"
        cells = (number["configuration"], load, str(number["vm_count"]), f"{value} {number['unit']}")
        rows.append((number["case_study"], *cells, number["flag"], number["reason"]))
        links.append(f"/case-studies/{number['case_study']}/#protocol")
    headings = ("Case study", "Configuration", "Load", "#Machines", "#Value", "Looks like", "Why")
    return _table("Numbers that look like no disk’s", headings, rows, links)


def _format_score(value: float | None) -> str:
    return NOTHING if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


# Sentences


_SHORTFALLS = {
    "inside": "fewer than 90 % of measured ratios lie inside their 95 % interval",
    "log_score": "its log score is below that of “no difference”",
}


def describe_forecasts(result: Json) -> list[str]:
    """Return sentences on the model in use for forecasts, and reasons against it."""
    forecasts = result["forecasts"]
    since = date.fromisoformat(forecasts["since"])
    sentences = [f"What nobody measured is forecast by {forecasts['label'].lower()}, since {since:%-d %B %Y}."]
    if forecasts["shortfalls"]:
        reasons = listed(_SHORTFALLS[shortfall] for shortfall in forecasts["shortfalls"])
        sentences.append(f"On this evidence it should not be: {reasons}.")
    return sentences


def describe_success(result: Json, names: Names) -> list[str]:
    """Say for which comparisons forecasts are better than "no difference".

    One sentence for new laboratories, and one for those known under other workloads.
    """
    sentences = []
    for whose, kinds in (
        ("In a laboratory that nobody has seen", ("all", "choice")),
        ("In a laboratory that is known under other workloads", ("laboratory",)),
    ):
        by_extent: dict[str, list[str]] = {"by more than the standard error": [], "by less than that": [], "not": []}
        for form in result["groups"]["forms"]:
            if form["by"] in kinds and form["is_better"] is not None:
                above = form["log_score"] - form["no_difference"]
                extent = "by more than the standard error" if above > form["error"] else "by less than that"
                name = _form_name("choice", form["name"], names) if form["name"] else "everything together"
                by_extent[extent if above > 0 else "not"].append(f"{name} ({_score_difference(form)})")
        parts = [f"{extent}: {listed(of_forms)}" for extent, of_forms in by_extent.items() if of_forms]
        if parts:
            sentences.append(f"{whose} forecasts are better than “no difference” (log score) {'; '.join(parts)}.")
    return sentences


# Charts


@dataclass(frozen=True)
class Plot:
    """A chart with a sentence on what it shows, and a table of its numbers."""

    title: str
    sentence: str
    chart: Chart
    table: Table


def plots(result: Json, names: Names) -> list[Plot]:
    """Return the plots of forecasts for held-out groups; [] where there are none."""
    groups = result["groups"]
    if not groups["calibration"]:
        return []
    return [_calibration_plot(groups["calibration"]), _example_plot(groups["examples"], names)]


def _calibration_plot(points: list[Json]) -> Plot:
    series = [("Inside its interval", "interval"), ("Right which of two is faster", "direction")]
    shown = [(name, [point for point in points if point["of"] == of]) for name, of in series]
    return _plot(
        "Said against came true",
        "On the broken line, what was said to be 80 % sure came true 80 times in 100. Below it forecasts were "
        "too sure of themselves, above it too cautious.",
        ("calibration", "How often forecasts came true over how sure they were. The table has the numbers."),
        ("linear", "%", "Said, %", "Came true, %"),
        [
            (name, [_point(100 * p["said"], 100 * p["came_true"], f"{p['weight']:.1f} weight") for p in of_series])
            for name, of_series in shown
        ],
        ("Forecast", "#Said", "#Came true", "#Weight"),
        [
            (name, f"{p['said']:.0%}", f"{p['came_true']:.0%}", f"{p['weight']:.1f}")
            for name, of_series in shown
            for p in of_series
        ],
    )


def _example_plot(examples: list[Json], names: Names) -> Plot:
    is_inside = [example["low"] <= example["found"] <= example["high"] for example in examples]
    compared = [listed(_difference(choice, names) for choice in example["differing"]) for example in examples]
    return _plot(
        "Forecast against found",
        f"{len(examples)} forecasts, spread over all research groups, each made without the group that then found "
        f"something; {sum(is_inside)} of them found it inside their 95 % interval, which crosses the broken line.",
        (
            "examples",
            "Forecast ratios with their 95 % intervals over the ratios that were found, logarithmic. The table "
            "has the numbers.",
        ),
        ("logarithmic", "×", "Found, times", "Forecast with 95 %, times"),
        [
            (
                "Forecast",
                [
                    _point(e["found"], e["forecast"], name, e["low"], e["high"])
                    for e, name in zip(examples, compared, strict=True)
                ],
            )
        ],
        ("Compared", "Research group left out", "#Forecast", "#95 % interval", "#Found", "Inside"),
        [
            (
                name,
                e["group"],
                f"{e['forecast']:.2f}×",
                f"{e['low']:.2f} to {e['high']:.2f}",
                f"{e['found']:.2f}×",
                "yes" if inside else "no",
            )
            for e, name, inside in zip(examples, compared, is_inside, strict=True)
        ],
    )


def _plot(
    title: str,
    sentence: str,
    chart: tuple[str, str],
    axes: tuple[str, str, str, str],
    series: list[tuple[str, list[dict[str, Any]]]],
    headings: tuple[str, ...],
    rows: list[tuple[str, ...]],
) -> Plot:
    """Return a plot of points. chart : name and label; axes : scale, unit, and labels across and up"""
    (name, label), (scale, unit, across, up) = chart, axes
    data = {
        "kind": "against",
        "scale": scale,
        "unit": unit,
        "across": across,
        "axis": up,
        "labels": [],
        "series": [{"name": of, "points": points} for of, points in series],
    }
    drawn = Chart(id=f"chart-{name}", size="", label=label, data=data)
    return Plot(title, sentence, drawn, _table(title, headings, rows))


def _point(x: float, value: float, name: str, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"x": x, "value": value, "low": low, "high": high, "name": name}


def _difference(choice: Mapping[str, str], names: Names) -> str:
    """Write two choices: "KVM against Xen", with their column where they have no display names."""
    known = names.get(KINDS.get(choice["column"], ""), {})
    one, other = (known.get(choice[side], choice[side]) or "not stated" for side in ("first", "second"))
    column = COLUMN_LABELS.get(choice["column"], choice["column"].replace("_", " "))
    return f"{one} against {other}" if known else f"{column} {one} against {other}"
