"""The verdict on an answer in plain words: what to use, what to avoid, how strongly, and what would settle it.

What is decided stands in modelling.estimation.verdict; here it is said. No Django. Source: docs/models/verdict.md.
"""

from collections.abc import Callable, Sequence

import pandas as pd

from modelling.estimation.ranking import RankedPart, Ranking
from modelling.estimation.verdict import NO_WINNER, NOT_KNOWN, STRENGTHS, WINNER, Verdict
from modelling.evidence.words import capital, listed

from .content import Decision, NextRun

Naming = Callable[[str], str]  # a key or slug to what a reader calls it

# Columns that may tell parts apart, in the order in which a reader would name them, and how each is said.
_TELLS_APART = (
    ("hypervisor", "under {}"),
    ("host_fs", "hosts with {}"),
    ("guest_fs", "guests with {}"),
    ("cache_mode", "cache mode {}"),
)


def of_answer(parts: Sequence[Decision], names: Sequence[str], missing: Sequence[str]) -> Decision:
    """Decide on the whole answer.

    parts : what is decided on each (of_part); names : theirs (part_names)
    missing : sentences on what would have to be measured, where there are no parts
    Several parts have no winner among them, whatever each says of itself: nothing compares them.
    """
    if not parts:
        return Decision(
            kind=NOT_KNOWN,
            sentence="Not known: the published evidence does not answer this question.",
            strength=STRENGTHS[0],
            reasons=tuple(missing[:1]),
            settle=" ".join(missing[1:]),
        )
    if len(parts) == 1:
        return parts[0]
    sentences = " ".join(f"{capital(name)}: {part.sentence}" for name, part in zip(names, parts, strict=True))
    return Decision(
        kind=NO_WINNER,
        sentence=f"The evidence falls into {len(parts)} parts that cannot be compared with each other. {sentences}",
        strength=min((part.strength for part in parts), key=STRENGTHS.index),
        reasons=tuple(dict.fromkeys(reason for part in parts for reason in part.reasons)),
        settle="A case study that measures entries of different parts side by side would join them.",
    )


def of_part(part: RankedPart, label: Naming, runs: Sequence[NextRun]) -> Decision:
    """Decide on one part, whose entries comparisons join."""
    if not part.best:
        return _nothing_durable(part, label)
    first = next(entry for entry in part.entries if entry.key in part.best)
    run = next((run for run in runs if run.part == part.number), None)
    rivals = run.labels if run else [label(entry.key) for entry in part.entries[:2]]
    gain = run.gain if run else None
    use, avoid = ([label(key) for key in keys] for keys in (part.best, part.worst))
    return decided(part.verdict, use, avoid, first.expected_loss, rivals, gain, _durability(part, label))


def decided(
    verdict: Verdict,
    use: Sequence[str],
    avoid: Sequence[str],
    loss: float | None,
    rivals: Sequence[str],
    gain: float | None = None,
    durability: str = "",
) -> Decision:
    """Put a verdict into words.

    use, avoid : labels of entries; loss : expected of the first, percent; rivals : labels of the two that one more
    laboratory should compare, gain : what the choice is expected to gain by it, percent; None: not known
    durability : sentences on options that can lose acknowledged writes
    """
    if verdict.kind == WINNER:
        sentence = f"Use {use[0]}."
        if loss is not None:
            sentence += f" In a new laboratory it is expected to lose {_percent(loss)} against the best."
        settle = ""
    else:
        among = f"No clear winner among {listed(use, 'and')}." if len(use) > 1 else ""
        sentence = among or (
            f"No clear winner: {use[0]} comes first, but choosing it is expected to cost "
            f"{_percent(loss or 0.0)} against the best of a new laboratory."
        )
        settle = f"One more laboratory that measures {listed(rivals, 'and')} side by side would tell most"
        settle += "." if gain is None else f": the choice then is expected to gain {_percent(gain)}."
    sentence += durability
    if avoid:
        sentence += f" Avoid {listed(avoid, 'or')}."
    return Decision(
        kind=verdict.kind,
        sentence=sentence,
        strength=verdict.strength,
        reasons=tuple(sentence for _, sentence in verdict.reasons),
        settle=settle,
    )


def _nothing_durable(part: RankedPart, label: Naming) -> Decision:
    """Decide on a part of which nothing may be recommended (modelling.estimation.verdict.durable)."""
    unsafe = [entry for entry in part.entries if entry.always_unsafe]
    who = listed([label(entry.key) for entry in unsafe])
    options = dict.fromkeys(option for entry in unsafe for option in entry.unsafe_options)
    sentence = (
        f"No recommendation: {who} {'was' if len(unsafe) == 1 else 'were'} measured only with options that can lose "
        f"acknowledged writes ({listed(options)})."
    )
    if part.worst:
        sentence += f" Avoid {listed([label(key) for key in part.worst], 'or')}."
    return Decision(
        kind=part.verdict.kind,
        sentence=sentence,
        strength=part.verdict.strength,
        reasons=tuple(sentence for _, sentence in part.verdict.reasons),
        settle=f"A case study that measures {who} without them would tell.",
    )


def _durability(part: RankedPart, label: Naming) -> str:
    """Speak of options that can lose acknowledged writes: of what is faster with them, and of what to use."""
    text = ""
    ahead = part.entries[: [entry.key in part.best for entry in part.entries].index(True)]
    for entry in ahead:
        if entry.always_unsafe:
            text += (
                f" {label(entry.key)} comes before, but was measured only with {listed(entry.unsafe_options)}, which "
                "can lose acknowledged writes, and is not recommended."
            )
    for entry in part.entries:
        if entry.key in part.best and entry.unsafe_options:
            text += (
                f" Some numbers of {label(entry.key)} were measured with {listed(entry.unsafe_options)}, which can "
                "lose acknowledged writes: use it without."
            )
    return text


def part_names(ranking: Ranking, label: Naming, name_of: Callable[[str, str], str]) -> list[str]:
    """Name each part by what tells it from the others: "hosts with ext4 or XFS", "under ESXi"; else by its entries.

    label : of an entry's key; name_of : column and value to what a reader calls it
    """
    rows = pd.concat([ranking.arms, ranking.findings]) if len(ranking.findings) else ranking.arms
    inside = [rows["entry"].isin(part.members) for part in ranking.parts]
    for column, wording in _TELLS_APART:
        values = [sorted({value for value in rows[column][mine].dropna().unique() if value}) for mine in inside]
        together = [value for own in values for value in own]
        if all(values) and len(together) == len(set(together)):
            return [wording.format(listed([name_of(column, value) for value in own], "or")) for own in values]
    return [listed([label(key) for key in part.members], "and") for part in ranking.parts]


def _percent(loss: float) -> str:
    return f"{loss:.0f}\u00a0%" if loss >= 1 else "less than 1\u00a0%"
