"""The facts that claims and hypotheses are checked against, as plain values. No Django.

A number is a span that contains the true value; a printed value without spread has width 0. Where a source can be
read in two ways there are two spans, and a comparison must hold for both. Source: docs/models/claims.md.
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from experiments.rules.claim_conditions import ANY
from modelling.evidence.axes import NATIVE as NATIVE

# Half width of a span in standard errors, 1.96 / sqrt(2): two equal spans just do not overlap where their ratio differs
# from 1 at 95 % confidence.
HALF_WIDTH = 1.386

# The coordinates of a number. `machine` is the guest's system and size, `medium` cache mode, image format and bus.
AXES_OF_A_NUMBER = (
    *("case_study", "workload", "variant", "operation", "block_size", "vm_count", "hypervisor", "virtualisation"),
    *("medium", "machine", "guest_fs", "host_fs"),
)

# The coordinates that conditions usually name, by which numbers are looked up.
LOOKUP_AXES = ("workload", "operation", "block_size", "hypervisor")


class Span(NamedTuple):
    """A number that lies between two others."""

    low: float
    high: float


@dataclass(frozen=True)
class Number:
    """One throughput, MiB/s. `at` holds its coordinates, see AXES_OF_A_NUMBER."""

    id: str  # "measurement:12", "derived:7"
    at: Mapping[str, Any]
    readings: tuple[Span, ...]
    is_bound: bool = False  # the text states only an upper or lower bound
    runs: int = 0  # number of runs if the source states no spread; 0: the span includes the spread


@dataclass(frozen=True)
class Finding:
    """The rating of one pair for one workload, in the text and in the table of a publication."""

    id: str  # "finding:3"
    publication: str
    case_studies: tuple[str, ...]
    workload: str
    hypervisor: str
    guest_fs: str
    host_fs: str
    text: str  # "best", "unlisted", "worst"
    table: str
    is_outstanding: bool  # in the text; the table has no such mark


@dataclass(frozen=True)
class PrintedRatio:
    """A ratio of two throughputs as printed, for one or more VM counts."""

    id: str  # "ratio:5"
    case_study: str
    workload: str
    numerator: str  # hypervisor, or NATIVE
    denominator: str
    vm_counts: tuple[int, ...]
    least: Span  # and greatest: each with the rounding error of the last digit
    greatest: Span
    trend: str = ""  # "grows" or "shrinks" with the VM count, else not stated

    def at(self, vm_count: int) -> Span:
        """Return the span of the ratio at one of its VM counts."""
        first, last = (self.greatest, self.least) if self.trend == "shrinks" else (self.least, self.greatest)
        if self.trend and vm_count == min(self.vm_counts):
            return first
        if self.trend and vm_count == max(self.vm_counts):
            return last
        return Span(self.least.low, self.greatest.high)


@dataclass(frozen=True)
class PublishedFacts:
    """All facts of published case studies, or a part of them, for conditions to be evaluated on."""

    numbers: tuple[Number, ...] = ()
    findings: tuple[Finding, ...] = ()
    ratios: tuple[PrintedRatio, ...] = ()
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # case study: {"disk": MiB/s, ...}
    labels: Mapping[str, str] = field(default_factory=dict)  # slug: name on a page
    source: str = ""  # if all facts are of one source: its case study, or publication of lists

    def with_spread(self, variation: float) -> "PublishedFacts":
        """Widen values without stated spread. variation : coefficient of variation of a single run"""
        return replace(self, numbers=tuple(_widened(number, variation) for number in self.numbers))

    def of_studies(self, case_studies: Collection[str], *, others: bool = False) -> "PublishedFacts":
        """Return the facts of these case studies. others : of all others instead"""

        def has(slug: object) -> bool:
            return (slug in case_studies) != others

        return replace(
            self,
            numbers=tuple(n for n in self.numbers if has(n.at["case_study"])),
            findings=tuple(f for f in self.findings if any(map(has, f.case_studies))),
            ratios=tuple(r for r in self.ratios if has(r.case_study)),
            limits={slug: limit for slug, limit in self.limits.items() if has(slug)},
        )

    @cached_property
    def studies(self) -> list["PublishedFacts"]:
        """Split the facts by source: first the case studies with numbers or ratios, then each publication's lists."""
        numbers = _group_by_key((n.at["case_study"], n) for n in self.numbers)
        ratios = _group_by_key((r.case_study, r) for r in self.ratios)
        lists = _group_by_key((f.publication, f) for f in self.findings)
        case_studies = [
            replace(
                self,
                source=slug,
                numbers=numbers.get(slug, ()),
                ratios=ratios.get(slug, ()),
                findings=(),
                limits={slug: self.limits[slug]} if slug in self.limits else {},
            )
            for slug in sorted(numbers.keys() | ratios.keys())
        ]
        return case_studies + [
            PublishedFacts(source=slug, findings=lists[slug], labels=self.labels) for slug in sorted(lists)
        ]

    @cached_property
    def with_statements(self) -> "PublishedFacts":
        """Return the facts of case studies whose text states a ratio or a bound, without findings."""
        slugs = {ratio.case_study for ratio in self.ratios} | {n.at["case_study"] for n in self.numbers if n.is_bound}
        return replace(self.of_studies(slugs), findings=())

    def digest(self, case_studies: Collection[str], workloads: Collection[str] | None, *, others: bool = False) -> str:
        """Return a digest of all facts of these case studies, or of all others, as far as they have the workloads.

        workloads : None for any. A case study enters with all its workloads, because these determine its last VM count
            and whether its text states anything.
        """

        def counts(slug: str) -> bool:
            return (slug in case_studies) != others

        parts: list[Any] = [
            (slug, digest)
            for slug, (studied, digest) in self._digests.items()
            if counts(slug) and (workloads is None or not studied.isdisjoint(workloads))
        ]
        parts += [
            (finding, self._names_of(vars(finding).values()))
            for finding in self.findings
            if any(map(counts, finding.case_studies)) and (workloads is None or finding.workload in workloads)
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @cached_property
    def _digests(self) -> dict[str, tuple[frozenset[str], str]]:
        """Return case study to its workloads, and a digest of its numbers, ratios, limits and the names in them."""
        numbers = _group_by_key((n.at["case_study"], n) for n in self.numbers)
        ratios = _group_by_key((r.case_study, r) for r in self.ratios)
        digests = {}
        for slug in sorted({*numbers, *ratios, *self.limits}):
            rows = (*numbers.get(slug, ()), *ratios.get(slug, ()))
            workloads = frozenset(row.at["workload"] if isinstance(row, Number) else row.workload for row in rows)
            values = {value for row in rows for value in (row.at if isinstance(row, Number) else vars(row)).values()}
            content = repr((rows, self.limits.get(slug), self._names_of(values)))
            digests[slug] = workloads, hashlib.sha256(content.encode()).hexdigest()
        return digests

    def _names_of(self, values: Iterable[object]) -> list[tuple[str, str]]:
        """Return the values that have a label, with it, sorted."""
        return sorted(
            (value, self.labels[value]) for value in values if isinstance(value, str) and value in self.labels
        )

    def numbers_at(self, *place: Any) -> tuple[Number, ...]:
        """Return the numbers with these values of LOOKUP_AXES, ANY for all; cached, because conditions repeat them."""
        if place not in self._numbers_by_place:
            self._numbers_by_place[place] = tuple(
                number
                for number in self.numbers
                if all(value in (ANY, number.at[name]) for name, value in zip(LOOKUP_AXES, place, strict=True))
            )
        return self._numbers_by_place[place]

    @cached_property
    def _numbers_by_place(self) -> dict[tuple[Any, ...], tuple[Number, ...]]:
        return {}

    @cached_property
    def last_count(self) -> dict[str, int]:
        """Return case study to the greatest VM count that it has numbers or ratios of."""
        counts = [(n.at["case_study"], n.at["vm_count"]) for n in self.numbers]
        counts += [(r.case_study, max(r.vm_counts, default=0)) for r in self.ratios]
        return {slug: max(numbers) for slug, numbers in _group_by_key(counts).items()}

    @cached_property
    def printed(self) -> dict[tuple[str, str, int], dict[tuple[str, str], tuple[Span, str]]]:
        """Return printed ratios: case study, workload and VM count to {(numerator, denominator): (span, id)}."""
        printed: dict[tuple[str, str, int], dict[tuple[str, str], tuple[Span, str]]] = {}
        for ratio in self.ratios:
            for count in ratio.vm_counts:
                by_hypervisors = printed.setdefault((ratio.case_study, ratio.workload, count), {})
                by_hypervisors[ratio.numerator, ratio.denominator] = ratio.at(count), ratio.id
        return printed


def _group_by_key(rows: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[Any]] = {}
    for key, row in rows:
        groups.setdefault(key, []).append(row)
    return {key: tuple(values) for key, values in groups.items()}


def _widened(number: Number, variation: float) -> Number:
    if not number.runs:
        return number
    low, high = number_span(0.0, variation**2 / number.runs)
    return replace(number, readings=tuple(Span(span.low * low, span.high * high) for span in number.readings))


def number_span(mean_log: float, variance: float | None) -> Span:
    """Return the span of exp(mean_log). variance : of mean_log; None gives a span of width 0"""
    half = HALF_WIDTH * math.sqrt(variance) if variance else 0.0
    return Span(math.exp(mean_log - half), math.exp(mean_log + half))
