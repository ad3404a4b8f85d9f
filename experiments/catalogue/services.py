"""The catalogue's names as imports need them, and new entries that an import asks for."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.text import slugify

from experiments import entry_names, references, visible
from experiments.models import Benchmark, CaseStudy, FileSystem, Hypervisor, OperatingSystem, Workload
from experiments.models.catalogue import CatalogueEntry

MODELS: dict[str, type[CatalogueEntry]] = {
    "hypervisor": Hypervisor,
    "file_system": FileSystem,
    "operating_system": OperatingSystem,
    "workload": Workload,
    "benchmark": Benchmark,
}

# Fields that somebody states of a new entry; the others are for papers to state.
FIELDS = {
    "hypervisor": ("slug", "name", "kind", "kernel_origin", "virtual_device_origin", "vendor", "description"),
    "file_system": ("slug", "name", "description"),
    "operating_system": ("slug", "name", "family", "version", "description"),
    "workload": ("slug", "name", "description"),
    "benchmark": ("slug", "name", "printed_unit", "description"),
}


# Kinds of which a slug and a name say enough.
NEED_A_NAME_ONLY = ("file_system", "operating_system", "workload", "benchmark")


class EntryError(ValueError):
    """A new entry is not as it must be; the text says what is expected."""


def entries(kind: str, case_study: CaseStudy) -> QuerySet[CatalogueEntry]:
    """Return the entries that a draft may name: those that everybody sees, and those it brought itself."""
    model = MODELS[kind]
    own = references.used_by(model, CaseStudy.objects.filter(pk=case_study.pk))
    return model._default_manager.filter(Q(pk__in=visible.entries(model)) | Q(pk__in=own))


def spellings(case_study: CaseStudy) -> dict[str, dict[str, str]]:
    """Return kind of name to folded spelling to slug."""
    rows = {kind: entries(kind, case_study).values_list("slug", "name", "aliases") for kind in MODELS}
    return {kind: entry_names.spellings(of_kind) for kind, of_kind in rows.items()}


def slugs(case_study: CaseStudy) -> dict[str, set[str]]:
    return {kind: set(entries(kind, case_study).values_list("slug", flat=True)) for kind in MODELS}


def fields_for(spelling: str) -> dict[str, str]:
    """Return slug and name of a new entry named as a file names it; nothing if the name makes no slug."""
    words = [word for word in slugify(spelling).replace("_", "-").split("-") if word not in ("", "on")]
    slug = "-".join(words)[:40].strip("-")
    return {"slug": slug, "name": spelling} if slug else {}


def new_entry(kind: str, spelling: str, fields: Any, *, source: str) -> CatalogueEntry:
    """Return a new entry that this `spelling` in a file will stand for. Raises EntryError.

    It is not saved yet, unless a draft has brought the same.
    """
    if not isinstance(fields, Mapping) or set(fields) - set(FIELDS[kind]):
        raise EntryError(f"for a new {kind.replace('_', ' ')}: {', '.join(FIELDS[kind])}")
    texts = {name: str(text).strip() for name, text in fields.items()}
    entry = MODELS[kind](**texts, source=source[:200], is_draft=True)
    if brought := MODELS[kind]._default_manager.filter(slug=entry.slug, is_draft=True).first():
        if any(getattr(brought, name) != getattr(entry, name) for name in FIELDS[kind]):
            raise EntryError(
                f"a new {kind.replace('_', ' ')} with another slug: an unpublished case study brings a different "
                f"{entry.slug!r}"
            )
        return brought
    if entry_names.fold(spelling) not in {entry_names.fold(entry.slug), entry_names.fold(entry.name)}:
        entry.aliases = [spelling]
    try:
        entry.full_clean()
    except ValidationError as error:
        told = "; ".join(f"{name}: {' '.join(messages)}" for name, messages in error.message_dict.items())
        raise EntryError(f"a new {kind.replace('_', ' ')} ({told})") from error
    return entry
