"""Put all measurements into one table for analysts: a row for each number, with its whole configuration."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.db import models

from experiments.case_studies.bundle_schema import field_names
from experiments.models import CaseStudy, Configuration, Measurement
from experiments.models.fields import column
from kdb.csv_cells import escaped

_ROWS_AT_ONCE = 50_000  # in memory, and a row group of Parquet


class FlatColumn(NamedTuple):
    """kind : "text", "number", "integer" or "boolean" """

    name: str
    kind: str
    description: str


def _of(model: type[models.Model], without: tuple[str, ...]) -> list[FlatColumn]:
    """Return a column for each field of the model."""
    described = []
    for name in field_names(model, without):
        field = column(model, name)
        kinds = {models.FloatField: "number", models.BooleanField: "boolean", models.IntegerField: "integer"}
        kind = next((kind for base, kind in kinds.items() if isinstance(field, base)), "text")
        described.append(FlatColumn(name, kind, str(field.help_text) or f"{str(field.verbose_name).capitalize()}."))
    return described


_STUDY = [
    FlatColumn("case_study", "text", "Short name of the case study: one laboratory, one server, one protocol."),
    FlatColumn("status", "text", '"published" where it counts; else what became of it.'),
    FlatColumn("publication", "text", "Short name of its publication; empty: none is recorded."),
    FlatColumn("publication_doi", "text", "DOI of that publication; empty: none is known."),
    FlatColumn("licence", "text", "SPDX identifier of the source's licence; empty: none is stated."),
    FlatColumn("case_study_storage", "text", "Kind of its disks, where the configuration states no other."),
]
_LOAD = [
    FlatColumn("workload", "text", "Short name of the workload."),
    FlatColumn("benchmark", "text", "Short name of the benchmark."),
    FlatColumn("benchmark_version", "text", "Release of the benchmark; empty: not stated."),
    FlatColumn("parameters", "text", "Parameters of the workload, as JSON."),
]
_SETUP = [
    row._replace(name="configuration") if row.name == "slug" else row for row in _of(Configuration, ("case_study",))
]
_SETUP = [row._replace(name="configuration_note") if row.name == "note" else row for row in _SETUP]
_NUMBER = _of(Measurement, ("configuration", "variant", "raw_file", "line"))
COLUMNS = [*_STUDY, *_SETUP, *_LOAD, *_NUMBER]


def rows(case_study: CaseStudy, document: dict[str, Any], table: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """Yield a line for each measurement of a case study; None is an empty cell.

    document, table : of its bundle, as they go out
    """
    publications = {row["slug"]: row for row in document["publications"]}
    publication = publications.get(document["case_study"].get("publication"), {})
    study = [
        *(document["case_study"]["slug"], case_study.status, publication.get("slug")),
        *(publication.get("doi"), publication.get("licence"), document["storage"].get("kind")),
    ]
    configurations = {row["slug"]: row for row in document["configurations"]}
    variants = {row["key"]: row for row in document["workload_variants"]}
    lines = iter(table)
    columns = next(lines)
    setup_fields = [{"configuration": "slug", "configuration_note": "note"}.get(c.name, c.name) for c in _SETUP]
    setups = {slug: [row.get(name) for name in setup_fields] for slug, row in configurations.items()}
    loads = {
        key: [
            *(row["workload"], row["benchmark"], row.get("benchmark_version")),
            json.dumps(row.get("parameters", {}), sort_keys=True, ensure_ascii=False),
        ]
        for key, row in variants.items()
    }
    at_setup, at_load = columns.index("configuration"), columns.index("variant")
    places = [columns.index(row.name) for row in _NUMBER]
    for cells in lines:
        number = [None if cells[place] == "" else cells[place] for place in places]
        yield [*study, *setups[cells[at_setup]], *loads[cells[at_load]], *number]


class FlatTable:
    """The table on its way into two files, CSV and Parquet, some rows at a time. Used as a context."""

    def __init__(self, csv_file: Path, parquet_file: Path) -> None:
        self.parquet_file = parquet_file
        self.count = self.count_of_all = 0  # written, and taken
        self._pending: list[list[Any]] = []
        self._csv_file = csv_file.open("w", encoding="utf-8", newline="")
        self._csv = csv.writer(self._csv_file, lineterminator="\n")
        self._csv.writerow([row.name for row in COLUMNS])

    def __enter__(self) -> "FlatTable":
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if not error[0] and (self._pending or not self.count):
                self._flush()
        finally:
            self._csv_file.close()

    def add(self, lines: Iterable[list[Any]]) -> None:
        for line in lines:
            self._csv.writerow(["" if cell is None else escaped(cell) for cell in line])
            self._pending.append(line)
            self.count_of_all += 1
            if len(self._pending) >= _ROWS_AT_ONCE:
                self._flush()

    def _flush(self) -> None:
        import fastparquet  # here: with pandas it takes a second, which only this command should
        import pandas as pd

        kinds = {"text": "str", "number": "float64", "integer": "Int64", "boolean": "boolean"}
        parts = zip(*self._pending, strict=True) if self._pending else ([] for _ in COLUMNS)
        converted = {"number": _number, "integer": _integer, "boolean": _boolean, "text": _text}
        frame = pd.DataFrame(
            {
                row.name: pd.array([converted[row.kind](cell) for cell in cells], dtype=kinds[row.kind])
                for row, cells in zip(COLUMNS, parts, strict=True)
            }
        )
        fastparquet.write(
            str(self.parquet_file),
            frame,
            compression="SNAPPY",
            write_index=False,
            object_encoding="utf8",
            append=self.count > 0,
        )
        self.count += len(self._pending)
        self._pending = []


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def _number(cell: Any) -> float | None:
    return None if cell is None else float(cell)


def _integer(cell: Any) -> int | None:
    return None if cell is None else int(cell)


def _boolean(cell: Any) -> bool | None:
    return None if cell is None else str(cell) == "True"
