"""Read from a supported claim's condition what it says about the order of two entries. No Django."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from experiments.claim_conditions import (
    ANY,
    Aggregate,
    All,
    Condition,
    Coordinates,
    Listed,
    Order,
    Quantity,
    Scalar,
    Throughput,
    Within,
    placed,
)
from kdb.pairs import pair_parts
from modelling.evidence.axes import NATIVE

# Coordinate that two sides differ in to the axis that ranks it.
_AXES = {"hypervisor": "hypervisor", "pair": "fs-pair", "guest_fs": "guest-fs", "host_fs": "host-fs"}
_FILTERS = ("hypervisor", "guest_fs", "host_fs", "vm_count")  # that claims and questions both have


@dataclass(frozen=True)
class Claimed:
    """That one entry is faster than another, or has a place on a list.

    faster, slower : keys on the axis; without the other "among the best" and "among the worst"
    at : name and value of the filters of a question that it says this of
    """

    code: str
    axis: str
    workload: str
    at: tuple[tuple[str, Scalar], ...]
    faster: str
    slower: str


def claimed(code: str, condition: Condition) -> Iterator[Claimed]:
    """Yield what a condition says, were it to hold, of two entries of an axis or of one on a list; what it says of
    limits, ratios of ratios, ranks and shares is nothing that an answer says."""
    for faster, slower in _orders(condition):
        if faster is None or slower is None:
            known = dict(faster or slower or {})
            entry = _spelled(known.pop("pair", None) or _pair(known))
            if entry and _fixed(known.get("workload")):
                yield Claimed(code, "fs-pair", str(known["workload"]), _at(known), *_placed(entry, faster))
            continue
        differing = {name for name in faster.keys() | slower.keys() if faster.get(name) != slower.get(name)}
        name = next(iter(differing & _AXES.keys()), "")
        shared = {key: value for key, value in faster.items() if key not in differing}
        ends = [side.get(name) for side in (faster, slower)]
        if len(differing) == 1 and name and all(map(_fixed, [*ends, shared.get("workload")])) and NATIVE not in ends:
            yield Claimed(code, _AXES[name], str(shared["workload"]), _at(shared), str(ends[0]), str(ends[1]))


def _orders(condition: Condition) -> Iterator[tuple[Coordinates | None, Coordinates | None]]:
    """Yield the coordinates of a faster and of a slower side; None for the other side of a list."""
    match condition:
        case All():
            for part in condition.parts:
                yield from _orders(part)
        case Order():
            for upper, lower in combinations(condition.quantities, 2):
                yield from _two(upper, lower, condition.where)
        case Within(quantities=(upper, lower), is_outside=False):
            if condition.low >= 1 and condition.high > 1:
                yield from _two(upper, lower, condition.where)
            elif condition.high <= 1 and condition.low < 1:
                yield from _two(lower, upper, condition.where)
        case Within(quantities=(Listed(name="best" | "worst" as name, at=at),), is_outside=False):
            if condition.low >= 1:
                there = {**condition.where, **at}
                yield (there, None) if name == "best" else (None, there)


def _two(upper: Quantity, lower: Quantity, where: Coordinates) -> Iterator[tuple[Coordinates, Coordinates]]:
    for faster in _all_of(upper, where, "min"):
        for slower in _all_of(lower, where, "max"):
            yield faster, slower


def _all_of(quantity: Quantity, where: Coordinates, extreme: str) -> Iterator[Coordinates]:
    """Yield the coordinates of each throughput that an order of this quantity says something of.

    extreme : what above the other side puts all of its parts there: the least of the upper side, the greatest of the
    lower. Sums and means over numbers of machines are of any number.
    """
    match quantity:
        case Throughput(at=at):
            yield {**where, **at}
        case Aggregate(how=how, of=of) if how == extreme:
            for part in quantity.parts():
                yield from _all_of(placed(of, part), where, extreme)
        case Aggregate(how="sum" | "mean", of=of, over=over) if all(rows[0].keys() == {"vm_count"} for rows in over):
            yield from _all_of(of, {key: value for key, value in where.items() if key != "vm_count"}, extreme)


def _fixed(value: Scalar) -> bool:
    return value is not None and value != ANY


def _pair(known: Mapping[str, Any]) -> str | None:
    guest_fs, host_fs = known.get("guest_fs"), known.get("host_fs")
    return f"{guest_fs}-on-{host_fs}" if _fixed(guest_fs) and _fixed(host_fs) else None


def _spelled(pair: Scalar) -> str:
    return str(pair) if _fixed(pair) else ""


def _placed(entry: str, faster: Coordinates | None) -> tuple[str, str]:
    return ("", entry) if faster is None else (entry, "")


def _at(shared: Coordinates) -> tuple[tuple[str, Scalar], ...]:
    at = {name: shared[name] for name in _FILTERS if _fixed(shared.get(name))}
    if _fixed(shared.get("pair")):
        at["guest_fs"], at["host_fs"] = pair_parts(str(shared["pair"]))
    return tuple(at.items())
