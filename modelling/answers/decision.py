"""The verdict on an answer in plain words: what to use, what to avoid, how strongly, and what would settle it.

What is decided stands in modelling.estimation.verdict; here it is said. Source: docs/models/verdict.md.
"""

from collections.abc import Callable, Collection, Sequence

import pandas as pd

from experiments.published_evidence.abilities import ABILITIES
from modelling.estimation.ranking import Entry, RankedPart, Ranking
from modelling.estimation.verdict import DIFFER, LEADS, NO_DIFFERENCE, NOT_KNOWN, STRENGTHS, USE, Contrast, Verdict
from modelling.evidence import families
from modelling.evidence import names as catalogue
from modelling.evidence.words import STORAGE, capital, counted, listed

from .content import Decision

Naming = Callable[[str], str]  # a key or slug to what a reader calls it

# Columns that may tell parts apart, in the order in which a reader would name them, and how each is said.
_TELLS_APART = (
    ("hypervisor", "under {}"),
    ("host_fs", "hosts with {}"),
    ("guest_fs", "guests with {}"),
    ("cache_mode", "cache mode {}"),
)

_JOINING = "A case study that measures entries of different parts side by side would join them."


def of_answer(
    parts: Sequence[Decision], names: Sequence[str], missing: Sequence[str], measure_next: str = ""
) -> Decision:
    """Decide on the whole answer.

    parts : what is decided on each (of_part); names : theirs (part_names)
    missing : sentences on what would have to be measured, where there are no parts; measure_next : where there are some
    Several parts have nothing to use among them, whatever each says of itself: nothing compares them.
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
        kind=NOT_KNOWN,
        sentence=f"The evidence falls into {len(parts)} parts that cannot be compared with each other. {sentences}",
        strength=min((part.strength for part in parts), key=STRENGTHS.index),
        reasons=tuple(dict.fromkeys(reason for part in parts for reason in part.reasons)),
        settle=" ".join(filter(None, (_JOINING, measure_next))),
    )


def of_part(part: RankedPart, label: Naming, measure_next: str = "") -> Decision:
    """Decide on one part, whose entries comparisons join; measure_next : sentences on what would settle it"""
    fulfilling = [entry for entry in part.entries if not entry.lacks]
    if len(fulfilling) < min(len(part.entries), 2):
        return _nothing_to_choose(part, fulfilling, label)
    if all(entry.expected_loss is None for entry in fulfilling) and any(entry.unsafe_options for entry in fulfilling):
        return _nothing_durable(part, label)
    those = [entry.key for entry in part.entries if entry.verdict == part.verdict.kind]
    keys = [entry.key for entry in fulfilling]
    passed_over = _passed_over(part, label) + _durability(part, label)
    return decided(part.verdict, label, keys, those, part.worst, measure_next, passed_over)


def decided(
    verdict: Verdict,
    label: Naming,
    entries: Sequence[str],
    those: Sequence[str],
    avoid: Sequence[str],
    measure_next: str,
    durability: str = "",
) -> Decision:
    """Put a verdict into words.

    entries : keys, best first; those : that its kind is said of; avoid : to be avoided
    measure_next : sentences on what would settle it; durability : on options that can lose acknowledged writes
    """
    contrast, names = verdict.contrast, [label(key) for key in those]
    sentence, settle = "", ""
    if contrast is None:
        first = [label(key) for key in entries[:2]]
        sentence = f"Not known: no numbers compare them. Published lists put {first[0]} first."
    elif verdict.kind == USE:
        sentence = f"Use {names[0]}.{_cost(contrast)}"
    elif verdict.kind == NO_DIFFERENCE:
        among = "" if len(those) == len(entries) else f" among {listed(names)}"
        keep = "keep what you have" if len(those) == len(entries) else "if you have one of them, keep it"
        sentence = f"No difference that matters is known{among}: {keep}.{_cost(contrast)}"
    elif verdict.kind == LEADS:
        sentence = f"{_measured(contrast, label)}. {_elsewhere(contrast)}"
    else:
        sentence = f"Not known: {_lowered(_measured(contrast, label))}. {_elsewhere(contrast)}"
    if verdict.kind in (LEADS, NOT_KNOWN):
        settle = measure_next
    sentence += durability
    if avoid:
        sentence += f" Avoid {listed([label(key) for key in avoid], 'or')}."
    told = {*those, *avoid, *((contrast.first, contrast.second) if contrast else entries[:2])}
    sentence += _families(told, avoid, entries)
    return Decision(
        kind=verdict.kind,
        sentence=sentence,
        strength=verdict.strength,
        reasons=tuple(sentence for _, sentence in verdict.reasons),
        settle=settle,
    )


def _families(told: Collection[str], avoid: Collection[str], entries: Collection[str]) -> str:
    """Say of hypervisors that are set against each other, or one of which is to be avoided, that one runs the other."""
    against = {*families.shared(avoid, entries), *families.shared(told, told)}
    names = catalogue.names()["hypervisor"] if against else {}
    return "".join(
        f" {names.get(product, product)} runs {names.get(runs, runs)}: between the two, defaults and releases differ."
        for product, runs in sorted(against)
    )


def _measured(contrast: Contrast, label: Naming) -> str:
    """Say how two entries compared: "One laboratory measured XFS 1.7 times as fast as ext4, on hard disks"."""
    one, other, measured = label(contrast.first), label(contrast.second), contrast.measured
    if contrast.is_mixed:
        return f"Weighted by these shares, {one} comes out {times(contrast.ratio)} times as fast as {other}"
    if not measured:
        return f"Through what both were compared with, {one} comes out {_as_fast(contrast.ratio)} {other}"
    who = capital(counted(len(measured), "laboratory", "laboratories"))
    if len(measured) > 1 and contrast.groups == 1:
        who += " of one research group"
    verb = "measured" if not contrast.is_derived else "stated"
    as_fast = _as_fast(measured[0], measured[-1])
    on = f", on {listed([STORAGE.get(kind, kind) for kind in contrast.storage])}" if contrast.storage else ""
    return f"{who} {verb} {one} {as_fast} {other}{on}"


def _elsewhere(contrast: Contrast) -> str:
    """Give the interval for a new laboratory as far as laboratories differ; beyond that its ends mean nothing."""
    far_below, far_above = contrast.low < 1 / DIFFER, contrast.high > DIFFER
    if far_below and far_above:
        return "What it is on other machines is not known."
    low = f"less than {times(1 / DIFFER)}" if far_below else times(contrast.low)
    high = f"more than {times(DIFFER)}" if far_above else times(contrast.high)
    return f"On other machines: {low} to {high} times."


def _as_fast(lowest: float, highest: float | None = None) -> str:
    """Say a ratio, or the span of several: "1.7 times as fast as", "as fast as"."""
    low, high = times(lowest), times(lowest if highest is None else highest)
    if low == high == "1.00":
        return "as fast as"
    return f"{low if low == high else f'{low} to {high}'} times as fast as"


def times(ratio: float) -> str:
    """Write a ratio without its unit: "1.02", "1.7", "17"."""
    return (
        f"{ratio:.2f}"
        if 0.95 < ratio < 1.05
        else f"{ratio:.0f}"
        if ratio >= 10
        else f"{ratio:.2g}"
        if ratio < 0.1
        else f"{ratio:.1f}"
    )


def _cost(contrast: Contrast) -> str:
    return "" if contrast.cost is None else f" If it is wrong here, it costs {_percent(contrast.cost, 'about ')}."


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _nothing_to_choose(part: RankedPart, fulfilling: Sequence[Entry], label: Naming) -> Decision:
    """Decide on a part in which one entry has all that was asked for, or none: there is nothing to compare."""
    if fulfilling:
        sentence = f"Only {label(fulfilling[0].key)} has all that was asked for: there is nothing to choose from."
    else:
        sentence = "No recommendation: nothing that was measured is known to have all that was asked for."
    needs = [ABILITIES[need].name.lower() for need in dict.fromkeys(need for e in part.entries for need in e.lacks)]
    return Decision(
        kind=NOT_KNOWN,
        sentence=sentence,
        strength=STRENGTHS[0],
        reasons=(),
        settle=f"A case study that measures more that have it ({listed(needs)}) would tell.",
    )


def _passed_over(part: RankedPart, label: Naming) -> str:
    """Mention entries ahead of the recommended one that lack something the question needs."""
    told = [entry.verdict == part.verdict.kind for entry in part.entries]
    ahead = [label(entry.key) for entry in part.entries[: told.index(True)] if entry.lacks] if any(told) else []
    if not ahead:
        return ""
    come, have = ("comes", "has") if len(ahead) == 1 else ("come", "have")
    return f" {listed(ahead)} {come} before, but {have} not all that was asked for."


def _nothing_durable(part: RankedPart, label: Naming) -> Decision:
    """Decide on a part of which nothing may be recommended (modelling.estimation.verdict.durable)."""
    unsafe = [entry for entry in part.entries if entry.always_unsafe and not entry.lacks]
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
    """Mention options that can lose acknowledged writes: what is faster with them, and what to use."""
    text = ""
    told = [entry.verdict == part.verdict.kind for entry in part.entries]
    ahead = part.entries[: told.index(True)] if any(told) else ()
    for entry in ahead:
        if entry.always_unsafe and not entry.lacks:
            text += (
                f" {label(entry.key)} comes before, but was measured only with {listed(entry.unsafe_options)}, which "
                "can lose acknowledged writes, and is not recommended."
            )
    for entry in part.entries:
        if entry.verdict == USE and entry.unsafe_options:
            text += (
                f" Some numbers of {label(entry.key)} were measured with {listed(entry.unsafe_options)}, which can "
                "lose acknowledged writes: use it without."
            )
    return text


def part_names(ranking: Ranking, label: Naming, name_of: Callable[[str, str], str]) -> list[str]:
    """Name each part by what tells it from the others: "hosts with ext4 or XFS", "under ESXi"; else by its entries.

    label : of an entry's key; name_of : column and value to what a reader calls it
    """
    columns = ["entry", *(column for column, _ in _TELLS_APART)]
    rows = ranking.arms[columns]
    if len(ranking.findings):
        rows = pd.concat([rows, ranking.findings.reindex(columns=columns)])
    inside = [rows["entry"].isin(part.members) for part in ranking.parts]
    for column, wording in _TELLS_APART:
        values = [sorted({value for value in rows[column][mine].dropna().unique() if value}) for mine in inside]
        together = [value for own in values for value in own]
        if all(values) and len(together) == len(set(together)):
            return [wording.format(listed([name_of(column, value) for value in own], "or")) for own in values]
    return [listed([label(key) for key in part.members], "and") for part in ranking.parts]


def _percent(loss: float, about: str = "") -> str:
    return f"{about}{loss:.0f}\u00a0%" if loss >= 1 else "less than 1\u00a0%"
