"""Test forecasts of the hierarchical model by leaving each research group out in turn. No Django.

Each group is left out of the fit that answers use (`Fitted.leave_out`), and each of its pairs of comparable cells is
forecast. The rival forecast is "no difference": a normal distribution around equal speeds, with the width that suits
the results best. The test is repeated given the laboratory's cells of other workloads, as in modelling.own_lab.
Source: docs/models/quality.md.
"""

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from modelling.estimation.bayes import Mixture, Posterior
from modelling.estimation.hierarchy import KINDS, Fitted, Knowledge, Scales
from modelling.evidence.axes import AXES, Axis

from .content import FORMS, Calibration, Differing, Example, Form

MOST_OF_LEVEL = 60  # pairs forecast of one level, evenly spread if there are more
MOST_GIVEN = 60  # cells of other workloads that condition a forecast, in whole levels
MOST_OF_GROUP = 10.0  # weight of a group in levels, so that large groups do not dominate
LEAST_GROUPS = 3  # needed to judge a form
SURE = 0.8
MOST_EXAMPLES = 60  # forecasts shown one by one
COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # nominal coverage of intervals in the calibration
FLAT = 100.0  # variance of a level
_SURENESS_BINS = (0.5, 0.6, 0.7, 0.8, 1.0)  # bounds of bins of the probability that the forecast direction is right
_DEPENDENT = {"pair", "copy_on_write", "networked", "flushed"}  # choices that follow from others
_CHOICES = [kind for kind in KINDS if kind != "setting"]
_COLUMN = {"container": "virtualisation"}  # choices with another name in axes


@dataclass(frozen=True)
class Contrast:
    """Two cells of one level: their places in their group, and the kinds of choice in which they differ."""

    a: int
    b: int
    differ: tuple[str, ...]

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the axes on which it is a comparison."""
        differ = {_COLUMN.get(name, name) for name in self.differ} - _DEPENDENT
        return tuple(axis.name for axis in AXES.values() if _is_on(axis, differ))


def _is_on(axis: Axis, differ: Set[str]) -> bool:
    """Tell whether cells that differ in these columns compare entries of the axis, besides possible confounders."""
    entry = {"backend", "host_fs"} if axis.entry == ("host_storage",) else set(axis.entry) - set(axis.held)
    if axis.name == "configuration":
        return bool(differ & entry)
    return bool(differ & entry) and differ <= entry | set(axis.may_confound)


def forecast_left_out_groups(
    cells: pd.DataFrame, scales: Scales, progress: Callable[[], object] = lambda: None
) -> pd.DataFrame | None:
    """Forecast every group's contrasts from all other groups, one row a contrast; None where there are none.

    Rows with is_conditional are forecasts given the laboratory's cells of other workloads.
    cells, scales : as for modelling.estimation.hierarchy; progress : called before each group
    """
    tables = []
    if cells["group"].nunique() > 1:  # without the only group nothing is left
        known = Knowledge(cells, scales)
        for group, own in cells.groupby("group", sort=True):
            progress()
            own = own.reset_index(drop=True)
            if contrasts := list(_contrasts(own)):
                of_others = _mixtures(contrasts, own, known, str(group))
                tables.append(_judge(contrasts, own, of_others).assign(group=group, is_conditional=False))
            workloads = own.groupby("laboratory")["workload"].transform("nunique")
            if contrasts := [contrast for contrast in contrasts if workloads[contrast.a] > 1]:
                conditional = _conditional_mixtures(contrasts, own, known, str(group))
                tables.append(_judge(contrasts, own, conditional).assign(group=group, is_conditional=True))
    if not tables:
        return None
    forecasts = pd.concat(tables, ignore_index=True)
    of_level = forecasts.groupby(["is_conditional", "group", "level"])["measured"].transform("size")
    levels = forecasts.groupby(["is_conditional", "group"])["level"].transform("nunique")
    forecasts["weight"] = np.minimum(1.0, MOST_OF_GROUP / levels) / of_level
    return forecasts


def _contrasts(own: pd.DataFrame) -> Iterator[Contrast]:
    """Yield the pairs of cells of each level that differ in a choice."""
    made_of = own[_CHOICES].to_dict("records")
    for places in own.reset_index(drop=True).groupby("level").indices.values():
        pairs = [
            Contrast(a, b, differ)
            for a, b in combinations(places.tolist(), 2)
            if (differ := tuple(name for name in _CHOICES if made_of[a][name] != made_of[b][name]))
        ]
        yield from pairs[:: -(-len(pairs) // MOST_OF_LEVEL) or 1]


def _judge(contrasts: list[Contrast], own: pd.DataFrame, mixtures: Iterator[Mixture]) -> pd.DataFrame:
    """Return one row for each contrast: the measured ln ratio, and the forecast evaluated there."""
    rows, judged = own.to_dict("records"), []
    for contrast, mixture in zip(contrasts, mixtures, strict=True):
        one, other = rows[contrast.a], rows[contrast.b]
        measured = one["outcome"] - other["outcome"]
        judged.append(
            {
                "level": one["level"],
                "choice": contrast.choices,
                "load": one["load"],
                "storage": one["storage"] if one["storage"] == other["storage"] else "",
                "measured": measured,
                "below": mixture.below(measured),
                "faster": 1.0 - mixture.below(0.0),
                "log_score": mixture.log_density(measured),
                "forecast": mixture,
                "differing": tuple(
                    Differing(name, one[name], other[name]) for name in contrast.differ if name not in _DEPENDENT
                ),
            }
        )
    return pd.DataFrame(judged)


def _mixtures(contrasts: list[Contrast], own: pd.DataFrame, known: Knowledge, group: str) -> Iterator[Mixture]:
    """Yield the forecast of each contrast, by the fit for the choices in which it differs."""
    without: dict[tuple[tuple[str, ...], str], Fitted] = {}
    for contrast in contrasts:
        rows = own.iloc[[contrast.a, contrast.b]]
        about = contrast.differ, str(rows["load"].iloc[0])
        if about not in without:
            without[about] = known.fitted(*about).leave_out(group)
        yield without[about].posterior(rows).contrast(0, 1, float(rows["variance"].sum()))


def _conditional_mixtures(
    contrasts: list[Contrast], own: pd.DataFrame, known: Knowledge, group: str
) -> Iterator[Mixture]:
    """Yield the forecast of each contrast by other groups and the laboratory's cells of other workloads."""
    posteriors: dict[tuple[Any, ...], tuple[Posterior, dict[int, int]]] = {}
    asked: dict[tuple[Any, ...], set[int]] = {}
    keys = []
    for contrast in contrasts:
        row = own.iloc[contrast.a]
        keys.append((row["laboratory"], row["workload"], contrast.differ, row["load"]))
        asked.setdefault(keys[-1], set()).update((contrast.a, contrast.b))
    for contrast, key in zip(contrasts, keys, strict=True):
        if key not in posteriors:
            places = sorted(asked[key])
            posterior = given_other_workloads(known.fitted(*key[2:]).leave_out(group), own.iloc[places], known.cells)
            posteriors[key] = posterior, {place: number for number, place in enumerate(places)}
        posterior, at = posteriors[key]
        noise = float(own["variance"].iloc[[contrast.a, contrast.b]].sum())
        yield posterior.contrast(at[contrast.a], at[contrast.b], noise)


def given_other_workloads(fitted: Fitted, rows: pd.DataFrame, cells: pd.DataFrame) -> Posterior:
    """Return the posterior of rows given their laboratory's cells of other workloads. fitted : without its group"""
    laboratory, workload = rows[["laboratory", "workload"]].iloc[0]
    others = cells[(cells["laboratory"] == laboratory) & (cells["workload"] != workload)]
    sizes = others.groupby("level")["level"].transform("size").groupby(others["level"]).first().cumsum()
    others = others[others["level"].isin(sizes.index[sizes <= MOST_GIVEN])]
    size = len(others)
    both = fitted.posterior(pd.concat([others, rows]))
    covariance = both.covariances + both.extras
    level = others["level"].to_numpy()
    error = FLAT * np.equal.outer(level, level) + np.diag(others["variance"].to_numpy(dtype=float))
    seen = (others["outcome"] - others.groupby("level")["outcome"].transform("mean")).to_numpy(dtype=float)
    spread, across = covariance[:, :size, :size] + error, covariance[:, :size, size:]
    gain = np.linalg.solve(spread, across).swapaxes(1, 2)
    rest = seen - both.means[:, :size]
    solved = np.linalg.solve(spread, rest[..., None])[..., 0]
    logs = np.log(both.weights) - (np.einsum("ti,ti->t", rest, solved) + np.linalg.slogdet(spread)[1]) / 2
    weights = np.exp(logs - logs.max())
    means = both.means[:, size:] + np.einsum("tri,ti->tr", gain, rest)
    left = covariance[:, size:, size:] - gain @ across
    return Posterior(both.treatments[size:], weights / weights.sum(), means, left, np.zeros_like(left))


def calibration(contrasts: pd.DataFrame) -> list[Calibration]:
    """Compare stated probabilities of intervals and directions with how often they came true, without empty bins.

    contrasts : of forecast_left_out_groups
    """
    weights, below, faster = (contrasts[column].to_numpy() for column in ("weight", "below", "faster"))
    whole = float(weights.sum())
    points = [
        Calibration("interval", coverage, float(np.average(np.abs(below - 0.5) < coverage / 2, weights=weights)), whole)
        for coverage in COVERAGES
    ]
    sure, right = np.maximum(faster, 1.0 - faster), (contrasts["measured"].to_numpy() > 0) == (faster > 0.5)
    for low, high in pairwise(_SURENESS_BINS):
        inside = (sure >= low) & ((sure < high) | (high == 1.0))
        if inside.any():
            mine = weights[inside]
            probability, came_true = (float(np.average(values[inside], weights=mine)) for values in (sure, right))
            points.append(Calibration("direction", probability, came_true, float(mine.sum())))
    return points


def examples(contrasts: pd.DataFrame) -> list[Example]:
    """Return at most MOST_EXAMPLES forecasts with the measured ratios, evenly spread in each group."""
    of_group = max(1, MOST_EXAMPLES // contrasts["group"].nunique())
    shown = [rows.iloc[:: -(-len(rows) // of_group)] for _, rows in contrasts.groupby("group", sort=True)]
    return [_example(row) for row in pd.concat(shown).head(MOST_EXAMPLES).itertuples()]


def _example(row: Any) -> Example:
    low, middle, high = (float(row.forecast.quantile(share)) for share in (0.025, 0.5, 0.975))
    measured, differing = float(row.measured), row.differing
    if middle < 0:
        low, middle, high, measured = -high, -middle, -low, -measured
        differing = tuple(Differing(choice.column, choice.second, choice.first) for choice in differing)
    ratios = (float(np.exp(value)) for value in (middle, low, high, measured))
    return Example(row.group, differing, row.load, row.storage, *ratios)


def forms(contrasts: pd.DataFrame) -> list[Form]:
    """Return how forecasts did by form. contrasts : of forecast_left_out_groups"""
    of_others, conditional = (
        contrasts[contrasts["is_conditional"] == is_conditional] for is_conditional in (False, True)
    )
    forms = [_form("all", "", of_others)]
    if len(conditional):
        by_axis = conditional.explode("choice").groupby("choice", sort=True)
        forms += [
            _form("laboratory", "", conditional),
            *(_form("laboratory", str(name), rows) for name, rows in by_axis),
        ]
    for by in FORMS[2:]:
        rows_of_form = of_others.explode(by) if by == "choice" else of_others
        forms += [_form(by, str(name), rows) for name, rows in rows_of_form.groupby(by, sort=True)]
    return forms


def _form(by: str, name: str, rows: pd.DataFrame) -> Form:
    weights = rows["weight"].to_numpy()
    measured, below, faster = (rows[column].to_numpy() for column in ("measured", "below", "faster"))
    width = float(np.sqrt(max(np.average(measured**2, weights=weights), 1e-12)))
    sure = np.maximum(faster, 1.0 - faster) >= SURE
    right = (measured > 0) == (faster > 0.5)
    rival = -np.log(width * np.sqrt(2 * np.pi)) - (measured / width) ** 2 / 2
    above, shares = rows["log_score"].to_numpy() - rival, weights / weights.sum()
    of_groups = pd.Series(shares * (above - shares @ above)).groupby(rows["group"].to_numpy()).sum().to_numpy()
    groups = len(of_groups)
    log_score = float(np.average(rows["log_score"], weights=weights))
    no_difference = float(-np.log(width * np.sqrt(2 * np.pi)) - 0.5)
    return Form(
        by=by,
        name=name,
        contrasts=len(rows),
        groups=groups,
        weight=float(weights.sum()),
        inside_95=float(np.average(np.abs(below - 0.5) < 0.475, weights=weights)),
        inside_50=float(np.average(np.abs(below - 0.5) < 0.25, weights=weights)),
        log_score=log_score,
        no_difference=no_difference,
        width=width,
        error=float(np.sqrt((of_groups**2).sum() * groups / (groups - 1))) if groups > 1 else None,
        sure=float(weights[sure].sum()),
        right=float(np.average(right[sure], weights=weights[sure])) if sure.any() else None,
        is_better=None if groups < LEAST_GROUPS else log_score > no_difference,
    )
