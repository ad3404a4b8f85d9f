"""The numbers of a case study, cell by cell: which repetition a new row is, and what the lint looks at."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from operator import attrgetter
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
    machine: int | None  # None: the value is not of a single machine


_key_of = attrgetter(*Key._fields)
_NUMBER = Key._fields[2:]  # as measurements have them


@dataclass(slots=True)
class _NumberedCell(lint.Cell):
    """A cell, and which numbers its repetitions have.

    last, last_stored : the highest number, and the highest that was stored before the import
    taken : all numbers; None until a file gives numbers of its own
    """

    last: int = 0
    last_stored: int = 0
    taken: set[int] | None = None


class Cells:
    """The numbers that the case study holds and the import adds, a cell at a time."""

    def __init__(self, case_study: CaseStudy) -> None:
        self.case_study = case_study
        self.cells: dict[Key, _NumberedCell] = {}
        self.parameters: dict[str, Mapping[str, Any]] = {}  # the objects of Variant.parameters
        self.is_by_machine: dict[Key, bool] = {}  # key without machine: whether its values are of single machines
        counts = Q(excluded_because="")
        groups = (
            Measurement.objects.filter(configuration__case_study=case_study)
            .order_by()
            .values_list(
                *("configuration__slug", "variant__workload__slug", "variant__benchmark__slug"),
                *("variant__benchmark_version", "variant__parameters", *_NUMBER),
            )
            .annotate(
                a_unit=Min("unit"),
                last=Max("repetition"),
                count=Count("pk", filter=counts),
                least=Min("value", filter=counts),
                greatest=Max("value", filter=counts),
                total=Sum("value", filter=counts, default=0.0),
                runs=Sum("repetitions", filter=counts, default=0),
                deviations=Count("pk", filter=counts & Q(standard_deviation__isnull=False)),
                zero_deviations=Count("pk", filter=counts & Q(standard_deviation=0)),
            )
        )
        for group in groups:
            configuration, workload, benchmark, version, parameters, *place, machine = group[:10]
            variant = Variant(workload, benchmark, version, json.dumps(parameters, sort_keys=True))
            key = Key._make((configuration, variant, *place, machine))
            self.is_by_machine.setdefault(key._replace(machine=None), machine is not None)
            cell = self.add_cell(key, group[10], "stored before")
            cell.last, cell.count, least, greatest, cell.total, cell.runs = group[11:17]
            cell.deviations, cell.zero_deviations = group[17:]
            cell.last_stored = cell.last
            cell.least, cell.greatest = inf if least is None else least, greatest or 0.0

    def add_cell(self, key: Key, unit: str, place: str) -> _NumberedCell:
        parameters = self.parameters.setdefault(key.variant.parameters, json.loads(key.variant.parameters))
        facts = {**key._asdict(), **key.variant._asdict(), "parameters": parameters, "unit": unit, "place": place}
        del facts["variant"]
        cell = self.cells[key] = _NumberedCell(**facts)
        return cell

    def add(self, row: Row, file_name: str) -> int | Fault:
        """Return the number of the row's repetition, or why it cannot be in its cell."""
        key = Key._make(_key_of(row))
        if fault := self.machine_fault(row, key):
            return fault
        cell = self.cells.get(key)
        if cell is None:
            cell = self.add_cell(key, row.unit, file_name if row.line is None else f"{file_name}, line {row.line}")
        elif cell.unit != row.unit:
            return Fault(row.line, "unit", row.unit, f"{cell.unit}, as in the same cell ({cell.place})")
        repetition = cell.last + 1 if row.repetition is None else row.repetition
        if row.repetition is not None and cell.taken is None:
            cell.taken = self.stored_repetitions(key) if cell.last_stored else set()
            cell.taken.update(range(cell.last_stored + 1, cell.last + 1))
        if cell.taken is not None:
            if repetition in cell.taken:
                expected = f"one that the cell does not have yet ({cell.place})"
                return Fault(row.line, "repetition", str(repetition), expected)
            cell.taken.add(repetition)
        cell.last = max(cell.last, repetition)
        if not row.excluded_because:
            cell.count += 1
            cell.total += row.value
            cell.zero_deviations += row.standard_deviation == 0
            cell.runs += row.repetitions or 0
            cell.deviations += row.standard_deviation is not None
            if row.working_set_bytes:
                cell.working_set_bytes = min(row.working_set_bytes, cell.working_set_bytes or row.working_set_bytes)
            cell.least, cell.greatest = min(cell.least, row.value), max(cell.greatest, row.value)
        return repetition

    def machine_fault(self, row: Row, key: Key) -> Fault | None:
        """Return a fault where a cell would mix values of single machines and of all: a run would count twice."""
        is_of_one = row.machine is not None
        if is_of_one and self.case_study.value_scope == CaseStudy.Scope.AGGREGATE:
            return Fault(row.line, "machine", str(row.machine), "nothing: values here are of all machines together")
        if self.is_by_machine.setdefault(key._replace(machine=None), is_of_one) == is_of_one:
            return None
        expected = "nothing, as" if is_of_one else "the machine that the value is of, as"
        return Fault(row.line, "machine", str(row.machine or "nothing"), f"{expected} in the other rows of the cell")

    def stored_repetitions(self, key: Key) -> set[int]:
        rows = Measurement.objects.filter(
            configuration__case_study=self.case_study,
            configuration__slug=key.configuration,
            variant__workload__slug=key.variant.workload,
            variant__benchmark__slug=key.variant.benchmark,
            variant__benchmark_version=key.variant.benchmark_version,
            variant__digest=parameters_digest(json.loads(key.variant.parameters)),
            **dict(zip(_NUMBER, key[2:], strict=True)),
        )
        return set(rows.values_list("repetition", flat=True))

    def counted(self) -> Iterator[lint.Cell]:
        """Yield the cells that have a value which is not excluded."""
        return (cell for cell in self.cells.values() if cell.count)
