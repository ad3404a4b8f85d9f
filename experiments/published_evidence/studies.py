"""Read what others published: a folder for each case study, with table.csv and conditions.toml. No Django.

The tables are read like those of users (experiments.imports.tables) and become entries for the loader. The conditions
give a reason for each row that is left out. Source: fixtures/outside/README.md.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.imports.normalise import NUMBERS, Normaliser, Unknown, source_of_rows
from experiments.imports.tables.conditions import IS_A, Conditions, ConditionsError, read_conditions
from experiments.imports.tables.conversion import LeftOut, convert
from experiments.imports.tables.parsing import PlainTable, table_of_csv
from experiments.readers.table import Fault
from experiments.rules.entry_names import Names
from experiments.rules.names import spelled

from .files import Entry, EvidenceError, read_json, read_text

TABLE, CONDITIONS = "table.csv", "conditions.toml"
SECTIONS = {  # kind of a name to the section of a catalogue
    "hypervisor": "hypervisors",
    "file_system": "file_systems",
    "host_storage": "host_storages",
    "operating_system": "operating_systems",
    "benchmark": "benchmarks",
    "workload": "workloads",
}


@dataclass(frozen=True)
class Studies:
    """The entries of a folder. catalogue, sources : section of the loader's files to entries

    unused : reason to the lines left out for it; rows : number of lines
    """

    catalogue: Mapping[str, list[Entry]]
    sources: Mapping[str, list[Entry]]
    measurements: list[Entry]
    unused: Mapping[str, list[str]]
    rows: int


@dataclass
class _Study:
    slug: str
    conditions: Conditions
    table: PlainTable
    rows: list[dict[str, str]]
    left_out: Sequence[LeftOut]
    errors: list[str] = field(default_factory=list)


def slugs(folder: Path) -> list[str]:
    """Return the case studies of a folder. Raises EvidenceError where there is none."""
    study_slugs = sorted(path.parent.name for path in folder.glob(f"*/{CONDITIONS}"))
    if not study_slugs:
        raise EvidenceError(f"{folder.name}: found no folder with {CONDITIONS}, allowed is at least one")
    return study_slugs


def read(folder: Path, papers: Path) -> Studies:
    """Return the case studies of a folder; their names are of its catalogue.json or that of the papers.

    Raises EvidenceError with everything that is wrong.
    """
    catalogue = read_json(folder / "catalogue.json", SECTIONS.values())
    studies = [_study(folder, slug) for slug in slugs(folder)]
    for study in studies:
        for new in study.conditions.new:
            fields = {name: value for name, value in new.items() if name != IS_A}
            catalogue[SECTIONS[new[IS_A]]].append(Entry(f"{study.slug}/{CONDITIONS}, new", fields))
    known = read_json(papers / "catalogue.json")
    names = {
        kind: spelled(
            kind,
            (
                (entry.fields["slug"], entry.fields["name"], entry.fields.get("aliases", ()))
                for entry in (*known[section], *catalogue[section])
            ),
        )
        for kind, section in SECTIONS.items()
    }
    storages = (*known["host_storages"], *catalogue["host_storages"])
    volumes = {entry.fields["slug"] for entry in storages if entry.fields.get("kind") == "volume"}
    sources: dict[str, list[Entry]] = {"publications": [], "servers": [], "storages": [], "case_studies": []}
    measurements: list[Entry] = []
    unused: dict[str, list[str]] = {}
    for study in studies:
        for left_out in study.left_out:
            unused.setdefault(left_out.reason, []).append(f"{study.slug}/{TABLE}, line {left_out.line}")
        for section, entry in _entries(study, Names(names, volumes=volumes), measurements):
            sources[section].append(entry)
    sources["publications"] = list(_unique_publications(sources["publications"]))
    if wrong := [error for study in studies for error in study.errors]:
        raise EvidenceError("\n".join(wrong))
    return Studies(catalogue, sources, measurements, unused, sum(len(study.table.rows) for study in studies))


def _study(folder: Path, slug: str) -> _Study:
    table = table_of_csv(read_text(folder / slug / TABLE))
    if table is None:
        raise EvidenceError(f"{slug}/{TABLE}: found no table, allowed is CSV with as many cells in each line")
    place = f"{slug}/{CONDITIONS}"
    try:
        conditions = read_conditions(read_text(folder / slug / CONDITIONS))
    except ConditionsError as error:
        raise EvidenceError(f"{place}, {error}") from error
    if conditions.case_study["slug"] != slug:
        raise EvidenceError(f"{place}, case_study.slug: found {conditions.case_study['slug']}, allowed is {slug}")
    converted = convert(table, conditions)
    errors = [f"{slug}/{TABLE}, {error}" for error in converted.errors]
    return _Study(slug, conditions, table, converted.rows, converted.left_out, errors)


def _entries(study: _Study, names: Names, measurements: list[Entry]) -> Iterator[tuple[str, Entry]]:
    """Yield section and entry of one case study, nothing where all its rows are left out; append to `measurements` and
    to the study's errors."""
    normaliser = Normaliser(names, {})
    variants: dict[str, dict[str, Any]] = {}
    cells: Counter[tuple[Any, ...]] = Counter()
    for row in normaliser.rows(source_of_rows(study.rows, {})):
        place = f"{study.slug}/{TABLE}, line {row.line}"
        if isinstance(row, Unknown):
            study.errors.append(f"{place}: found {row.name}, allowed is a {row.kind} of the catalogue")
        elif isinstance(row, Fault):
            study.errors.append(f"{study.slug}/{TABLE}, {row}")
        else:
            key = json.dumps(row.variant._asdict(), sort_keys=True)
            variants[key] = {**row.variant._asdict(), "parameters": json.loads(row.variant.parameters)}
            cell = (row.configuration, key, row.operation, row.block_size_bytes, row.vm_count, row.metric)
            cells[cell] += 1
            fields = {name: getattr(row, name) for name in NUMBERS}
            fields |= {"case_study": study.slug, "configuration": row.configuration, "workload": key}
            fields["repetition"] = row.repetition or cells[cell]
            measurements.append(Entry(place, _without_empty(fields)))
    if not study.rows:
        return
    counts = sorted({vm_count for *_, vm_count, _ in cells if vm_count})
    conditions, place = study.conditions, f"{study.slug}/{CONDITIONS}"
    slug = study.slug
    yield "publications", Entry(place, {"slug": slug, "is_reviewed": False, **conditions.source})
    yield "servers", Entry(place, {"slug": slug, **conditions.server})
    storage = {"server": slug, "slug": slug, "description": "Not stated", **conditions.storage}
    yield "storages", Entry(place, storage)
    case_study = {
        "publication": conditions.source.get("slug", slug),
        "server": slug,
        "storage": slug,
        "vm_counts": counts or [1],
        "workloads": [{**variant, "key": key} for key, variant in variants.items()],
        "configurations": [
            {"slug": name, **_without_empty(fields)} for name, fields in normaliser.configurations.items()
        ],
        **conditions.case_study,
    }
    yield "case_studies", Entry(place, case_study)


def _unique_publications(publications: Sequence[Entry]) -> Iterator[Entry]:
    """Yield each publication once. Raises EvidenceError where two case studies describe it differently."""
    entries: dict[str, Entry] = {}
    for entry in publications:
        first = entries.setdefault(entry.fields["slug"], entry)
        if first is entry:
            yield entry
        elif first.fields != entry.fields:
            raise EvidenceError(f"{entry.place}, source: says otherwise of {entry.fields['slug']} than {first.place}")


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ("", None)}
