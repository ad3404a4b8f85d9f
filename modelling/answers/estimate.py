"""Estimate the answer to a question: evidence from the database, ranked under the settings' assumptions."""

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
from modelling.evidence import dataframes, names
from modelling.evidence.axes import AXES, Axis, entry_parts
from modelling.evidence.dataframes import Evidence
from modelling.evidence.families import may_be_offered
from modelling.evidence.question import Question
from modelling.evidence.requirements import lacking
from modelling.guidance.content import Advised
from modelling.guidance.selectors import advised

from .content import TradeOff
from .knowledge import assumptions, knowledge_of, where_of
from .nearest import Nearby, nearby
from .trade_off import weigh_trade_offs

MOST_COUNTS = 6  # numbers of machines that are looked at one by one
REPETITIONS = 2  # of each entry that is still to be measured: the fewest that show how far runs differ


@dataclass(frozen=True)
class Estimate:
    """All that is computed for a question before anything is said of it.

    measured : metric, unit and case study of what was measured
    others : each metric but the ranking's, to the arms that may be compared in it
    best_by_machines : number of machines to the entries that come first by its arms alone, if the answer leaves it open
    run_sets : what a reader could measure on a machine, with what the choice gains by it
    anecdotes : of _comparable_anecdotes
    is_ranked : whether something was compared that somebody can choose
    nearby : what other workloads say, where nothing was
    advised : what makers advise on the entries, or where nothing was compared on all that somebody may choose
    """

    question: Question
    ranking: Ranking
    measured: Sequence[tuple[str, str, str]]
    others: Mapping[str, pd.DataFrame]
    best_by_machines: Mapping[int, tuple[str, ...]]
    run_sets: Sequence[RunSet]
    trade_offs: tuple[TradeOff, ...]
    anecdotes: pd.DataFrame
    is_ranked: bool
    nearby: Nearby | None
    advised: Advised


def estimate(question: Question, as_of: int | None = None, *, with_draft: int | None = None) -> Estimate:
    """Compute all that the answer to the question says. as_of, with_draft : as for ranking_of"""
    evidence = Evidence(question, with_draft, as_of)
    ranking = _ranking(evidence)
    measured = evidence.metrics_measured()
    others = _other_arms(evidence, ranking, measured)
    is_ranked = any(may_be_offered(entry.key) for part in ranking.parts for entry in part.entries)
    near = None if is_ranked else nearby(question, as_of, with_draft=with_draft)
    return Estimate(
        question=question,
        ranking=ranking,
        measured=measured,
        others=others,
        best_by_machines=_best_by_machines(question, ranking),
        run_sets=run_sets_among(ranking, AXES[question.axis]),
        trade_offs=weigh_trade_offs(ranking, others, AXES[question.axis], assumptions()),
        anecdotes=_comparable_anecdotes(evidence, ranking),
        nearby=near,
        is_ranked=is_ranked,
        advised=_advised(question, ranking if is_ranked else None, near),
    )


def _advised(question: Question, ranking: Ranking | None, near: Nearby | None) -> Advised:
    parts = ranking.parts if ranking else ()
    ranked = [entry.key for part in parts for entry in part.entries if entry.may_be_recommended]
    keys = ranked or ([option.key for option in near.options] if near else [])
    return advised_on(question, keys, is_all=bool(ranked))


def advised_on(question: Question, keys: Sequence[str], *, is_all: bool = True) -> Advised:
    """Return what makers advise on these entries, where the question asks. is_all : as for advised"""
    asked = {name: str(getattr(question, name) or "") for name in ("workload", "hypervisor", "host_storage", "storage")}
    return advised(question.axis, keys, is_all=is_all, **asked, guest_os=question.guest_os_family or "")


def ranking_of(question: Question, as_of: int | None = None, *, with_draft: int | None = None) -> Ranking:
    """Return the ranking with its networks.

    as_of : what counted at this knowledge revision, in place of what counts now
    with_draft : a case study that counts as if it were published
    By throughput where the question names no metric, else by the first other metric that compares anything.
    """
    return _ranking(Evidence(question, with_draft, as_of))


def _ranking(evidence: Evidence) -> Ranking:
    names.clear_cache()  # the answer is stored with its labels, so read the names that are public now
    asked = evidence.question.metric
    ranking = _in_one_metric(evidence, asked or THROUGHPUT)
    if asked or ranking.parts:
        return ranking
    measured = {metric for metric, *_ in evidence.metrics_measured()}
    for metric in METRICS:
        if metric in measured and metric != ranking.metric:
            other = _in_one_metric(evidence, metric)
            if other.parts:
                return other
    return ranking


def _other_arms(
    evidence: Evidence, ranking: Ranking, measured: Iterable[tuple[str, str, str]]
) -> dict[str, pd.DataFrame]:
    """Return each metric except the ranking's with the arms that may be compared in it.

    measured : of the evidence
    """
    others = {metric for metric, *_ in measured} - {ranking.metric}
    axis = AXES[evidence.question.axis]
    return {
        metric: comparable_arms(evidence.arms(metric, as_reported=True), axis, assumptions().spread)
        for metric in METRICS
        if metric in others
    }


def _comparable_anecdotes(evidence: Evidence, ranking: Ranking) -> pd.DataFrame:
    """Return the arms below the minimum that may be compared, with those beside them.

    By the metric of the ranking; without ranking and metric, by the first that has some.
    """
    question, beside = evidence.question, ranking.arms.iloc[:0]
    metrics = evidence.metrics_of_anecdotes()
    first = question.metric or ranking.metric
    others = [] if question.metric or ranking.parts else [metric for metric in metrics if metric != first]
    for metric in (first, *others) if metrics else ():
        arms = evidence.arms(metric, with_anecdotes=True)
        beside = arms[arms["case_study"].isin(arms["case_study"][arms[dataframes.ANECDOTE]])]
        beside = comparable_arms(beside, AXES[question.axis], assumptions().spread)
        beside = beside[beside["fair_play_group"].isin(beside["fair_play_group"][beside[dataframes.ANECDOTE]])]
        if len(beside):
            break
    return beside


def _in_one_metric(evidence: Evidence, metric: str) -> Ranking:
    arms, findings = evidence.arms(metric), evidence.findings(metric)
    return ranked(evidence.question, metric, arms, findings, evidence.as_of, evidence.with_draft)


def ranked(
    question: Question,
    metric: str,
    arms: pd.DataFrame,
    findings: pd.DataFrame,
    as_of: int | None = None,
    with_draft: int | None = None,
) -> Ranking:
    """Rank by this evidence, which is all that the question admits in one metric, and by what other workloads say of
    the same choices, where it is of speed. as_of, with_draft : as for ranking_of"""
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
        this_year=newest,  # of the knowledge: a kept answer does not change with the calendar
        lacking=lacking(question),
    )


def _best_by_machines(question: Question, ranking: Ranking) -> dict[int, tuple[str, ...]]:
    counts = sorted({int(count) for count in ranking.arms["vm_count"].unique()})
    if question.vm_count is not None or not 1 < len(counts) <= MOST_COUNTS or len(ranking.parts) != 1:
        return {}
    best = {}
    for count in counts:
        budget.check(ahead=0.05)
        arms = ranking.arms[ranking.arms["vm_count"] == count]
        without = ranking.findings.iloc[:0]
        alone = rank(
            arms,
            without,
            AXES[question.axis],
            assumptions(),
            where=ranking.where,
            lacking=lacking(question),
            only_whole=True,
        )
        if alone.parts:
            best[count] = alone.parts[0].leading
    return best


def run_sets_among(ranking: Ranking, axis: Axis) -> list[RunSet]:
    """Return what could be measured of the entries that may be recommended, in whichever part they are."""
    entries = on_one_machine(ranking, axis)
    if len(entries) < 2:
        return []
    assert ranking.posterior is not None
    places = np.array([ranking.posterior.treatments.index(key) for key in entries])
    grid = {key: tuple(entry_parts(axis, key).values()) for key in entries} if axis.name == "fs-pair" else None
    known = Components.from_posterior(ranking.posterior.select(places))
    return run_sets(entries, known, assumptions().spread.variation ** 2, REPETITIONS, grid)


def on_one_machine(ranking: Ranking, axis: Axis) -> list[str]:
    """Return the entries that a reader could measure side by side and choose from.

    Where the axis holds the hypervisor, those seen under one of the first part's: VMFS has no place on a KVM host.
    """
    entries = [entry.key for part in ranking.parts for entry in part.entries if entry.may_be_recommended]
    if not ranking.parts or "hypervisor" not in axis.held:
        return entries
    columns = ["entry", "hypervisor"]
    seen = pd.concat([rows[columns] for rows in (ranking.arms, ranking.findings) if len(rows)])
    first = seen["hypervisor"][seen["entry"].isin(ranking.parts[0].members)]
    beside = set(seen["entry"][seen["hypervisor"].isin(first.unique())])
    return [key for key in entries if key in beside]
