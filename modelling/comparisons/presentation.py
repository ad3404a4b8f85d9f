"""A comparison as its page shows it. No queries, no HTML."""

from dataclasses import dataclass

from kdb.units import METRICS
from modelling.evidence.words import load, ratio

from .content import ComparedEntry, ComparedPair, Comparison, EnvironmentFact
from .words import compare_address


@dataclass(frozen=True)
class PairLine:
    """Two entries with their labels. tag : of its basis, as the style sheet has it; address : of their explanation"""

    pair: ComparedPair
    labels: tuple[str, str]
    tag: str
    address: str


@dataclass(frozen=True)
class ComparisonPage:
    """Everything its template prints.

    headline : the first two in a sentence; relative : what the ratios are of
    differing, shared : facts in which the entries differ, and others
    """

    headline: str
    relative: str
    entries: tuple[ComparedEntry, ...]
    environment_of: str
    differing: list[EnvironmentFact]
    shared: list[EnvironmentFact]
    lines: list[PairLine]
    has_parts: bool


_BASIS_TAGS = {"side by side": "measured", "through others": "estimated", "lists": "stated", "not at all": "open"}


def present_comparison(comparison: Comparison, workload: str, as_of: int | None = None) -> ComparisonPage:
    """Return a comparison ready for its template; its links stay at the revision it was asked for.

    workload : its name
    """
    then = {} if as_of is None else {"as_of": as_of}
    labels = {entry.key: entry.label for entry in comparison.entries}
    lines = [
        PairLine(
            pair,
            (labels[pair.a], labels[pair.b]),
            _BASIS_TAGS[pair.basis],
            compare_address(comparison.question, a=pair.a, b=pair.b, **then),
        )
        for pair in comparison.pairs
    ]
    return ComparisonPage(
        _headline(comparison.pairs[0], labels, METRICS[comparison.metric].relative, workload),
        METRICS[comparison.metric].relative,
        comparison.entries,
        comparison.environment_of,
        [row for row in comparison.environment if row.differs],
        [row for row in comparison.environment if not row.differs],
        lines,
        len({entry.part for entry in comparison.entries if entry.part}) > 1,
    )


def _headline(pair: ComparedPair, labels: dict[str, str], relative: str, workload: str) -> str:
    """Say the first two in a sentence, "Proxmox VE gives 1.37 times the throughput of ESXi for a file server, with 95 %
    1.20 to 1.55 in a new laboratory."; where no number joins the two, why."""
    a, b = labels[pair.a], labels[pair.b]
    if pair.ratio is None or pair.low is None or pair.high is None:
        return f"Nothing is known of {a} against {b} in numbers. {pair.why}"
    sentence = f"{a} gives {ratio(pair.ratio)} the {relative} of {b} for {load(workload)}, "
    sentence += f"with 95 % {pair.low:.2f} to {pair.high:.2f} in a new laboratory"
    return sentence + (": that may be either way." if pair.low < 1 < pair.high else ".")
