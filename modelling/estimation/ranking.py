"""Turns evidence into an order with its uncertainty. No Django.

Source: docs/models/ranking.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd

from kdb.content import Among
from kdb.units import THROUGHPUT
from modelling.evidence.axes import Axis, entry_key
from modelling.evidence.durability import losing_options
from modelling.evidence.fairplay import came_along
from modelling.evidence.question import Grade

from .arms import Spread, comparable_arms, trials
from .bayes import Posterior, posterior
from .graph import connected
from .network import Fit, Network, networks
from .ordinal import Comparison, from_tiers
from .verdict import AVOID, CHOICES, USE, Basis, Choice, Verdict, durable, of_lists, of_numbers, of_part

# Raised with every change that makes the same evidence give another answer: kept answers are not mixed.
METHOD = 9

_ENDS = (0.025, 0.975)
# A tier list's standing of a pair, from the text list and its outstanding marks.
_STANDING = {"best": 1.0, "unlisted": 0.0, "worst": -1.0}


@dataclass(frozen=True)
class Assumptions:
    """The assumptions of an answer; every one of them is a named setting and shown with the answer.

    spread : of repetitions, before any is seen
    tier_scale : ln ratio for which a tier list names the faster entry with odds of e to 1
    tier_doubt : pseudo-statements in each direction that a tier list is held against
    tau_scales : axis to the scale of the prior on the spread between laboratories; "" for any other axis
    margin : share of the best's value that counts as slower
    """

    spread: Spread
    tier_scale: float
    tier_doubt: float
    tau_scales: Mapping[str, float] = field(default_factory=lambda: {"": 0.3})
    margin: float = 0.1

    def tau_scale(self, axis: str) -> float:
        """Return the prior's scale for an axis; that of "" where it has none of its own."""
        return self.tau_scales.get(axis, self.tau_scales[""])


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
    # The next three are null without numbers, and of what is never recommended.
    probability_best: Annotated[float | None, "In a new laboratory, 0 to 1."]
    probability_slower: Annotated[float | None, "Than the best by the margin, 0 to 1."]
    expected_loss: Annotated[float | None, "Percent of the best's, when it is chosen."]
    verdict: Annotated[str, Among(CHOICES), "What it means for a choice in a new laboratory."]
    p_score: Annotated[float, "Mean certainty of being better than another entry, 0 to 1."]
    grade: Annotated[Grade, "A several case studies with spread, B measured, C derived, D stated only."]
    tied_with: Annotated[tuple[str, ...], "Keys it cannot be told apart from."]
    confounded_with: Annotated[
        tuple[str, ...], "What came along with it: compared arms differ in it, or leave it open."
    ]
    unsafe_options: Annotated[tuple[str, ...], "Those it was measured with that can lose acknowledged writes."]
    always_unsafe: Annotated[bool, "Never measured without one: it is not recommended."]
    case_studies: int
    laboratories: Annotated[int, "That measured it."]
    measurements: int
    derived: int
    findings: int


@dataclass(frozen=True)
class RankedPart:
    """Entries that can be ordered among themselves, and the networks of numbers they rest on."""

    number: int
    basis: str  # "numbers", "findings" or "both"
    reference: str  # the best entry with numbers that may be recommended, else with numbers, else the best entry
    entries: tuple[Entry, ...]
    best: tuple[str, ...]
    worst: tuple[str, ...]
    networks: tuple[Network, ...]
    members: tuple[str, ...]  # the entries in the order of `posterior`
    posterior: Posterior
    verdict: Verdict

    @cached_property
    def fit(self) -> Fit:
        """Return the posterior means and covariance of the effects, as means over laboratories."""
        return self.posterior.fit()

    def difference(self, a: str, b: str) -> tuple[float, float]:
        """Estimate of effect(a) - effect(b) and its standard error, as a mean over laboratories."""
        i, j = self.members.index(a), self.members.index(b)
        return float(self.fit.effects[i] - self.fit.effects[j]), float(self._errors[0][i, j])

    def prediction(self, a: str, b: str) -> tuple[float, float]:
        """Estimate of effect(a) - effect(b) and the standard deviation of what a new laboratory will see."""
        i, j = self.members.index(a), self.members.index(b)
        return float(self.fit.effects[i] - self.fit.effects[j]), float(self._errors[1][i, j])

    @cached_property
    def _errors(self) -> tuple[np.ndarray, np.ndarray]:
        return self.posterior.errors(), self.posterior.new_errors()

    def interval(self, a: str, b: str) -> tuple[float, float]:
        """Return the 95 % interval of effect(a) - effect(b) in a new laboratory."""
        places = np.array([self.members.index(a)]), np.array([self.members.index(b)])
        low, high = self.posterior.new_quantiles(*places, _ENDS)[0]
        return float(low), float(high)

    def has_numbers_between(self, a: str, b: str) -> bool:
        """Tell whether a chain of measured comparisons joins the two."""
        return any({a, b} <= set(network.treatments) for network in self.networks)


@dataclass(frozen=True)
class Ranking:
    """The answer: parts that no comparison joins, and the evidence that was used.

    storage_asked : whether the question names a kind of storage; this_year : year of the question, None: not told
    """

    parts: tuple[RankedPart, ...]
    arms: pd.DataFrame  # of comparable_arms
    findings: pd.DataFrame  # of scored_findings
    storage_asked: bool = False
    this_year: int | None = None

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
    storage_asked: bool = False,
    this_year: int | None = None,
) -> Ranking:
    """Order the entries of an axis, best first.

    Parameters
    ----------
    arms, findings : DataFrames of modelling.evidence.frames; the arms of one metric
    axis : what is ranked
    storage_asked : whether the question names a kind of storage; this_year : of the question; both for the strength

    Returns
    -------
    Ranking with one part for each set of entries that numbers or tier lists join.
    """
    used = comparable_arms(arms, axis, assumptions.spread)
    scored = scored_findings(findings, axis)
    nets = networks(trials(used))
    comparisons = _comparisons(scored, assumptions.tier_doubt)
    facts = _entry_facts(used, scored, axis)
    about = _About(used, scored, storage_asked, this_year)
    parts = [
        _part(number, members, nets, comparisons, facts, axis, assumptions, about)
        for number, members in enumerate(_joined(nets, comparisons), start=1)
    ]
    return Ranking(tuple(parts), used, scored, storage_asked, this_year)


def basis_between(ranking: Ranking, part: RankedPart, first: str, second: str) -> Basis:
    """Return what a verdict rests on, on two entries that numbers of the part join."""
    of_key = {entry.key: entry for entry in part.entries}
    net = next(net for net in part.networks if {first, second} <= set(net.treatments))
    place = np.array([part.members.index(second)]), np.array([part.members.index(first)])
    new, mean = (
        np.exp(part.posterior.new_quantiles(*place, _ENDS)),
        np.exp(part.posterior.mean_quantiles(*place, _ENDS)),
    )
    about = _About(ranking.arms, ranking.findings, ranking.storage_asked, ranking.this_year)
    return _basis_of_two(of_key[first], of_key[second], new[0].tolist(), mean[0].tolist(), net, about)


def scored_findings(findings: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """Return the findings with the standing of each pair among those that agree in what the axis holds fixed.

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
    """Return every tier list as weighted comparisons; a list is stated once for each of its case studies."""
    comparisons = []
    for _, rows in scored.groupby("list"):
        standing = rows.groupby("entry")["standing"].mean().to_dict()
        statements = len({slug for slugs in rows["case_studies"] for slug in slugs})
        comparisons += from_tiers(standing, statements, doubt)
    return comparisons


def _joined(nets: list[Network], comparisons: list[Comparison]) -> list[tuple[str, ...]]:
    """Return the sets of entries joined by numbers or lists; those with numbers first, then the larger."""
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


class _About(NamedTuple):
    """The evidence besides its part that the strength of a verdict is judged by."""

    arms: pd.DataFrame
    findings: pd.DataFrame
    storage_asked: bool
    this_year: int | None


def _part(
    number: int,
    members: tuple[str, ...],
    nets: Iterable[Network],
    comparisons: Iterable[Comparison],
    facts: dict[str, dict[str, Any]],
    axis: Axis,
    assumptions: Assumptions,
    about: _About,
) -> RankedPart:
    inside = tuple(net for net in nets if net.treatments[0] in members)
    stated = [comparison for comparison in comparisons if comparison.above in members]
    trials_inside = [trial for net in inside for trial in net.trials]
    tau_scale = assumptions.tau_scale(axis.name)
    estimate = posterior(members, trials_inside, tau_scale, stated, assumptions.tier_scale)
    effects = estimate.effects
    order = np.lexsort((np.array(members), -effects.round(9)))  # equal but for rounding: by name
    certainties = estimate.new_certainties()
    if inside:
        alike = (certainties >= _ENDS[0]) & (certainties <= _ENDS[1])
        ranks = list(range(1, len(order) + 1))
    else:  # lists carry no spread: only what they put into one tier is alike
        alike = np.abs(effects[:, None] - effects[None, :]) < 1e-6
        ranks = [1 + int((effects > effects[i] + 1e-6).sum()) for i in order]
    may = dict(zip(members, durable([facts[key]["always_unsafe"] for key in members]), strict=True))
    reference, numbers = _numbers(members, order, inside, estimate, assumptions.margin, may)
    choices = [_choice(numbers.get(members[i])) for i in order]
    if inside:
        verdicts = of_numbers(choices, assumptions.margin)
    else:
        verdicts = of_lists([rank if may[members[i]] else None for i, rank in zip(order, ranks, strict=True)])
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
        for i, rank, verdict in zip(order, ranks, verdicts, strict=True)
    )
    first = next((choice for choice in choices if choice is not None), None)
    return RankedPart(
        number,
        basis="both" if inside and stated else "numbers" if inside else "findings",
        reference=reference,
        entries=entries,
        best=tuple(entry.key for entry in entries if entry.verdict == USE),
        worst=tuple(entry.key for entry in entries if entry.verdict == AVOID),
        networks=inside,
        members=members,
        posterior=estimate,
        verdict=of_part(verdicts, first, assumptions.margin, _basis(entries, numbers, reference, inside, about)),
    )


_NO_NUMBERS = dict.fromkeys(
    ("ratio", "low", "high", "mean_low", "mean_high", "probability_best", "probability_slower", "expected_loss")
)


def _numbers(
    members: tuple[str, ...],
    order: np.ndarray,
    nets: tuple[Network, ...],
    estimate: Posterior,
    margin: float,
    may: Mapping[str, bool],
) -> tuple[str, dict[str, dict[str, float | None]]]:
    """Return the reference, and what is known of each entry that numbers join to it, by the names of Entry.

    may : whether each entry may be recommended; what choosing it means is said among those alone
    """
    net_of = {entry: net for net in nets for entry in net.treatments}
    numbered = [i for i in order if members[i] in net_of]
    reference = next((i for i in numbered if may[members[i]]), numbered[0] if numbered else order[0])
    if members[reference] not in net_of:
        return members[reference], {}
    joined = np.array([i for i in order if net_of.get(members[i]) is net_of[members[reference]]])
    against = np.full(len(joined), reference)
    ratio = np.exp(estimate.effects[joined] - estimate.effects[reference])
    low, high = np.exp(estimate.new_quantiles(joined, against, _ENDS)).T
    mean_low, mean_high = np.exp(estimate.mean_quantiles(joined, against, _ENDS)).T
    columns = (ratio, low, high, mean_low, mean_high)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    numbers = {
        members[i]: {**_NO_NUMBERS, **dict(zip(_NO_NUMBERS, row, strict=False))}
        for i, row in zip(joined, rows, strict=True)
    }
    choosable = np.array([i for i in joined if may[members[i]]])
    if len(choosable):
        forecast = estimate.among(choosable).forecast(margin)
        chosen = zip(
            choosable, forecast.best.tolist(), forecast.slower.tolist(), (100 * forecast.loss).tolist(), strict=True
        )
        for i, best, slower, loss in chosen:
            numbers[members[i]] |= {"probability_best": best, "probability_slower": slower, "expected_loss": loss}
    return members[reference], numbers


def _choice(numbers: dict[str, Any] | None) -> Choice | None:
    if numbers is None or numbers["expected_loss"] is None:
        return None
    return Choice(1.0 - numbers["ratio"], numbers["probability_slower"], numbers["expected_loss"] / 100)


def _basis(
    entries: tuple[Entry, ...],
    numbers: dict[str, dict[str, Any]],
    reference: str,
    nets: tuple[Network, ...],
    about: _About,
) -> Basis:
    """Return what the verdict on a part rests on; the first and the second are those with numbers where there are any,
    and of them those that may be recommended where there are any."""
    numbered = [entry for entry in entries if entry.key in numbers]
    numbered = [entry for entry in numbered if entry.expected_loss is not None] or numbered
    if not numbered:
        publications = about.findings[about.findings["entry"].isin([entry.key for entry in entries])]["publication"]
        unsafe = any(entry.unsafe_options for entry in entries if entry.verdict == USE)
        return Basis(laboratories=publications.nunique(), measured=False, has_numbers=False, unsafe=unsafe)
    first, second = numbered[0], (numbered + numbered)[1]
    net = next(net for net in nets if reference in net.treatments)
    ends = numbers[second.key]
    return _basis_of_two(first, second, (ends["low"], ends["high"]), (ends["mean_low"], ends["mean_high"]), net, about)


def _basis_of_two(
    first: Entry, second: Entry, new: Sequence[float], mean: Sequence[float], net: Network, about: _About
) -> Basis:
    """Return what a verdict on two entries of a network rests on.

    new, mean : ends of the intervals of the second against the first, in a new laboratory and as a mean
    """
    arms = about.arms.loc[about.arms["entry"].isin(net.treatments), ["entry", "group", "laboratory", "storage", "year"]]
    both = [arms["group"][arms["entry"] == entry.key] for entry in (first, second)]
    years = arms["year"].dropna()
    widths = [np.log(high / low) for low, high in (new, mean)]
    return Basis(
        laboratories=arms["laboratory"].nunique(),
        measured=first.measurements > 0,
        has_numbers=True,
        wider=float(widths[0] / widths[1]) if widths[1] > 0 else None,
        direct=bool(both[0].isin(both[1]).any()),
        confounded=bool(first.confounded_with or second.confounded_with),
        unsafe=bool(first.unsafe_options),
        storage=tuple(sorted(set(arms["storage"].unique()) - {""})),
        storage_asked=about.storage_asked,
        newest=int(years.max()) if len(years) else None,
        this_year=about.this_year,
    )


def _grade(laboratories: int, measured: int, numbers: int) -> str:
    """Grade the evidence for an entry.

    laboratories : with spread; measured : arms of them; both of what was not published without review
    """
    return "A" if laboratories >= 2 else "B" if measured else "C" if numbers else "D"


def _entry_facts(arms: pd.DataFrame, scored: pd.DataFrame, axis: Axis) -> dict[str, dict[str, Any]]:
    """Return what stands behind each entry: grade, confounding, and counts of the evidence that was compared."""
    entry, names = pd.factorize(arms["entry"])
    measured = (arms["origin"] == "measured").to_numpy()
    reviewed = arms["is_reviewed"].to_numpy(dtype=bool)

    def by_entry(numbers: np.ndarray) -> dict[str, int]:
        return dict(zip(names, numbers.astype(int).tolist(), strict=True))

    def different(column: str, taken: np.ndarray) -> dict[str, int]:
        """Count the different values of the column that the arms taken of each entry have."""
        pairs = pd.unique(pd.factorize(arms[column])[0][taken] * len(names) + entry[taken])
        return by_entry(np.bincount(pairs % max(len(names), 1), minlength=len(names)))

    every = np.full(len(arms), True)
    laboratories, studies = different("laboratory", every), different("case_study", every)
    spread = different("laboratory", measured & reviewed & ~arms["assumed"].to_numpy(dtype=bool))
    reviewed_rows = by_entry(np.bincount(entry[measured & reviewed], minlength=len(names)))
    rows = by_entry(np.bincount(entry, measured * arms["measurements"].to_numpy(), len(names)))
    derived = by_entry(np.bincount(entry[~measured], minlength=len(names)))
    stated = scored.groupby("entry")["case_studies"].agg(list).to_dict() if len(scored) else {}
    for key, slugs in stated.items():
        studies[key] = len(set(arms["case_study"][arms["entry"] == key].unique()).union(*slugs))
    losing = _losing(arms, scored)
    confounded: dict[str, list[str]] = {}
    for column, is_cause in came_along(arms, axis.may_confound, axis.set_by_entry).items():
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
            "measurements": rows.get(key, 0),
            "derived": derived.get(key, 0),
            "findings": len(stated.get(key, ())),
        }
        for key in studies
    }


def _losing(arms: pd.DataFrame, scored: pd.DataFrame) -> dict[str, list[tuple[str, ...]]]:
    """Return entry to the options of each of its arms that can lose acknowledged writes; without arms, of what lists
    speak of."""
    columns = ["entry", "cache_mode", "guest_mount_options", "host_mount_options"]
    options_of: dict[str, list[tuple[str, ...]]] = {}
    for entry, *options in arms[columns].drop_duplicates().itertuples(index=False, name=None):
        options_of.setdefault(entry, []).append(losing_options(*options))
    measured = set(options_of)
    for entry, losing in zip(scored["entry"], scored["losing"], strict=True) if len(scored) else ():
        if entry not in measured and losing:
            options_of.setdefault(entry, []).extend(losing)
    return options_of
