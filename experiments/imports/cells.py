"""The numbers of a case study, cell by cell: which repetition a new row is, and what the lint looks at."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min, Q, Sum

from experiments.models import CaseStudy, Measurement
from experiments.models.catalogue import parameters_digest
from experiments.readers.table import Fault

from . import lint
from .normalise import Row, Variant


class Key(NamedTuple):
    """The coordinates of a cell: its values are repetitions of one another."""

    configuration: str
    variant: Variant
    operation: str
    block_size_bytes: int | None
    vm_count: int
    metric: str
    machine: int | None  # None: not of one alone


class Cells:
    """The numbers that the case study holds and the import adds, a cell at a time."""

    def __init__(self, case_study: CaseStudy) -> None:
        self.case_study = case_study
        self.cells: dict[Key, _Cell] = {}
        self.sides: dict[Key, bool] = {}  # key without its machine to whether the numbers are of single machines
        counts = Q(excluded_because="")
        groups = (
            Measurement.objects.filter(configuration__case_study=case_study)
            .order_by()
            .values(
                *("configuration__slug", "variant__workload__slug", "variant__benchmark__slug"),
                *("variant__benchmark_version", "variant__parameters"),
                *("operation", "block_size_bytes", "vm_count", "metric", "machine"),
            )
            .annotate(
                a_unit=Min("unit"),
                count=Count("pk", filter=counts),
                least=Min("value", filter=counts),
                greatest=Max("value", filter=counts),
                total=Sum("value", filter=counts, default=0.0),
                last=Max("repetition"),
                zero_deviations=Count("pk", filter=counts & Q(standard_deviation=0)),
                runs=Sum("repetitions", filter=counts),
                deviations=Count("pk", filter=counts & Q(standard_deviation__isnull=False)),
            )
        )
        for group in groups:
            variant = Variant(
                workload=group["variant__workload__slug"],
                benchmark=group["variant__benchmark__slug"],
                benchmark_version=group["variant__benchmark_version"],
                parameters=json.dumps(group["variant__parameters"], sort_keys=True),
            )
            key = Key(
                configuration=group["configuration__slug"],
                variant=variant,
                operation=group["operation"],
                block_size_bytes=group["block_size_bytes"],
                vm_count=group["vm_count"],
                metric=group["metric"],
                machine=group["machine"],
            )
            self.sides.setdefault(key._replace(machine=None), key.machine is not None)
            self.cells[key] = _Cell(
                unit=group["a_unit"],
                count=group["count"],
                least=inf if group["least"] is None else group["least"],
                greatest=group["greatest"] or 0.0,
                total=group["total"],
                place="stored before",
                loaded=group["last"],
                last=group["last"],
                zero_deviations=group["zero_deviations"],
                runs=group["runs"] or 0,
                deviations=group["deviations"],
            )

    def add(self, row: Row, file_name: str) -> int | Fault:
        """Return the number of the row's repetition, or why it cannot be in its cell."""
        at = (row.configuration, row.variant, row.operation, row.block_size_bytes, row.vm_count, row.metric)
        key = Key(*at, row.machine)
        if fault := self.fault_of_machine(row, key):
            return fault
        cell = self.cells.get(key)
        if cell is None:
            place = file_name if row.line is None else f"{file_name}, line {row.line}"
            cell = self.cells[key] = _Cell(row.unit, place=place)
        elif cell.unit != row.unit:
            return Fault(row.line, "unit", row.unit, f"{cell.unit}, as in the same cell ({cell.place})")
        if row.repetition is None:
            repetition = cell.last = cell.last + 1
            if cell.taken is not None:
                cell.taken.add(repetition)
        else:
            repetition = row.repetition
            if cell.taken is None:
                cell.taken = self.stored(key) if cell.loaded else set()
                cell.taken.update(range(cell.loaded + 1, cell.last + 1))
            if repetition in cell.taken:
                return Fault(
                    row.line, "repetition", str(repetition), f"one that the cell does not have yet ({cell.place})"
                )
            cell.taken.add(repetition)
            cell.last = max(cell.last, repetition)
        if row.excluded_because:
            return repetition
        cell.count += 1
        cell.total += row.value
        cell.zero_deviations += row.standard_deviation == 0
        cell.runs += row.repetitions or 0
        cell.deviations += row.standard_deviation is not None
        if row.working_set_bytes:
            cell.working_set_bytes = min(row.working_set_bytes, cell.working_set_bytes or row.working_set_bytes)
        cell.least, cell.greatest = min(cell.least, row.value), max(cell.greatest, row.value)
        return repetition

    def fault_of_machine(self, row: Row, key: Key) -> Fault | None:
        """Return why a cell cannot have numbers of its machines one by one and of all: both would count a run twice."""
        is_of_one = row.machine is not None
        if is_of_one and self.case_study.value_scope == CaseStudy.Scope.AGGREGATE:
            return Fault(row.line, "machine", str(row.machine), "nothing: values here are of all machines together")
        if self.sides.setdefault(key._replace(machine=None), is_of_one) == is_of_one:
            return None
        expected = "nothing, as" if is_of_one else "the machine that the value is of, as"
        return Fault(row.line, "machine", str(row.machine or "nothing"), f"{expected} in the other rows of the cell")

    def stored(self, key: Key) -> set[int]:
        rows = Measurement.objects.filter(
            configuration__case_study=self.case_study,
            configuration__slug=key.configuration,
            variant__workload__slug=key.variant.workload,
            variant__benchmark__slug=key.variant.benchmark,
            variant__benchmark_version=key.variant.benchmark_version,
            variant__digest=parameters_digest(json.loads(key.variant.parameters)),
            operation=key.operation,
            block_size_bytes=key.block_size_bytes,
            vm_count=key.vm_count,
            metric=key.metric,
            machine=key.machine,
        )
        return set(rows.values_list("repetition", flat=True))

    def facts(self) -> Iterator[lint.Cell]:
        """Yield the cells that count, as lint looks at them."""
        parameters: dict[str, Any] = {}
        for key, cell in self.cells.items():
            if not cell.count:
                continue
            variant = key.variant
            yield lint.Cell(
                configuration=key.configuration,
                workload=variant.workload,
                benchmark=variant.benchmark,
                benchmark_version=variant.benchmark_version,
                parameters=parameters.setdefault(variant.parameters, json.loads(variant.parameters)),
                operation=key.operation,
                block_size_bytes=key.block_size_bytes,
                vm_count=key.vm_count,
                machine=key.machine,
                metric=key.metric,
                unit=cell.unit,
                count=cell.count,
                least=cell.least,
                greatest=cell.greatest,
                mean=cell.total / cell.count,
                zero_deviations=cell.zero_deviations,
                working_set_bytes=cell.working_set_bytes,
                place=cell.place,
                runs=cell.runs or None,
                deviations=cell.deviations,
            )


@dataclass(slots=True)
class _Cell:
    unit: str
    place: str
    least: float = inf  # this and the next three leave out excluded values
    greatest: float = 0.0
    count: int = 0
    total: float = 0.0
    loaded: int = 0  # highest number of a repetition that was there before
    last: int = 0  # highest number of a repetition
    zero_deviations: int = 0
    runs: int = 0  # that rows say they average, together; 0: none says
    deviations: int = 0  # rows that state one
    working_set_bytes: int | None = None
    taken: set[int] | None = None  # numbers of repetitions; None until a file gives numbers of its own
