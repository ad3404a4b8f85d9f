"""Write sentences on what limits an answer, and what would have to be measured where there is none."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from django.conf import settings

from experiments.models import Configuration
from kdb.disk_path import SETTINGS
from kdb.pairs import pair_key
from kdb.units import METRICS, SCORE
from modelling.estimation.ranking import RankedPart, Ranking
from modelling.evidence import names as catalogue
from modelling.evidence.axes import AXES, COLUMN_LABELS, KINDS, NATIVE, RUNTIME, Axis
from modelling.evidence.fairplay import find_confounders
from modelling.evidence.names import label
from modelling.evidence.question import Question
from modelling.evidence.words import capital, counted, listed

from .content import Anecdote

# Conditions that may change the ratio between two entries, though they are equal within every comparison.
_MODERATORS = ("storage", "allocation", "cache_mode")
_LABORATORY = ("laboratory", "laboratories")
_SCORES = "Scores are compared inside one benchmark only, which the question has to name."
_NATIVE_RUNS = "A native run has no guest and no machines: natively, host file systems and host storage are compared."
LONGEST_CAUSE = 90  # characters of what entries were measured with, up to which it stands in one sentence


def list_caveats(axis: Axis, question: Question, ranking: Ranking) -> list[str]:
    """Return sentences on what limits this answer: confounding, assumptions, moderators, durability, tier lists."""
    arms, findings, parts = ranking.arms, ranking.findings, ranking.parts
    notes = _confounding(axis, arms)
    if len(parts) > 1:
        notes.append(
            f"Nobody tested all of these together. There are {len(parts)} parts: ranks and ratios hold inside "
            "a part; nothing is said about entries of different parts."
        )
    assumed = int(arms["assumed"].sum())
    if assumed:
        share = settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION
        some = (
            f"Only {len(arms) - assumed} of the {len(arms)} values come with the spread of their runs"
            if assumed < len(arms)
            else "No value comes with the spread of its runs"
        )
        notes.append(
            f"{some}. Where it is missing, a coefficient of variation of {share:.0%} for "
            "one run is assumed; the intervals stand and fall with it."
        )
    if flagged := int(arms["is_implausible"].sum()):
        looks = "looks" if flagged == 1 else "look"
        notes.append(
            f"{flagged} of the {len(arms)} values {looks} like no disk's: a clock, a cache or a limit may have made "
            f"{'it' if flagged == 1 else 'them'}. In the estimate {'it counts' if flagged == 1 else 'they count'} less."
        )
    notes += _joined_by_family(axis, question, arms)
    notes += [_moderation(axis, column, arms) for column in _MODERATORS if _varies(axis, column, arms)]
    if any(network.tau2 for part in parts for network in part.networks):
        notes.append("The case studies differ by more than their own spread explains; the intervals include it.")
    notes += _never_recommended(axis, parts)
    if without := [label(axis, entry.key) for part in parts for entry in part.entries if entry.lacks]:
        notes.append(
            f"Without all that was asked for, or not known to have it, and so not recommended: {listed(without)}."
        )
    if len(findings):
        notes.append(_tier_lists(ranking))
        if question.vm_count is not None:
            notes.append("Tier lists are stated for a whole case study, not for one number of virtual machines.")
        disputed = findings[findings["text_list"] != findings["table_list"]].drop_duplicates("pk")
        notes += [_dispute(row) for row in disputed.itertuples(index=False)]
    return notes


def _joined_by_family(axis: Axis, question: Question, arms: pd.DataFrame) -> list[str]:
    """Name the hypervisors that count as one, or as the one that was asked for, on an axis that holds their family."""
    known, joined = catalogue.names()["hypervisor"], []
    for family, rows in arms.groupby(RUNTIME, observed=True) if RUNTIME in axis.held else ():
        members = sorted({str(slug) for slug in rows["hypervisor"].unique()})
        if len(members) > 1 or question.hypervisor not in (None, *members):
            joined.append(f"{family}: {', '.join(known.get(slug, slug) for slug in members)}")
    return [f"Alike here, as storage is compared: {'; '.join(joined)}."] if joined else []


def _varies(axis: Axis, column: str, arms: pd.DataFrame) -> bool:
    """Tell whether comparisons differ in the column, and neither the axis nor confounding already covers it."""
    return column not in (*axis.entry, *axis.may_confound) and len(set(arms[column].unique()) - {""}) > 1


def _moderation(axis: Axis, column: str, arms: pd.DataFrame) -> str:
    """State how many laboratories measured with each value of a column that ratios average over."""
    combinations = arms.loc[(arms[column] != "").to_numpy(), [column, "laboratory"]].drop_duplicates()
    laboratories = combinations.groupby(column, observed=True).size()
    spelled = catalogue.names()["storage"] if column == "storage" else {}
    kinds = [f"{spelled.get(value, value)} ({counted(count, *_LABORATORY)})" for value, count in laboratories.items()]
    few = sum(laboratories >= 2) < 2
    how_much = (
        "With so few of each, how much is not known." if few else "It is part of the spread between laboratories."
    )
    asking = " A filter asks for one kind alone." if column == "storage" else ""
    ratios = f"The {COLUMN_LABELS[column]} may change these ratios, which are averages over {listed(kinds)}."
    return f"{ratios} {how_much}{asking}"


def _tier_lists(ranking: Ranking) -> str:
    """State how tier lists count in the answer."""
    bases = {part.basis for part in ranking.parts}
    if "both" not in bases:
        return (
            "The order rests on tier lists, so there are no ratios. Their sources publish who is best and worst, not "
            "the numbers. Entries of one tier share a rank."
        )
    return (
        "Tier lists count beside the numbers: a list is taken to name the faster of two entries with odds of "
        f"{math.exp(math.log(1.25) / settings.KDB_TIER_SCALE):.1f} to 1 where one is 25 % faster. An entry that only "
        "lists speak of has a rank but no ratio."
    )


def _dispute(finding: Any) -> str:
    """State that text and table of a publication place a pair differently."""
    pair = label(AXES["fs-pair"], pair_key(finding.guest_fs, finding.host_fs))
    where = {"best": "best", "unlisted": "in no list", "worst": "worst"}
    return (
        f"{pair} is {where[finding.text_list]} in {finding.text_source} and {where[finding.table_list]} in "
        f"{finding.table_source} of one publication: it is placed in the middle."
    )


def _never_recommended(axis: Axis, parts: Iterable[RankedPart]) -> list[str]:
    """State which entries were measured only with options that can lose acknowledged writes, and which options."""
    by_options: dict[tuple[str, ...], list[str]] = {}
    for part in parts:
        for entry in part.entries:
            if entry.always_unsafe:
                by_options.setdefault(entry.unsafe_options, []).append(label(axis, entry.key))
    return [
        f"Measured only with {listed(options)}, which can lose acknowledged writes, and so not recommended: "
        f"{listed(labels)}."
        for options, labels in by_options.items()
    ]


def _confounding(axis: Axis, arms: pd.DataFrame) -> list[str]:
    """State which settings differ along with the entries and may be the cause, and which of them no source states."""
    notes, not_stated = [], []
    for column, is_cause in find_confounders(arms, axis.may_confound, axis.set_by_entry).items():
        if not is_cause.any():
            continue
        pairs = arms.loc[is_cause, ["entry", column]].drop_duplicates()
        if column in axis.set_by_entry and not (pairs[column] != "").any():
            not_stated.append(COLUMN_LABELS[column])
            continue
        measured_with = _measured_with(axis, column, pairs)
        mark = ":" if len(measured_with) <= LONGEST_CAUSE else "."  # an answer shows the first sentence
        notes.append(f"The {COLUMN_LABELS[column]} may be the cause{mark} {measured_with}.")
    if not_stated:
        notes.append(
            f"No source states the {listed(not_stated)}. Each hypervisor has defaults of its own, so a difference may "
            "be due to them."
        )
    return notes


def _measured_with(axis: Axis, column: str, pairs: pd.DataFrame) -> str:
    """State with what each entry was measured: "KVM had none; ESXi its default (not stated)"."""
    names = catalogue.names()
    spelled = {
        "host_fs": names["file_system"],
        "backend": names["backend"],
        "virtualisation": dict(Configuration.Virtualisation.choices),
    }.get(column, {})
    if column in SETTINGS:
        spelled = {value.name: value.label for value in SETTINGS[column].values}
    values: dict[str, list[str]] = {}
    for entry, value in sorted(pairs.itertuples(index=False, name=None), key=str):
        values.setdefault(label(axis, entry), []).append("" if pd.isna(value) else value)
    entries: dict[tuple[str, ...], list[str]] = {}
    for entry, stated in values.items():
        entries.setdefault(tuple(stated), []).append(entry)
    clauses: list[str] = []
    for stated_values, labels in entries.items():
        default = "its default" if len(labels) == 1 else "their defaults"
        not_stated = f"{default} (not stated)" if column in axis.set_by_entry else "one that is not stated"
        ways = listed([spelled.get(value, value) if value else not_stated for value in stated_values], "or")
        clauses.append(f"{listed(labels)} {'' if clauses else 'had '}{ways}")
    return "; ".join(clauses)


def describe_missing(
    axis: Axis,
    question: Question,
    ranking: Ranking,
    measured: Iterable[tuple[str, str, str]],
    anecdotes: Sequence[Anecdote] = (),
) -> list[str]:
    """State what would have to be measured where there is no answer. measured : metric, unit and case study of each"""
    if ranking.parts:
        return []
    asked = catalogue.names()["workload"].get(question.workload, question.workload)
    named = {name: catalogue.names()[KINDS[name]] for name in question.filters.keys() & KINDS.keys()}
    narrowed = [
        f"{name.replace('_', ' ')} {named.get(name, {}).get(str(value), str(value))}"
        for name, value in question.filters.items()
        if name != "metric"
    ]
    under = f" with {listed(narrowed)}" if narrowed else ""
    held = [column for column in axis.all_held(question.hypervisor) if column in axis.held]
    by = f" by {METRICS[question.metric].label}" if question.metric else ""
    who = "Only anecdotes compare" if anecdotes else "No published case study compares"
    return [
        f"{who} two entries of the axis “{axis.label.lower()}” for the workload {asked}{under}{by}.",
        *(f"{anecdote.title}: {anecdote.sentence} {anecdote.why}" for anecdote in anecdotes),
        *_measured_metrics(measured),
        *([_SCORES] if not question.benchmark and any(metric == SCORE for metric, *_ in measured) else ()),
        *([_NATIVE_RUNS] if question.hypervisor == NATIVE else ()),
        "It would take at least two configurations that differ in it, measured in one case study with the same "
        f"benchmark version and the same {listed([COLUMN_LABELS[column] for column in held])}.",
    ]


def _measured_metrics(measured: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return a sentence for each metric and unit in which the workload was measured."""
    studies: dict[tuple[str, str], list[str]] = {}
    for metric, unit, case_study in measured:
        studies.setdefault((metric, unit), []).append(case_study)
    return [
        f"{capital(counted(len(slugs), 'case study', 'case studies'))} measured the {METRICS[metric].label} in {unit}, "
        "but nothing that may be compared here."
        for (metric, unit), slugs in studies.items()
    ]
