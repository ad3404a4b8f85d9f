"""Evidence to an order with its uncertainty. No Django.

Source: docs/models/ranking.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from modelling.evidence.arms import NORMAL_95, comparable_arms, trials
from modelling.evidence.axes import Axis, entry_key

from .graph import connected
from .network import Fit, Network, Weighted, networks
from .ordinal import Comparison, from_tiers, joint

# Raised with every change that makes the same evidence give another answer: kept answers are not mixed.
METHOD = 4

# A tier list's standing of a pair, from the text list and its outstanding marks.
_STANDING = {"best": 1.0, "unlisted": 0.0, "worst": -1.0}


@dataclass(frozen=True)
class Assumptions:
    """What an answer takes for granted; every one of them is a named setting and shown with the answer.

    variation : standard deviation of one run as a share of its value, where a source gives none
    tier_scale : ln ratio for which a tier list names the faster entry with odds of e to 1
    tier_doubt : pseudo-statements in each direction that a tier list is held against
    """

    variation: float
    tier_scale: float
    tier_doubt: float


@dataclass(frozen=True)
class Entry:
    """One line of a ranking.

    ratio, low and high are against the part's reference; None where no chain of measured
    comparisons leads there. p_score is the mean certainty of being better than another entry.
    confounded_with names what came along with the entry and differed between compared arms.
    """

    key: str
    rank: int
    part: int
    ratio: float | None
    low: float | None
    high: float | None
    p_score: float
    grade: str
    tied_with: tuple[str, ...]
    confounded_with: tuple[str, ...]
    case_studies: int
    measurements: int
    derived: int
    findings: int


@dataclass(frozen=True)
class RankedPart:
    """Entries that can be ordered among themselves, and the networks of numbers they rest on."""

    number: int
    basis: str  # "numbers", "findings" or "both"
    reference: str  # the best entry with numbers, or the best entry where there are none
    entries: tuple[Entry, ...]
    best: tuple[str, ...]
    worst: tuple[str, ...]
    networks: tuple[Network, ...]
    members: tuple[str, ...]  # the entries in the order of `fit`
    fit: Fit

    def difference(self, a: str, b: str) -> tuple[float, float]:
        """Estimate of effect(a) - effect(b) and its standard error."""
        i, j = self.members.index(a), self.members.index(b)
        return float(self.fit.effects[i] - self.fit.effects[j]), float(self.fit.errors()[i, j])

    def has_numbers_between(self, a: str, b: str) -> bool:
        """Whether a chain of measured comparisons joins the two."""
        return any({a, b} <= set(network.treatments) for network in self.networks)


@dataclass(frozen=True)
class Ranking:
    """The answer: parts that no comparison joins, and the evidence that was used."""

    parts: tuple[RankedPart, ...]
    arms: pd.DataFrame  # of comparable_arms
    findings: pd.DataFrame  # of scored_findings


def rank(arms: pd.DataFrame, findings: pd.DataFrame, axis: Axis, assumptions: Assumptions) -> Ranking:
    """Order the entries of an axis, best first.

    Parameters
    ----------
    arms, findings : DataFrames of modelling.evidence.frames
    axis : what is ranked

    Returns
    -------
    Ranking with one part for each set of entries that numbers or tier lists join.
    """
    used = comparable_arms(arms, axis, assumptions.variation)
    scored = scored_findings(findings, axis)
    nets = networks(trials(used))
    comparisons = _comparisons(scored, assumptions.tier_doubt)
    facts = _entry_facts(used, scored, axis)
    parts = [
        _part(number, members, nets, comparisons, facts, assumptions.tier_scale)
        for number, members in enumerate(_joined(nets, comparisons), start=1)
    ]
    return Ranking(tuple(parts), used, scored)


def scored_findings(findings: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """Findings with the standing of each pair among those that agree in what the axis holds fixed.

    Adds the columns entry str; list int, the tier list the finding is part of; standing float, +2
    outstanding among the best to -2 outstanding among the worst, the middle of both where text and
    table disagree. Findings with nothing to be compared with are left out.
    """
    if findings.empty:
        return findings.assign(entry=[], list=[], standing=[])
    text = findings["text_list"].map(_STANDING)
    table = findings["table_list"].map(_STANDING)
    standing = (text * np.where(findings["is_outstanding"], 2.0, 1.0)).where(text == table, (text + table) / 2)
    values = findings[list(axis.entry)].itertuples(index=False, name=None)
    held = [column for column in axis.held if column in findings.columns]
    numbers = findings.groupby(["publication", "hypervisor", *held]).ngroup()
    scored = findings.assign(entry=[entry_key(axis, value) for value in values], list=numbers, standing=standing)
    return scored[scored.groupby("list")["entry"].transform("nunique") > 1]


def _comparisons(scored: pd.DataFrame, doubt: float) -> list[Comparison]:
    """Every tier list as weighted comparisons; a list is stated once for each of its case studies."""
    found = []
    for _, rows in scored.groupby("list"):
        standing = rows.groupby("entry")["standing"].mean().to_dict()
        statements = len({slug for slugs in rows["case_studies"] for slug in slugs})
        found += from_tiers(standing, statements, doubt)
    return found


def _joined(nets: list[Network], comparisons: list[Comparison]) -> list[tuple[str, ...]]:
    """The sets of entries joined by numbers or lists; those with numbers first, then the larger."""
    with_numbers = {entry for net in nets for entry in net.treatments}
    names = sorted(with_numbers | {comparison.above for comparison in comparisons})
    if not names:
        return []
    place = {name: index for index, name in enumerate(names)}
    links = np.eye(len(names))
    for net in nets:
        links[place[net.treatments[0]], [place[entry] for entry in net.treatments]] = 1.0
    for comparison in comparisons:
        links[place[comparison.above], place[comparison.below]] = 1.0
    sets = [tuple(names[index] for index in members) for members in connected(links)]
    return sorted(sets, key=lambda members: with_numbers.isdisjoint(members))


def _part(
    number: int,
    members: tuple[str, ...],
    nets: Iterable[Network],
    comparisons: Iterable[Comparison],
    facts: dict[str, dict[str, Any]],
    tier_scale: float,
) -> RankedPart:
    inside = tuple(net for net in nets if net.treatments[0] in members)
    stated = [comparison for comparison in comparisons if comparison.above in members]
    fit = _fit(members, inside, stated, tier_scale)
    order = np.lexsort((np.array(members), -fit.effects.round(9)))  # equal but for rounding: by name
    if inside:
        alike = np.abs(fit.effects[:, None] - fit.effects[None, :]) <= NORMAL_95 * fit.errors()
    else:  # lists carry no spread: only what they put into one tier is alike
        alike = np.abs(fit.effects[:, None] - fit.effects[None, :]) < 1e-6
    tied = {i: tuple(j for j in order if j != i and alike[i, j]) for i in order}
    reference, ratios = _ratios(members, order, inside, fit)
    scores = fit.p_scores()
    entries = tuple(
        Entry(
            key=members[i],
            rank=position if inside else 1 + int((fit.effects > fit.effects[i] + 1e-6).sum()),
            part=number,
            **ratios.get(members[i], {"ratio": None, "low": None, "high": None}),
            p_score=float(scores[i]),
            tied_with=tuple(members[j] for j in tied[i]),
            **facts[members[i]],
        )
        for position, i in enumerate(order, start=1)
    )
    first, last = order[0], order[-1]
    best = (first, *tied[first])
    worst = [i for i in order if i in (last, *tied[last]) and i not in best]
    return RankedPart(
        number,
        basis="both" if inside and stated else "numbers" if inside else "findings",
        reference=reference,
        entries=entries,
        best=tuple(members[i] for i in best),
        worst=tuple(members[i] for i in worst),
        networks=inside,
        members=members,
        fit=fit,
    )


def _fit(members: tuple[str, ...], nets: tuple[Network, ...], stated: list[Comparison], scale: float) -> Fit:
    if not stated:
        (net,) = nets
        at = [net.treatments.index(entry) for entry in members]
        return Fit(net.random.effects[at], net.random.covariance[np.ix_(at, at)])
    weighted = [Weighted(net.trials, members, net.tau2 or 0.0) for net in nets]
    return joint(members, weighted, stated, scale)


def _ratios(
    members: tuple[str, ...], order: np.ndarray, nets: tuple[Network, ...], fit: Fit
) -> tuple[str, dict[str, dict[str, float]]]:
    """The reference, and for each entry that numbers join to it the ratio with its interval."""
    net_of = {entry: net for net in nets for entry in net.treatments}
    reference = next((i for i in order if members[i] in net_of), order[0])
    errors, found = fit.errors(), {}
    for i in order:
        if members[i] in net_of and net_of[members[i]] is net_of.get(members[reference]):
            log_ratio, margin = fit.effects[i] - fit.effects[reference], NORMAL_95 * errors[i, reference]
            values = np.exp([log_ratio, log_ratio - margin, log_ratio + margin])
            found[members[i]] = dict(zip(("ratio", "low", "high"), map(float, values), strict=True))
    return members[reference], found


def _entry_facts(arms: pd.DataFrame, scored: pd.DataFrame, axis: Axis) -> dict[str, dict[str, Any]]:
    """What stands behind each entry: grade, confounding, and counts of the evidence that was compared."""
    differs = {
        column: set(arms["group"][arms.groupby("group")[column].transform("nunique", dropna=False) > 1])
        for column in axis.comes_along
    }
    measured: dict[str, list[Any]] = {}
    for row in arms.itertuples(index=False):
        measured.setdefault(row.entry, []).append(row)
    stated: dict[str, list[Any]] = {}
    for row in scored.itertuples(index=False):
        stated.setdefault(row.entry, []).append(row)
    return {key: _facts(measured.get(key, []), stated.get(key, []), differs) for key in {*measured, *stated}}


def _facts(arms: list[Any], findings: list[Any], differs: dict[str, set[int]]) -> dict[str, Any]:
    measured = [row for row in arms if row.origin == "measured"]
    with_spread = {row.case_study for row in measured if not row.assumed}
    studies = {row.case_study for row in arms} | {slug for row in findings for slug in row.case_studies}
    return {
        "grade": "A" if len(with_spread) >= 2 else "B" if measured else "C" if arms else "D",
        "confounded_with": tuple(c for c, groups in differs.items() if any(row.group in groups for row in arms)),
        "case_studies": len(studies),
        "measurements": sum(row.measurements for row in measured),
        "derived": len(arms) - len(measured),
        "findings": len(findings),
    }
