"""Lay out an answer for its page: names instead of slugs, sentences, charts. No queries, no HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kdb.units import METRICS, Metric
from modelling.answers.content import Answer, AnswerPart, RankedEntry
from modelling.answers.measured import DotChart, Shelves, dot_charts, shelves
from modelling.answers.words import (
    GRADES,
    Bar,
    Chart,
    address,
    comparison_address,
    forest_plot,
    never_tried,
    summarize_evidence,
    title,
)
from modelling.evidence.axes import COLUMN_LABELS, RUNTIME
from modelling.evidence.question import Question
from modelling.evidence.words import capital, counted
from modelling.workloads.curves import CurvePanel, CurvePoint

from .ability_table import AbilityTable, ability_table
from .heat_map import Grid, heat_map
from .meaning import Meaning, meanings
from .network import NetworkPicture, network_picture
from .trade_table import TradeTable, trade_tables

Names = Mapping[str, Mapping[str, str]]  # kind of name to {slug: label}
FEWEST_LABORATORIES = 3  # laboratories needed to draw forecasts for other machines


@dataclass(frozen=True)
class RankedTable:
    """One part of an answer: entries that may be compared with each other.

    relative : what its ratios are of; name : in what it differs from other parts; reference : label of its reference
    lines : each entry with the labels of those it is tied with ("all others" if these are three or more), the label of
        the entry to compare it with, and the address of that comparison
    """

    part: AnswerPart
    relative: str
    name: str
    reference: str
    lines: list[tuple[RankedEntry, list[str], str, str]]
    chart: Chart | None


@dataclass(frozen=True)
class CurveTable:
    """A panel of the metric over the number of machines.

    rows : label of a configuration, and for each of `counts` the point or None
    """

    panel: CurvePanel
    title: str
    counts: list[int]
    rows: list[tuple[str, list[CurvePoint | None]]]
    chart: Chart


@dataclass(frozen=True)
class MeasuredPart:
    """The measurements of one part. name : short, "" where it is the only one; sentence : of its verdict"""

    number: int
    name: str
    sentence: str
    charts: list[DotChart]


@dataclass(frozen=True)
class AnswerPage:
    """The context of the answer's template. What only a tab shows is computed when its template reads it.

    as_of : requested revision, which links to comparisons keep; margin : difference that matters, a share
    """

    answer: Answer
    names: Names
    as_of: int | None = None
    margin: float | None = None

    @cached_property
    def title(self) -> str:
        return title(self.answer.question, self.names)

    @cached_property
    def grounds(self) -> str:
        """Return a summary of the evidence; "" where there is none."""
        return capital(summarize_evidence(self.answer.grounds, self.names["storage"])) if self.answer.entries else ""

    @cached_property
    def never_tried(self) -> str:
        """Return a sentence on kinds of storage that nobody measured, or ""."""
        return never_tried(self.answer.grounds, self.names["storage"])

    @property
    def metric(self) -> Metric:
        return METRICS[self.answer.metric]

    @property
    def other_metrics(self) -> list[tuple[str, str]]:
        """Return label and address of the same question by each other metric."""
        question = self.answer.question
        return [(METRICS[name].label, address(replace(question, metric=name))) for name in self.answer.other_metrics]

    @cached_property
    def tables(self) -> list["RankedTable"]:
        answer, relative = self.answer, capital(self.metric.relative)
        return [
            _table(answer.question, part, relative, answer.entries_of(part), self.as_of, self.margin, self._draws(part))
            for part in answer.parts
            if len(answer.entries_of(part)) > 1  # in a comparison of two, each may have a part of its own
        ]

    def _draws(self, part: AnswerPart) -> bool:
        """Tell whether enough laboratories measured the part to draw forecasts for another one."""
        laboratories = {row.laboratory for row in self.answer.compared if row.part == part.part}
        return len(laboratories) >= FEWEST_LABORATORIES

    @property
    def measured(self) -> list[MeasuredPart]:
        """Return the part to show above the tabs: that of the recommended entry, else the first."""
        answer, several = self.answer, len(self.answer.parts) > 1
        best = {entry.part for entry in answer.entries if entry.is_best}
        return [
            MeasuredPart(
                part.part,
                self._short_name(part) if several else "",
                part.verdict.measured if several else answer.verdict.measured,
                dot_charts(answer, part.part),
            )
            for part in sorted(answer.parts, key=lambda part: part.part not in best)[:1]
        ]

    def _short_name(self, part: AnswerPart) -> str:
        first, *others = self.answer.entries_of(part)
        is_long = len(part.name.split()) > LONGEST_NAME
        return f"{first.label} and {counted(len(others), 'other')}" if is_long else capital(part.name)

    @property
    def shelves(self) -> list[Shelves]:
        return shelves(self.answer)

    @property
    def next_step(self) -> str:
        """Return what to measure on the reader's machine, or what else would settle it; "" where nothing is open."""
        first = next(iter(self.answer.next_runs), None)
        return (first.sentence if first else "") or self.answer.measure_next or self.answer.verdict.settle

    @property
    def grades(self) -> list[tuple[str, str]]:
        present = {entry.grade for entry in self.answer.entries}
        return [(grade, text) for grade, text in GRADES.items() if grade in present]

    @property
    def grid(self) -> Grid | None:
        """Return the grid of file-system pairs; None where the question is not about them."""
        is_grid = self.answer.question.axis == "fs-pair" and self.answer.entries
        return heat_map(self.answer.entries, self.names["file_system"]) if is_grid else None

    @cached_property
    def curves(self) -> list[CurveTable]:
        panels, titles = self.answer.scaling, self.answer.titles
        return [
            _curves(number, self.metric, panel, titles.get(panel.case_study, ""), panels, self.names)
            for number, panel in enumerate(panels, start=1)
        ]

    @cached_property
    def meanings(self) -> list[Meaning]:
        return meanings(self.answer)

    @cached_property
    def trade_offs(self) -> list[TradeTable]:
        return trade_tables(self.answer)

    @property
    def asked(self) -> list[tuple[str, str | int]]:
        """Return the question as hidden form fields."""
        question = self.answer.question
        return [("axis", question.axis), ("workload", question.workload), *question.asked.items()]

    @property
    def network(self) -> NetworkPicture | None:
        """Return the network of comparisons, or None; see network_picture."""
        return network_picture(self.answer)

    @property
    def abilities(self) -> AbilityTable:
        return ability_table(self.answer, self.names)

    @property
    def has_numbers(self) -> bool:
        return any(table.part.basis != "findings" for table in self.tables)


MOST_CAVEATS = 3  # above the tabs; one less where a published order is shown
LONGEST_NAME = 9  # words of a part's name above the tabs


def caveats(page: AnswerPage, says_disks: bool, doubt: str) -> list[str]:
    """Return the first sentences of the most important caveats; the Evidence tab has them in full.

    says_disks : whether the page mentions the kind of disks elsewhere; doubt : warning about forecasts, or ""
    """
    of_disks = "" if says_disks else page.never_tried
    told = ("The order rests on tier lists", *(["Nobody tested all"] if len(page.answer.parts) > 1 else []))
    notes = [note for note in page.answer.notes if not note.startswith(told)]
    sentences = [doubt if page.tables else "", of_disks if page.tables else "", *notes]
    first = (text.partition(": in “")[0].partition(". ")[0] for text in sentences if text)
    return [f"{text.removesuffix('.')}." for text in first][: MOST_CAVEATS - bool(page.shelves)]


def _curves(
    number: int, metric: Metric, panel: CurvePanel, study: str, panels: Sequence[CurvePanel], names: Names
) -> CurveTable:
    """Return the table and the chart of one scaling panel. study : title of its case study"""
    title = ", ".join([study, *_panel_conditions(panel, panels, names)])
    counts = sorted({point.vm_count for series in panel.series for point in series.points})
    rows = []
    for series in panel.series:
        by_count = {point.vm_count: point for point in series.points}
        rows.append((series.label, [by_count.get(count) for count in counts]))
    chart = Chart(
        id=f"chart-curve-{number}",
        size="short",
        label=f"Line chart: {metric.label} over virtual machines in {title}. The table has the numbers.",
        data={
            "kind": "line",
            "horizontal": False,
            "unit": panel.unit,
            "axis": panel.unit,
            "across": "Virtual machines",
            "labels": [str(count) for count in counts],
            "series": [{"name": label, "points": [_chart_point(point) for point in points]} for label, points in rows],
            "tones": None,
            "reference": None,
        },
    )
    return CurveTable(panel, title, counts, rows, chart)


def _panel_conditions(panel: CurvePanel, panels: Sequence[CurvePanel], names: Names) -> list[str]:
    """Return the conditions in which a panel differs from the others of its case study."""
    beside = [other.held for other in panels if other.case_study == panel.case_study]
    kinds = {"hypervisor": "hypervisor", RUNTIME: "hypervisor", "guest_fs": "file_system", "host_fs": "file_system"}
    differing = [
        f"{COLUMN_LABELS[column]} {names[kinds[column]].get(value, value) if column in kinds else value}"
        for column, value in panel.held.items()
        if len({held.get(column) for held in beside}) > 1
    ]
    differing += [panel.operation] if panel.operation != "mixed" else []
    differing += [f"{panel.block_size_bytes // 1024} KiB"] if panel.block_size_bytes else []
    return differing


def _chart_point(point: CurvePoint | None) -> dict[str, float] | None:
    return {"value": point.value, "low": point.low, "high": point.high} if point else None


def _table(
    question: Question,
    part: AnswerPart,
    relative: str,
    entries: Sequence[RankedEntry],
    as_of: int | None,
    margin: float | None,
    draws: bool,
) -> RankedTable:
    """draws : whether forecasts for other machines are drawn"""
    first, second, *_ = entries
    then = {} if as_of is None else {"as_of": as_of}
    others = [second if entry is first else first for entry in entries]
    labels = {entry.key: entry.label for entry in entries}
    reference = labels[part.reference]
    bars = [
        Bar(
            entry.label,
            entry.ratio,
            entry.low,
            entry.high,
            entry.mean_low,
            entry.mean_high,
            "good" if entry.is_best else "bad" if entry.is_worst else None,
        )
        for entry in entries
        if entry.ratio is not None and not entry.lacks
    ]
    return RankedTable(
        part=part,
        relative=relative,
        name=capital(part.name),
        reference=reference,
        lines=[
            (
                entry,
                ["all others"]
                if len(entries) - 1 == len(entry.tied_with) > 2
                else [labels[key] for key in entry.tied_with],
                other.label,
                comparison_address(question, (entry.key, other.key), **then),
            )
            for entry, other in zip(entries, others, strict=True)
            if not entry.lacks
        ],
        chart=forest_plot(part.part, relative, reference, bars, margin) if bars and draws else None,
    )
