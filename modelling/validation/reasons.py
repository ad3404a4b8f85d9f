"""The reasons why what breaks a rule of coherence may stand, in a file beside this one. No Django."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from .coherence import Breach

FILE = Path(__file__).with_name("coherence_reasons.json")


class ReasonsError(ValueError):
    """A file of reasons that cannot be read; the text says where, and is fit to show."""


@dataclass(frozen=True)
class Judged:
    """Breaches held against reasons. gone : names that have a reason and break nothing any more"""

    with_reason: tuple[Breach, ...]
    without_reason: tuple[Breach, ...]
    gone: tuple[str, ...]


def read(text: str) -> dict[str, str]:
    """Return the name of each breach in the file to its reason. Raises ReasonsError.

    The file is a JSON list of {"reason": text, "breaches": [name, ...]}, each name once.
    """
    try:
        rows = json.loads(text)
        pairs = [(str(name), str(row["reason"])) for row in rows for name in row["breaches"]]
    except (ValueError, TypeError, KeyError) as error:
        raise ReasonsError(f"no list of reasons with their breaches: {error}") from error
    reasons = dict(pairs)
    if len(reasons) < len(pairs):
        twice = next(name for name in reasons if [key for key, _ in pairs].count(name) > 1)
        raise ReasonsError(f"twice: {twice}")
    return reasons


def judge(breaches: Collection[Breach], reasons: Mapping[str, str]) -> Judged:
    """Hold breaches against reasons, by their names. A reason without a word is none."""
    names = {breach.name for breach in breaches}
    excused = {name for name, reason in reasons.items() if reason.strip()}
    return Judged(
        with_reason=tuple(breach for breach in breaches if breach.name in excused),
        without_reason=tuple(breach for breach in breaches if breach.name not in excused),
        gone=tuple(name for name in reasons if name not in names),
    )


def written(breaches: Collection[Breach], reasons: Mapping[str, str]) -> str:
    """Return the file for these breaches: each under the reason it has, and those without under an empty one."""
    names_of: dict[str, list[str]] = {}
    for breach in breaches:
        names_of.setdefault(reasons.get(breach.name, "").strip(), []).append(breach.name)
    rows = [{"reason": reason, "breaches": sorted(names)} for reason, names in sorted(names_of.items())]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
