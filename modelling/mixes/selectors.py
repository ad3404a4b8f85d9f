"""The answer under a mix of workloads, as pages and the API ask for it."""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from kdb.units import METRICS, THROUGHPUT
from modelling.answers.estimate import ranking_of
from modelling.answers.knowledge import assumptions, knowledge_of, where_of
from modelling.estimation.mixes import Mix, joint_posterior, mix
from modelling.estimation.ranking import METHOD, Ranking, alone
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.frames import Evidence
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question
from modelling.explanations.selectors import forecast_between
from modelling.kept_answers.aged import Aged, changes_since, may_have_aged, weaken
from modelling.kept_answers.pins import COMBINED, Given, asked, given, room_for
from modelling.kept_answers.selectors import answer_at, answer_in, answers_or_none

from .answer import answer, of_shares
from .content import MixAnswer, Share


def mixed(question: Question, weights: Mapping[str, float], as_of: int | None = None) -> MixAnswer:
    """Return the answer to the question under a mix of workloads (its own does not matter), now or as of a revision.

    Kept in memory for as long as the knowledge revision stands.
    """
    shares = _shares(weights)
    digest = hashlib.sha256(_key(question, shares).encode()).hexdigest()
    revision = as_of or counts.revision()
    key = f"modelling.mixed:{METHOD}:{revision}:{as_of is None}:{digest}"
    return remembered(key, partial(_work_out, question, shares, revision, as_of))


def mix_given(
    question: Question, weights: Mapping[str, float], as_of: int | None, method: int | None, user: Any
) -> Given:
    """Return the mix as its address has it, pinned where that is permanent; see modelling.kept_answers.pins.

    That of now is weaker where its evidence aged.
    """
    told = given(
        asked("mix", _key(question, _shares(weights))),
        as_of,
        method,
        room_for(user, COMBINED),
        work_out=lambda: asdict(mixed(question, weights, as_of)),
        is_worth=lambda result: bool(result["entries"]),
    )
    return told if as_of is not None else _with_age(question, told)


def _with_age(question: Question, told: Given) -> Given:
    """Return the mix of now: a share is as weak as the answer on it alone, and the mix a step weaker where one of its
    entries changed under a share that has numbers.

    Two queries where something may have aged and the answers are kept, else none.
    """
    by = replace(question, metric=told.result["question"]["metric"])
    alone = {workload: _alone(by, workload) for workload in told.result["weights"]}
    concerned = [own for own in alone.values() if may_have_aged(own)]
    changes = changes_since(answers_or_none(concerned)) if concerned else {}
    if not any(changes.values()):
        return told
    result = copy.deepcopy(told.result)
    keys = [entry["key"] for entry in result["entries"]]
    of_mix: dict[str, list[Aged]] = {}
    for share in result["shares"]:
        own = alone[share["workload"]]
        own_changes = changes.get(own, ())
        if own_changes:
            weaken(share["verdict"], [aged.sentence for aged in own_changes])
        of_mix[own.workload] = [aged for aged in own_changes if share["has_numbers"] and aged.is_of(own, keys)]
    if any(of_mix.values()):
        weaken(result["verdict"], of_shares({name: [aged.sentence for aged in of_mix[name]] for name in of_mix}))
    return replace(
        told, result=result, changes=tuple(aged for share_changes in of_mix.values() for aged in share_changes)
    )


def _alone(by: Question, workload: str) -> Question:
    """Return the question on one workload alone. by : names the metric of the mix"""
    return replace(by, workload=workload, metric=None if by.metric == THROUGHPUT else by.metric)


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {workload: weight / total for workload, weight in weights.items() if weight > 0}


def _key(question: Question, shares: Mapping[str, float]) -> str:
    """Return all that the answer depends on, whatever workload the question has."""
    mix = ",".join(f"{workload}:{share!r}" for workload, share in sorted(shares.items()))
    return f"{question.key}|{mix}"


def _work_out(question: Question, shares: Mapping[str, float], revision: int, as_of: int | None) -> MixAnswer:
    by, rankings, mix = _in_one_metric(question, shares, as_of)
    known = tuple(_share(by, workload, share, rankings, as_of) for workload, share in shares.items())
    return answer(by, shares, mix, rankings, known, revision)


def _in_one_metric(
    question: Question, shares: Mapping[str, float], as_of: int | None
) -> tuple[Question, dict[str, Ranking], Mix]:
    """Rank in one metric, for shares in several are not added up: the one that is asked for, else the first, throughput
    before others, in which anything is ranked; with the question as it was asked then."""
    by = replace(question, workload="")
    if question.metric:
        return _by_metric(by, shares, as_of)
    common = _common_metrics(by, shares, as_of)
    for metric in filter(common.__contains__, METRICS):
        ranked = _by_metric(replace(by, metric=metric), shares, as_of)
        if ranked[-1].entries:
            return ranked
    return _by_metric(replace(by, metric=THROUGHPUT), shares, as_of)


def _common_metrics(question: Question, shares: Mapping[str, float], as_of: int | None) -> set[str]:
    """Return the metrics in which each of the workloads was measured. To count is cheap; to rank is not."""
    evidence = (Evidence(replace(question, workload=workload), as_of=as_of) for workload in shares)
    return set.intersection(*({metric for metric, *_ in admitted.metrics_measured()} for admitted in evidence))


def _by_metric(
    question: Question, shares: Mapping[str, float], as_of: int | None
) -> tuple[Question, dict[str, Ranking], Mix]:
    rankings = {workload: _ranking(replace(question, workload=workload), as_of) for workload in shares}
    axis, taken = AXES[question.axis], assumptions()
    evidence = {name: (own.arms, own.findings) for name, own in rankings.items()}
    known = knowledge_of(question, question.metric or THROUGHPUT, as_of) or alone(evidence, axis, taken)
    where = {workload: where_of(replace(question, workload=workload)) for workload in shares}
    return (
        question,
        rankings,
        mix(rankings, shares, joint_posterior(known, axis, shares, where), taken.margin, taken.differ),
    )


def _ranking(question: Question, as_of: int | None) -> Ranking:
    """Return the ranking under one workload, kept: it does not depend on the weights."""
    digest = hashlib.sha256(question.key.encode()).hexdigest()
    key = f"modelling.mixed.ranking:{METHOD}:{as_of or counts.revision()}:{as_of is None}:{digest}"
    return remembered(key, partial(ranking_of, question, as_of), cache="rankings")


def _share(
    question: Question, workload: str, share: float, rankings: Mapping[str, Ranking], as_of: int | None
) -> Share:
    alone = replace(question, workload=workload)
    has_numbers = any(part.networks for part in rankings[workload].parts)
    own = answer_in(answer_at(_alone(question, workload), as_of))
    forecast = ""
    if not has_numbers:
        ranked = [[entry.key for part in ranking.parts for entry in part.entries] for ranking in rankings.values()]
        first, second, *_ = [*(entry.key for entry in own.entries), *max(ranked, key=len), None, None]
        if first and second:
            sentence = forecast_between(alone, first, second, as_of)
            labels = [names.label(AXES[question.axis], key) for key in (first, second)]
            forecast = sentence and f"{' against '.join(labels)}: {sentence}"
    return Share(workload, share, has_numbers, own.verdict, forecast)
