"""Recommend, and write it in words: what to choose, how sure that is, what was measured, and what would settle it.

modelling.estimation.recommendation and verdict decide. Source: docs/models/recommendation.md and verdict.md.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from experiments.published_evidence.abilities import ABILITIES
from kdb.disk_path import SETTINGS
from kdb.host_storage import UNNAMED
from modelling.estimation.bayes import Posterior
from modelling.estimation.ranking import Entry, RankedPart, Ranking
from modelling.estimation.recommendation import (
    DEFAULT,
    GUESS,
    LISTS,
    MAKERS,
    NEAREST,
    NOTHING,
    ONE,
    SEVERAL,
    STRONG,
    Option,
    Recommended,
    recommend,
)
from modelling.estimation.verdict import AVOID, DIFFER, NOT_KNOWN, STRENGTHS, USE, Contrast, Verdict
from modelling.evidence import families
from modelling.evidence import names as catalogue
from modelling.evidence.words import STORAGE, capital, counted, listed, some, times
from modelling.guidance.content import AdviceSummary

from .content import EITHER, RATHER_NOT, START, AnswerVerdict
from .nearest import Nearby

Naming = Callable[[str], str]  # a key or slug to what a reader calls it

# Columns by which parts may differ, in the order in which a reader would name them, with their wording.
_PART_COLUMNS = (
    ("hypervisor", "under {}"),
    ("host_fs", "hosts with {}"),
    ("guest_fs", "guests with {}"),
    ("cache_mode", "cache mode {}"),
)
MOST_AGAINST = 2  # discouraged entries that the first line names
CONFIDENCE = {"strong": "High", "moderate": "Moderate", "weak": "Low", "very weak": "Low"}
_NOBODY = "nobody measured this, and nobody advises."
_NO_SAFE = "none of these was measured with options that keep acknowledged writes."
_JOINING = "A case study that measures entries of different parts side by side would join them."


def decide_answer(
    ranking: Ranking,
    parts: Sequence[AnswerVerdict],
    names: Sequence[str],
    label: Naming,
    margin: float,
    advised: AdviceSummary | None = None,
    measure_next: str = "",
    rests_on: str = "",
) -> AnswerVerdict:
    """Decide on an answer of one part or several.

    parts : decision on each part (decide_part); names : of the parts (part_names)
    measure_next : sentences on what would settle it; rests_on : as for decide_part
    No measurement compares entries of several parts: their one recommendation rests on the model alone.
    """
    if len(parts) == 1:
        return parts[0]
    entries = [entry for part in ranking.parts for entry in part.entries]
    kind = NOT_KNOWN
    verdict = Verdict(
        kind,
        min((part.strength for part in parts), key=STRENGTHS.index),
        tuple(("", reason) for reason in dict.fromkeys(reason for part in parts for reason in part.reasons)),
    )
    assert ranking.posterior is not None
    options, posterior = list_options(entries, ranking.posterior, advised)
    recommended = recommend(options, posterior, kind, margin)
    measured_parts = ((name, part.measured) for name, part in zip(names, parts, strict=True) if part.measured)
    sentences = " ".join(f"{capital(name)}: {measured}" for name, measured in measured_parts)
    measured = f"Nobody tested all of these together. {sentences}"
    settle = " ".join(filter(None, (_JOINING, measure_next)))
    return word_decision(verdict, recommended, label, measured, settle, rests_on, offered=len(options))


def decide_releases(parts: Sequence[AnswerVerdict], missing: Sequence[str]) -> AnswerVerdict:
    """Recommend to keep the supported release, whatever was measured: an unsupported one may lose more than speed."""
    measured = " ".join(part.measured for part in parts)
    strength = min((part.strength for part in parts), key=STRENGTHS.index, default=STRENGTHS[0])
    reasons = tuple(("", reason) for reason in [*(reason for part in parts for reason in part.reasons), *missing[:1]])
    kind = parts[0].kind if len(parts) == 1 else NOT_KNOWN
    keep = word_decision(Verdict(kind, strength, reasons), Recommended(), str, measured, " ".join(missing[1:]))
    return replace(keep, sentence="Keep the release that your product supports.")


def decide_without_evidence(
    near: Nearby | None,
    label: Naming,
    margin: float,
    missing: Sequence[str] = (),
    advised: AdviceSummary | None = None,
    guide: str = "",
) -> AnswerVerdict:
    """Decide without comparisons for the question: as makers advise, else by comparisons under other workloads.

    near : those comparisons; missing : sentences on what would have to be measured
    guide : the guide's sentence on makers' advice, for where that names conditions but no entry
    """
    verdict = Verdict(NOT_KNOWN, STRENGTHS[0], tuple(("", sentence) for sentence in missing[:1]))
    recommended, measured, offered, nothing = recommend_as_makers(advised) if advised else Recommended(), "", 0, _NOBODY
    if near is not None and recommended.basis != MAKERS:
        recommended, offered = recommend(near.options, near.posterior, NOT_KNOWN, margin), len(near.options)
        recommended = replace(recommended, force=GUESS, basis=NEAREST, is_sure_of_not=False)
        labels = [label(option.key) for option in near.options]
        noun = _common_setting(labels)
        measured = f"Compared under other workloads: {noun}{some(name.removeprefix(noun) for name in labels)}."
    is_open = recommended.basis in (NOTHING, DEFAULT) or recommended.is_toss
    if advised and advised.is_meant and guide and is_open:
        recommended, nothing = Recommended(basis=MAKERS), guide[:1].lower() + guide[1:]
    elif near is None and recommended.basis != MAKERS and advised and advised.statements:
        nothing = "nobody measured this, and what makers advise is for other products."
    return word_decision(verdict, recommended, label, measured, " ".join(missing[1:]), offered=offered, nothing=nothing)


def decide_part(
    part: RankedPart,
    label: Naming,
    margin: float,
    advised: AdviceSummary | None = None,
    measure_next: str = "",
    rests_on: str = "",
) -> AnswerVerdict:
    """Decide on one part, whose entries comparisons join.

    margin : smallest difference that matters, a share; advised : on its entries
    measure_next : sentences on what would settle it; rests_on : years and disks of its evidence, "2021, hard disks"
    """
    options, posterior = list_options(part.entries, part.posterior, advised)
    last = max(entry.rank for entry in part.entries)
    worst = [entry.key for entry in part.entries if entry.rank == last > 1]
    worst = worst if 2 * len(worst) < len(part.entries) else []  # half or more: the tier of entries that no list names
    verdict = part.verdict
    recommended = recommend(options, posterior, verdict.kind, margin, worst)
    fulfilling = [entry for entry in part.entries if not entry.lacks]
    if len(fulfilling) < 2:
        only, needs = label(options[0].key) if options else "", _lacking_needs(part)
        measured = f"Only {only} is known to have all that was asked for ({needs})." if only and needs else ""
    else:
        measured = describe_contrast(verdict.contrast, label)
    named = {*recommended.choice, *recommended.rather_not}
    if verdict.contrast is not None:
        named |= {verdict.contrast.first, verdict.contrast.second}
    measured += _describe_passed_over(part, recommended, label) + _describe_durability(part, recommended, label)
    measured += _describe_families(named, recommended.rather_not, [entry.key for entry in part.entries])
    settle = "" if recommended.force == STRONG else measure_next
    nothing = f"nothing that was measured is known to have all that was asked for ({_lacking_needs(part)})."
    if all(entry.always_unsafe for entry in part.entries):
        nothing = _NO_SAFE
    if not any(entry.lacks or entry.always_unsafe for entry in part.entries):
        nothing = "nobody can run what was compared today."
    return word_decision(verdict, recommended, label, measured, settle, rests_on, offered=len(options), nothing=nothing)


def recommend_as_makers(advised: AdviceSummary) -> Recommended:
    """Return what most makers advise, or the product's default."""
    if advised.advised:
        against = [key for key in advised.discouraged if families.may_be_offered(key) and key != UNNAMED]
        return Recommended(advised.advised, tuple(against[:MOST_AGAINST]), basis=MAKERS)
    return Recommended((advised.default,), basis=DEFAULT) if advised.default else Recommended()


def list_options(
    entries: Sequence[Entry], posterior: Posterior, advised: AdviceSummary | None = None
) -> tuple[list[Option], Posterior]:
    """Return the entries that may be recommended and can be run today, and their posterior."""
    may = [entry for entry in entries if entry.may_be_recommended and families.may_be_offered(entry.key)]
    options = [
        Option(
            entry.key,
            groups=entry.groups,
            is_listed=entry.findings > 0,
            verdict=entry.verdict,
            place=entry.rank,
            is_durable=not entry.unsafe_options,
            advised=advised.entries[entry.key].score if advised and entry.key in advised.entries else 0,
            is_default=advised is not None and entry.key == advised.default,
        )
        for entry in may
    ]
    return options, posterior.select(np.array([posterior.treatments.index(entry.key) for entry in may], dtype=int))


def word_decision(
    verdict: Verdict,
    recommended: Recommended,
    label: Naming,
    measured: str = "",
    settle: str = "",
    rests_on: str = "",
    offered: int = 0,
    nothing: str = _NOBODY,
) -> AnswerVerdict:
    """Write a recommendation in words.

    measured : sentences on the evidence; settle : on what would settle it; rests_on : as for decide_part
    offered : number of entries to choose from; nothing : why there are none, or what makers advise then
    """
    is_several = verdict.contrast is not None and verdict.contrast.groups > 1
    return AnswerVerdict(
        kind=verdict.kind,
        sentence=_recommendation_line(recommended, label, nothing),
        strength=verdict.strength,
        reasons=tuple(sentence for _, sentence in verdict.reasons),
        settle=settle,
        confidence=_confidence_line(recommended, verdict, rests_on, offered),
        measured=measured.strip(),
        choice=recommended.choice,
        rather_not=recommended.rather_not,
        force=recommended.force,
        basis=ONE if recommended.basis == SEVERAL and not is_several else recommended.basis,
        chance=recommended.chance,
        blind=recommended.blind,
        cost=recommended.cost,
        cost_one_in_ten=recommended.cost_one_in_ten,
    )


def _recommendation_line(recommended: Recommended, label: Naming, why: str) -> str:
    choice, against = recommended.choice, recommended.rather_not
    noun = _common_setting([label(key) for key in (*choice, *against)])
    names = [noun * (not place) + label(key).removeprefix(noun) for place, key in enumerate(choice)]
    if recommended.basis == NOTHING:
        return f"Keep what you have: {why}"
    if recommended.basis == DEFAULT:
        return f"{capital(why.removesuffix('.'))}: keep what you have; the default is {names[0]}."
    if recommended.basis == MAKERS and not names:
        return f"No measurements. Makers advise: {why}"
    if recommended.basis == MAKERS:
        line = f"No measurements. Its makers advise {listed(names, 'or')}."
    elif len(names) > 1 and not recommended.is_toss:
        line = f"{listed(names, 'or')}: either is fine."
    else:
        line = f"{'Use' if recommended.force == STRONG else 'Start with'} {listed(names, 'or')}."
    if against:
        others = listed([label(key).removeprefix(noun) for key in against], "or")
        line += f" Avoid {others}." if recommended.is_sure_of_not else f" Rather not {others}."
    return capital(line) if noun else line  # without a setting it may begin with a name, and ext4 is not capitalised


def _common_setting(names: Sequence[str]) -> str:
    """Return the setting that all these names begin with, to be said once: "cache mode "; "" where there is none."""
    nouns = (f"{setting.in_sentence} " for setting in SETTINGS.values())
    return next((noun for noun in nouns if all(name.startswith(noun) for name in names)), "")


def _confidence_line(recommended: Recommended, verdict: Verdict, rests_on: str, offered: int) -> str:
    """State how sure the recommendation is: what it rests on, its chance beside the blind one, and what it may cost."""
    if not recommended.choice or recommended.basis in (MAKERS, DEFAULT):
        return ""
    level = f"{CONFIDENCE[verdict.strength]} confidence"
    about = f" ({rests_on})" if rests_on else ""
    it = "them" if recommended.is_toss else "it"
    put = f"put {it} among the best" if recommended.by_lists else f"name {it}"
    contrast = verdict.contrast
    who = counted(contrast.groups, "research group") if contrast and contrast.groups > 1 else "one research group"
    behind = {
        LISTS: f"published lists{about} {put}, without numbers",
        ONE: f"one research group{about} measured {it}",
        NEAREST: "nobody measured this; it is best by what other workloads say",
    }.get(recommended.basis, f"{who}{about} measured {it}")
    if recommended.chance is None or recommended.blind is None:
        return f"{level}: {behind}."
    if recommended.is_toss:
        behind = "nobody measured this" if recommended.basis == NEAREST else behind
        text = f"{level}: {behind}; nothing tells them apart."
    else:
        what = "it is the best" if len(recommended.choice) == 1 else "one of them is the best"
        text = (
            f"{level}: {behind}; chance that {what} of {counted(offered, 'choice')} on your machine: "
            f"{100 * recommended.chance:.0f}\u00a0% (blind {100 * recommended.blind:.0f}\u00a0%)."
        )
    if recommended.tie_break:
        text += f" That is a coin's toss: {recommended.tie_break} decided."
    if recommended.cost is not None:
        cost = f"about {recommended.cost:.0f}\u00a0%" if recommended.cost >= 1 else "less than 1\u00a0%"
        text += f" If wrong, it costs {cost} of the speed."
    return text


def recommended_of(decision: AnswerVerdict, entry: Entry) -> str:
    """Return in a word what the recommendation says of an entry; "": nothing."""
    if entry.key in decision.choice:
        return EITHER if len(decision.choice) > 1 else USE if decision.force == STRONG else START
    if entry.key in decision.rather_not:
        return AVOID if entry.verdict == AVOID else RATHER_NOT
    return ""


def describe_contrast(contrast: Contrast | None, label: Naming) -> str:
    """State what numbers show of the recommended entry; "" where there are only lists."""
    return f"{_describe_ratio(contrast, label)}. {_describe_interval(contrast)}" if contrast else ""


def _describe_families(named: Collection[str], avoid: Collection[str], entries: Collection[str]) -> str:
    """State that one of two compared hypervisors runs the other: Proxmox VE runs KVM."""
    against = {*families.shared(avoid, entries), *families.shared(named, named)}
    names = catalogue.names()["hypervisor"] if against else {}
    return "".join(
        f" {names.get(product, product)} runs {names.get(runs, runs)}: between the two, defaults and releases differ."
        for product, runs in sorted(against)
    )


def _describe_ratio(contrast: Contrast, label: Naming) -> str:
    """State how two entries compared: "One laboratory measured XFS 1.7 times as fast as ext4, on hard disks"."""
    one, other, measured = label(contrast.first), label(contrast.second), contrast.measured
    if contrast.is_mixed:
        return f"Weighted by these shares, {one} comes out {times(contrast.ratio)} times as fast as {other}"
    if not measured:
        return f"Through what both were compared with, {one} comes out {_format_ratio(contrast.ratio)} {other}"
    who = capital(counted(len(measured), "laboratory", "laboratories"))
    if len(measured) > 1 and contrast.groups == 1:
        who += " of one research group"
    verb = "measured" if not contrast.is_derived else "stated"
    as_fast = _format_ratio(measured[0], measured[-1])
    on = f", on {listed([STORAGE.get(kind, kind) for kind in contrast.storage])}" if contrast.storage else ""
    return f"{who} {verb} {one} {as_fast} {other}{on}"


def _describe_interval(contrast: Contrast) -> str:
    """Give the interval for another machine. Its ends are cut at DIFFER, as laboratories never differed by more."""
    far_below, far_above = contrast.low < 1 / DIFFER, contrast.high > DIFFER
    if far_below and far_above:
        return "What it is on other machines is not known."
    low = f"less than {times(1 / DIFFER)}" if far_below else times(contrast.low)
    high = f"more than {times(DIFFER)}" if far_above else times(contrast.high)
    if contrast.low < 1 < contrast.high:
        return f"On other machines it could be either way: {low} to {high} times."
    return f"On other machines: {low} to {high} times."


def _format_ratio(lowest: float, highest: float | None = None) -> str:
    """State a ratio, or the span of several: "1.7 times as fast as", "as fast as"."""
    low, high = times(lowest), times(lowest if highest is None else highest)
    if low == high == "1.00":
        return "as fast as"
    return f"{low if low == high else f'{low} to {high}'} times as fast as"


def _lacking_needs(part: RankedPart) -> str:
    needs = dict.fromkeys(need for entry in part.entries for need in entry.lacks)
    return listed([ABILITIES[need].name.lower() for need in needs])


def _describe_passed_over(part: RankedPart, recommended: Recommended, label: Naming) -> str:
    """Mention entries ahead of the recommended one that lack something the question needs."""
    ahead = [label(entry.key) for entry in _entries_ahead(part, recommended) if entry.lacks]
    if not ahead:
        return ""
    come, have = ("comes", "has") if len(ahead) == 1 else ("come", "have")
    return f" {listed(ahead)} {come} before, but {have} not all that was asked for."


def _entries_ahead(part: RankedPart, recommended: Recommended) -> Sequence[Entry]:
    """Return the entries that the evidence puts before the recommended one."""
    places = [number for number, entry in enumerate(part.entries) if entry.key in recommended.choice]
    return part.entries[: min(places)] if places else part.entries


def _describe_durability(part: RankedPart, recommended: Recommended, label: Naming) -> str:
    """Mention options that can lose acknowledged writes: what is faster with them, and what to use without."""
    text = ""
    for entry in _entries_ahead(part, recommended):
        if entry.always_unsafe and not entry.lacks:
            ahead = "comes before, but was" if recommended.choice else "was"
            text += (
                f" {capital(label(entry.key))} {ahead} measured only with {listed(entry.unsafe_options)}, which can "
                "lose acknowledged writes, and is not recommended."
            )
    for entry in part.entries:
        if entry.key in recommended.choice and entry.unsafe_options:
            text += (
                f" Some numbers of {label(entry.key)} were measured with {listed(entry.unsafe_options)}, which can "
                "lose acknowledged writes: use it without."
            )
    return text


def part_names(ranking: Ranking, label: Naming, name_of: Callable[[str, str], str]) -> list[str]:
    """Name each part by a column in which it differs from the others: "under ESXi"; else by its entries.

    label : key to label; name_of : column and value to display name
    """
    columns = ["entry", *(column for column, _ in _PART_COLUMNS)]
    rows = ranking.arms[columns]
    if len(ranking.findings):
        rows = pd.concat([rows, ranking.findings.reindex(columns=columns)])
    inside = [rows["entry"].isin(part.members) for part in ranking.parts]
    for column, wording in _PART_COLUMNS:
        values = [
            sorted({value for value in rows[column][is_member].dropna().unique() if value}) for is_member in inside
        ]
        all_values = [value for own in values for value in own]
        if all(values) and len(all_values) == len(set(all_values)):
            return [wording.format(listed([name_of(column, value) for value in own], "or")) for own in values]
    return [listed([label(key) for key in part.members], "and") for part in ranking.parts]
