"""Entries side by side, as pages and the API ask for them."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from modelling.answers.content import Answer
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question
from modelling.here.selectors import Here, answer_here
from modelling.kept_answers.aged import concerning
from modelling.kept_answers.pins import COMBINED, Given, asked, given, room_for
from modelling.kept_answers.selectors import answer_at
from modelling.models import Laboratory

from .comparison import compare_and_answer
from .content import Comparison, WorkloadRatio
from .over_workloads import ratios


def _compared(question: Question, keys: Sequence[str], as_of: int | None = None) -> tuple[Comparison, Answer]:
    """Compare two to six entries side by side, with the answer told of them. Kept in memory as an explanation is."""
    snapshot = answer_at(question, as_of)
    entries = hashlib.sha256(",".join(keys).encode()).hexdigest()
    revision = as_of or counts.revision()
    key = f"modelling.comparison_and_answer:{snapshot.digest}:{revision}:{entries}"
    return remembered(key, lambda: compare_and_answer(question, keys, revision, as_of))


def comparison_given(
    question: Question, keys: Sequence[str], as_of: int | None, method: int | None, user: Any
) -> Given:
    """Return the comparison as its address has it, pinned where that is permanent; see modelling.kept_answers.pins.

    That of now comes with the changes of its entries since they were measured."""
    told = given(
        asked("comparison", f"{question.key}|{','.join(keys)}"),
        as_of,
        method,
        room_for(user, COMBINED),
        work_out=lambda: asdict(_compared(question, keys, as_of)[0]),
        is_worth=lambda result: any(pair["ratio"] is not None for pair in result["pairs"]),
    )
    if as_of is not None:
        return told
    studies = {slug for entry in told.result["entries"] for slug in entry["case_studies"]}
    return replace(told, changes=concerning(question, keys, studies))


def compared_here(question: Question, keys: Sequence[str], laboratory: Laboratory) -> Here | None:
    """Return how entries stand on the machine of a laboratory, beside the one to use there; see answer_here."""
    here = answer_here(question, laboratory)
    if here is None:
        return None
    first, *others = here.entries
    return replace(here, entries=(first, *(entry for entry in others if entry.key in keys)))


def answer_of_compared_entries(question: Question, keys: Sequence[str], as_of: int | None = None) -> Answer:
    """Return the answer told of these entries alone."""
    return _compared(question, keys, as_of)[1]


def over_workloads(question: Question, keys: Sequence[str], as_of: int | None = None) -> tuple[WorkloadRatio, ...]:
    """Return what is known of the first entry against each other under every workload. Kept alike."""
    asked = hashlib.sha256(f"{question.key}|{','.join(keys)}".encode()).hexdigest()
    key = f"modelling.over_workloads:{METHOD}:{as_of or counts.revision()}:{as_of is None}:{asked}"
    return remembered(key, lambda: tuple(ratios(question, keys, as_of)))
