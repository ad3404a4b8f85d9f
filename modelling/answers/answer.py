"""Turns a ranking into its answer: labels, notes in sentences, evidence, gaps."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
from django.conf import settings

from experiments.models import CaseStudy, Configuration
from experiments.models.case_study import laboratory
from kdb.host_storage import BACKENDS
from kdb.pairs import pair_key
from kdb.units import METRICS, SCORE
from modelling.estimation.network import Network
from modelling.estimation.ranking import RankedPart, Ranking, rank
from modelling.estimation.verdict import WINNER
from modelling.evidence import frames
from modelling.evidence import names as catalogue
from modelling.evidence.axes import AXES, COLUMN_LABELS, NATIVE, Axis
from modelling.evidence.fairplay import varies
from modelling.evidence.names import label
from modelling.evidence.question import Question
from modelling.evidence.words import counted, listed, machines
from modelling.workloads.curves import curves

from . import decision
from .content import Answer, AnswerPart, Grounds, NetworkFit, RankedEntry, StudyEvidence
from .differences import differences
from .estimate import assumptions, other_arms, ranking_of
from .next_runs import next_runs
from .set_up import set_ups
from .trade_off import trade_offs

_FACTS_OF_ARMS = ("hypervisor", "storage", "host_storage", "guest_fs", "guest_os_family", "vm_count")
# What may change how much faster one entry is than another, though it is equal in every comparison.
_MODERATORS = ("storage", "allocation", "cache_mode")
_LABORATORY = ("laboratory", "laboratories")
_MOST_COUNTS = 6  # numbers of machines that are looked at one by one


def answer(
    question: Question,
    ranking: Ranking,
    revision: int,
    measured: Sequence[tuple[str, str, str]],
    others: Mapping[str, pd.DataFrame],
) -> Answer:
    """Return the answer that a ranking gives to the question.

    measured : what frames.metrics_measured finds; others : what estimate.other_arms finds of it
    """
    axis = AXES[question.axis]
    parts = ranking.parts
    entry_name = partial(label, axis)
    part_names = decision.part_names(ranking, entry_name, _name_of)
    missing = _missing(axis, question, ranking, measured)
    runs = next_runs(question, ranking, assumptions().spread)
    titles, scopes = _told_of_studies(ranking)
    return Answer(
        question=question,
        revision=revision,
        reference=parts[0].reference if parts else None,
        metric=ranking.metric,
        other_metrics=tuple(metric for metric in METRICS if metric in others),
        status=_status(ranking),
        verdict=decision.of_answer(parts, part_names, entry_name, missing, runs),
        machines=_machines(question, ranking, entry_name),
        grounds=grounds(ranking),
        entries=tuple(
            RankedEntry(**vars(entry), label=entry_name(entry.key)) for part in parts for entry in part.entries
        ),
        parts=tuple(
            AnswerPart(
                part=part.number,
                name=name,
                verdict=decision.of_part(part, entry_name, runs),
                basis=part.basis,
                reference=part.reference,
                **_equal(axis, question, ranking, part),
                networks=tuple(_network(network) for network in part.networks),
            )
            for part, name in zip(parts, part_names, strict=True)
        ),
        best=tuple(key for part in parts for key in part.best),
        worst=tuple(key for part in parts for key in part.worst),
        scaling=curves(ranking.arms, axis, entry_name, scopes),
        next_runs=runs,
        differences=differences(parts, {ranking.metric: ranking.arms, **others}),
        trade_offs=trade_offs(ranking, others, axis, assumptions()),
        set_ups=set_ups(ranking, entry_name),
        notes=tuple(caveats(axis, question, ranking)),
        evidence=_evidence(ranking, titles),
        missing=tuple(missing),
    )


def answer_with_draft(question: Question, case_study_id: int | None, revision: int) -> Answer:
    """The answer as it would be with one unpublished case study beside what is published; never kept."""
    ranking = ranking_of(question, with_draft=case_study_id)
    measured = frames.metrics_measured(question, with_draft=case_study_id)
    others = other_arms(question, ranking, measured, with_draft=case_study_id)
    return answer(question, ranking, revision, measured, others)


def _told_of_studies(ranking: Ranking) -> tuple[dict[str, str], dict[str, str]]:
    """Return the titles of the case studies that the ranking rests on, and the scopes of their values."""
    stated = (slug for slugs in ranking.findings["case_studies"] for slug in slugs)
    studies = CaseStudy.objects.filter(slug__in={*ranking.arms["case_study"].unique(), *stated})
    rows = list(studies.values_list("slug", "title", "value_scope"))
    return {slug: title for slug, title, _ in rows}, {slug: scope for slug, _, scope in rows}


def _name_of(column: str, value: str) -> str:
    """Name a value of one of the columns that tell parts apart."""
    known = catalogue.names()
    return {"hypervisor": known["hypervisor"], "cache_mode": {}}.get(column, known["file_system"]).get(value, value)


def _status(ranking: Ranking) -> str:
    """Say in one word how far the evidence goes."""
    parts = ranking.parts
    if not parts:
        return "no comparison"
    if len(parts) > 1:
        return "ranked apart"
    return "ranked" if parts[0].verdict.kind == WINNER else "indistinguishable"


def _network(network: Network) -> NetworkFit:
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


def _equal(axis: Axis, question: Question, ranking: Ranking, part: RankedPart) -> dict[str, str]:
    """Say what is equal in every comparison of a part, and what is only assumed to be: some arms do not state it."""
    columns = list(axis.all_held(question.hypervisor))
    arms = ranking.arms.loc[ranking.arms["entry"].isin(part.members), columns]
    missing = {column: arms[column].isna() | (arms[column] == "") for column in columns}
    held = [column for column in missing if column in axis.held or not missing[column].all()]
    return {
        "held_equal": listed([COLUMN_LABELS[column] for column in held if not missing[column].any()]),
        "assumed_equal": listed([COLUMN_LABELS[column] for column in held if missing[column].any()]),
    }


def grounds(ranking: Ranking) -> Grounds:
    """Return what the ranking rests on, in numbers."""
    arms, findings = ranking.arms, ranking.findings
    is_measured = arms["origin"] == "measured"
    slugs = {*arms["case_study"].unique(), *(slug for slugs in findings["case_studies"] for slug in slugs)}
    facts = _facts(ranking)
    listing = CaseStudy.objects.filter(slug__in={slug for slugs in findings["case_studies"] for slug in slugs})
    makers = {*arms["laboratory"].unique(), *listing.values_list(laboratory(), flat=True)}
    return Grounds(
        laboratories=len(makers),
        case_studies=len(slugs),
        measurements=int(arms["measurements"][is_measured].sum()),
        derived=int((~is_measured).sum()),
        findings=len(findings.drop_duplicates("pk")) if len(findings) else 0,
        storage=tuple(filter(None, facts["storage"])),
        years=tuple(sorted({int(year) for year in arms["year"].dropna().unique()})),
        vm_counts=tuple(sorted({int(count) for count in arms["vm_count"].unique()})),
        facts=facts,
    )


def _facts(ranking: Ranking) -> dict[str, tuple[str, ...]]:
    """Return the values of each fact: of arms as configurations have them, of tier lists as their case studies do."""
    arms, findings = ranking.arms, ranking.findings
    found = {column: set(map(_text, arms[column].unique())) for column in _FACTS_OF_ARMS}
    for column in ("hypervisor", "guest_fs", "host_storage"):
        found[column] |= set(map(_text, findings[column]))
    listing = CaseStudy.objects.filter(slug__in={slug for slugs in findings["case_studies"] for slug in slugs})
    virtual = listing.filter(configurations__hypervisor__isnull=False)
    for kind, family, counts in virtual.values_list("storage__kind", "configurations__guest_os__family", "vm_counts"):
        found["storage"].add(_text(kind))
        found["guest_os_family"].add(_text(family))
        found["vm_count"] |= {str(count) for count in counts if count}
    by_number = partial(sorted, key=lambda value: (int(value) if value.isdecimal() else 0, value))
    return {column: tuple(by_number(values)) for column, values in found.items()}


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _machines(question: Question, ranking: Ranking, entry_name: Callable[[str], str]) -> str:
    """Say which entries would be used at each number of machines, where it is not what is used on average; else ""."""
    counts = sorted({int(count) for count in ranking.arms["vm_count"].unique()})
    if question.vm_count is not None or not 1 < len(counts) <= _MOST_COUNTS or len(ranking.parts) != 1:
        return ""
    said = {}
    for count in counts:
        arms = ranking.arms[ranking.arms["vm_count"] == count]
        alone = rank(arms, ranking.findings.iloc[:0], AXES[question.axis], assumptions())
        if len(alone.parts) == 1:
            said[count] = alone.parts[0].best
    if not any(set(best) != set(ranking.parts[0].best) for best in said.values()):
        return ""
    each = [f"{machines(count)} {listed(map(entry_name, best), 'or') or 'nothing'}" for count, best in said.items()]
    return f"By their number alone: with {'; with '.join(each)}."


def _evidence(ranking: Ranking, titles: Mapping[str, str]) -> tuple[StudyEvidence, ...]:
    """Return the case studies the answer rests on, with what each contributes and where it stands."""
    counts: dict[str, Counter[str]] = {}
    sources: dict[str, set[str]] = {}
    of_kind = ranking.arms.groupby(["case_study", "origin"])["measurements"].sum()
    for (slug, origin), number in of_kind.items():
        kind = "measurements" if origin == "measured" else "derived"
        counts.setdefault(slug, Counter())[kind] = int(number)
    for slug, source in ranking.arms[["case_study", "source"]].drop_duplicates().itertuples(index=False, name=None):
        sources.setdefault(slug, set()).add(source)
    for row in ranking.findings.itertuples(index=False):
        for slug in row.case_studies:
            counts.setdefault(slug, Counter())["findings"] += 1
            sources.setdefault(slug, set()).update([row.text_source, row.table_source])
    return tuple(
        StudyEvidence(
            case_study=slug,
            title=titles[slug],
            measurements=found["measurements"],
            derived=found["derived"],
            findings=found["findings"],
            sources=tuple(sorted(filter(None, sources[slug]))),
        )
        for slug, found in sorted(counts.items())
    )


def caveats(axis: Axis, question: Question, ranking: Ranking) -> list[str]:
    """Say what a careful reader must know about this answer, in sentences."""
    notes = []
    arms, findings, parts = ranking.arms, ranking.findings, ranking.parts
    if len(parts) > 1:
        notes.append(
            f"The evidence falls into {len(parts)} parts that no comparison joins. Ranks and ratios hold inside "
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
    counts = sorted(int(n) for n in arms["vm_count"].unique())
    if len(counts) > 1:
        notes.append(f"Averaged over {listed([str(n) for n in counts])} virtual machines.")
    if max(counts, default=1) > 1 and _scope_is_unknown(ranking):
        notes.append(
            "The sources do not say whether a value at several machines is for each machine or for all together. "
            "Ratios at one machine count do not depend on it."
        )
    notes += [_confounding(axis, column, arms) for column in axis.comes_along if _differs(column, arms)]
    notes += [_moderation(axis, column, arms) for column in _MODERATORS if _varies(axis, column, arms)]
    notes += [note for part in parts for network in part.networks for note in _disagreements(network)]
    notes += _never_recommended(axis, parts)
    if len(findings):
        notes.append(_tier_lists(ranking))
        if question.vm_count is not None:
            notes.append("Tier lists are stated for a whole case study, not for one number of virtual machines.")
        disputed = findings[findings["text_list"] != findings["table_list"]].drop_duplicates("pk")
        notes += [_dispute(row) for row in disputed.itertuples(index=False)]
    return notes


def _varies(axis: Axis, column: str, arms: pd.DataFrame) -> bool:
    """Tell whether the column differs between comparisons, and neither makes entries nor comes along with them."""
    return column not in (*axis.entry, *axis.comes_along) and len(set(arms[column].unique()) - {""}) > 1


def _moderation(axis: Axis, column: str, arms: pd.DataFrame) -> str:
    """Say how many laboratories each value of the column is of, where a ratio is an average over several."""
    stated = arms[arms[column] != ""]
    laboratories = stated.groupby(column)["laboratory"].nunique()
    spelled = catalogue.names()["storage"] if column == "storage" else {}
    kinds = [f"{spelled.get(value, value)} ({counted(count, *_LABORATORY)})" for value, count in laboratories.items()]
    few = sum(laboratories >= 2) < 2
    how_much = (
        "With so few of each, how much is not known." if few else "It is part of the spread between laboratories."
    )
    asking = " A filter asks for one kind alone." if column == "storage" else ""
    ratios = f"The {COLUMN_LABELS[column]} may change these ratios, which are averages over {listed(kinds)}."
    return f"{ratios} {how_much}{asking}"


def _disagreements(network: Network) -> list[str]:
    """Say how much the case studies of one network differ beyond their own spread, where they do."""
    if not network.tau2:
        return []
    spread = math.exp(math.sqrt(network.tau2)) - 1
    return [
        f"The case studies differ by more than their own spread explains (I² = {network.i2:.0%}; a standard deviation "
        f"of {spread:.0%} between them is estimated from {len(network.trials)}); the intervals include it."
    ]


def _tier_lists(ranking: Ranking) -> str:
    """Say what the tier lists did to the answer."""
    bases = {part.basis for part in ranking.parts}
    if "both" not in bases:
        return (
            "The order rests on tier lists: their sources publish who is best and worst, not the numbers, so no "
            "ratios can be given. Entries of one tier share a rank."
        )
    return (
        "Tier lists count beside the numbers: a list is taken to name the faster of two entries with odds of "
        f"{math.exp(math.log(1.25) / settings.KDB_TIER_SCALE):.1f} to 1 where one is 25 % faster. An entry that only "
        "lists speak of has a rank but no ratio."
    )


def _dispute(finding: Any) -> str:
    """Say that text and table of one publication put a pair into different lists."""
    pair = label(AXES["fs-pair"], pair_key(finding.guest_fs, finding.host_fs))
    said = {"best": "among the best", "unlisted": "in no list", "worst": "among the worst"}
    return (
        f"{pair} stands {said[finding.text_list]} in {finding.text_source} of {finding.publication.upper()} and "
        f"{said[finding.table_list]} in its {finding.table_source}; it is placed in the middle."
    )


def _never_recommended(axis: Axis, parts: Iterable[RankedPart]) -> list[str]:
    """Say which entries were measured only with which options that can lose acknowledged writes."""
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


def _scope_is_unknown(ranking: Ranking) -> bool:
    slugs = set(ranking.arms["case_study"].unique())
    return CaseStudy.objects.filter(slug__in=slugs, value_scope=CaseStudy.Scope.NOT_STATED).exists()


def _differs(column: str, arms: pd.DataFrame) -> bool:
    return bool(varies(pd.factorize(arms["group"])[0], arms[column]).any())


def _confounding(axis: Axis, column: str, arms: pd.DataFrame) -> str:
    """Say which entries came with another value of `column` than those they were compared with."""
    names = catalogue.names()
    virtualisations = dict(Configuration.Virtualisation.choices)
    kinds = {"host_fs": names["file_system"], "virtualisation": virtualisations, "backend": BACKENDS}
    spelled = kinds.get(column, {})
    pairs = sorted(arms[["entry", column]].drop_duplicates().itertuples(index=False, name=None), key=str)
    told = [f"{label(axis, entry)} with {spelled.get(value, value or 'not stated')}" for entry, value in pairs]
    return (
        f"Confounded with the {COLUMN_LABELS[column]}: it comes along with the entry and differs between compared "
        f"ones ({'; '.join(told)}). A difference may be due to either."
    )


def _missing(axis: Axis, question: Question, ranking: Ranking, measured: Iterable[tuple[str, str, str]]) -> list[str]:
    """Say what would have to be measured, where there is no answer."""
    if ranking.parts:
        return []
    asked = catalogue.names()["workload"].get(question.workload, question.workload)
    narrowed = [f"{name.replace('_', ' ')} {value}" for name, value in question.filters.items() if name != "metric"]
    under = f" with {listed(narrowed)}" if narrowed else ""
    held = [column for column in axis.all_held(question.hypervisor) if column in axis.held]
    by = f" by {METRICS[question.metric].label}" if question.metric else ""
    return [
        f"No published case study compares two entries of the axis “{axis.label.lower()}” for the workload "
        f"{asked}{under}{by}.",
        *_measured(measured),
        *_scores(question, measured),
        *_natively(question),
        "It would take at least two configurations that differ in it, measured in one case study with the same "
        f"benchmark version and the same {listed([COLUMN_LABELS[column] for column in held])}.",
    ]


def _scores(question: Question, measured: Iterable[tuple[str, str, str]]) -> list[str]:
    if question.benchmark or all(metric != SCORE for metric, *_ in measured):
        return []
    return ["Scores are compared inside one benchmark only, which the question has to name."]


def _natively(question: Question) -> list[str]:
    if question.hypervisor != NATIVE:
        return []
    return ["A native run has no guest and no machines: natively, host file systems and host storage are compared."]


def _measured(measured: Iterable[tuple[str, str, str]]) -> list[str]:
    """Write a sentence for each metric and unit that case studies do have of the workload."""
    studies: dict[tuple[str, str], list[str]] = {}
    for metric, unit, case_study in measured:
        studies.setdefault((metric, unit), []).append(case_study.upper())
    return [
        f"{listed(slugs)} measured the {METRICS[metric].label} in {unit}, but of nothing that may be compared here."
        for (metric, unit), slugs in studies.items()
    ]
