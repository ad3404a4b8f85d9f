"""What other rooms may ask of laboratories: the answer on a machine of one, for its members alone."""

from typing import Any

from modelling.evidence.question import Question
from modelling.models import Laboratory, Sitting

from . import conditional
from .content import Here
from .laboratories import laboratories_of
from .words import measure_command

__all__ = ["HERE", "Here", "answer_here", "laboratories_on", "laboratory_of", "measure_command"]

HERE = "here"  # in an address: the short name of a laboratory of the reader's


def laboratory_of(user: Any, slug: str) -> Laboratory | None:
    """Return this laboratory of the user's; None: there is none of that name, or it is of others, which looks alike."""
    return laboratories_of(user).filter(slug=slug).first()


def answer_here(question: Question, laboratory: Laboratory) -> Here | None:
    """Return the answer on the laboratory's machine; None where no sitting of it bears on the question."""
    told = _told(question, laboratory)
    return conditional.here(question, laboratory, told) if told else None


def laboratories_on(question: Question, user: Any) -> list[Laboratory]:
    """Return the user's laboratories of which a sitting bears on the question."""
    return [laboratory for laboratory in laboratories_of(user) if _told(question, laboratory)]


def _told(question: Question, laboratory: Laboratory) -> list[conditional.Told]:
    rows = Sitting.objects.filter(laboratory=laboratory, workload=question.workload, runs__value__isnull=False)
    newest = rows.distinct().prefetch_related("runs").order_by("-pk")[: conditional.MOST_SITTINGS]
    return conditional.told_of(question, newest)
