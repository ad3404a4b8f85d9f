"""Read the facts of an explanation from the database."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.models import CaseStudy, Configuration, Workload
from kdb.host_storage import host_storage_parts
from kdb.units import METRICS, SPEEDS, THROUGHPUT
from modelling.answers.configurations import from_newest_studies
from modelling.answers.estimate import ranking_of
from modelling.answers.knowledge import assumptions
from modelling.claims.selectors import verdicts_on
from modelling.estimation import shares
from modelling.estimation.arms import comparable_arms, trials
from modelling.estimation.components import Components
from modelling.estimation.ranking import Ranking
from modelling.evidence import counts, dataframes
from modelling.evidence import names as catalogue
from modelling.evidence.axes import AXES, NATIVE, Axis, entry_parts
from modelling.evidence.names import arm_label, label
from modelling.evidence.question import Question
from modelling.evidence.storage import get_or_compute
from modelling.prediction.content import PairForecast
from modelling.prediction.selectors import forecast
from modelling.workloads import cache_effect, scaling
from modelling.workloads.mechanisms import Expectation, expect, matrix_of
from modelling.workloads.profiles import Profile, known_profiles
from modelling.workloads.track_record import TrackRecord, track_record

from .causes import COMPONENTS
from .facts import ExplanationFacts, Placed, Side, Tier
from .pair_evidence import contrast_between, direct_groups, find_confounding, shared_part, tiers_between

# Column that refers to a row: path to its slug, or to its name where the page shows it.
_NAMED = {
    "hypervisor": "hypervisor__slug",
    "guest_fs": "guest_fs__slug",
    "host_fs": "host_fs__slug",
    "guest_os": "guest_os__name",
    "host_os": "host_os__name",
}
_CONFIGURATION_COLUMNS = {column: _NAMED.get(column, column) for _, of in COMPONENTS.values() for column in of}


def gather(question: Question, a: str, b: str, as_of: int | None = None) -> ExplanationFacts:
    """Return the facts for explaining entries `a` and `b` of the question's axis, in a constant number of queries.

    as_of : use the evidence of this knowledge revision in place of the current one
    The entries need not be ranked; without evidence, the model fills in. Raises ValueError where a key is malformed.
    """
    axis, revision = AXES[question.axis], counts.revision()
    ranking = ranking_of(question, as_of)
    used = ranking.arms[ranking.arms["entry"].isin([a, b])]
    part = shared_part(ranking, a, b)
    profile = known_profiles().get(question.workload)
    newest = from_newest_studies(used)
    wider = Question("configuration", question.workload, benchmark=question.benchmark, metric=ranking.metric)
    whole = dataframes.arms(wider, as_of=as_of)
    beside = whole[whole["case_study"].isin(newest["case_study"])]
    beside = comparable_arms(beside, AXES["configuration"], assumptions().spread)
    studies = _case_studies(ranking)
    sides = {key: _side(axis, key, ranking, used, newest, beside, studies, profile) for key in dict.fromkeys((a, b))}
    side_a, side_b = sides[a], sides[b]
    tiers = tiers_between(ranking, axis, a, b)
    contrast = contrast_between(part, a, b)
    groups = direct_groups(used, a, b)
    concerned = {group.case_study for group in groups} | {slug for tier in tiers for slug in tier.case_studies}
    if part is not None and contrast is not None and not groups:
        concerned |= {slug for network in part.networks for trial in network.trials for slug in trial.sources}
    claims = verdicts_on(question.workload, {studies[slug].publication_id for slug in concerned}, as_of)
    names, is_virtual = catalogue.names(), question.hypervisor != NATIVE
    return ExplanationFacts(
        question=question,
        workload_label=names["workload"].get(question.workload, question.workload),
        relative=METRICS[ranking.metric].relative,
        a=side_a,
        b=side_b,
        held=tuple(column for column in axis.all_held(question.hypervisor) if column in axis.held),
        comes_along=tuple(c for c in axis.comes_along if _both_differ(side_a, side_b, c)),
        confounding=find_confounding(axis, a, b, used),
        groups=groups,
        contrast=contrast,
        tiers=tiers,
        list_sign=_list_sign(tiers),
        profile=profile,
        profile_words={} if profile else _profile_words(question.workload),
        # Mechanisms, shares and forecasts are models of file systems under images of machines.
        expectation=_expectation(side_a, side_b, profile) if is_virtual else None,
        record=mechanisms_record(question.workload, revision, as_of),
        decomposition=_decomposition(wider, whole, side_a, side_b, as_of or revision) if is_virtual else None,
        forecast=_forecast(question, side_a, side_b, as_of) if is_virtual and contrast is None else None,
        case_studies={slug: studies[slug].title for slug in sorted(concerned)},
        sources={slug: f"“{study.title}”" for slug, study in studies.items()},
        publications=catalogue.publications({*claims, *(tier.publication for tier in tiers)}),
        claims=claims,
        names=names,
    )


# The two sides


def _side(
    axis: Axis,
    key: str,
    ranking: Ranking,
    used: pd.DataFrame,
    newest: pd.DataFrame,
    beside: pd.DataFrame,
    studies: Mapping[str, CaseStudy],
    profile: Profile | None,
) -> Side:
    """Return one of the two entries with its facts.

    newest : the arms of `used` that get verdicts; beside : all comparable arms of their case studies
    """
    entry = next((e for part in ranking.parts for e in part.entries if e.key == key), None)
    mine = used[used["entry"] == key]
    parts = entry_parts(axis, key)
    for column in axis.comes_along:
        values = mine[column].dropna().unique()
        if len(values) == 1 and values[0] != "":
            parts[column] = str(values[0])
    return Side(
        key=key,
        label=label(axis, key),
        parts=parts,
        rank=entry.rank if entry else None,
        part=entry.part if entry else None,
        grade=entry.grade if entry else None,
        configuration=_common_facts(mine, parts),
        cache=_cache_verdicts(newest[newest["entry"] == key], studies, profile),
        scaling=_scaling_verdicts(newest[newest["entry"] == key], beside, studies),
    )


def _common_facts(mine: pd.DataFrame, parts: Mapping[str, str]) -> dict[str, Any]:
    """Return each column with the one value that all compared configurations of the side have."""
    rows = Configuration.objects.filter(pk__in=set(mine["configuration_id"]))
    values: dict[str, set[Any]] = {}
    for row in rows.values_list(*_CONFIGURATION_COLUMNS.values()):
        for column, value in zip(_CONFIGURATION_COLUMNS, row, strict=True):
            values.setdefault(column, set()).add(value)
    return {**{column: stated.pop() for column, stated in values.items() if len(stated) == 1}, **parts}


def _cache_verdicts(
    mine: pd.DataFrame, studies: Mapping[str, CaseStudy], profile: Profile | None
) -> tuple[Placed, ...]:
    """Return a cache verdict for each configuration at its smallest number of machines."""
    placed = []
    single = mine[mine["metric"] == THROUGHPUT].sort_values(["case_study", "configuration_id", "vm_count"])
    for row in single.drop_duplicates("configuration_id").itertuples(index=False):
        study = studies[row.case_study]
        if row.storage != study.storage.kind:  # not the disks whose limits the case study states
            continue
        limits = cache_effect.Limits.of(
            study.storage.sequential_read_limit,
            study.storage.sequential_write_limit,
            study.storage.interface_limit,
        )
        verdict = cache_effect.cache_verdict(
            float(np.exp(row.mean_log)),
            row.unit,
            limits,
            read_share=profile.bytes.reads if profile else None,
            vm_count=row.vm_count,
            scope=study.value_scope,
        )
        if verdict.name != cache_effect.NO_LIMIT:
            what = arm_label(row)
            sentence = cache_effect.sentence(verdict)
            text = f"In “{study.title}”, {what}: {sentence[:1].lower()}{sentence[1:]}"
            placed.append(Placed(row.case_study, what, verdict, text, row.source))
    return tuple(placed)


def _scaling_verdicts(mine: pd.DataFrame, beside: pd.DataFrame, studies: Mapping[str, CaseStudy]) -> tuple[Placed, ...]:
    """Return a scaling verdict for each configuration and load with two or more numbers of machines."""
    placed = []
    rates = beside[beside["metric"].map(lambda metric: METRICS[metric].higher_is_better).astype(bool)]
    rows = rates[rates["configuration_id"].isin(mine["configuration_id"])]
    series = ["case_study", "configuration_id", "variant_id", "operation", "block_size_bytes", "unit"]
    for _, arms in rows.groupby(series, dropna=False):
        arms = arms.sort_values("vm_count")
        if arms["vm_count"].nunique() < 2:
            continue
        first = next(arms.itertuples(index=False))
        verdict = scaling.scaling(
            arms["vm_count"].tolist(),
            np.exp(arms["mean_log"]).tolist(),
            first.unit,
            variances=arms["arm_variance"].tolist(),
            scope=studies[first.case_study].value_scope,
        )
        what = arm_label(first)
        text = f"In “{studies[first.case_study].title}”, {what}: {scaling.sentence(verdict)}"
        placed.append(Placed(first.case_study, what, verdict, text, first.source))
    return tuple(placed)


def _both_differ(a: Side, b: Side, column: str) -> bool:
    return a.parts.get(column, "") != b.parts.get(column, "") and column in a.parts and column in b.parts


# Their comparison


def _list_sign(tiers: tuple[Tier, ...]) -> int:
    """Return 1 where the lists put a first, -1 for b, 0 where they put them alike or disagree."""
    signs = {int(np.sign(tier.a - tier.b)) for tier in tiers} - {0}
    return signs.pop() if len(signs) == 1 else 0


# Models


def _expectation(a: Side, b: Side, profile: Profile | None) -> Expectation | None:
    """Return the expectation by mechanisms if the sides differ in file systems; one that is not named is equal."""
    named = [side for side in ("guest_fs", "host_fs") if side in a.parts and side in b.parts]
    if profile is None or ("guest_fs" not in named and "host_fs" not in named) or a.key == b.key:
        return None
    if all(a.parts[side] == b.parts[side] for side in named) or ("hypervisor" in a.parts and "guest_fs" not in named):
        return None
    pair_a, pair_b = ((side.parts.get("guest_fs", "ext4"), side.parts.get("host_fs", "ext4")) for side in (a, b))
    return expect(pair_a, pair_b, matrix_of(dataframes.mechanism_costs()), profile)


def mechanisms_record(workload: str, revision: int, as_of: int | None = None) -> TrackRecord:
    """Return how often the mechanisms were right on a workload, by all published evidence. Cached.

    revision : the current one; as_of : use the evidence of this one in its place
    """
    profile = known_profiles().get(workload)
    if profile is None:
        return TrackRecord()

    def compute() -> TrackRecord:
        asked = Question("fs-pair", workload)
        arms, findings = dataframes.arms(asked, as_of=as_of), dataframes.findings(asked, as_of=as_of)
        return track_record(arms, findings, matrix_of(dataframes.mechanism_costs()), profile, assumptions().spread)

    return get_or_compute(f"modelling.mechanisms_record:{as_of or revision}:{workload}", compute)


def _forecast(question: Question, a: Side, b: Side, as_of: int | None) -> PairForecast | None:
    """Forecast the two from all published evidence; None where a part in which they differ was never compared."""
    if question.metric not in (None, *SPEEDS):
        return None
    axis = AXES[question.axis]
    differing = {*axis.entry, *(column for column in axis.comes_along if _both_differ(a, b, column))}

    def stated(side: Side) -> dict[str, str]:
        parts = {column: value for column, value in side.parts.items() if column in differing}
        if key := parts.pop("host_storage", None):
            parts["backend"], parts["host_fs"] = host_storage_parts(key)
        return parts

    return forecast(stated(a), stated(b), question.workload, question.storage, as_of)


def _decomposition(asked: Question, arms: pd.DataFrame, a: Side, b: Side, revision: int) -> shares.Decomposition | None:
    """Split the difference of the two by a model of all arms of the workload, which is cached.

    asked : the question of `arms`. None where the two are the same, or no arms can be compared.
    """
    if a.key == b.key:
        return None
    key = f"modelling.shares:{revision}:{hashlib.sha256(asked.key.encode()).hexdigest()}"
    model = get_or_compute(key, lambda: _fit_components(arms))
    return model and shares.decompose(model, a.parts, b.parts)


def _fit_components(arms: pd.DataFrame) -> Components | None:
    compared = comparable_arms(arms, AXES["configuration"], assumptions().spread)
    if compared.empty:
        return None
    kinds = compared.drop_duplicates("entry")[["entry", *shares.COMPONENTS]].set_index("entry")
    return shares.fit(trials(compared), kinds.to_dict("index"))


def _profile_words(workload: str) -> dict[str, str]:
    row = Workload.objects.filter(slug=workload).first()
    columns = ("random_reads", "sequential_reads", "random_writes", "sequential_writes", "metadata_operations")
    return {column: getattr(row, column) for column in columns} if row else {}


def _case_studies(ranking: Ranking) -> dict[str, CaseStudy]:
    stated: Iterable[tuple[str, ...]] = ranking.findings["case_studies"]
    slugs = {*ranking.arms["case_study"].unique(), *(slug for of_list in stated for slug in of_list)}
    return {study.slug: study for study in CaseStudy.objects.filter(slug__in=slugs).select_related("storage")}
