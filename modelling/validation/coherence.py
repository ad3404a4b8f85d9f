"""Find answers that contradict each other, themselves, or the claims that the evidence supports. No Django.

A rule is a function from answers to breaches. A breach has a reason in a file, or it fails. Source:
docs/models/coherence.md.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

from kdb.pairs import pair_parts
from kdb.units import SPEEDS, THROUGHPUT
from modelling.answers.content import Decision
from modelling.estimation.ranking import Entry
from modelling.estimation.recommendation import STRONG
from modelling.estimation.verdict import APART, AVOID, LEADS, NO_DIFFERENCE, STRENGTHS, SURE, UNKNOWN, USE
from modelling.evidence.families import may_be_offered
from modelling.evidence.normal import NORMAL_95
from modelling.evidence.question import Question
from modelling.evidence.words import listed

from .claimed import Claimed

LEAST_GROUPS = 2  # research groups behind an imperative


@dataclass(frozen=True)
class ToldPart:
    """The entries of an answer that comparisons join. groups : research groups that measured some of them"""

    verdict: Decision
    entries: tuple[Entry, ...]
    groups: int

    @property
    def first(self) -> frozenset[str]:
        """Return the keys that its sentence puts first: to be used, or leading where they were measured."""
        kind = self.verdict.kind
        return frozenset(entry.key for entry in self.entries if entry.verdict == kind and kind in (USE, LEADS))

    @property
    def used(self) -> frozenset[str]:
        """Return the keys that its sentence says to use."""
        return self.first if self.verdict.kind == USE else frozenset()

    @property
    def good_enough(self) -> frozenset[str]:
        """Return the keys that its sentence puts first, or calls no different from the best."""
        kind = self.verdict.kind
        return frozenset(e.key for e in self.entries if e.verdict == kind and kind in (USE, LEADS, NO_DIFFERENCE))

    @property
    def avoided(self) -> frozenset[str]:
        """Return the keys that it says to avoid."""
        return frozenset(entry.key for entry in self.entries if entry.verdict == AVOID)

    def sureness(self, first: str, second: str) -> float:
        """Return a probability that the first is faster than the second as a mean over laboratories; 0 where numbers do
        not join them.

        The intervals are against the part's reference. Of two others the deviations are added, which is the most that
        their difference can have: less is called sure than is.
        """
        of_key = {entry.key: entry for entry in self.entries}
        ahead, deviation = 0.0, 0.0
        for key, sign in ((first, 1), (second, -1)):
            entry = of_key.get(key)
            if entry is None or entry.ratio is None or entry.mean_low is None or entry.mean_high is None:
                return 0.0
            ahead += sign * math.log(entry.ratio)
            deviation += math.log(entry.mean_high / entry.mean_low) / (2 * NORMAL_95)
        return float(ndtr(ahead / deviation)) if deviation else float(np.heaviside(ahead, 0.5))


@dataclass(frozen=True)
class Told:
    """The statements of an answer in the form that the rules need. metric : in which its entries are compared"""

    question: Question
    metric: str
    verdict: Decision
    parts: tuple[ToldPart, ...]


@dataclass(frozen=True)
class Breach:
    """A rule that answers break. about : keys of the questions and codes of claims; what : entries it is about"""

    rule: str
    about: tuple[str, ...]
    what: tuple[str, ...]
    sentence: str

    @property
    def name(self) -> str:
        """Return what the breach is called in the file of reasons: the same while the same is contradicted."""
        return " | ".join((self.rule, *self.about, ", ".join(self.what)))


# Two answers


def contradictions(one: ToldPart, other: ToldPart) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what two answers on the same entries contradict each other in, as (entries, clause).

    - one puts first, or calls no different from the best, what the other says to avoid, and knows something that the
      other does not say to avoid;
    - both put something first of what both know by numbers, and have nothing in common;
    - each is sure of the opposite order of two entries.
    """
    known = [{entry.key for entry in part.entries} for part in (one, other)]
    rivals = known[0] & known[1]
    opposed = {key for key in one.good_enough & other.avoided if rivals - other.avoided}
    opposed |= {key for key in other.good_enough & one.avoided if rivals - one.avoided}
    for key in sorted(opposed):
        yield (key,), f"{key} is among the best of one and to be avoided by the other"
    numbered = [{entry.key for entry in part.entries if entry.ratio is not None} for part in (one, other)]
    first = [sorted(part.first & numbered[0] & numbered[1]) for part in (one, other)]
    if all(first) and not one.first & other.first:
        yield (*first[0], *first[1]), f"one puts {listed(first[0])} first, the other {listed(first[1])}"
    for pair in combinations(sorted(numbered[0] & numbered[1]), 2):
        for faster, slower in (pair, pair[::-1]):
            if one.sureness(faster, slower) >= SURE and other.sureness(slower, faster) >= SURE:
                yield (faster, slower), f"one is sure that {faster} is faster than {slower}, the other of the reverse"


def _between(rule: str, one: Told, other: Told) -> Iterator[Breach]:
    for part in one.parts:
        for counterpart in other.parts:
            yield from _breaches(rule, (one.question.key, other.question.key), part, counterpart)


def _breaches(rule: str, about: tuple[str, ...], one: ToldPart, other: ToldPart) -> Iterator[Breach]:
    for what, clause in contradictions(one, other):
        yield Breach(rule, about, what, f"{about[0]} and {about[1]}: {clause}.")


def _narrowed(answers: Mapping[Question, Told]) -> Iterator[tuple[str, Told, Told]]:
    """Yield (filter, wider, narrower) of each two answers in one metric that differ in a filter that the first leaves
    open."""
    for question, narrower in answers.items():
        for name in question.filters:
            without: dict[str, Any] = {name: None}
            wider = answers.get(replace(question, **without))
            if wider is not None and wider.metric == narrower.metric:
                yield name, wider, narrower


def by_machines(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Compare the answers for any number of machines with those for each number."""
    for name, wider, narrower in _narrowed(answers):
        if name == "vm_count":
            yield from _between("machines", wider, narrower)


def by_filter(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Compare the answers without a filter with those with it."""
    for name, wider, narrower in _narrowed(answers):
        if name not in ("vm_count", "metric"):
            yield from _between("filter", wider, narrower)


def by_metric(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Compare the answers in one metric of speed with those in another."""
    in_metrics: dict[Question, dict[str, Told]] = {}
    for question, told in answers.items():
        if told.metric in SPEEDS:
            in_metrics.setdefault(replace(question, metric=None), {}).setdefault(told.metric, told)
    for by_name in in_metrics.values():
        for one, other in combinations(by_name.values(), 2):
            yield from _between("metric", one, other)


def by_pair(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Hold what is told of pairs against what is told of guest and of host file systems: of two pairs on one host file
    system the guests, and of two with one guest file system the hosts."""
    sides = (("guest-fs", "host_fs"), ("host-fs", "guest_fs"))
    for question, told in answers.items():
        if question.axis != "fs-pair":
            continue
        for side, (axis, held) in enumerate(sides):
            for part in told.parts:
                for value, same in _sides(part, side).items():
                    asked = replace(question, axis=axis)
                    on_it: dict[str, Any] = {held: value}
                    for other in dict.fromkeys((asked, replace(asked, **on_it))):
                        for counterpart in answers[other].parts if other in answers else ():
                            about = (question.key, other.key)
                            for what, clause in contradictions(same, counterpart):
                                named = (*what, f"{held}={value}")
                                sentence = f"{about[0]}, the pairs with {held} {value}, and {about[1]}: {clause}."
                                yield Breach("pair", about, named, sentence)


def _sides(part: ToldPart, side: int) -> dict[str, ToldPart]:
    """Return the file system that pairs have in common to what is told of them by their other side.

    side : 0 for guests, 1 for hosts. That a pair is to be avoided does not say which side is the cause.
    """
    same: dict[str, list[Entry]] = {}
    for entry in part.entries:
        pair = pair_parts(entry.key)
        verdict = UNKNOWN if entry.verdict == AVOID else entry.verdict
        same.setdefault(pair[1 - side], []).append(replace(entry, key=pair[side], verdict=verdict))
    return {value: replace(part, entries=tuple(entries)) for value, entries in same.items()}


def by_claim(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Hold answers against the claims that the numbers support: an answer is asked of all that it speaks of in part.

    Contradicted is that one entry is faster than another by an answer that puts the other first, says to avoid the one,
    or is sure of the reverse; and a place on a list of the best by "avoid", of the worst by coming first.
    """
    for claim in claims:
        for question, told in answers.items():
            if (question.axis, question.workload) != (claim.axis, claim.workload) or told.metric != THROUGHPUT:
                continue
            if not {item for item in question.filters.items() if item[0] != "metric"} <= set(claim.at):
                continue
            for part in told.parts:
                clause = _denied(claim, part)
                if clause:
                    what = tuple(key for key in (claim.faster, claim.slower) if key)
                    sentence = f"{claim.code}, supported, and {question.key}: {clause}."
                    yield Breach("claim", (claim.code, question.key), what, sentence)


def _denied(claim: Claimed, part: ToldPart) -> str:
    """Say how an answer denies the claim; empty: it does not."""
    faster, slower = claim.faster, claim.slower
    known = {entry.key for entry in part.entries}
    if not {key for key in (faster, slower) if key} <= known:
        return ""
    if faster in part.avoided and slower not in part.avoided:
        return f"{faster} is {f'faster than {slower}' if slower else 'among the best'}, and is to be avoided"
    if slower in part.first and faster not in part.first:
        return f"{slower} is {f'slower than {faster}' if faster else 'among the worst'}, and comes first"
    if faster and slower and part.sureness(slower, faster) >= SURE:
        return f"{faster} is faster than {slower}, and the answer is sure of the reverse"
    return ""


# One answer, and its strength


def strength_grows(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Find questions that, asked more narrowly, have the same answer more strongly: there is less evidence behind it.

    The same answer is the same kind of verdict on the same first and second entry.
    """
    for name, wider, narrower in _narrowed(answers):
        if name == "metric" or not len(wider.parts) == len(narrower.parts) == 1:
            continue
        decided = [
            (told.verdict.kind, [entry.key for entry in told.parts[0].entries[:2]]) for told in (wider, narrower)
        ]
        before, after = (STRENGTHS.index(told.verdict.strength) for told in (wider, narrower))
        if decided[0] == decided[1] and after > before:
            about = (wider.question.key, narrower.question.key)
            strengths = wider.verdict.strength, narrower.verdict.strength
            sentence = f"{about[0]} is {strengths[0]}, and {about[1]}, which admits less, {strengths[1]}."
            yield Breach("strength", about, tuple(decided[0][1]), sentence)


def entry_beside_another_kind(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Find entries that wear another verdict than the sentence on their part, "avoid" and "unknown" apart, and such as
    are to be used where the whole answer does not say so."""
    for told in answers.values():
        wrong = [
            entry.key
            for part in told.parts
            for entry in part.entries
            if entry.verdict not in (AVOID, UNKNOWN)
            and (entry.verdict != part.verdict.kind or (entry.verdict == USE and told.verdict.kind != USE))
        ]
        if wrong:
            sentence = f"{told.question.key}: {listed(wrong)} beside the verdict “{told.verdict.kind}”."
            yield Breach("entries", (told.question.key,), tuple(wrong), sentence)


def imperative_of_one_group(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Find what is said to use or to avoid though fewer than two research groups measured anything in its part; to
    avoid is said where one group found it slower by a factor beyond what laboratories ever differ by."""
    for told in answers.values():
        for part in told.parts:
            if part.groups >= LEAST_GROUPS:
                continue
            far = {entry.key for entry in part.entries if entry.ratio is not None and entry.ratio * APART <= 1}
            advice = [f"use {key}" for key in sorted(part.used)] + [
                f"avoid {key}" for key in sorted(part.avoided - far)
            ]
            if advice:
                sentence = (
                    f"{told.question.key}: {listed(advice)}, by {part.groups or 'no'} research group with numbers."
                )
                yield Breach("one group", (told.question.key,), tuple(advice), sentence)


def recommendation_of_its_answer(answers: Mapping[Question, Told], claims: Sequence[Claimed] = ()) -> Iterator[Breach]:
    """Find recommendations that their own answer does not bear: none though something was compared that may be
    recommended, one that its own part says to avoid, and one that is strong though fewer than two groups measured."""
    for told in answers.values():
        every = (entry for part in told.parts for entry in part.entries)
        may = [entry.key for entry in every if entry.may_be_recommended and may_be_offered(entry.key)]
        avoided = {key for part in told.parts for key in part.avoided}
        groups = max((part.groups for part in told.parts), default=0)
        decided, about = told.verdict, (told.question.key,)
        if may and not decided.choice:
            yield Breach("recommendation", about, (), f"{told.question.key} recommends nothing.")
        if wrong := sorted({*decided.choice} & avoided):
            yield Breach("recommendation", about, (*wrong,), f"{about[0]}: {listed(wrong)}, and to be avoided.")
        if decided.force == STRONG and groups < LEAST_GROUPS:
            sentence = f"{told.question.key} is strong by {groups or 'no'} research group with numbers."
            yield Breach("recommendation", about, decided.choice, sentence)


Rule = Callable[[Mapping[Question, Told], Sequence[Claimed]], Iterator[Breach]]
RULES: tuple[Rule, ...] = (
    by_machines,
    by_filter,
    by_metric,
    by_pair,
    by_claim,
    strength_grows,
    entry_beside_another_kind,
    imperative_of_one_group,
    recommendation_of_its_answer,
)


def breaches(answers: Iterable[Told], claims: Sequence[Claimed]) -> list[Breach]:
    """Return every breach of every rule, each once."""
    by_question = {told.question: told for told in answers}
    every = (breach for rule in RULES for breach in rule(by_question, claims))
    return list({breach.name: breach for breach in every}.values())
