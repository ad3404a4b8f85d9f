"""Everything modelling writes: arms, snapshots, and what a publication does to them."""

import hashlib
import json
import logging

from django.conf import settings
from django.db import transaction
from django.db.models import Avg, Count, Max, Sum, Variance
from django.db.models.functions import Ln
from django.utils.timezone import now

from experiments.models import DerivedValue, KnowledgeRevision, Measurement

from . import answers, catalogue, frames
from .axes import AXES
from .evidence import NORMAL_95
from .fairplay import MEASUREMENT_FIELDS
from .models import Arm, RankingSnapshot
from .question import Question
from .ranking import METHOD, Assumptions, Ranking, rank

logger = logging.getLogger(__name__)

# A spread below this is a repeated number, not a measured spread.
_SMALLEST_VARIANCE = 1e-12


def assumptions() -> Assumptions:
    """What every answer takes for granted, from the settings."""
    return Assumptions(
        variation=settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION,
        tier_scale=settings.KDB_TIER_SCALE,
        tier_doubt=settings.KDB_TIER_DOUBT,
    )


def rebuild_arms(case_study_ids: list[int]) -> int:
    """Summarise the measurements of these case studies anew; returns the number of arms.

    One aggregate query and one write a case study: the work grows with what changed.
    """
    with transaction.atomic():
        Arm.objects.filter(configuration__case_study__in=case_study_ids).delete()
        arms = [*_measured_arms(case_study_ids), *_derived_arms(case_study_ids)]
        Arm.objects.bulk_create(arms, batch_size=1000)
    return len(arms)


def _measured_arms(case_study_ids: list[int]) -> list[Arm]:
    groups = (
        Measurement.objects.filter(configuration__case_study__in=case_study_ids)
        .order_by()
        .values("configuration_id", *MEASUREMENT_FIELDS)
        .annotate(
            rows=Count("pk"),
            mean_log=Avg(Ln("value")),
            log_variance=Variance(Ln("value")),  # of the rows, not of a sample: one row has one too
            stated_runs=Sum("repetitions"),
            any_value=Max("value"),
            deviation=Max("standard_deviation"),
            any_source=Max("source"),
        )
    )
    arms = []
    for group in groups.iterator():
        rows, runs = group.pop("rows"), group.pop("stated_runs")
        value, deviation = group.pop("any_value"), group.pop("deviation")
        variance, source = group.pop("log_variance"), group.pop("any_source")
        if rows > 1:
            runs, variance = max(rows, runs or 0), variance / (rows - 1)  # sample variance over rows
        else:  # a mean over runs with the deviation its source prints; delta method for ln
            variance = (deviation / value) ** 2 / runs if deviation and runs else None
        if variance is not None and variance < _SMALLEST_VARIANCE:
            variance = None
        arms.append(
            Arm(**group, origin=Arm.Origin.MEASURED, measurements=rows, runs=runs, variance=variance, source=source)
        )
    return arms


def _derived_arms(case_study_ids: list[int]) -> list[Arm]:
    values = DerivedValue.objects.filter(configuration__case_study__in=case_study_ids, is_evidence=True).annotate(
        mean_log=Ln("value"), width=Ln("high") - Ln("low")
    )
    return [
        Arm(
            configuration_id=value.configuration_id,
            **{field: getattr(value, field) for field in MEASUREMENT_FIELDS},
            origin=Arm.Origin.DERIVED,
            measurements=1,
            runs=None,
            mean_log=value.mean_log,
            variance=(value.width / (2 * NORMAL_95)) ** 2 or None,
            source=value.source,
        )
        for value in values
    ]


def supersede_snapshots(case_study_ids: list[int], revision: int) -> list[int]:
    """Mark the answers that the evidence of these case studies may change; returns their ids.

    Only those: an answer on another workload, or whose filters none of the evidence passes, stands.
    """
    workloads = set(
        Arm.objects.filter(configuration__case_study__in=case_study_ids).values_list(
            "variant__workload__slug", flat=True
        )
    ) | set(
        frames.OrdinalFinding.objects.filter(case_studies__in=case_study_ids).values_list(
            "variant__workload__slug", flat=True
        )
    )
    standing = RankingSnapshot.objects.filter(superseded_by__isnull=True, method=METHOD, workload__in=workloads)
    touched = [
        pk
        for pk, key in standing.values_list("pk", "question")
        if frames.touches(Question.from_key(key), case_study_ids)
    ]
    RankingSnapshot.objects.filter(pk__in=touched).update(superseded_by=revision)
    return touched


def compute_snapshot(question: Question) -> RankingSnapshot:
    """Answer the question on the knowledge as it is, and keep the answer.

    Where a publication is being committed meanwhile, the answer is given but not kept, so that
    no snapshot can outlive the evidence it was computed from. Nor is one without entries kept, unless it
    takes the place of one that had some: there are as many of those as questions that anybody can make up.
    """
    revision = KnowledgeRevision.objects.aggregate(last=Max("number"))["last"] or 0
    snapshot = _answered(question, revision)
    asked_before = RankingSnapshot.objects.filter(question=question.key, method=METHOD)
    if not snapshot.result["entries"] and not asked_before.exists():
        return snapshot
    with transaction.atomic():
        latest = list(KnowledgeRevision.objects.select_for_update(skip_locked=True).order_by("-number")[:1])
        if latest and latest[0].number == revision:
            RankingSnapshot.objects.bulk_create([snapshot], ignore_conflicts=True)
    return snapshot


def answer_as_of(question: Question, revision: int) -> RankingSnapshot:
    """The answer that the knowledge gave at an earlier revision, worked out again and not kept.

    What was published then never changes: case studies are retracted, not edited.
    """
    return _answered(question, revision, as_of=revision)


def ranking_of(question: Question, as_of: int | None = None) -> Ranking:
    """The estimate itself, with its networks: what answers and mixes are made of."""
    catalogue.forget()  # what is made of it is kept with names: those that are public now
    arms, findings = frames.arms(question, as_of=as_of), frames.findings(question, as_of=as_of)
    return rank(arms, findings, AXES[question.axis], assumptions())


def _answered(question: Question, revision: int, as_of: int | None = None) -> RankingSnapshot:
    ranking = ranking_of(question, as_of)
    otherwise = [] if ranking.parts else frames.measured_otherwise(question, as_of=as_of)
    result = answers.as_dict(question, ranking, revision, otherwise)
    return RankingSnapshot(
        question=question.key,
        method=METHOD,
        revision=revision,
        workload=question.workload,
        result=result,
        digest=hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest(),
        computed_at=now(),
    )


def recompute(snapshot_ids: list[int], progress) -> None:
    """Answer the superseded questions again; `progress(done, total)` is called after each."""
    questions = list(RankingSnapshot.objects.filter(pk__in=snapshot_ids).values_list("question", flat=True))
    for done, key in enumerate(questions, start=1):
        compute_snapshot(Question.from_key(key))
        progress(done, len(questions))
