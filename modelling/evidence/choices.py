"""Count the case studies behind each choice of a question, given the choices already made.

The evidence is cached, because reading it takes 0.14 s: the revision is checked once a minute, and the evidence is read
again after a publication or an hour.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.core.cache import cache

from experiments.models import CaseStudy, OrdinalFinding
from kdb.host_storage import FILE, host_storage_key
from kdb.units import THROUGHPUT
from modelling.models import Arm

from . import counts, dataframes, names
from .axes import AXES, ENVIRONMENT, NATIVE, RUNTIME, WHERE_STATED, axis_left_open
from .dataframes import EMULATOR
from .fairplay import same_quantity
from .question import GRADES, PAPERS

_SECONDS = 60
_EVIDENCE_SECONDS = 3600
_KEY = "modelling.evidence.choices"
_READ = f"{_KEY}.read"

# Columns of a configuration: filters of a question, and what the axes hold equal.
_COLUMNS = (
    "hypervisor",
    RUNTIME,
    "guest_fs",
    "host_fs",
    "host_storage",
    "guest_os_family",
    "backend",
    *ENVIRONMENT,
    *WHERE_STATED,
)
_FILTERS = ("workload", "vm_count", "benchmark", "metric")  # columns of a fair-play group that are filters
_GROUP = ("variant_id", "operation", "block_size_bytes", "unit", "reference")


@dataclass(frozen=True)
class Compared:
    """Configurations whose numbers, or places in tier lists, may be compared.

    case_studies : slugs of those that measured them; admits : filter of a question to the values that admit them
    rows : column of a configuration to its value; tier lists have some columns only
    """

    case_studies: tuple[str, ...]
    admits: Mapping[str, tuple[Any, ...]]
    rows: tuple[Mapping[str, Any], ...]

    def compares(self, axis: str, filters: Mapping[str, Any]) -> bool:
        """Tell whether the filters admit rows of two entries of the axis that agree in what it holds equal."""
        rules = AXES[axis]
        entry, required = rules.entry, rules.required
        rows = [row for row in self.rows if all(row.get(column) for column in required)]
        if len({tuple(row.get(column) for column in entry) for row in rows}) < 2:
            return False
        groups: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
        asked = dict(filters)
        if RUNTIME in rules.held and (hypervisor := asked.pop("hypervisor", None)):
            asked[RUNTIME] = names.hypervisor_families().get(hypervisor, hypervisor)
        for row in rows:
            if row.get("virtualisation") == "emulated" and filters.get("hypervisor") != EMULATOR:
                continue
            if row["hypervisor"] == NATIVE != filters.get("hypervisor"):
                continue
            if all(row.get(name) == value for name, value in asked.items() if name in row):
                groups[tuple(row.get(column) for column in rules.held)].append(row)
        alike = [alone for alone in groups.values() if len(alone) > 1]
        for column in rules.held_where_stated if alike else ():
            alike = [part for rows in alike for part in _split_where_stated(rows, column)]
        return any(len({tuple(row.get(column) for column in entry) for row in rows}) > 1 for rows in alike)


def _split_where_stated(rows: list[Mapping[str, Any]], column: str) -> list[list[Mapping[str, Any]]]:
    """Split rows by a column that is held where stated, as fairplay.group_numbers does."""
    parts: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        parts[row.get(column) or ""].append(row)
    return list(parts.values()) if len(parts.keys() - {""}) > 1 else [rows]


@dataclass(frozen=True)
class Evidence:
    """The published evidence for counting choices. version : changes with the content

    too_much : whether there is more than a page may count
    used : guest_fs and host_fs to the slugs that some published configuration with machines has
    """

    version: str = ""
    compared: tuple[Compared, ...] = ()
    too_much: bool = False
    used: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ChoiceEvidence:
    """The evidence behind the choices of a question.

    case_studies : field of a question to each of its values to the number of case studies that would compare something
    used : as in Evidence
    Both are empty where more than settings.KDB_MOST_ARMS_AT_ONCE arms are published.
    """

    case_studies: Mapping[str, Mapping[Any, int]]
    used: Mapping[str, frozenset[str]]


def count_evidence(field_values: Mapping[str, Iterable[Any]], given: Mapping[str, Any]) -> ChoiceEvidence:
    """Return the evidence behind each value of these fields, given the other choices.

    given : the fields of a question that are set; without an axis, axis_left_open gives it
    """
    version = cache.get(_KEY) or _evidence().version
    asked = {name: value for name, value in given.items() if value not in (None, "")}
    fields = {name: list(values) for name, values in field_values.items()}
    key = f"{_KEY}:{version}:{hashlib.sha256(repr((sorted(asked.items()), fields)).encode()).hexdigest()}"
    kept: ChoiceEvidence | None = cache.get(key)
    if kept is None:
        evidence = _evidence()
        counted = {} if evidence.too_much else {n: _count(evidence, n, values, asked) for n, values in fields.items()}
        kept = ChoiceEvidence(counted, evidence.used)
        cache.set(key, kept, _EVIDENCE_SECONDS)
    return kept


def compared_under(
    workloads: Iterable[str], filters: Mapping[str, str] = MappingProxyType({})
) -> Mapping[str, Mapping[str, int]] | None:
    """Return workload to axis to the number of case studies that compare entries; None: too much is published."""
    evidence = _evidence()
    if evidence.too_much:
        return None
    return {workload: _count(evidence, "axis", AXES, {**filters, "workload": workload}) for workload in workloads}


def clear_cache() -> None:
    """Clear the cached evidence."""
    cache.delete_many([_KEY, _READ])


def _count(evidence: Evidence, name: str, values: Iterable[Any], asked: Mapping[str, Any]) -> dict[Any, int]:
    others = {key: value for key, value in asked.items() if key not in (name, "axis")}
    candidates = [piece for piece in evidence.compared if _admits(piece, others)]
    numbers = {}
    for value in values:
        filters = others if name == "axis" else {**others, name: value}
        axis = value if name == "axis" else asked.get("axis") or axis_left_open(*_given_parts(filters))
        of_rows = {name: value for name, value in filters.items() if name in _COLUMNS}
        comparing = (
            piece.case_studies for piece in candidates if _admits(piece, filters) and piece.compares(axis, of_rows)
        )
        numbers[value] = len(set(chain.from_iterable(comparing)))
    return numbers


def _given_parts(filters: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return filters.get("hypervisor"), filters.get("guest_fs"), filters.get("host_fs") or filters.get("host_storage")


def _admits(piece: Compared, filters: Mapping[str, Any]) -> bool:
    return all(value in piece.admits[name] for name, value in filters.items() if name in piece.admits)


def _evidence() -> Evidence:
    kept: tuple[int, Evidence] | None = cache.get(_READ)
    if kept is None or cache.get(_KEY) is None:
        revision = counts.revision()
        if kept is None or kept[0] != revision:
            kept = revision, _read()
            cache.set(_READ, kept, _EVIDENCE_SECONDS)
        cache.set(_KEY, kept[1].version, _SECONDS)
    return kept[1]


def _read() -> Evidence:
    if counts.has_more_arms_than(settings.KDB_MOST_ARMS_AT_ONCE):
        return Evidence(version="too-much", too_much=True)
    compared = tuple(chain(_compared_arms(), _compared_lists()))
    used = {
        column: frozenset(
            row[column] for piece in compared for row in piece.rows if row[column] and row["hypervisor"] != NATIVE
        )
        for column in ("guest_fs", "host_fs")
    }
    return Evidence(hashlib.sha256(repr(compared).encode()).hexdigest()[:16], compared, used=used)


def _compared_arms() -> Iterator[Compared]:
    """Yield each set of configurations that a case study compared, once for all fair-play groups with the same set."""
    frame = dataframes.every_arm()
    frame = frame.astype(object).where(frame.notna(), None)
    frame["metric"] = [same_quantity(*row) for row in zip(frame["metric"], frame["block_size_bytes"], strict=True)]
    groups: dict[tuple[Any, ...], set[tuple[Any, ...]]] = defaultdict(set)
    about = [frame[name] for name in ("case_study", "is_reviewed", *_FILTERS, *_GROUP)]
    rows = zip(*(frame[name] for name in _COLUMNS), strict=True)
    grades = zip(frame["origin"], frame["variance"], strict=True)
    for group, row, (origin, variance) in zip(zip(*about, strict=True), rows, grades, strict=True):
        _, is_reviewed, *_ = group
        strongest = 2 if origin != Arm.Origin.MEASURED or not is_reviewed else 0 if variance is not None else 1
        for grade in (None, *GRADES[strongest:]):
            groups[(grade, *group)].add(row)
    merged: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for (grade, *about_it), alike in groups.items():
        merged[(*about_it[: 2 + len(_FILTERS)], frozenset(alike))].add(grade)
    for (case_study, is_reviewed, *filter_values, rows_alike), grades_of in merged.items():
        filters: dict[str, tuple[Any, ...]] = {
            name: (value,) for name, value in zip(_FILTERS, filter_values, strict=True)
        }
        filters["metric"] = filters["metric"][0]
        filters |= {"grade": tuple(sorted(filter(None, grades_of))), "evidence": (PAPERS,) if is_reviewed else ()}
        entries = tuple(dict(zip(_COLUMNS, values, strict=True)) for values in sorted(rows_alike, key=repr))
        yield Compared((case_study,), filters, entries)


def _compared_lists() -> Iterator[Compared]:
    paths = ("publication", "hypervisor__slug", "guest_fs__slug", "host_fs__slug", "variant__workload__slug")
    about = (
        "case_studies__slug",
        "case_studies__storage__kind",
        "case_studies__vm_counts",
        "variant__benchmark__slug",
        "publication__is_reviewed",
    )
    rows = OrdinalFinding.objects.filter(case_studies__in=CaseStudy.objects.published()).order_by("pk")
    lists: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for publication, hypervisor, guest_fs, host_fs, workload, *rest in rows.values_list(*paths, *about):
        case_study, storage, vm_counts, benchmark, is_reviewed = rest
        key = (publication, hypervisor, workload, case_study, storage, tuple(vm_counts), benchmark, is_reviewed)
        lists[key].append((guest_fs, host_fs))
    for (_, hypervisor, workload, case_study, storage, vm_counts, benchmark, is_reviewed), pairs in lists.items():
        filters = {
            "workload": (workload,),
            "vm_count": vm_counts,
            "storage": (storage,),
            "benchmark": (benchmark,),
            "metric": (THROUGHPUT,),
            "grade": ("D",),
            "evidence": (PAPERS,) if is_reviewed else (),
        }
        entries = tuple(
            {
                **{"hypervisor": hypervisor, RUNTIME: hypervisor, "guest_fs": guest, "host_fs": host, "cache_mode": ""},
                "host_storage": host_storage_key(FILE, host),
            }
            for guest, host in pairs
        )
        yield Compared((case_study,), filters, entries)
