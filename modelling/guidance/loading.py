"""Load makers' advice from its files into the database."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction

from experiments.published_evidence.files import Entry, read_csv
from modelling.estimation.ranking import METHOD
from modelling.models import Advice, Contradiction, RankingSnapshot

from .selectors import digest
from .words import AXIS_LABELS, CONTEXT, KINDS, READ, REASONS, WORDINGS, values

Row = TypeVar("Row", bound=models.Model)
PATH = Path(settings.BASE_DIR) / "fixtures" / "guidance.csv"
_CHOICES = {"axis": tuple(AXIS_LABELS), "wording": tuple(WORDINGS), "reason": REASONS, "kind": KINDS, "read": READ}
_TEXTS = ("condition", "statement", "title", "publisher", "address", "version")
_VIEWS = ("subject", "one_view", "other_view", "why")


def load(path: Path = PATH) -> dict[str, int]:
    """Load the advice of `path` and of its files of defaults and contradictions; return file name to number of rows.

    Rows that are not in the files are deleted. Nothing changes on an EvidenceError, which names file, line and field.
    """
    defaults, contradictions = (path.with_name(f"{path.stem}_{name}.csv") for name in ("defaults", "contradictions"))
    columns = ("id", *CONTEXT, "recommended", "discouraged", *_CHOICES, *_TEXTS)
    files = {file: read_csv(file, columns) for file in (path, defaults)}
    files[contradictions] = read_csv(contradictions, ("no", "one_side", "other_side", *_VIEWS))
    statements = [*files[path], *files[defaults]]
    _refuse_repeats(statements, "id")
    _refuse_repeats(files[contradictions], "no")
    rows = [_advice(entry) for entry in statements]
    codes = [row.code for row in rows]
    disagreements = [_contradiction(entry, codes) for entry in files[contradictions]]
    with transaction.atomic():
        before = digest()
        _store(Advice, "code", rows)
        _store(Contradiction, "number", disagreements)
        if before not in ("", digest()):  # stored answers show the former advice
            RankingSnapshot.objects.filter(method=METHOD).delete()
    return {file.name: len(entries) for file, entries in files.items()}


def load_bundled_advice() -> None:
    """Load the advice that comes with KDB, unless the database has some and settings keep it."""
    if settings.KDB_RELEASE_EVIDENCE or not Advice.objects.exists():
        load()


def _refuse_repeats(entries: list[Entry], field: str) -> None:
    places: dict[str, str] = {}
    for entry in entries:
        if (place := places.setdefault(entry.fields[field], entry.place)) != entry.place:
            raise entry.error(field, f"one that {place} does not have")


def _advice(entry: Entry) -> Advice:
    for name, allowed in _CHOICES.items():
        if entry.fields[name] not in allowed:
            raise entry.error(name, f"one of {', '.join(allowed)}")
    known = values(entry.fields["axis"])
    advice = {name: _values(entry, name, known) for name in ("recommended", "discouraged")}
    advice |= {field: _values(entry, name, allowed) for name, (field, allowed) in CONTEXT.items()}
    if not entry.fields["address"].startswith(("https://", "http://", "/")):
        raise entry.error("address", "an address that begins with https:// or http://, or with / on this site")
    return _validate(entry, Advice(code=entry.fields["id"], **advice, **_fields(entry, (*_CHOICES, *_TEXTS))))


def _contradiction(entry: Entry, codes: Collection[str]) -> Contradiction:
    sides = {name: _values(entry, name, codes) for name in ("one_side", "other_side")}
    for name, side in sides.items():
        if not side:
            raise entry.error(name, "one id or several")
    return _validate(entry, Contradiction(number=entry.fields["no"], **sides, **_fields(entry, _VIEWS)))


def _fields(entry: Entry, names: Iterable[str]) -> dict[str, str]:
    return {name: entry.fields[name].strip() for name in names}


def _values(entry: Entry, name: str, allowed: Collection[str] | None) -> list[str]:
    """Return the values of a cell, separated by bars. allowed : None for any text"""
    named = entry.fields[name].split("|") if entry.fields[name] else []
    if len(set(named)) < len(named) or not all(named) or (allowed is not None and not set(named) <= set(allowed)):
        raise entry.error(name, f"nothing, or each once, parted by |: {', '.join(allowed or ('texts',))}")
    return named


def _validate(entry: Entry, row: Row) -> Row:
    """Return the row, or raise EvidenceError where a field is missing or too long."""
    try:
        row.clean_fields(exclude=["id"])
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        raise entry.error({"code": "id", "number": "no"}.get(name, name), messages[0]) from None
    return row


def _store(model: type[Row], key: str, rows: list[Row]) -> None:
    """Update the rows by their key, add those that are new, and delete those that are gone."""
    model._default_manager.exclude(**{f"{key}__in": [getattr(row, key) for row in rows]}).delete()
    names = [field.name for field in model._meta.concrete_fields if field.name not in ("id", key)]
    model._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=[key], update_fields=names)
