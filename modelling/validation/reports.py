"""The report on the models' quality: computed from all published evidence, kept, and brought up to date."""

import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from itertools import product
from typing import Any

from django.utils.timezone import now
from numpy import median

from experiments import visible
from experiments.checklist import protocol_of
from experiments.models import CaseStudy, Workload
from experiments.plausibility import FlaggedNumber
from kdb.cost import budget
from modelling.answer_store.caveats import clear_cache
from modelling.answers.knowledge import assumptions, everything
from modelling.estimation import ranking
from modelling.estimation.arms import in_comparison
from modelling.evidence import counts, dataframes
from modelling.evidence.question import Question
from modelling.evidence.storage import KeptReport, store_if_current
from modelling.models import QualityReport
from modelling.prediction.content import IN_USE, LABEL, SINCE

from .content import (
    SCORES,
    AskedQuestion,
    ForecastsInUse,
    Form,
    GroupsLeftOut,
    ModelQuality,
    Prediction,
    QuestionGroup,
    ReportedMethod,
)
from .leave_one_out import leave_one_out
from .left_out_groups import calibration, examples, forecast_left_out_groups, forms
from .methods import METHODS, Evidence, Task
from .scores import LEAST_INSIDE, Outcome, Result, clustered_score, scores_by_method, shortfalls, summaries

logger = logging.getLogger(__name__)

# The ranking's version and, in the last two digits, our own: raised where the same evidence gives another report.
METHOD = 100 * ranking.METHOD + 10
JOB = "recompute_quality"
MOST_FLAGGED = 500  # numbers that look like no disk's
NAIVE = ("none", "mean")  # those that foretell ratios with intervals
FORECASTING = ("network", "components")


def compute(*, wait: bool = True) -> QualityReport:
    """Leave every case study out in turn, with the knowledge as it is now, and keep the report.

    wait : for a publication under way; without, the report is given but not kept
    Nor is it kept where a publication came in between.
    """
    budget.check(ahead=1.0)
    revision = counts.revision()
    result = _result(revision)
    digest = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    kept = QualityReport(method=METHOD, revision=revision, result=result, digest=digest, computed_at=now())
    store_if_current(revision, lambda: QualityReport.objects.bulk_create([kept], ignore_conflicts=True), wait=wait)
    clear_cache()
    logger.info("computed model quality revision=%s questions=%s", revision, len(result["questions"]))
    return kept


# Answers say what it found about forecasts of their form: it is made before anybody asks.
KEPT = KeptReport(QualityReport, METHOD, JOB, compute, is_wanted=True)


def _result(revision: int) -> dict[str, Any]:
    """Work the report out, as JSON-ready data in full precision."""
    groups = _leave_out_groups()
    results, left_out, case_studies = leave_one_out(gather(), assumptions())
    report = ModelQuality(
        revision=revision,
        case_studies=len(case_studies),
        left_out=len(left_out),
        methods=tuple(
            ReportedMethod(method.name, method.label, method.is_naive, method.axes) for method in METHODS.values()
        ),
        summaries=tuple(summaries(results)),
        questions=tuple(_question(task, outcomes) for task, outcomes in results),
        forecasts=_method_in_use(results, groups.forms or ()),
        clustered=tuple(clustered_score(results, *case) for case in product(METHODS, SCORES, ("", *NAIVE))),
        laboratories=_question_groups(results, lambda task: task.case_studies),
        distinct_questions=_question_groups(results, lambda task: (task.case_studies, task.workload)),
        notes=(*_notes(results, len(left_out), len(case_studies)), *_compared()),
        groups=groups,
        flagged=tuple(_flagged()),
    )
    ready: dict[str, Any] = json.loads(json.dumps(asdict(report), default=date.isoformat))
    return ready


def _flagged() -> list[FlaggedNumber]:
    """Return the published numbers that look like no disk's (experiments.plausibility), at most MOST_FLAGGED."""
    flagged: list[FlaggedNumber] = []
    for case_study in CaseStudy.objects.published().select_related("publication", "server", "storage"):
        budget.check()
        flagged += protocol_of(case_study).flagged
        if len(flagged) >= MOST_FLAGGED:
            break
    return flagged[:MOST_FLAGGED]


def gather() -> Evidence:
    """Return all published evidence on speed, by workload: what forecasts learn from."""
    arms = dataframes.arms_of_every_workload()
    workloads = visible.entries(Workload).values_list("slug", flat=True)
    findings = {workload: dataframes.findings(Question("fs-pair", workload)) for workload in workloads}
    return Evidence(
        {workload: arms.get(workload, dataframes.NO_ARMS) for workload in findings}, findings, assumptions().spread
    )


def _leave_out_groups() -> GroupsLeftOut:
    """Return how the hierarchical model did with each research group left out."""
    cells = everything().cells
    counted = len(cells), int(cells["group"].nunique())
    contrasts = forecast_left_out_groups(cells, assumptions().scales, budget.check)
    if contrasts is None:
        return GroupsLeftOut(*counted, forms=(), calibration=(), examples=())
    unseen = contrasts[~contrasts["is_conditional"]]
    return GroupsLeftOut(*counted, tuple(forms(contrasts)), tuple(calibration(unseen)), tuple(examples(unseen)))


def _method_in_use(results: Sequence[Result], forms: Sequence[Form]) -> ForecastsInUse:
    """Return which method forecasts since when, and what speaks against each that could."""
    against = {name: shortfalls(results, name, NAIVE) for name in FORECASTING}
    for form in forms[:1]:  # of everything
        reasons = {"log_score against none": form.log_score < form.no_difference}
        reasons["inside"] = form.inside_95 < LEAST_INSIDE
        against[IN_USE] = tuple(reason for reason, holds in reasons.items() if holds)
    return ForecastsInUse(IN_USE, LABEL, SINCE, against)


def _question_groups(results: Sequence[Result], key: Callable[[Task], Any]) -> tuple[QuestionGroup, ...]:
    """Return the means of each method over the questions that have the same key."""
    groups: dict[Any, list[Result]] = {}
    for task, outcomes in results:
        groups.setdefault(key(task), []).append((task, outcomes))
    return tuple(
        QuestionGroup(
            case_studies=rows[0][0].case_studies,
            workloads=tuple(sorted({task.workload for task, _ in rows})),
            questions=len(rows),
            methods=scores_by_method(rows, METHODS),
        )
        for rows in groups.values()
    )


def _question(task: Task, outcomes: Mapping[str, Outcome]) -> AskedQuestion:
    return AskedQuestion(
        case_studies=task.case_studies,
        axis=task.axis.name,
        workload=task.workload,
        hypervisor=task.hypervisor,
        basis="findings" if task.trial is None else "numbers",
        entries=tuple(sorted(task.truth, key=lambda entry: (-round(task.truth[entry], 9), entry))),
        predictions=tuple(
            Prediction(
                method=name,
                cannot=outcome.reason or None,
                order=outcome.order,
                kendall=outcome.kendall,
                spearman=outcome.spearman,
                top=outcome.top,
                ratio_error=math.exp(median(outcome.errors)) if outcome.errors else None,
                pairs=len(outcome.errors),
                covered=sum(outcome.inside),
            )
            for name, outcome in outcomes.items()
        ),
    )


def _compared() -> Iterator[str]:
    """Yield how many of the published numbers stand in a comparison at all."""
    arms = dataframes.every_arm()
    compared = in_comparison(arms, assumptions().spread)
    for is_reviewed, whose in ((True, "what was reviewed"), (False, "what was published without review")):
        numbers = arms["measurements"].where(arms["is_reviewed"] == is_reviewed, 0)
        if count := int(numbers.sum()):
            share = int(numbers[compared].sum())
            yield (
                f"Of {whose}, {share:,} of {count:,} numbers ({share / count:.0%}) stand in some comparison; "
                "the others have nothing beside them that differs in one choice only."
            )


def _notes(results: Sequence[Result], left_out: int, case_studies: int) -> list[str]:
    """Say what a careful reader must know about this report, in sentences."""
    questions, units = len(results), {task.case_studies for task, _ in results}
    notes = []
    if left_out < case_studies:
        notes.append(f"Of {case_studies} case studies, {left_out} were left out, evenly spread.")
    if not questions:
        return [*notes, "No case study answers a question by itself, so nothing can be held against it."]
    notes.append(
        f"{questions} questions come from {len(units)} sources. Questions of one source share its laboratory and often "
        "its very numbers, so they agree or fail together; a difference of a few hits means nothing."
    )
    notes += [
        f"{', '.join(unit)} share a laboratory or tier lists and are left out together."
        for unit in sorted(units)
        if len(unit) > 1
    ]
    unknown = sum(
        all(outcomes[name].reason for name in ("network", "components") if name in outcomes) for _, outcomes in results
    )
    if unknown:
        notes.append(
            f"On {unknown} of the {questions} questions neither the network nor the component model can say anything: "
            "the sources hardly overlap."
        )
    notes.append(
        "The methods answer different questions, some of them only for a few of the entries; where two of them are "
        "compared, it is over the questions that both answer."
    )
    has_ratios = any(outcome.errors for _, outcomes in results for outcome in outcomes.values())
    notes.append(
        "The network's intervals are predictions for a new laboratory, as the answers show them; those of the "
        "component model leave out the spread between laboratories where too few of them exist to estimate it."
        if has_ratios
        else "No ratio could be predicted, so nothing is known about the intervals."
    )
    return notes
