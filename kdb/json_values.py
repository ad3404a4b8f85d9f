"""Refuse what JSON can say and Python or a database cannot keep."""

import sys
from collections.abc import Iterator
from typing import Any

DEEPEST = 100  # lists and objects inside each other


def refuse_unkeepable(value: Any) -> None:
    """Raise ValueError where a JSON value holds what no database keeps; the text is fit to show."""
    refuse_huge_integers(value)
    for scalar in _scalars(value):
        if isinstance(scalar, str) and "\0" in scalar:
            raise ValueError("a text holds the character U+0000, which no database keeps")
    refuse_half_characters(value)


def refuse_half_characters(value: Any) -> None:
    """Raise ValueError where a text is none: JSON can spell one half of a surrogate pair, and nothing can store it."""
    for scalar in _scalars(value):
        if isinstance(scalar, str) and any("\ud800" <= sign <= "\udfff" for sign in scalar):
            raise ValueError("a text holds half a character (surrogates not allowed)")


def refuse_huge_integers(value: Any) -> None:
    """Raise ValueError where an integer fits no float, as which numbers are read, or it is nested too deep."""
    for scalar in _scalars(value):
        if isinstance(scalar, int) and abs(scalar) > sys.float_info.max:
            raise ValueError("an integer has more than 308 digits")


def _scalars(value: Any) -> Iterator[Any]:
    """Yield everything in it that is no list or object, and the names of fields; never by recursion."""
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
