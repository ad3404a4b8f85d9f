"""Put all measurements into one CSV table for analysts: a row for each number, with its whole configuration."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from experiments.case_studies.bundle_schema import field_names
from experiments.models import CaseStudy, Configuration, Measurement
from kdb.csv_cells import escaped

_STUDY = ("case_study", "status", "publication", "publication_doi", "licence", "case_study_storage")
_SETUP = field_names(Configuration, ("case_study",))
_WORKLOAD = ("workload", "benchmark", "benchmark_version", "parameters")
_NUMBER = field_names(Measurement, ("configuration", "variant", "raw_file", "line"))
_RENAMED = {"slug": "configuration", "note": "configuration_note"}  # fields of configurations
COLUMNS = [*_STUDY, *(_RENAMED.get(name, name) for name in _SETUP), *_WORKLOAD, *_NUMBER]


def rows(case_study: CaseStudy, document: dict[str, Any], table: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """Yield a row for each measurement of a case study, in the order of COLUMNS, safe to open in a spreadsheet.

    document, table : of its bundle, redacted
    """
    publications = {row["slug"]: row for row in document["publications"]}
    publication = publications.get(document["case_study"].get("publication"), {})
    study = [
        *(document["case_study"]["slug"], case_study.status, publication.get("slug")),
        *(publication.get("doi"), publication.get("licence"), document["storage"].get("kind")),
    ]
    setups = {row["slug"]: [row.get(name) for name in _SETUP] for row in document["configurations"]}
    workloads = {
        row["key"]: [
            *(row["workload"], row["benchmark"], row.get("benchmark_version")),
            json.dumps(row.get("parameters", {}), sort_keys=True, ensure_ascii=False),
        ]
        for row in document["workload_variants"]
    }
    lines = iter(table)
    columns = next(lines)
    setup_at, workload_at = columns.index("configuration"), columns.index("variant")
    number_at = [columns.index(name) for name in _NUMBER]
    for cells in lines:
        row = [*study, *setups[cells[setup_at]], *workloads[cells[workload_at]], *(cells[at] for at in number_at)]
        yield ["" if cell is None else escaped(cell) for cell in row]
