"""Read evidence from the database as DataFrames of arms and findings; nothing else reads it for answers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from hashlib import sha256
from itertools import islice, product, repeat
from math import isnan
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from django.conf import settings
from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Length, Trim
from django.db.models.lookups import GreaterThan
from pandas.api.types import union_categoricals

from experiments.models import CaseStudy, Configuration, MechanismCost, OrdinalFinding, WorkloadVariant
from experiments.models.case_study import CaseStudyQuerySet, laboratory
from experiments.models.testbed import setting_keys, storage_kind
from experiments.rules import protocol
from kdb.disk_path import SETTINGS
from kdb.host_storage import FILE, UNNAMED, host_storage_key, host_storage_parts
from kdb.units import SCORE, THROUGHPUT
from modelling.models import Arm

from . import kept_arms, names, research_groups
from .axes import AXES, NATIVE, RUNTIME
from .durability import losing_options
from .fairplay import ONE_QUANTITY, convert_to_metric, same_quantity
from .kept_arms import Kept
from .question import GRADES, PAPERS, Question

ANY_WORKLOAD = "*"  # workload of a question about all workloads
_ROWS_AT_ONCE = 10_000  # arms that are Python objects at one time, to bound memory
EMULATOR = "qemu-tcg"  # software emulation counts only in questions that name it

# Column of the frame: path from an arm.
_ARM_COLUMNS = {
    "case_study": "configuration__case_study__slug",  # str
    "laboratory": "laboratory",  # str, annotated by _frame
    "storage": "kind_of_storage",  # str, empty: not stated; annotated by _frame
    "is_reviewed": "is_reviewed",  # bool, False: published without review; annotated by _frame
    "year": "configuration__case_study__publication__year",  # int, missing: not stated
    "variant_id": "variant_id",  # int
    "operation": "operation",  # str
    "block_size_bytes": "block_size_bytes",  # int, missing: not applicable
    "vm_count": "vm_count",  # int, 0: native
    "metric": "metric",  # str
    "unit": "unit",  # str
    "reference": "reference",  # str, what a ratio is a ratio to; empty for every other metric
    "configuration_id": "configuration_id",  # int
    "hypervisor": "hypervisor_or_native",  # str, annotated by _frame
    "guest_fs": "configuration__guest_fs__slug",  # str, missing: not stated, or native
    "host_fs": "configuration__host_fs__slug",  # str, missing: not stated
    "virtualisation": "configuration__virtualisation",  # str, empty: not stated
    **{column: f"{column}_as_key" for column in SETTINGS},  # str, empty: not stated; annotated by _frame
    "guest_access": "access_in_guest",  # str, empty: not stated; annotated by _frame
    "host_io_scheduler": "configuration__host_io_scheduler",  # str, empty: not stated
    "guest_io_scheduler": "configuration__guest_io_scheduler",  # str, empty: not stated
    "guest_mount_options": "configuration__guest_mount_options",  # str, empty: not stated
    "host_mount_options": "configuration__host_mount_options",  # str, empty: not stated
    "guest_os": "configuration__guest_os__slug",  # str, missing: not stated
    "guest_os_family": "configuration__guest_os__family",  # str, missing: not stated
    "vm_vcpus": "configuration__vm_vcpus",  # int, missing: not stated
    "vm_ram_gib": "configuration__vm_ram_gib",  # float, GiB, missing: not stated
    "origin": "origin",  # "measured" or "derived"
    "measurements": "measurements",  # int >= 1
    "runs": "runs",  # int, missing: not stated
    "run_seconds": "configuration__case_study__run_seconds",  # int, length of one run, missing: not stated
    "mean_log": "mean_log",  # float, mean of ln(value in `unit`)
    "variance": "variance",  # float >= 0, of mean_log, missing: no spread stated
    "is_implausible": "looks_implausible",  # bool, whether it looks like no disk's; annotated by _frame
    "source": "source",  # str, "Table III"
}
_COLUMNS = [*_ARM_COLUMNS, "backend", "host_storage"]
NO_ARMS = pd.DataFrame(columns=[*_COLUMNS, "research_group", RUNTIME, "reach"])
_FINDING_COLUMNS = {
    "workload": "variant__workload__slug",  # str
    "publication": "publication__slug",  # str
    "hypervisor": "hypervisor__slug",  # str
    "guest_fs": "guest_fs__slug",  # str
    "host_fs": "host_fs__slug",  # str
    "text_list": "text_list",  # "best", "unlisted", "worst"
    "is_outstanding": "is_outstanding",  # bool
    "table_list": "table_list",  # "best", "unlisted", "worst"
    "text_source": "text_source",  # str
    "table_source": "table_source",  # str
}

_IN_ORDER = ("configuration__case_study__slug", "pk")  # the order of _combine_sorted
_FINDINGS_IN_ORDER = (
    *("publication__slug", "variant__benchmark__slug", "variant__digest"),
    *("hypervisor__slug", "guest_fs__slug", "host_fs__slug"),
)

# Columns for filters only: path from an arm.
_FILTERED_BY = {
    "arm_id": "pk",  # int
    "case_study_id": "configuration__case_study",  # int
    "benchmark": "variant__benchmark__slug",  # str
    "is_paper": "is_paper",  # bool, whether published with review; annotated by _frame
}
_IS_PAPER = {"is_paper": _FILTERED_BY["is_paper"]}
# Columns that decide, with those of the arm, whether it is an anecdote: path from an arm.
_ANECDOTE_COLUMNS = {
    "stated_runs": "configuration__case_study__repetitions",  # int, missing: not stated
    "is_described": "is_described",  # bool, whether its case study says how it was measured; annotated by _frame
}
ANECDOTE = "is_anecdote"  # bool, below the minimum (experiments.rules.protocol): shown, but counted nowhere
_NUMBERS = {  # columns that are no categories, with their types
    **dict.fromkeys(("variant_id", "configuration_id", "vm_count", "measurements", "arm_id", "case_study_id"), "int64"),
    **dict.fromkeys(("year", "block_size_bytes", "vm_vcpus", "vm_ram_gib"), "float64"),
    **dict.fromkeys(("runs", "stated_runs", "run_seconds", "mean_log", "variance"), "float64"),
    **dict.fromkeys(("is_reviewed", "is_paper", "is_described", "is_implausible"), "bool"),
}
# Numbers with few distinct values, cached as categories in an eighth of the memory.
_COMPACT = (
    *("variant_id", "vm_count", "measurements", "case_study_id", "year", "block_size_bytes", "vm_vcpus", "vm_ram_gib"),
    *("runs", "run_seconds"),
)

# Part of the cache key, as a later version may have other columns.
_LAYOUT = sha256(repr((_ARM_COLUMNS, _FILTERED_BY, _ANECDOTE_COLUMNS, _NUMBERS, _COMPACT)).encode()).hexdigest()[:12]

# Filter of a question: path from an arm, and from a finding.
_ARM_FILTERS = {
    "hypervisor": "configuration__hypervisor__slug",
    "guest_fs": "configuration__guest_fs__slug",
    "host_fs": "configuration__host_fs__slug",
    "vm_count": "vm_count",
    "storage": "kind_of_storage",
    "benchmark": "variant__benchmark__slug",
    "guest_os_family": "configuration__guest_os__family",
    "metric": "metric",
    **{column: f"{column}_as_key" for column in SETTINGS},
}
_FINDING_FILTERS = {
    "hypervisor": "hypervisor__slug",
    "guest_fs": "guest_fs__slug",
    "host_fs": "host_fs__slug",
    "storage": "case_studies__storage__kind",
    "benchmark": "variant__benchmark__slug",
}


@dataclass(frozen=True)
class Evidence:
    """All published evidence that a question admits, in any metric, read once.

    question : its metric is ignored
    with_draft : key of a case study to count as if it were published (modelling.answer_store.previews.preview)
    as_of : use the evidence of this knowledge revision in place of the current one
    """

    question: Question
    with_draft: int | None = None
    as_of: int | None = None

    def arms(self, metric: str, *, as_reported: bool = False, with_anecdotes: bool = False) -> pd.DataFrame:
        """Return every arm of one metric, a row each, with numbers of the same quantity (fairplay.convert_to_metric).

        Native arms count only where the question names NATIVE.
        as_reported : leave out what was reported in another metric of the same quantity
        with_anecdotes : include arms below the minimum, marked in the column ANECDOTE
        Columns: the keys of _ARM_COLUMNS, with types and units there, and backend (of kdb.host_storage, empty: not
        stated), host_storage (a key of it, missing: not stated), research_group, RUNTIME, reach; texts as categories.
        Empty for scores of several benchmarks: they measure nothing in common, so not even ratios may be pooled.
        """
        rows = self._rows if with_anecdotes else self._counting_rows
        rows = rows[rows["metric"] == metric] if as_reported else convert_to_metric(rows, metric)
        if metric == SCORE and rows["benchmark"].nunique() > 1:
            rows = rows.iloc[:0]
        without = ["benchmark"] if with_anecdotes else ["benchmark", ANECDOTE]
        return rows.drop(columns=without).reset_index(drop=True)

    def metrics_measured(self) -> list[tuple[str, str, str]]:
        """Return the distinct metric, unit and case study of all admitted arms."""
        rows, admits = self._admitted
        measured = rows.loc[admits & ~rows[ANECDOTE], ["metric", "unit", "case_study"]]
        return sorted(measured.drop_duplicates().itertuples(index=False, name=None))

    def metrics_of_anecdotes(self) -> list[str]:
        """Return the metrics of admitted arms below the minimum."""
        rows, admits = self._admitted
        return sorted(rows["metric"][admits & rows[ANECDOTE]].unique())

    def findings(self, metric: str) -> pd.DataFrame:
        """Return every ordinal finding, a row each. Tier lists are about throughput, without VM count or block size.

        Columns: the keys of _FINDING_COLUMNS; case_studies tuple of slugs; research_groups tuple of names; host_storage
        str, of a file on host_fs; cache_mode str, if all configurations of its publication under the hypervisor agree,
        else empty; losing tuple of durability.losing_options of each configuration that it names.
        """
        asked = replace(self.question, metric=metric)
        rows = (
            _admitted_findings(asked, _counts_as_knowledge("case_studies", self.with_draft, self.as_of))
            .annotate(laboratory=laboratory("case_studies__"))
            .order_by(*_FINDINGS_IN_ORDER, "pk", "case_studies__slug")
        )
        facts_of: dict[int, tuple[Any, ...]] = {}
        studies: dict[int, dict[str, str]] = {}  # of each finding, with the laboratory of each
        of_study = ("laboratory", "case_studies__slug", "case_studies__vm_counts")
        for lab, slug, vm_counts, pk, *facts in rows.values_list(*of_study, "pk", *_FINDING_COLUMNS.values()):
            if asked.vm_count is None or asked.vm_count in vm_counts:
                facts_of.setdefault(pk, (pk, *facts))
                studies.setdefault(pk, {})[slug] = lab
        frame = pd.DataFrame.from_records(list(facts_of.values()), columns=["pk", *_FINDING_COLUMNS])
        groups = self._research_groups if facts_of else {}
        frame = frame.assign(
            case_studies=[tuple(labs) for labs in studies.values()],
            research_groups=[
                tuple(sorted({groups.get(lab, lab) for lab in labs.values()})) for labs in studies.values()
            ],
        )
        return frame.assign(**_configuration_columns(frame))

    @cached_property
    def _admitted(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the arms of the workload, and (arms,) bool, whether the question admits each."""
        rows = _workload_arms(self.question.workload, self._counting_studies, self.with_draft, self.as_of)
        return rows, _admits(self.question, rows)

    @cached_property
    def _rows(self) -> pd.DataFrame:
        """Return the admitted arms with the columns of `arms`, benchmark, and ANECDOTE."""
        rows, admits = self._admitted
        columns = (*_COLUMNS, "benchmark", ANECDOTE)
        shown = pd.DataFrame({name: _as_numbers(name, rows[name].array[admits]) for name in columns})
        return _add_shared(shown, self._research_groups)

    @cached_property
    def _counting_rows(self) -> pd.DataFrame:
        below = self._rows[ANECDOTE]
        return self._rows[~below] if below.any() else self._rows

    @cached_property
    def _counting_studies(self) -> dict[int, tuple[datetime, int | None]]:
        """Return the case studies that count, with publication time and the latest revision that ended rows of each.

        The two tell a case study from one of the same number in another database, which shares the cache.
        """
        rows = _counting_studies_of(self.with_draft, self.as_of).order_by()
        return {
            pk: (published, ended)
            for pk, published, ended in rows.values_list("pk", "published_revision__created_at", "rows_ended_revision")
        }

    @cached_property
    def _research_groups(self) -> dict[str, str]:
        return research_groups.groups_of(_counting_studies_of(self.with_draft, self.as_of))


def arms(question: Question, *, as_of: int | None = None, with_draft: int | None = None) -> pd.DataFrame:
    """Return the arms in the question's metric, else in throughput, as Evidence does."""
    return Evidence(question, with_draft, as_of).arms(question.metric or THROUGHPUT)


def findings(question: Question, *, as_of: int | None = None, with_draft: int | None = None) -> pd.DataFrame:
    """Return the ordinal findings that the question admits, as Evidence does."""
    return Evidence(question, with_draft, as_of).findings(question.metric or THROUGHPUT)


def _counting_studies_of(with_draft: int | None, as_of: int | None) -> CaseStudyQuerySet:
    """Return the case studies that count as knowledge now, or did at revision `as_of`."""
    if as_of is not None:
        return CaseStudy.objects.known_at(as_of)
    return CaseStudy.objects.filter(Q(status=CaseStudy.Status.PUBLISHED) | Q(pk=with_draft or 0))


def _admits(question: Question, rows: pd.DataFrame) -> np.ndarray:
    """Return (rows,) bool, whether the question admits each. rows : of _workload_arms"""
    admits = pd.Series(_passes_filters(question, rows), index=rows.index)
    if question.hypervisor != EMULATOR:
        admits &= rows["virtualisation"] != "emulated"
    if question.hypervisor != NATIVE:
        admits &= rows["hypervisor"] != NATIVE
    return admits.to_numpy()


def _passes_filters(question: Question, rows: pd.DataFrame) -> np.ndarray:
    """Return (rows,) bool, whether each passes the filters."""
    admits = pd.Series(True, index=rows.index)
    for name, value in question.filters.items():
        if name == "hypervisor":
            admits &= rows[name].isin(names.same_family(AXES[question.axis], str(value)))
        elif name in _ARM_FILTERS and name != "metric":
            admits &= rows[name] == value
    if question.host_storage:
        backend, host_fs = host_storage_parts(question.host_storage)
        admits &= rows["backend"] == backend
        if backend == FILE:
            admits &= (rows["host_fs"] == host_fs) if host_fs else rows["host_fs"].isna()
    if question.evidence == PAPERS:
        admits &= rows["is_paper"]
    if question.grade in ("A", "B"):
        admits &= rows["is_reviewed"] & (rows["origin"] == Arm.Origin.MEASURED)
    if question.grade == "A":
        admits &= rows["variance"].notna()
    return admits.to_numpy()


def _as_numbers(name: str, values: Any) -> Any:
    """Return a column of `arms`, with cached categories turned back into numbers, in a tenth of the time of astype."""
    if name not in _COMPACT:
        return values
    distinct = values.categories.to_numpy(dtype=_NUMBERS[name])
    if _NUMBERS[name] == "int64":
        return distinct[values.codes]
    return np.append(distinct, np.nan)[values.codes]  # the code of a missing value is -1


def _workload_arms(
    workload: str, counting: dict[int, tuple[datetime, int | None]], with_draft: int | None, as_of: int | None
) -> pd.DataFrame:
    """Return the workload's arms of these case studies, sorted by case study and arm.

    counting : of Evidence._counting_studies
    The arms of a published case study are cached until rows of it end, so a publication costs reading its own arms
    only. Drafts are read each time.
    """
    name = f"{workload} in layout {_LAYOUT}"
    kept = kept_arms.in_memory(name)
    if missing := _missing(kept, counting, with_draft):
        kept = max(kept, kept_arms.in_file(name), key=lambda kept: -len(_missing(kept, counting, with_draft)))
        if missing := _missing(kept, counting, with_draft):
            known, arms = kept
            if arms is not None and not missing.isdisjoint(known):
                arms = arms[~arms["case_study_id"].isin(missing)]
            arms = _combine_sorted([arms, _read(workload, missing)])
            kept = Kept(known | {pk: counting[pk] for pk in missing}, arms)
            kept_arms.keep(name, kept)
        else:
            kept_arms.keep_in_memory(name, kept)
    rows = kept.arms if kept.arms is not None else _read(workload, ())
    rows = rows if kept.case_studies.keys() == counting.keys() else rows[rows["case_study_id"].isin(counting)]
    if with_draft is not None:
        rows = _combine_sorted([rows[rows["case_study_id"] != with_draft], _read(workload, {with_draft})])
    if as_of is not None and (changed := {pk for pk, (_, ended) in counting.items() if ended and ended > as_of}):
        earlier = _read_arms(Arm.ever.filter(_stood_at(as_of)), workload, changed)
        rows = _combine_sorted([rows[~rows["case_study_id"].isin(changed)], earlier])
    return rows


def _missing(kept: Kept, counting: Mapping[int, Any], with_draft: int | None) -> set[int]:
    """Return the case studies that are not cached in their present state."""
    return {pk for pk, state in counting.items() if pk != with_draft and kept.case_studies.get(pk) != state}


def _read(workload: str, case_studies: Collection[int]) -> pd.DataFrame:
    return _read_arms(Arm.objects.all(), workload, case_studies)


def _read_arms(arms: QuerySet[Arm], workload: str, case_studies: Collection[int]) -> pd.DataFrame:
    rows = arms.filter(variant__workload__slug=workload, configuration__case_study__in=case_studies)
    return _frame(rows, _FILTERED_BY).astype(dict.fromkeys(_COMPACT, "category"))


def _stood_at(revision: int) -> Q:
    """Return the condition that an arm was valid at this revision."""
    begun = Q(since_revision__isnull=True) | Q(since_revision__lte=revision)
    return begun & (Q(until_revision__isnull=True) | Q(until_revision__gt=revision))


def _combine_sorted(frames: Iterable[pd.DataFrame | None]) -> pd.DataFrame:
    """Concatenate frames of _read, sorted by case study and arm.

    The order must not depend on which case study was read first: it changes the last digits of sums, and the same
    evidence must give the same answer everywhere.
    """
    return _concatenate(frames).sort_values(["case_study", "arm_id"], ignore_index=True)


def _concatenate(frames: Iterable[pd.DataFrame | None]) -> pd.DataFrame:
    """Concatenate frames with the same columns."""
    some = [frame for frame in frames if frame is not None]
    some = [frame for frame in some if len(frame)] or some[:1]
    columns = {
        name: union_categoricals([frame[name] for frame in some], sort_categories=True)
        if isinstance(some[0][name].dtype, pd.CategoricalDtype)
        else np.concatenate([frame[name].to_numpy() for frame in some])
        for name in some[0]
    }
    return pd.DataFrame(columns)


def every_arm(
    admitting: Question | None = None,
    *,
    as_of: int | None = None,
    with_draft: int | None = None,
    with_anecdotes: bool = False,
) -> pd.DataFrame:
    """Return all published arms, native ones too, of any metric, with workload and benchmark.

    admitting : only those that its filters admit, of any workload; as_of, with_draft : as for Evidence
    One query, as a publication between two would make them inconsistent, and one for the research groups.
    """
    stood = Arm.objects.all() if as_of is None else Arm.ever.filter(_stood_at(as_of))
    rows = stood.filter(_counts_as_knowledge("configuration__case_study", with_draft, as_of)).order_by(*_IN_ORDER)
    every = _frame(rows, {"workload": "variant__workload__slug", "benchmark": _FILTERED_BY["benchmark"], **_IS_PAPER})
    taken = np.ones(len(every), dtype=bool) if with_anecdotes else ~every.pop(ANECDOTE).to_numpy(dtype=bool)
    if admitting is not None and admitting.filters:
        taken &= _passes_filters(admitting, every)
    every = every[taken].drop(columns=list(_IS_PAPER)).reset_index(drop=True)
    return _add_shared(every, research_groups.groups_of(_counting_studies_of(with_draft, as_of)))


def workload_has_more_arms_than(number: int, workload: str) -> bool:
    """Tell whether more arms than this are published under the workload, all of which an answer has to read."""
    counts = _counts_as_knowledge("configuration__case_study", None, None)
    return Arm.objects.filter(counts, variant__workload__slug=workload).order_by()[number : number + 1].exists()


def arms_of(case_study: CaseStudy) -> pd.DataFrame:
    """Return every arm of one case study, with ANECDOTE."""
    arms = _frame(Arm.objects.filter(configuration__case_study=case_study).order_by("pk"))
    return _add_shared(arms, research_groups.groups_of(_counting_studies_of(case_study.pk, None)))


def _add_shared(arms: pd.DataFrame, groups: dict[str, str]) -> pd.DataFrame:
    """Return the arms with the research group, RUNTIME and the reach of the backend, which is unknown of a draft's own.

    None is cached: a new case study can join two groups, and an entry of the catalogue can be corrected.
    """
    arms = research_groups.add_groups(arms, groups)
    runtime = research_groups.renamed(arms["hypervisor"], names.hypervisor_families())
    return arms.assign(**{RUNTIME: runtime, "reach": research_groups.renamed(arms["backend"], names.storage_reaches())})


def _frame(rows: QuerySet[Arm], further: Mapping[str, str] = MappingProxyType({})) -> pd.DataFrame:
    """Return the arms as `arms` does, without research group and with ANECDOTE. further : column to its path"""
    reviewed = "configuration__case_study__publication__is_reviewed"
    rows = rows.annotate(
        laboratory=laboratory("configuration__case_study__"),
        hypervisor_or_native=Coalesce("configuration__hypervisor__slug", Value(NATIVE)),
        kind_of_storage=storage_kind("configuration__"),
        is_reviewed=Coalesce(reviewed, True),
        is_paper=Coalesce(reviewed, False),
        looks_implausible=Coalesce("is_implausible", False),
        is_described=GreaterThan(Length(Trim("configuration__case_study__procedure")), 0),
        access_in_guest=Case(
            When(configuration__guest_fs__isnull=False, then=Value("file-system")),
            default="configuration__guest_access",
        ),
        **setting_keys("configuration__"),
    )
    paths = (*_ARM_COLUMNS.values(), *_ANECDOTE_COLUMNS.values(), *further.values())
    values = rows.values_list(*paths, "configuration__host_fs__slug", "configuration__backend")
    records = (
        (*known, backend or (FILE if host_fs else ""), host_storage_key(backend, host_fs))
        for *known, host_fs, backend in values.iterator(chunk_size=_ROWS_AT_ONCE)
    )
    columns = [*_ARM_COLUMNS, *_ANECDOTE_COLUMNS, *further, "backend", "host_storage"]
    typed: list[pd.DataFrame] = []
    while (some := list(islice(records, _ROWS_AT_ONCE))) or not typed:
        typed.append(_typed_frame(some, columns))
    return _mark_anecdotes(_concatenate(typed))


def _mark_anecdotes(rows: pd.DataFrame) -> pd.DataFrame:
    """Replace _ANECDOTE_COLUMNS by ANECDOTE; take an unstated length of runs from the load's parameters. One query."""
    loads = WorkloadVariant.objects.in_bulk(rows["variant_id"].unique().tolist())
    seconds_of = {pk: protocol.seconds_of(load.parameters) for pk, load in loads.items()}
    seconds = rows["run_seconds"].fillna(rows["variant_id"].map(seconds_of).astype("float64"))
    has_spread = rows["variance"].notna() & (rows["origin"] == Arm.Origin.MEASURED)
    known = (rows["runs"].fillna(rows["stated_runs"]), has_spread, seconds, rows["is_described"])
    below = [
        protocol.is_anecdote(
            None if isnan(runs) else runs,
            spread,
            None if isnan(length) else length,
            is_described,
            settings.KDB_WHOLE_RUN_SECONDS,
        )
        for runs, spread, length, is_described in zip(*(column.tolist() for column in known), strict=True)
    ]
    return rows.assign(**{"run_seconds": seconds, ANECDOTE: np.array(below, dtype=bool)}).drop(
        columns=list(_ANECDOTE_COLUMNS)
    )


def _typed_frame(records: Sequence[Sequence[Any]], columns: list[str]) -> pd.DataFrame:
    """Return the frame with numbers in the columns of _NUMBERS, else categories of text."""
    values = zip(*records, strict=True) if records else repeat(())
    return pd.DataFrame(
        {
            name: np.array(column, dtype=_NUMBERS[name]) if name in _NUMBERS else _categories(column)
            for name, column in zip(columns, values, strict=False)
        }
    )


def _categories(values: Sequence[Any]) -> pd.Categorical:
    codes, distinct = pd.factorize(np.array(values, dtype=object))
    places, texts = pd.factorize(np.array([str(value) for value in distinct], dtype=object), sort=True)
    return pd.Categorical.from_codes(np.append(places, -1)[codes], pd.Index(texts, dtype="str"))


class Reach:
    """Decide which questions admit evidence of these case studies, published or not. Two queries in all."""

    def __init__(self, case_study_ids: list[int]) -> None:
        self._rows = [*_admitting_arms(case_study_ids), *_admitting_findings(case_study_ids)]
        self._admitted = cache(self._values_admitted)

    def admits(self, question: Question) -> bool:
        """Tell whether the question admits some of it, under ANY_WORKLOAD of any workload."""
        asked = dict(question.filters)
        if question.workload != ANY_WORKLOAD:
            asked["workload"] = question.workload
        hypervisor = question.hypervisor
        alike = names.same_family(AXES[question.axis], hypervisor) if hypervisor else [None]
        several = ({**asked, **({"hypervisor": slug} if slug else {})} for slug in alike)
        return any(tuple(one.values()) in self._admitted(tuple(one)) for one in several)

    def _values_admitted(self, names: tuple[str, ...]) -> set[tuple[Any, ...]]:
        """Return the combinations of values of these filters that admit some of the evidence."""
        per_row = [[row.get(name, ()) for name in names] for row in self._rows if row["needs"] <= set(names)]
        return {values for columns in per_row for values in product(*columns)}

    def differs_in(self, columns: Iterable[str]) -> bool:
        """Tell whether it has several values of one of these columns, without which it compares none."""
        return any(len({value for row in self._rows for value in row.get(column, ())}) > 1 for column in columns)


def _admitting_arms(case_study_ids: list[int]) -> list[dict[str, Any]]:
    """Return the distinct kinds of arms, each as filter to the values that admit it; the rules are those of _admits.

    Includes arms before rows ended, as their end changes answers, and all metrics, as an answer names all.
    """
    reviewed = "configuration__case_study__publication__is_reviewed"
    paths = {"workload": "variant__workload__slug", **_ARM_FILTERS, "backend": "configuration__backend"}
    paths |= {"evidence": reviewed, "block_size_bytes": "block_size_bytes"}
    rows = Arm.ever.filter(configuration__case_study__in=case_study_ids).annotate(
        has_spread=Q(variance__isnull=False),
        kind_of_storage=storage_kind("configuration__"),
        **setting_keys("configuration__"),
    )
    kinds = rows.order_by().values_list(*paths.values(), "configuration__virtualisation", "origin", "has_spread")
    admitting = []
    for *values, virtualisation, origin, has_spread in kinds.distinct():
        fields = dict(zip(paths, values, strict=True))
        fields["hypervisor"] = fields["hypervisor"] or NATIVE
        fields["host_storage"] = host_storage_key(fields["backend"], fields["host_fs"])
        is_reviewed, block_size = fields.pop("evidence"), fields.pop("block_size_bytes")
        row: dict[str, Any] = {name: [value] for name, value in fields.items()}
        row["virtualisation"] = [virtualisation]
        row["metric"] = same_quantity(fields["metric"], block_size)
        row["evidence"] = [PAPERS] if is_reviewed else []
        is_emulated = virtualisation == "emulated"
        if is_emulated and row["hypervisor"] != [EMULATOR]:
            continue
        strongest = 2 if origin != Arm.Origin.MEASURED or is_reviewed is False else 0 if has_spread else 1
        by_name = is_emulated or row["hypervisor"] == [NATIVE]
        admitting.append({**row, "grade": GRADES[strongest:], "needs": {"hypervisor"} if by_name else set()})
    return admitting


def _admitting_findings(case_study_ids: list[int]) -> list[dict[str, Any]]:
    """Return each finding as filter to the values that admit it; the rules are those of _admitted_findings."""
    paths = {
        "workload": "variant__workload__slug",
        **_FINDING_FILTERS,
        "guest_os_family": "case_studies__configurations__guest_os__family",
        "is_reviewed": "publication__is_reviewed",
    }
    of_studies = OrdinalFinding.objects.filter(case_studies__in=case_study_ids).values("pk")
    rows = OrdinalFinding.objects.filter(pk__in=of_studies).order_by()
    by_finding: dict[int, dict[str, Any]] = {}
    for pk, vm_counts, *values in rows.values_list("pk", "case_studies__vm_counts", *paths.values()).distinct():
        empty = {"grade": {"D"}, "needs": set(), "vm_count": set(), "metric": {THROUGHPUT}}
        row = by_finding.setdefault(pk, empty | {name: set() for name in paths})
        row["vm_count"].update(vm_counts)
        for name, value in zip(paths, values, strict=True):
            row[name].add(value)
        row["evidence"] = {PAPERS} if row["is_reviewed"] == {True} else set()
        row["host_storage"] = {host_storage_key(FILE, host_fs) for host_fs in row["host_fs"]}
    return list(by_finding.values())


def has_idle_filter(question: Question, as_of: int | None = None) -> bool:
    """Tell whether a filter changes nothing: the evidence is the same without it, or with the next lower grade."""
    unset: list[dict[str, Any]] = [{name: None} for name in question.filters if name != "grade"]
    wider = [replace(question, **without) for without in unset]
    if question.grade:
        wider.append(replace(question, grade=[*GRADES, None][GRADES.index(question.grade) + 1]))
    if not wider:
        return False
    rows, _ = Evidence(question, as_of=as_of)._admitted  # all of the workload, whatever the filters
    admitted = _evidence_key(question, rows, as_of)
    return any(_evidence_key(other, rows, as_of) == admitted for other in wider)


def _evidence_key(question: Question, rows: pd.DataFrame, as_of: int | None) -> tuple[Any, ...]:
    """Return what determines `arms` and `findings` of questions on one workload. One query. rows : of _workload_arms"""
    metric = question.metric or THROUGHPUT
    of_metric = rows["metric"].isin(ONE_QUANTITY if metric in ONE_QUANTITY else [metric])
    counted = _admits(question, rows) & ~rows[ANECDOTE].to_numpy() & of_metric.to_numpy()
    asked = replace(question, metric=metric)
    listed = _admitted_findings(asked, _counts_as_knowledge("case_studies", None, as_of))
    of_studies = listed.order_by("pk", "case_studies__slug").values_list(
        "pk", "case_studies__slug", "case_studies__vm_counts"
    )
    lists = [(pk, slug) for pk, slug, vm_counts in of_studies if asked.vm_count is None or asked.vm_count in vm_counts]
    return metric, counted.tobytes(), lists


def _configuration_columns(findings: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of Evidence.findings that come from configurations. One query."""
    modes, losing = _cache_modes_and_losses(findings)
    keys = list(findings[["publication", "hypervisor", "guest_fs", "host_fs"]].itertuples(index=False, name=None))
    return {
        "host_storage": [host_storage_key(FILE, host_fs) for *_, host_fs in keys],
        "cache_mode": [modes.get(key[:2], "") for key in keys],
        "losing": [tuple(losing.get(key, ())) for key in keys],
    }


def _counts_as_knowledge(case_study: str, with_draft: int | None, as_of: int | None) -> Q:
    """Return the condition that the case study at this path counts as knowledge, or did at revision `as_of`."""
    if as_of is not None:
        return Q(**{f"{case_study}__in": CaseStudy.objects.known_at(as_of)})
    return Q(**{f"{case_study}__status": CaseStudy.Status.PUBLISHED}) | Q(**{case_study: with_draft or 0})


def _admitted_findings(question: Question, counts: Q) -> QuerySet[OrdinalFinding]:
    """Return the findings with a case study that counts and passes the filters."""
    asked = Q(**{_FINDING_FILTERS[name]: value for name, value in question.filters.items() if name in _FINDING_FILTERS})
    if question.guest_os_family:
        studies = CaseStudy.objects.filter(configurations__guest_os__family=question.guest_os_family)
        asked &= Q(case_studies__in=studies)
    if question.host_storage:  # tier lists are about files on the host's file system
        asked &= Q(host_fs__slug=question.host_storage.removeprefix(f"{UNNAMED}-"))
    if question.evidence == PAPERS:
        asked &= Q(publication__is_reviewed=True)
    # One filter call, so that all conditions are on the same case study.
    if question.workload != ANY_WORKLOAD:
        asked &= Q(variant__workload__slug=question.workload)
    rows = OrdinalFinding.objects.filter(counts, asked)
    # A list states none of the settings.
    admits_lists = question.grade in (None, "D") and question.metric in (None, THROUGHPUT) and not question.settings
    return rows if admits_lists else rows.none()


def _cache_modes_and_losses(
    findings: pd.DataFrame,
) -> tuple[dict[tuple[str, ...], str], dict[tuple[str, ...], list[tuple[str, ...]]]]:
    """Return cache modes and unsafe options of the configurations behind findings.

    (publication, hypervisor) to the cache mode in which all its configurations agree, and (publication, hypervisor,
    guest, host) to the unsafe options of each of its configurations.
    """
    rows = Configuration.objects.filter(
        case_study__slug__in={slug for slugs in findings["case_studies"] for slug in slugs},
        hypervisor__slug__in=set(findings["hypervisor"]),
    )
    modes: dict[tuple[str, ...], set[str]] = {}
    losing: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    place = ("case_study__publication__slug", "hypervisor__slug", "guest_fs__slug", "host_fs__slug")
    options = ("cache_mode", "guest_mount_options", "host_mount_options")
    for row in rows.order_by("case_study__slug", "slug").values_list(*place, *options):
        modes.setdefault(row[:2], set()).add(row[4])
        losing.setdefault(row[:4], []).append(losing_options(*row[4:]))
    return {key: stated.pop() for key, stated in modes.items() if len(stated) == 1}, losing


def mechanism_costs() -> list[tuple[str, str, str, str]]:
    """Return file system, operation (a key of mechanisms.RULES), code and mechanism of each cell of the cost matrix;
    one query."""
    rows = MechanismCost.objects.values_list("file_system__slug", "operation", "code", "mechanism")
    return [
        (file_system, MechanismCost.Operation(operation).name.lower(), code, mechanism)
        for file_system, operation, code, mechanism in rows
    ]
