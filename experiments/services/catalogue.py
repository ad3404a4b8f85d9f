"""The catalogue's names as imports need them, and new entries that an import asks for."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from experiments import normalise
from experiments.models import Benchmark, FileSystem, Hypervisor, OperatingSystem, Workload
from experiments.models.catalogue import CatalogueEntry

MODELS: dict[str, type[CatalogueEntry]] = {
    "hypervisor": Hypervisor,
    "file_system": FileSystem,
    "operating_system": OperatingSystem,
    "workload": Workload,
    "benchmark": Benchmark,
}

# What somebody says of a new entry; the rest of its fields is for papers to state.
FIELDS = {
    "hypervisor": ("slug", "name", "kind", "kernel_origin", "virtual_device_origin", "vendor", "description"),
    "file_system": ("slug", "name", "description"),
    "operating_system": ("slug", "name", "family", "version", "description"),
    "workload": ("slug", "name", "description"),
    "benchmark": ("slug", "name", "printed_unit", "description"),
}


class EntryError(ValueError):
    """A new entry is not as it must be; the text says what is expected."""


def spellings() -> dict[str, dict[str, str]]:
    """Kind of name to folded spelling to slug."""
    entries = {kind: model.objects.values_list("slug", "name", "aliases") for kind, model in MODELS.items()}
    return {kind: normalise.spellings(rows) for kind, rows in entries.items()}


def slugs() -> dict[str, set[str]]:
    return {kind: set(model.objects.values_list("slug", flat=True)) for kind, model in MODELS.items()}


def new_entry(kind: str, found: str, fields: Any, *, source: str) -> CatalogueEntry:
    """An entry, not saved yet, that the spelling `found` of a file will stand for. Raises EntryError."""
    if not isinstance(fields, Mapping) or set(fields) - set(FIELDS[kind]):
        raise EntryError(f"for a new {kind.replace('_', ' ')}: {', '.join(FIELDS[kind])}")
    entry = MODELS[kind](**{name: str(text).strip() for name, text in fields.items()}, source=source[:200])
    if normalise.fold(found) not in {normalise.fold(entry.slug), normalise.fold(entry.name)}:
        entry.aliases = [found]
    try:
        entry.full_clean()
    except ValidationError as error:
        told = "; ".join(f"{name}: {' '.join(messages)}" for name, messages in error.message_dict.items())
        raise EntryError(f"a new {kind.replace('_', ' ')} ({told})") from error
    return entry
