"""Lay out the abilities of an answer's entries: the needs that each lacks, and the table of all abilities."""

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
    """Entries with the same standing on an ability. ability : its name; labels : of the entries; grounds : evidence"""

    ability: str
    labels: list[str]
    grounds: tuple[AbilityGround, ...]


@dataclass(frozen=True)
class AbilityTable:
    """The abilities of an answer's entries as its page shows them.

    lacking, limited : needs that entries lack, or have with limits
    left_open : a sentence on each need that depends on parts that the question does not name
    columns : abilities that any entry has a standing on; rows : label of an entry, and its standing on each
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
    standings = abilities_of(answer.question, entries[:MOST_ROWS], list(ABILITIES), names)
    columns = [
        ability
        for slug, ability in ABILITIES.items()
        if any(standing.ability == slug and standing.found != LEFT_OPEN for standing in standings)
    ]
    shown = {ability.slug for ability in columns}
    by_entry: dict[str, list[EntryAbility]] = {}
    for standing in standings:
        if standing.ability in shown:
            by_entry.setdefault(standing.key, []).append(standing)
    open_needs = dict.fromkeys(standing.ability for standing in answer.abilities if standing.found == LEFT_OPEN)
    return AbilityTable(
        lacking=_group_standings(standing for standing in answer.abilities if standing.is_lacking),
        limited=_group_standings(standing for standing in answer.abilities if standing.found == WITH_LIMITS),
        left_open=[_describe_left_open(ABILITIES[slug]) for slug in open_needs],
        columns=columns,
        rows=[(standing[0].label, standing) for standing in by_entry.values()],
        is_whole=len(entries) <= MOST_ROWS,
    )


def _group_standings(abilities: Iterable[EntryAbility]) -> list[Standing]:
    labels: dict[tuple[str, tuple[AbilityGround, ...]], list[str]] = {}
    for standing in abilities:
        labels.setdefault((standing.ability, standing.grounds), []).append(standing.label)
    return [Standing(ABILITIES[slug].name, of_entries, grounds) for (slug, grounds), of_entries in labels.items()]


def _describe_left_open(ability: Ability) -> str:
    parts = listed([_PART_NAMES[part] for part in ability.parts])
    return f"{ability.name}: it rests on {parts}, and the question names none of these, so it takes nothing away here."
