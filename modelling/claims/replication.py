"""What a campaign that measures a case study again says of it: pair by pair, and claim by claim.

The campaign's means take the places of the case study's numbers; then both are asked the same.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from django.conf import settings

from experiments.campaigns import replication
from experiments.campaigns.runs.figures import throughput
from experiments.models import Campaign, CaseStudy, Claim, Configuration
from experiments.records import visible
from experiments.rules.claim_conditions import CheckError, Throughput, parse_checks
from kdb.units import convert

from . import gather
from .evaluation import Verdict, evaluate
from .facts import Number, PublishedFacts, Span, number_span
from .values import Basis, Reader, Value, span_ratio

AGREES, DIFFERS, CLOSE = "agrees", "differs", "too close to say"
_WIDE = 1.96  # standard errors that a span is made for


@dataclass(frozen=True)
class PairLine:
    """Two configurations, of which the source has the first as the faster one.

    ratio : as the source has it, one or two readings; empty: by a list, which tells no ratio
    """

    workload: str
    vm_count: int
    first: str
    second: str
    ratio: str
    low: float
    middle: float
    high: float
    verdict: str


@dataclass(frozen=True)
class JudgedClaim:
    claim: Claim
    verdict: Verdict


@dataclass(frozen=True)
class ReplicationPage:
    """The page "the paper / here / agrees?" of one campaign and of those that were run with it by other drivers."""

    campaigns: list[Campaign]
    pairs: list[PairLine]
    claims: list[JudgedClaim]
    not_asked: int  # claims that need what was not measured here
    instead: list[str]  # sentences: what stands in for what

    @property
    def counts(self) -> list[tuple[str, int]]:
        verdicts = [line.verdict for line in self.pairs]
        return [(verdict, verdicts.count(verdict)) for verdict in (AGREES, DIFFERS, CLOSE)]

    @property
    def claim_counts(self) -> list[tuple[str, int]]:
        verdicts = [line.verdict.verdict for line in self.claims]
        return [(verdict, verdicts.count(verdict)) for verdict in dict.fromkeys(sorted(verdicts))]


def compare(campaign: Campaign) -> ReplicationPage:
    """Return the comparison of a campaign with the case study that it measures again."""
    case_study = campaign.replicates
    assert case_study is not None  # the view looks
    campaigns = [campaign, *_beside(campaign)]
    parts = {row: replication.measured_parts(case_study, row.driver) for row in campaigns}
    there = gather.read_facts(of=case_study.slug).with_spread(settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION)
    measured = [pair for row in campaigns for pair in _numbers(row, parts[row])]
    here = replace(there, numbers=tuple(number for _, number in measured), findings=(), ratios=())
    here = replace(here, limits=_limits(campaign)).with_spread(settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION)
    claims = [*_judged(case_study, here)]
    configurations = dict.fromkeys(configuration for configuration, _ in measured)
    return ReplicationPage(
        campaigns=campaigns,
        pairs=[*_pairs(list(configurations), there, here)],
        claims=[line for line in claims if line.verdict.held or line.verdict.failed],
        not_asked=sum(not (line.verdict.held or line.verdict.failed) for line in claims),
        instead=[
            *dict.fromkeys(
                part.instead
                for row in campaigns
                for part in parts[row]
                if part.configuration in configurations
                if part.instead
            )
        ],
    )


def _beside(campaign: Campaign) -> list[Campaign]:
    """Return the latest campaign of each other driver that measured the same on this host, by the same protocol."""
    alike = ("replicates", "host", "engine", "personality", "scale_percent", "run_seconds")
    same = Campaign.objects.filter(**{name: getattr(campaign, name) for name in alike}).exclude(driver=campaign.driver)
    return [*{row.driver: row for row in same.order_by("pk")}.values()]


def _numbers(campaign: Campaign, parts: Sequence[replication.Part]) -> Iterator[tuple[Configuration, Number]]:
    """Yield the means of the campaign's runs, each with the coordinates of what it was measured again for.

    The spread of a single run is that of all cells under one workload: three runs tell little of their own.
    """
    cells: dict[tuple[str, str, str, int], list[float]] = {}
    for run in campaign.runs.counting().defer("curves"):
        if value := throughput(run):
            cells.setdefault((run.workload, run.host_fs, run.guest_fs, run.vm_count), []).append(math.log(value))
    spreads = {workload: _spread([logs for key, logs in cells.items() if key[0] == workload]) for workload, *_ in cells}
    for (workload, host_fs, guest_fs, vm_count), logs in sorted(cells.items()):
        for part in parts:
            if (part.host_fs, part.guest_fs) != (host_fs, guest_fs):
                continue
            at = {**gather.place(part.configuration), "workload": workload, "variant": 0, "operation": "mixed"}
            stands_for = vm_count or (1 if part.configuration.hypervisor else 0)
            at |= {"block_size": None, "vm_count": stands_for}
            variance = spreads[workload]
            span = number_span(sum(logs) / len(logs), variance / len(logs) if variance is not None else None)
            cell = f"{part.configuration.slug}:{workload}:{stands_for}"
            yield part.configuration, Number(cell, at, (span,), runs=0 if variance is not None else len(logs))


def _spread(cells: Sequence[Sequence[float]]) -> float | None:
    """Return the variance of one ln(value), widened where few runs tell it; None without repetitions."""
    from scipy.special import stdtrit  # without scipy.stats, which takes a second to import

    freedom = sum(len(logs) - 1 for logs in cells)
    if not freedom:
        return None
    squares = sum((value - sum(logs) / len(logs)) ** 2 for logs in cells for value in logs)
    return squares / freedom * float(stdtrit(freedom, 0.975) / _WIDE) ** 2


def _limits(campaign: Campaign) -> dict[str, dict[str, float]]:
    """Return what the pool can do at most, where the host's check measured it."""
    known = campaign.host.facts.get("limits", {}).get(str(campaign.pool), {})
    least = min(filter(None, (known.get("read"), known.get("write"))), default=None)
    assert campaign.replicates is not None
    return {campaign.replicates.slug: {"disk": convert(least, "MB/s", gather.UNIT)}} if least else {}


def _judged(case_study: CaseStudy, here: PublishedFacts) -> Iterator[JudgedClaim]:
    """Yield each claim about the case study, asked of what was measured here as of anybody else."""
    claims = visible.claims().filter(case_studies=case_study).select_related("publication").order_by("pk")
    for claim in claims:
        try:
            verdict = evaluate(parse_checks(claim.checks).others, here, is_open=True)
        except CheckError as error:
            verdict = Verdict("untestable", str(error))
        yield JudgedClaim(claim, verdict)


def _pairs(configurations: Sequence[Configuration], there: PublishedFacts, here: PublishedFacts) -> Iterator[PairLine]:
    places = sorted({(number.at["workload"], number.at["vm_count"]) for number in here.numbers})
    for workload, vm_count in places:
        where = {"workload": workload, "vm_count": vm_count}
        for first, second in combinations(configurations, 2):
            if vm_count and first.is_native and second.is_native:
                continue  # stands at no machine
            theirs, ours = (_ratio(facts, first, second, where) for facts in (there, here))
            if theirs is None or ours is None or (Basis.LISTED in theirs.bases and not _order(theirs)):
                continue
            if theirs.readings[0].low * theirs.readings[0].high < 1:
                first, second = second, first
                theirs, ours = _inverse(theirs), _inverse(ours)
            span = ours.readings[0]
            product = _order(theirs) * _order(ours)
            yield PairLine(
                **where,
                first=str(first),
                second=str(second),
                ratio="" if Basis.LISTED in theirs.bases else _words(theirs),
                low=span.low,
                middle=math.sqrt(span.low * span.high),
                high=span.high,
                verdict=AGREES if product > 0 else DIFFERS if product < 0 else CLOSE,
            )


def _ratio(facts: PublishedFacts, first: Configuration, second: Configuration, where: dict[str, Any]) -> Value | None:
    """Return the ratio of two configurations: of numbers, else as lists order them; None where there is none."""
    upper, lower = (
        {name: at[name] for name in ("hypervisor", "guest_fs", "host_fs")} for at in map(gather.place, (first, second))
    )
    if upper == lower:
        return None
    ratios = Reader(facts, is_open=True).divided(Throughput(upper), Throughput(lower), where)
    return min(ratios, key=lambda ratio: Basis.LISTED in ratio.bases, default=None)


def _order(ratio: Value) -> int:
    """Return 1 where every reading is above 1, -1 where every one is below, else 0."""
    return all(span.low > 1 for span in ratio.readings) - all(span.high < 1 for span in ratio.readings)


def _inverse(ratio: Value) -> Value:
    return replace(ratio, readings=tuple(span_ratio(Span(1, 1), span) for span in ratio.readings))


def _words(ratio: Value) -> str:
    middles = dict.fromkeys(f"{math.sqrt(span.low * span.high):.3g}" for span in ratio.readings)
    return " or ".join(middles)
