"""Load published evidence as cells for modelling.estimation.hierarchy; the assumptions and reach of an answer."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import pandas as pd
from django.conf import settings

from kdb.units import LATENCY, SPEEDS
from modelling.estimation.arms import Spread
from modelling.estimation.cells import NETWORK, load_class, measurement_cells, tier_list_cells
from modelling.estimation.hierarchy import Knowledge
from modelling.estimation.ranking import Assumptions
from modelling.evidence import counts, dataframes, names
from modelling.evidence.axes import AXES, NATIVE, Axis
from modelling.evidence.question import Question

# Filters that do not restrict the evidence: the model learns how far effects carry over between their values.
_UNRESTRICTED = ("hypervisor", "guest_fs", "host_fs", "host_storage", "storage", "metric")
# Columns whose values the model compares together: file systems act in pairs, and some hypervisors run containers.
_ACT_TOGETHER = ({"guest_fs", "host_fs", "host_storage", "backend"}, {"hypervisor", "virtualisation"})


def assumptions() -> Assumptions:
    """Return the assumptions of every answer, from the settings."""
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
    """Return the evidence of all workloads that the question's filters admit; _UNRESTRICTED ones admit everything.

    Native runs count only where the question names them. None for metrics that are not of speed, which stand alone.
    as_of, with_draft : as for modelling.evidence.dataframes.Evidence
    """
    if metric not in SPEEDS:
        return None
    admitting = replace(_of_all_workloads(question), metric=LATENCY if metric == LATENCY else None)
    token = counts.content_token(with_draft) if with_draft is not None else ""
    return _load_knowledge(counts.revision(), as_of, admitting, with_draft, token)


def questions_affected(questions: Iterable[Question], case_study_ids: list[int]) -> dict[Question, bool]:
    """Return the questions whose answers these case studies, published or not, can change. Two queries.

    The value tells whether they compare entries of the question: its filters admit them, and they differ on its axis.
    Evidence that only knowledge_of admits changes no answers but those on an axis on which it differs.
    """
    reach = dataframes.Reach(case_study_ids)
    differs = {name: reach.differs_in(_compared_columns(axis)) for name, axis in AXES.items()}
    reached = {}
    for question in questions:
        is_admitted = reach.admits(question)
        if is_admitted or (differs[question.axis] and any(map(reach.admits, _questions_admitting_knowledge(question)))):
            reached[question] = is_admitted and differs[question.axis]
    return reached


def _compared_columns(axis: Axis) -> set[str]:
    """Return the columns whose values the axis compares, and those that the model compares together with them."""
    return {*axis.entry}.union(*(columns for columns in _ACT_TOGETHER if columns & {*axis.entry}))


def _questions_admitting_knowledge(question: Question) -> list[Question]:
    """Return questions that admit the evidence of other workloads that knowledge_of adds to this one."""
    if question.metric is not None and question.metric not in SPEEDS:
        return []
    elsewhere = _of_all_workloads(question)
    return [elsewhere, replace(elsewhere, hypervisor=None)]


def _of_all_workloads(question: Question) -> Question:
    """Return the question without workload, needs and _UNRESTRICTED; native runs stay where it asks for them."""
    elsewhere = replace(
        question, axis="fs-pair", workload=dataframes.ANY_WORKLOAD, needs=(), **dict.fromkeys(_UNRESTRICTED)
    )
    return replace(elsewhere, hypervisor=NATIVE) if question.hypervisor == NATIVE else elsewhere


def published_knowledge(as_of: int | None = None, *, with_native: bool = True) -> Knowledge:
    """Return all published evidence, or that of a revision."""
    admitting = Question("fs-pair", dataframes.ANY_WORKLOAD, hypervisor=NATIVE if with_native else None)
    return _load_knowledge(counts.revision(), as_of, admitting, None, "")  # the same cache key as in knowledge_of


@lru_cache(maxsize=4)  # some 50 MB each
def _load_knowledge(
    revision: int, as_of: int | None, admitting: Question, with_draft: int | None, token: str
) -> Knowledge:
    """Return the knowledge at a revision, cached, as a preview needs it for each question. token : of the draft"""
    networked = {slug for slug, reach in names.storage_reaches().items() if reach == NETWORK}
    return Knowledge(cells(admitting, as_of, with_draft), assumptions().scales, networked)


def cells(admitting: Question, as_of: int | None = None, with_draft: int | None = None) -> pd.DataFrame:
    """Return the cells of all numbers and tier lists that count, of any workload.

    admitting : a question whose filters select the evidence; hypervisor NATIVE adds native runs, metric LATENCY selects
        latency alone
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
    """Return the context of the question for the model: its load, and the hypervisor, disk and file systems named."""
    named = {
        name: str(value)
        for name in ("hypervisor", "guest_fs", "host_fs", "storage")
        if (value := getattr(question, name))
    }
    return {"workload": question.workload, "load": load_class(question.workload, ""), **named}
