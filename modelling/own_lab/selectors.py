"""What holds on the machine of a laboratory, for its members alone, as other rooms ask for it."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Case, Exists, OuterRef, Value, When, Window
from django.db.models.functions import RowNumber
from django.http import Http404, HttpRequest
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from kdb.api.faults import FaultyRequest
from modelling.estimation import verdict
from modelling.evidence.question import Question
from modelling.evidence.serialization import AS_OF
from modelling.models import Laboratory, Sitting, SittingRun

from . import local_answer
from .api import NightFieldsSerializer, add_night
from .content import Here, MixHere
from .laboratories import audit, laboratories_of
from .pools import OnPools, PoolSession, Runs, load_of_machine, on_pools, sessions_on_pools
from .words import measure_command, not_measured

__all__ = [
    "HERE",
    "Here",
    "MixHere",
    "NightFieldsSerializer",
    "OnPools",
    "PoolSession",
    "Runs",
    "add_night",
    "answer_here",
    "audit",
    "laboratories_of",
    "laboratories_on",
    "laboratory_in",
    "load_of_machine",
    "measure_command",
    "mix_here",
    "on_pools",
    "sessions_on_pools",
]

HERE = "here"  # in an address: the short name of a laboratory of the reader's
HERE_PARAMETER = OpenApiParameter(
    HERE, description="Short name of a laboratory of yours; see `here`. With a token, and without `as_of`."
)


def laboratory_of(user: Any, slug: str) -> Laboratory | None:
    """Return this laboratory of the user's; None: there is none of that name, or it is of others."""
    return laboratories_of(user).filter(slug=slug).first()


def laboratory_in(request: HttpRequest) -> Laboratory | None:
    """Return the laboratory that the address names. Raises Http404 where it is none of the reader's."""
    if HERE not in request.GET:
        return None
    laboratory = laboratory_of(request.user, request.GET[HERE])
    if laboratory is None:
        raise Http404("no such laboratory")
    return laboratory


def laboratory_asked(request: Request) -> Laboratory | None:
    """Return the laboratory on whose machine an API answer is asked.

    Raises Http404 where it is none of the reader's, FaultyRequest where there is no such answer.
    """
    laboratory = laboratory_in(request)
    if laboratory and (AS_OF in request.GET or request.accepted_renderer.format == "csv"):
        raise FaultyRequest([{"field": HERE, "message": "It is told as JSON and of now: leave out as_of, and CSV."}])
    return laboratory


def answer_here(question: Question, laboratory: Laboratory) -> Here | None:
    """Return the answer on the laboratory's machine; None where no session of it bears on the question."""
    return _answer(question, {question.workload: 1.0}, laboratory)


def mix_here(question: Question, weights: Mapping[str, float], laboratory: Laboratory) -> MixHere:
    """Return the answer under a mix of workloads on the laboratory's machine. weights : 0 or more, in any unit"""
    shares = {workload: weight for workload, weight in weights.items() if weight}
    return _answer(question, shares, laboratory) or MixHere(
        laboratory=laboratory.slug,
        name=laboratory.name,
        machine="",
        place="",
        sittings=(),
        kind=verdict.NOT_KNOWN,
        sentence=not_measured(local_answer.workload_labels(shares)),
        entries=(),
        missing=(*shares,),
    )


def _answer(question: Question, shares: Mapping[str, float], laboratory: Laboratory) -> MixHere | None:
    evidence = _evidence(question, shares, [laboratory])[laboratory]
    return local_answer.answer_on_machine(question, shares, laboratory, evidence)


def laboratories_on(question: Question, user: Any) -> list[Laboratory]:
    """Return the user's laboratories of which a session bears on the question; three queries."""
    evidence = _evidence(question, {question.workload: 1.0}, list(laboratories_of(user)))
    return [laboratory for laboratory, sessions in evidence.items() if sessions]


def _evidence(
    question: Question, shares: Mapping[str, float], laboratories: list[Laboratory]
) -> dict[Laboratory, list[local_answer.SessionEvidence]]:
    """Return what each laboratory's newest sessions, under each workload and under all others, say; two queries."""
    rows = Sitting.objects.filter(laboratory__in=laboratories, is_night=False).exclude(workload="")
    # The first choice alone compares nothing, as nights of one place do.
    rows = rows.filter(Exists(SittingRun.objects.filter(sitting=OuterRef("pk"), value__isnull=False, choice__gt=0)))
    under = Case(When(workload__in=[*shares], then="workload"), default=Value(""))
    place = Window(RowNumber(), partition_by=["laboratory", under], order_by="-pk")
    newest = rows.annotate(place=place).filter(place__lte=local_answer.MOST_SESSIONS).prefetch_related("runs")
    of: dict[int, list[Sitting]] = {}
    for session in newest.order_by("-pk"):
        of.setdefault(session.laboratory_id, []).append(session)
    return {
        laboratory: local_answer.evidence_of_sessions(question, of.get(laboratory.pk, ()))
        for laboratory in laboratories
    }
