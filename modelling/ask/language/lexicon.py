"""Find names in a text by their spelling, or by a similar one. No Django.

Spellings are folded as in the catalogue, so "LVM-thin", "lvm thin" and "LVM_THIN" are equal; umlauts are written out.
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

    kind : a kind of grammar in words.toml, "axis", or the kind of `slug`: a column, "file_system", ...
    """

    kind: str
    slug: str = ""
    label: str = ""


def fold_text(text: str) -> str:
    """Return the folded spelling, which is equal for all spellings of a name."""
    return entry_names.fold(unicodedata.normalize("NFKC", text).casefold().translate(_UMLAUTS))


class Lexicon:
    """Phrases with their possible meanings, likeliest first, which is the order of the phrases."""

    def __init__(self, phrases: Iterable[tuple[str, Name]], silent: Iterable[str] = ()) -> None:
        meanings: dict[str, dict[Name, None]] = defaultdict(dict)
        words: set[str] = set()
        for phrase, name in phrases:
            if key := fold_text(phrase):
                meanings[key].setdefault(name)
                words.update(map(fold_text, re.findall(r"\w+", phrase)))
        self.meanings = {key: tuple(names) for key, names in meanings.items()}
        self._silent = {fold_text(word) for word in silent}
        self._words = {word for word in words if len(word) >= _SHORTEST_CORRECTED}

    def find(self, phrase: str) -> tuple[Name, ...]:
        """Return the meanings of a phrase, also without an ending such as the plural's; () where it has none."""
        key = fold_text(phrase)
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
        """Tell whether a word has no meaning in questions, as listed in words.toml."""
        return fold_text(word) in self._silent

    def correct(self, word: str) -> str:
        """Return the word of a name of which this is a misspelling, else the word itself.

        A misspelling has the same first letter and digits, and one edit, or two in a long word.
        """
        key = fold_text(word)
        is_known = key in self._words or self.is_silent(word) or self.find(word)
        if is_known or not key[:1].isalpha() or not _SHORTEST_CORRECTED <= len(key) <= _LONGEST_CORRECTED:
            return word
        likeness = 1 - _most_edits(key) / len(key) - 1e-9  # the ratio of get_close_matches for that many edits
        return next(iter(get_close_matches(key, self._near(key), 1, likeness)), word)

    def nearest(self, word: str) -> list[str]:
        """Return up to three words of names that are most similar to a word and have its first letter."""
        key = fold_text(word)[:_LONGEST_CORRECTED]
        return get_close_matches(key, [known for known in sorted(self._words) if known[0] == key[:1]], 3, 0.5)

    def _near(self, key: str) -> list[str]:
        digits = [sign for sign in key if sign.isdigit()]
        return [
            word
            for word in sorted(self._words)
            if word[0] == key[0]
            and abs(len(word) - len(key)) <= _most_edits(key)
            and digits == [sign for sign in word if sign.isdigit()]
        ]


def _most_edits(key: str) -> int:
    return 1 if len(key) < _LONG else 2
