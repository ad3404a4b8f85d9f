"""An answer as a page shows it: names instead of slugs, sentences, charts. No queries, no HTML."""

from dataclasses import dataclass, replace
from typing import Any

from modelling.evidence.axes import AXES, COLUMN_LABELS
from modelling.evidence.question import Question
from modelling.evidence.words import capital

from .heat_map import heat_map
from .words import GRADES, forest_plot, title


@dataclass(frozen=True)
class RankedTable:
    """One part of an answer: entries that may be compared with each other."""

    number: int
    name: str  # what tells it from the other parts
    has_numbers: bool
    has_findings: bool
    reference: str
    held_equal: str
    verdict: dict[str, Any]
    entries: list[dict[str, Any]]
    best: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]
    avoid: list[dict[str, Any]]
    chart: dict[str, Any] | None


@dataclass(frozen=True)
class AnswerPage:
    """Everything the answer's template prints."""

    title: str
    tables: list[RankedTable]
    grades: list[tuple[str, str]]
    grid: dict[str, Any] | None  # of file-system pairs
    curves: list["CurvePanel"]  # throughput over the number of machines
    result: dict[str, Any]


@dataclass(frozen=True)
class CurvePanel:
    """Throughput over the number of machines in one case study, all else equal.

    rows : label of a configuration, and for each of `counts` the point or None
    """

    case_study: str
    title: str
    unit: str
    sources: list[str]
    counts: list[int]
    rows: list[tuple[str, list[dict[str, float] | None]]]
    chart: dict[str, Any]


def present(question: Question, result: dict[str, Any], names: dict[str, dict[str, str]]) -> AnswerPage:
    """The answer `result` (modelling.answers.selectors.current_ranking) made ready for its template."""
    labels = {entry["key"]: entry["label"] for entry in result["entries"]}
    entries = [
        {
            **entry,
            "is_best": entry["key"] in result["best"],
            "is_worst": entry["key"] in result["worst"],
            "tied_labels": [labels[key] for key in entry["tied_with"]],
        }
        for entry in result["entries"]
    ]
    tables = [_table(part, [e for e in entries if e["part"] == part["part"]]) for part in result["parts"]]
    present_grades = {entry["grade"] for entry in entries}
    return AnswerPage(
        title=title(question, names),
        tables=tables,
        grades=[(grade, text) for grade, text in GRADES.items() if grade in present_grades],
        grid=_grid(result, names) if question.axis == "fs-pair" and entries else None,
        curves=_curves(result["scaling"], names),
        result=result,
    )


def _grid(result: dict[str, Any], names: dict[str, dict[str, str]]) -> dict[str, Any]:
    grid = heat_map(result, names["file_system"])
    return {**grid, "rows": list(zip(grid["guests"], grid["cells"], strict=True))}


def _curves(panels: list[dict[str, Any]], names: dict[str, dict[str, str]]) -> list[CurvePanel]:
    found = []
    for number, panel in enumerate(panels, start=1):
        beside = [other["held"] for other in panels if other["case_study"] == panel["case_study"]]
        differing = [name for name in panel["held"] if len({held.get(name) for held in beside}) > 1]
        kinds = {"hypervisor": "hypervisor", "guest_fs": "file_system", "host_fs": "file_system"}
        told = [
            f"{COLUMN_LABELS[name]} {names[kinds[name]].get(panel['held'][name], panel['held'][name])}"
            if name in kinds
            else f"{COLUMN_LABELS[name]} {panel['held'][name]}"
            for name in differing
        ]
        told += [panel["operation"]] if panel["operation"] != "mixed" else []
        told += [f"{panel['block_size_bytes'] // 1024} KiB"] if panel["block_size_bytes"] else []
        title = ", ".join([panel["case_study"].upper(), *told])
        counts = sorted({point["vm_count"] for series in panel["series"] for point in series["points"]})
        rows = []
        for series in panel["series"]:
            at = {point["vm_count"]: point for point in series["points"]}
            rows.append((series["label"], [at.get(count) for count in counts]))
        found.append(
            CurvePanel(
                panel["case_study"],
                title,
                panel["unit"],
                panel["sources"],
                counts,
                rows,
                chart={
                    "id": f"chart-curve-{number}",
                    "data_id": f"chart-curve-{number}-data",
                    "size": "short",
                    "label": f"Line chart: throughput over virtual machines in {title}. The table has the numbers.",
                    "data": {
                        "kind": "line",
                        "horizontal": False,
                        "unit": panel["unit"],
                        "axis": panel["unit"],
                        "across": "Virtual machines",
                        "labels": [str(count) for count in counts],
                        "series": [
                            {"name": label, "points": [point and _bounds(point) for point in points]}
                            for label, points in rows
                        ],
                        "tones": None,
                        "reference": None,
                    },
                },
            )
        )
    return found


def _bounds(point: dict[str, float]) -> dict[str, float]:
    return {name: point[name] for name in ("value", "low", "high")}


def nearest(question: Question) -> list[Question]:
    """One filter fewer, then none, then another axis: what to ask when there is no answer."""
    filters = list(question.filters)
    wider = [replace(question, **{name: None}) for name in filters]
    if len(filters) > 1:
        wider.append(Question(axis=question.axis, workload=question.workload))
    return wider + [replace(question, axis=axis) for axis in AXES if axis != question.axis]


def _table(part: dict[str, Any], entries: list[dict[str, Any]]) -> RankedTable:
    has_numbers = part["basis"] != "findings"
    reference = next(entry["label"] for entry in entries if entry["key"] == part["reference"])
    best = [entry for entry in entries if entry["is_best"]]
    avoid = [entry for entry in entries if entry["is_worst"]]
    return RankedTable(
        number=part["part"],
        name=capital(part["name"]),
        has_numbers=has_numbers,
        has_findings=part["basis"] != "numbers",
        reference=reference,
        held_equal=part["held_equal"],
        verdict=part["verdict"],
        entries=entries,
        best=best,
        doubtful=[entry for entry in entries if entry["verdict"] == "doubtful"],
        avoid=avoid,
        chart=forest_plot(part["part"], reference, [e for e in entries if e["ratio"] is not None])
        if has_numbers
        else None,
    )
