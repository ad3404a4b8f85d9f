"""Why an entry stands where it does, as pages and the API ask it."""

from dataclasses import asdict
from typing import Any

from django.urls import reverse

from experiments.templatetags import kdb_format
from modelling.answers.selectors import answer_at
from modelling.evidence import counts
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from . import explain
from . import gather as explanation_facts
from .between import contrast_between, direct_groups, shared_part, tiers_between
from .facts import Contrast, Reference, Side, Step

__all__ = ["Contrast", "contrast_between", "direct_groups", "explained", "shared_part", "tiers_between"]


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
    return remembered(key, lambda: _explanation(question, snapshot, a, b, as_of))


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
