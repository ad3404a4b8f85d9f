"""A comparison as its page shows it. No queries, no HTML."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kdb.units import METRICS
from modelling.answers.words import Chart
from modelling.evidence.words import load, ratio

from .content import ComparedEntry, ComparedPair, Comparison, EnvironmentFact, WorkloadRatio
from .words import address_of, compare_address


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

    recommendation, confidence : the first two lines; headline : what numbers say of two, in a sentence
    relative : what the ratios are of
    differing, shared : facts in which the entries differ, and others
    """

    recommendation: str
    confidence: str
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
    verdict = comparison.verdict
    return ComparisonPage(
        verdict.sentence if verdict else "",
        verdict.confidence if verdict else "",
        _headline(comparison.pairs[0], labels, METRICS[comparison.metric].relative, workload)
        if len(labels) == 2 or verdict is None
        else "",
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
    1.20 to 1.55 on other machines."; where no number joins the two, why."""
    a, b = labels[pair.a], labels[pair.b]
    if pair.ratio is None or pair.low is None or pair.high is None:
        return f"Nobody published numbers of {a} against {b}. {pair.why}"
    sentence = f"{a} gives {ratio(pair.ratio)} the {relative} of {b} for {load(workload)}, "
    sentence += f"with 95 % {pair.low:.2f} to {pair.high:.2f} on other machines"
    return sentence + (": that may be either way." if pair.low < 1 < pair.high else ".")


@dataclass(frozen=True)
class WorkloadTable:
    """The first entry against one other, workload by workload.

    title : "KVM against Xen"; rows : each with the address of the comparison under its workload
    """

    title: str
    rows: list[tuple[WorkloadRatio, str]]
    chart: Chart


def present_workloads(comparison: Comparison, ratios: Iterable[WorkloadRatio], margin: float) -> list[WorkloadTable]:
    """Draw the first entry against each other over all workloads, the largest ratio on top.

    margin : share of the better's value that counts as slower, which is shaded
    """
    labels = {entry.key: entry.label for entry in comparison.entries}
    first = comparison.entries[0].key
    tables = []
    for number, (key, label) in enumerate(labels.items()):
        rows = sorted((row for row in ratios if row.other == key), key=lambda row: (-row.ratio, row.label))
        if rows:
            title = f"{labels[first]} against {label}"
            addresses = [address_of(replace(comparison.question, workload=row.workload), list(labels)) for row in rows]
            tables.append(
                WorkloadTable(title, list(zip(rows, addresses, strict=True)), _chart(number, title, rows, margin))
            )
    return tables


def _chart(number: int, title: str, rows: list[WorkloadRatio], margin: float) -> Chart:
    return Chart(
        id=f"chart-workloads-{number}",
        size="short" if len(rows) < 5 else "tall" if len(rows) > 9 else "",
        label=f"{title}, workload by workload: the ratio with what a new laboratory would see (95 %); the band is "
        f"where the two differ by less than {margin:.0%}. The table has the numbers.",
        data={
            "kind": "forest",
            "horizontal": True,
            "unit": "×",
            "axis": "Ratio, logarithmic",
            "labels": [row.label for row in rows],
            "series": [
                {"name": title, "points": [{"value": row.ratio, "low": row.low, "high": row.high} for row in rows]}
            ],
            "tones": None,
            "reference": 1,
            "band": [1 - margin, 1 / (1 - margin)],
        },
    )
