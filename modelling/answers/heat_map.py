"""The guest x host grid of an answer about file-system pairs. No queries, no HTML."""

import math
from typing import Any

from modelling.evidence.axes import AXES, entry_parts


def heat_map(result: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Rows are guest file systems, columns host file systems, cells what the answer says of the pair.

    result : the answer on the axis fs-pair (modelling.answers.answer)
    labels : file system to its name; both sides list those that the answer speaks of, by name
    A cell is None where there is no evidence on the pair. Shades run from 0, the slowest ratio of its part, to 4,
    the fastest, on a logarithmic scale; a part without numbers is shaded by rank.
    """
    of_pair = {}
    for entry in result["entries"]:
        parts = entry_parts(AXES["fs-pair"], entry["key"])
        of_pair[parts["guest_fs"], parts["host_fs"]] = entry
    guests = sorted({guest for guest, _ in of_pair}, key=lambda slug: labels.get(slug, slug))
    hosts = sorted({host for _, host in of_pair}, key=lambda slug: labels.get(slug, slug))
    shades = _shades(result["entries"])
    return {
        "guests": [{"key": guest, "label": labels.get(guest, guest)} for guest in guests],
        "hosts": [{"key": host, "label": labels.get(host, host)} for host in hosts],
        "cells": [
            [_cell(of_pair.get((guest, host)), guest, host, result, shades) for host in hosts] for guest in guests
        ],
    }


def _cell(
    entry: dict[str, Any] | None, guest: str, host: str, result: dict[str, Any], shades: dict[str, int]
) -> dict[str, Any]:
    if entry is None:
        empty = dict.fromkeys(("rank", "part", "ratio", "low", "high", "grade", "shade"))
        return {"guest_fs": guest, "host_fs": host, **empty, "standing": "no evidence"}
    standing = "best" if entry["key"] in result["best"] else "avoid" if entry["key"] in result["worst"] else "between"
    return {
        "guest_fs": guest,
        "host_fs": host,
        **{name: entry[name] for name in ("rank", "part", "ratio", "low", "high", "grade")},
        "shade": shades[entry["key"]],
        "standing": standing,
    }


def _shades(entries: list[dict[str, Any]]) -> dict[str, int]:
    found = {}
    for part in {entry["part"] for entry in entries}:
        members = [entry for entry in entries if entry["part"] == part]
        scale = {entry["key"]: _height(entry, members) for entry in members}
        low, high = min(scale.values()), max(scale.values())
        for key, value in scale.items():
            found[key] = 4 if high == low else round(4 * (value - low) / (high - low))
    return found


def _height(entry: dict[str, Any], members: list[dict[str, Any]]) -> float:
    """ln ratio where all have one, else the rank from below."""
    if all(member["ratio"] is not None for member in members):
        return math.log(entry["ratio"])
    return -float(entry["rank"])
