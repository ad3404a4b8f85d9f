"""The forecast of one pair of configurations: its ratio, interval and strength. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd

from modelling.estimation.bayes import Mixture
from modelling.estimation.hierarchy import CHOICES, Knowledge

Values = Mapping[str, str]

# The model in use for forecasts, and since when.
IN_USE, LABEL, SINCE = "hierarchy", "The hierarchical model", date(2026, 11, 28)
# Choices of which both values must have been compared for a forecast, because caches and networks differ with them.
_DECISIVE = ("hypervisor", "container", "guest_fs", "host_fs", "backend")

RUN_VARIANCE = 0.07**2  # variance of ln speed of a single run without stated spread (docs/models/hierarchy.md)


@dataclass(frozen=True)
class PairForecast:
    """The ratio of a's speed to b's that a new laboratory will measure.

    low, high : of the 95 % interval; sd : half the width of the central 68 % of its logarithm
    laboratories, groups : numbers of those that measured both sides' values side by side
    """

    ratio: float
    low: float
    high: float
    sd: float
    probability_a_faster: float
    probability_within_margin: float
    laboratories: int
    groups: int
    strength: str


def forecast_pair(known: Knowledge, a: Values, b: Values, where: Values, margin: float) -> PairForecast:
    """Forecast one pair.

    a, b : kind of choice to value; where : load, storage and workload; margin : difference that matters, a share
    """
    prediction = predict(known, a, b, where)
    laboratories, groups = _side_by_side(known.cells, a, b)
    faster = 1.0 - prediction.below(0.0)
    within = prediction.below(np.log1p(margin)) - prediction.below(-np.log1p(margin))
    ratio, low, high = np.exp([prediction.quantile(share) for share in (0.5, 0.025, 0.975)]).tolist()
    strength = _strength(groups, max(faster, 1.0 - faster, within))
    return PairForecast(ratio, low, high, prediction.deviation, faster, within, laboratories, groups, strength)


def predict(known: Knowledge, a: Values, b: Values, where: Values) -> Mixture:
    """Return the distribution of the ln ratio of single runs in another laboratory; parameters as in forecast_pair."""
    rows = pd.DataFrame([{**a, **where}, {**b, **where}], index=["a", "b"])
    return known.posterior(rows).contrast(0, 1, 2 * RUN_VARIANCE)


def is_forecastable(cells: pd.DataFrame, a: Values, b: Values) -> bool:
    """Tell whether two sides differ, and every differing value of a decisive choice was compared with another."""
    differ = [choice for choice in CHOICES if (a.get(choice) or "") != (b.get(choice) or "")]
    return bool(differ) and all(
        {side.get(choice) or "" for side in (a, b)} - {""} <= _compared_values(cells, choice)
        for choice in differ
        if choice in _DECISIVE
    )


def _compared_values(cells: pd.DataFrame, choice: str) -> set[str]:
    varied = cells.groupby("level")[choice].transform("nunique") > 1
    return set(cells[choice][varied])


def _side_by_side(cells: pd.DataFrame, a: Values, b: Values) -> tuple[int, int]:
    """Count the laboratories and research groups with comparable cells of both sides' values where the two differ."""
    differ = [choice for choice in CHOICES if (a.get(choice) or "") != (b.get(choice) or "")]
    levels = []
    for side in (a, b):
        alike = np.logical_and.reduce(
            [np.ones(len(cells), dtype=bool), *(cells[c] == (side.get(c) or "") for c in differ)]
        )
        levels.append(set(cells["level"][alike]))
    both = cells[cells["level"].isin(levels[0] & levels[1])] if differ else cells.iloc[:0]
    return both["laboratory"].nunique(), both["group"].nunique()


def _strength(groups: int, sureness: float) -> str:
    """Return the strength by the number of groups, and the probability of the surest statement about the ratio."""
    if not groups:
        return "not known"
    if groups == 1 or sureness < 0.8:
        return "very weak"
    return "weak" if groups == 2 else "moderate" if groups == 3 or sureness < 0.95 else "strong"
