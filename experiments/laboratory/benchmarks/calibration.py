"""A short reference load on a pool before each repetition: whether the machine is still the one it was."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

MIB = 64  # written, read and hashed in each round
ROUNDS = 3
DRIFT_LIMIT = 0.25  # by which a figure may differ from the campaign's first; the median of three rounds varies by less
FIGURES = {
    "write_mib_s": ("written past the caches", "MiB/s"),
    "read_mib_s": ("read past the caches", "MiB/s"),
    "sync_writes_s": ("written in blocks of 4 KiB, each waited for", "1/s"),
    "hash_mib_s": ("hashed by one processor", "MiB/s"),
}


def medians(answer: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return the figures of several rounds; one that the pool cannot have (no direct I/O there) is missing."""
    rounds: dict[str, list[float]] = {}
    for name, value in answer:
        if name in FIGURES:
            rounds.setdefault(name, []).append(float(value))
    return {name: median(values) for name, values in rounds.items()}


def drift(calibrations: Iterable[Mapping[str, Any]], before: str) -> list[str]:
    """Return a sentence for each figure of the load before this part that differs too much from the first part's."""
    by_part = {calibrated["before"]: calibrated for calibrated in calibrations}
    first = next(iter(by_part.values()), None)
    now = by_part.get(before)
    if first is None or now is None:
        return []
    return [
        f"The reference load before {before}: {now[name]:,.0f} {unit} {words}, {first[name]:,.0f} before "
        f"{first['before']} ({now[name] / first[name] - 1:+.0%}); {DRIFT_LIMIT:.0%} are allowed."
        for name, (words, unit) in FIGURES.items()
        if name in first and name in now and abs(now[name] / first[name] - 1) > DRIFT_LIMIT
    ]
