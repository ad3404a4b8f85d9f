"""Tell which abilities the entries of an answer have, with the documentation of each. No Django."""

from collections.abc import Iterable, Mapping, Sequence

from experiments.published_evidence.abilities import ABILITIES, facts
from modelling.evidence.question import Question
from modelling.evidence.requirements import fulfilment, parts_of

from .content import AbilityGround, EntryAbility

_NAMED = {"hypervisor": "hypervisor", "file-system": "file_system", "host-storage": "host_storage"}


def abilities_of(
    question: Question,
    entries: Iterable[tuple[str, str]],
    abilities: Sequence[str],
    names: Mapping[str, Mapping[str, str]],
) -> tuple[EntryAbility, ...]:
    """Return how each entry stands to each of the abilities, entry by entry.

    entries : key and label; names : kind to slug to display name, for choices whose abilities are not documented
    """
    return tuple(
        _entry_ability(question, key, label, ability, names) for key, label in entries for ability in abilities
    )


def _entry_ability(
    question: Question, key: str, label: str, slug: str, names: Mapping[str, Mapping[str, str]]
) -> EntryAbility:
    parts = parts_of(question.axis, key, question.filters, names["volume"])
    fulfilled = fulfilment(ABILITIES[slug], parts, facts())
    unknown = [names.get(_NAMED.get(kind, kind), {}).get(choice, choice) for kind, choice in fulfilled.not_known]
    grounds = [
        *(AbilityGround(fact.sentence, fact.source, fact.read_on) for fact in fulfilled.facts),
        *(AbilityGround(f"{name}: not known.", "", "") for name in unknown),
    ]
    return EntryAbility(key, label, slug, fulfilled.found, tuple(grounds))
