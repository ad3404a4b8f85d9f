"""Summarise the evidence of an answer: its case studies, counted and one by one, and how far they agree."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from experiments.models import CaseStudy
from experiments.models.case_study import laboratory
from modelling.estimation.network import Network
from modelling.estimation.ranking import RankedPart, Ranking, part_links
from modelling.evidence.axes import COLUMN_LABELS, Axis
from modelling.evidence.fairplay import first_indices, is_stated, number_rows
from modelling.evidence.question import Question
from modelling.evidence.words import listed
from modelling.workloads.cache_effect import Limits

from .content import Grounds, LaboratoryComparison, NetworkFit, StudyEvidence

MOST_LABORATORIES = 100  # laboratories to list one by one
_FACTS_OF_ARMS = ("hypervisor", "storage", "host_storage", "guest_fs", "guest_os_family", "vm_count")


def summarize_grounds(ranking: Ranking) -> Grounds:
    """Count the evidence of the ranking."""
    arms, findings = ranking.arms, ranking.findings
    is_measured = arms["origin"] == "measured"
    slugs = {*arms["case_study"].unique(), *(slug for slugs in findings["case_studies"] for slug in slugs)}
    facts = _facts(ranking)
    listing = CaseStudy.objects.filter(slug__in={slug for slugs in findings["case_studies"] for slug in slugs})
    listed = list(listing.values_list(laboratory(), "publication__year"))
    laboratories = {*arms["laboratory"].unique(), *(maker for maker, _ in listed)}
    years = {*map(int, arms["year"].dropna().unique()), *(year for _, year in listed if year)}
    groups = {*arms["research_group"].unique(), *(name for names in findings["research_groups"] for name in names)}
    return Grounds(
        laboratories=len(laboratories),
        groups=len(groups),
        case_studies=len(slugs),
        measurements=int(arms["measurements"][is_measured].sum()),
        derived=int((~is_measured).sum()),
        findings=len(findings.drop_duplicates("pk")) if len(findings) else 0,
        storage=tuple(filter(None, facts["storage"])),
        years=tuple(sorted(years)),
        vm_counts=tuple(sorted({int(count) for count in arms["vm_count"].unique()})),
        facts=facts,
    )


def _facts(ranking: Ranking) -> dict[str, tuple[str, ...]]:
    """Return the values of each fact: of arms from their configurations, of tier lists from their case studies."""
    arms, findings = ranking.arms, ranking.findings
    values_of = {column: set(map(_text, arms[column].unique())) for column in _FACTS_OF_ARMS}
    for column in ("hypervisor", "guest_fs", "host_storage"):
        values_of[column] |= set(map(_text, findings[column]))
    listing = CaseStudy.objects.filter(slug__in={slug for slugs in findings["case_studies"] for slug in slugs})
    virtual = listing.filter(configurations__hypervisor__isnull=False)
    for kind, family, counts in virtual.values_list("storage__kind", "configurations__guest_os__family", "vm_counts"):
        values_of["storage"].add(_text(kind))
        values_of["guest_os_family"].add(_text(family))
        values_of["vm_count"] |= {str(count) for count in counts if count}
    by_number = partial(sorted, key=lambda value: (int(value) if value.isdecimal() else 0, value))
    return {column: tuple(by_number(values)) for column, values in values_of.items()}


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


@dataclass(frozen=True)
class Study:
    """A case study's statements about all its values. storage : its kind, whose limits are known; "": not stated"""

    title: str
    scope: str
    storage: str
    limits: Limits


def read_studies(ranking: Ranking) -> dict[str, Study]:
    """Return the case studies that the ranking rests on, by slug. One query."""
    stated = (slug for slugs in ranking.findings["case_studies"] for slug in slugs)
    studies = CaseStudy.objects.filter(slug__in={*ranking.arms["case_study"].unique(), *stated})
    limits = ("storage__sequential_read_limit", "storage__sequential_write_limit", "storage__interface_limit")
    rows = studies.values_list("slug", "title", "value_scope", "storage__kind", *limits)
    return {slug: Study(title, scope, storage, Limits.of(*most)) for slug, title, scope, storage, *most in rows}


def list_evidence(ranking: Ranking, studies: Mapping[str, Study]) -> tuple[StudyEvidence, ...]:
    """Return what each case study contributes to the answer, with its sources."""
    counts: dict[str, Counter[str]] = {}
    sources: dict[str, set[str]] = {}
    arms = ranking.arms
    number = number_rows(arms, ["case_study", "origin"])
    of_kind = arms[["case_study", "origin"]].iloc[first_indices(number)].itertuples(index=False, name=None)
    rows = np.bincount(number, arms["measurements"])
    for (slug, origin), measurements in zip(of_kind, rows.tolist(), strict=True):
        kind = "measurements" if origin == "measured" else "derived"
        counts.setdefault(slug, Counter())[kind] = int(measurements)
    source_rows = first_indices(number_rows(arms, ["case_study", "source"]))
    for slug, source in arms[["case_study", "source"]].iloc[source_rows].itertuples(index=False, name=None):
        sources.setdefault(slug, set()).add(source)
    for row in ranking.findings.itertuples(index=False):
        for slug in row.case_studies:
            counts.setdefault(slug, Counter())["findings"] += 1
            sources.setdefault(slug, set()).update([row.text_source, row.table_source])
    protocols = describe_protocols(ranking.arms)
    return tuple(
        StudyEvidence(
            case_study=slug,
            title=studies[slug].title,
            measurements=numbers["measurements"],
            derived=numbers["derived"],
            findings=numbers["findings"],
            sources=tuple(sorted(filter(None, sources[slug]))),
            protocol=protocols.get(slug, ""),
        )
        for slug, numbers in sorted(counts.items())
    )


def describe_protocols(arms: pd.DataFrame) -> dict[str, str]:
    """Describe how each case study measured: "3 runs a number, of 120 s; no spread"."""
    if arms.empty:
        return {}
    study = number_rows(arms, ["case_study"])
    slugs, arms_of = arms["case_study"].iloc[first_indices(study)], np.bincount(study)
    runs, seconds = (_spans(study, arms[column].to_numpy(dtype=float)) for column in ("runs", "run_seconds"))
    of_all, spreads = np.bincount(study, arms["runs"].notna()), np.bincount(study, ~arms["assumed"])
    described = {}
    for place, slug in enumerate(slugs):
        every, spread = int(arms_of[place]), int(spreads[place])
        counts = runs[place] if of_all[place] == every else ""
        repeated = f"{counts} run{'' if counts == '1' else 's'} a number" if counts else "number of runs not stated"
        length = f"of {seconds[place]} s" if seconds[place] else "length not stated"
        stated = "spread stated" if spread == every else f"spread of {spread} of {every}" if spread else "no spread"
        described[slug] = f"{repeated}, {length}; {stated}"
    return described


def _spans(number: np.ndarray, values: np.ndarray) -> list[str]:
    """Return the range of the values in each group as text; "" where all are missing. number : group of each value"""
    order = np.argsort(number, kind="stable")
    begins = np.flatnonzero(np.diff(number[order], prepend=-1))
    ends = zip(np.fmin.reduceat(values[order], begins), np.fmax.reduceat(values[order], begins), strict=True)
    return ["" if np.isnan(low) else _span(low, high) for low, high in ends]


def _span(least: float, most: float) -> str:
    low, high = f"{least:g}", f"{most:g}"
    return low if low == high else f"{low} to {high}"


def list_comparisons(ranking: Ranking) -> tuple[LaboratoryComparison, ...]:
    """Return the entries that each laboratory compared in numbers, most entries first."""
    of_parts = [(part.number, part_links(part, ranking.arms)) for part in ranking.parts]
    comparisons = [
        LaboratoryComparison(
            part=number,
            laboratory=trial.name,
            research_group=links.group_of.get(trial.name, trial.name),
            case_studies=tuple(sorted(trial.sources)),
            entries=trial.treatments,
        )
        for number, links in of_parts
        for trial in links.trials
    ]
    comparisons.sort(key=lambda row: (-len(row.entries), row.part, row.laboratory, row.entries))
    return tuple(comparisons[:MOST_LABORATORIES])


def describe_equal(axis: Axis, question: Question, ranking: Ranking, part: RankedPart) -> dict[str, str]:
    """Name the columns equal in every comparison of a part, and those assumed equal, as some arms do not state them."""
    columns = list(axis.all_held(question.hypervisor))
    arms = ranking.arms.loc[ranking.arms["entry"].isin(part.members), columns]
    missing = {column: ~is_stated(arms[column]) for column in columns}
    held = [column for column in missing if column in axis.held or not missing[column].all()]
    assumed = [column for column in held if missing[column].any() and column not in axis.set_by_entry]
    return {
        "held_equal": listed([COLUMN_LABELS[column] for column in held if not missing[column].any()]),
        "assumed_equal": listed([COLUMN_LABELS[column] for column in assumed]),
    }


def network_fit(network: Network) -> NetworkFit:
    """Return how well the case studies of one network agree."""
    return NetworkFit(
        entries=network.treatments,
        case_studies=len({slug for trial in network.trials for slug in trial.sources}),
        tau2=network.tau2,
        q=network.q,
        freedom=network.freedom,
        i2=network.i2,
        q_heterogeneity=network.q_heterogeneity,
        q_inconsistency=network.q_inconsistency,
    )
