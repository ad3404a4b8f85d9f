"""Read texts with a lexicon of all names: catalogue, settings, axes, families and vocabulary."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from experiments.rules import names as catalogue_names
from experiments.rules.entry_names import fold
from kdb.disk_path import SETTINGS
from modelling.ask.guides.selectors import guides_for, guides_for_axes
from modelling.evidence import names
from modelling.evidence.axes import AXES

from .language import words
from .language.content import Pointer, Said
from .language.lexicon import Lexicon, Name
from .language.readings import read
from .machine import DISKS

# Kind of name in the catalogue to the column that it fills.
_CATALOGUE = {
    "workload": "workload",
    "hypervisor_or_native": "hypervisor",
    "file_system": "file_system",
    "host_storage": "host_storage",
    "guest_os_family": "guest_os_family",
    "benchmark": "benchmark",
}


def read_text(text: str) -> Said:
    """Read a text with the current lexicon. Adds the guides that its words name, else that of its axis."""
    understood = read(text, _lexicon(names.stamp()), names.names())
    guides = guides_for(text) or guides_for_axes({one.axis for one in understood.readings[:1] if not one.is_whole})
    pointers = (Pointer(f"Guide: {guide.title}", guide.recommendation, guide.address) for guide in guides)
    return replace(understood, guides=tuple(pointers))


@lru_cache(maxsize=2)
def _lexicon(stamp: str) -> Lexicon:
    """Return the lexicon, built once for each stamp of the names. stamp : of names.stamp()"""
    return Lexicon(_all_phrases(names.spellings()), words.SILENT)


def _all_phrases(spelled: dict[str, dict[str, str]]) -> Iterator[tuple[str, Name]]:
    known = names.names()
    yield from words.grammar_and_topics()
    yield from _axis_phrases()
    yield from words.families()
    yield from _setting_phrases("image_format")
    measured, unmeasured = names.measured_slugs(), {fold(phrase) for phrase, _ in words.others()}
    for kind, column in _CATALOGUE.items():
        slugs = measured.get(column, spelled[kind].values())
        for phrase, slug in spelled[kind].items():
            if slug in slugs or phrase not in unmeasured:
                yield phrase, Name(column, slug, known[kind][slug])
    for table in (catalogue_names.WORDS, catalogue_names.ASKED):
        for kind, of_kind in table.items():
            labels = {**DISKS, **known.get(f"{kind}_or_native", known.get(kind, {}))}
            for slug, phrases in of_kind.items():
                if slug in labels:
                    yield from ((phrase, Name(kind, slug, labels[slug])) for phrase in phrases)
    yield from ((slug, Name("storage", slug, label)) for slug, label in DISKS.items())
    yield from _setting_phrases(*SETTINGS)
    yield from words.others()


def _setting_phrases(*columns: str) -> Iterator[tuple[str, Name]]:
    for setting in map(SETTINGS.__getitem__, columns):
        for phrase, value in setting.spellings.items():
            if fold(phrase) not in names.WORDS_OF_LOADS:
                yield phrase, Name(setting.column, value, setting.value_label(value))


def _axis_phrases() -> Iterator[tuple[str, Name]]:
    """Yield the phrases for axes and the columns of their entries."""
    called = {column: words.phrases(phrases) for column, phrases in words.VOCABULARY["columns"].items()}
    for axis in AXES.values():
        setting = axis.setting
        column = setting.column if setting else axis.entry[0] if len(axis.entry) == 1 else axis.name
        phrases = (axis.name, axis.label, *called.get(column, ()))
        phrases += (*setting.words, setting.axis, *setting.narrowed) if setting else ()
        joined = (" or ", " oder ")
        yield from (
            (phrase, Name("axis", column, axis.label))
            for phrase in phrases
            if not any(word in phrase for word in joined)
        )
    yield from ((phrase, Name("axis", "file_system", "File system")) for phrase in called["file_system"])
