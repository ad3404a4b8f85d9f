"""The questions that pages and the API ask."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.core.cache import caches
from django.db.models import Q
from django.urls import reverse

from experiments.templatetags import kdb_format
from modelling.comparisons import comparison
from modelling.estimation.mixes import Mix, mix
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts
from modelling.evidence.question import Question
from modelling.explanations import Reference, Side, Step, explain
from modelling.explanations import gather as explanation_facts
from modelling.models import RankingSnapshot

from .services import ranking_of
from .snapshots import answer_as_of, compute_snapshot, note_asked

_SECONDS = 600  # that what is dear to work out is kept in memory


def _kept(key: str, work_out: Callable[[], Any]) -> Any:
    """From memory where it is there. That memory is bounded: settings.CACHES."""
    return caches["worked-out"].get_or_set(key, work_out, _SECONDS)


def _in_memory(question: Question, revision: int, as_of: bool) -> str:
    return f"modelling.answer:{METHOD}:{revision}:{as_of}:{hashlib.sha256(question.key.encode()).hexdigest()}"


def current_ranking(question: Question) -> RankingSnapshot:
    """The newest answer to the question: one indexed read, computed only where none was kept.

    While a publication's answers are being worked out the previous one is given; `superseded_by`
    names the revision that is coming. An answer that is not kept in the database (modelling.answers.snapshots says
    which) stays in memory for a while.
    """
    kept = RankingSnapshot.objects.filter(question=question.key, method=METHOD).order_by("-revision").first()
    if kept is None:
        return _kept(_in_memory(question, counts.revision(), as_of=False), lambda: compute_snapshot(question))
    note_asked(kept)
    return kept


def revision_named(text: str) -> int | None:
    """The knowledge revision that this text names; None where there is none like it."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        return None
    return int(text) if int(text) <= counts.revision() else None


def ranking_as_of(question: Question, revision: int) -> RankingSnapshot:
    """The answer as it was at this revision, whatever was published or retracted since.

    One that was kept then, or any earlier one that no publication up to then touched; else it is worked out
    from what counted then, and kept in memory.
    """
    stood = Q(superseded_by__isnull=True) | Q(superseded_by__gt=revision)
    then = RankingSnapshot.objects.filter(stood, question=question.key, method=METHOD, revision__lte=revision)
    if (kept := then.order_by("-revision").first()) is not None:
        note_asked(kept)
        return kept
    return _kept(_in_memory(question, revision, as_of=True), lambda: answer_as_of(question, revision))


def answer_at(question: Question, as_of: int | None) -> RankingSnapshot:
    """The answer now, or as of a revision where one is given."""
    return current_ranking(question) if as_of is None else ranking_as_of(question, as_of)


def mixed(question: Question, weights: Mapping[str, float]) -> Mix:
    """The answer to the question under a mix of workloads (its own workload does not matter).

    Kept in memory for as long as the knowledge revision stands.
    """
    asked = ",".join(f"{workload}:{weight!r}" for workload, weight in sorted(weights.items()))
    digest = hashlib.sha256(f"{question.key}|{asked}".encode()).hexdigest()
    key = f"modelling.mix:{METHOD}:{counts.revision()}:{digest}"

    def work_out() -> Mix:
        return mix(
            {each: ranking_of(replace(question, workload=each)) for each, w in weights.items() if w > 0}, weights
        )

    return _kept(key, work_out)


def kept_answers(questions: list[Question]) -> dict[Question, bool]:
    """Those of the questions that have a kept answer, and whether it ranks anything; one query."""
    of_key = {question.key: question for question in questions}
    rows = RankingSnapshot.objects.filter(question__in=of_key, method=METHOD).order_by("revision")
    return {of_key[key]: first is not None for key, first in rows.values_list("question", "result__entries__0__key")}


def explained(
    question: Question, a: str | None = None, b: str | None = None, as_of: int | None = None
) -> dict[str, Any]:
    """Why `a` stands where it does against `b`: the explanation as the API gives it, JSON-ready.

    as_of : by what counted at this knowledge revision, in place of what counts now
    Without entries the best of the answer is explained against the last it was ranked with. Kept in
    memory for as long as neither the answer nor the knowledge revision changes.
    """
    snapshot = answer_at(question, as_of)
    if a is None or b is None:
        entries = [entry for entry in snapshot.result["entries"] if entry["part"] == 1]
        if len(entries) < 2:
            return _unexplained(question, snapshot)
        a, b = entries[0]["key"], entries[-1]["key"]
    key = f"modelling.explanation:{snapshot.digest}:{as_of or counts.revision()}:{a}:{b}"
    return _kept(key, lambda: _explanation(question, snapshot, a, b, as_of))


def compared(question: Question, keys: Sequence[str], as_of: int | None = None) -> dict[str, Any]:
    """Two to six entries side by side, as the API gives them, JSON-ready. Kept in memory as an explanation is."""
    snapshot = answer_at(question, as_of)
    asked = hashlib.sha256(",".join(keys).encode()).hexdigest()
    key = f"modelling.comparison:{snapshot.digest}:{as_of or counts.revision()}:{asked}"
    head = {"question": question.as_dict(), "revision": as_of or counts.revision()}
    return _kept(key, lambda: {**head, **comparison.compare(question, keys, as_of)})


def _explanation(question: Question, snapshot: RankingSnapshot, a: str, b: str, as_of: int | None) -> dict[str, Any]:
    facts = explanation_facts.gather(question, a, b, as_of)
    return {
        "question": question.as_dict(),
        "revision": snapshot.revision,
        "a": _side(facts.a),
        "b": _side(facts.b),
        "contrast": asdict(facts.contrast) if facts.contrast else None,
        "steps": [_step(step) for step in explain(facts)],
    }


def _unexplained(question: Question, snapshot: RankingSnapshot) -> dict[str, Any]:
    """Of a question without an answer: what is missing is all there is to say."""
    text = " ".join(snapshot.result["missing"])
    step = Step("open", "What would settle it", "open", text, data={"missing": snapshot.result["missing"]})
    return {
        "question": question.as_dict(),
        "revision": snapshot.revision,
        "a": None,
        "b": None,
        "contrast": None,
        "steps": [_step(step)] if text else [],
    }


def _side(side: Side) -> dict[str, Any]:
    return {"key": side.key, "label": side.label, "rank": side.rank, "part": side.part, "grade": side.grade}


def _step(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "title": step.title,
        "basis": step.basis,
        "text": step.text,
        "data": step.data,
        "evidence": [{**asdict(reference), "url": _url(reference)} for reference in step.evidence],
        "source": step.source,
    }


def _url(reference: Reference) -> str:
    """Where a reader can open what a step rests on."""
    names = {
        "case study": "case-study-detail",
        "claims": "claims-of-paper",
        "workload": "workload-detail",
        "file system": "file-system-detail",
    }
    address = reverse(names[reference.kind], args=[reference.key])
    return f"{address}#{kdb_format.anchor(reference.anchor)}" if reference.anchor else address
