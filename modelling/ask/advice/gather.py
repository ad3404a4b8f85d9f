"""Build the advice for a profile from stored answers."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from django.conf import settings

from kdb.content import taken
from kdb.cost import budget
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers import words
from modelling.answers.content import Answer, AnswerPart
from modelling.evidence import counts
from modelling.evidence import names as catalogue
from modelling.evidence.question import Question
from modelling.workloads.profiles import Profile, known_profiles

from . import reasoning
from . import words as advice_words
from .content import Advice, AdvisedEntry, AdvisedPart, Filters, Recommendation
from .reasoning import Neighbour

AXIS = "fs-pair"
# Processor time. Without stored answers advice takes 0.5 s, and 1 s on a busy machine; concurrent requests share the
# limit. Rankings computed by then are stored, so the next request gets further.
MOST_SECONDS = 3.0


def advise(profile: Profile, *, hypervisor: str | None = None, host_fs: str | None = None) -> Advice:
    """Advise on a load with this profile, for page and API.

    hypervisor, host_fs : slugs of choices already made, or None. Where the nearest workload has no answer with them,
    the answer with fewer of them is given, and `without` names those left out.
    """
    with budget.limit_seconds(MOST_SECONDS) if settings.KDB_CPU_SECONDS_A_REQUEST else nullcontext():
        return _advise(profile, hypervisor, host_fs)


def _advise(profile: Profile, hypervisor: str | None, host_fs: str | None) -> Advice:
    near = reasoning.neighbours(profile, known_profiles(), catalogue.names()["workload"])
    recommended = tuple(_recommendation(neighbour, hypervisor, host_fs) for neighbour in near if neighbour.speaks)
    is_far = not near or near[0].is_far
    return Advice(
        filters=Filters(hypervisor, host_fs),
        summary=tuple(advice_words.summary(recommended, is_far)),
        profile=profile,
        assumptions=profile.notes,
        nearest=tuple(near),
        is_far=is_far,
        far_beyond=reasoning.FAR,
        recommendation=recommended,
        revision=counts.revision(),
    )


def _recommendation(neighbour: Neighbour, hypervisor: str | None, host_fs: str | None) -> Recommendation:
    asked = Question(AXIS, neighbour.workload, hypervisor=hypervisor, host_fs=host_fs)
    answer = _answer_with_most_filters(asked)
    return Recommendation(
        workload=neighbour.workload,
        label=neighbour.label,
        distance=neighbour.distance,
        is_far=neighbour.is_far,
        question=answer.question,
        title=words.title(answer.question, catalogue.names()),
        url=words.address(answer.question),
        api_url=words.api_address(answer.question),
        without=tuple(name for name in asked.filters if name not in answer.question.filters),
        verdict=answer.verdict,
        parts=tuple(_part(answer, part) for part in answer.parts),
        missing=answer.missing,
    )


def _part(answer: Answer, part: AnswerPart) -> AdvisedPart:
    """Return the best and worst entries of one part of the answer."""
    entries = answer.entries_of(part)
    return AdvisedPart(
        part=part.part,
        name=part.name,
        text=part.verdict.sentence,
        best=tuple(taken(AdvisedEntry, entry) for entry in entries if entry.is_best),
        worst=tuple(taken(AdvisedEntry, entry) for entry in entries if entry.is_worst),
    )


def _answer_with_most_filters(asked: Question) -> Answer:
    """Return the answer with the most filters that has entries; that with all filters where none has."""
    complete = answer_in(current_snapshot(asked))
    if complete.entries:
        return complete
    for left_out in (["host_fs"], ["hypervisor"], ["host_fs", "hypervisor"]):
        if all(getattr(asked, name) for name in left_out):
            unset: dict[str, Any] = dict.fromkeys(left_out)
            answer = answer_in(current_snapshot(replace(asked, **unset)))
            if answer.entries:
                return answer
    return complete
