"""Restrict an answer to some of its entries: choose among them, on estimates from all evidence.

Source: docs/models/recommendation.md.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from modelling.estimation.ranking import Entry, RankedPart, Ranking, verdict_between
from modelling.estimation.recommendation import recommend
from modelling.estimation.verdict import NOT_KNOWN, USE
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.guidance.content import AdviceSummary

from .answer import answer
from .content import Answer
from .decision import list_options
from .estimate import Estimate, advised_on, run_sets_among
from .knowledge import assumptions
from .nearest import nearby


def answer_for_subset(
    question: Question, keys: Sequence[str], ranking: Ranking, revision: int, as_of: int | None = None
) -> Answer:
    """Return the answer that chooses among these entries of the question's axis, ranked or not.

    ranking : of the question, with all its entries; as_of : as for ranking_of
    """
    ranked = {entry.key for part in ranking.parts for entry in part.entries}
    is_ranked = {*keys} <= ranked
    near = None if is_ranked else nearby(question, as_of)
    advised = advised_on(question, keys)
    restricted = _restrict_ranking(ranking, keys, advised)
    answered = answer(
        Estimate(
            question,
            restricted if is_ranked else replace(restricted, parts=()),
            measured=(),
            others={},
            run_sets=run_sets_among(restricted, AXES[question.axis]),
            trade_offs=(),
            anecdotes=restricted.arms.iloc[:0],
            is_ranked=is_ranked,
            nearby=near.select(keys) if near else None,
            advised=advised,
        ),
        revision,
    )
    return answered if is_ranked else replace(answered, missing=(), verdict=replace(answered.verdict, reasons=()))


def _restrict_ranking(ranking: Ranking, keys: Sequence[str], advised: AdviceSummary) -> Ranking:
    """Return the ranking restricted to these entries and their evidence."""
    parts = [part for part in ranking.parts if not {*keys}.isdisjoint(part.members)]
    arms, findings = ranking.arms, ranking.findings
    return replace(
        ranking,
        parts=tuple(_restrict_part(ranking, part, keys, advised, is_whole=len(parts) == 1) for part in parts),
        arms=arms[arms["entry"].isin(keys)],
        findings=findings[findings["entry"].isin(keys)],
    )


def _restrict_part(
    ranking: Ranking, whole: RankedPart, keys: Collection[str], advised: AdviceSummary, *, is_whole: bool
) -> RankedPart:
    """Return a part restricted to these entries, with ratios relative to the recommended one."""
    members = tuple(key for key in whole.members if key in keys)
    places = np.array([whole.members.index(key) for key in members])
    entries = [entry for entry in whole.entries if entry.key in keys]
    part = replace(whole, members=members, posterior=whole.posterior.select(places), entries=tuple(entries))
    options, posterior = list_options(entries, part.posterior, advised)
    deciding = {option.key for option in options if option.verdict == whole.verdict.kind}
    is_its = is_whole and deciding and (whole.verdict.kind == USE or deciding == {*keys})
    kind = whole.verdict.kind if is_its else NOT_KNOWN
    choice = recommend(options, posterior, kind, assumptions().margin).choice
    by_choice = sorted(entries, key=lambda entry: (entry.key not in choice, not entry.may_be_recommended))
    first = next((entry.key for entry in by_choice if entry.ratio is not None), by_choice[0].key)
    rivals = [entry.key for entry in by_choice if entry.key != first and part.has_numbers_between(first, entry.key)]
    return replace(
        part,
        reference=first,
        entries=tuple(_relative_to(first, entry, part) for entry in entries),
        verdict=verdict_between(ranking, part, kind, first, rivals[0])
        if rivals
        else replace(whole.verdict, kind=kind, contrast=None),
    )


def _relative_to(first: str, entry: Entry, part: RankedPart) -> Entry:
    """Return the entry with its ratio to the first one and its 95 % interval for a new laboratory."""
    entry = replace(entry, tied_with=tuple(key for key in entry.tied_with if key in part.members))
    ratio = low = high = None
    if part.has_numbers_between(first, entry.key):
        ratio, low, high = np.exp([part.difference(entry.key, first)[0], *part.interval(entry.key, first)]).tolist()
    return replace(entry, ratio=ratio, low=low, high=high, mean_low=None, mean_high=None)
