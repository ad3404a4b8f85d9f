"""How the parts of a check read in a sentence. No Django."""

from collections.abc import Mapping
from math import inf
from typing import Any

from kdb.pairs import pair_parts

from .facts import Facts, Span

_HIDDEN = ("variant", "machine", "medium")  # part of what is held equal, and never worth saying
_AGGREGATES = {"max": "the best of", "min": "the weakest of", "second": "the second of"}
_AGGREGATES_OF_COUNTS = {"max": "the most of", "min": "the fewest of", "second": "the second most of"}
_LISTS = {"score": "best minus worst places", "tier": "place", "level": "place"}


def name(what: Mapping[str, Any], facts: Facts) -> str:
    """A quantity: "KVM", "the best of ext4, XFS", "Proxmox VE, sum over 1 to 3 VMs"."""
    if "limit" in what:
        return {"disk": "disk speed", "interface": "interface speed"}[what["limit"]]
    if "ratio" in what:
        upper, lower = what["ratio"]
        return f"({_listing(f'{name(upper, facts)} / {name(lower, facts)}', *words(what, facts))})"
    if "rank" in what:
        return f"rank of {', '.join(words({**what, **what['rank']}, facts))}"
    if "of" in what:
        inner = what.get("each") or {k: v for k, v in what.items() if k not in ("of", "over")}
        over = ", ".join(_values(names, values, facts) for names, values in sorted(what["over"].items(), reverse=True))
        if what["of"] in _AGGREGATES:
            text = f"{(_AGGREGATES_OF_COUNTS if 'list' in inner else _AGGREGATES)[what['of']]} {over}"
            return _listing(text, *([name(inner, facts)] if inner else []))
        return _listing(*([name(inner, facts)] if inner else []), f"{what['of']} over {over}")
    if "list" in what:
        listed = _LISTS.get(what["list"], f"pairs in the {' '.join(reversed(what['list'].split('-')))} list")
        return _listing(listed, *words(what, facts))
    return ", ".join(words(what, facts)) or "throughput"


def words(where: Mapping[str, Any], facts: Facts) -> list[str]:
    """Coordinates: "p1", "Mail server", "2 VMs", "XFS guest"."""
    found = []
    for coordinate in _ORDER:
        value = where.get(coordinate)
        if value not in (None, "", "*", "mixed") and coordinate not in _HIDDEN:
            found.append(_word(coordinate, value, where, facts))
    return list(dict.fromkeys(filter(None, found)))


_ORDER = (
    "case_study",
    "workload",
    "operation",
    "block_size",
    "vm_count",
    "hypervisor",
    "hypervisor_kind",
    "virtualisation",
    "guest_fs",
    "host_fs",
    "pair",
    "fs",
    "side",
    "source",
)


def _word(coordinate: str, value: Any, where: Mapping[str, Any], facts: Facts) -> str:
    label = facts.labels.get(str(value), str(value))
    match coordinate:
        case "vm_count":
            return "most VMs" if value == "last" else f"{value} VM{'' if value == 1 else 's'}"
        case "block_size":
            return _block_size(int(value))
        case "pair":
            try:
                return " on ".join(facts.labels.get(fs, fs) for fs in pair_parts(str(value)))
            except ValueError:  # of a claim that names none: as it is written
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


def _values(names: str, values: list, facts: Facts) -> str:
    """What a quantity is taken over: "1 to 3 VMs", "ext4, XFS"."""
    if names == "vm_count" and values == list(range(values[0], values[-1] + 1)):
        return f"{values[0]} to {values[-1]} VMs"
    parts = [dict(zip(names.split(","), value if "," in names else [value], strict=True)) for value in values]
    return ", ".join(
        " ".join(facts.labels.get(str(v), _word(k, v, part, facts)) for k, v in part.items()) for part in parts
    )


def _listing(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _block_size(size: int) -> str:
    return f"{size // 2**20} MiB" if size >= 2**20 else f"{size // 2**10} KiB" if size >= 2**10 else f"{size} B"


def spans(readings: tuple[Span, ...]) -> str:
    """ "1.37", "1.33 to 1.38", "5.274 or 5.712"."""
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
