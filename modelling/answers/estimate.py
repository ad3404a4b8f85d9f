"""The estimate that an answer is made of: evidence from the database, ranked under the assumptions of the settings."""

from django.conf import settings

from modelling.estimation.ranking import Assumptions, Ranking, rank
from modelling.evidence import frames, names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question


def assumptions() -> Assumptions:
    """What every answer takes for granted, from the settings."""
    return Assumptions(
        variation=settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION,
        tier_scale=settings.KDB_TIER_SCALE,
        tier_doubt=settings.KDB_TIER_DOUBT,
    )


def ranking_of(question: Question, as_of: int | None = None) -> Ranking:
    """The estimate itself, with its networks: what answers and mixes are made of."""
    names.forget()  # what is made of it is kept with names: those that are public now
    arms, findings = frames.arms(question, as_of=as_of), frames.findings(question, as_of=as_of)
    return rank(arms, findings, AXES[question.axis], assumptions())
