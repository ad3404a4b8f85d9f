"""Compute and store the report on model quality from all published evidence."""

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from django.utils.timezone import now

from experiments.models import CaseStudy
from experiments.records.checklist import numbers_of
from experiments.rules.plausibility import FlaggedNumber
from experiments.rules.protocol import KIND_OF_DISK, NOT_STATED
from kdb.cost import budget
from modelling.answer_store.caveats import clear_cache
from modelling.answers.knowledge import assumptions, published_knowledge
from modelling.estimation import ranking
from modelling.estimation.arms import find_compared
from modelling.evidence import counts, dataframes
from modelling.evidence.storage import KeptReport, store_if_current
from modelling.models import QualityReport
from modelling.prediction.content import IN_USE, LABEL, SINCE

from .content import ForecastsInUse, Form, GroupsLeftOut, ModelQuality
from .left_out_groups import calibration, examples, forecast_left_out_groups, forms

logger = logging.getLogger(__name__)

# The ranking's version, and in the last two digits our own, raised where the same evidence gives another report.
METHOD = 100 * ranking.METHOD + 12
JOB = "recompute_quality"
MOST_FLAGGED = 500  # implausible numbers listed
LEAST_INSIDE = 0.9  # share of ratios inside 95 % intervals, below which forecasts should not be used


def compute(*, wait: bool = True) -> QualityReport:
    """Compute the report on the current knowledge, and store it unless a publication came in between.

    wait : for a publication under way; else the report is not stored during one
    """
    budget.check(ahead=1.0)
    revision = counts.revision()
    result = _build_report(revision)
    digest = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    kept = QualityReport(method=METHOD, revision=revision, result=result, digest=digest, computed_at=now())
    store_if_current(revision, lambda: QualityReport.objects.bulk_create([kept], ignore_conflicts=True), wait=wait)
    clear_cache()
    logger.info("computed model quality revision=%s groups=%s", revision, result["groups"]["groups"])
    return kept


# Wanted: answers have caveats from it, so it is computed before anybody asks.
KEPT = KeptReport(QualityReport, METHOD, JOB, compute, is_wanted=True)


def _build_report(revision: int) -> dict[str, Any]:
    """Return the report as JSON-ready data."""
    groups = _leave_out_groups()
    stated, flagged = _read_numbers()
    report = ModelQuality(
        revision=revision,
        forecasts=ForecastsInUse(IN_USE, LABEL, SINCE, _shortfalls(groups.forms)),
        groups=groups,
        notes=(*_notes(groups), *stated),
        flagged=tuple(flagged),
    )
    ready: dict[str, Any] = json.loads(json.dumps(asdict(report), default=date.isoformat))
    return ready


def _read_numbers() -> tuple[list[str], list[FlaggedNumber]]:
    """Return sentences on what sources state of published numbers, and at most MOST_FLAGGED implausible ones."""
    flagged: list[FlaggedNumber] = []
    stated: dict[str, list[list[bool]]] = defaultdict(list)  # fact to case studies, each with its numbers
    in_memory = 0
    for case_study in CaseStudy.objects.published().select_related("publication", "server", "storage"):
        budget.check()
        numbers, implausible = numbers_of(case_study)
        flagged += implausible
        in_memory += sum(number.fits_memory for number in numbers)
        if numbers:
            stated["The kind of disk"].append([KIND_OF_DISK not in number.unstated for number in numbers])
            stated["The year"].append([case_study.year is not None] * len(numbers))
            stated["Whether files fit into memory"].append([n.against_memory != NOT_STATED for n in numbers])
    sentences = [_describe_coverage(fact, studies) for fact, studies in stated.items()]
    if sentences:
        sentences[-1] += f" Of {in_memory:,} it is known that they fit: a cache may have answered."
    return sentences, flagged[:MOST_FLAGGED]


def _describe_coverage(fact: str, studies: Sequence[Sequence[bool]]) -> str:
    """State of how many numbers and case studies something is stated. studies : of each its numbers"""
    numbers, count = sum(map(sum, studies)), sum(map(len, studies))
    share = f"{numbers:,} of {count:,} numbers ({numbers / count:.0%})"
    return f"{fact} is stated of {share}: of all in {sum(map(all, studies))} of {len(studies)} case studies."


def _leave_out_groups() -> GroupsLeftOut:
    """Return how forecasts did with each research group left out."""
    cells = published_knowledge().cells
    counted = len(cells), int(cells["group"].nunique())
    contrasts = forecast_left_out_groups(cells, assumptions().scales, budget.check)
    if contrasts is None:
        return GroupsLeftOut(*counted, forms=(), calibration=(), examples=())
    unseen = contrasts[~contrasts["is_conditional"]]
    return GroupsLeftOut(*counted, tuple(forms(contrasts)), tuple(calibration(unseen)), tuple(examples(unseen)))


def _shortfalls(forms: Sequence[Form]) -> tuple[str, ...]:
    """Return the reasons not to use this model's forecasts, by the first form (all forecasts)."""
    if not forms:
        return ()
    reasons = {"log_score": forms[0].log_score < forms[0].no_difference, "inside": forms[0].inside_95 < LEAST_INSIDE}
    return tuple(reason for reason, holds in reasons.items() if holds)


def _notes(groups: GroupsLeftOut) -> Iterator[str]:
    """Yield sentences on the limits of this report."""
    if not groups.forms:
        yield "Fewer than two research groups published something to compare, so nothing can be held against it."
    arms = dataframes.every_arm()
    compared = find_compared(arms, assumptions().spread)
    for is_reviewed, whose in ((True, "what was reviewed"), (False, "what was published without review")):
        numbers = arms["measurements"].where(arms["is_reviewed"] == is_reviewed, 0)
        if count := int(numbers.sum()):
            share = int(numbers[compared].sum())
            yield (
                f"Of {whose}, {share:,} of {count:,} numbers ({share / count:.0%}) stand in some comparison; "
                "the others have nothing beside them that differs in one choice only."
            )
