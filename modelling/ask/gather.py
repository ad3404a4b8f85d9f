"""The lexicon of everything that a text may name: catalogue, settings, axes, families, words."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from experiments import names as catalogue_names
from kdb.disk_path import SETTINGS
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.guides.selectors import guides_for

from .language import words
from .language.content import Pointer, Said
from .language.families import FAMILIES
from .language.lexicon import Lexicon, Name
from .language.pointers import TOPICS
from .language.readings import said, spellings
from .machine import DISKS

# Kind of name in the catalogue: column that it fills.
_CATALOGUE = {
    "workload": "workload",
    "hypervisor_or_native": "hypervisor",
    "file_system": "file_system",
    "host_storage": "host_storage",
    "guest_os_family": "guest_os_family",
    "benchmark": "benchmark",
}


def understood(text: str) -> Said:
    """Read a text against everything that is named here now."""
    read = said(text, _lexicon(names.stamp()), names.names())
    guides = (Pointer(f"Guide: {guide.title}", guide.recommendation, guide.address) for guide in guides_for(text))
    return replace(read, guides=tuple(guides))


@lru_cache(maxsize=2)
def _lexicon(stamp: str) -> Lexicon:
    """Return the lexicon of the catalogue's spellings. stamp : of names; made anew where these change"""
    return Lexicon(_phrases(names.spellings()), words.SILENT_WORDS)


def _phrases(spelled: dict[str, dict[str, str]]) -> Iterator[tuple[str, Name]]:
    known = names.names()
    for kind, phrases in words.GRAMMAR.items():
        yield from ((phrase, Name(kind)) for phrase in phrases)
    for slug, topic in TOPICS.items():
        yield from ((phrase, Name("topic", slug, "")) for phrase in topic.words)
    yield from _axes()
    yield from ((phrase, Name("family", slug, FAMILIES[slug].label)) for phrase, slug in spellings())
    yield from (pair for pair in _settings() if pair[1].kind == "image_format")
    for kind, column in _CATALOGUE.items():
        yield from ((phrase, Name(column, slug, known[kind][slug])) for phrase, slug in spelled[kind].items())
    for table in (catalogue_names.WORDS, catalogue_names.ASKED):
        for kind, of_kind in table.items():
            labels = {**DISKS, **known.get(f"{kind}_or_native", known.get(kind, {}))}
            for slug, phrases in of_kind.items():
                if slug in labels:
                    yield from ((phrase, Name(kind, slug, labels[slug])) for phrase in phrases)
    for metric, phrases in words.METRIC_WORDS.items():
        yield from ((phrase, Name("metric", metric, metric)) for phrase in phrases)
    yield from ((slug, Name("storage", slug, label)) for slug, label in DISKS.items())
    yield from _settings()


def _settings() -> Iterator[tuple[str, Name]]:
    for column, setting in SETTINGS.items():
        for phrase, value in setting.spellings.items():
            yield phrase, Name(column, value, setting.value_label(value))


def _axes() -> Iterator[tuple[str, Name]]:
    """Yield what axes and the columns of their entries are called."""
    for axis in AXES.values():
        setting = axis.setting
        column = setting.column if setting else axis.entry[0] if len(axis.entry) == 1 else axis.name
        phrases = (axis.name, axis.label, *words.COLUMN_WORDS.get(column, ()))
        phrases += (*setting.words, setting.axis, *setting.narrowed) if setting else ()
        yield from (
            (phrase, Name("axis", column, axis.label))
            for phrase in phrases
            if " or " not in phrase and " oder " not in phrase
        )
    yield from ((phrase, Name("axis", "file_system", "File system")) for phrase in words.FILE_SYSTEM_WORDS)
    yield from ((phrase, Name("axis", "configuration", "Configuration")) for phrase in words.CONFIGURATION_WORDS)
    yield from (
        (phrase, Name("axis", "fs-pair", "Guest file system on host file system")) for phrase in words.PAIR_WORDS
    )
