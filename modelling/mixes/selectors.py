"""The answer under a mix of workloads, as pages and the API ask for it."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from kdb.units import METRICS, THROUGHPUT
from modelling.answers.estimate import assumptions, ranking_of
from modelling.estimation.mixes import Mix, mix
from modelling.estimation.ranking import METHOD, Ranking
from modelling.evidence import counts, frames, names
from modelling.evidence.axes import AXES
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question
from modelling.explanations.selectors import forecast_between
from modelling.kept_answers.pins import COMBINED, Given, asked, given, room_for
from modelling.kept_answers.selectors import answer_at, answer_in

from .answer import answer
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
    """Return the mix as its address has it, pinned where that is permanent; see modelling.kept_answers.pins."""
    return given(
        asked("mix", _key(question, _shares(weights))),
        as_of,
        method,
        room_for(user, COMBINED),
        work_out=lambda: asdict(mixed(question, weights, as_of)),
        is_worth=lambda result: bool(result["entries"]),
    )


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
    measured = (frames.metrics_measured(replace(question, workload=workload), as_of=as_of) for workload in shares)
    return set.intersection(*({metric for metric, *_ in rows} for rows in measured))


def _by_metric(
    question: Question, shares: Mapping[str, float], as_of: int | None
) -> tuple[Question, dict[str, Ranking], Mix]:
    rankings = {workload: _ranking(replace(question, workload=workload), as_of) for workload in shares}
    return question, rankings, mix(rankings, shares, assumptions().margin, assumptions().differ)


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
    own = answer_in(answer_at(replace(alone, metric=None if question.metric == THROUGHPUT else question.metric), as_of))
    forecast = ""
    if not has_numbers:
        ranked = [[entry.key for part in ranking.parts for entry in part.entries] for ranking in rankings.values()]
        first, second, *_ = [*(entry.key for entry in own.entries), *max(ranked, key=len), None, None]
        if first and second:
            sentence = forecast_between(alone, first, second, as_of)
            labels = [names.label(AXES[question.axis], key) for key in (first, second)]
            forecast = sentence and f"{' against '.join(labels)}: {sentence}"
    return Share(workload, share, has_numbers, own.verdict, forecast)
