"""The report on the models' quality as tables of words: for the page, the command and the documentation.

No queries, no HTML. What does not exist is an en dash.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import exp
from typing import Any

from modelling.answers import words
from modelling.evidence.axes import AXES, COLUMN_LABELS
from modelling.evidence.question import Question
from modelling.evidence.words import listed

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

_CLUSTERED = {
    "kendall": _HEADINGS["kendall"],
    "top": "Best one hit",
    "error": _HEADINGS["ratio_error"],
    "inside": "Inside the 95 % interval",
    "log_score": "Log score",
}
_BASELINES = ("none", "mean")


@dataclass(frozen=True)
class Column:
    heading: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """A table of words. rows : the cells of each, as many as columns; links : for each row an address or ''."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[str, ...] = ()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return rows ready for a template: a heading, its link, the other cells with their columns."""
        links = self.links or ("",) * len(self.rows)
        return [
            {"head": row[0], "link": link, "cells": list(zip(row[1:], self.columns[1:], strict=True))}
            for row, link in zip(self.rows, links, strict=True)
        ]


def tables(result: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """Return all tables of a report; names as modelling.evidence.names.names gives them."""
    return [
        *by_form(result, names),
        distinct(result),
        overall(result),
        by_axis(result),
        reasons(result),
        by_question(result, names),
        *no_disks(result, names),
    ]


def by_form(result: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """Tabulate how forecasts did on research groups that were left out, form by form; nothing where none was tested."""
    forms = result["groups"]["forms"]
    if not forms:
        return []
    columns = (
        Column("Forecasts of"),
        Column("Research groups", True),
        Column("Comparisons", True),
        Column("Weight", True),
        Column("Inside the 95 % interval", True),
        Column("Inside the central half", True),
        Column("Log score", True),
        Column("Log score of “no difference”", True),
        Column("80 % sure or more, and right", True),
        Column("Better than “no difference”"),
    )
    return [Table("Each research group left out", columns, tuple(_form(form, names) for form in forms))]


def _form(form: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    right = NOTHING if form["right"] is None else f"{form['right']:.0%} of {form['sure']:.1f}"
    verdict = "too few groups to tell"
    if form["is_better"] is not None:
        verdict = f"{'yes' if form['is_better'] else 'no'}: {_above(form)}"
    rival = _signed(form["no_difference"])
    if form["by"] == "group":  # one group's own width is no rival: it is known with the results alone
        rival = verdict = NOTHING
    return (
        _form_name(form["by"], form["name"], names),
        str(form["groups"]),
        str(form["contrasts"]),
        f"{form['weight']:.1f}",
        f"{form['inside_95']:.0%}",
        f"{form['inside_50']:.0%}",
        _signed(form["log_score"]),
        rival,
        right,
        verdict,
    )


def _above(form: Mapping[str, Any]) -> str:
    """Return how far its log score is above that of "no difference", with the standard error."""
    return f"{_signed(form['log_score'] - form['no_difference'])} ± {form['error']:.2f}"


def proven(result: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Say of which comparisons forecasts are better than "no difference", and of which not, in a sentence each for
    laboratories that nobody has seen and for those that are known under other workloads."""
    sentences = []
    for whose, kinds in (
        ("In a laboratory that nobody has seen", ("all", "choice")),
        ("In a laboratory that is known under other workloads", ("laboratory",)),
    ):
        told: dict[str, list[str]] = {"by more than the standard error": [], "by less than that": [], "not": []}
        for form in result["groups"]["forms"]:
            if form["by"] in kinds and form["is_better"] is not None:
                above = form["log_score"] - form["no_difference"]
                how = "by more than the standard error" if above > form["error"] else "by less than that"
                name = _form_name("choice", form["name"], names) if form["name"] else "everything together"
                told[how if above > 0 else "not"].append(f"{name} ({_above(form)})")
        parts = [f"{how}: {listed(of_forms)}" for how, of_forms in told.items() if of_forms]
        if parts:
            sentences.append(f"{whose} forecasts are better than “no difference” (log score) {'; '.join(parts)}.")
    return sentences


def _form_name(by: str, name: str, names: Mapping[str, Mapping[str, str]]) -> str:
    if by == "all":
        return "Everything"
    if by == "laboratory":
        return "Same laboratory, other workloads known" + (f": {_form_name('choice', name, names)}" if name else "")
    if by == "choice":
        return AXES[name].label if name in AXES else COLUMN_LABELS[name].capitalize()  # of an earlier report
    if by == "group":
        return f"Left out: {name}"
    if by == "load":
        return f"Load: {name or 'mixed or not stated'}"
    return f"Disks: {names['storage'].get(name, name) if name else 'not stated'}"


def distinct(result: Mapping[str, Any]) -> Table:
    """Tabulate every method over distinct questions, each counting once, with intervals over laboratories."""
    by_key = {(row["method"], row["score"], row["against"]): row for row in result["clustered"]}
    columns = [Column(_HEADINGS["method"])]
    columns += [Column(heading, True) for heading in _CLUSTERED.values()]
    columns += [Column(f"Log score above “{_labels(result)[name]}”", True) for name in _BASELINES]
    rows = []
    for name, label in _labels(result).items():
        cells = [_spread(by_key[name, score, None], score) for score in _CLUSTERED]
        cells += [_spread(by_key[name, "log_score", other], "") if other != name else NOTHING for other in _BASELINES]
        rows.append((label, *cells))
    return Table("By distinct question", tuple(columns), tuple(rows))


def overall(result: Mapping[str, Any]) -> Table:
    """Tabulate every method over all questions, and how it does against the naive ones where both answer."""
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
    """Tabulate every method on every axis it can be asked about."""
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
    """Tabulate Kendall's tau of every method on every question, and of how many entries if it does not know all."""
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
        links.append(words.address(question) if question.workload in names["workload"] else "")
    return Table("Kendall’s τ, question by question", columns, tuple(rows), tuple(links))


def reasons(result: Mapping[str, Any]) -> Table:
    """Tabulate why predictions are missing, and how often."""
    labels = _labels(result)
    counted = Counter(
        (prediction["method"], prediction["cannot"])
        for asked in result["questions"]
        for prediction in asked["predictions"]
        if prediction["cannot"]
    )
    columns = (Column("Method"), Column("Why it cannot predict"), Column("Questions", True))
    places = list(labels)
    ordered = sorted(counted.items(), key=lambda item: (places.index(item[0][0]), -item[1], item[0][1]))
    rows = tuple((labels[method], reason[0].upper() + reason[1:], str(count)) for (method, reason), count in ordered)
    return Table("What cannot be predicted", columns, rows)


def no_disks(result: Mapping[str, Any], names: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """Tabulate the published numbers that look like no disk's; nothing where there are none."""
    if not result["flagged"]:
        return []
    headings = ("Case study", "Configuration", "Load", "Machines", "Value", "Looks like", "Why")
    columns = tuple(Column(heading, heading in ("Machines", "Value")) for heading in headings)
    rows, links = [], []
    for number in result["flagged"]:
        load = ", ".join(
            dict.fromkeys((names["workload"].get(number["workload"], number["workload"]), number["operation"]))
        )
        value = f"{number['value']:,.5g} {number['unit']}"
        cells = (number["configuration"], load, str(number["vm_count"]), value, number["flag"], number["reason"])
        rows.append((number["case_study"], *cells))
        links.append(f"/case-studies/{number['case_study']}/#protocol")
    return [Table("Numbers that look like no disk’s", columns, tuple(rows), tuple(links))]


def markdown(table: Table) -> str:
    """Return the table as documentation has it."""
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


def _labels(result: Mapping[str, Any]) -> dict[str, str]:
    return {method["method"]: method["label"] for method in result["methods"]}


def _numbers(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of _NUMBERS."""
    pairs = summary["pairs"]
    return (
        f"{summary['answered']} of {summary['asked']}",
        _signed(summary["kendall"]),
        _signed(summary["spearman"]),
        NOTHING if summary["top"] is None else f"{summary['top']:.0%} ({summary['by_chance']:.0%})",
        NOTHING if not pairs else f"{summary['ratio_error']:.2f}×",
        NOTHING if not pairs else f"{summary['covered']} of {pairs}",
    )


def _spread(row: Mapping[str, Any], score: str) -> str:
    """Return a mean with its interval and the distinct questions behind it: "0.22 (−0.10 to 0.52; 44)"."""
    if row["mean"] is None:
        return NOTHING
    ends = "" if row["low"] is None else f"{_score(row['low'], score)} to {_score(row['high'], score)}; "
    return f"{_score(row['mean'], score)} ({ends}{row['cells']})"


def _score(value: float | None, score: str) -> str:
    if value is None:
        return NOTHING
    if score == "error":
        return f"{exp(value):.2f}×"
    return f"{value:.0%}" if score in ("top", "inside") else _signed(value)


def in_use(result: Mapping[str, Any]) -> list[str]:
    """Say which method forecasts since when, and why the others do not, in sentences."""
    forecasts = result["forecasts"]
    labels = {**_labels(result), forecasts["method"]: forecasts["label"]}
    since = date.fromisoformat(forecasts["since"])
    sentences = [f"What nobody measured is forecast by {forecasts['label'].lower()}, since {since:%-d %B %Y}."]
    for name, shortfalls in forecasts["shortfalls"].items():
        reasons = listed(_shortfall(shortfall, labels) for shortfall in shortfalls)
        if name == forecasts["method"] and shortfalls:
            sentences.append(f"On this evidence it should not be: {reasons}.")
        elif shortfalls:
            sentences.append(f"{labels[name]}: not used for that, because {reasons}.")
    return sentences


def _shortfall(shortfall: str, labels: Mapping[str, str]) -> str:
    what, _, naive = shortfall.partition(" against ")
    if what == "inside":
        return "fewer than 90 % of its ratios lie inside their 95 % interval"
    return f"its log score is below that of “{labels[naive]}”"


def _agreement(prediction: Mapping[str, Any] | None, entries: int) -> str:
    if prediction is None or prediction["cannot"]:
        return NOTHING
    known = len(prediction["order"])
    if not known:
        return NOTHING
    return _signed(prediction["kendall"]) + ("" if known == entries else f" ({known} of {entries})")


def _duel(duel: Mapping[str, Any]) -> str:
    counted = (duel["better"], duel["alike"], duel["worse"])
    return ", ".join(map(str, counted)) if any(counted) else NOTHING


def _signed(value: float | None) -> str:
    return NOTHING if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
