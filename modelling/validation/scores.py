"""Score predictions: of one question, over all questions of an axis, and by distinct question. No Django.

Questions of one source on one workload, whatever their axis, are asked of the same numbers: they are one distinct
question, whose score is their mean. Intervals resample whole laboratories. Source: docs/models/quality.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from modelling.evidence.axes import AXES
from modelling.evidence.normal import NORMAL_95

from .content import ClusteredScore, Duel, MethodScores, Summary
from .methods import METHODS, CannotPredict, Forecast, Task

REPLICATIONS, SEED = 2000, 13
LEAST_INSIDE = 0.9  # share of ratios inside their 95 % intervals


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


Result = tuple[Task, Mapping[str, Outcome]]


def score(task: Task, forecast: Forecast) -> Outcome:
    """Score a forecast: return its outcome.

    Raises CannotPredict where it puts nothing above anything, or the truth has no order among the entries.
    """
    from scipy.stats import kendalltau, spearmanr  # slow to import, and few processes score

    order = sorted(forecast.scores, key=lambda entry: (-round(forecast.scores[entry], 9), entry))
    truth = np.array([task.truth[entry] for entry in order]).round(9)
    foretold = np.array([forecast.scores[entry] for entry in order]).round(9)
    pairs = _score_pairs(task, forecast)
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


def _score_pairs(task: Task, forecast: Forecast) -> Outcome:
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


# Over all questions of an axis


def summaries(results: Sequence[Result]) -> list[Summary]:
    """Summarise every method over all axes, then over each axis that was asked about."""
    summed = []
    for axis in (None, *AXES):
        asked = [outcomes for task, outcomes in results if axis in (None, task.axis.name)]
        summed += [_summary(axis, name, asked) for name in METHODS if any(name in outcomes for outcomes in asked)]
    return summed


def _summary(axis: str | None, method: str, asked: list[Mapping[str, Outcome]]) -> Summary:
    outcomes = [outcomes[method] for outcomes in asked if method in outcomes]
    answered = [outcome for outcome in outcomes if not outcome.reason]
    errors = [error for outcome in answered for error in outcome.errors]

    def mean(name: str) -> float | None:
        return _mean([value for outcome in answered if (value := getattr(outcome, name)) is not None])

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
        duels=tuple(_duel(method, name, asked) for name, other in METHODS.items() if other.is_naive and name != method),
    )


def _duel(method: str, naive: str, asked: list[Mapping[str, Outcome]]) -> Duel:
    pairs = [(outcomes[method], outcomes[naive]) for outcomes in asked if {method, naive} <= set(outcomes)]
    leads = [
        round(mine.kendall - theirs.kendall, 9)
        for mine, theirs in pairs
        if mine.kendall is not None and theirs.kendall is not None
    ]
    return Duel(
        naive, sum(lead > 0 for lead in leads), sum(lead == 0 for lead in leads), sum(lead < 0 for lead in leads)
    )


# By distinct question

Cell = tuple[tuple[str, ...], str]  # the case studies left out, and the workload


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


# Name to the score of one outcome; None where it has none.
SCORE_OF: Mapping[str, Callable[[Outcome], float | None]] = {
    "kendall": lambda outcome: outcome.kendall,
    "top": lambda outcome: outcome.top,
    "error": lambda outcome: float(np.median(outcome.errors)) if outcome.errors else None,
    "inside": lambda outcome: _mean(outcome.inside),
    "log_score": lambda outcome: _mean(outcome.log_scores),
}


def cell_scores(results: Sequence[Result], method: str, score: str, against: str = "") -> dict[Cell, float]:
    """Return distinct question (case studies left out, workload) to the method's mean score in it.

    against : another method, whose score is subtracted, over the questions that both have one for
    """
    values_of: dict[Cell, list[float]] = {}
    for task, outcomes in results:
        values = [SCORE_OF[score](outcomes[name]) if name in outcomes else None for name in (method, against or method)]
        if values[0] is not None and values[1] is not None:
            value = values[0] - values[1] if against else values[0]
            values_of.setdefault((task.case_studies, task.workload), []).append(value)
    return {cell: float(np.mean(values)) for cell, values in values_of.items()}


def clustered_score(results: Sequence[Result], method: str, score: str, against: str = "") -> ClusteredScore:
    """Return the mean score over distinct questions; the interval is of the bootstrap over laboratories.

    against : as for cell_scores
    """
    cells = cell_scores(results, method, score, against)
    mean, low, high = mean_over_laboratories(cells)
    laboratories = {source for source, _ in cells}
    return ClusteredScore(method, score, against or None, mean, low, high, len(cells), len(laboratories))


def mean_over_laboratories(cells: Mapping[Cell, float]) -> tuple[float | None, float | None, float | None]:
    """Return the mean of distinct questions with its 95 % interval; None where nothing, or one laboratory, has any."""
    if not cells:
        return None, None, None
    sources = sorted({source for source, _ in cells})
    own = [[value for (source, _), value in cells.items() if source == laboratory] for laboratory in sources]
    sums, sizes = np.array([sum(values) for values in own]), np.array([len(values) for values in own])
    drawn = np.random.default_rng(SEED).integers(len(sources), size=(REPLICATIONS, len(sources)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975]).tolist() if len(sources) > 1 else (None, None)
    return float(sums.sum() / sizes.sum()), low, high


def scores_by_method(results: Sequence[Result], methods: Iterable[str]) -> tuple[MethodScores, ...]:
    """Return each method's mean scores over the distinct questions of these results."""
    return tuple(
        MethodScores(method, **{score: _mean(list(cell_scores(results, method, score).values())) for score in SCORE_OF})
        for method in methods
    )


def shortfalls(results: Sequence[Result], method: str, naive: Iterable[str]) -> tuple[str, ...]:
    """Say why a method may not forecast: "log_score against NAIVE", "inside"; empty where it may.

    Its log score, which judges ratio and interval together, is not below that of a naive method over the distinct
    questions that both answer, and at least LEAST_INSIDE of the ratios lie inside its 95 % interval.
    """
    leads = {name: clustered_score(results, method, "log_score", name).mean for name in naive if name != method}
    reasons = tuple(f"log_score against {name}" for name, lead in leads.items() if lead is not None and lead < 0)
    inside = clustered_score(results, method, "inside").mean
    return reasons if inside is not None and inside >= LEAST_INSIDE else (*reasons, "inside")
