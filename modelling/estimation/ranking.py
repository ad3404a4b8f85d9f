"""Rank the entries of an axis by evidence, with uncertainty. No Django.

Source: docs/models/ranking.md.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd

from kdb.content import Among
from kdb.units import METRICS, THROUGHPUT
from modelling.evidence.axes import Axis
from modelling.evidence.durability import losing_options
from modelling.evidence.fairplay import find_confounders
from modelling.evidence.question import Grade

from .arms import Spread, comparable_arms, trials
from .bayes import Posterior
from .cells import NETWORK, entry_rows, measurement_cells, scored_findings, tier_list_cells
from .graph import connected
from .hierarchy import Knowledge, Scales, published_scales
from .links import Links
from .network import Fit, Network, networks
from .ordinal import bradley_terry, from_tiers
from .verdict import (
    DIFFER,
    ENTRY_KINDS,
    LEADS,
    USE,
    Basis,
    Contrast,
    EntryForecast,
    Ladder,
    Verdict,
    ladder,
    recommendable,
    strength,
)

# Raised with every change by which the same evidence gives another answer, so that stored answers are not mixed.
METHOD = 17

_ENDS = (0.025, 0.975)
_ANYWHERE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Assumptions:
    """The assumptions of an answer. Each is a setting, and is shown with the answer.

    spread : prior on the spread of repetitions
    tier_scale : ln ratio for which a tier list names the faster entry with odds of e to 1
    tier_doubt : pseudo-statements in each direction that are added to a tier list
    scales : usual sizes of effects and of differences between laboratories
    margin : share of the best's value from which an entry counts as slower
    differ : factor by which laboratories never differed
    """

    spread: Spread
    tier_scale: float
    tier_doubt: float
    scales: Scales = field(default_factory=published_scales)
    margin: float = 0.1
    differ: float = DIFFER


@dataclass(frozen=True)
class Place:
    """The place of an entry in a ranking."""

    rank: int
    part: int
    key: str


@dataclass(frozen=True)
class Entry(Place):
    """One entry. Rank and ratio hold inside its part; ratio is in the answer's metric against the part's reference,
    below 1 is worse."""

    ratio: Annotated[float | None, "Null: only tier lists place it, so no distance is known."]
    low: Annotated[float | None, "Lower end of the 95 % interval for a new laboratory."]
    high: Annotated[float | None, "Upper end of the 95 % interval for a new laboratory."]
    mean_low: Annotated[float | None, "Lower end of that of the mean over laboratories."]
    mean_high: Annotated[float | None, "Upper end of that of the mean over laboratories."]
    # The next three are null without numbers, and for entries that are never recommended.
    probability_best: Annotated[float | None, "In a new laboratory, 0 to 1."]
    probability_slower: Annotated[float | None, "Than the best by the margin, 0 to 1."]
    expected_loss: Annotated[float | None, "Percent of the best's, when it is chosen."]
    verdict: Annotated[str, Among(ENTRY_KINDS), "What is said of it."]
    p_score: Annotated[float, "Mean certainty of being better than another entry, 0 to 1."]
    grade: Annotated[Grade, "A two or more laboratories with spread, B measured, C derived, D stated only."]
    tied_with: Annotated[tuple[str, ...], "Keys it cannot be told apart from."]
    confounded_with: Annotated[
        tuple[str, ...], "What came along with it: compared arms differ in it, or leave it open."
    ]
    unsafe_options: Annotated[tuple[str, ...], "Those it was measured with that can lose acknowledged writes."]
    always_unsafe: Annotated[bool, "Never measured without one: it is not recommended."]
    lacks: Annotated[tuple[str, ...], "Needs that it lacks, or is not known to have: it is not recommended."]
    case_studies: int
    laboratories: Annotated[int, "That measured it."]
    groups: Annotated[int, "Research groups of these laboratories; only groups are independent of one another."]
    measurements: int
    derived: int
    findings: int

    @property
    def may_be_recommended(self) -> bool:
        return not self.always_unsafe and not self.lacks


@dataclass(frozen=True)
class RankedPart:
    """Entries that can be ordered among themselves, and the networks of numbers they rest on."""

    number: int
    basis: str  # "numbers", "findings" or "both"
    reference: str  # the best entry with numbers that may be recommended, else with numbers, else the best entry
    entries: tuple[Entry, ...]
    networks: tuple[Network, ...]
    members: tuple[str, ...]  # the entries in the order of `posterior`
    posterior: Posterior
    verdict: Verdict

    @property
    def leading(self) -> tuple[str, ...]:
        """Return the entries that come first, to be used or not."""
        return tuple(entry.key for entry in self.entries if entry.verdict in (USE, LEADS))

    @cached_property
    def fit(self) -> Fit:
        """Return the posterior means and covariance of the effects, as means over laboratories."""
        return self.posterior.fit()

    def difference(self, a: str, b: str) -> tuple[float, float]:
        """Estimate of effect(a) - effect(b) and its standard error, as a mean over laboratories."""
        i, j = self.members.index(a), self.members.index(b)
        return float(self.fit.effects[i] - self.fit.effects[j]), float(self._errors[0][i, j])

    def prediction(self, a: str, b: str) -> tuple[float, float]:
        """Estimate of effect(a) - effect(b), and half the width of the central 68 % in a new laboratory."""
        i, j = self.members.index(a), self.members.index(b)
        return float(self.fit.effects[i] - self.fit.effects[j]), float(self._errors[1][i, j])

    @cached_property
    def _errors(self) -> tuple[np.ndarray, np.ndarray]:
        return self.posterior.errors(), self.posterior.predictive_errors()

    def interval(self, a: str, b: str) -> tuple[float, float]:
        """Return the 95 % interval of effect(a) - effect(b) in a new laboratory."""
        places = np.array([self.members.index(a)]), np.array([self.members.index(b)])
        low, high = self.posterior.predictive_quantiles(*places, _ENDS)[0]
        return float(low), float(high)

    def has_numbers_between(self, a: str, b: str) -> bool:
        """Tell whether a chain of measured comparisons joins the two."""
        return any({a, b} <= set(network.treatments) for network in self.networks)


@dataclass(frozen=True)
class Ranking:
    """The answer: parts that no comparison joins, and the evidence that was used.

    storage_asked : whether the question names a kind of storage; this_year : year of the question, None: unknown
    posterior : of the entries of all parts, None where there are none; where : as for rank
    """

    parts: tuple[RankedPart, ...]
    arms: pd.DataFrame  # of comparable_arms
    findings: pd.DataFrame  # of scored_findings
    storage_asked: bool = False
    this_year: int | None = None
    posterior: Posterior | None = None
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """Return the metric in which the entries are compared; tier lists speak of throughput."""
        return str(self.arms["metric"].iloc[0]) if len(self.arms) else THROUGHPUT


def rank(
    arms: pd.DataFrame,
    findings: pd.DataFrame,
    axis: Axis,
    assumptions: Assumptions,
    *,
    knowledge: Knowledge | None = None,
    where: Mapping[str, str] = _ANYWHERE,
    storage_asked: bool = False,
    this_year: int | None = None,
    lacking: Callable[[str], tuple[str, ...]] = lambda key: (),
) -> Ranking:
    """Order the entries of an axis, best first.

    Parameters
    ----------
    arms, findings : DataFrames of modelling.evidence.dataframes; the arms of one metric
    axis : what is ranked
    knowledge : evidence of all workloads; None: these arms and findings alone
    where : load, storage, workload and columns of the arms that the question fixes, for which entries are estimated
    storage_asked : whether the question names a kind of storage; this_year : of the question; both for the strength
    lacking : key of an entry to the needs that it lacks, on which estimates do not depend

    Returns
    -------
    Ranking with one part for each set of entries that numbers or tier lists join.
    """
    used = comparable_arms(arms, axis, assumptions.spread)
    scored = scored_findings(findings, axis)
    nets = networks(trials(used))
    lists = [tuple(entries) for entries in scored.groupby("list")["entry"].unique()] if len(scored) else []
    joined = _joined_entries(nets, lists)
    if not joined:
        return Ranking((), used, scored, storage_asked, this_year, where=where)
    facts = {key: {**known, "lacks": lacking(key)} for key, known in _entry_facts(used, scored, axis).items()}
    if knowledge is None:
        knowledge = knowledge_from({where.get("workload", ""): (arms, findings)}, axis, assumptions)
    members = sorted(entry for entries in joined for entry in entries)
    everything = knowledge.posterior(entry_rows(axis, members, knowledge, where))
    meanings = _meanings(everything, facts, assumptions.margin)
    context = _Context(used, scored, this_year)
    parts = [
        _part(
            number, members, nets, lists, facts, everything, meanings, assumptions, context, is_whole=len(joined) == 1
        )
        for number, members in enumerate(joined, start=1)
    ]
    return Ranking(tuple(parts), used, scored, storage_asked, this_year, everything, where)


def knowledge_from(
    evidence: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]], axis: Axis, assumptions: Assumptions
) -> Knowledge:
    """Return this evidence alone as Knowledge. evidence : workload to arms of one metric, and findings"""
    arms = pd.concat([arms.assign(workload=name) for name, (arms, _) in evidence.items()], ignore_index=True)
    findings = [own.assign(workload=workload) for workload, (_, own) in evidence.items() if len(own)]
    lists = tier_list_cells(
        pd.concat(findings) if findings else None, axis, assumptions.tier_scale, assumptions.tier_doubt
    )
    cells = pd.concat([measurement_cells(arms, assumptions.spread, METRICS), lists], ignore_index=True)
    return Knowledge(cells, assumptions.scales, {*arms["backend"][arms["reach"] == NETWORK]})


def verdict_between(ranking: Ranking, part: RankedPart, kind: str, first: str, second: str) -> Verdict:
    """Return the verdict of this kind on two entries that numbers of the part join."""
    context = _Context(ranking.arms, ranking.findings, ranking.this_year)
    of_key = {entry.key: entry for entry in part.entries}
    links = part_links(part, ranking.arms)
    return _verdict_on_contrast(kind, of_key[first], of_key[second], part.members, part.posterior, links, context)


def part_links(part: RankedPart, arms: pd.DataFrame) -> Links:
    """Return the links by which numbers join the part's entries. arms : those of its ranking"""
    return _links(part.networks, arms)


def _joined_entries(nets: list[Network], lists: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the sets of entries joined by numbers or lists; those with numbers first, then the larger."""
    with_numbers = {entry for net in nets for entry in net.treatments}
    names = sorted(with_numbers.union(*lists))
    if not names:
        return []
    place = {name: index for index, name in enumerate(names)}
    links = np.eye(len(names))
    for entries in (*(net.treatments for net in nets), *lists):
        links[place[entries[0]], [place[entry] for entry in entries]] = 1.0
    sets = [tuple(names[index] for index in members) for members in connected(links)]
    return sorted(sets, key=lambda members: with_numbers.isdisjoint(members))


class _Meaning(NamedTuple):
    """Probability of being the best, of being slower than it by the margin, and expected loss in percent."""

    best: float
    slower: float
    loss: float


class _Context(NamedTuple):
    """The evidence on which the strength of a verdict rests, besides its part."""

    arms: pd.DataFrame
    findings: pd.DataFrame
    this_year: int | None


def _meanings(everything: Posterior, facts: Mapping[str, Mapping[str, Any]], margin: float) -> dict[str, _Meaning]:
    """Return what choosing each entry means among all that may be recommended, of all parts."""
    candidates = [place for place, key in enumerate(everything.treatments) if not facts[key]["lacks"]]
    are_durable = recommendable([facts[everything.treatments[place]]["always_unsafe"] for place in candidates])
    may = np.array(candidates)[are_durable] if any(are_durable) else np.array([])
    if not len(may):
        return {}
    forecast = everything.select(may).forecast(margin)
    rows = zip(forecast.best.tolist(), forecast.slower.tolist(), (100 * forecast.loss).tolist(), strict=True)
    return {everything.treatments[place]: _Meaning(*row) for place, row in zip(may, rows, strict=True)}


def _part(
    number: int,
    members: tuple[str, ...],
    nets: Iterable[Network],
    lists: Iterable[tuple[str, ...]],
    facts: dict[str, dict[str, Any]],
    everything: Posterior,
    meanings: Mapping[str, _Meaning],
    assumptions: Assumptions,
    context: _Context,
    *,
    is_whole: bool,
) -> RankedPart:
    inside = tuple(net for net in nets if net.treatments[0] in members)
    is_stated = any(entries[0] in members for entries in lists)
    estimate = everything.select(np.array([everything.treatments.index(member) for member in members]))
    effects = estimate.effects if inside else _effects_from_lists(members, context.findings, assumptions)
    order = np.lexsort((np.array(members), -effects.round(9)))  # by name where effects are equal but for rounding
    certainties = estimate.predictive_certainties()
    if inside:
        alike = (certainties >= _ENDS[0]) & (certainties <= _ENDS[1])
        ranks = list(range(1, len(order) + 1))
    else:  # lists have no spread: only entries of one tier are alike
        alike = np.abs(effects[:, None] - effects[None, :]) < 1e-6
        ranks = [1 + int((effects > effects[i] + 1e-6).sum()) for i in order]
    reference, numbers = _numbers(members, order, inside, estimate, meanings)
    links = _links(inside, context.arms)
    choices = [_choice(members[i], numbers.get(members[i]), reference, links) for i in order]
    steps = ladder(
        choices,
        assumptions.margin,
        differ=assumptions.differ,
        is_whole=is_whole,
        beaten_by=links.beaten_by([members[i] for i in order]),
    )
    scores = (certainties.sum(axis=1) - 0.5) / max(len(members) - 1, 1)
    entries = tuple(
        Entry(
            key=members[i],
            rank=rank,
            part=number,
            **numbers.get(members[i], _NO_NUMBERS),
            verdict=verdict,
            p_score=float(scores[i]),
            tied_with=tuple(members[j] for j in order if j != i and alike[i, j]),
            **facts[members[i]],
        )
        for i, rank, verdict in zip(order, ranks, steps.verdicts, strict=True)
    )
    return RankedPart(
        number,
        basis="both" if inside and is_stated else "numbers" if inside else "findings",
        reference=reference,
        entries=entries,
        networks=inside,
        members=members,
        posterior=estimate,
        verdict=_verdict(steps, entries, reference, members, estimate, links, context),
    )


def _effects_from_lists(members: tuple[str, ...], findings: pd.DataFrame, assumptions: Assumptions) -> np.ndarray:
    """Return the (members,) effects by tier lists alone."""
    statements = []
    for _, tiers in findings[findings["entry"].isin(members)].groupby("list"):
        standing = tiers.groupby("entry")["standing"].mean().to_dict()
        statements += from_tiers(standing, assumptions.tier_doubt)
    return bradley_terry(members, statements, assumptions.tier_scale).effects


_NO_NUMBERS = dict.fromkeys(
    ("ratio", "low", "high", "mean_low", "mean_high", "probability_best", "probability_slower", "expected_loss")
)


def _numbers(
    members: tuple[str, ...],
    order: np.ndarray,
    nets: tuple[Network, ...],
    estimate: Posterior,
    meanings: Mapping[str, _Meaning],
) -> tuple[str, dict[str, dict[str, float | None]]]:
    """Return the reference, and for each entry that numbers join to it the known fields of Entry by name."""
    net_of = {entry: net for net in nets for entry in net.treatments}
    numbered = [i for i in order if members[i] in net_of]
    reference = next((i for i in numbered if members[i] in meanings), numbered[0] if numbered else order[0])
    if members[reference] not in net_of:
        return members[reference], {}
    joined = np.array([i for i in order if net_of.get(members[i]) is net_of[members[reference]]])
    against = np.full(len(joined), reference)
    ratio = np.exp(estimate.effects[joined] - estimate.effects[reference])
    low, high = np.exp(estimate.predictive_quantiles(joined, against, _ENDS)).T
    mean_low, mean_high = np.exp(estimate.mean_quantiles(joined, against, _ENDS)).T
    columns = (ratio, low, high, mean_low, mean_high)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    numbers = {
        members[i]: {**_NO_NUMBERS, **dict(zip(_NO_NUMBERS, row, strict=False))}
        for i, row in zip(joined, rows, strict=True)
    }
    for key in numbers.keys() & meanings.keys():
        best, slower, loss = meanings[key]
        numbers[key] |= {"probability_best": best, "probability_slower": slower, "expected_loss": loss}
    return members[reference], numbers


def _choice(key: str, numbers: dict[str, Any] | None, first: str, links: Links) -> EntryForecast | None:
    if numbers is None or numbers["expected_loss"] is None:
        return None
    measured = links.measured(first, key)
    return EntryForecast(
        behind=1.0 - numbers["ratio"],
        slower=numbers["probability_slower"],
        loss=numbers["expected_loss"] / 100,
        groups=links.groups(first, key),
        factor=min(measured.values(), default=None),
    )


def _links(nets: Iterable[Network], arms: pd.DataFrame) -> Links:
    """Return the links of these networks. arms : of the networks, with research groups if known"""
    group_of: dict[str, str] = {}
    if "research_group" in arms:
        group_of = dict(arms[["laboratory", "research_group"]].drop_duplicates().itertuples(index=False, name=None))
    return Links((trial for net in nets for trial in net.trials), group_of)


def _verdict(
    steps: Ladder,
    entries: tuple[Entry, ...],
    reference: str,
    members: tuple[str, ...],
    estimate: Posterior,
    links: Links,
    context: _Context,
) -> Verdict:
    if steps.against is not None:
        first = next(entry for entry in entries if entry.key == reference)
        return _verdict_on_contrast(steps.kind, first, entries[steps.against], members, estimate, links, context)
    unsafe = any(entry.unsafe_options for entry in entries)
    has_numbers = bool(links.trials)
    return Verdict(steps.kind, *strength(Basis(groups=0, measured=has_numbers, has_numbers=has_numbers, unsafe=unsafe)))


def _verdict_on_contrast(
    kind: str,
    first: Entry,
    second: Entry,
    members: tuple[str, ...],
    estimate: Posterior,
    links: Links,
    context: _Context,
) -> Verdict:
    """Return the verdict between two entries, with the strength of the evidence on the two."""
    place = np.array([members.index(first.key)]), np.array([members.index(second.key)])
    new, mean = (quantiles(*place, _ENDS)[0] for quantiles in (estimate.predictive_quantiles, estimate.mean_quantiles))
    wider = float((new[1] - new[0]) / (mean[1] - mean[0])) if mean[1] > mean[0] else None
    measured = links.measured(first.key, second.key)
    arms = context.arms.loc[
        context.arms["entry"].isin((first.key, second.key)),
        ["entry", "fair_play_group", "laboratory", "storage", "year", "origin"],
    ]
    beside = arms[arms["laboratory"].isin(measured)] if measured else arms
    both = [arms["fair_play_group"][arms["entry"] == entry.key] for entry in (first, second)]
    years = arms["year"].dropna()
    groups = links.groups(first.key, second.key)
    basis = Basis(
        groups=groups,
        measured=first.measurements > 0,
        has_numbers=True,
        wider=wider,
        direct=bool(both[0].isin(both[1]).any()),
        confounded=bool(first.confounded_with or second.confounded_with),
        unsafe=bool(first.unsafe_options),
        newest=int(years.max()) if len(years) else None,
        this_year=context.this_year,
    )
    ahead = float(estimate.effects[place[0][0]] - estimate.effects[place[1][0]])
    lost, best = first.expected_loss, first.probability_best
    contrast = Contrast(
        first.key,
        second.key,
        ratio=float(np.exp(ahead)),
        low=float(np.exp(new[0])),
        high=float(np.exp(new[1])),
        measured=tuple(sorted(measured.values())),
        groups=groups,
        storage=tuple(sorted(set(beside["storage"].unique()) - {""})),
        is_derived=not (beside["origin"] == "measured").any(),
        cost=None if lost is None or best is None else lost / max(1.0 - best, 1e-9) if best < 1.0 else 0.0,
    )
    return Verdict(kind, *strength(basis), contrast)


def _grade(laboratories: int, measured: int, numbers: int) -> str:
    """Grade the evidence for an entry.

    laboratories : with spread; measured : arms; both without what was published unreviewed; numbers : all of it
    """
    return "A" if laboratories >= 2 else "B" if measured else "C" if numbers else "D"


def _entry_facts(arms: pd.DataFrame, scored: pd.DataFrame, axis: Axis) -> dict[str, dict[str, Any]]:
    """Return the fields of each Entry that describe its evidence: grade, confounding, durability and counts."""
    entry, names = pd.factorize(arms["entry"])
    measured = (arms["origin"] == "measured").to_numpy()
    reviewed = arms["is_reviewed"].to_numpy(dtype=bool)

    def by_entry(numbers: np.ndarray) -> dict[str, int]:
        return dict(zip(names, numbers.astype(int).tolist(), strict=True))

    def count_distinct(column: str, taken: np.ndarray) -> dict[str, int]:
        """Count the distinct values of the column by entry, among the arms that are taken."""
        pairs = pd.unique(pd.factorize(arms[column])[0][taken] * len(names) + entry[taken])
        return by_entry(np.bincount(pairs % max(len(names), 1), minlength=len(names)))

    every = np.full(len(arms), True)
    laboratories, studies = count_distinct("laboratory", every), count_distinct("case_study", every)
    groups = count_distinct("research_group", every)
    spread = count_distinct("laboratory", measured & reviewed & ~arms["assumed"].to_numpy(dtype=bool))
    reviewed_rows = by_entry(np.bincount(entry[measured & reviewed], minlength=len(names)))
    rows = by_entry(np.bincount(entry, measured * arms["measurements"].to_numpy(), len(names)))
    derived = by_entry(np.bincount(entry[~measured], minlength=len(names)))
    stated = scored.groupby("entry")["case_studies"].agg(list).to_dict() if len(scored) else {}
    for key, slugs in stated.items():
        studies[key] = len(set(arms["case_study"][arms["entry"] == key].unique()).union(*slugs))
    losing = _losing_options(arms, scored)
    confounded: dict[str, list[str]] = {}
    for column, is_cause in find_confounders(arms, axis.may_confound, axis.set_by_entry).items():
        for number in np.unique(entry[is_cause]):
            confounded.setdefault(names[number], []).append(column)
    return {
        key: {
            "grade": _grade(spread.get(key, 0), reviewed_rows.get(key, 0), rows.get(key, 0) + derived.get(key, 0)),
            "confounded_with": tuple(confounded.get(key, ())),
            "unsafe_options": tuple(sorted({option for options in losing.get(key, ()) for option in options})),
            "always_unsafe": all(losing.get(key, [()])),
            "case_studies": studies[key],
            "laboratories": laboratories.get(key, 0),
            "groups": groups.get(key, 0),
            "measurements": rows.get(key, 0),
            "derived": derived.get(key, 0),
            "findings": len(stated.get(key, ())),
        }
        for key in studies
    }


def _losing_options(arms: pd.DataFrame, scored: pd.DataFrame) -> dict[str, list[tuple[str, ...]]]:
    """Return entry to the unsafe options of each of its arms; without arms, of configurations that lists name."""
    columns = ["entry", "cache_mode", "guest_mount_options", "host_mount_options"]
    options_of: dict[str, list[tuple[str, ...]]] = {}
    for entry, *options in arms[columns].drop_duplicates().itertuples(index=False, name=None):
        options_of.setdefault(entry, []).append(losing_options(*options))
    measured = set(options_of)
    for entry, losing in zip(scored["entry"], scored["losing"], strict=True) if len(scored) else ():
        if entry not in measured and losing:
            options_of.setdefault(entry, []).extend(losing)
    return options_of
