"""Texts whose sections are of several file systems: a benchmark's output cannot say which run is of which.

    ### Ext4                                    or, after each run:
    62.232: IO Summary: ...                     ===== btrfs, iteration 0 done =====
    ### XFS
    62.232: IO Summary: ...

What names them are the lines between the runs: headings, mkfs and mount, a path. Where these differ, the runs are
no repetitions of one another.
"""

import re

from .base import LineNumbers, Reading, Refusal, several, text_of

_FILE_SYSTEM = re.compile(
    r"(?<![A-Za-z0-9])(?:ext[234]|xfs|btrfs|zfs|jfs|reiserfs|reiser4|f2fs|nilfs2?|bcachefs|ntfs|exfat|vfat|fat32|ufs"
    r"|vmfs|nfs)(?![A-Za-z0-9])",
    re.ASCII | re.IGNORECASE,
)


def several_file_systems(data: bytes, reading: Reading) -> Refusal | None:
    """Why the runs of a file are not of one file system; None where nothing says so."""
    ends = sorted({run.line for run in reading.runs if run.line is not None})
    if len(ends) < 2 or reading.format == "phoronix":  # which names its system at each result
        return None
    text = "\n".join(text_of(data).splitlines())  # as the readers number them
    numbers = LineNumbers(text)
    between: list[dict[str, int]] = [{} for _ in range(len(ends) + 1)]  # names with their first lines
    part = 0
    for found in _FILE_SYSTEM.finditer(text):
        line = numbers.at(found.start())
        while part < len(ends) and line > ends[part]:
            part += 1
        between[part].setdefault(found[0].lower(), line)
    parts: dict[str, int] = {}
    for names in filter(None, between):
        parts.setdefault(", ".join(names), next(iter(names.values())))
    return several("file systems", parts) if len(parts) > 1 else None
