"""Find answers that contradict each other or themselves. No Django.

A rule is a function from answers to breaches. A breach needs a reason in FILE. Source: docs/models/coherence.md.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from kdb.pairs import pair_parts
from kdb.units import SPEEDS
from modelling.answers.content import AnswerVerdict
from modelling.estimation.ranking import Entry
from modelling.estimation.recommendation import STRONG
from modelling.estimation.verdict import APART, AVOID, LEADS, NO_DIFFERENCE, STRENGTHS, SURE, UNKNOWN, USE
from modelling.evidence.families import may_be_offered
from modelling.evidence.normal import NORMAL_95
from modelling.evidence.question import Question
from modelling.evidence.words import listed

LEAST_GROUPS = 2  # research groups behind an imperative
FILE = Path(__file__).with_name("reasons.json")


@dataclass(frozen=True)
class PartStatements:
    """The entries of an answer that comparisons join. groups : research groups that measured some of them"""

    verdict: AnswerVerdict
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
class Statements:
    """The statements of an answer in the form that the rules need. metric : in which its entries are compared"""

    question: Question
    metric: str
    verdict: AnswerVerdict
    parts: tuple[PartStatements, ...]


Answers = Mapping[Question, Statements]


@dataclass(frozen=True)
class Breach:
    """A rule that answers break. about : keys of the questions; what : entries it is about"""

    rule: str
    about: tuple[str, ...]
    what: tuple[str, ...]
    sentence: str

    @property
    def name(self) -> str:
        """Return what the breach is called in the file of reasons: the same while the same is contradicted."""
        return " | ".join((self.rule, *self.about, ", ".join(self.what)))


# Two answers


def contradictions(one: PartStatements, other: PartStatements) -> Iterator[tuple[tuple[str, ...], str]]:
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


def _between(rule: str, one: Statements, other: Statements) -> Iterator[Breach]:
    about = one.question.key, other.question.key
    for part in one.parts:
        for counterpart in other.parts:
            for what, clause in contradictions(part, counterpart):
                yield Breach(rule, about, what, f"{about[0]} and {about[1]}: {clause}.")


def _narrowed(answers: Answers) -> Iterator[tuple[str, Statements, Statements]]:
    """Yield (filter, wider, narrower) of each two answers in one metric that differ in a filter that the first leaves
    open."""
    for question, narrower in answers.items():
        for name in question.filters:
            without: dict[str, Any] = {name: None}
            wider = answers.get(replace(question, **without))
            if name != "metric" and wider is not None and wider.metric == narrower.metric:
                yield name, wider, narrower


def compare_filters(answers: Answers) -> Iterator[Breach]:
    """Compare the answers for any number of machines, or without another filter, with those with it."""
    for name, wider, narrower in _narrowed(answers):
        yield from _between("machines" if name == "vm_count" else "filter", wider, narrower)


def compare_metrics(answers: Answers) -> Iterator[Breach]:
    """Compare the answers in one metric of speed with those in another."""
    in_metrics: dict[Question, dict[str, Statements]] = {}
    for question, answer in answers.items():
        if answer.metric in SPEEDS:
            in_metrics.setdefault(replace(question, metric=None), {}).setdefault(answer.metric, answer)
    for by_name in in_metrics.values():
        for one, other in combinations(by_name.values(), 2):
            yield from _between("metric", one, other)


def compare_pairs_with_sides(answers: Answers) -> Iterator[Breach]:
    """Hold what is said of pairs against what is said of guest and of host file systems: of two pairs on one host file
    system the guests, and of two with one guest file system the hosts."""
    sides = (("guest-fs", "host_fs"), ("host-fs", "guest_fs"))
    for question, answer in answers.items():
        if question.axis != "fs-pair":
            continue
        for side, (axis, held) in enumerate(sides):
            for part in answer.parts:
                for value, alike in _sides(part, side).items():
                    on_it: dict[str, Any] = {held: value}
                    asked = replace(question, axis=axis)
                    for other in dict.fromkeys((asked, replace(asked, **on_it))):
                        for counterpart in answers[other].parts if other in answers else ():
                            about = question.key, other.key
                            for what, clause in contradictions(alike, counterpart):
                                sentence = f"{about[0]}, the pairs with {held} {value}, and {about[1]}: {clause}."
                                yield Breach("pair", about, (*what, f"{held}={value}"), sentence)


def _sides(part: PartStatements, side: int) -> dict[str, PartStatements]:
    """Return the file system that pairs have in common to what is said of their other sides.

    side : 0 for guests, 1 for hosts. That a pair is to be avoided does not say which side is the cause.
    """
    same: dict[str, list[Entry]] = {}
    for entry in part.entries:
        pair = pair_parts(entry.key)
        verdict = UNKNOWN if entry.verdict == AVOID else entry.verdict
        same.setdefault(pair[1 - side], []).append(replace(entry, key=pair[side], verdict=verdict))
    return {value: replace(part, entries=tuple(entries)) for value, entries in same.items()}


# One answer, and its strength


def find_growing_strength(answers: Answers) -> Iterator[Breach]:
    """Find questions that, asked more narrowly, have the same answer more strongly: there is less evidence behind it.

    The same answer is the same kind of verdict on the same first and second entry.
    """
    for _, wider, narrower in _narrowed(answers):
        if not len(wider.parts) == len(narrower.parts) == 1:
            continue
        decided = [
            (answer.verdict.kind, [entry.key for entry in answer.parts[0].entries[:2]]) for answer in (wider, narrower)
        ]
        before, after = (STRENGTHS.index(answer.verdict.strength) for answer in (wider, narrower))
        if decided[0] == decided[1] and after > before:
            about = (wider.question.key, narrower.question.key)
            strengths = wider.verdict.strength, narrower.verdict.strength
            sentence = f"{about[0]} is {strengths[0]}, and {about[1]}, which admits less, {strengths[1]}."
            yield Breach("strength", about, tuple(decided[0][1]), sentence)


def find_entries_beside_another_verdict(answers: Answers) -> Iterator[Breach]:
    """Find entries that wear another verdict than the sentence on their part, "avoid" and "unknown" apart, and such as
    are to be used where the whole answer does not say so."""
    for answer in answers.values():
        wrong = [
            entry.key
            for part in answer.parts
            for entry in part.entries
            if entry.verdict not in (AVOID, UNKNOWN)
            and (entry.verdict != part.verdict.kind or (entry.verdict == USE and answer.verdict.kind != USE))
        ]
        if wrong:
            sentence = f"{answer.question.key}: {listed(wrong)} beside the verdict “{answer.verdict.kind}”."
            yield Breach("entries", (answer.question.key,), tuple(wrong), sentence)


def find_imperatives_of_one_group(answers: Answers) -> Iterator[Breach]:
    """Find what is said to use or to avoid though fewer than two research groups measured anything in its part; to
    avoid is said where one group found it slower by a factor beyond what laboratories ever differ by."""
    for answer in answers.values():
        for part in answer.parts:
            if part.groups >= LEAST_GROUPS:
                continue
            far = {entry.key for entry in part.entries if entry.ratio is not None and entry.ratio * APART <= 1}
            advice = [f"use {key}" for key in sorted(part.used)] + [
                f"avoid {key}" for key in sorted(part.avoided - far)
            ]
            if advice:
                sentence = (
                    f"{answer.question.key}: {listed(advice)}, by {part.groups or 'no'} research group with numbers."
                )
                yield Breach("one group", (answer.question.key,), tuple(advice), sentence)


def find_unfounded_recommendations(answers: Answers) -> Iterator[Breach]:
    """Find recommendations that their own answer does not bear: none though something was compared that may be
    recommended, one that its own part says to avoid, and one that is strong though fewer than two groups measured."""
    for answer in answers.values():
        every = (entry for part in answer.parts for entry in part.entries)
        may = [entry.key for entry in every if entry.may_be_recommended and may_be_offered(entry.key)]
        avoided = {key for part in answer.parts for key in part.avoided}
        groups = max((part.groups for part in answer.parts), default=0)
        decided, about = answer.verdict, (answer.question.key,)
        if may and not decided.choice:
            yield Breach("recommendation", about, (), f"{answer.question.key} recommends nothing.")
        if wrong := sorted({*decided.choice} & avoided):
            yield Breach("recommendation", about, (*wrong,), f"{about[0]}: {listed(wrong)}, and to be avoided.")
        if decided.force == STRONG and groups < LEAST_GROUPS:
            sentence = f"{answer.question.key} is strong by {groups or 'no'} research group with numbers."
            yield Breach("recommendation", about, decided.choice, sentence)


RULES: tuple[Callable[[Answers], Iterator[Breach]], ...] = (
    compare_filters,
    compare_metrics,
    compare_pairs_with_sides,
    find_growing_strength,
    find_entries_beside_another_verdict,
    find_imperatives_of_one_group,
    find_unfounded_recommendations,
)


def find_breaches(answers: Iterable[Statements]) -> list[Breach]:
    """Return every breach of every rule, each once."""
    by_question = {answer.question: answer for answer in answers}
    every = (breach for rule in RULES for breach in rule(by_question))
    return list({breach.name: breach for breach in every}.values())


# Reasons


def read_reasons(text: str) -> dict[str, str]:
    """Return the name of each breach in a file to its reason.

    The file is a JSON list of {"reason": text, "breaches": [name, ...]}, each name once.
    """
    names = [(name, row["reason"]) for row in json.loads(text) for name in row["breaches"]]
    assert len(dict(names)) == len(names), "a breach stands twice"
    return dict(names)


def write_reasons(breaches: Iterable[Breach], reasons: Mapping[str, str]) -> str:
    """Return the file for these breaches: each under the reason it has, and those without under an empty one."""
    names: dict[str, list[str]] = {}
    for breach in breaches:
        names.setdefault(reasons.get(breach.name, "").strip(), []).append(breach.name)
    rows = [{"reason": reason, "breaches": sorted(names[reason])} for reason in sorted(names)]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
