"""A mix as its page shows it: sentences and a chart. No queries, no HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from modelling.answers.words import Bar, Chart, forest_plot, recommendation
from modelling.estimation.mixes import Mix, MixEntry
from modelling.evidence.axes import AXES, entry_label
from modelling.evidence.words import listed


@dataclass(frozen=True)
class MixLine:
    """A row of the table. parts : ratio under each workload alone, in their order"""

    entry: MixEntry
    label: str
    parts: list[float]
    is_best: bool


@dataclass(frozen=True)
class MixPage:
    """workloads : slug, label and share in percent; ranges, left_out : sentences"""

    recommendation: str
    workloads: list[tuple[str, str, float]]
    entries: list[MixLine]
    ranges: list[str]
    left_out: list[str]
    chart: Chart | None


def present_mix(axis: str, found: Mix, weights: Mapping[str, float], names: dict[str, dict[str, str]]) -> MixPage:
    """A mix ready for its template."""
    total = sum(weights.values())
    labels = names["workload"]
    known = [(slug, labels[slug], 100 * weight / total) for slug, weight in weights.items() if weight]
    is_open = any(entry.tied for entry in found.entries)
    lines = [
        MixLine(
            entry,
            entry_label(AXES[axis], entry.key, names),
            [entry.parts[slug] for slug, _, _ in known],
            entry.rank == 1 and not is_open,
        )
        for entry in found.entries
    ]
    best = [line.label for line in lines if line.entry.rank == 1 or line.entry.tied]
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
        f"{entry_label(AXES[axis], key, names)}: {_why_left_out(missing, found.unmeasured[key], labels)}"
        for key, missing in found.left_out.items()
    ]
    bars = [
        Bar(line.label, line.entry.ratio, line.entry.low, line.entry.high, tone="good" if line.is_best else None)
        for line in lines
    ]
    chart = forest_plot(1, "Throughput", lines[0].label, bars) if lines else None
    sentence = recommendation(axis, len(lines), best) if lines else ""
    return MixPage(sentence, known, lines, ranges, left_out, chart)


def _why_left_out(missing: Sequence[str], unmeasured: Sequence[str], labels: Mapping[str, str]) -> str:
    """For which workloads nobody measured it, and for which nothing joins its numbers to those of the others."""
    apart = [slug for slug in missing if slug not in unmeasured]
    said = [f"no numbers under {listed(labels[slug] for slug in unmeasured)}"] if unmeasured else []
    if apart:
        said.append(f"its numbers under {listed(labels[slug] for slug in apart)} are joined to none of those ranked")
    return "; ".join(said) or "too few to rank"
