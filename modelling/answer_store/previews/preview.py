"""Compute what publishing a draft would change in the rankings.

The draft's measurements are summarised as at a publication, and every question they may touch is answered twice by the
same code: from published evidence alone, and with the draft. Nobody else sees either answer.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Annotated, Literal

from django.db import transaction
from django.utils.timezone import now

from experiments.models import CaseStudy
from kdb.content import Among, taken
from kdb.jobs import jobs
from kdb.models import Job
from modelling.answer_store.snapshots import displayable_error
from modelling.answers import words
from modelling.answers.answer import answer
from modelling.answers.content import Answer
from modelling.answers.estimate import estimate
from modelling.estimation.ranking import METHOD
from modelling.estimation.verdict import STRENGTHS
from modelling.evidence import counts, dataframes, names, summaries
from modelling.evidence.axes import AXES
from modelling.evidence.question import Grade, Question
from modelling.models import PublicationPreview, RankingSnapshot

logger = logging.getLogger(__name__)

JOB = "preview_publication"
UNDER_WAY = (Job.State.QUEUED, Job.State.RUNNING)
MOST_QUESTIONS = 40  # questions to compare, those without filters first
MOST_SECONDS = 120  # for comparing; questions not reached are counted as left out
SECONDS_OF_REVIEWER = 10  # time for which a publication without a fresh preview checks questions itself


class NotAnswered(Exception):  # noqa: N818
    """Some questions have no answer with the draft; the displayable text names the first and the reason."""


State = Literal["none", "computing", "failed", "ready", "stale"]


@dataclass(frozen=True)
class Standing:
    """The place of an entry in an answer."""

    rank: int
    part: int
    ratio: float | None
    low: float | None
    high: float | None
    grade: Grade
    is_best: bool
    is_worst: bool

    @property
    def place(self) -> tuple[int, int, bool, bool, str]:
        """Return what makes a move when it changes; not the ratio, whose last digits change with any evidence."""
        return self.rank, self.part, self.is_best, self.is_worst, self.grade


@dataclass(frozen=True)
class Move:
    """An entry that moves; null: not ranked."""

    key: str
    label: str
    before: Standing | None
    after: Standing | None


@dataclass(frozen=True)
class Extent:
    """An answer in short."""

    status: str
    parts: Annotated[int, "That no comparison joins."]
    sentence: Annotated[str, "Its headline."]
    strength: Annotated[str, Among(reversed(STRENGTHS))]


@dataclass(frozen=True)
class Change:
    """One question with and without the draft."""

    component = "ChangedQuestion"

    question: Question
    title: str
    url: Annotated[str, "The answer as it is now."]
    before: Extent
    after: Extent
    headline_moves: Annotated[bool, "Whether the headline or its strength becomes another."]
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class Preview:
    """The changes that publishing would make at this knowledge revision."""

    component = "PreviewResult"

    case_study: str
    revision: int
    questions: tuple[Change, ...]
    unchanged: Annotated[int, "Questions looked at that stay as they are."]
    left_out: Annotated[int, "Questions that were not looked at: more than 40, or not in two minutes."]


def request_preview(case_study: CaseStudy) -> Job:
    """Enqueue a preview unless one is queued or running.

    One that began before the last import finds the draft changed, and is followed by another.
    """
    job = _latest_job(case_study)
    return job if job and job.state in UNDER_WAY else jobs.enqueue(JOB, case_study_id=case_study.pk)


def preview_state(case_study: CaseStudy) -> tuple[State, PublicationPreview | None, Job | None]:
    """Return the state of the draft's preview, the newest finished one, and the job that is under way or failed."""
    kept = PublicationPreview.objects.filter(case_study=case_study, method=METHOD).first()
    job = _latest_job(case_study)
    if job and job.state in UNDER_WAY:
        return "computing", kept, job
    if job and job.state == Job.State.FAILED and job.finished_at and not (kept and kept.computed_at >= job.finished_at):
        return "failed", kept, job
    if kept is None:
        return "none", None, None
    is_fresh = (kept.revision, kept.token) == (counts.revision(), counts.content_token(case_study.pk))
    return ("ready" if is_fresh else "stale"), kept, None


def delete_previews(case_study_ids: list[int]) -> None:
    """Delete the previews of these case studies: published ones need none."""
    PublicationPreview.objects.filter(case_study__in=case_study_ids).delete()


def compute_preview(case_study_id: int, progress: Callable[[int, int], None]) -> None:
    """Compute and store the preview; do nothing if the case study is no longer a draft."""
    with transaction.atomic():
        case_study = _locked_draft(case_study_id)
        if case_study is None:
            return
        token, revision = counts.content_token(case_study_id), counts.revision()
        summaries.rebuild_arms([case_study_id])
    questions = affected_questions(case_study_id)
    looked_at = questions[:MOST_QUESTIONS]
    compared: list[Change] = []
    failed: list[str] = []
    until = monotonic() + MOST_SECONDS
    for question in looked_at:
        if monotonic() > until:
            break
        try:
            compared.append(_compare_answers(question, case_study_id, revision))
        except Exception as error:  # whatever it is, it concerns this question alone
            failed.append(_failure(question, error))
        progress(len(compared) + len(failed), len(looked_at))
    if failed:
        raise NotAnswered(f"{failed[0]} In all {len(failed)} of {len(looked_at)} questions have none.")
    changed = [change for change in compared if change.moves or change.headline_moves]
    changed.sort(key=lambda change: not change.headline_moves)
    result = Preview(
        case_study=case_study.slug,
        revision=revision,
        questions=tuple(changed),
        unchanged=len(compared) - len(changed),
        left_out=len(questions) - len(compared),
    )
    with transaction.atomic():
        if _locked_draft(case_study_id) is None:  # published meanwhile
            return
        PublicationPreview.objects.update_or_create(
            case_study=case_study,
            defaults={
                "method": METHOD,
                "revision": revision,
                "token": token,
                "result": asdict(result),
                "computed_at": now(),
            },
        )
    logger.info("previewed case_study=%s questions=%s changed=%s", case_study_id, len(compared), len(changed))


def why_not_publish(case_study: CaseStudy) -> str:
    """State which question would have no answer after publishing the draft; "" if all have one.

    A fresh preview has answered them; else as many are answered as can be while the reviewer waits.
    """
    if preview_state(case_study)[0] == "ready":
        return ""
    with transaction.atomic():
        if _locked_draft(case_study.pk) is None:
            return ""
        revision = counts.revision()
        summaries.rebuild_arms([case_study.pk])
    until = monotonic() + SECONDS_OF_REVIEWER
    for question in affected_questions(case_study.pk)[:MOST_QUESTIONS]:
        if monotonic() > until:
            break
        try:
            answer(estimate(question, with_draft=case_study.pk), revision)
        except Exception as error:
            return _failure(question, error)
    return ""


def _failure(question: Question, error: Exception) -> str:
    logger.exception("could not answer with the draft question=%s", question.key)
    return f"With it, “{words.title(question, names.names())}” has no answer: {displayable_error(error).rstrip('.')}."


def _locked_draft(case_study_id: int) -> CaseStudy | None:
    """Return the case study if it is still a draft, locked so that it stays one until the transaction ends."""
    drafts = CaseStudy.objects.filter(status__in=[CaseStudy.Status.DRAFT, CaseStudy.Status.SUBMITTED])
    return drafts.select_for_update().filter(pk=case_study_id).first()


def affected_questions(case_study_id: int) -> list[Question]:
    """List the questions that a case study may touch: first its workloads without filters, then stored ones."""
    workloads = counts.workloads_of(case_study_id)
    # A case study with fewer than two values of a setting compares nothing on that axis.
    arms = dataframes.arms_of(CaseStudy.objects.get(pk=case_study_id))
    axes = [axis for axis in AXES.values() if not axis.setting or len({*arms[axis.setting.column]} - {""}) > 1]
    plain = [Question(axis.name, workload) for workload in workloads for axis in axes]
    answered = RankingSnapshot.objects.filter(method=METHOD, workload__in=workloads)
    asked = [Question.from_key(key) for key in answered.order_by("-pk").values_list("question", flat=True)]
    questions = list(dict.fromkeys([*plain, *asked]))
    return list(filter(dataframes.Reach([case_study_id]).admits, questions))


def _compare_answers(question: Question, case_study_id: int, revision: int) -> Change:
    """Answer one question without and with the draft, and list the entries that move."""
    before, after = (answer(estimate(question, with_draft=draft), revision) for draft in (None, case_study_id))
    old_places, new_places = _standings(before), _standings(after)
    moves = []
    for key in dict.fromkeys([*new_places, *old_places]):
        old, new = old_places.get(key), new_places.get(key)
        if (old and old.place) != (new and new.place):
            moves.append(Move(key, names.label(AXES[question.axis], key), old, new))
    return Change(
        question=question,
        title=words.title(question, names.names()),
        url=words.address(question),
        before=summarize_answer(before),
        after=summarize_answer(after),
        headline_moves=headline(before) != headline(after),
        moves=tuple(moves),
    )


def summarize_answer(answer: Answer) -> Extent:
    """Return the answer in short."""
    return Extent(answer.status, len(answer.parts), *headline(answer))


def headline(answer: Answer) -> tuple[str, str]:
    """Return the sentence of the answer and its strength."""
    return answer.verdict.sentence, answer.verdict.strength


def _standings(answer: Answer) -> dict[str, Standing]:
    """Return the place of each ranked entry, by its key."""
    return {entry.key: taken(Standing, entry) for entry in answer.entries}


def _latest_job(case_study: CaseStudy) -> Job | None:
    return Job.objects.filter(kind=JOB, arguments__case_study_id=case_study.pk).order_by("-pk").first()
