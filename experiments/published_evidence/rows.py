"""Convert the words of an evidence file to values, and save these as rows."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from experiments.models.fields import TypedJSONField, column, related

from .files import Entry, EvidenceError


@dataclass(frozen=True)
class WantedRow:
    """One row as a file states it, and its place in the file."""

    entry: Entry
    values: dict[str, Any]  # by field name; a foreign key holds its row
    links: dict[str, list[models.Model]] = field(default_factory=dict)  # many-to-many, by field name
    is_closed: bool = False  # it belongs to a case study that was there before this load


@dataclass(frozen=True)
class Saved:
    """The rows of a list of `WantedRow`, in its order, and how many of them were not as wanted before."""

    rows: list[Any]
    added: int
    updated: int


# From words to values


def values_of(
    model: type[models.Model],
    entry: Entry,
    rows: Mapping[type[models.Model], Mapping[str, models.Model]],
    *,
    without: Collection[str] = (),
    others: Collection[str] = (),
) -> dict[str, Any]:
    """Return the entry's fields as the model holds them; what it leaves out gets the model's default.

    rows : what a foreign key may name, by model and slug
    without : fields of the model that the entry must not have; others : names in the entry that are no fields
    Raises EvidenceError for a field the model does not have and for a value it does not allow.
    """
    fields = {
        f.name: f for f in model._meta.concrete_fields if f.editable and not f.primary_key and f.name not in without
    }
    for name in entry.fields:
        if name not in fields and name not in others:
            raise entry.error(name, f"nothing here; the fields are {', '.join(fields)}")
    return {name: _value(f, entry, rows) for name, f in fields.items()}


def resolve(entry: Entry, name: str, rows: Mapping[str, Any]) -> Any:
    """Return the one of `rows` whose key the entry gives as `name`. Raises EvidenceError for another word."""
    key = entry.fields.get(name)
    if not isinstance(key, str) or key not in rows:
        raise entry.error(name, f"one of {', '.join(sorted(rows))}")
    return rows[key]


def resolve_list(entry: Entry, name: str, rows: Mapping[str, Any]) -> list[Any]:
    """Return the rows of several keys with spaces between, as `resolve`: at least one, each once."""
    words = entry.fields[name].split()
    if not words or len(set(words)) < len(words) or not set(words) <= rows.keys():
        raise entry.error(name, f"these with spaces between, each once: {', '.join(sorted(rows))}")
    return [rows[word] for word in words]


def _value(
    f: "models.Field[Any, Any]", entry: Entry, rows: Mapping[type[models.Model], Mapping[str, models.Model]]
) -> Any:
    if f.name not in entry.fields and (f.null or f.blank or f.has_default()):
        # Where only the database has the default, the model's is an expression, which equals no stored value.
        return f.db_default if f.has_db_default() and not f.has_default() else f.get_default()
    word = entry.fields.get(f.name)
    if word == "" and f.null:  # an empty cell of a CSV file
        return None
    if f.is_relation:
        return resolve(entry, f.name, rows[related(f)])
    if isinstance(f, models.BooleanField) and isinstance(word, str):
        word = {"true": True, "false": False}.get(word, word)
    try:
        value = f.clean(word, None)
    except ValidationError:
        raise entry.error(f.name, _allowed(f)) from None
    is_changed = not isinstance(word, str) and value != word  # 1.5 as an integer, 5 as a text
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    is_other_json = isinstance(f, models.JSONField) and not isinstance(value, type(f.get_default()))
    if is_changed or is_infinite or is_other_json:
        raise entry.error(f.name, _allowed(f))
    return value


def _allowed(f: "models.Field[Any, Any]") -> str:
    if f.choices:
        return f"one of {', '.join(str(choice) or 'nothing' for choice, _ in f.flatchoices)}"
    if isinstance(f, models.BooleanField):
        return "true or false"
    if isinstance(f, models.FloatField):
        return "a finite number"
    if isinstance(f, models.IntegerField):
        return "a whole number, not negative"
    if isinstance(f, models.DateField):
        return "a day, written 2026-11-25"
    if isinstance(f, models.URLField):
        return "an address that begins with https:// or http://"
    if isinstance(f, TypedJSONField):
        return f.schema["title"] + ("" if f.blank else ", not empty")
    if isinstance(f, models.JSONField):
        return f"a JSON {'list' if f.default is list else 'object'}{'' if f.blank else ', not empty'}"
    return f"text of {0 if f.blank else 1} to {f.max_length or 'any number of'} characters"


# From values to rows


def save(
    model: type[models.Model],
    wanted: list[WantedRow],
    key: tuple[str, ...],
    *,
    fixed: Collection[str] = (),
    all_of: models.QuerySet[Any] | None = None,
    linkable: Mapping[str, Iterable[models.Model]] = MappingProxyType({}),
    only_new: bool = False,
) -> Saved:
    """Find each wanted row by the fields `key`, or add it.

    fixed : fields that must not change; all_of : stored rows that must all be wanted
    linkable : of many-to-many fields, the rows to which links may change
    only_new : leave stored rows as they are, except those of drafts, which nobody has published
    Raises EvidenceError otherwise, and where a row repeats another, breaks a constraint of the model, or would be added
    to a case study that was stored before.
    """
    identify = _identifier(model, key)
    same = model._default_manager.filter(**{f"{key[0]}__in": {want.values[key[0]] for want in wanted}})
    stored = {identify(row): row for row in (same if all_of is None else all_of)}
    places: dict[tuple[Any, ...], str] = {}
    rows, new, changed = [], [], {}
    for want in wanted:
        row = model(**want.values)
        identity = identify(row)
        if identity in places:
            raise EvidenceError(f"{want.entry.place} repeats {places[identity]}: same {', '.join(key)}")
        places[identity] = want.entry.place
        if identity in stored:
            row, wanted_row = stored[identity], row
            keeps = only_new and not getattr(row, "is_draft", False)
            if not keeps and _is_updated(row, wanted_row, want, fixed):
                changed[row.pk] = (want.entry, row)
        elif want.is_closed:
            raise EvidenceError(
                f"{want.entry.place}: new evidence for a stored case study; it needs a case study of its own"
            )
        else:
            new.append((want.entry, row))
        rows.append(row)
    for identity in stored.keys() - places.keys() if all_of is not None else ():
        raise EvidenceError(
            f"{model._meta.verbose_name} {stored[identity].pk} ({stored[identity]}) is stored, but the files no longer "
            "have it; published evidence is not taken away, its case study is retracted"
        )
    _write(model, new, model._default_manager.bulk_create)
    if changed:
        names = [name for name in wanted[0].values if name not in key]
        _write(model, list(changed.values()), lambda rows: model._default_manager.bulk_update(rows, names))
    relinked = _link(model, wanted, rows, {row.pk for _, row in new}, fixed, linkable)
    return Saved(rows, len(new), len(changed.keys() | relinked))


def _identifier(model: type[models.Model], key: Iterable[str]) -> Callable[[models.Model], tuple[Any, ...]]:
    attributes = [column(model, name).attname for name in key]
    return lambda row: tuple(getattr(row, attribute) for attribute in attributes)


def _is_updated(stored: models.Model, wanted_row: models.Model, want: WantedRow, fixed: Collection[str]) -> bool:
    """Set the wanted values on `stored`. Return whether any differed."""
    is_updated = False
    for name in want.values:
        attribute = column(type(stored), name).attname
        after = getattr(wanted_row, attribute)
        if getattr(stored, attribute) == after:
            continue
        if name in fixed:
            raise want.entry.error(name, f"{_shown(getattr(stored, name))}, as it was published")
        setattr(stored, attribute, after)
        is_updated = True
    return is_updated


def _shown(value: Any) -> str:
    return getattr(value, "slug", None) or ("nothing" if value in (None, "") else str(value))


def _write(
    model: type[models.Model],
    entries: list[tuple[Entry, models.Model]],
    write: Callable[[list[models.Model]], object],
) -> None:
    """Write the rows. Raises EvidenceError that names the first row to break a constraint."""
    try:
        with transaction.atomic():
            write([row for _, row in entries])
    except IntegrityError:
        for entry, row in entries:  # only now, because each check is a query
            for constraint in model._meta.constraints:
                try:
                    constraint.validate(model, row)
                except ValidationError:
                    rule = constraint.name.split("_", 2)[-1].replace("_", " ")
                    raise EvidenceError(f'{entry.place}: breaks the rule "{rule}"') from None
        raise


def _link(
    model: type[models.Model],
    wanted: list[WantedRow],
    rows: list[models.Model],
    new: set[int],
    fixed: Collection[str],
    linkable: Mapping[str, Iterable[models.Model]],
) -> set[int]:
    """Set the many-to-many links of each row. Return the primary keys of stored rows whose links changed."""
    relinked = set()
    for name in wanted[0].links if wanted else ():
        relation = model._meta.get_field(name)
        assert isinstance(relation, models.ManyToManyField)
        through, source, target = relation.remote_field.through, relation.m2m_column_name(), relation.m2m_reverse_name()
        assert through is not None
        before: dict[int, set[int]] = {}
        links = through._default_manager.filter(**{f"{source}__in": [row.pk for row in rows]})
        if name in linkable:
            links = links.filter(**{f"{target}__in": [row.pk for row in linkable[name]]})
        for owner, linked in links.values_list(source, target):
            before.setdefault(owner, set()).add(linked)
        missing = []
        for want, row in zip(wanted, rows, strict=True):
            after = {linked.pk for linked in want.links[name]}
            if row.pk in new:
                missing += [through(**{source: row.pk, target: linked}) for linked in after]
            elif after != (stored := before.get(row.pk, set())):
                if name in fixed:
                    raise want.entry.error(name, "as it was published")
                getattr(row, name).remove(*stored - after)
                getattr(row, name).add(*after - stored)
                relinked.add(row.pk)
        through._default_manager.bulk_create(missing)
    return relinked
