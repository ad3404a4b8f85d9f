"""A comparison as its page shows it. No queries, no HTML."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kdb.units import METRICS
from modelling.answers.words import Chart
from modelling.evidence.words import counted, listed, load, ratio

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

    headline : the first two in a sentence, of more entries how the best of them stands to each other
    relative : what the ratios are of
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
        _headline(comparison.pairs[0], labels, METRICS[comparison.metric].relative, workload)
        if len(labels) == 2
        else _verdict(comparison, labels, METRICS[comparison.metric].relative, workload),
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


def _verdict(comparison: Comparison, labels: Mapping[str, str], relative: str, workload: str) -> str:
    """Say of three entries or more how the one that numbers put first stands to each other: "KVM comes first of these
    three for a file server: 1.37 times the throughput of Xen (95 % 1.20 to 1.55 in a new laboratory) and 1.10 times
    that of ESXi (0.90 to 1.30, which may be either way). Nothing is known of it against Hyper-V in numbers."

    First comes the entry that numbers join with the most others, of those the one that is behind none of them.
    """
    known: dict[str, dict[str, tuple[float, float, float]]] = {key: {} for key in labels}
    for pair in comparison.pairs:
        if pair.ratio is not None and pair.low is not None and pair.high is not None:
            known[pair.a][pair.b] = (pair.ratio, pair.low, pair.high)
            known[pair.b][pair.a] = (1 / pair.ratio, 1 / pair.high, 1 / pair.low)
    first = max(known, key=lambda key: (len(known[key]), sum(value > 1 for value, *_ in known[key].values())))
    others = sorted(known[first], key=lambda key: known[first][key][0])
    if not others:
        return f"Nothing is known of {listed(labels.values(), 'or')} against each other in numbers."
    clauses = []
    for place, key in enumerate(others):
        value, low, high = known[first][key]
        what = f"the {relative}" if place == 0 else "that"
        interval = (
            f"{'95 % ' if place == 0 else ''}{low:.2f} to {high:.2f}{' in a new laboratory' if place == 0 else ''}"
        )
        either = ", which may be either way" if low < 1 < high else ""
        clauses.append(f"{ratio(value)} {what} of {labels[key]} ({interval}{either})")
    joined = counted(len(others) + 1, "entry", "entries")
    sentence = f"{labels[first]} comes first of {joined} for {load(workload)}: {listed(clauses)}."
    apart = [label for key, label in labels.items() if key != first and key not in known[first]]
    return sentence + (f" Nothing is known of it against {listed(apart, 'or')} in numbers." if apart else "")


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
