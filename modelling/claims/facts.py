"""The facts that claims and hypotheses are checked against, as plain values. No Django.

A number is known to lie in a span; a printed value is a span of no width. Where a source allows two
readings there are two spans, and what is said must hold under both. Source: docs/models/claims.md.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from modelling.evidence.axes import NATIVE as NATIVE

RUNS_ON_ONE_SPAN = 1.386  # 1.96 / sqrt(2): two equal spans just part where their ratio differs from 1 at 95 %


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
    is_bound: bool = False  # the text only says above or below
    runs: int = 0  # behind a value whose source states no spread; 0: the span has it


# These tell two numbers apart. `machine` is the guest's system and size, `medium` cache mode, image format and bus.
AXES_OF_A_NUMBER = (
    "case_study",
    "workload",
    "variant",
    "operation",
    "block_size",
    "vm_count",
    "hypervisor",
    "virtualisation",
    "medium",
    "machine",
    "guest_fs",
    "host_fs",
)


@dataclass(frozen=True)
class Finding:
    """The places of one pair for one workload in the text and in the table of a publication."""

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
    """A ratio of two throughputs as a text prints it, over the VM counts it speaks of."""

    id: str  # "ratio:5"
    case_study: str
    workload: str
    numerator: str  # hypervisor, or NATIVE
    denominator: str
    vm_counts: tuple[int, ...]
    least: Span  # each end with the rounding of its last digit
    greatest: Span
    trend: str = ""  # "grows" or "shrinks" with the VM count, else not stated

    def at(self, vm_count: int) -> Span | None:
        """Return the span of the ratio at one VM count; None where the text does not mention that count."""
        if vm_count not in self.vm_counts:
            return None
        first, last = (self.greatest, self.least) if self.trend == "shrinks" else (self.least, self.greatest)
        if self.trend and vm_count == min(self.vm_counts):
            return first
        if self.trend and vm_count == max(self.vm_counts):
            return last
        return Span(self.least.low, self.greatest.high)


@dataclass(frozen=True)
class PublishedFacts:
    """Everything a question may be put to: of published case studies only."""

    numbers: tuple[Number, ...] = ()
    findings: tuple[Finding, ...] = ()
    ratios: tuple[PrintedRatio, ...] = ()
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # case study: {"disk": MiB/s, ...}
    labels: Mapping[str, str] = field(default_factory=dict)  # slug: name on a page
    last_counts: Mapping[object, int] | None = None  # see last_count; None: what the numbers and ratios say

    def with_spread(self, variation: float) -> "PublishedFacts":
        """Return the facts with this spread of a single run, a share of the value, for values that state none."""
        return replace(self, numbers=tuple(_widened(number, variation) for number in self.numbers))

    @property
    def is_empty(self) -> bool:
        return not (self.numbers or self.findings or self.ratios or self.limits)

    def only(self, case_studies: Collection[str]) -> "PublishedFacts":
        return self._where(lambda slug: slug in case_studies)

    def without(self, case_studies: Collection[str]) -> "PublishedFacts":
        return self._where(lambda slug: slug not in case_studies)

    def _where(self, keep: Callable[[Any], bool]) -> "PublishedFacts":
        return replace(
            self,
            numbers=tuple(n for n in self.numbers if keep(n.at["case_study"])),
            findings=tuple(f for f in self.findings if any(map(keep, f.case_studies))),
            ratios=tuple(r for r in self.ratios if keep(r.case_study)),
            limits={slug: limit for slug, limit in self.limits.items() if keep(slug)},
        )

    @cached_property
    def studies(self) -> list["PublishedFacts"]:
        """Split the facts by source that compares things: a case study, or a publication's lists."""
        parts: dict[str, tuple[list[Number], list[PrintedRatio]]] = {}
        for number in self.numbers:
            parts.setdefault(str(number.at["case_study"]), ([], []))[0].append(number)
        for ratio in self.ratios:
            parts.setdefault(ratio.case_study, ([], []))[1].append(ratio)
        lists: dict[str, list[Finding]] = {}
        for finding in self.findings:
            lists.setdefault(finding.publication, []).append(finding)
        numbers_and_ratios = [
            replace(self, numbers=tuple(numbers), ratios=tuple(ratios), findings=())
            for _, (numbers, ratios) in sorted(parts.items())
        ]
        findings = [
            replace(self, numbers=(), ratios=(), limits={}, findings=tuple(rows)) for _, rows in sorted(lists.items())
        ]
        return numbers_and_ratios + findings

    @cached_property
    def stating(self) -> "PublishedFacts":
        """Return the facts of case studies whose text states a ratio or a bound, without findings."""
        slugs = {ratio.case_study for ratio in self.ratios} | {n.at["case_study"] for n in self.numbers if n.is_bound}
        return replace(self.only(slugs), findings=())

    def names(self) -> str:
        """Name the sources of the facts: "p0, p1"."""
        slugs = {n.at["case_study"] for n in self.numbers} | {f.publication for f in self.findings}
        slugs |= {ratio.case_study for ratio in self.ratios}
        return ", ".join(sorted(map(str, slugs)))

    @cached_property
    def by_workload(self) -> dict[object, list[Number]]:
        by_workload: dict[object, list[Number]] = {}
        for number in self.numbers:
            by_workload.setdefault(number.at["workload"], []).append(number)
        return by_workload

    @cached_property
    def last_count(self) -> dict[object, int]:
        """Return case study to the greatest VM count it has numbers of, be they among these or not."""
        if self.last_counts is not None:
            return dict(self.last_counts)
        greatest: dict[object, int] = {}
        for slug, count in self._counts():
            greatest[slug] = max(count, greatest.get(slug, 0))
        return greatest

    def _counts(self) -> Iterable[tuple[object, int]]:
        yield from ((n.at["case_study"], n.at["vm_count"]) for n in self.numbers)
        yield from ((r.case_study, max(r.vm_counts)) for r in self.ratios if r.vm_counts)


def _widened(number: Number, variation: float) -> Number:
    if not number.runs:
        return number
    low, high = number_span(0.0, variation**2 / number.runs)
    return replace(number, readings=tuple(Span(span.low * low, span.high * high) for span in number.readings))


def number_span(mean_log: float, variance: float | None) -> Span:
    """Return the span of a mean of ln(value) with the variance of that mean; None: the value as it stands."""
    half = RUNS_ON_ONE_SPAN * math.sqrt(variance) if variance else 0.0
    return Span(math.exp(mean_log - half), math.exp(mean_log + half))
