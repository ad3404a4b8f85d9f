"""Lay out a comparison: every pair of its entries, and the first entry against each other one by workload.

No queries, no HTML.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kdb.units import METRICS
from modelling.answers.words import Bar, Chart, comparison_address, forest_plot
from modelling.evidence.words import capital, times

from ..content import ComparedPair, Comparison, WorkloadRatio

_TAGS = {"side by side": "measured", "through others": "estimated", "lists": "stated", "not at all": "open"}


@dataclass(frozen=True)
class PairLine:
    """Two entries with their labels. interval : in words; tag : CSS class of the basis
    address : of the comparison of the two alone"""

    pair: ComparedPair
    labels: tuple[str, str]
    interval: str
    tag: str
    address: str


@dataclass(frozen=True)
class WorkloadTable:
    """The first entry against one other, workload by workload.

    title : "KVM against Xen"; rows : each with its interval in words and the address of the comparison there
    """

    title: str
    rows: list[tuple[WorkloadRatio, str, str]]
    chart: Chart


def pair_lines(comparison: Comparison, order: Sequence[str], then: Mapping[str, int]) -> list[PairLine]:
    """Return a line for each pair of entries. order : of the entries; then : query parameters of addresses"""
    labels = {entry.key: entry.label for entry in comparison.entries}
    pairs = [ordered_pair(pair, order) for pair in comparison.pairs]
    pairs.sort(key=lambda pair: (order.index(pair.a), order.index(pair.b)))
    return [
        PairLine(
            pair,
            (labels[pair.a], labels[pair.b]),
            _interval(pair.low, pair.high),
            _TAGS[pair.basis],
            comparison_address(comparison.question, (pair.a, pair.b), **then),
        )
        for pair in pairs
    ]


def ordered_pair(pair: ComparedPair, order: Sequence[str]) -> ComparedPair:
    """Return the pair with its entries in this order, and ratio and interval inverted where they are swapped."""
    if order.index(pair.a) < order.index(pair.b):
        return pair
    ratio, low, high = (1 / value if value else None for value in (pair.ratio, pair.high, pair.low))
    return replace(pair, a=pair.b, b=pair.a, ratio=ratio, low=low, high=high)


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "–"
    return f"{'either way, ' if low < 1 < high else ''}{times(low)} to {times(high)}×"


def workload_tables(
    comparison: Comparison,
    order: Sequence[str],
    ratios: Sequence[WorkloadRatio],
    then: Mapping[str, int],
    margin: float,
) -> list[WorkloadTable]:
    """Draw the first entry against each other one over all workloads, largest ratio on top.

    then : query parameters of addresses; margin : difference that matters, a share, which is shaded
    """

    def address(workload: str) -> str:
        return comparison_address(replace(comparison.question, workload=workload), order, **then)

    labels = {entry.key: entry.label for entry in comparison.entries}
    relative = capital(METRICS[comparison.metric].relative)
    tables = []
    for number, key in enumerate(order):
        rows = sorted((row for row in ratios if row.other == key), key=lambda row: (-row.ratio, row.label))
        if rows:
            bars = [Bar(row.label, row.ratio, row.low, row.high) for row in rows]
            tables.append(
                WorkloadTable(
                    f"{labels[order[0]]} against {labels[key]}",
                    [(row, _interval(row.low, row.high), address(row.workload)) for row in rows],
                    forest_plot(number, relative, labels[key], bars, margin),
                )
            )
    return tables
