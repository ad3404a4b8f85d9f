"""Finds what to look at where no numbers compare two entries: the nearest that they do, and answers that hold each."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from modelling.answers.estimate import ranking_of
from modelling.answers.words import address, title
from modelling.estimation.ranking import Ranking
from modelling.evidence import names
from modelling.evidence.axes import AXES, Axis, entry_parts
from modelling.evidence.question import Question
from modelling.evidence.words import listed
from modelling.explanations.selectors import contrast_between, shared_part
from modelling.kept_answers.selectors import answer_at, answer_in

from .content import Instead, Offer
from .words import address_of

MOST_WORKLOADS = 8  # workloads whose answers are searched for an entry


def instead(question: Question, a: str, b: str, as_of: int | None = None) -> Instead:
    """Return the links for two entries of the question's axis that none of its numbers join."""
    return Instead(tuple(_comparisons(question, a, b, as_of)), tuple(dict.fromkeys(_answers(question, a, b, as_of))))


def _comparisons(question: Question, a: str, b: str, as_of: int | None) -> Iterator[Offer]:
    """Yield the two themselves with one filter fewer, if that joins them; else each with what is like the other."""
    then = {} if as_of is None else {"as_of": as_of}
    for wider in _wider(question):
        if contrast_between(shared_part(ranking_of(wider, as_of), a, b), a, b) is not None:
            yield Offer(_comparison_name(wider, a, b), address_of(wider, (a, b), **then))
            return
    ranking = ranking_of(question, as_of)
    offered: set[frozenset[str]] = set()
    for key, other in ((a, b), (b, a)):
        nearest = _nearest(AXES[question.axis], ranking, key, other)
        if nearest and frozenset((key, nearest)) not in offered:
            offered.add(frozenset((key, nearest)))
            yield Offer(_comparison_name(question, key, nearest), address_of(question, (key, nearest), **then))


def _wider(question: Question) -> list[Question]:
    unset: list[dict[str, Any]] = [{name: None} for name in question.filters if name != "metric"]
    return [replace(question, **without) for without in unset]


def _nearest(axis: Axis, ranking: Ranking, key: str, other: str) -> str | None:
    """Return the best entry, of those that numbers compare with `key`, that have most in common with `other`."""
    wanted = entry_parts(axis, other).items()
    joined = [
        entry
        for part in ranking.parts
        if key in part.members
        for entry in part.entries
        if entry.key != key and part.has_numbers_between(key, entry.key)
    ]
    joined.sort(key=lambda entry: (-len(wanted & entry_parts(axis, entry.key).items()), entry.rank))
    return joined[0].key if joined else None


def _comparison_name(question: Question, a: str, b: str) -> str:
    """Name a comparison: "KVM against Xen: File server by hypervisor"."""
    axis = AXES[question.axis]
    return f"{names.label(axis, a)} against {names.label(axis, b)}: {title(question, names.names())}"


def _answers(question: Question, a: str, b: str, as_of: int | None) -> Iterator[Offer]:
    """Yield for each the first answer that ranks it: to the question, with fewer filters, then on other workloads."""
    workloads = [slug for slug in names.names()["workload"] if slug != question.workload][:MOST_WORKLOADS]
    near = [question, *_wider(question), *(Question(question.axis, slug) for slug in workloads)]
    holding: dict[Question, list[str]] = {}
    for key in (a, b):
        first = next((q for q in near if any(e.key == key for e in answer_in(answer_at(q, as_of)).entries)), None)
        if first:
            holding.setdefault(first, []).append(names.label(AXES[question.axis], key))
    for other, labels in holding.items():
        verb = "is" if len(labels) == 1 else "are"
        sentence = f"{listed(labels)} {verb} ranked in “{title(other, names.names())}”"
        yield Offer(sentence, address(other, as_of))
