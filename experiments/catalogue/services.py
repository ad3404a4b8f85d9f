"""Names of the catalogue for imports, and new entries that imports propose."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.text import slugify

from experiments.models import (
    Benchmark,
    CaseStudy,
    FileSystem,
    HostStorage,
    Hypervisor,
    OperatingSystem,
    Workload,
)
from experiments.models.catalogue import CatalogueEntry
from experiments.records import references, visible
from experiments.rules import entry_names
from experiments.rules.entry_names import Spelled
from experiments.rules.names import spelled

MODELS: dict[str, type[CatalogueEntry]] = {
    "hypervisor": Hypervisor,
    "file_system": FileSystem,
    "host_storage": HostStorage,
    "operating_system": OperatingSystem,
    "workload": Workload,
    "benchmark": Benchmark,
}

# Fields that users may state of a new entry; the others come from papers.
FIELDS = {
    "hypervisor": ("slug", "name", "kind", "kernel_origin", "virtual_device_origin", "vendor", "family", "description"),
    "file_system": ("slug", "name", "description"),
    "operating_system": ("slug", "name", "family", "version", "description"),
    "workload": ("slug", "name", "description"),
    "benchmark": ("slug", "name", "printed_unit", "description"),
    "host_storage": ("slug", "name", "family", "kind", "reach", "description"),
}


# Kinds for which a name is enough to propose an entry.
NEED_A_NAME_ONLY = ("file_system", "host_storage", "operating_system", "workload", "benchmark")


class EntryError(ValueError):
    """A new entry is not valid; the text says what is expected."""


def entries(kind: str, case_study: CaseStudy) -> QuerySet[CatalogueEntry]:
    """Return the entries that a draft may name: the visible ones, and those it added itself."""
    model = MODELS[kind]
    if not model._default_manager.filter(is_draft=True).exists():  # mostly so, and the query below takes long to write
        return visible.entries(model)
    own = references.used_by(model, CaseStudy.objects.filter(pk=case_study.pk))
    return model._default_manager.filter(Q(pk__in=visible.entries(model)) | Q(pk__in=own))


def known_names(case_study: CaseStudy) -> dict[str, list[Spelled]]:
    """Return kind of name to slug, name and aliases of what a draft may name."""
    return {kind: list(entries(kind, case_study).values_list("slug", "name", "aliases")) for kind in MODELS}


def spellings(case_study: CaseStudy) -> dict[str, dict[str, str]]:
    """Return kind of name to folded spelling to slug."""
    return {kind: spelled(kind, of_kind) for kind, of_kind in known_names(case_study).items()}


def choices(kind: str, case_study: CaseStudy) -> list[tuple[str, str]]:
    """Return slug and name of each entry of a kind that a draft may name."""
    return list(entries(kind, case_study).order_by("name").values_list("slug", "name"))


def fields_for(kind: str, spelling: str) -> dict[str, str]:
    """Return slug and name for a new entry with the name in a file; {} where no slug can be made of it."""
    words = [word for word in slugify(spelling).replace("_", "-").split("-") if word not in ("", "on")]
    slug = "-".join(words)[:40].strip("-")
    named = {"slug": slug, "name": spelling} if slug else {}
    return {name: text for name, text in named.items() if name in FIELDS[kind]}


def new_entry(kind: str, spelling: str, fields: Any, *, source: str) -> CatalogueEntry:
    """Return an entry for a `spelling` in a file: unsaved, or the equal one of another draft. Raises EntryError."""
    if not isinstance(fields, Mapping) or set(fields) - set(FIELDS[kind]):
        raise EntryError(f"for a new {kind.replace('_', ' ')}: {', '.join(FIELDS[kind])}")
    texts = {name: str(text).strip() for name, text in fields.items()}
    if kind == "host_storage":
        texts = {"name": texts.get("slug", ""), **texts}
    entry = MODELS[kind](**texts, source=source[:200], is_draft=True)
    if existing := MODELS[kind]._default_manager.filter(slug=entry.slug, is_draft=True).first():
        if any(getattr(existing, name) != getattr(entry, name) for name in FIELDS[kind]):
            raise EntryError(
                f"a new {kind.replace('_', ' ')} with another slug: an unpublished case study brings a different "
                f"{entry.slug!r}"
            )
        return existing
    if entry_names.fold(spelling) not in {entry_names.fold(entry.slug), entry_names.fold(entry.name)}:
        entry.aliases = [spelling]
    try:
        entry.full_clean()
    except ValidationError as error:
        problems = "; ".join(f"{name}: {' '.join(messages)}" for name, messages in error.message_dict.items())
        raise EntryError(f"a new {kind.replace('_', ' ')} ({problems})") from error
    return entry
