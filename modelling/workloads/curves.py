"""Plot the metric of an answer's arms over the number of virtual machines. No Django.

A panel holds arms that differ in nothing but the entry and the number of machines: a fair-play group without VM count.
Source: docs/models/cache-and-scaling.md.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd

from kdb.content import Among
from modelling.evidence.axes import Axis
from modelling.evidence.fairplay import FAIR_PLAY, number_rows, varies
from modelling.evidence.normal import NORMAL_95

_POINT = ["entry", "configuration_id", "vm_count", "mean_log", "arm_variance"]


@dataclass(frozen=True)
class CurvePoint:
    """The metric at one number of machines; its interval uses the default spread where none is stated."""

    component = "ScalingPoint"

    vm_count: Annotated[int, "Virtual machines running together."]
    value: Annotated[float, "Mean, in the panel's unit."]
    low: Annotated[float, "Lower end of the 95 % interval."]
    high: Annotated[float, "Upper end of the 95 % interval."]


@dataclass(frozen=True)
class CurveSeries:
    """One configuration of an entry at several numbers of machines."""

    component = "ScalingSeries"

    key: str
    points: tuple[CurvePoint, ...]
    label: str


@dataclass(frozen=True)
class CurvePanel:
    """The metric over the number of machines, for configurations that may be compared."""

    component = "ScalingPanel"

    case_study: str
    unit: str
    operation: str
    block_size_bytes: int | None
    held: Annotated[dict[str, str], "What is equal, as far as it is stated."]  # of what the axis holds fixed
    sources: Annotated[tuple[str, ...], "Where the numbers stand."]
    scope: Annotated[str, Among(["per-vm", "aggregate", ""]), "What a value is for; empty: the source does not say."]
    series: tuple[CurveSeries, ...]


@dataclass(frozen=True)
class MachineCount:
    """How many machines can each keep a rate: `machines`, or at_least or fewer_than so many at an end of the data."""

    machines: int
    at_least: bool = False
    fewer_than: bool = False


def count_machines(values: Sequence[tuple[int, float]], rate: float, *, aggregate: bool) -> MachineCount:
    """Count the machines that keep the rate each, up to the first number that does not.

    values : number of machines, ascending, and the value there; aggregate : a value is for all machines together
    Values between measured numbers are interpolated linearly; nothing is extrapolated.
    """
    counts, heights = zip(*values, strict=True)
    for count in range(counts[0], counts[-1] + 1):
        value = float(np.interp(count, counts, heights)) / (count if aggregate else 1)
        if value < rate:
            first = count == counts[0]
            return MachineCount(count if first else count - 1, fewer_than=first)
    return MachineCount(counts[-1], at_least=True)


def curves(
    arms: pd.DataFrame, axis: Axis, label: Callable[[str], str], scopes: Mapping[str, str]
) -> tuple[CurvePanel, ...]:
    """Return the panels of an answer in which an entry ran with two numbers of machines or more.

    arms : DataFrame of comparable_arms; label : of an entry's key; scopes : of the values of each case study
    """
    panel = [field for field in FAIR_PLAY if field != "vm_count"] + list(axis.held)
    if arms["vm_count"].nunique() < 2:
        return ()
    number = number_rows(arms, panel)
    has_several = varies(number, arms["vm_count"])[number]
    panels = []
    for _, rows in arms[has_several].groupby(number[has_several], sort=False):
        first = rows.iloc[0]
        block_size = first["block_size_bytes"]
        panels.append(
            CurvePanel(
                case_study=first["case_study"],
                unit=first["unit"],
                operation=first["operation"],
                block_size_bytes=None if pd.isna(block_size) else int(block_size),
                held={c: _text(first[c]) for c in axis.held if not pd.isna(first[c]) and first[c] != ""},
                sources=tuple(sorted(set(rows["source"]) - {""})),
                scope=scopes.get(first["case_study"], ""),
                series=_series(rows, label),
            )
        )
    return tuple(sorted(panels, key=lambda p: (p.case_study, p.operation, p.block_size_bytes or 0)))


def _series(rows: pd.DataFrame, label: Callable[[str], str]) -> tuple[CurveSeries, ...]:
    points: dict[tuple[str, int], list[CurvePoint]] = {}
    for row in rows[_POINT].sort_values(_POINT[:3]).itertuples(index=False):
        points.setdefault((row.entry, row.configuration_id), []).append(_point(row))
    return tuple(CurveSeries(entry, tuple(at), label(entry)) for (entry, _), at in points.items())


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _point(row: Any) -> CurvePoint:
    margin = NORMAL_95 * math.sqrt(row.arm_variance)
    value, low, high = (math.exp(row.mean_log + side) for side in (0.0, -margin, margin))
    return CurvePoint(int(row.vm_count), value, low, high)
