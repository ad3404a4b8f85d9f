"""The report on the models' quality as tables of words: for the page, the command and the documentation.

No queries, no HTML. What does not exist is an en dash.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from modelling.answers import words
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question

NOTHING = "–"
_NUMBERS = ("answered", "kendall", "spearman", "top", "ratio_error", "covered")
_HEADINGS = {
    "axis": "Axis",
    "method": "Method",
    "answered": "Questions answered",
    "kendall": "Kendall’s τ",
    "spearman": "Spearman’s ρ",
    "top": "Best one hit (by chance)",
    "ratio_error": "Ratios off by (median)",
    "covered": "Ratios inside the 95 % interval",
}


@dataclass(frozen=True)
class Column:
    heading: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """rows : the cells of each, as many as columns; links : for each row an address or ''."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[str, ...] = ()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Rows ready for a template: a heading, its link, the other cells with their columns."""
        links = self.links or ("",) * len(self.rows)
        return [
            {"head": row[0], "link": link, "cells": list(zip(row[1:], self.columns[1:], strict=True))}
            for row, link in zip(self.rows, links, strict=True)
        ]


def tables(result: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """All tables of a report; names as modelling.evidence.names.names gives them."""
    return [overall(result), by_axis(result), reasons(result), by_question(result, names)]


def overall(result: Mapping[str, Any]) -> Table:
    """Every method over all questions, and how it does against the naive ones where both answer."""
    labels = _labels(result)
    naive = [method["method"] for method in result["methods"] if method["is_naive"]]
    columns = [Column(_HEADINGS["method"]), *(Column(_HEADINGS[name], True) for name in _NUMBERS)]
    columns += [Column(f"Better, alike, worse than “{labels[name]}”", True) for name in naive]
    rows = []
    for summary in result["summaries"]:
        if summary["axis"] is None:
            duels = {duel["naive"]: duel for duel in summary["duels"]}
            against = [_duel(duels[name]) if name in duels else NOTHING for name in naive]
            rows.append((labels[summary["method"]], *_numbers(summary), *against))
    return Table("All questions", tuple(columns), tuple(rows))


def by_axis(result: Mapping[str, Any]) -> Table:
    """Every method on every axis it can be asked about."""
    labels = _labels(result)
    columns = (
        Column(_HEADINGS["axis"]),
        Column(_HEADINGS["method"]),
        *(Column(_HEADINGS[name], True) for name in _NUMBERS),
    )
    rows = tuple(
        (AXES[summary["axis"]].label, labels[summary["method"]], *_numbers(summary))
        for summary in result["summaries"]
        if summary["axis"] is not None
    )
    return Table("By what is chosen", columns, rows)


def by_question(result: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> Table:
    """Kendall's tau of every method on every question, and of how many entries where it does not know all."""
    columns = (
        Column("Question"),
        Column("Left out"),
        Column("Held against"),
        *(Column(method["label"], True) for method in result["methods"]),
    )
    rows, links = [], []
    for asked in result["questions"]:
        question = Question(asked["axis"], asked["workload"], hypervisor=asked["hypervisor"])
        told = {prediction["method"]: prediction for prediction in asked["predictions"]}
        rows.append(
            (
                words.title(question, names),
                ", ".join(asked["case_studies"]),
                "tier lists" if asked["basis"] == "findings" else "numbers",
                *(_agreement(told.get(method["method"]), len(asked["entries"])) for method in result["methods"]),
            )
        )
        links.append(words.address(question))
    return Table("Kendall’s τ, question by question", columns, tuple(rows), tuple(links))


def reasons(result: Mapping[str, Any]) -> Table:
    """Why predictions are missing, and how often."""
    labels = _labels(result)
    found = Counter(
        (prediction["method"], prediction["cannot"])
        for asked in result["questions"]
        for prediction in asked["predictions"]
        if prediction["cannot"]
    )
    columns = (Column("Method"), Column("Why it cannot predict"), Column("Questions", True))
    places = list(labels)
    ordered = sorted(found.items(), key=lambda item: (places.index(item[0][0]), -item[1], item[0][1]))
    rows = tuple((labels[method], reason[0].upper() + reason[1:], str(count)) for (method, reason), count in ordered)
    return Table("What cannot be predicted", columns, rows)


def markdown(table: Table) -> str:
    """The table as documentation has it."""
    lines = [
        [column.heading for column in table.columns],
        ["---:" if column.is_number else "---" for column in table.columns],
        *table.rows,
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(table: Table) -> str:
    """The table in columns, for a terminal."""
    lines = [tuple(column.heading for column in table.columns), *table.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(line, widths, table.columns, strict=True)
        ).rstrip()
        for line in lines
    )


def _labels(result: Mapping[str, Any]) -> dict[str, str]:
    return {method["method"]: method["label"] for method in result["methods"]}


def _numbers(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """The cells of _NUMBERS."""
    pairs = summary["pairs"]
    return (
        f"{summary['answered']} of {summary['asked']}",
        _signed(summary["kendall"]),
        _signed(summary["spearman"]),
        NOTHING if summary["top"] is None else f"{summary['top']:.0%} ({summary['by_chance']:.0%})",
        NOTHING if not pairs else f"{summary['ratio_error']:.2f}×",
        NOTHING if not pairs else f"{summary['covered']} of {pairs}",
    )


def _agreement(prediction: Mapping[str, Any] | None, entries: int) -> str:
    if prediction is None or prediction["cannot"]:
        return NOTHING
    known = len(prediction["order"])
    return _signed(prediction["kendall"]) + ("" if known == entries else f" ({known} of {entries})")


def _duel(duel: Mapping[str, Any]) -> str:
    counted = (duel["better"], duel["alike"], duel["worse"])
    return ", ".join(map(str, counted)) if any(counted) else NOTHING


def _signed(value: float | None) -> str:
    return NOTHING if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
