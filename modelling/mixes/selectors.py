"""The answer under a mix of workloads, as pages and the API ask for it."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kdb.units import METRICS, THROUGHPUT
from modelling.answers.selectors import answer_at, answer_in, assumptions, ranking_of
from modelling.estimation.mixes import Mix, mix
from modelling.estimation.ranking import METHOD, Ranking
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question
from modelling.explanations.selectors import forecast_between

from .answer import answer
from .content import MixAnswer, Share


def mixed(question: Question, weights: Mapping[str, float], as_of: int | None = None) -> MixAnswer:
    """The answer to the question under a mix of workloads (its own does not matter), now or as of a revision.

    Kept in memory for as long as the knowledge revision stands.
    """
    total = sum(weights.values())
    shares = {workload: weight / total for workload, weight in weights.items() if weight > 0}
    asked = ",".join(f"{workload}:{share!r}" for workload, share in sorted(shares.items()))
    digest = hashlib.sha256(f"{question.key}|{asked}".encode()).hexdigest()
    revision = as_of or counts.revision()
    key = f"modelling.mixed:{METHOD}:{revision}:{as_of is None}:{digest}"
    return remembered(key, partial(_work_out, question, shares, revision, as_of))


def _work_out(question: Question, shares: Mapping[str, float], revision: int, as_of: int | None) -> MixAnswer:
    by, rankings, found = _in_one_metric(question, shares, as_of)
    known = tuple(_share(by, workload, share, rankings, as_of) for workload, share in shares.items())
    return answer(by, shares, found, rankings, known, revision)


def _in_one_metric(
    question: Question, shares: Mapping[str, float], as_of: int | None
) -> tuple[Question, dict[str, Ranking], Mix]:
    """Shares in different metrics are not added up: by the one that is asked for, else by the first, throughput before
    others, in which anything is ranked; with the question as it was asked then."""
    tried = []
    for metric in [question.metric] if question.metric else METRICS:
        by = replace(question, workload="", metric=metric)
        rankings = {workload: ranking_of(replace(by, workload=workload), as_of) for workload in shares}
        tried.append((by, rankings, mix(rankings, shares, assumptions().margin)))
        if tried[-1][-1].entries:
            return tried[-1]
    return tried[0]


def _share(
    question: Question, workload: str, share: float, rankings: Mapping[str, Ranking], as_of: int | None
) -> Share:
    alone = replace(question, workload=workload)
    has_numbers = any(part.networks for part in rankings[workload].parts)
    own = answer_in(answer_at(replace(alone, metric=None if question.metric == THROUGHPUT else question.metric), as_of))
    forecast = ""
    if not has_numbers:
        ranked = [[entry.key for part in each.parts for entry in part.entries] for each in rankings.values()]
        first, second, *_ = [*(entry.key for entry in own.entries), *max(ranked, key=len), None, None]
        if first and second:
            said = forecast_between(alone, first, second, as_of)
            labels = [names.label(AXES[question.axis], key) for key in (first, second)]
            forecast = said and f"{' against '.join(labels)}: {said}"
    return Share(workload, share, has_numbers, own.verdict, forecast)
