"""All published evidence as the one model of modelling.estimation.hierarchy takes it."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import pandas as pd
from django.conf import settings

from kdb.units import LATENCY, SPEEDS
from modelling.estimation.arms import Spread
from modelling.estimation.cells import load_class, measurement_cells, tier_list_cells
from modelling.estimation.hierarchy import Knowledge
from modelling.estimation.ranking import Assumptions
from modelling.evidence import counts, dataframes
from modelling.evidence.axes import AXES, NATIVE, Axis
from modelling.evidence.question import Question

# Filters that do not restrict what counts: the model tells how far effects carry from one of them to another.
_CONTEXTS = ("hypervisor", "guest_fs", "host_fs", "host_storage", "storage", "metric")
# Columns whose values the model compares together: file systems act in pairs, and some hypervisors run containers.
_ACT_TOGETHER = ({"guest_fs", "host_fs", "host_storage", "backend"}, {"hypervisor", "virtualisation"})


def assumptions() -> Assumptions:
    """Return what every answer takes for granted, from the settings."""
    return Assumptions(
        spread=Spread(
            settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION,
            settings.KDB_STUDY_SPREAD_FREEDOM,
            settings.KDB_ARM_SPREAD_FREEDOM,
            settings.KDB_WHOLE_RUN_SECONDS,
        ),
        tier_scale=settings.KDB_TIER_SCALE,
        tier_doubt=settings.KDB_TIER_DOUBT,
        margin=settings.KDB_MARGIN,
        differ=settings.KDB_LABORATORIES_DIFFER,
    )


def knowledge_of(
    question: Question, metric: str, as_of: int | None = None, *, with_draft: int | None = None
) -> Knowledge | None:
    """Return what bears on the question: evidence of all workloads that its filters admit.

    Filters by which effects may deviate (_CONTEXTS) restrict nothing. Native runs count only if asked for by name.
    as_of, with_draft : as for modelling.evidence.dataframes.Evidence
    None where the metric is not of speed: then nothing but its own numbers bears on it.
    """
    if metric not in SPEEDS:
        return None
    admitting = replace(_of_all_workloads(question), metric=LATENCY if metric == LATENCY else None)
    token = counts.content_token(with_draft) if with_draft is not None else ""
    return _kept(counts.revision(), as_of, admitting, with_draft, token)


def bears_on(questions: Iterable[Question], case_study_ids: list[int]) -> dict[Question, bool]:
    """Return the questions whose answer evidence of these case studies, published or not, can change, and whether it
    compares for them: their filters admit it, and it differs in what their axis is about. Two queries.

    Evidence that their filters do not admit, but knowledge_of does, changes only answers about what it differs in.
    """
    reach = dataframes.Reach(case_study_ids)
    differs = {name: reach.differs_in(_compared_columns(axis)) for name, axis in AXES.items()}
    reached = {}
    for question in questions:
        is_admitted = reach.admits(question)
        if is_admitted or (differs[question.axis] and any(map(reach.admits, _elsewhere(question)))):
            reached[question] = is_admitted and differs[question.axis]
    return reached


def _compared_columns(axis: Axis) -> set[str]:
    """Return the columns whose values the axis compares, or the model with them."""
    return {*axis.entry}.union(*(columns for columns in _ACT_TOGETHER if columns & {*axis.entry}))


def _elsewhere(question: Question) -> list[Question]:
    """Return questions that admit what knowledge_of takes for this one of other workloads, the same for all."""
    if question.metric is not None and question.metric not in SPEEDS:
        return []
    elsewhere = _of_all_workloads(question)
    return [elsewhere, replace(elsewhere, hypervisor=None)]


def _of_all_workloads(question: Question) -> Question:
    """Return the question that admits, of all workloads, what its filters admit; native runs where it asks for them."""
    elsewhere = replace(
        question, axis="fs-pair", workload=dataframes.ANY_WORKLOAD, needs=(), **dict.fromkeys(_CONTEXTS)
    )
    return replace(elsewhere, hypervisor=NATIVE) if question.hypervisor == NATIVE else elsewhere


def everything(as_of: int | None = None, *, with_native: bool = True) -> Knowledge:
    """Return all that is published, or that counted at a revision."""
    admitting = Question("fs-pair", dataframes.ANY_WORKLOAD, hypervisor=NATIVE if with_native else None)
    return _kept(counts.revision(), as_of, admitting, None, "")  # as knowledge_of does, which so keeps the same


@lru_cache(maxsize=4)  # some 50 MB each
def _kept(revision: int, as_of: int | None, admitting: Question, with_draft: int | None, token: str) -> Knowledge:
    """Return the knowledge at a revision, from memory: a preview asks all its questions of one. token : of the draft"""
    return Knowledge(cells(admitting, as_of, with_draft), assumptions().scales)


def cells(admitting: Question, as_of: int | None = None, with_draft: int | None = None) -> pd.DataFrame:
    """Return the cells of all numbers and tier lists that count, of any workload.

    admitting : a question whose filters choose the evidence; hypervisor NATIVE adds native runs, metric LATENCY takes
        nothing but latency
    """
    taken, with_native = assumptions(), admitting.hypervisor == NATIVE
    metrics = (LATENCY,) if admitting.metric == LATENCY else [metric for metric in SPEEDS if metric != LATENCY]
    admitting = replace(admitting, hypervisor=None, metric=None)
    arms = dataframes.every_arm(admitting, as_of=as_of, with_draft=with_draft)
    numbers = measurement_cells(arms if with_native else arms[arms["hypervisor"] != NATIVE], taken.spread, metrics)
    if LATENCY in metrics:
        return numbers
    findings = dataframes.findings(admitting, as_of=as_of, with_draft=with_draft)
    lists = tier_list_cells(findings, AXES["fs-pair"], taken.tier_scale, taken.tier_doubt)
    return pd.concat([part for part in (numbers, lists) if len(part)] or [numbers], ignore_index=True)


def where_of(question: Question) -> dict[str, str]:
    """Return where the question asks: its load, and the hypervisor, disk and file systems that it names."""
    named = {
        name: str(value)
        for name in ("hypervisor", "guest_fs", "host_fs", "storage")
        if (value := getattr(question, name))
    }
    return {"workload": question.workload, "load": load_class(question.workload, ""), **named}
