"""Presents an answer as a page shows it: names instead of slugs, sentences, charts. No queries, no HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kdb.units import METRICS, Metric
from modelling.answers.content import Answer, AnswerPart, Decision, RankedEntry
from modelling.answers.words import GRADES, THING, Bar, Chart, address, forest_plot, grounds_line, never_tried, title
from modelling.comparisons.words import address_of
from modelling.estimation.verdict import LEADS, NO_DIFFERENCE, USE
from modelling.evidence.axes import AXES, COLUMN_LABELS, NATIVE, NATIVE_AXES
from modelling.evidence.question import Question
from modelling.evidence.words import capital
from modelling.workloads.curves import CurvePanel, CurvePoint

from .heat_map import Grid, heat_map
from .meaning import Meaning, meanings
from .trade_table import TradeTable, trade_tables

Names = Mapping[str, Mapping[str, str]]  # kind of name to {slug: label}

_HEADINGS = {LEADS: "Leads where it was measured", NO_DIFFERENCE: "No difference that matters"}


@dataclass(frozen=True)
class RankedTable:
    """One part of an answer: entries that may be compared with each other.

    relative : what its ratios are of; name : what tells it from the other parts
    reference : label of the entry that ratios are against
    heading : what is said of the `best`
    lines : each entry with the labels of those it cannot be told apart from ("all others" where that is three or more),
        and with the label of the first (of the first that of the second) and where the two are compared
    """

    number: int
    relative: str
    name: str
    has_numbers: bool
    has_findings: bool
    reference: str
    held_equal: str
    assumed_equal: str
    verdict: Decision
    heading: str
    lines: list[tuple[RankedEntry, list[str], str, str]]
    best: list[RankedEntry]
    avoid: list[RankedEntry]
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
class AnswerPage:
    """Everything the answer's template prints.

    grounds : what it rests on; never_tried : on what kinds of storage nothing was measured; each in a line or ""
    other_metrics : label and address of the same question by another metric
    asked : the question as fields of a form
    grid : of file-system pairs; None where the question is not of them
    """

    title: str
    grounds: str
    never_tried: str
    metric: Metric
    other_metrics: list[tuple[str, str]]
    tables: list[RankedTable]
    grades: list[tuple[str, str]]
    grid: Grid | None
    curves: list[CurveTable]
    meanings: list[Meaning]
    trade_offs: list[TradeTable]
    asked: list[tuple[str, str | int]]
    answer: Answer

    @property
    def has_numbers(self) -> bool:
        return any(table.has_numbers for table in self.tables)


def present(answer: Answer, names: Names, as_of: int | None = None) -> AnswerPage:
    """Make the answer ready for its template; its comparisons stay at the revision it was asked for."""
    question, metric = answer.question, METRICS[answer.metric]
    present_grades = {entry.grade for entry in answer.entries}
    is_grid = question.axis == "fs-pair" and answer.entries
    return AnswerPage(
        title=title(question, names),
        grounds=capital(grounds_line(answer.grounds, names["storage"])) if answer.entries else "",
        never_tried=never_tried(answer.grounds, names["storage"]),
        metric=metric,
        other_metrics=[(METRICS[name].label, address(replace(question, metric=name))) for name in answer.other_metrics],
        tables=[
            _table(question, part, capital(metric.relative), answer.entries_of(part), as_of) for part in answer.parts
        ],
        grades=[(grade, text) for grade, text in GRADES.items() if grade in present_grades],
        grid=heat_map(answer.entries, names["file_system"]) if is_grid else None,
        curves=[
            _curves(number, metric, panel, answer.scaling, names)
            for number, panel in enumerate(answer.scaling, start=1)
        ],
        meanings=meanings(answer),
        trade_offs=trade_tables(answer),
        asked=[("axis", question.axis), ("workload", question.workload), *question.filters.items()],
        answer=answer,
    )


@dataclass(frozen=True)
class Chosen:
    """The choice that the answer makes, why it is that, and what else it could choose, as (label, address)."""

    sentence: str
    others: list[tuple[str, str]]


def chosen(
    question: Question, is_left_open: bool, beside: Mapping[str, str], behind: Mapping[str, int] | None = None
) -> Chosen:
    """Say what the answer chooses. What else it could choose are the settings that some case study compares here, and
    all that is no setting.

    behind : axis to how many case studies compare something; None or empty: that is not counted

    is_left_open : whether it is what the question leaves open, not named by its address; beside : as for address
    """
    what = THING[question.axis]
    why = f"You left the {what} open, so the answer chooses it." if is_left_open else f"The answer chooses the {what}."
    axes = NATIVE_AXES if question.hypervisor == NATIVE else AXES
    offered = [axis for axis in axes if not AXES[axis].setting or (behind or {}).get(axis)]
    others = [(THING[axis], address(replace(question, axis=axis), beside=beside)) for axis in offered]
    return Chosen(why, [other for other in others if other[0] != what])


def _curves(number: int, metric: Metric, panel: CurvePanel, panels: Sequence[CurvePanel], names: Names) -> CurveTable:
    title = ", ".join([panel.case_study.upper(), *_told_apart(panel, panels, names)])
    counts = sorted({point.vm_count for series in panel.series for point in series.points})
    rows = []
    for series in panel.series:
        at = {point.vm_count: point for point in series.points}
        rows.append((series.label, [at.get(count) for count in counts]))
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
            "series": [{"name": label, "points": [_bounds(point) for point in points]} for label, points in rows],
            "tones": None,
            "reference": None,
        },
    )
    return CurveTable(panel, title, counts, rows, chart)


def _told_apart(panel: CurvePanel, panels: Sequence[CurvePanel], names: Names) -> list[str]:
    """Say what tells a panel from the others of its case study."""
    beside = [other.held for other in panels if other.case_study == panel.case_study]
    kinds = {"hypervisor": "hypervisor", "guest_fs": "file_system", "host_fs": "file_system"}
    told = [
        f"{COLUMN_LABELS[column]} {names[kinds[column]].get(value, value) if column in kinds else value}"
        for column, value in panel.held.items()
        if len({held.get(column) for held in beside}) > 1
    ]
    told += [panel.operation] if panel.operation != "mixed" else []
    told += [f"{panel.block_size_bytes // 1024} KiB"] if panel.block_size_bytes else []
    return told


def _bounds(point: CurvePoint | None) -> dict[str, float] | None:
    return {"value": point.value, "low": point.low, "high": point.high} if point else None


def _table(
    question: Question, part: AnswerPart, relative: str, entries: Sequence[RankedEntry], as_of: int | None
) -> RankedTable:
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
        if entry.ratio is not None
    ]
    has_numbers = part.basis != "findings"
    return RankedTable(
        number=part.part,
        relative=relative,
        name=capital(part.name),
        has_numbers=has_numbers,
        has_findings=part.basis != "numbers",
        reference=reference,
        held_equal=part.held_equal,
        assumed_equal=part.assumed_equal,
        verdict=part.verdict,
        heading="Use" if any(entry.is_best for entry in entries) else _HEADINGS.get(part.verdict.kind, "Not known"),
        lines=[
            (
                entry,
                ["all others"]
                if len(entries) - 1 == len(entry.tied_with) > 2
                else [labels[key] for key in entry.tied_with],
                other.label,
                address_of(question, (entry.key, other.key), **then),
            )
            for entry, other in zip(entries, others, strict=True)
        ],
        best=[entry for entry in entries if entry.verdict in (USE, LEADS, NO_DIFFERENCE)],
        avoid=[entry for entry in entries if entry.is_worst],
        chart=forest_plot(part.part, relative, reference, bars) if has_numbers else None,
    )
