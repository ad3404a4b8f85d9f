"""A mix as its page shows it: sentences and a chart. No queries, no HTML."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from modelling.answers.words import forest_plot, recommendation
from modelling.estimation.mixes import Mix
from modelling.evidence.axes import AXES, entry_label


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
    entries: list[dict[str, Any]] = [
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
        chart = forest_plot(1, entries[0]["label"], [{**row, "is_worst": False} for row in rows])
    sentence = recommendation(axis, len(entries), best, []) if entries else ""
    return MixPage(sentence, known, entries, ranges, left_out, chart)
