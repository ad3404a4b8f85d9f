"""Evidence to an order with its uncertainty. No Django.

Source: docs/models/ranking.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .axes import Axis, entry_key
from .evidence import NORMAL_95, comparable_arms, trials
from .network import Part, estimate

# Raised with every change that makes the same evidence give another answer: kept answers are not mixed.
METHOD = 1

# A tier list's standing of a pair, from the text list and its outstanding marks.
_STANDING = {"best": 1.0, "unlisted": 0.0, "worst": -1.0}


@dataclass(frozen=True)
class Entry:
    """One line of a ranking. ratio, low and high are against the part's reference; None: no number exists."""

    key: str
    rank: int
    part: int
    ratio: float | None
    low: float | None
    high: float | None
    grade: str
    tied_with: tuple[str, ...]
    case_studies: int
    measurements: int
    derived: int
    findings: int


@dataclass(frozen=True)
class RankedPart:
    """Entries that can be ordered among themselves."""

    number: int
    basis: str  # "numbers" or "findings"
    entries: tuple[Entry, ...]
    best: tuple[str, ...]
    worst: tuple[str, ...]
    disagreement: float | None  # Q / degrees of freedom where the case studies can disagree


@dataclass(frozen=True)
class Ranking:
    """The answer: parts that no comparison joins, and the evidence that was used."""

    parts: tuple[RankedPart, ...]
    arms: pd.DataFrame  # of comparable_arms
    findings: pd.DataFrame  # of scored_findings


def rank(arms: pd.DataFrame, findings: pd.DataFrame, axis: Axis, default_variation: float) -> Ranking:
    """Order the entries of an axis, best first.

    Parameters
    ----------
    arms, findings : DataFrames of modelling.frames
    axis : what is ranked
    default_variation : see modelling.evidence.comparable_arms

    Returns
    -------
    Ranking with one part for each connected part of the network, and one for each publication and
    hypervisor whose tier lists speak of entries that have no numbers.
    """
    used = comparable_arms(arms, axis, default_variation)
    facts = _entry_facts(used)
    parts = [_numeric_part(number, part, facts) for number, part in enumerate(estimate(trials(used)), start=1)]
    with_numbers = {entry.key for part in parts for entry in part.entries}
    scored = scored_findings(findings, axis)
    scored = scored[~scored["entry"].isin(with_numbers)]
    for _, rows in scored.groupby(["publication", "hypervisor"]):
        if rows["entry"].nunique() > 1:
            parts.append(_stated_part(len(parts) + 1, rows))
    ranked = {entry.key for part in parts for entry in part.entries}
    return Ranking(tuple(parts), used, scored[scored["entry"].isin(ranked)])


def scored_findings(findings: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """Findings with the standing of each pair among those that agree in what the axis holds fixed.

    Adds the columns entry str; standing float, +2 outstanding among the best to -2 outstanding
    among the worst, the middle of both where text and table disagree; lead float, standing against
    the mean of its group. Findings with nothing to be compared with are left out.
    """
    if findings.empty:
        return findings.assign(entry=[], standing=[], lead=[])
    text = findings["text_list"].map(_STANDING)
    table = findings["table_list"].map(_STANDING)
    standing = (text * np.where(findings["is_outstanding"], 2.0, 1.0)).where(text == table, (text + table) / 2)
    values = findings[list(axis.entry)].itertuples(index=False, name=None)
    scored = findings.assign(entry=[entry_key(axis, value) for value in values], standing=standing)
    held = [column for column in axis.held if column in findings.columns]
    group = scored.groupby(["publication", "hypervisor", *held])
    scored = scored.assign(lead=standing - group["standing"].transform("mean"))
    return scored[group["entry"].transform("nunique") > 1]


def _numeric_part(number: int, part: Part, facts: dict[str, dict[str, Any]]) -> RankedPart:
    order = np.lexsort((np.array(part.entries), -part.effects.round(9)))  # equal but for rounding: by name
    first, last = order[0], order[-1]
    errors = part.difference_errors()
    # Indistinguishable: the 95 % interval of the ratio covers one.
    alike = np.abs(part.effects[:, None] - part.effects[None, :]) <= NORMAL_95 * errors
    tied = {i: tuple(j for j in order if j != i and alike[i, j]) for i in order}
    log_ratio = part.effects - part.effects[first]
    margin = NORMAL_95 * errors[first]
    ratio, low, high = np.exp(log_ratio), np.exp(log_ratio - margin), np.exp(log_ratio + margin)
    entries = [
        Entry(
            key=part.entries[i],
            rank=position,
            part=number,
            ratio=float(ratio[i]),
            low=float(low[i]),
            high=float(high[i]),
            tied_with=tuple(part.entries[j] for j in tied[i]),
            findings=0,
            **facts[part.entries[i]],
        )
        for position, i in enumerate(order, start=1)
    ]
    best = (first, *tied[first])
    worst = [i for i in order if i in (last, *tied[last]) and i not in best]
    return RankedPart(
        number,
        "numbers",
        tuple(entries),
        best=tuple(part.entries[i] for i in best),
        worst=tuple(part.entries[i] for i in worst),
        disagreement=part.heterogeneity / part.freedom if part.freedom else None,
    )


def _entry_facts(arms: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """What stands behind each entry: grade and counts of the evidence that was compared."""
    found: dict[str, list] = {}
    for row in arms.itertuples(index=False):
        found.setdefault(row.entry, []).append(row)
    return {key: _facts(rows) for key, rows in found.items()}


def _facts(rows: list) -> dict[str, Any]:
    measured = [row for row in rows if row.origin == "measured"]
    with_spread = {row.case_study for row in measured if not row.assumed}
    return {
        "grade": "A" if len(with_spread) >= 2 else "B" if measured else "C",
        "case_studies": len({row.case_study for row in rows}),
        "measurements": sum(row.measurements for row in measured),
        "derived": len(rows) - len(measured),
    }


def _stated_part(number: int, rows: pd.DataFrame) -> RankedPart:
    leads = rows.groupby("entry")["lead"].mean().round(9).sort_values(ascending=False, kind="stable")
    keys = sorted(leads.index, key=lambda key: (-leads[key], key))
    entries = []
    for key in keys:
        mine = rows[rows["entry"] == key]
        entries.append(
            Entry(
                key=key,
                rank=1 + int((leads > leads[key]).sum()),
                part=number,
                ratio=None,
                low=None,
                high=None,
                grade="D",
                tied_with=tuple(other for other in keys if other != key and leads[other] == leads[key]),
                case_studies=len({slug for studies in mine["case_studies"] for slug in studies}),
                measurements=0,
                derived=0,
                findings=len(mine),
            )
        )
    best = tuple(key for key in keys if leads[key] == leads.max())
    worst = tuple(key for key in keys if leads[key] == leads.min() and key not in best)
    return RankedPart(number, "findings", tuple(entries), best, worst, None)
