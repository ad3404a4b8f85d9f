"""Scores of forecasts counted by laboratory and by distinct question. No Django.

Questions of one source on one workload, whatever their axis, are asked of the same numbers: they are one distinct
question, whose score is their mean. Intervals resample whole laboratories. Source: docs/models/quality.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .leave_one_out import Outcome, Result

REPLICATIONS, SEED = 2000, 13
LEAST_INSIDE = 0.9  # share of ratios inside their 95 % intervals
Cell = tuple[tuple[str, ...], str]  # the case studies left out, and the workload
Score = Callable[[Outcome], float | None]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


# Name to the score of one outcome; None where it has none.
SCORES: Mapping[str, Score] = {
    "kendall": lambda outcome: outcome.kendall,
    "top": lambda outcome: outcome.top,
    "error": lambda outcome: float(np.median(outcome.errors)) if outcome.errors else None,
    "inside": lambda outcome: _mean(outcome.inside),
    "log_score": lambda outcome: _mean(outcome.log_scores),
}


@dataclass(frozen=True)
class Clustered:
    """A mean over distinct questions with its 95 % interval; None where nothing was scored.

    cells : distinct questions; laboratories : that they come from
    """

    mean: float | None
    low: float | None
    high: float | None
    cells: int
    laboratories: int


def scored(results: Sequence[Result], method: str, score: str, against: str = "") -> dict[Cell, float]:
    """Return distinct question (case studies left out, workload) to the method's mean score in it.

    against : another method, whose score is subtracted, over the questions that both have one for
    """
    values_of: dict[Cell, list[float]] = {}
    for task, outcomes in results:
        values = [SCORES[score](outcomes[name]) if name in outcomes else None for name in (method, against or method)]
        if values[0] is not None and values[1] is not None:
            value = values[0] - values[1] if against else values[0]
            values_of.setdefault((task.case_studies, task.workload), []).append(value)
    return {cell: float(np.mean(values)) for cell, values in values_of.items()}


def clustered(cells: Mapping[Cell, float]) -> Clustered:
    """Return the mean of distinct questions; the interval is of the bootstrap over laboratories."""
    sources = sorted({source for source, _ in cells})
    if not cells:
        return Clustered(None, None, None, 0, 0)
    own = [[value for (source, _), value in cells.items() if source == laboratory] for laboratory in sources]
    sums, sizes = np.array([sum(values) for values in own]), np.array([len(values) for values in own])
    drawn = np.random.default_rng(SEED).integers(len(sources), size=(REPLICATIONS, len(sources)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    mean = float(sums.sum() / sizes.sum())
    low, high = np.quantile(means, [0.025, 0.975]).tolist() if len(sources) > 1 else (None, None)
    return Clustered(mean, low, high, len(cells), len(sources))


def by_method(results: Sequence[Result], methods: Iterable[str]) -> dict[str, dict[str, float | None]]:
    """Return method to score to its mean over the distinct questions of these results."""
    return {
        method: {score: _mean(list(scored(results, method, score).values())) for score in SCORES} for method in methods
    }


def shortfalls(results: Sequence[Result], method: str, naive: Iterable[str]) -> list[str]:
    """Say why a method may not forecast: "log_score against NAIVE", "inside"; empty where it may.

    Its log score, which judges ratio and interval together, is not below that of a naive method over the distinct
    questions that both answer, and at least LEAST_INSIDE of the ratios lie inside its 95 % interval.
    """
    leads = {name: clustered(scored(results, method, "log_score", name)).mean for name in naive if name != method}
    reasons = [f"log_score against {name}" for name, lead in leads.items() if lead is not None and lead < 0]
    inside = clustered(scored(results, method, "inside")).mean
    return reasons if inside is not None and inside >= LEAST_INSIDE else [*reasons, "inside"]
