"""Ask every question of the published evidence, for the rules of coherence."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import pandas as pd

from kdb.disk_path import SETTINGS
from kdb.units import METRICS, THROUGHPUT
from modelling.answers import decision
from modelling.answers.estimate import rank_evidence, ranking_of
from modelling.answers.knowledge import assumptions
from modelling.estimation.ranking import Ranking
from modelling.evidence import choices, dataframes
from modelling.evidence.axes import AXES, NATIVE
from modelling.evidence.question import GRADES, PAPERS, Question

from .rules import PartStatements, Statements

_OF_ARMS = (
    *("hypervisor", "guest_fs", "host_fs", "host_storage", "vm_count", "storage", "benchmark", "guest_os_family"),
    *SETTINGS,
)


class _Evidence(NamedTuple):
    """The evidence that a question admits. digest : equal where the evidence is"""

    digest: str
    arms: pd.DataFrame
    findings: pd.DataFrame


def published_questions() -> Iterator[tuple[Question, list[Question]]]:
    """Yield each question without a filter by which the published evidence compares something, with those that it
    becomes by one filter. Native runs are other evidence, so they are no part of it."""
    arms = dataframes.every_arm()
    values = {name: sorted(arms[name].dropna().unique().tolist()) for name in _OF_ARMS}
    values |= {"metric": list(METRICS), "grade": list(GRADES), "evidence": [PAPERS]}
    for workload in sorted(arms["workload"].unique()):
        axes = choices.count_evidence({"axis": list(AXES)}, {"workload": workload}).case_studies["axis"]
        for axis in filter(axes.get, AXES):
            left_open = {name: values[name] for name in values if name not in AXES[axis].entry}
            behind = choices.count_evidence(left_open, {"axis": axis, "workload": workload}).case_studies
            first = Question(axis, workload)
            narrowed = [
                replace(first, **{name: value})
                for name, counted in behind.items()
                for value, case_studies in counted.items()
                if case_studies and value not in ("", NATIVE)
            ]
            yield first, narrowed


def answer_questions() -> list[Statements]:
    """Answer every question. Of those of one axis and workload that admit the same evidence the first is asked: only a
    kind of storage that is named makes another answer of it."""
    evidence = cache(_evidence)
    answers: list[Statements] = []
    for first, narrowed in published_questions():
        ranking = ranking_of(first)
        answers.append(_statements(first, ranking))
        compared_in = replace(first, metric=ranking.metric)
        known = {(evidence(_of_any_axis(compared_in)).digest, False)}
        for question in narrowed:
            asked = replace(question, metric=question.metric or ranking.metric)
            admitted = evidence(_of_any_axis(asked))
            if (admitted.digest, question.storage is not None) not in known:
                known.add((admitted.digest, question.storage is not None))
                answers.append(_statements(question, _ranked(question, asked, admitted)))
    return answers


def _ranked(question: Question, asked: Question, admitted: _Evidence) -> Ranking:
    """Rank as ranking_of does, by what was read already where that is what it would read.

    asked : the question with the metric that `admitted` is of
    """
    if question.metric or asked.metric == THROUGHPUT:
        ranking = rank_evidence(question, asked.metric or THROUGHPUT, admitted.arms, admitted.findings)
        if question.metric or ranking.parts:
            return ranking
    return ranking_of(question)


def _of_any_axis(question: Question) -> Question:
    return replace(question, axis=next(iter(AXES)))


def _evidence(question: Question) -> _Evidence:
    arms, findings = dataframes.arms(question), dataframes.findings(question)
    rows = pd.util.hash_pandas_object(arms, index=False).to_numpy().tobytes()
    return _Evidence(hashlib.sha256(rows + repr(findings["pk"].tolist()).encode()).hexdigest(), arms, findings)


def _statements(question: Question, ranking: Ranking) -> Statements:
    """Decide as an answer does; entries and parts keep their keys, because rules read no sentences."""
    margin = assumptions().margin
    verdicts = [decision.decide_part(part, str, margin) for part in ranking.parts]
    names = [str(part.number) for part in ranking.parts]
    measured = ranking.arms[["entry", "research_group"]].drop_duplicates()
    return Statements(
        question=question,
        metric=ranking.metric,
        verdict=decision.decide_answer(ranking, verdicts, names, str, margin)
        if verdicts
        else decision.decide_without_evidence(None, str, margin, ()),
        parts=tuple(
            PartStatements(
                verdict,
                part.entries,
                groups=measured["research_group"][measured["entry"].isin(part.members)].nunique(),
            )
            for part, verdict in zip(ranking.parts, verdicts, strict=True)
        ),
    )
