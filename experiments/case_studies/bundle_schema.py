"""The JSON Schema of a case-study bundle's document, made from the models, so that it always fits them."""

from collections.abc import Collection
from functools import cache
from typing import Any

from django.db import models

from experiments.models import (
    Benchmark,
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    FileSystem,
    HostStorage,
    Hypervisor,
    Measurement,
    OperatingSystem,
    OrdinalFinding,
    PrintedRatio,
    Publication,
    Server,
    Storage,
    Workload,
    WorkloadVariant,
)
from experiments.models.catalogue import CatalogueEntry
from experiments.models.fields import TypedJSONField, column
from experiments.readers.bundle import DERIVED, DOCUMENT, FILES, MEASUREMENTS

FORMAT, VERSION = "kdb-case-study", 1

CATALOGUE: dict[str, type[CatalogueEntry]] = {
    "hypervisors": Hypervisor,
    "host_storages": HostStorage,
    "file_systems": FileSystem,
    "operating_systems": OperatingSystem,
    "benchmarks": Benchmark,
    "workloads": Workload,
}
# Fields on what became of a case study here; they are no part of its content.
LIFE = ("owner", "status", "published_revision", "retracted_revision", "retraction_reason", "server", "storage")
_SLUG = {"type": "string", "pattern": "^[-a-zA-Z0-9_]{1,80}$"}


def field_names(model: type[models.Model], without: Collection[str] = ()) -> list[str]:
    """Return the fields of a row that a bundle carries."""
    return [
        field.name
        for field in model._meta.concrete_fields
        if field.editable and not field.primary_key and field.name not in without
    ]


def row_schema(model: type[models.Model], without: Collection[str] = (), **others: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one row as an object: references are slugs, what is left out has the model's default."""
    fields = {name: column(model, name) for name in field_names(model, without)}
    required = [name for name, f in fields.items() if not (f.blank or f.null or f.has_default())]
    properties = {name: _field_schema(f) for name, f in fields.items()}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*required, *others],
        "properties": {**properties, **others},
    }


def _field_schema(field: "models.Field[Any, Any]") -> dict[str, Any]:
    schema: dict[str, Any]
    if field.is_relation:
        schema = dict(_SLUG)
    elif field.choices:
        schema = {"enum": [value for value, _ in field.flatchoices] + ([""] if field.blank else [])}
    elif isinstance(field, models.BooleanField):
        schema = {"type": "boolean"}
    elif isinstance(field, models.IntegerField):
        schema = {"type": "integer", "minimum": 0}
    elif isinstance(field, models.FloatField):
        schema = {"type": "number"}
    elif isinstance(field, models.DateField):
        schema = {"type": "string", "format": "date"}
    elif isinstance(field, TypedJSONField):
        schema = dict(field.schema)
    elif isinstance(field, models.JSONField):
        schema = {"type": "array" if field.default is list else "object" if field.default is dict else "array"}
    elif isinstance(field, models.SlugField):
        schema = dict(_SLUG)
    else:
        schema = {"type": "string"} | ({"maxLength": field.max_length} if field.max_length else {})
    if field.help_text:
        schema["description"] = str(field.help_text)
    if field.null and "enum" not in schema:
        schema["type"] = [schema["type"], "null"]
    return schema


@cache
def schema() -> dict[str, Any]:
    """Return the document's schema (JSON Schema, draft 2020-12)."""

    def rows(of: dict[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": of}

    variant = {"type": "string", "description": "Key of one of `workload_variants`."}
    properties = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "catalogue": {
            "type": "object",
            "additionalProperties": False,
            "required": [name for name in CATALOGUE if name != "host_storages"],  # earlier bundles lack them
            "properties": {name: rows(row_schema(model)) for name, model in CATALOGUE.items()},
        },
        "publications": rows(row_schema(Publication)),
        "server": row_schema(Server),
        "storage": row_schema(Storage, ("server",)),
        "case_study": row_schema(CaseStudy, LIFE),
        "configurations": rows(row_schema(Configuration, ("case_study",))),
        "workload_variants": rows(row_schema(WorkloadVariant, key={"type": "string"})),
        "findings": rows(row_schema(OrdinalFinding, ("variant",), variant=variant)),
        "printed_ratios": rows(row_schema(PrintedRatio, ("case_study", "variant"), variant=variant)),
        "claims": rows(row_schema(Claim, (), workloads=rows(dict(_SLUG)))),
        "files": rows(
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "sha256", "size_bytes", "format"],
                "properties": {
                    "name": {"type": "string", "maxLength": 200},
                    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "size_bytes": {"type": "integer", "minimum": 1},
                    "format": {"type": "string", "maxLength": 30},
                },
            }
        ),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "KDB case study",
        "description": f"{DOCUMENT} of a bundle; beside it {MEASUREMENTS}, {DERIVED} and {FILES}<SHA-256>.",
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def measurement_columns() -> list[str]:
    """Return the columns of the table of measurements; `variant` is a key, `raw_file` a SHA-256."""
    return field_names(Measurement)


def derived_columns() -> list[str]:
    return field_names(DerivedValue)
