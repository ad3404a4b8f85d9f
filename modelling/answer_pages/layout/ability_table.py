"""Lays out what the entries of an answer can do: what each lacks of the needs, and the table of all abilities."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from experiments.published_evidence.abilities import ABILITIES, GUEST, HOST, HYPERVISOR, IMAGE, WITH_LIMITS, Ability
from modelling.answers.abilities import abilities_of
from modelling.answers.content import AbilityGround, Answer, EntryAbility
from modelling.evidence.requirements import LEFT_OPEN
from modelling.evidence.words import listed

MOST_ROWS = 40  # entries, in the order of the answer
_PART_NAMES = {HYPERVISOR: "hypervisor", HOST: "host storage", IMAGE: "image format", GUEST: "guest file system"}


@dataclass(frozen=True)
class Standing:
    """Entries that stand alike to an ability: its name, their labels, and on what that rests."""

    ability: str
    labels: list[str]
    grounds: tuple[AbilityGround, ...]


@dataclass(frozen=True)
class AbilityTable:
    """The abilities of an answer's entries as its page shows them.

    lacking, limited : needs that entries lack, or have with limits
    left_open : a sentence on each need that rests on what the question does not name
    columns : abilities of which anything can be said; rows : label of an entry with its standing on each of them
    is_whole : whether all entries have a row
    """

    lacking: list[Standing]
    limited: list[Standing]
    left_open: list[str]
    columns: list[Ability]
    rows: list[tuple[str, list[EntryAbility]]]
    is_whole: bool


def ability_table(answer: Answer, names: Mapping[str, Mapping[str, str]]) -> AbilityTable:
    """Return what the page says of the answer's entries. names : kind of name to slug to name"""
    entries = [(entry.key, entry.label) for entry in answer.entries]
    all_told = abilities_of(answer.question, entries[:MOST_ROWS], list(ABILITIES), names)
    columns = [
        ability
        for slug, ability in ABILITIES.items()
        if any(standing.ability == slug and standing.found != LEFT_OPEN for standing in all_told)
    ]
    shown = {ability.slug for ability in columns}
    by_entry: dict[str, list[EntryAbility]] = {}
    for standing in all_told:
        if standing.ability in shown:
            by_entry.setdefault(standing.key, []).append(standing)
    open_needs = dict.fromkeys(standing.ability for standing in answer.abilities if standing.found == LEFT_OPEN)
    return AbilityTable(
        lacking=_grouped(standing for standing in answer.abilities if standing.is_lacking),
        limited=_grouped(standing for standing in answer.abilities if standing.found == WITH_LIMITS),
        left_open=[_left_open(ABILITIES[slug]) for slug in open_needs],
        columns=columns,
        rows=[(standing[0].label, standing) for standing in by_entry.values()],
        is_whole=len(entries) <= MOST_ROWS,
    )


def _grouped(abilities: Iterable[EntryAbility]) -> list[Standing]:
    labels: dict[tuple[str, tuple[AbilityGround, ...]], list[str]] = {}
    for standing in abilities:
        labels.setdefault((standing.ability, standing.grounds), []).append(standing.label)
    return [Standing(ABILITIES[slug].name, of_entries, grounds) for (slug, grounds), of_entries in labels.items()]


def _left_open(ability: Ability) -> str:
    parts = listed([_PART_NAMES[part] for part in ability.parts])
    return f"{ability.name}: it rests on {parts}, and the question names none of these, so it takes nothing away here."
