"""Tell whether an entry has the abilities that a question requires. No Django.

An entry consists of the parts it names and those that the question fixes: hypervisor, guest file system, host storage,
image format. ABILITIES of experiments.published_evidence.abilities says which parts an ability rests on.
Source: docs/models/verdict.md, needs before speed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.published_evidence.abilities import (
    ABILITIES,
    GUEST,
    HOST,
    HYPERVISOR,
    IMAGE,
    NO,
    WITH_LIMITS,
    YES,
    Ability,
    Fact,
    Facts,
    facts,
)
from kdb.host_storage import host_storage_parts

from .axes import AXES, NATIVE, entry_parts
from .question import Question

NOT_KNOWN, LEFT_OPEN = "not known", "left open"
STANDINGS = (YES, WITH_LIMITS, NO, NOT_KNOWN, LEFT_OPEN)
LACKING = (NO, NOT_KNOWN)  # an ability that is not known is not relied on
_FROM_WORST = (NO, NOT_KNOWN, WITH_LIMITS, YES)

Parts = Mapping[str, tuple[str, str]]  # part of an entry to kind and slug of its choice


@dataclass(frozen=True)
class Fulfilment:
    """Whether one entry has one ability.

    found : of STANDINGS; LEFT_OPEN: it depends on parts that neither the entry nor the question names
    facts : its evidence; not_known : choices without a fact on it, as (kind, slug)
    """

    ability: Ability
    found: str
    facts: tuple[Fact, ...] = ()
    not_known: tuple[tuple[str, str], ...] = ()

    @property
    def is_lacking(self) -> bool:
        """Tell whether the entry lacks it, or is not known to have it."""
        return self.found in LACKING


def parts_of(axis: str, key: str, filters: Mapping[str, Any], volumes: Collection[str]) -> Parts:
    """Return the parts that an entry names, and those that the question's filters fix.

    volumes : slugs of host storage; the image format is left out for them, as they have none
    """
    named = {**filters, **{column: value for column, value in entry_parts(AXES[axis], key).items() if value}}
    parts: dict[str, tuple[str, str]] = {}
    if (hypervisor := named.get("hypervisor")) and hypervisor != NATIVE:
        parts[HYPERVISOR] = "hypervisor", hypervisor
    if guest_fs := named.get("guest_fs"):
        parts[GUEST] = "file-system", guest_fs
    backend, file_system = host_storage_parts(named["host_storage"]) if "host_storage" in named else ("file", "")
    if backend != "file":
        parts[HOST] = "host-storage", backend
    elif file_system := file_system or named.get("host_fs", ""):
        parts[HOST] = "file-system", file_system
    if (image_format := named.get("image_format")) and backend not in volumes:
        parts[IMAGE] = "image-format", image_format
    return parts


def fulfilment(ability: Ability, parts: Parts, known: Facts) -> Fulfilment:
    """Tell whether parts together have an ability.

    All named parts of `all_of` and one of the named parts of `any_of` must have it. A part that has it through another
    part counts only where that one is not named.
    """
    fulfilled = [_fulfilment_by_choice(ability, parts[part], known) for part in ability.all_of if part in parts]
    either = [_fulfilment_by_choice(ability, parts[part], known) for part in ability.any_of if part in parts]
    if either:
        independent = [one for one in either if not any(fact.through in parts for fact in one.facts)]
        fulfilled.append(_combine(ability, independent, max))
    return _combine(ability, fulfilled, min) if fulfilled else Fulfilment(ability, LEFT_OPEN)


def lacking(question: Question, volumes: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a function from an entry's key to the needs of the question that it lacks or is not known to have.

    volumes : as for parts_of
    """

    def lacking_needs(key: str) -> tuple[str, ...]:
        parts = parts_of(question.axis, key, question.filters, volumes)
        return tuple(need for need in question.needs if fulfilment(ABILITIES[need], parts, facts()).is_lacking)

    return lacking_needs


def _fulfilment_by_choice(ability: Ability, choice: tuple[str, str], known: Facts) -> Fulfilment:
    fact = known.get(choice, {}).get(ability.slug)
    if fact is None:
        return Fulfilment(ability, NOT_KNOWN, not_known=(choice,))
    return Fulfilment(ability, fact.found, (fact,))


def _combine(ability: Ability, fulfilled: Sequence[Fulfilment], decisive: Callable[[Sequence[int]], int]) -> Fulfilment:
    """Combine several parts: the worst decides (decisive min), or the best (max)."""
    standing = _FROM_WORST[decisive([_FROM_WORST.index(one.found) for one in fulfilled])]
    decisive_ones = [one for one in fulfilled if one.found == standing]
    return Fulfilment(
        ability,
        standing,
        tuple(dict.fromkeys(fact for one in decisive_ones for fact in one.facts)),
        tuple(dict.fromkeys(choice for one in decisive_ones for choice in one.not_known)),
    )
