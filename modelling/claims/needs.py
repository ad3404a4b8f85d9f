"""Tells which facts a condition can reach: only these are read for it, and only they can change its verdict. No Django.

Reach is told by a few coordinates. It may be wider than what the condition looks up in the end, never narrower.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from experiments.claim_conditions import (
    ANY,
    LAST,
    Aggregate,
    All,
    Cases,
    Condition,
    Coordinates,
    Limit,
    Listed,
    Order,
    Premise,
    Quantity,
    Rank,
    Ratio,
    Scalar,
    Share,
    Throughput,
    Within,
)

from .facts import PublishedFacts

COORDINATES = ("workload", "operation", "block_size", "hypervisor")  # that reach is told by
_OF_LISTS = ("workload", "hypervisor")
Place = tuple[Scalar, ...]  # a value for each of these; None: any


@dataclass(frozen=True)
class Needs:
    """The facts that a condition may look up."""

    places: frozenset[Place] = frozenset()
    takes_limits: bool = False  # the limits of storage
    takes_last: bool = False  # the greatest VM count

    def __or__(self, other: "Needs") -> "Needs":
        limits, last = self.takes_limits or other.takes_limits, self.takes_last or other.takes_last
        return Needs(self.places | other.places, limits, last)

    def values(self, coordinate: str) -> frozenset[Scalar]:
        """Return the values asked of a coordinate; none where any may be asked."""
        values = frozenset(place[COORDINATES.index(coordinate)] for place in self.places)
        return frozenset() if None in values else values

    @cached_property
    def _masks(self) -> frozenset[tuple[bool, ...]]:
        return frozenset(tuple(value is not None for value in place) for place in self.places)

    def reaches(self, at: Mapping[str, Any]) -> bool:
        """Tell whether a number or finding at these coordinates may be looked up."""
        place = tuple(map(at.get, COORDINATES))
        return any(
            tuple(value if fixed else None for value, fixed in zip(place, mask, strict=True)) in self.places
            for mask in self._masks
        )

    @cached_property
    def of_lists(self) -> "Needs":
        """Return the needs put to findings, which have neither operation nor block size."""
        kept = [name in _OF_LISTS for name in COORDINATES]
        return Needs(frozenset(tuple(v if k else None for v, k in zip(p, kept, strict=True)) for p in self.places))

    def of(self, facts: PublishedFacts) -> PublishedFacts:
        """Return the facts it can reach. A ratio of two hypervisors may lead to any third: only its workload counts."""
        workloads = self.values("workload")
        return replace(
            facts,
            numbers=tuple(n for n in facts.numbers if self.reaches(n.at)),
            findings=tuple(f for f in facts.findings if self.of_lists.reaches(vars(f))),
            ratios=tuple(r for r in facts.ratios if self.places and (not workloads or r.workload in workloads)),
            limits=facts.limits if self.takes_limits else {},
        )


NOTHING = Needs()


def needs_of(condition: Condition) -> Needs:
    lookups = list(_of_condition(condition, {}))
    return Needs(
        frozenset(tuple(_fixed(at, name) for name in COORDINATES) for at in lookups if at is not None),
        any(at is None for at in lookups),
        any(at is not None and at.get("vm_count") == LAST for at in lookups),
    )


def _fixed(at: Coordinates, name: str) -> Scalar:
    value = at.get(name)
    return None if value == ANY else value


def _of_condition(condition: Condition, where: Coordinates) -> Iterator[Coordinates | None]:
    """Yield the coordinates of each look-up, as modelling.claims.evaluation does; None: the limits of storage."""
    match condition:
        case Cases():
            parts: tuple[Condition, ...] = condition.cases
        case All():
            parts = condition.parts
        case Share():
            parts = (condition.of,)
        case Premise():
            parts = (condition.given, condition.then)
        case Order() | Within():
            for quantity in condition.quantities:
                yield from _of_quantity(quantity, {**where, **condition.where}, {})
            return
    for part in parts:
        yield from _of_condition(part, where if isinstance(condition, Cases) else {**where, **condition.where})


def _of_quantity(what: Quantity, where: Coordinates, named: Coordinates) -> Iterator[Coordinates | None]:
    match what:
        case Aggregate():
            for part in what.parts():
                yield from _of_quantity(what.of, where, {**named, **part})
        case Rank():
            for at in (what.subject, *what.rivals):
                yield {**where, **named, **at}
        case Ratio():
            for side in (what.upper, what.lower):
                yield from _of_quantity(side, where, {**named, **what.at})
        case Throughput() | Listed():
            yield {**where, **named, **what.at}
        case Limit():
            yield None
