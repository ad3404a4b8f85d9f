"""Compare two to six entries of an axis: their ranks and environments, and whether and why each two may be compared.

Source: docs/models/ranking.md, sections 1 to 6.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

import pandas as pd
from django.conf import settings

from experiments.case_studies.tables import FACTS
from experiments.models import Configuration
from kdb.content import taken
from modelling.answer_pages.explanations.selectors import (
    confounding,
    contrast_between,
    direct_groups,
    find_confounding,
    shared_part,
    tiers_between,
)
from modelling.answer_store import permalinks
from modelling.answer_store.selectors import snapshot_at
from modelling.answer_store.staleness import changes_concerning
from modelling.answer_store.versions import AnswerVersion, combined_version
from modelling.answers.configurations import MOST_STUDIES, configurations_behind, from_newest_studies
from modelling.answers.content import Answer
from modelling.answers.estimate import ranking_of
from modelling.answers.subset import answer_for_subset
from modelling.estimation.arms import arms_stating_entry, entry_keys
from modelling.estimation.ranking import METHOD, Ranking
from modelling.evidence import counts, dataframes, names
from modelling.evidence.axes import AXES, COLUMN_LABELS, Axis
from modelling.evidence.fairplay import MEASUREMENT_FIELDS
from modelling.evidence.names import label, publications, studies
from modelling.evidence.question import Question
from modelling.evidence.storage import get_or_compute
from modelling.evidence.words import counted, listed, some
from modelling.models import Laboratory
from modelling.own_lab.selectors import Here, answer_here

from .content import ComparedEntry, ComparedPair, Comparison, EnvironmentFact, WorkloadRatio

MOST_WORKLOADS = 20
MOST_NAMED = 2  # case studies in a sentence
Named = tuple[Mapping[str, str], Mapping[str, str]]  # case studies and publications as a sentence names them
# Words for the fields of arms that can differ in one case study, besides those that the axis holds fixed.
_COORDINATES = {
    "variant_id": "benchmark version or workload parameters",
    "operation": "operation",
    "block_size_bytes": "block size",
    "vm_count": "number of virtual machines",
    "metric": "metric",
    "unit": "unit",
}


def comparison_version(
    question: Question, keys: Sequence[str], as_of: int | None, method: int | None, user: Any
) -> AnswerVersion:
    """Return the comparison at its address: pinned if that is permanent, else with changes since it was measured."""
    edition = combined_version(
        permalinks.permalink_key("comparison", f"{question.key}|{','.join(keys)}"),
        as_of,
        method,
        user,
        work_out=lambda: asdict(comparison_and_answer(question, keys, as_of)[0]),
        is_worth=lambda result: any(pair["ratio"] is not None for pair in result["pairs"]),
    )
    if as_of is not None:
        return edition
    studies = {slug for entry in edition.result["entries"] for slug in entry["case_studies"]}
    return replace(edition, changes=changes_concerning(question, keys, studies))


def compare_here(question: Question, keys: Sequence[str], laboratory: Laboratory) -> Here | None:
    """Return the entry to use on a laboratory's machine, and the compared ones there; see answer_here."""
    here = answer_here(question, laboratory)
    if here is None:
        return None
    first, *others = here.entries
    return replace(here, entries=(first, *(entry for entry in others if entry.key in keys)))


def comparison_and_answer(
    question: Question, keys: Sequence[str], as_of: int | None = None
) -> tuple[Comparison, Answer]:
    """Compare two to six entries side by side, and the answer restricted to them. Cached."""
    snapshot = snapshot_at(question, as_of)
    entries = hashlib.sha256(",".join(keys).encode()).hexdigest()
    revision = as_of or counts.revision()
    key = f"modelling.comparison_and_answer:{snapshot.digest}:{revision}:{entries}"
    return get_or_compute(key, lambda: compute_comparison(question, keys, revision, as_of))


def ratios_by_workload(question: Question, keys: Sequence[str], as_of: int | None = None) -> tuple[WorkloadRatio, ...]:
    """Return the ratios of the first entry to the others under every workload. Cached."""
    asked = hashlib.sha256(f"{question.key}|{','.join(keys)}".encode()).hexdigest()
    key = f"modelling.ratios_by_workload:{METHOD}:{as_of or counts.revision()}:{as_of is None}:{asked}"
    return get_or_compute(key, lambda: tuple(compute_ratios(question, keys, as_of)))


def compute_ratios(question: Question, keys: Sequence[str], as_of: int | None = None) -> Iterator[WorkloadRatio]:
    """Yield the ratios of the first entry to each other one by workload, the question's own first.

    Queries grow with the workloads, of which MOST_WORKLOADS are ranked, not with evidence or entries. Workloads with
    too much evidence to rank for a page are left out.
    """
    first, *others = keys
    known = names.names()["workload"]
    workloads = sorted(known, key=lambda workload: workload != question.workload)[:MOST_WORKLOADS]
    for workload in workloads:
        if dataframes.workload_has_more_arms_than(settings.KDB_MOST_ARMS_AT_ONCE, workload):
            continue
        ranking = ranking_of(replace(question, workload=workload), as_of)
        for other in others:
            contrast = contrast_between(shared_part(ranking, first, other), first, other)
            if contrast is not None:
                yield WorkloadRatio(
                    workload, known[workload], ranking.metric, other, contrast.ratio, contrast.low, contrast.high
                )


def compute_comparison(
    question: Question, keys: Sequence[str], revision: int, as_of: int | None = None
) -> tuple[Comparison, Answer]:
    """Return the comparison at `revision`, and the answer restricted to its entries. A constant number of queries.

    keys : two to MOST_ENTRIES different entries of the question's axis, ranked or not
    as_of : use the evidence of this knowledge revision in place of the current one
    """
    axis = AXES[question.axis]
    ranking = ranking_of(question, as_of)
    all_arms = arms_stating_entry(dataframes.arms(replace(question, metric=ranking.metric), as_of=as_of), axis)
    all_arms = all_arms.assign(entry=entry_keys(all_arms, axis))
    all_arms = all_arms[all_arms["entry"].isin(keys)]
    newest = from_newest_studies(all_arms)
    named = studies(all_arms["case_study"].unique()), publications(ranking.findings["publication"].unique())
    answer = answer_for_subset(question, keys, ranking, revision, as_of)
    comparison = Comparison(
        question=question,
        revision=revision,
        metric=ranking.metric,
        entries=tuple(_entry(axis, key, ranking, all_arms) for key in keys),
        environment=_environment_facts(configurations_behind(keys, ranking, newest)),
        environment_of=(
            "all configurations behind each entry"
            if len(newest) == len(all_arms)
            else f"the {MOST_STUDIES} newest case studies behind each entry"
        ),
        pairs=tuple(_pair(axis, a, b, ranking, all_arms, named) for a, b in combinations(keys, 2)),
        verdict=answer.verdict,
    )
    return comparison, answer


def _entry(axis: Axis, key: str, ranking: Ranking, all_arms: pd.DataFrame) -> ComparedEntry:
    ranked = next((entry for part in ranking.parts for entry in part.entries if entry.key == key), None)
    sources = set(all_arms[all_arms["entry"] == key]["case_study"])
    lists = ranking.findings[ranking.findings["entry"] == key]["case_studies"]
    sources |= {slug for slugs in lists for slug in slugs}
    return taken(ComparedEntry, ranked, key=key, label=label(axis, key), case_studies=tuple(sorted(sources)))


def _environment_facts(of_entries: list[list[Configuration]]) -> tuple[EnvironmentFact, ...]:
    """Return the facts of the entries' configurations with the values of each entry, differing facts first."""
    facts: tuple[tuple[str, Callable[[Configuration], str]], ...] = (
        ("Case study", lambda c: c.case_study.title),
        ("Server", lambda c: c.case_study.server.model),
        ("Storage", lambda c: c.case_study.storage.description),
        *FACTS,
    )
    rows = []
    for name, fact in facts:
        values = tuple(tuple(sorted({fact(c) for c in configurations} - {""})) for configurations in of_entries)
        known = [of_entry for of_entry in values if of_entry]
        if known:
            rows.append(EnvironmentFact(name, any(of_entry != known[0] for of_entry in known), values))
    return tuple(sorted(rows, key=lambda row: not row.differs))


def _pair(axis: Axis, a: str, b: str, ranking: Ranking, all_arms: pd.DataFrame, named: Named) -> ComparedPair:
    """Return the ratio of two entries, and why they may or may not be compared."""
    part = shared_part(ranking, a, b)
    contrast = contrast_between(part, a, b)
    used = ranking.arms[ranking.arms["entry"].isin([a, b])]
    groups = direct_groups(used, a, b)
    if groups:
        basis = "side by side"
        why = (
            f"{_name_studies({group.case_study for group in groups}, named)} measured both in "
            f"{counted(len(groups), 'fair-play group')}: same benchmark version "
            f"and workload parameters, with {listed(COLUMN_LABELS[c] for c in axis.held)} equal."
            f"{confounding(find_confounding(axis, a, b, used))}"
        )
    elif contrast is not None:
        basis, why = "through others", _describe_indirect(axis, a, b, ranking)
    elif tiers := tiers_between(ranking, axis, a, b):
        basis = "lists"
        made = listed(sorted({named[1][tier.publication] for tier in tiers}))
        why = f"Only the tier lists of {made} place both: they give an order and no ratio."
    elif part is not None:
        basis = "lists"
        why = "Lists and numbers join the two in a chain, which gives an order and no ratio."
    else:
        basis, why = "not at all", _why_not_comparable(axis, a, b, all_arms, named)
    ratio, low, high = (contrast.ratio, contrast.low, contrast.high) if contrast else (None, None, None)
    return ComparedPair(a, b, ratio, low, high, basis, why)


def _describe_indirect(axis: Axis, a: str, b: str, ranking: Ranking) -> str:
    """Name the entries through which two are compared."""
    arms = ranking.arms
    beside = [
        set(arms[arms["fair_play_group"].isin(arms[arms["entry"] == key]["fair_play_group"])]["entry"])
        for key in (a, b)
    ]
    common = sorted((beside[0] & beside[1]) - {a, b})
    if not common:
        return "No case study measured both side by side; a chain of comparisons joins them."
    return (
        f"No case study measured both side by side; each was measured beside {listed(label(axis, k) for k in common)}, "
        "and so they are compared."
    )


def _why_not_comparable(axis: Axis, a: str, b: str, all_arms: pd.DataFrame, named: Named) -> str:
    """Explain why two entries may not be compared."""
    of = {key: all_arms[all_arms["entry"] == key] for key in (a, b)}
    missing = [label(axis, key) for key, arms in of.items() if arms.empty]
    if missing:
        return f"No published case study has numbers of {listed(missing, 'or')} here."
    shared = sorted(set(of[a]["case_study"]) & set(of[b]["case_study"]))
    if not shared:
        return (
            f"{label(axis, a)} was measured in {_name_studies(of[a]['case_study'], named)}, {label(axis, b)} in "
            f"{_name_studies(of[b]['case_study'], named)}: server, disk and protocol differ, and no comparison joins "
            "them."
        )
    words = {**_COORDINATES, **COLUMN_LABELS}
    mine, other = (of[key][of[key]["case_study"].isin(shared)] for key in (a, b))
    columns = [*MEASUREMENT_FIELDS, *axis.held]
    differing = [words[c] for c in columns if not set(mine[c].map(str)) & set(other[c].map(str))]
    what = f"not with the same {listed(differing, 'or')}" if differing else "with no combination of settings in common"
    return f"{_name_studies(shared, named)} measured both, but {what}."


def _name_studies(slugs: Iterable[str], named: Named) -> str:
    return some([named[0][slug] for slug in sorted(set(slugs))], MOST_NAMED)
