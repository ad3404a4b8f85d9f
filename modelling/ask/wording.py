"""A text in a person's own words, matched against the catalogue's names and aliases. Nothing is guessed: what no name
accounts for is told."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from experiments import entry_names
from modelling.evidence import names

from .machine import SPELLINGS

LONGEST = 200  # characters of a text
MOST_WORDS = 20
_LONGEST_NAME = 4  # words
# In this order, where a spelling belongs to two kinds.
_KINDS = ("workload", "hypervisor_or_native", "file_system", "storage", "guest_os_family", "benchmark", *SPELLINGS)
_SILENT = {
    *(
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "best",
        "better",
        "compare",
        "compared",
        "for",
        "from",
        "i",
        "in",
        "is",
        "it",
    ),
    *("my", "of", "on", "or", "run", "running", "the", "to", "under", "use", "versus", "vs", "what", "which", "with"),
}


@dataclass(frozen=True)
class Understood:
    """The names in a text.

    named : kind of name to slugs, in the order of the text, each once
    read : every name as (words as they were written, kind, slug), in the order of the text
    pairs : file systems that stand as "A on B", guest and host
    unknown : words that no name accounts for, as they were written
    """

    named: dict[str, tuple[str, ...]]
    read: tuple[tuple[str, str, str], ...]
    pairs: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]

    def all(self, kind: str) -> tuple[str, ...]:
        return self.named.get(kind, ())

    def only(self, kind: str) -> str | None:
        """Return the one name of this kind; None where there is none, or several."""
        slugs = self.all(kind)
        return slugs[0] if len(slugs) == 1 else None


def understood(text: str) -> Understood:
    """Return the names in a text, the longest first: "mail server" before "mail". Linear in its words."""
    words = re.findall(r"\w[\w.+-]*", text[:LONGEST])[:MOST_WORDS]
    named = list(_named(words))
    slugs_of: dict[str, list[str]] = {}
    unknown = []
    for written, kind, slug in named:
        if kind:
            slugs_of.setdefault(kind, []).append(slug)
        elif written.casefold() not in _SILENT:
            unknown.append(written)
    pairs = [
        (one[2], other[2])
        for one, between, other in zip(named, named[1:], named[2:], strict=False)
        if one[1] == other[1] == "file_system" and between == ("on", "", "")
    ]
    return Understood(
        named={kind: tuple(dict.fromkeys(slugs)) for kind, slugs in slugs_of.items()},
        read=tuple(name for name in named if name[1]),
        pairs=tuple(pairs),
        unknown=tuple(unknown),
    )


def _named(words: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each name as it was written, its kind and slug, and (word, "", "") for what is none."""
    place = 0
    while place < len(words):
        for length in range(min(_LONGEST_NAME, len(words) - place), 0, -1):
            name = " ".join(words[place : place + length])
            hit = next(((kind, slug) for kind in _KINDS if (slug := _slug(kind, name))), None)
            if hit:
                yield name, *hit
                place += length
                break
        else:
            yield words[place], "", ""
            place += 1


def _slug(kind: str, name: str) -> str | None:
    if kind in SPELLINGS:
        return SPELLINGS[kind].get(entry_names.fold(name))
    several = kind == "workload" and name.endswith("s")  # "files", "mail servers"
    return names.slug_for(kind, name) or (names.slug_for(kind, name[:-1]) if several else None)
