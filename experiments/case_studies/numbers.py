"""The page of one number: its origin, its conditions, and the numbers it may be compared with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import Avg, Case, Count, Min, Q, QuerySet, When

from experiments import permissions
from experiments.models import (
    CaseStudy,
    Configuration,
    DerivedValue,
    Ending,
    HostStorage,
    Measurement,
    RawFile,
    Storage,
)
from experiments.templatetags.kdb_format import block_size, derivation, number, vm_count
from kdb.fair_play import MEASUREMENT_FIELDS
from kdb.units import METRICS

from .tables import FACTS, NATIVE_FACTS, provenance

MAX_RUNS = 200
MAX_NEIGHBOURS = 50  # configurations
# Facts that another fact implies: where that one is stated, their absence is not listed as "not stated".
_IMPLIED_BY: dict[str, Callable[[Configuration], object]] = {
    "Load works on": lambda c: c.guest_fs_id,
    "Guest file system": lambda c: c.guest_access,
    "Backend of the images": lambda c: c.host_fs_id,
    "Host file system": lambda c: c.backend,
    "Kind of storage": lambda c: c.case_study.storage.kind,
    **dict.fromkeys(("Host mkfs options", "Host mount options"), lambda c: c.backend in HostStorage.volumes()),
}

Number = Measurement | DerivedValue
Kind = TypeVar("Kind", Measurement, DerivedValue)


@dataclass(frozen=True)
class Neighbour:
    """The number of another configuration, or the mean of its runs.

    key : of its row, or of the first of its runs; ratio : to the number of the page, None where that is excluded
    differences : settings that both state and that differ, with the neighbour's value; left_open : settings that only
        the page's number states
    """

    configuration: Configuration
    key: int
    value: str
    runs: int
    ratio: float | None
    differences: list[str]
    left_open: list[str]
    is_this: bool = False


@dataclass(frozen=True)
class NumberPage:
    """One number. value : "10.5 MiB/s"; provenance : a sentence

    conditions, configuration : name and text of what is stated; left_open : names of what is not
    runs : of a measurement all numbers of its cell, its own too
    beside : the numbers it may be compared with, its own first, at most MAX_NEIGHBOURS
    replaced_by : the case study that supersedes it
    """

    number: Number
    case_study: CaseStudy
    is_public: bool
    address: str  # name of the pages of numbers of its kind
    value: str
    better: str  # "higher" or "lower"
    provenance: str
    conditions: list[tuple[str, str]]
    configuration: list[tuple[str, str]]
    left_open: list[str]
    runs: list[Measurement]
    file: RawFile | None  # that it was read from
    beside: list[Neighbour]
    replaced_by: CaseStudy | None


_CONFIGURATION_RELATIONS = ("hypervisor", "guest_fs", "host_fs", "guest_os", "host_os")
_RELATIONS = (
    *("variant__workload", "variant__benchmark", "configuration__case_study__publication"),
    *("configuration__case_study__server", "configuration__case_study__storage"),
    *(f"configuration__{name}" for name in _CONFIGURATION_RELATIONS),
)


def seen_by(model: type[Kind], user: AbstractUser | AnonymousUser) -> QuerySet[Kind]:
    """Return the numbers of a kind that the user may see, joined with what their pages read."""
    rows = model._default_manager.filter(configuration__case_study__in=permissions.seen_by(user))
    return rows.select_related(*_RELATIONS, *(["raw_file"] if model is Measurement else []))


def number_page(row: Number) -> NumberPage:
    """Return the page of a number that the user may see. Three queries, for a derived value two."""
    configuration, case_study = row.configuration, row.configuration.case_study
    runs = _runs(row) if isinstance(row, Measurement) else []
    conditions = _conditions(row, runs)
    facts = [(name, fact(configuration)) for name, fact in _facts(configuration)]
    missing = [name for name, text in conditions if not text and name in _EXPECTED]
    missing += [
        name for name, text in facts if not text and not (name in _IMPLIED_BY and _IMPLIED_BY[name](configuration))
    ]
    return NumberPage(
        number=row,
        case_study=case_study,
        is_public=case_study.status in CaseStudy.VISIBLE,
        address="measurement" if isinstance(row, Measurement) else "derived-value",
        value=_with_unit(row.value, row.unit) or str(row),
        better="higher" if METRICS[row.metric].higher_is_better else "lower",
        provenance=provenance([row]) if isinstance(row, Measurement) else derivation(row),
        conditions=[(name, text) for name, text in conditions if text],
        configuration=[(name, text) for name, text in facts if text],
        left_open=[_in_sentence(name) for name in missing],
        runs=runs,
        file=row.raw_file if isinstance(row, Measurement) else None,
        beside=_neighbours(row),
        replaced_by=_replacement(row),
    )


def _replacement(row: Number) -> CaseStudy | None:
    """Return the case study that supersedes the row, or its whole case study; a query where it no longer counts."""
    of_row = row.ending_id if isinstance(row, Measurement) else None
    if of_row is None and row.configuration.case_study.status != CaseStudy.Status.SUPERSEDED:
        return None
    which = Q(pk=of_row) if of_row else Q(case_study=row.configuration.case_study_id, is_whole=True)
    ending = Ending.objects.filter(which).select_related("replaced_by").first()
    return ending.replaced_by if ending else None


# Conditions that are listed as "not stated" where they are missing.
_EXPECTED = ("Benchmark version", "Runs", "Spread of the runs", "Length of a run", "Disks", "It is")


def _conditions(row: Number, runs: Sequence[Measurement]) -> list[tuple[str, str]]:
    """Return name and text of every condition; "" where it is not stated or does not apply."""
    variant, case_study = row.variant, row.configuration.case_study
    server, storage = case_study.server, case_study.storage
    conditions = [
        ("Workload", variant.workload.name),
        ("Benchmark", variant.benchmark.name),
        ("Benchmark version", variant.benchmark_version),
        ("Parameters", ", ".join(f"{name} = {text}" for name, text in sorted(variant.parameters.items()))),
        ("Operation", row.operation),
        ("Block size", block_size(row.block_size_bytes) if row.block_size_bytes else ""),
        ("Ran on", vm_count(row.vm_count)),
        ("Metric", METRICS[row.metric].label),
        ("Ratio to", row.reference),
        *(_run_conditions(row, runs) if isinstance(row, Measurement) else _derivation_conditions(row)),
        ("Length of a run", _with_unit(case_study.run_seconds, "s")),
        ("Server", server.model or server.cpu),
        ("Disks", _disks(storage)),
        ("Note", row.note),
    ]
    if (row.vm_count or 0) > 1:
        conditions.append(("It is", case_study.get_value_scope_display() if case_study.value_scope else ""))
    return conditions


def _disks(storage: Storage) -> str:
    description = "" if storage.description == "Not stated" else storage.description
    return " ".join(filter(None, [description, f"({storage.get_kind_display()})" if storage.kind else ""]))


def _run_conditions(row: Measurement, runs: Sequence[Measurement]) -> list[tuple[str, str]]:
    averaged = row.repetitions or row.configuration.case_study.repetitions
    spread = [f"standard deviation {_with_unit(row.standard_deviation, row.unit)}"] if row.standard_deviation else []
    if row.minimum or row.maximum:
        ends = [_with_unit(end, row.unit) or "not stated" for end in (row.minimum, row.maximum)]
        spread.append(" to ".join(ends))
    if len(runs) > 1:
        values = [run.value for run in runs]
        spread.append(f"{number(min(values))} to {_with_unit(max(values), row.unit)}")
    return [
        ("Runs", f"{len(runs)}, kept one by one" if len(runs) > 1 else f"{averaged}, averaged" if averaged else ""),
        ("Spread of the runs", "; ".join(spread)),
        ("Machine", f"{row.machine} of {row.vm_count}" if row.machine else ""),
        ("Other reading", _with_unit(row.alternative_value, row.unit)),
        ("Not counted", f"{row.excluded_because} ({row.excluded_by})" if row.excluded_because else ""),
    ]


def _derivation_conditions(row: DerivedValue) -> list[tuple[str, str]]:
    return [
        ("Low", _with_unit(row.low, row.unit)),
        ("High", _with_unit(row.high, row.unit)),
        ("Follows from", row.route),
        ("By", row.formula),
    ]


def _runs(row: Measurement) -> list[Measurement]:
    cell = Measurement.objects.filter(configuration=row.configuration_id, **_coordinates(row))
    return list(cell.order_by("repetition", "machine")[:MAX_RUNS])


def _coordinates(row: Number) -> dict[str, Any]:
    return {name: getattr(row, name) for name in MEASUREMENT_FIELDS}


def _neighbours(row: Number) -> list[Neighbour]:
    """Return the row's fair-play group, a neighbour a configuration, the row's own first. Two queries."""
    group: QuerySet[Any] = type(row)._default_manager.filter(
        configuration__case_study=row.configuration.case_study_id, **_coordinates(row)
    )
    counting = group.filter(excluded_because="") if isinstance(row, Measurement) else group.filter(is_evidence=True)
    own_first = Case(When(configuration=row.configuration_id, then=0), default=1)
    cells = (
        counting.order_by()
        .values("configuration")
        .annotate(mean=Avg("value"), first=Min("pk"), runs=Count("pk"))
        .order_by(own_first, "configuration")[:MAX_NEIGHBOURS]
    )
    configurations = Configuration.objects.select_related("case_study__storage", *_CONFIGURATION_RELATIONS).in_bulk(
        [cell["configuration"] for cell in cells]
    )
    own = next((cell["mean"] for cell in cells if cell["configuration"] == row.configuration_id), None)
    return [
        _neighbour(row, configurations[cell["configuration"]], cell, ratio=cell["mean"] / own if own else None)
        for cell in cells
    ]


def _neighbour(row: Number, configuration: Configuration, cell: Mapping[str, Any], *, ratio: float | None) -> Neighbour:
    own, other = _settings(row.configuration), _settings(configuration)
    differing = [name for name, text in own.items() if text and other[name] and text != other[name]]
    return Neighbour(
        configuration=configuration,
        key=cell["first"],
        value=_with_unit(cell["mean"], row.unit),
        runs=cell["runs"],
        ratio=ratio,
        differences=[f"{_in_sentence(name)} {other[name]}" for name in differing],
        left_open=[_in_sentence(name) for name, _ in _facts(configuration) if own[name] and not other[name]],
        is_this=configuration.pk == row.configuration_id,
    )


def _facts(configuration: Configuration) -> Sequence[tuple[str, Callable[[Configuration], str]]]:
    return NATIVE_FACTS if configuration.is_native else FACTS


def _settings(configuration: Configuration) -> dict[str, str]:
    """Return name to text of every fact of a configuration; the kind of storage may be its case study's."""
    settings = {name: fact(configuration) for name, fact in FACTS}
    if configuration.is_native:
        settings |= {"Hypervisor": "none", "Virtualisation": ""}
    storage = configuration.case_study.storage
    settings["Kind of storage"] = settings["Kind of storage"] or (storage.get_kind_display() if storage.kind else "")
    return settings


def _in_sentence(name: str) -> str:
    """Return a name as written inside a sentence: "cache mode", "I/O mode"."""
    return name if name[1:2] == "/" else name[:1].lower() + name[1:]


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{number(value)} {unit}"
