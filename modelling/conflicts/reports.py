"""The list of conflicts: worked out from everything published, kept with its revision, and brought up to date."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from itertools import product
from math import exp, sqrt

import pandas as pd
from django.utils.timezone import now

from kdb.units import SPEEDS, THROUGHPUT
from modelling.answers import words
from modelling.answers.estimate import assumptions
from modelling.estimation.arms import comparable_arms
from modelling.evidence import counts, frames, names
from modelling.evidence.axes import AXES, COLUMN_LABELS, NATIVE
from modelling.evidence.fairplay import ONE_QUANTITY, in_metric
from modelling.evidence.keeping import KeptReport, keep
from modelling.evidence.normal import NORMAL_95
from modelling.evidence.question import Question
from modelling.evidence.words import value
from modelling.models import ConflictReport

from .content import Conflict, Conflicts, DifferingSetting, Side
from .rule import FURTHER, METHOD, Disagreement, Finding, differing, disagreements

logger = logging.getLogger(__name__)

JOB = "recompute_conflicts"
MOST = 100  # conflicts listed
MOST_VALUES = 6  # of one setting of one side
_COLUMNS = {**COLUMN_LABELS, **FURTHER}
_METRICS = [metric for metric in SPEEDS if metric == THROUGHPUT or metric not in ONE_QUANTITY]


def compute(*, wait: bool = True) -> ConflictReport:
    """Make the list from the knowledge as it is now, and keep it.

    wait : for a publication under way; without, the list is given but not kept
    """
    revision = counts.revision()
    result = json.loads(json.dumps(asdict(conflicts(revision))))
    kept = ConflictReport(method=METHOD, revision=revision, result=result, computed_at=now())
    keep(revision, lambda: ConflictReport.objects.bulk_create([kept], ignore_conflicts=True), wait=wait)
    logger.info("listed conflicts revision=%s conflicts=%s", revision, len(result["conflicts"]))
    return kept


KEPT = KeptReport(ConflictReport, METHOD, JOB, compute)


def conflicts(revision: int) -> Conflicts:
    """Hold all published speeds against each other, workload by workload and axis by axis; two queries for arms."""
    every = frames.every_arm()
    every = every[(every["hypervisor"] != NATIVE) & (every["virtualisation"] != "emulated")]
    taken = assumptions()
    compared, conflicting = 0, []
    for workload, of_workload in every.groupby("workload", observed=True):
        by_metric = {metric: in_metric(of_workload, metric) for metric in _METRICS}
        for metric, axis in product(_METRICS, AXES.values()):
            arms = by_metric[metric]
            if arms["research_group"].nunique() < 2:
                continue
            comparable = comparable_arms(arms, axis, taken.spread)
            count, disagreeing = disagreements(comparable, axis, taken.scales)
            compared += count
            conflicting += [
                (Question(axis.name, str(workload)), comparable, disagreement) for disagreement in disagreeing
            ]
    conflicting.sort(key=lambda row: -row[2].z)
    listed = tuple(_conflict(*row) for row in conflicting[:MOST])
    return Conflicts(revision, compared, listed, left_out=len(conflicting) - len(listed))


def _conflict(question: Question, arms: pd.DataFrame, disagreement: Disagreement) -> Conflict:
    axis, known = AXES[question.axis], names.names()
    one, other = disagreement.findings
    columns = [column for column in _COLUMNS if column not in axis.entry and column in arms]
    settings = differing(arms, disagreement.entries, (one.group, other.group), columns)
    return Conflict(
        workload=question.workload,
        axis=axis.name,
        title=words.title(question, known),
        url=words.address(question),
        first=disagreement.entries[0],
        second=disagreement.entries[1],
        labels=tuple(names.label(axis, key) for key in disagreement.entries),
        z=disagreement.z,
        sides=(_side(one), _side(other)),
        settings=tuple(
            DifferingSetting(_COLUMNS[column], *(_written(known, column, values) for values in both))
            for column, both in settings.items()
        ),
    )


def _written(known: Mapping[str, Mapping[str, str]], column: str, values: tuple[object, ...]) -> tuple[str, ...]:
    numbers = (f"{given:g}" if isinstance(given, float) else given for given in values[:MOST_VALUES])
    written = tuple(value(known, column, given) for given in numbers)
    return (*written, "and others") if len(values) > MOST_VALUES else written


def _side(finding: Finding) -> Side:
    half = NORMAL_95 * sqrt(finding.variance)
    ends = (exp(finding.difference + sign * half) for sign in (-1, 1))
    return Side(finding.group, finding.case_studies, exp(finding.difference), *ends)
