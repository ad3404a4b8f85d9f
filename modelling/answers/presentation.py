"""An answer as a page shows it: names instead of slugs, sentences, charts. No queries, no HTML."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any
from urllib.parse import urlencode

from modelling.estimation.mixes import Mix
from modelling.evidence.axes import AXES, COLUMN_LABELS, KINDS, entry_key, entry_label
from modelling.evidence.question import Question

from .heat_map import heat_map

# What an entry of an axis is called in a sentence.
_THING = {
    "fs-pair": "file-system pair",
    "guest-fs": "guest file system",
    "host-fs": "host file system",
    "hypervisor": "hypervisor",
    "configuration": "configuration",
}
_KIND_OF_FILTER = {
    "hypervisor": "hypervisor",
    "guest_fs": "file_system",
    "host_fs": "file_system",
    "storage": "storage",
    "benchmark": "benchmark",
    "guest_os_family": "guest_os_family",
}
GRADES = {
    "A": "two or more independent case studies measured it, with their spread",
    "B": "one case study measured it, or no source prints a spread",
    "C": "derived by arithmetic from what a text states",
    "D": "stated in words or lists only, without a number",
}


@dataclass(frozen=True)
class RankedTable:
    """One part of an answer: entries that may be compared with each other."""

    number: int
    has_numbers: bool
    has_findings: bool
    reference: str
    held_equal: str
    recommendation: str
    entries: list[dict[str, Any]]
    best: list[dict[str, Any]]
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


def address(question: Question, as_of: int | None = None) -> str:
    """The question's own address on the site, the same for every spelling it was asked in."""
    then = {} if as_of is None else {"as_of": as_of}
    return "/?" + urlencode({"axis": question.axis, "workload": question.workload, **question.filters, **then})


def api_address(question: Question, **extra: str | int) -> str:
    """Where the same answer stands as data."""
    query = urlencode({"workload": question.workload, **question.filters, **extra})
    return f"/api/v1/rankings/{question.axis}/?{query}"


def compare_address(question: Question, **extra: str | int) -> str:
    """Where the explanation of the answer, or a comparison of its entries (a=..., b=...), stands."""
    query = {"axis": question.axis, "workload": question.workload, **question.filters, **extra}
    return f"/compare/?{urlencode(query)}"


def comparison_api_address(question: Question, keys: Iterable[str], **extra: str | int) -> str:
    """Where the same comparison stands as data."""
    query = {"axis": question.axis, "workload": question.workload, **question.filters, "entries": ",".join(keys)}
    return f"/api/v1/comparisons/?{urlencode({**query, **extra}, safe=',:')}"


def entry_choices(axis: str, names: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Every entry that the axis can have, as (key, label); configurations only by hypervisor and pair."""
    if axis not in AXES:
        return []
    columns = [[""] if column == "cache_mode" else names[KINDS[column]] for column in AXES[axis].entry]
    keys = [entry_key(AXES[axis], values) for values in product(*columns)]
    return [(key, entry_label(AXES[axis], key, names)) for key in keys]


def title(question: Question, names: dict[str, dict[str, str]]) -> str:
    """The question in words: "Mail server on KVM: guest file system on host file system"."""
    text = names["workload"].get(question.workload, question.workload)
    for name, value in question.filters.items():
        label = names[_KIND_OF_FILTER[name]].get(value, value) if name in _KIND_OF_FILTER else value
        text += {
            "hypervisor": f" on {label}",
            "guest_fs": f", guest file system {label}",
            "host_fs": f", host file system {label}",
            "vm_count": f", {label} virtual machine{'' if label == 1 else 's'}",
            "storage": f", on {label}",
            "benchmark": f", measured with {label}",
            "guest_os_family": f", {label} guests",
            "grade": f", evidence of grade {label} or better",
        }[name]
    return f"{text}: which {_THING[question.axis]}?"


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
    tables = [
        _table(question.axis, part, [e for e in entries if e["part"] == part["part"]]) for part in result["parts"]
    ]
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


@dataclass(frozen=True)
class MixPage:
    """workloads : label and share in percent; entries, ranges : as sentences and rows of a table"""

    recommendation: str
    workloads: list[tuple[str, str, float]]
    entries: list[dict[str, Any]]
    ranges: list[str]
    left_out: list[str]
    chart: dict[str, Any] | None


def present_mix(axis: str, found: Mix, weights: Mapping[str, float], names: dict[str, dict[str, str]]) -> MixPage:
    """A mix ready for its template."""
    total = sum(weights.values())
    labels = names["workload"]
    known = [(slug, labels[slug], 100 * weight / total) for slug, weight in weights.items() if weight]
    entries = [
        {
            "entry": entry,
            "label": entry_label(AXES[axis], entry.key, names),
            "parts": [entry.parts[slug] for slug, _, _ in known],
            "is_best": entry.rank == 1,
        }
        for entry in found.entries
    ]
    best = [row for row in entries if row["is_best"] or row["entry"].tied]
    ranges = []
    for each in found.ranges:
        for share, other, side in ((each.low, each.below, "below"), (each.high, each.above, "above")):
            if other is not None:
                best_there = entry_label(AXES[axis], other, names)
                ranges.append(
                    f"{labels[each.workload]}, {100 * each.share:.0f} % here: {best_there} is best "
                    f"{side} {100 * share:.0f} %."
                )
    left_out = [
        f"{entry_label(AXES[axis], key, names)}: no numbers under {', '.join(labels[slug] for slug in missing)}"
        for key, missing in found.left_out.items()
    ]
    chart = None
    if entries:
        rows = [
            {
                "ratio": row["entry"].ratio,
                "low": row["entry"].low,
                "high": row["entry"].high,
                "label": row["label"],
                "is_best": row["is_best"],
            }
            for row in entries
        ]
        chart = _chart(1, entries[0]["label"], [{**row, "is_worst": False} for row in rows])
    sentence = _recommendation(axis, len(entries), best, []) if entries else ""
    return MixPage(sentence, known, entries, ranges, left_out, chart)


@dataclass(frozen=True)
class ComparisonPage:
    """entries, environment : as the API gives them; pairs : with labels, sentences and where the reasons stand"""

    entries: list[dict[str, Any]]
    differing: list[dict[str, Any]]
    shared: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    has_parts: bool


_BASIS_TAGS = {"side by side": "measured", "through others": "estimated", "lists": "stated", "not at all": "open"}


def present_comparison(question: Question, comparison: dict[str, Any], as_of: int | None = None) -> ComparisonPage:
    """A comparison ready for its template; its links stay at the revision it was asked for."""
    then = {} if as_of is None else {"as_of": as_of}
    labels = {entry["key"]: entry["label"] for entry in comparison["entries"]}
    pairs = [
        {
            **pair,
            "labels": (labels[pair["a"]], labels[pair["b"]]),
            "tag": _BASIS_TAGS[pair["basis"]],
            "address": compare_address(question, a=pair["a"], b=pair["b"], **then),
        }
        for pair in comparison["pairs"]
    ]
    return ComparisonPage(
        comparison["entries"],
        [row for row in comparison["environment"] if row["differs"]],
        [row for row in comparison["environment"] if not row["differs"]],
        pairs,
        len({entry["part"] for entry in comparison["entries"] if entry["part"]}) > 1,
    )


def nearest(question: Question) -> list[Question]:
    """One filter fewer, then none, then another axis: what to ask when there is no answer."""
    filters = list(question.filters)
    wider = [replace(question, **{name: None}) for name in filters]
    if len(filters) > 1:
        wider.append(Question(axis=question.axis, workload=question.workload))
    return wider + [replace(question, axis=axis) for axis in AXES if axis != question.axis]


def _table(axis: str, part: dict[str, Any], entries: list[dict[str, Any]]) -> RankedTable:
    has_numbers = part["basis"] != "findings"
    reference = next(entry["label"] for entry in entries if entry["key"] == part["reference"])
    best = [entry for entry in entries if entry["is_best"]]
    avoid = [entry for entry in entries if entry["is_worst"]]
    return RankedTable(
        number=part["part"],
        has_numbers=has_numbers,
        has_findings=part["basis"] != "numbers",
        reference=reference,
        held_equal=part["held_equal"],
        recommendation=_recommendation(axis, len(entries), best, avoid),
        entries=entries,
        best=best,
        avoid=avoid,
        chart=_chart(part["part"], reference, [e for e in entries if e["ratio"] is not None]) if has_numbers else None,
    )


def _chart(number: int, reference: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    chart_id = f"chart-part-{number}"
    return {
        "id": chart_id,
        "data_id": f"{chart_id}-data",
        "size": "short" if len(entries) < 5 else "tall" if len(entries) > 9 else "",
        "label": f"Forest plot: throughput relative to {reference}, with 95 % intervals. The table has the numbers.",
        "data": {
            "kind": "forest",
            "horizontal": True,
            "unit": "×",
            "axis": f"Throughput relative to {reference}, 95 % interval, logarithmic",
            "labels": [entry["label"] for entry in entries],
            "series": [
                {
                    "name": "Relative throughput",
                    "points": [
                        {"value": entry["ratio"], "low": entry["low"], "high": entry["high"]} for entry in entries
                    ],
                }
            ],
            "tones": ["good" if e["is_best"] else "bad" if e["is_worst"] else None for e in entries],
            "reference": 1,
        },
    }


def _recommendation(axis: str, count: int, best: list[dict[str, Any]], avoid: list[dict[str, Any]]) -> str:
    if len(best) == count:
        return f"The evidence cannot tell one {_THING[axis]} from another here."
    advice = f"Use {_or([entry['label'] for entry in best])}."
    if avoid:
        advice += f" Avoid {_or([entry['label'] for entry in avoid])}."
    return advice


def _or(labels: list[str]) -> str:
    *others, last = labels
    return f"{', '.join(others)} or {last}" if others else last


def axis_choices() -> list[tuple[str, str]]:
    """Every axis with its label, as a form offers them."""
    return [(axis.name, axis.label) for axis in AXES.values()]
