"""Gathers advice for a profile: the one place where modelling.advice.reasoning meets the database."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from django.conf import settings

from experiments.models import CaseStudy, Configuration
from kdb.cost import budget
from kdb.pairs import pair_key
from modelling.answers import words
from modelling.answers.content import Answer, AnswerPart, RankedEntry
from modelling.evidence import counts, frames
from modelling.evidence import names as catalogue
from modelling.evidence.axes import AXES
from modelling.evidence.names import label
from modelling.evidence.question import Question
from modelling.explanations.selectors import mechanisms_record
from modelling.kept_answers.selectors import answer_in, current_ranking
from modelling.workloads.mechanisms import Matrix, is_stated, matrix_of
from modelling.workloads.profiles import Profile, known_profiles
from modelling.workloads.track_record import TrackRecord

from . import reasoning
from . import words as advice_words
from .content import (
    Advice,
    AdvisedEntry,
    AdvisedPart,
    Filters,
    NamedNeighbour,
    NamedPair,
    PredictedPair,
    Prediction,
    Recommendation,
    SaidAgreement,
)
from .reasoning import Expectation, Neighbour, Predicted

AXIS = "fs-pair"
NOTHING_EXPECTED = Expectation(None, ())
# Of the processor. Where nothing is kept it takes half a second, and twice that on a busy machine; the requests under
# way share it. The rankings that are worked out by then are kept, so who asks again gets further.
MOST_SECONDS = 3.0


def advise(profile: Profile, *, hypervisor: str | None = None, host_fs: str | None = None) -> Advice:
    """Advise on a load with this profile, the same for page and API.

    hypervisor, host_fs : slugs that are decided already, or None. Where the nearest workload has no
    answer under them, the answer with fewer of them is given and `without` names those left out.
    """
    with budget.of_seconds(MOST_SECONDS) if settings.KDB_CPU_SECONDS_A_REQUEST else nullcontext():
        return _advise(profile, hypervisor, host_fs)


def _advise(profile: Profile, hypervisor: str | None, host_fs: str | None) -> Advice:
    matrix, revision = matrix_of(frames.mechanism_costs()), counts.revision()
    names = catalogue.names()
    # A catalogue that is empty has no workload to be near to.
    known = {slug: known for slug, known in known_profiles().items() if slug in names["workload"]}
    near = reasoning.neighbours(profile, known)
    hosts = _hosts(hypervisor, host_fs, matrix)
    guests = [slug for slug in names["file_system"] if is_stated(slug, matrix)]
    record = mechanisms_record(near[0].workload, revision) if near else TrackRecord()
    expected = reasoning.expect(guests, hosts, matrix, profile) if record.beats_chance else NOTHING_EXPECTED
    recommended = tuple(
        _recommendation(neighbour, hypervisor, host_fs, matrix, profile) for neighbour in near if neighbour.speaks
    )
    is_far = not near or near[0].is_far
    return Advice(
        filters=Filters(hypervisor, host_fs),
        summary=tuple(advice_words.summary(recommended, expected, is_far, names)),
        profile=profile,
        assumptions=profile.notes,
        nearest=tuple(NamedNeighbour(**vars(found), label=names["workload"][found.workload]) for found in near),
        is_far=is_far,
        far_beyond=reasoning.FAR,
        recommendation=recommended,
        prediction=_prediction(expected, record),
        notes=tuple(advice_words.notes(expected, record, hosts, matrix, names)),
        revision=revision,
    )


def _hosts(hypervisor: str | None, host_fs: str | None, matrix: Matrix) -> list[str]:
    """Return the host file systems to choose from: the given one, that which the hypervisor brings, or all stated.

    What it brings is a file system of which no mechanisms are stated: VMFS of ESXi, NTFS of Hyper-V.
    """
    if host_fs:
        return [host_fs]
    if hypervisor:
        ran = Configuration.objects.filter(
            case_study__in=CaseStudy.objects.published(), hypervisor__slug=hypervisor, guest_fs__slug__in=list(matrix)
        )
        found = sorted(set(ran.values_list("host_fs__slug", flat=True)) - {None})
        if found and not any(is_stated(slug, matrix) for slug in found):
            return found
    return [slug for slug in catalogue.names()["file_system"] if is_stated(slug, matrix)]


def _recommendation(
    neighbour: Neighbour, hypervisor: str | None, host_fs: str | None, matrix: Matrix, profile: Profile
) -> Recommendation:
    asked = Question(AXIS, neighbour.workload, hypervisor=hypervisor, host_fs=host_fs)
    answer, names = _answered(asked), catalogue.names()
    held = reasoning.agreement(answer.entries, matrix, profile)
    return Recommendation(
        workload=neighbour.workload,
        label=names["workload"][neighbour.workload],
        distance=neighbour.distance,
        is_far=neighbour.is_far,
        question=answer.question,
        title=words.title(answer.question, names),
        url=words.address(answer.question),
        api_url=words.api_address(answer.question),
        without=tuple(name for name in asked.filters if name not in answer.question.filters),
        metric=answer.metric,
        verdict=answer.verdict,
        grounds=answer.grounds,
        notes=answer.notes,
        entries=tuple(_entry(entry) for entry in answer.entries),
        parts=tuple(_part(answer, part) for part in answer.parts),
        missing=answer.missing,
        agreement=SaidAgreement(**vars(held), text=advice_words.agreement(held)),
    )


def _part(answer: Answer, part: AnswerPart) -> AdvisedPart:
    """Return what to use and what to avoid of one part of the answer."""
    entries = answer.entries_of(part)
    return AdvisedPart(
        part=part.part,
        name=part.name,
        text=part.verdict.sentence,
        best=tuple(_entry(entry) for entry in entries if entry.is_best),
        worst=tuple(_entry(entry) for entry in entries if entry.is_worst),
    )


def _answered(asked: Question) -> Answer:
    """Return the answer to the question with as many of its filters as have one; as it was asked where none has."""
    unanswered = answer_in(current_ranking(asked))
    if unanswered.entries:
        return unanswered
    for left_out in (["host_fs"], ["hypervisor"], ["host_fs", "hypervisor"]):
        if all(getattr(asked, name) for name in left_out):
            unset: dict[str, Any] = dict.fromkeys(left_out)
            answer = answer_in(current_ranking(replace(asked, **unset)))
            if answer.entries:
                return answer
    return unanswered


def _entry(entry: RankedEntry) -> AdvisedEntry:
    return AdvisedEntry(entry.key, entry.label, entry.grade, entry.ratio, entry.low, entry.high)


def _prediction(expected: Expectation, record: TrackRecord) -> Prediction:
    against = pair_key(*expected.against) if expected.against else None
    return Prediction(
        against=NamedPair(against, label(AXES[AXIS], against)) if against else None,
        pairs=tuple(_predicted(predicted) for predicted in expected.pairs),
        right=record.right,
        compared=record.compared,
        beats_chance=record.beats_chance,
    )


def _predicted(predicted: Predicted) -> PredictedPair:
    key = pair_key(*predicted.pair)
    return PredictedPair(key, label(AXES[AXIS], key), predicted.rank, predicted.score, predicted.terms)
