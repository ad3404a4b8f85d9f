"""Find where two research groups' ratios of the same entries differ by more than laboratories usually do. No Django.

Of entries a and b a group finds d = ln(speed of a / speed of b) with the variance v of its runs. What one group finds
deviates from what all would find, by the scales learnt from everything published (partial_pooling.Scales), by

    tau^2 = sum over choices in which a and b differ of 2 s_c^2 (group + (laboratory + trial) / n) + 2 residual / n

n the group's laboratories (on one kind of disk each), with the deviation by kind of disk in it where the two groups
have not one kind in common. Two groups disagree where

    z = (d1 - d2) / sqrt(v1 + v2 + tau1^2 + tau2^2)

is beyond LIMIT. Source: docs/models/conflicts.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
import pandas as pd

from modelling.estimation.arms import trials
from modelling.estimation.entry_cells import cells_of, choices_of
from modelling.estimation.partial_pooling import Scales
from modelling.evidence.axes import Axis

METHOD = 1
LIMIT = 3.18  # 95 % of Student's t with partial_pooling.FREEDOM degrees: one pair in twenty that differs as usual
MOST_ENTRIES = 60  # of one trial, whose pairs are looked at

_Values = tuple[tuple[object, ...], tuple[object, ...]]  # of a column, of each of two groups

# Columns of the frame of arms, beside those of axes.COLUMN_LABELS, in which groups may differ.
FURTHER = {
    "vm_count": "virtual machines at once",
    "block_size_bytes": "block size, bytes",
    "operation": "operation",
    "benchmark": "benchmark",
    "run_seconds": "length of a run, seconds",
}


@dataclass(frozen=True)
class Finding:
    """One research group's finding about a pair: d and v of the module's text, its laboratories and kinds of disk."""

    group: str
    difference: float
    variance: float
    laboratories: int
    storages: frozenset[str]
    case_studies: tuple[str, ...]


@dataclass(frozen=True)
class Disagreement:
    """Two findings on the same pair that are further apart than groups usually are; z is positive."""

    entries: tuple[str, str]
    findings: tuple[Finding, Finding]
    z: float


def disagreements(arms: pd.DataFrame, axis: Axis, scales: Scales) -> tuple[int, list[Disagreement]]:
    """Return how many pairs of findings were compared, and those that disagree, the furthest apart first.

    arms : of modelling.estimation.arms.comparable_arms
    """
    known = scales.with_settings
    choices, storage, group, laboratory, trial, residual = (part[0] for part in known.mean())
    columns = dict(zip(known.names, choices.tolist(), strict=True))
    of_pair: dict[tuple[str, str], list[Finding]] = {}
    for pair, finding in _findings(arms):
        of_pair.setdefault(pair, []).append(finding)
    compared, disagreeing = 0, []
    for pair, findings in of_pair.items():
        if len(findings) < 2:
            continue
        stated = choices_of(axis, pair, arms)
        of_choices = sum(columns.get(name, 0.0) * _stated_sides(stated[name]) for name in stated)
        for one, other in combinations(findings, 2):
            compared += 1
            has_one_kind = one.storages == other.storages and len(one.storages) == 1 and "" not in one.storages
            by_disk = 0.0 if has_one_kind else storage
            square = one.variance + other.variance
            for finding in (one, other):
                n = finding.laboratories
                square += of_choices * (group + by_disk + (laboratory + trial) / n) + 2 * residual / n
            z = abs(one.difference - other.difference) / sqrt(square)
            if z > LIMIT:
                disagreeing.append(Disagreement(pair, (one, other), z))
    return compared, sorted(disagreeing, key=lambda row: (-row.z, row.entries, row.findings[0].group))


def _stated_sides(values: pd.Series) -> int:
    """Return how many of a pair's two sides add the effect of a choice: none where both have the same."""
    first, second = ("" if pd.isna(value) else str(value) for value in values)
    return 0 if first == second else bool(first) + bool(second)


def _findings(arms: pd.DataFrame) -> Iterator[tuple[tuple[str, str], Finding]]:
    """Yield each pair with what each research group found of it."""
    if arms.empty or arms["research_group"].nunique() < 2:
        return
    cells = cells_of(arms, trials(arms), pd.DataFrame(), 1.0, 1.0)
    studies = arms.groupby(["laboratory", "entry"], observed=True)["case_study"].agg(lambda names: set(map(str, names)))
    for group, of_group in cells.groupby("group", sort=True):
        parts: dict[tuple[str, str], list[tuple[float, float, str, str]]] = {}
        for _, trial in of_group.groupby("trial"):
            rows = trial.sort_values("entry").head(MOST_ENTRIES)
            for one, other in combinations(rows.itertuples(index=False), 2):
                part = (one.outcome - other.outcome, one.variance + other.variance, one.storage, one.laboratory)
                parts.setdefault((str(one.entry), str(other.entry)), []).append(part)
        for pair, some in parts.items():
            differences, variances, storages, laboratories = zip(*some, strict=True)
            sources: set[str] = set()
            for laboratory in set(laboratories):
                sources |= studies[laboratory, pair[0]] & studies[laboratory, pair[1]]
            yield (
                pair,
                Finding(
                    group=str(group),
                    difference=float(np.mean(differences)),
                    variance=float(np.sum(variances)) / len(some) ** 2,
                    laboratories=len(some),
                    storages=frozenset(map(str, storages)),
                    case_studies=tuple(sorted(sources)),
                ),
            )


def differing(
    arms: pd.DataFrame, entries: Iterable[str], groups: tuple[str, str], columns: Iterable[str]
) -> Mapping[str, _Values]:
    """Return the columns in which the two groups' arms of these entries differ, with the values of each; a column that
    one of them leaves open comes after those that both state."""
    mine = arms[arms["entry"].isin(list(entries))]
    sides = [mine[mine["research_group"] == group] for group in groups]
    both: dict[str, _Values] = {}
    one: dict[str, _Values] = {}
    for column in columns:
        values = (_values(sides[0][column]), _values(sides[1][column]))
        if values[0] != values[1]:
            (both if all(values) else one)[column] = values
    return {**both, **one}


def _values(column: pd.Series) -> tuple[object, ...]:
    known = {value for value in column.dropna().unique() if value != ""}
    return tuple(sorted(known, key=str))
