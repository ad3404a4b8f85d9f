"""Refuse JSON values that Python or the database cannot store."""

import sys
from collections.abc import Iterator
from typing import Any

DEEPEST = 100  # levels of lists and objects


def refuse_unkeepable(value: Any) -> None:
    """Raise ValueError where a JSON value cannot be stored; the message may be shown to users."""
    refuse_huge_integers(value)
    for scalar in _scalars(value):
        if isinstance(scalar, str) and "\0" in scalar:
            raise ValueError("a text holds the character U+0000, which no database keeps")
    refuse_half_characters(value)


def refuse_half_characters(value: Any) -> None:
    """Raise ValueError where a text has an unpaired surrogate, which JSON can spell but UTF-8 cannot encode."""
    for scalar in _scalars(value):
        if isinstance(scalar, str) and any("\ud800" <= sign <= "\udfff" for sign in scalar):
            raise ValueError("a text holds half a character (surrogates not allowed)")


def refuse_huge_integers(value: Any) -> None:
    """Raise ValueError where an integer is too large for a float, or the value is nested too deep."""
    for scalar in _scalars(value):
        if isinstance(scalar, int) and abs(scalar) > sys.float_info.max:
            raise ValueError("an integer has more than 308 digits")


def _scalars(value: Any) -> Iterator[Any]:
    """Yield all scalars and keys of the value, without recursion. Raises ValueError where it is nested too deep."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                yield from item
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            else:
                yield item
        if not inner:
            return
        level = inner
    raise ValueError(f"it is nested more than {DEEPEST} deep")
