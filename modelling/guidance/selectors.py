"""Read makers' advice for pages, API and other rooms, in a constant number of queries."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from modelling.evidence import names
from modelling.evidence.axes import AXES, KINDS
from modelling.models import Advice, Contradiction

from .content import AdviceSummary, Disagreement, QuestionContext, Statement
from .matching import advise, axes_of

Plain = TypeVar("Plain", Statement, Disagreement)


def find_advice(axis: str, entries: Sequence[str], *, is_all: bool = True, **context: str) -> AdviceSummary:
    """Return the advice on these entries of an axis. Two queries. Raises ValueError for a key that is no entry of it.

    is_all : False adds further entries that makers recommend, on an axis of one column
    context : fields of Asked
    """
    statements = plain(Statement, Advice.objects.filter(axis__in=axes_of(axis)))
    columns = AXES[axis].entry
    if not is_all and len(columns) == 1:
        named = {value for one in statements if one.axis == axis for value in one.recommended}
        entries = sorted({*entries, *(named & names.names()[KINDS[columns[0]]].keys())})
    return advise(
        axis, entries, QuestionContext(**context), statements, plain(Disagreement, Contradiction.objects.all())
    )


def digest() -> str:
    """Return a digest of all advice in the database, "" without any."""
    rows = [*Advice.objects.order_by("code").values_list(), *Contradiction.objects.order_by("number").values_list()]
    contents = [row[1:] for row in rows]  # without primary keys
    return hashlib.sha256(repr(contents).encode()).hexdigest() if contents else ""


def publisher_choices() -> list[tuple[str, str]]:
    publishers = Advice.objects.order_by("publisher").values_list("publisher", flat=True).distinct()
    return [(name, name) for name in publishers]


def disagreements(code: str = "") -> list[tuple[Disagreement, list[Statement], list[Statement]]]:
    """Return the contradictions, or those with a statement, each with both sides. Two queries."""
    touched = [one for one in plain(Disagreement, Contradiction.objects.all()) if not code or one.touches({code})]
    codes = {code for one in touched for code in (*one.one_side, *one.other_side)}
    rows = {one.code: one for one in plain(Statement, Advice.objects.filter(code__in=codes))}
    return [(one, [rows[code] for code in one.one_side], [rows[code] for code in one.other_side]) for one in touched]


def plain(kind: type[Plain], rows: Iterable[Any]) -> list[Plain]:
    """Return rows of the database as plain dataclasses."""
    columns = [field.name for field in fields(kind)]
    return [kind(**{name: _frozen(getattr(row, name)) for name in columns}) for row in rows]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
