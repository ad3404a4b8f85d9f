"""Test how well the models foretell what they have not seen: leave one case study out. No Django.

For every case study and every question that its own numbers or tier lists answer, each method of
modelling.validation.forecasts predicts the answer from everybody else's evidence, and is held against it.
Source: docs/models/quality.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from kdb.host_storage import host_storage_parts
from modelling.estimation import ranking
from modelling.estimation.arms import trials
from modelling.estimation.graph import connected
from modelling.estimation.ranking import Assumptions
from modelling.evidence.axes import AXES, Axis
from modelling.evidence.normal import NORMAL_95

from .forecasts import FILE_SYSTEM_AXES, METHODS, CannotPredict, Evidence, Forecast, Knowledge, Task, standings

# The ranking's version and, in the last two digits, our own: raised where the same evidence gives another report.
METHOD = 100 * ranking.METHOD + 10
MOST_LEFT_OUT = 100  # case studies; of more, evenly spread ones are left out and the report says so


@dataclass(frozen=True)
class Outcome:
    """The outcome of one method on one task.

    reason : why it could not predict; then everything else is empty
    order : the entries it ranked, best first; empty where it says that all are alike
    kendall, spearman : rank correlations, -1 to 1
    top : chance that its first is truly first, where it has ties; by_chance : of a blind pick among `order`
    errors : |ln(predicted ratio / measured ratio)| of each pair with numbers
    inside : for each of these, whether the measured ratio is inside the 95 % prediction interval
    log_scores : for each of these, ln density of the measured ln ratio as predicted
    """

    reason: str = ""
    order: tuple[str, ...] = ()
    kendall: float | None = None
    spearman: float | None = None
    top: float | None = None
    by_chance: float | None = None
    errors: tuple[float, ...] = ()
    inside: tuple[bool, ...] = ()
    log_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class Summary:
    """One method over all tasks of an axis, or of all axes (axis "").

    asked, answered : tasks; the means kendall, spearman, top and by_chance are over those answered
    ratio_error : median factor by which a ratio is off, over `pairs` pairs; covered : of these inside the interval
    duels : naive method to how often (better, alike, worse) by kendall, over the tasks both answered
    """

    axis: str
    method: str
    asked: int
    answered: int
    kendall: float | None
    spearman: float | None
    top: float | None
    by_chance: float | None
    ratio_error: float | None
    pairs: int
    covered: int
    duels: Mapping[str, tuple[int, int, int]]


Result = tuple[Task, Mapping[str, Outcome]]


@dataclass(frozen=True)
class Report:
    """All tasks with the outcome of each applicable method, and their summaries."""

    left_out: int
    case_studies: int
    results: tuple[Result, ...]
    summaries: tuple[Summary, ...]


def leave_one_out(evidence: Evidence, assumptions: Assumptions) -> Report:
    """Ask every method every question of every case study. evidence : all of it, by workload"""
    units = sources(evidence)
    chosen = units[:: -(-len(units) // MOST_LEFT_OUT)] if units else []
    results = []
    for unit in chosen:
        known = Knowledge(evidence, frozenset(unit), assumptions)
        for task in tasks(unit, evidence):
            methods = {name: method for name, method in METHODS.items() if task.axis.name in method.axes}
            results.append((task, {name: attempt(method.predict, task, known) for name, method in methods.items()}))
    return Report(
        left_out=sum(map(len, chosen)),
        case_studies=sum(map(len, units)),
        results=tuple(results),
        summaries=tuple(summaries(results)),
    )


def sources(evidence: Evidence) -> list[tuple[str, ...]]:
    """Return case studies that can be left out by themselves; those of one laboratory or tier list only together."""
    shared = {slugs for frame in evidence.findings.values() for slugs in frame["case_studies"]}
    for frame in evidence.arms.values():
        shared |= set(frame.groupby("laboratory")["case_study"].agg(lambda slugs: tuple(sorted(set(slugs)))))
    alone = {slug for frame in evidence.arms.values() for slug in frame["case_study"]}
    names = sorted(alone.union(*shared)) if shared else sorted(alone)
    links = np.eye(len(names))
    for slugs in shared:
        for a, b in combinations(slugs, 2):
            links[names.index(a), names.index(b)] = 1.0
    return sorted(tuple(names[index] for index in members) for members in connected(links)) if names else []


def tasks(unit: tuple[str, ...], evidence: Evidence) -> list[Task]:
    """Return every question that the evidence of these case studies answers by itself."""
    asked = []
    for workload, findings in evidence.findings.items():
        if not evidence.speaks(unit, workload):
            continue
        stated = findings[np.array([not set(unit).isdisjoint(s) for s in findings["case_studies"]], dtype=bool)]
        for axis in AXES.values():
            arms = evidence.comparable(workload, axis)
            own = arms[arms["case_study"].isin(unit)]
            for hypervisor, rows in _under_each(own, axis):
                asked += _from_numbers(unit, axis, workload, hypervisor, rows)
            # A list's hypervisor is one, and it speaks of files: these would be its pairs and host file systems again.
            if axis.name not in ("configuration", "host-storage"):
                for hypervisor, rows in _under_each(stated, axis):
                    asked += _from_lists(unit, axis, workload, hypervisor, rows)
    return sorted(asked, key=lambda task: [*AXES].index(task.axis.name))


def _under_each(rows: pd.DataFrame, axis: Axis) -> list[tuple[str | None, pd.DataFrame]]:
    """Split the rows by hypervisor if the axis is about guests or storage of images; else keep them together."""
    if axis.name not in (*FILE_SYSTEM_AXES, "host-storage"):
        return [(None, rows)]
    return [(hypervisor, rows[rows["hypervisor"] == hypervisor]) for hypervisor in sorted(set(rows["hypervisor"]))]


def _from_numbers(
    unit: tuple[str, ...], axis: Axis, workload: str, hypervisor: str | None, arms: pd.DataFrame
) -> list[Task]:
    asked = []
    for trial in trials(arms):
        if axis.name == "host-storage" and all(host_storage_parts(entry)[1] for entry in trial.treatments):
            continue  # files on stated file systems: host-fs asks the same
        truth = dict(zip(trial.treatments, trial.effects.mean(axis=1).tolist(), strict=True))
        own = arms[arms["case_study"].isin(trial.sources) & arms["entry"].isin(trial.treatments)]
        asked.append(Task(unit, axis, workload, hypervisor, truth, trial, own))
    return asked


def _from_lists(
    unit: tuple[str, ...], axis: Axis, workload: str, hypervisor: str | None, findings: pd.DataFrame
) -> list[Task]:
    truth = standings(findings, axis)
    return [Task(unit, axis, workload, hypervisor, truth)] if len(set(truth.values())) > 1 else []


def attempt(predict: Callable[[Task, Knowledge], Forecast], task: Task, known: Knowledge) -> Outcome:
    """Ask one method, and compare what it says with the truth."""
    try:
        return score(task, predict(task, known))
    except CannotPredict as reason:
        return Outcome(reason=str(reason))


def score(task: Task, forecast: Forecast) -> Outcome:
    """Score a forecast: return its outcome.

    Raises CannotPredict where it puts nothing above anything, or the truth has no order among the entries.
    """
    from scipy.stats import kendalltau, spearmanr  # slow to import, and few processes score

    order = sorted(forecast.scores, key=lambda entry: (-round(forecast.scores[entry], 9), entry))
    truth = np.array([task.truth[entry] for entry in order]).round(9)
    foretold = np.array([forecast.scores[entry] for entry in order]).round(9)
    pairs = _pairs(task, forecast)
    if np.ptp(foretold) == 0:
        if not forecast.ratios:
            raise CannotPredict("it puts no entry above another")
        return pairs
    if np.ptp(truth) == 0:
        raise CannotPredict("the entries it knows are in one tier of the list")
    best = truth == truth.max()
    return replace(
        pairs,
        order=tuple(order),
        kendall=float(kendalltau(truth, foretold).statistic),
        spearman=float(spearmanr(truth, foretold).statistic),
        top=float(best[foretold == foretold.max()].mean()),
        by_chance=float(best.mean()),
    )


def _pairs(task: Task, forecast: Forecast) -> Outcome:
    """Return only the fields of an outcome that are about pairs with numbers."""
    if task.trial is None or not forecast.ratios:
        return Outcome()
    place = {entry: index for index, entry in enumerate(task.trial.treatments)}
    at = np.array([(place[a], place[b]) for a, b in forecast.ratios]).T
    expected, variances = np.array(list(forecast.ratios.values())).T
    errors = np.abs(expected - task.trial.effects[*at])
    variances = variances + task.trial.variances[at].sum(axis=0)
    return Outcome(
        errors=tuple(errors.tolist()),
        inside=tuple((errors <= NORMAL_95 * np.sqrt(variances)).tolist()),
        log_scores=tuple((-(errors**2 / variances + np.log(2 * np.pi * variances)) / 2).tolist()),
    )


def summaries(results: Sequence[Result]) -> list[Summary]:
    """Summarise every method over all axes, then over each axis that was asked about."""
    summed = []
    for axis in ("", *AXES):
        asked = [outcomes for task, outcomes in results if axis in ("", task.axis.name)]
        summed += [_summary(axis, name, asked) for name in METHODS if any(name in outcomes for outcomes in asked)]
    return summed


def _summary(axis: str, method: str, asked: list[Mapping[str, Outcome]]) -> Summary:
    outcomes = [outcomes[method] for outcomes in asked if method in outcomes]
    answered = [outcome for outcome in outcomes if not outcome.reason]
    errors = [error for outcome in answered for error in outcome.errors]

    def mean(name: str) -> float | None:
        values = [value for outcome in answered if (value := getattr(outcome, name)) is not None]
        return float(np.mean(values)) if values else None

    return Summary(
        axis=axis,
        method=method,
        asked=len(outcomes),
        answered=len(answered),
        kendall=mean("kendall"),
        spearman=mean("spearman"),
        top=mean("top"),
        by_chance=mean("by_chance"),
        ratio_error=float(np.exp(np.median(errors))) if errors else None,
        pairs=len(errors),
        covered=sum(sum(outcome.inside) for outcome in answered),
        duels={
            name: _duels(method, name, asked) for name, other in METHODS.items() if other.is_naive and name != method
        },
    )


def _duels(method: str, other: str, asked: list[Mapping[str, Outcome]]) -> tuple[int, int, int]:
    pairs = [(outcomes[method], outcomes[other]) for outcomes in asked if {method, other} <= set(outcomes)]
    leads = [
        round(mine.kendall - theirs.kendall, 9)
        for mine, theirs in pairs
        if mine.kendall is not None and theirs.kendall is not None
    ]
    return sum(lead > 0 for lead in leads), sum(lead == 0 for lead in leads), sum(lead < 0 for lead in leads)
