"""Read the evidence for a question from the database and rank it under the assumptions of the settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.models import KnowledgeRevision
from kdb.cost import budget
from kdb.units import METRICS, THROUGHPUT
from modelling.estimation.arms import comparable_arms
from modelling.estimation.ranking import Ranking, rank
from modelling.estimation.value import Components, RunSet, run_sets
from modelling.evidence import counts, dataframes, names
from modelling.evidence.axes import AXES, RUNTIME, Axis, entry_parts
from modelling.evidence.dataframes import Evidence
from modelling.evidence.families import may_be_offered
from modelling.evidence.question import Question
from modelling.evidence.requirements import lacking
from modelling.guidance.content import AdviceSummary
from modelling.guidance.selectors import find_advice

from .content import TradeOff
from .knowledge import assumptions, knowledge_of, where_of
from .nearest import Nearby, nearby
from .trade_off import weigh_trade_offs

REPETITIONS = 2  # repetitions of each entry in proposed runs, the fewest that show a spread


@dataclass(frozen=True)
class Estimate:
    """All numbers of an answer, before it is put into words.

    measured : metric, unit and case study of all measurements
    others : each metric except the ranking's, to its comparable arms
    run_sets : runs that a reader could make, with what the choice gains by them
    anecdotes : of _comparable_anecdotes
    is_ranked : whether an entry that can be chosen today was compared
    nearby : expectations from other workloads, where none was
    advised : makers' advice on the ranked entries, else on all that may be chosen
    """

    question: Question
    ranking: Ranking
    measured: Sequence[tuple[str, str, str]]
    others: Mapping[str, pd.DataFrame]
    run_sets: Sequence[RunSet]
    trade_offs: tuple[TradeOff, ...]
    anecdotes: pd.DataFrame
    is_ranked: bool
    nearby: Nearby | None
    advised: AdviceSummary


def estimate(question: Question, as_of: int | None = None, *, with_draft: int | None = None) -> Estimate:
    """Compute all numbers of the answer to the question. as_of, with_draft : as for ranking_of"""
    evidence = Evidence(question, with_draft, as_of)
    ranking = _rank(evidence)
    measured = evidence.metrics_measured()
    others = _other_arms(evidence, ranking, measured)
    is_ranked = any(may_be_offered(entry.key) for part in ranking.parts for entry in part.entries)
    near = None if is_ranked else nearby(question, as_of, with_draft=with_draft)
    return Estimate(
        question=question,
        ranking=ranking,
        measured=measured,
        others=others,
        run_sets=run_sets_among(ranking, AXES[question.axis]),
        trade_offs=weigh_trade_offs(ranking, others, AXES[question.axis], assumptions()),
        anecdotes=_comparable_anecdotes(evidence, ranking),
        nearby=near,
        is_ranked=is_ranked,
        advised=_find_advice(question, ranking if is_ranked else None, near),
    )


def _find_advice(question: Question, ranking: Ranking | None, near: Nearby | None) -> AdviceSummary:
    parts = ranking.parts if ranking else ()
    ranked = [entry.key for part in parts for entry in part.entries if entry.may_be_recommended]
    keys = ranked or ([option.key for option in near.options] if near else [])
    return advised_on(question, keys, is_all=bool(ranked))


def advised_on(question: Question, keys: Sequence[str], *, is_all: bool = True) -> AdviceSummary:
    """Return makers' advice on these entries under the question's filters. is_all : as for find_advice"""
    named = ("workload", "hypervisor", "host_storage", "storage")
    filters = {name: str(getattr(question, name) or "") for name in named}
    return find_advice(question.axis, keys, is_all=is_all, **filters, guest_os=question.guest_os_family or "")


def ranking_of(question: Question, as_of: int | None = None, *, with_draft: int | None = None) -> Ranking:
    """Return the ranking with its networks.

    as_of : use the evidence of this knowledge revision in place of the current one
    with_draft : key of a case study to count as if it were published
    Without a metric in the question, ranks by throughput, or by the first other metric that compares anything.
    """
    return _rank(Evidence(question, with_draft, as_of))


def _rank(evidence: Evidence) -> Ranking:
    names.read_again_after(counts.revision())  # the answer is stored with its labels
    ranking = _rank_by_metric(evidence, evidence.question.metric or THROUGHPUT)
    if evidence.question.metric or ranking.parts:
        return ranking
    measured = {metric for metric, *_ in evidence.metrics_measured()}
    for metric in METRICS:
        if metric in measured and metric != ranking.metric:
            other = _rank_by_metric(evidence, metric)
            if other.parts:
                return other
    return ranking


def _other_arms(
    evidence: Evidence, ranking: Ranking, measured: Iterable[tuple[str, str, str]]
) -> dict[str, pd.DataFrame]:
    """Return each metric except the ranking's with its comparable arms. measured : as in Estimate"""
    others = {metric for metric, *_ in measured} - {ranking.metric}
    axis = AXES[evidence.question.axis]
    return {
        metric: comparable_arms(evidence.arms(metric, as_reported=True), axis, assumptions().spread)
        for metric in METRICS
        if metric in others
    }


def _comparable_anecdotes(evidence: Evidence, ranking: Ranking) -> pd.DataFrame:
    """Return comparable arms below the protocol's minimum, with all arms of their fair-play groups.

    In the metric of the question or ranking; without either, in the first that has some.
    """
    question, comparable = evidence.question, ranking.arms.iloc[:0]
    metrics = evidence.metrics_of_anecdotes()
    first = question.metric or ranking.metric
    others = [] if question.metric or ranking.parts else [metric for metric in metrics if metric != first]
    for metric in (first, *others) if metrics else ():
        arms = evidence.arms(metric, with_anecdotes=True)
        of_studies = arms[arms["case_study"].isin(arms["case_study"][arms[dataframes.ANECDOTE]])]
        comparable = comparable_arms(of_studies, AXES[question.axis], assumptions().spread)
        groups = comparable["fair_play_group"]
        comparable = comparable[groups.isin(groups[comparable[dataframes.ANECDOTE]])]
        if len(comparable):
            break
    return comparable


def _rank_by_metric(evidence: Evidence, metric: str) -> Ranking:
    arms, findings = evidence.arms(metric), evidence.findings(metric)
    return rank_evidence(evidence.question, metric, arms, findings, evidence.as_of, evidence.with_draft)


def rank_evidence(
    question: Question,
    metric: str,
    arms: pd.DataFrame,
    findings: pd.DataFrame,
    as_of: int | None = None,
    with_draft: int | None = None,
) -> Ranking:
    """Rank by this evidence and, for metrics of speed, by that of other workloads on the same choices.

    arms, findings : all that the question admits in the metric; as_of, with_draft : as for ranking_of
    """
    published = KnowledgeRevision.objects.all()
    if as_of is not None:
        published = published.filter(number__lte=as_of)
    newest = published.order_by("-number").values_list("created_at__year", flat=True).first()
    budget.check(ahead=0.1)
    return rank(
        arms,
        findings,
        AXES[question.axis],
        assumptions(),
        knowledge=knowledge_of(question, metric, as_of, with_draft=with_draft) if len(arms) or len(findings) else None,
        where=where_of(question),
        storage_asked="storage" in question.filters,
        this_year=newest,  # of the newest revision, as a stored answer must not change with the calendar
        lacking=lacking(question, names.names()["volume"]),
    )


def run_sets_among(ranking: Ranking, axis: Axis) -> list[RunSet]:
    """Return the sets of runs that a reader could make of the entries that may be recommended, of all parts."""
    entries = on_one_machine(ranking, axis)
    if len(entries) < 2:
        return []
    assert ranking.posterior is not None
    places = np.array([ranking.posterior.treatments.index(key) for key in entries])
    grid = {key: tuple(entry_parts(axis, key).values()) for key in entries} if axis.name == "fs-pair" else None
    known = Components.from_posterior(ranking.posterior.select(places))
    return run_sets(entries, known, assumptions().spread.variation ** 2, REPETITIONS, grid)


def on_one_machine(ranking: Ranking, axis: Axis) -> list[str]:
    """Return the keys of entries that a reader could measure side by side and choose from.

    Where the axis holds the hypervisor, those that exist under one of the first part's: VMFS cannot be used with KVM.
    """
    entries = [entry.key for part in ranking.parts for entry in part.entries if entry.may_be_recommended]
    if not ranking.parts or not {"hypervisor", RUNTIME} & {*axis.held}:
        return entries
    columns = ["entry", "hypervisor"]
    seen = pd.concat([rows[columns] for rows in (ranking.arms, ranking.findings) if len(rows)])
    first = seen["hypervisor"][seen["entry"].isin(ranking.parts[0].members)]
    under_first = set(seen["entry"][seen["hypervisor"].isin(first.unique())])
    return [key for key in entries if key in under_first]
