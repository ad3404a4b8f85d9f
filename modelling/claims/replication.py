"""What a campaign that measures a case study again says of it: pair by pair, and claim by claim.

The campaign's means take the places of the case study's numbers; then both are asked the same.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from django.conf import settings

from experiments.campaigns.flagged import flagged_cells
from experiments.campaigns.replication import Part, measured_parts
from experiments.campaigns.runs.figures import throughput
from experiments.models import Campaign, CampaignRun, CaseStudy, Claim, Configuration
from experiments.records import visible
from experiments.rules.claim_conditions import CheckError, Throughput, parse_checks
from modelling.models import ClaimVerdict

from . import gather
from .evaluation import Evaluation, evaluate
from .facts import Number, PublishedFacts, number_span
from .values import Basis, Reader, Value

VERDICTS = {1: "agrees", -1: "differs", 0: "too close to say"}
_TAGS = {"agrees": "tag-good", "differs": "tag-bad"}
_LEAST_SPREAD = 0.005  # standard deviation of ln(value)
_SIDES = ("hypervisor", "guest_fs", "host_fs")  # of a pair
_WIDE = 1.96  # standard errors that a span is made for


@dataclass(frozen=True)
class PairLine:
    """Two configurations, of which the source has the first as the faster one, and the ratio of both here.

    there : the ratio in the source; empty: a list orders them
    """

    workload: str
    vm_count: int
    first: Configuration
    second: Configuration
    there: str
    low: float
    middle: float
    high: float
    verdict: str

    @property
    def tag(self) -> str:
        return _TAGS.get(self.verdict, "")


@dataclass(frozen=True)
class ReplicationPage:
    """A campaign, and those run with it by other drivers, beside what they measure again."""

    campaigns: list[Campaign]
    pairs: list[PairLine]
    counts: list[tuple[str, int]]  # pairs by verdict
    claims: list[tuple[Claim, ClaimVerdict]]  # that the numbers here decide
    not_asked: int  # claims that they do not
    notes: list[str]  # sentences: what stands in for what, and what disturbed the runs


def compare(campaign: Campaign) -> ReplicationPage:
    """Return the comparison of a campaign with the case study that it measures again."""
    case_study, variation = campaign.replicates, settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION
    assert case_study is not None  # the view looks
    alike = ("replicates", "host", "engine", "personality", "scale_percent", "run_seconds")
    same = Campaign.objects.filter(**{name: getattr(campaign, name) for name in alike}).exclude(driver=campaign.driver)
    same = same.filter(runs__in=CampaignRun.objects.counting()).distinct()
    campaigns = [campaign, *{row.driver: row for row in same.order_by("pk")}.values()]  # the latest of each driver
    there = gather.read_facts(of=case_study.slug).with_spread(variation)
    standing = _parts(case_study, campaigns, there)
    measured = [pair for row in campaigns for pair in _numbers(row, standing)]
    here = replace(there, numbers=tuple(number for _, number in measured), findings=(), ratios=(), limits={})
    here = here.with_spread(variation)
    parts = {part.configuration: part for part, _ in measured}
    rows = {tuple(map(gather.place(row).get, _SIDES)): row for row in parts}  # one of those that differ in settings
    pairs, claims = [*_pairs([*rows.values()], there, here)], [*_judged(case_study, here)]
    decided = [(claim, verdict) for claim, verdict in claims if verdict.held or verdict.failed]
    counts = Counter(line.verdict for line in pairs)
    notes = [*dict.fromkeys(part.instead for part in parts.values() if part.instead)]
    disturbed = CampaignRun.objects.counting().filter(campaign__in=campaigns).exclude(disturbed="").count()
    notes += [f"Other programs disturbed {disturbed} of its runs."] if disturbed else []
    flagged = {
        cell: why
        for row in campaigns
        for cell, why in flagged_cells(row, row.runs.select_related("repeated_by")).items()
    }
    notes += [f"{cell} looks like no disk's number: {why}" for cell, why in flagged.items()]
    summary = [(verdict, counts[verdict]) for verdict in VERDICTS.values()]
    return ReplicationPage(campaigns, pairs, summary, decided, len(claims) - len(decided), notes)


def _parts(case_study: CaseStudy, campaigns: Sequence[Campaign], there: PublishedFacts) -> list[Part]:
    """Return what the campaigns measured. Runs stand in for one configuration, and for none beside their own.

    there : the facts of the source; of several hypervisors that with most of them is stood in for
    """
    facts = Counter(number.at["hypervisor"] for number in there.numbers)
    facts.update(finding.hypervisor for finding in there.findings)
    parts, _ = measured_parts(case_study, [row.driver for row in campaigns])
    parts.sort(key=lambda part: (bool(part.instead), -facts[gather.place(part.configuration)["hypervisor"]]))
    first = {(part.driver, part.host_fs, part.guest_fs): part for part in reversed(parts)}
    return [part for part in parts if not part.instead or part in first.values()]


def _numbers(campaign: Campaign, parts: Sequence[Part]) -> Iterator[tuple[Part, Number]]:
    """Yield the means of the campaign's runs, each with the coordinates of what it was measured again for.

    The spread of a single run is that of all cells under one workload: three runs tell little of their own. Where the
    source has the sum of all machines, that is yielded.
    """
    cells: dict[tuple[str, str, str, int], list[float]] = {}
    for run in campaign.runs.counting().defer("curves"):
        if value := throughput(run):
            cells.setdefault((run.workload, run.host_fs, run.guest_fs, run.vm_count), []).append(math.log(value))
    spreads = {workload: _spread([logs for key, logs in cells.items() if key[0] == workload]) for workload, *_ in cells}
    for (workload, host_fs, guest_fs, vm_count), logs in sorted(cells.items()):
        for part in parts:
            if (part.driver, part.host_fs, part.guest_fs) != (campaign.driver, host_fs, guest_fs):
                continue
            machines = vm_count or int(not part.configuration.is_native)
            at = gather.place(part.configuration) | {"workload": workload, "vm_count": machines, "variant": 0}
            at |= {"operation": "mixed", "block_size": None}
            variance = spreads[workload]
            together = machines if part.configuration.case_study.value_scope == CaseStudy.Scope.AGGREGATE else 1
            level = sum(logs) / len(logs) + math.log(max(together, 1))
            span = number_span(level, None if variance is None else variance / len(logs))
            cell = f"{part.configuration.slug}:{workload}:{machines}"
            yield part, Number(cell, at, (span,), runs=len(logs) if variance is None else 0)


def _spread(cells: Sequence[Sequence[float]]) -> float | None:
    """Return the variance of one ln(value), widened where few runs tell it; None without repetitions."""
    from scipy.special import stdtrit  # without scipy.stats, which takes a second to import

    freedom = sum(len(logs) - 1 for logs in cells)
    if not freedom:
        return None
    squares = sum((value - sum(logs) / len(logs)) ** 2 for logs in cells for value in logs)
    # Values that a benchmark rounds may be equal; no disk repeats itself that well.
    return max(squares / freedom, _LEAST_SPREAD**2) * float(stdtrit(freedom, 0.975) / _WIDE) ** 2


def _judged(case_study: CaseStudy, here: PublishedFacts) -> Iterator[tuple[Claim, ClaimVerdict]]:
    """Yield each claim about the case study, asked of what was measured here as of anybody else."""
    for claim in visible.claims().filter(case_studies=case_study).select_related("publication").order_by("pk"):
        try:
            judged = evaluate(parse_checks(claim.checks).others, here, is_open=True)
        except CheckError as error:
            judged = Evaluation("untestable", str(error))
        names = ("verdict", "reason", "held", "failed", "undecided")
        yield claim, ClaimVerdict(**{name: getattr(judged, name) for name in names})


def _pairs(rows: Sequence[Configuration], there: PublishedFacts, here: PublishedFacts) -> Iterator[PairLine]:
    for workload, vm_count in sorted({(number.at["workload"], number.at["vm_count"]) for number in here.numbers}):
        where = {"workload": workload, "vm_count": vm_count}
        for first, second in combinations(rows, 2):
            theirs, ours = _ratio(there, first, second, where), _ratio(here, first, second, where)
            is_listed = theirs is not None and Basis.LISTED in theirs.bases
            if theirs is None or ours is None or (is_listed and not _order(theirs)):
                continue
            if vm_count and first.is_native and second.is_native:
                continue  # stands at no machine
            low, high = ours.readings[0]
            ratios = [math.sqrt(span.low * span.high) for span in theirs.readings]
            verdict = VERDICTS[_order(theirs) * _order(ours)]
            if ratios[0] < 1:
                first, second, low, high = second, first, 1 / high, 1 / low
                ratios = [1 / ratio if ratio else math.inf for ratio in ratios]
            least, most = (f"{end(ratios):.3g}×" for end in (min, max))
            words = "" if is_listed else least if least == most else f"{least} to {most}"
            yield PairLine(workload, vm_count, first, second, words, low, math.sqrt(low * high), high, verdict)


def _ratio(facts: PublishedFacts, first: Configuration, second: Configuration, where: dict[str, Any]) -> Value | None:
    """Return the ratio of two configurations: of numbers, else as lists order them; None where there is none.

    Its readings are those of every operation, variant and setting that there are numbers of.
    """
    upper, lower = ({name: gather.place(row)[name] for name in _SIDES} for row in (first, second))
    ratios = Reader(facts, is_open=True).ratios_of(Throughput(upper), Throughput(lower), where)
    ratios = [ratio for ratio in ratios if Basis.LISTED not in ratio.bases] or ratios[:1]
    return replace(ratios[0], readings=tuple(span for ratio in ratios for span in ratio.readings)) if ratios else None


def _order(ratio: Value) -> int:
    """Return 1 where every reading is above 1, -1 where every one is below, else 0."""
    return all(span.low > 1 for span in ratio.readings) - all(span.high < 1 for span in ratio.readings)
