"""The report on the models' quality: computed from all published evidence, kept, and brought up to date."""

import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import product
from typing import Any

from django.utils.timezone import now
from numpy import median

from experiments import visible
from experiments.models import CaseStudy, Workload
from experiments.ticks import protocol_of
from kdb.cost import budget
from modelling.answers.knowledge import assumptions, everything
from modelling.estimation.arms import in_comparison
from modelling.evidence import counts, frames
from modelling.evidence.keeping import KeptReport, keep
from modelling.evidence.question import Question
from modelling.foretelling.content import IN_USE, LABEL, SINCE
from modelling.kept_answers.doubts import forget_doubts
from modelling.models import QualityReport

from .clustered import LEAST_INSIDE, SCORES, by_method, clustered, scored, shortfalls
from .forecasts import METHODS, Evidence, Task
from .groups import calibration, examples, foretell_groups, forms
from .leave_one_out import METHOD, Outcome, Report, Result, leave_one_out

logger = logging.getLogger(__name__)

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
    keep(revision, lambda: QualityReport.objects.bulk_create([kept], ignore_conflicts=True), wait=wait)
    forget_doubts()
    logger.info("computed model quality revision=%s questions=%s", revision, len(result["questions"]))
    return kept


# Answers say what it found about forecasts of their form: it is made before anybody asks.
KEPT = KeptReport(QualityReport, METHOD, JOB, compute, is_wanted=True)


def _result(revision: int) -> dict[str, Any]:
    groups = _left_out_by_group()
    report = as_dict(leave_one_out(gather(), assumptions()), revision, groups["forms"])
    return {**report, "groups": groups, "flagged": _flagged()}


def _flagged() -> list[dict[str, Any]]:
    """Return the published numbers that look like no disk's (experiments.plausibility), at most MOST_FLAGGED."""
    flagged: list[dict[str, Any]] = []
    for case_study in CaseStudy.objects.published().select_related("publication", "server", "storage"):
        budget.check()
        flagged += map(asdict, protocol_of(case_study).flagged)
        if len(flagged) >= MOST_FLAGGED:
            break
    return flagged[:MOST_FLAGGED]


def gather() -> Evidence:
    """Return all published evidence on speed, by workload: what forecasts learn from."""
    arms = frames.arms_of_every_workload()
    workloads = visible.entries(Workload).values_list("slug", flat=True)
    findings = {workload: frames.findings(Question("fs-pair", workload)) for workload in workloads}
    return Evidence(
        {workload: arms.get(workload, frames.NO_ARMS) for workload in findings}, findings, assumptions().spread
    )


def as_dict(report: Report, revision: int, forms: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Return the report as JSON-ready data. Numbers keep full precision; what does not exist is None.

    forms : of forecasts with each research group left out; None where too many cells kept it from being tested
    """
    return {
        "revision": revision,
        "case_studies": report.case_studies,
        "left_out": report.left_out,
        "methods": [
            {"method": method.name, "label": method.label, "is_naive": method.is_naive, "axes": list(method.axes)}
            for method in METHODS.values()
        ],
        "summaries": [
            {
                **asdict(summary),
                "axis": summary.axis or None,
                "duels": [
                    {"naive": name, "better": better, "alike": alike, "worse": worse}
                    for name, (better, alike, worse) in summary.duels.items()
                ],
            }
            for summary in report.summaries
        ],
        "questions": [_question(task, outcomes) for task, outcomes in report.results],
        "forecasts": _in_use(report, forms or []),
        "clustered": [_clustered(report, *case) for case in product(METHODS, SCORES, ("", *NAIVE))],
        "laboratories": _grouped(report, lambda task: task.case_studies),
        "distinct_questions": _grouped(report, lambda task: (task.case_studies, task.workload)),
        "notes": [*_notes(report), *_compared()],
    }


def _left_out_by_group() -> dict[str, Any]:
    """Return how the hierarchical model did with each research group left out."""
    cells = everything().cells
    told: dict[str, Any] = {"cells": len(cells), "groups": int(cells["group"].nunique())}
    contrasts = foretell_groups(cells, assumptions().scales, budget.check)
    if contrasts is None:
        return {**told, "forms": [], "calibration": [], "examples": []}
    rows = [{**asdict(form), "is_better": form.is_better} for form in forms(contrasts)]
    unseen = contrasts[~contrasts["is_told"]]
    shown = {
        "calibration": [asdict(point) for point in calibration(unseen)],
        "examples": [asdict(example) for example in examples(unseen)],
    }
    return {**told, "forms": rows, **json.loads(json.dumps(shown))}  # as it is read again


def _in_use(report: Report, forms: list[dict[str, Any]]) -> dict[str, Any]:
    """Return which method forecasts since when, and what speaks against each that could."""
    against: dict[str, list[str]] = {name: shortfalls(report.results, name, NAIVE) for name in FORECASTING}
    for form in forms[:1]:  # of everything
        reasons = {"log_score against none": form["log_score"] < form["no_difference"]}
        reasons["inside"] = form["inside_95"] < LEAST_INSIDE
        against[IN_USE] = [reason for reason, holds in reasons.items() if holds]
    return {
        "method": IN_USE,
        "label": LABEL,
        "since": SINCE.isoformat(),
        "shortfalls": against,
    }


def _clustered(report: Report, method: str, score: str, against: str) -> dict[str, Any]:
    summary = clustered(scored(report.results, method, score, against))
    return {"method": method, "score": score, "against": against or None, **asdict(summary)}


def _grouped(report: Report, key: Callable[[Task], Any]) -> list[dict[str, Any]]:
    """Return the means of each method over what has the same key."""
    groups: dict[Any, list[Result]] = {}
    for task, outcomes in report.results:
        groups.setdefault(key(task), []).append((task, outcomes))
    return [
        {
            "case_studies": list(results[0][0].case_studies),
            "workloads": sorted({task.workload for task, _ in results}),
            "questions": len(results),
            "methods": [{"method": name, **scores} for name, scores in by_method(results, METHODS).items()],
        }
        for results in groups.values()
    ]


def _question(task: Task, outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    return {
        "case_studies": list(task.case_studies),
        "axis": task.axis.name,
        "workload": task.workload,
        "hypervisor": task.hypervisor,
        "basis": "findings" if task.trial is None else "numbers",
        "entries": sorted(task.truth, key=lambda entry: (-round(task.truth[entry], 9), entry)),
        "predictions": [{"method": name, **_prediction(outcome)} for name, outcome in outcomes.items()],
    }


def _prediction(outcome: Outcome) -> dict[str, Any]:
    return {
        "cannot": outcome.reason or None,
        "order": list(outcome.order),
        "kendall": outcome.kendall,
        "spearman": outcome.spearman,
        "top": outcome.top,
        "ratio_error": math.exp(median(outcome.errors)) if outcome.errors else None,
        "pairs": len(outcome.errors),
        "covered": sum(outcome.inside),
    }


def _compared() -> Iterator[str]:
    """Yield how many of the published numbers stand in a comparison at all."""
    arms = frames.every_arm()
    compared = in_comparison(arms, assumptions().spread)
    for is_reviewed, whose in ((True, "what was reviewed"), (False, "what was published without review")):
        numbers = arms["measurements"].where(arms["is_reviewed"] == is_reviewed, 0)
        if count := int(numbers.sum()):
            share = int(numbers[compared].sum())
            yield (
                f"Of {whose}, {share:,} of {count:,} numbers ({share / count:.0%}) stand in some comparison; "
                "the others have nothing beside them that differs in one choice only."
            )


def _notes(report: Report) -> list[str]:
    """Say what a careful reader must know about this report, in sentences."""
    questions, units = len(report.results), {task.case_studies for task, _ in report.results}
    notes = []
    if report.left_out < report.case_studies:
        notes.append(f"Of {report.case_studies} case studies, {report.left_out} were left out, evenly spread.")
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
        all(outcomes[name].reason for name in ("network", "components") if name in outcomes)
        for _, outcomes in report.results
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
    has_ratios = any(summary.pairs for summary in report.summaries)
    notes.append(
        "The network's intervals are predictions for a new laboratory, as the answers show them; those of the "
        "component model leave out the spread between laboratories where too few of them exist to estimate it."
        if has_ratios
        else "No ratio could be predicted, so nothing is known about the intervals."
    )
    return notes
