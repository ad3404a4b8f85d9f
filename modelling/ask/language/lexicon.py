"""Find names in a text, by their spelling or by one near it. No Django.

A spelling is folded as the catalogue folds it, so "LVM-thin", "lvm thin" and "LVM_THIN" are one; umlauts are written
out.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from experiments.rules import entry_names

LONGEST_NAME = 8  # tokens
_SHORTEST_CORRECTED, _LONG, _LONGEST_CORRECTED = 4, 8, 40  # letters
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_ENDINGS = ("s", "es", "n", "en", "e", "ed", "ing")


@dataclass(frozen=True)
class Name:
    """The meaning of a phrase.

    kind : of the grammar in words.toml, "axis", or what `slug` is one of: a column, "file_system", ...
    """

    kind: str
    slug: str = ""
    label: str = ""


def fold(text: str) -> str:
    """Return what spellings of one name have in common."""
    return entry_names.fold(unicodedata.normalize("NFKC", text).casefold().translate(_UMLAUTS))


class Lexicon:
    """Phrases and what each may mean, the likeliest first: the order in which they are given."""

    def __init__(self, phrases: Iterable[tuple[str, Name]], silent: Iterable[str] = ()) -> None:
        meanings: dict[str, dict[Name, None]] = defaultdict(dict)
        words: set[str] = set()
        for phrase, name in phrases:
            if key := fold(phrase):
                meanings[key].setdefault(name)
                words.update(map(fold, re.findall(r"\w+", phrase)))
        self.meanings = {key: tuple(names) for key, names in meanings.items()}
        self._silent = {fold(word) for word in silent}
        self._words = {word for word in words if len(word) >= _SHORTEST_CORRECTED}

    def find(self, phrase: str) -> tuple[Name, ...]:
        """Return the meanings of a phrase, in the singular where it is known as that only; none where it has none."""
        key = fold(phrase)
        if names := self.meanings.get(key):
            return names
        if key in self._silent:
            return ()
        for ending in _ENDINGS:
            stem = key.removesuffix(ending)
            if stem != key and len(stem) > len(ending) + 1 and (names := self.meanings.get(stem)):
                return tuple(name for name in names if name.label)
        return ()

    def is_silent(self, word: str) -> bool:
        """Tell whether a word is one that says nothing here."""
        return fold(word) in self._silent

    def spelled(self, word: str) -> str:
        """Return the word of a name that this is a slip of, else the word itself. A slip begins with the same letter,
        has the same digits, and one letter too many, too few, other or out of place; two in a long word."""
        key = fold(word)
        is_known = key in self._words or self.is_silent(word) or self.find(word)
        if is_known or not key[:1].isalpha() or not _SHORTEST_CORRECTED <= len(key) <= _LONGEST_CORRECTED:
            return word
        likeness = 1 - _slips(key) / len(key) - 1e-9  # of get_close_matches: of so many letters out of place
        return next(iter(get_close_matches(key, self._near(key), 1, likeness)), word)

    def nearest(self, word: str) -> list[str]:
        """Return up to three words of names that are spelled most like a word and begin like it."""
        key = fold(word)[:_LONGEST_CORRECTED]
        return get_close_matches(key, [known for known in sorted(self._words) if known[0] == key[:1]], 3, 0.5)

    def _near(self, key: str) -> list[str]:
        digits = [sign for sign in key if sign.isdigit()]
        return [
            word
            for word in sorted(self._words)
            if word[0] == key[0]
            and abs(len(word) - len(key)) <= _slips(key)
            and digits == [sign for sign in word if sign.isdigit()]
        ]


def _slips(key: str) -> int:
    return 1 if len(key) < _LONG else 2
