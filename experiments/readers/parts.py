"""Divide the reading of a file with results of several systems into parts that the user names, or refuse it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from .base import Part, Reading, Refusal, Run

MAX_PARTS = 50  # of one file, that the user is asked about


def refuse_several(what: str, first_lines: Mapping[str, int]) -> Refusal:
    """Return the refusal of a file with results of several of something. first_lines : by name"""
    named = ", ".join(f"{name[:80]!r} (line {line})" for name, line in islice(first_lines.items(), 10))
    named += f" and {len(first_lines) - 10:,} more" if len(first_lines) > 10 else ""
    second = sorted(first_lines.values())[1]
    return Refusal(second, f"results of {len(first_lines):,} {what} in one file: {named}; give each its own file")


def divide(what: str, reading: Reading, parts: Sequence[Part]) -> Reading:
    """Return the reading with these parts in place of runs; without parts where there are more than MAX_PARTS."""
    why = refuse_several(what, {part.name: part.line for part in parts})
    asked = tuple(parts) if len(parts) <= MAX_PARTS else ()
    return replace(reading, runs=(), refused=(why, *reading.refused), parts=asked)


def part_of(reading: Reading, name: str, line: int, runs: Sequence[Run]) -> Part:
    return Part(name, line, replace(reading, runs=tuple(runs), refused=()))


def split_by_name(what: str, reading: Reading, runs: Mapping[str, tuple[int, list[Run]]]) -> Reading:
    """Divide the reading where its runs are of several systems. runs : name to its first line and its runs"""
    if len(runs) < 2:
        return reading
    parts = [part_of(reading, name[:80] or "not named", line, of_system) for name, (line, of_system) in runs.items()]
    return divide(what, reading, parts)
