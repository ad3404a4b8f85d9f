"""Explanations as pages and the API ask for them."""

from dataclasses import replace

from django.urls import reverse

from experiments.templatetags import kdb_format
from kdb.content import taken
from modelling.answer_store.selectors import answer_in, snapshot_at
from modelling.answers.content import Answer
from modelling.evidence import counts
from modelling.evidence.question import Question
from modelling.evidence.storage import get_or_compute

from . import explain
from .comparison import confounding
from .content import Explanation, ForecastRatio, Open, Reference, Step
from .facts import Contrast, Ranked
from .gather import gather
from .pair_evidence import came_with, contrast_between, direct_groups, shared_part, tiers_between

__all__ = [
    "Contrast",
    "came_with",
    "confounding",
    "contrast_between",
    "direct_groups",
    "explained",
    "forecast_between",
    "shared_part",
    "tiers_between",
]


def explained(question: Question, a: str | None = None, b: str | None = None, as_of: int | None = None) -> Explanation:
    """Explain why `a` stands where it does against `b`.

    as_of : by what counted at this knowledge revision, in place of what counts now
    Without entries the best of the answer is explained against the last it was ranked with. Kept in
    memory for as long as neither the answer nor the knowledge revision changes.
    """
    snapshot = snapshot_at(question, as_of)
    if a is None or b is None:
        answer = answer_in(snapshot)
        entries = [entry for entry in answer.entries if entry.part == 1]
        if len(entries) < 2:
            return _unexplained(question, answer)
        a, b = entries[0].key, entries[-1].key
    key = f"modelling.explanation:{snapshot.digest}:{as_of or counts.revision()}:{a}:{b}"
    return get_or_compute(key, lambda: _explanation(question, snapshot.revision, a, b, as_of))


def forecast_between(question: Question, a: str, b: str, as_of: int | None = None) -> str:
    """Say what the form that is in use forecasts of two entries that no numbers join, in sentences; "": nothing."""
    steps = explained(question, a, b, as_of).steps
    return next((step.text for step in steps if isinstance(step.data, ForecastRatio)), "")


def _explanation(question: Question, revision: int, a: str, b: str, as_of: int | None) -> Explanation:
    facts = gather(question, a, b, as_of)
    return Explanation(
        question,
        revision,
        taken(Ranked, facts.a),
        taken(Ranked, facts.b),
        facts.contrast,
        tuple(_with_addresses(step) for step in explain(facts)),
    )


def _unexplained(question: Question, answer: Answer) -> Explanation:
    """Explain a question without an answer: what is missing is all there is to say."""
    step = Step("open", "What would settle it", "open", " ".join(answer.missing), Open(answer.missing))
    return Explanation(question, answer.revision, None, None, None, (step,) if answer.missing else ())


def _with_addresses(step: Step) -> Step:
    return replace(step, evidence=tuple(replace(reference, url=_url(reference)) for reference in step.evidence))


def _url(reference: Reference) -> str:
    """Return the address where a reader can open what a step rests on."""
    names = {
        "case study": "case-study-detail",
        "claims": "claims-of-paper",
        "workload": "workload-detail",
        "file system": "file-system-detail",
    }
    address = reverse(names[reference.kind], args=[reference.key])
    return f"{address}#{kdb_format.anchor(reference.anchor)}" if reference.anchor else address
