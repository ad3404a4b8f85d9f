"""What publishing a draft would change in the rankings, before it is published.

The draft's measurements are summarised as at a publication, and every question they may touch is answered
twice by the same code: with what is published, and with the draft beside it. Nobody else sees either.
"""

import logging
from collections.abc import Callable
from typing import Any, Literal

from django.db import transaction
from django.utils.timezone import now

from experiments.models import CaseStudy
from kdb import jobs
from kdb.models import Job
from modelling.answers import words
from modelling.answers.selectors import answer_with_draft
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts, frames, names, summaries
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.models import PublicationPreview, RankingSnapshot

logger = logging.getLogger(__name__)

JOB = "preview_publication"
MOST_QUESTIONS = 40  # looked at; what people ask without filters comes first

State = Literal["none", "computing", "failed", "ready", "stale"]


def request(case_study: CaseStudy) -> Job:
    """Ask for a preview, unless one is being worked out."""
    return _under_way(case_study) or jobs.enqueue(JOB, case_study_id=case_study.pk)


def current(case_study: CaseStudy) -> tuple[State, PublicationPreview | None, Job | None]:
    """How the draft's preview stands, the last one that was worked out, and the job that does so now or failed."""
    kept = PublicationPreview.objects.filter(case_study=case_study).first()
    job = _latest_job(case_study)
    if job and job.state in (Job.State.QUEUED, Job.State.RUNNING):
        return "computing", kept, job
    if job and job.state == Job.State.FAILED and (kept is None or kept.computed_at < job.finished_at):
        return "failed", kept, job
    if kept is None:
        return "none", None, None
    is_fresh = (kept.method, kept.revision, kept.token) == (
        METHOD,
        counts.revision(),
        counts.content_token(case_study.pk),
    )
    return ("ready" if is_fresh else "stale"), kept, None


def forget(case_study_ids: list[int]) -> None:
    """What is published needs no preview."""
    PublicationPreview.objects.filter(case_study__in=case_study_ids).delete()


def compute(case_study_id: int, progress: Callable[[int, int], None]) -> None:
    """Work the preview out and keep it; of a case study that is no draft any more, nothing."""
    with transaction.atomic():
        case_study = _locked_draft(case_study_id)
        if case_study is None:
            return
        token, revision = counts.content_token(case_study_id), counts.revision()
        summaries.rebuild_arms([case_study_id])
    questions = _questions(case_study_id)
    looked_at = questions[:MOST_QUESTIONS]
    found = []
    for done, question in enumerate(looked_at, start=1):
        found.append(_compared(question, case_study_id, revision))
        progress(done, len(looked_at))
    changed = [entry for entry in found if entry["moves"]]
    result = {
        "case_study": case_study.slug,
        "revision": revision,
        "questions": changed,
        "unchanged": len(found) - len(changed),
        "left_out": len(questions) - len(looked_at),
    }
    with transaction.atomic():
        if _locked_draft(case_study_id) is None:  # published meanwhile
            return
        PublicationPreview.objects.update_or_create(
            case_study=case_study,
            defaults={
                "method": METHOD,
                "revision": revision,
                "token": token,
                "result": result,
                "computed_at": now(),
            },
        )
    logger.info("previewed case_study=%s questions=%s changed=%s", case_study_id, len(found), len(changed))


def _locked_draft(case_study_id: int) -> CaseStudy | None:
    """The case study, if it is still a draft, and it stays one until the transaction ends."""
    drafts = CaseStudy.objects.filter(status__in=[CaseStudy.Status.DRAFT, CaseStudy.Status.SUBMITTED])
    return drafts.select_for_update().filter(pk=case_study_id).first()


def _questions(case_study_id: int) -> list[Question]:
    """What the draft may touch: first what people ask of its workloads without filters, then what was asked lately."""
    workloads = counts.workloads_of(case_study_id)
    plain = [Question(axis, workload) for workload in workloads for axis in AXES]
    standing = RankingSnapshot.objects.filter(superseded_by__isnull=True, method=METHOD, workload__in=workloads)
    asked = [Question.from_key(key) for key in standing.order_by("-pk").values_list("question", flat=True)]
    questions = list(dict.fromkeys([*plain, *asked]))
    reached = frames.reached(questions, [case_study_id])
    return [question for question in questions if question in reached]


def _compared(question: Question, case_study_id: int, revision: int) -> dict[str, Any]:
    """One question with and without the draft, and the entries that move."""
    before, after = (answer_with_draft(question, draft, revision) for draft in (None, case_study_id))
    keys = dict.fromkeys([*_by_key(after), *_by_key(before)])
    moves = []
    for key in keys:
        old, new = _standing(before, key), _standing(after, key)
        if _place(old) != _place(new):
            label = names.label(AXES[question.axis], key)
            moves.append({"key": key, "label": label, "before": old, "after": new})
    return {
        "question": question.as_dict(),
        "title": words.title(question, names.names()),
        "url": words.address(question),
        "before": {"status": before["status"], "parts": len(before["parts"])},
        "after": {"status": after["status"], "parts": len(after["parts"])},
        "moves": moves,
    }


def _by_key(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["key"]: entry for entry in answer["entries"]}


def _standing(answer: dict[str, Any], key: str) -> dict[str, Any] | None:
    """Where an entry stands in an answer; None where it is not ranked."""
    entry = _by_key(answer).get(key)
    if entry is None:
        return None
    kept = {name: entry[name] for name in ("rank", "part", "ratio", "low", "high", "grade")}
    return {**kept, "is_best": key in answer["best"], "is_worst": key in answer["worst"]}


def _place(standing: dict[str, Any] | None) -> tuple | None:
    """What counts as a move: rank, part, the best and the worst set, and the grade; not a ratio's last digits."""
    if standing is None:
        return None
    return tuple(standing[name] for name in ("rank", "part", "is_best", "is_worst", "grade"))


def _latest_job(case_study: CaseStudy) -> Job | None:
    return Job.objects.filter(kind=JOB, arguments__case_study_id=case_study.pk).order_by("-pk").first()


def _under_way(case_study: CaseStudy) -> Job | None:
    """A job that has not begun, or is at it; one that began before the last import finds the draft changed and is
    followed by another."""
    job = _latest_job(case_study)
    return job if job and job.state in (Job.State.QUEUED, Job.State.RUNNING) else None
