"""Load fixtures/signatures.csv: signatures of known loads, recorded on other machines. A test checks its lines."""

from pathlib import Path
from typing import Any

from django.db import transaction

from experiments.laboratory.transport.counters import NAMES
from experiments.models import FileSystem, Signature

from .files import read_csv

_TEXTS = ("workload", "source", "guest_fs")
_WHOLE = ("machine", *(name for name in NAMES if not name.endswith("seconds")))
_SECONDS = ("starts_after", "seconds", *(name for name in NAMES if name.endswith("seconds")))
COLUMNS = (*_TEXTS, *_WHOLE, *_SECONDS)


def load(path: Path) -> int:
    """Replace the signatures that no run here made by those of the file, all or nothing; return how many were added.

    Raises EvidenceError.
    """
    wanted = {_key(row): row for row in read(path)}
    with transaction.atomic():
        known = {row.slug: row for row in FileSystem.objects.all()}
        stored = {_key(_fields(row)): row.pk for row in Signature.objects.filter(run=None).select_related("guest_fs")}
        Signature.objects.filter(pk__in=[pk for key, pk in stored.items() if key not in wanted]).delete()
        new = [row for key, row in wanted.items() if key not in stored]
        Signature.objects.bulk_create(
            Signature(**{name: known.get(value) if name == "guest_fs" else value for name, value in row.items()})
            for row in new
        )
    return len(new)


def read(path: Path) -> list[dict[str, Any]]:
    """Return the file's rows. Raises EvidenceError where its columns are others."""
    return [_row(entry.fields) for entry in read_csv(path, COLUMNS)]


def _fields(row: Signature) -> dict[str, Any]:
    guest_fs = row.guest_fs.slug if row.guest_fs else ""
    return {name: guest_fs if name == "guest_fs" else getattr(row, name) for name in COLUMNS}


def _key(fields: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(fields[name] for name in COLUMNS)


def _row(fields: dict[str, str]) -> dict[str, Any]:
    numbers: dict[str, Any] = {name: int(fields[name]) for name in _WHOLE}
    numbers |= {name: float(fields[name]) for name in _SECONDS}
    return {name: fields[name] for name in _TEXTS} | numbers
