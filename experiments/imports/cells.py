"""What a case study holds, cell by cell: which repetition a new row is, and what the lint looks at."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, Max, Min, Q

from experiments.imports.readers.table import Fault
from experiments.models import CaseStudy, Measurement
from experiments.models.catalogue import parameters_digest

from . import lint
from .normalise import Row, Variant


class Cells:
    """What the case study holds and what the import adds, a cell at a time.

    A cell is a configuration, variant, operation, block size, VM count and metric: its values are
    repetitions of one another.
    """

    def __init__(self, case_study: CaseStudy) -> None:
        self.case_study = case_study
        self.cells: dict[tuple, _Cell] = {}
        groups = (
            Measurement.objects.filter(configuration__case_study=case_study)
            .order_by()
            .values_list(
                *("configuration__slug", "variant__workload__slug", "variant__benchmark__slug"),
                *("variant__benchmark_version", "variant__parameters"),
                *("operation", "block_size_bytes", "vm_count", "metric"),
            )
            .annotate(
                a_unit=Min("unit"),
                count=Count("pk"),
                least=Min("value"),
                greatest=Max("value"),
                mean=Avg("value"),
                last=Max("repetition"),
                zero_deviations=Count("pk", filter=Q(standard_deviation=0)),
            )
        )
        for slug, workload, benchmark, version, parameters, *rest in groups:
            variant = Variant(workload, benchmark, version, json.dumps(parameters, sort_keys=True))
            unit, count, least, greatest, mean, last, zero_deviations = rest[4:]
            self.cells[(slug, variant, *rest[:4])] = _Cell(
                unit, count, least, greatest, mean * count, "stored before", last, last, zero_deviations
            )

    def add(self, row: Row, file_name: str) -> int | Fault:
        """The number of the row's repetition, or why it cannot be in its cell."""
        key = (row.configuration, row.variant, row.operation, row.block_size_bytes, row.vm_count, row.metric)
        cell = self.cells.get(key)
        if cell is None:
            place = file_name if row.line is None else f"{file_name}, line {row.line}"
            cell = self.cells[key] = _Cell(row.unit, 0, row.value, row.value, 0.0, place, 0, 0, 0)
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
        cell.count += 1
        cell.total += row.value
        cell.zero_deviations += row.standard_deviation == 0
        if row.working_set_bytes:
            cell.working_set_bytes = min(row.working_set_bytes, cell.working_set_bytes or row.working_set_bytes)
        if row.value < cell.least:
            cell.least = row.value
        elif row.value > cell.greatest:
            cell.greatest = row.value
        return repetition

    def stored(self, key: tuple) -> set[int]:
        slug, variant, operation, block_size, vm_count, metric = key
        rows = Measurement.objects.filter(
            configuration__case_study=self.case_study,
            configuration__slug=slug,
            variant__workload__slug=variant.workload,
            variant__benchmark__slug=variant.benchmark,
            variant__benchmark_version=variant.benchmark_version,
            variant__digest=parameters_digest(json.loads(variant.parameters)),
            operation=operation,
            block_size_bytes=block_size,
            vm_count=vm_count,
            metric=metric,
        )
        return set(rows.values_list("repetition", flat=True))

    def facts(self) -> Iterator[lint.Cell]:
        parameters: dict[str, Any] = {}
        for (slug, variant, operation, block_size, vm_count, metric), cell in self.cells.items():
            yield lint.Cell(
                configuration=slug,
                workload=variant.workload,
                benchmark=variant.benchmark,
                benchmark_version=variant.benchmark_version,
                parameters=parameters.setdefault(variant.parameters, json.loads(variant.parameters)),
                operation=operation,
                block_size_bytes=block_size,
                vm_count=vm_count,
                metric=metric,
                unit=cell.unit,
                count=cell.count,
                least=cell.least,
                greatest=cell.greatest,
                mean=cell.total / cell.count,
                zero_deviations=cell.zero_deviations,
                working_set_bytes=cell.working_set_bytes,
                place=cell.place,
            )


@dataclass(slots=True)
class _Cell:
    unit: str
    count: int
    least: float
    greatest: float
    total: float
    place: str
    loaded: int  # highest number of a repetition that was there before
    last: int  # highest number of a repetition
    zero_deviations: int
    working_set_bytes: int | None = None
    taken: set[int] | None = None  # numbers of repetitions; None until a file gives numbers of its own
