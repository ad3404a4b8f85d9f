"""Lay out a mix: sentences, rows and a chart. No queries, no HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kdb.units import METRICS, THROUGHPUT, Metric
from modelling.answers.content import MixAnswer, NamedMixEntry, Share
from modelling.answers.words import Bar, Chart, address, forest_plot, never_tried, summarize_evidence
from modelling.estimation.verdict import AVOID, LEADS, NO_DIFFERENCE, USE
from modelling.evidence.axes import AXES, entry_label
from modelling.evidence.question import Question
from modelling.evidence.words import capital, listed


@dataclass(frozen=True)
class MixLine:
    """A row of the table. parts : ratio under each workload alone; tag : CSS class and words of its verdict"""

    entry: NamedMixEntry
    parts: list[float]
    tag: tuple[str, str]


@dataclass(frozen=True)
class ShareLine:
    """A workload of the mix. percent : its share; address : of the answer on it alone"""

    share: Share
    label: str
    percent: float
    address: str


@dataclass(frozen=True)
class MixPage:
    """The page of a mix. grounds, never_tried : as on the page of an answer; ranges, left_out : sentences"""

    answer: MixAnswer
    metric: Metric
    grounds: str
    never_tried: str
    shares: list[ShareLine]
    entries: list[MixLine]
    ranges: list[str]
    left_out: list[str]
    chart: Chart | None


_TAGS = {
    USE: ("good", "use"),
    LEADS: ("open", "leads"),
    NO_DIFFERENCE: ("open", "no difference"),
    AVOID: ("bad", "avoid"),
}


def present_mix(
    answer: MixAnswer, asked: Question, names: Mapping[str, Mapping[str, str]], as_of: int | None = None
) -> MixPage:
    """Lay out a mix for its template. asked : the question before it was normalised"""
    axis, workloads = AXES[asked.axis], names["workload"]
    metric = METRICS[answer.question.metric or THROUGHPUT]
    lines = [
        MixLine(entry, [entry.parts[share.workload] for share in answer.shares], _TAGS.get(entry.verdict, ("", "")))
        for entry in answer.entries
    ]
    ranges = []
    for limits in answer.ranges:
        for share, other, side in ((limits.low, limits.below, "below"), (limits.high, limits.above, "above")):
            if other is not None:
                first = entry_label(axis, other, names)
                ranges.append(
                    f"{workloads[limits.workload]}, {100 * limits.share:.0f} % here: {first} comes first {side} "
                    f"{100 * share:.0f} %."
                )
    bars = [
        Bar(
            line.entry.label,
            line.entry.ratio,
            line.entry.low,
            line.entry.high,
            tone=line.tag[0] if line.tag[0] in ("good", "bad") else None,
        )
        for line in lines
    ]
    return MixPage(
        answer=answer,
        metric=metric,
        grounds=capital(summarize_evidence(answer.grounds, names["storage"])) if lines else "",
        never_tried=never_tried(answer.grounds, names["storage"]),
        shares=[
            ShareLine(
                share,
                workloads[share.workload],
                100 * share.share,
                address(replace(asked, workload=share.workload), as_of),
            )
            for share in answer.shares
        ],
        entries=lines,
        ranges=ranges,
        left_out=[
            f"{entry_label(axis, key, names)}: {_why_left_out(missing, answer.unmeasured[key], workloads)}"
            for key, missing in answer.left_out.items()
        ],
        chart=forest_plot(1, capital(metric.relative), lines[0].entry.label, bars) if lines else None,
    )


def _why_left_out(missing: Sequence[str], unmeasured: Sequence[str], labels: Mapping[str, str]) -> str:
    """Say under which workloads an entry was not measured, or not compared with the ranked ones."""
    apart = [slug for slug in missing if slug not in unmeasured]
    reasons = (
        [f"no numbers that may be compared under {listed(labels[slug] for slug in unmeasured)}"] if unmeasured else []
    )
    if apart:
        reasons.append(f"its numbers under {listed(labels[slug] for slug in apart)} are joined to none of those ranked")
    return "; ".join(reasons) or "too few to rank"
