"""Find names in a text, by their spelling or by one near it. No Django.

A spelling is folded as the catalogue folds it, so "LVM-thin", "lvm thin" and "LVM_THIN" are one; umlauts are written
out.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from experiments import entry_names

LONGEST_NAME = 8  # tokens
_SHORTEST_CORRECTED, _LONG = 4, 8  # letters
_LONGEST_COMPARED = 40  # characters of a word that no name has
_LOOKED_AT = 12
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_ENDINGS = ("s", "es", "n", "en", "e", "ed", "ing")


@dataclass(frozen=True)
class Name:
    """The meaning of a phrase.

    kind : of words.GRAMMAR, "axis", or what `slug` is one of: a column, "file_system", ...
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
        meanings: dict[str, dict[Name, str]] = defaultdict(dict)
        spelled: set[str] = set()
        for phrase, name in phrases:
            if key := fold(phrase):
                meanings[key].setdefault(name, phrase)
                spelled.add(phrase)
        self.meanings = {key: tuple(names) for key, names in meanings.items()}
        self._silent = {fold(word) for word in silent}
        self._labels = {key: name.label for key, names in self.meanings.items() if (name := names[0]).label}
        words = {fold(word) for phrase in spelled for word in re.findall(r"\w+", phrase)}
        self._words = {word for word in words if len(word) >= _SHORTEST_CORRECTED}
        self._with: dict[str, list[str]] = defaultdict(list)
        for key in sorted(self._labels.keys() | self._words):
            for pair in _pairs(key):
                self._with[pair].append(key)

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

    def corrected(self, word: str) -> str:
        """Return the word of a name that this is a slip of: one letter too many, too few, other or out of place, two in
        a long word. "" where it is too short or too far from any."""
        key = fold(word)[:_LONGEST_COMPARED]
        if len(key) < _SHORTEST_CORRECTED or key in self._words:
            return ""
        for _, known in self._near(key):
            if known in self._words and known[0] == key[0] and _slips(key, known) <= (1 if len(key) < _LONG else 2):
                return known
        return ""

    def nearest(self, word: str, number: int = 3) -> list[str]:
        """Return the labels of the names that are spelled most like a word, the nearest first."""
        labels = (
            self._labels[known] for _, known in self._near(fold(word)[:_LONGEST_COMPARED]) if known in self._labels
        )
        return list(dict.fromkeys(labels))[:number]

    def _near(self, key: str) -> list[tuple[float, str]]:
        """Return names by their likeness to a key, of those that share most pairs of letters with it."""
        shared = Counter(known for pair in _pairs(key) for known in self._with.get(pair, ()))
        looked_at = sorted(shared, key=lambda known: (abs(len(known) - len(key)) - 3 * shared[known], known))[
            :_LOOKED_AT
        ]
        return sorted(
            ((SequenceMatcher(None, key, known).ratio(), known) for known in looked_at),
            key=lambda match: (-match[0], match[1]),
        )


def _pairs(key: str) -> set[str]:
    padded = f"^{key}$"
    return {padded[place : place + 2] for place in range(len(padded) - 1)}


def _slips(one: str, other: str) -> int:
    """Return how many letters are too many, too few, other, or out of place beside their neighbour; 3 for more."""
    if abs(len(one) - len(other)) > 2:
        return 3
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            best = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 < column and letter == other[column - 2] and one[row - 2] == wanted:
                best = min(best, before[column - 2] + 1)
            line.append(best)
        before, last = last, line
    return min(last[-1], 3)
