"""The vocabulary of words.toml: grammar, families of workloads, names that no source measured. No Django."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kdb.units import METRICS

from .content import Pointer
from .lexicon import Name, fold_text

OR, COMMA, ON, UNDER, GUEST, HOST = "or", "comma", "on", "under", "guest", "host"
ASK, MACHINES = "ask", "machines"
UNMEASURED = ""  # slug of names that no source measured

VOCABULARY = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Family:
    """A kind of workload that people name.

    stands : workloads of the catalogue that stand for it, nearest first; reason : why
    """

    slug: str
    label: str
    stands: tuple[str, ...]
    reason: str


def phrases(text: str) -> tuple[str, ...]:
    """Split phrases at semicolons."""
    return tuple(text.split("; "))


FAMILIES = {
    slug: Family(slug, row["label"], phrases(row["stands"]), row["reason"])
    for slug, row in VOCABULARY["families"].items()
}
# Program to the families of workloads that it may run, likeliest first.
PRODUCTS = {
    product: tuple(families.split()) for families, names in VOCABULARY["products"].items() for product in phrases(names)
}
FAMILIES_OF = {fold_text(product): families for product, families in PRODUCTS.items()}
TOPICS = {slug: Pointer(row["title"], row["sentence"], row["address"]) for slug, row in VOCABULARY["topics"].items()}
NUMBERS = {word: int(number) for number, words in VOCABULARY["numbers"].items() for word in phrases(words)}
SILENT = frozenset(phrases(VOCABULARY["plain"]["silent"]))
ORDINARY = frozenset(map(fold_text, phrases(VOCABULARY["plain"]["ordinary"])))


def grammar_and_topics() -> Iterator[tuple[str, Name]]:
    """Yield phrases of grammar and topics, which take precedence over the catalogue's names."""
    for kind, words in VOCABULARY["grammar"].items():
        yield from ((phrase, Name(kind)) for phrase in phrases(words))
    for slug, row in VOCABULARY["topics"].items():
        yield from ((phrase, Name("topic", slug)) for phrase in phrases(row["words"]))


def families() -> Iterator[tuple[str, Name]]:
    """Yield every phrase of a family or product, with the family."""
    for family in FAMILIES.values():
        spellings = (family.label, family.slug, *phrases(VOCABULARY["families"][family.slug]["words"]))
        yield from ((phrase, Name("family", family.slug, family.label)) for phrase in spellings)
    for product, (first, *_) in PRODUCTS.items():
        yield product, Name("family", first, FAMILIES[first].label)


def others() -> Iterator[tuple[str, Name]]:
    """Yield metrics and unmeasured names, over which the catalogue's names take precedence."""
    for metric, words in VOCABULARY["metrics"].items():
        yield from ((phrase, Name("metric", metric, METRICS[metric].label)) for phrase in phrases(words))
    for kind, words in VOCABULARY["unmeasured"].items():
        yield from ((phrase, Name(kind, UNMEASURED, phrase)) for phrase in phrases(words))
