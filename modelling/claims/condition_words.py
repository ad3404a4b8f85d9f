"""Write the parts of a check in words. No Django."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

from experiments.rules.claim_conditions import (
    COORDINATES,
    Aggregate,
    Coordinates,
    Limit,
    Listed,
    Quantity,
    Rank,
    Ratio,
    Throughput,
)
from kdb.pairs import pair_parts

from .facts import PublishedFacts, Span

_HIDDEN = ("variant", "machine", "medium")  # held equal, and too detailed to show
_AGGREGATES = {"max": "the best of", "min": "the weakest of", "second": "the second of"}
_AGGREGATES_OF_COUNTS = {"max": "the most of", "min": "the fewest of", "second": "the second most of"}
_LISTS = {"score": "best minus worst places", "tier": "place", "level": "place"}


def name_of_quantity(what: Quantity, facts: PublishedFacts) -> str:
    """Name a quantity: "KVM", "the best of ext4, XFS", "Proxmox VE, sum over 1 to 3 VMs"."""
    match what:
        case Limit():
            return {"disk": "disk speed", "interface": "interface speed"}[what.name]
        case Ratio():
            ratio = f"{name_of_quantity(what.upper, facts)} / {name_of_quantity(what.lower, facts)}"
            return f"({_listing(ratio, *name_place(what.at, facts))})"
        case Rank():
            return f"rank of {', '.join(name_place(what.subject, facts))}"
        case Aggregate(of=Ratio() | Rank()) if (
            what.how not in _AGGREGATES
        ):  # the aggregated coordinates are the same on both sides
            return name_of_quantity(what.of, facts)
        case Aggregate():
            return _aggregate(what, facts)
        case Listed():
            listed = _LISTS.get(what.name, f"pairs in the {' '.join(reversed(what.name.split('-')))} list")
            return _listing(listed, *name_place(what.at, facts))
        case _:
            return ", ".join(name_place(what.at, facts)) or "throughput"


def _aggregate(what: Aggregate, facts: PublishedFacts) -> str:
    over = ", ".join(_values(rows, facts) for rows in reversed(what.over))
    inner = "" if what.of == Throughput({}) else name_of_quantity(what.of, facts)
    if what.how in _AGGREGATES:
        best = (_AGGREGATES_OF_COUNTS if isinstance(what.of, Listed) else _AGGREGATES)[what.how]
        return _listing(f"{best} {over}", inner)
    return _listing(inner, f"{what.how} over {over}")


def name_place(where: Mapping[str, Any], facts: PublishedFacts) -> list[str]:
    """Name coordinates: "p1", "Mail server", "2 VMs", "XFS guest"."""
    named = []
    for coordinate in COORDINATES:
        value = where.get(coordinate)
        if value not in (None, "", "*", "mixed") and coordinate not in _HIDDEN:
            named.append(_word(coordinate, value, where, facts))
    return list(dict.fromkeys(filter(None, named)))


def _word(coordinate: str, value: Any, where: Mapping[str, Any], facts: PublishedFacts) -> str:
    label = facts.labels.get(str(value), str(value))
    match coordinate:
        case "vm_count":
            return "most VMs" if value == "last" else f"{value} VM{'' if value == 1 else 's'}"
        case "block_size":
            return _block_size(int(value))
        case "pair":
            try:
                return " on ".join(facts.labels.get(fs, fs) for fs in pair_parts(str(value)))
            except ValueError:  # not a pair: show it as written
                return str(value)
        case "guest_fs" | "host_fs":
            return f"{label} {coordinate.partition('_')[0]}"
        case "fs":
            return f"{label} {where['side']}" if "side" in where else label
        case "side":
            return "" if "fs" in where else f"{value} side"
        case "source":
            return f"in the {value}"
        case "virtualisation":
            return {"para": "para-virtualised", "full": "fully virtualised"}.get(str(value), label)
        case _:
            return label


def _values(rows: Sequence[Coordinates], facts: PublishedFacts) -> str:
    """Name the coordinates of an aggregate: "1 to 3 VMs", "ext4, XFS"."""
    counts = [row["vm_count"] for row in rows if row.keys() == {"vm_count"} and isinstance(row["vm_count"], int)]
    if len(counts) == len(rows) and all(b == a + 1 for a, b in pairwise(counts)):
        return f"{counts[0]} to {counts[-1]} VMs"
    return ", ".join(
        " ".join(facts.labels.get(str(v), _word(k, v, row, facts)) for k, v in row.items()) for row in rows
    )


def _listing(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _block_size(size: int) -> str:
    return f"{size // 2**20} MiB" if size >= 2**20 else f"{size // 2**10} KiB" if size >= 2**10 else f"{size} B"


def name_values(readings: tuple[Span, ...]) -> str:
    """Write the readings of a value: "1.37", "1.33 to 1.38", "5.274 or 5.712"."""
    return " or ".join(dict.fromkeys(_span(span) for span in readings))


def _span(span: Span) -> str:
    low, high = number(span.low), number(span.high)
    if span.high == inf:
        return "above 1" if 1 < span.low < 1.0001 else "not known" if span.low <= 0 else f"at least {low}"
    if span.low <= 0 < span.high:
        return "below 1" if 0.9999 < span.high < 1 else f"at most {high}"
    return low if low == high else f"{low} to {high}"


def number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
