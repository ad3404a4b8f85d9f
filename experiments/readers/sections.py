"""Texts whose sections are of several file systems: a benchmark's output cannot say which run is of which.

    ### Ext4                                    or, after each run:
    62.232: IO Summary: ...                     ===== btrfs, iteration 0 done =====
    ### XFS
    62.232: IO Summary: ...

What names them are the lines between the runs: headings, mkfs and mount, a path. Where these differ, the runs are
no repetitions of one another. Where the first run has such lines above it and the last has none below, they are
headings, and each run belongs to the nearest above; the other way round they stand below their runs. Else nothing
tells which run is of which.
"""

import re
from dataclasses import replace

from .base import LineNumbers, Part, Reading, Run, in_parts, several, text_of

_FILE_SYSTEM = re.compile(
    r"(?<![A-Za-z0-9])(?:ext[234]|xfs|btrfs|zfs|jfs|reiserfs|reiser4|f2fs|nilfs2?|bcachefs|ntfs|exfat|vfat|fat32|ufs"
    r"|vmfs|nfs)(?![A-Za-z0-9])",
    re.ASCII | re.IGNORECASE,
)


def by_file_system(data: bytes, reading: Reading) -> Reading:
    """Return the reading, in parts or refused where its runs are not of one file system."""
    ends = sorted({run.line for run in reading.runs if run.line is not None})
    if len(ends) < 2 or reading.format == "phoronix":  # which names its system at each result
        return reading
    text = "\n".join(text_of(data).splitlines())  # as the readers number them
    numbers = LineNumbers(text)
    between: list[dict[str, int]] = [{} for _ in range(len(ends) + 1)]  # names with their first lines
    part = 0
    for match in _FILE_SYSTEM.finditer(text):
        line = numbers.at(match.start())
        while part < len(ends) and line > ends[part]:
            part += 1
        between[part].setdefault(match[0].lower(), line)
    parts: dict[str, int] = {}
    for names in filter(None, between):
        parts.setdefault(", ".join(names), next(iter(names.values())))
    if len(parts) < 2:
        return reading
    if bool(between[0]) == bool(between[-1]):
        return replace(reading, runs=(), refused=(several("file systems", parts), *reading.refused))
    named = [", ".join(names) for names in between]
    above = bool(named[0])
    beside = named[:-1] if above else named[:0:-1]  # each run, from the side where the first name is
    part_of: dict[int, str] = {}
    nearest = ""
    for end, here in zip(ends if above else reversed(ends), beside, strict=True):
        nearest = part_of[end] = here or nearest
    runs: dict[str, list[Run]] = {name: [] for name in parts}
    for run in reading.runs:
        runs[part_of[run.line if run.line is not None else ends[0]]].append(run)
    alone = replace(reading, refused=())
    return in_parts(
        "file systems",
        reading,
        [Part(name, parts[name], replace(alone, runs=tuple(mine))) for name, mine in runs.items()],
    )
