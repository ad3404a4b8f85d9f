"""Return explanations for pages and the API, cached."""

from dataclasses import replace

from django.urls import reverse

from experiments.templatetags import kdb_format
from kdb.content import taken
from modelling.answer_store.selectors import answer_in, snapshot_at
from modelling.evidence import counts
from modelling.evidence.question import Question
from modelling.evidence.storage import get_or_compute

from . import explain
from .comparison import confounding
from .content import FORECAST, Explanation, Reference, Step
from .facts import Ranked
from .gather import gather
from .pair_evidence import contrast_between, direct_groups, find_confounding, shared_part, tiers_between

__all__ = [
    "confounding",
    "contrast_between",
    "direct_groups",
    "explained",
    "find_confounding",
    "forecast_between",
    "shared_part",
    "tiers_between",
]


def explained(question: Question, a: str | None = None, b: str | None = None, as_of: int | None = None) -> Explanation:
    """Explain the ranks of `a` and `b`, by default of the best entry and the last of its part.

    as_of : use the evidence of this knowledge revision in place of the current one
    Cached until the answer or the knowledge revision changes.
    """
    snapshot = snapshot_at(question, as_of)
    if a is None or b is None:
        answer = answer_in(snapshot)
        entries = [entry for entry in answer.entries if entry.part == 1]
        if len(entries) < 2:
            step = Step("open", "What would settle it", "open", " ".join(answer.missing), {"missing": answer.missing})
            return Explanation(question, answer.revision, None, None, None, (step,) if answer.missing else ())
        a, b = entries[0].key, entries[-1].key
    key = f"modelling.explanation:{snapshot.digest}:{as_of or counts.revision()}:{a}:{b}"
    return get_or_compute(key, lambda: _explanation(question, snapshot.revision, a, b, as_of))


def forecast_between(question: Question, a: str, b: str, as_of: int | None = None) -> str:
    """Return the sentences of the forecast for two entries that no numbers join; "" where there is none."""
    steps = explained(question, a, b, as_of).steps
    return next((step.text for step in steps if step.kind == FORECAST), "")


def _explanation(question: Question, revision: int, a: str, b: str, as_of: int | None) -> Explanation:
    facts = gather(question, a, b, as_of)
    return Explanation(
        question,
        revision,
        taken(Ranked, facts.a),
        taken(Ranked, facts.b),
        facts.contrast,
        tuple(
            replace(step, evidence=tuple(replace(reference, url=_url(reference)) for reference in step.evidence))
            for step in explain(facts)
        ),
    )


def _url(reference: Reference) -> str:
    """Return the address of the page of a reference."""
    names = {
        "case study": "case-study-detail",
        "claims": "claims-of-paper",
        "workload": "workload-detail",
        "file system": "file-system-detail",
    }
    address = reverse(names[reference.kind], args=[reference.key])
    return f"{address}#{kdb_format.anchor(reference.anchor)}" if reference.anchor else address
