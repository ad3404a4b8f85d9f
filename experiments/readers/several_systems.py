"""Tell the runs of several systems in one file apart: they are no repetitions of one another.

    ### Ext4                                    or, after each run:
    62.232: IO Summary: ...                     ===== btrfs, iteration 0 done =====
    ### XFS
    62.232: IO Summary: ...

First by the file systems that lines between the runs name (headings, mkfs, mount, paths). Where one stands above the
first run and none below the last, they are headings: each run belongs to the nearest above. In the opposite case
they stand below their runs. Otherwise nothing tells which run is of which, and the file is refused.

    $ fio --rw=randrw --rwmixread=70 --direct=1 ...   what it says of the load and the output does not
    Now with the virtio drivers:

Then by headings, sentences and commands: a run that appears again below new words may be of another system, so the user
is asked before it counts as a repetition.
"""

import re
import shlex
from dataclasses import replace

from .base import LineNumbers, Reading, Run, lines_of, text_of
from .formats.fio.json import OPTIONS, operation_of
from .parts import divide, part_of, refuse_several

MAX_LINE = 1_000
_FILE_SYSTEM = re.compile(
    r"(?<![A-Za-z0-9])(?:ext[234]|xfs|btrfs|zfs|jfs|reiserfs|reiser4|f2fs|nilfs2?|bcachefs|ntfs|exfat|vfat|fat32|ufs"
    r"|vmfs|nfs)(?![A-Za-z0-9])",
    re.ASCII | re.IGNORECASE,
)
_VERSION = re.compile(r"fio-\d\S{0,20}$")
_FIO = re.compile(r"(?:.{0,200}[\s$#>;&|/])?fio((?: .{1,900})? --?\w.{0,900})$")
_TOOLS = r"fio|elbencho|diskspd(?:\.exe)?|bonnie\+\+|sysbench|dd|iozone|ioping|hdparm|(?:pg|d|file)bench|rados|ceph"
_COMMAND = re.compile(rf"(?:.{{0,200}}[$#>%]|sudo|time)? ?(?:\S{{0,100}}[/\\])?(?:{_TOOLS}) .{{0,200}}", re.IGNORECASE)
_HEADING = re.compile(r"#{1,6} \S.{0,200}|(={2,}|-{2,}|\*{2,}) ?\S.{0,200} ?\1|\*\*\S.{0,200}\*\*:?")
_WORD = re.compile(r"[\"'(]?[A-Za-zÀ-ÿ/][\w'’+./,;:!?)\"-]{0,40}")
# These tell repetitions apart, not systems: numbers, ordinals, days and months.
_COUNTING_WORDS = re.compile(
    r"\d{1,20}|\b(?:one|two|three|four|five|first|second|third|fourth|fifth|last|next|again|once|more|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may"
    r"|jun|jul|aug|sep|oct|nov|dec)\w{0,6}\b"
)


def divide_by_system(data: bytes, reading: Reading) -> Reading:
    """Return the reading, in parts or refused where its runs are, or may be, of several systems."""
    lines = {run.line for run in reading.runs if run.line is not None}
    if reading.parts or not lines or reading.format == "phoronix":  # which names its system at each result
        return reading
    text = text_of(data)
    by_file_system = _divide_by_file_system(text, reading, sorted(lines))
    return by_file_system if by_file_system is not reading else _divide_by_words(text, reading, lines)


def _divide_by_file_system(text: str, reading: Reading, ends: list[int]) -> Reading:
    """Return the reading, divided by the file systems named between its runs; ends : the runs' lines, in order."""
    text = "\n".join(text.splitlines())  # as the readers number them
    numbers = LineNumbers(text)
    between: list[dict[str, int]] = [{} for _ in range(len(ends) + 1)]  # names with their first lines
    gap = 0
    for match in _FILE_SYSTEM.finditer(text):
        line = numbers.at(match.start())
        while gap < len(ends) and line > ends[gap]:
            gap += 1
        between[gap].setdefault(match[0].lower(), line)
    named = [", ".join(names) for names in between]
    first_lines: dict[str, int] = {}
    for name, names in zip(named, between, strict=True):
        if name:
            first_lines.setdefault(name, next(iter(names.values())))
    if len(ends) < 2 or len(first_lines) < 2:
        return reading
    if bool(named[0]) == bool(named[-1]):
        refused = (refuse_several("file systems", first_lines), *reading.refused)
        return replace(reading, runs=(), refused=refused)
    is_above = bool(named[0])
    sides = named[:-1] if is_above else named[:0:-1]  # from the end of the file at which a name stands
    name_of: dict[int | None, str] = {}
    nearest = ""
    for end, name in zip(ends if is_above else reversed(ends), sides, strict=True):
        nearest = name_of[end] = name or nearest
    name_of[None] = name_of[ends[0]]
    runs: dict[str, list[Run]] = {name: [] for name in first_lines}
    for run in reading.runs:
        runs[name_of[run.line]].append(run)
    parts = [part_of(reading, name, first_lines[name], of_system) for name, of_system in runs.items()]
    return divide("file systems", reading, parts)


def _divide_by_words(text: str, reading: Reading, ends: set[int]) -> Reading:
    """Add the options of commands to the runs, and divide the reading where new words stand between equal runs."""
    of_line: dict[int, dict[str, str | int]] = {}
    words: dict[int, dict[str, tuple[int, str]]] = {}  # line of a run to new words since the run before it
    seen: set[str] = set()
    command: dict[str, str | int] = {}
    new: dict[str, tuple[int, str]] = {}
    began = 0
    for number, raw in lines_of(text):
        line = raw[:MAX_LINE].strip()
        if reading.format == "fio-text" and (match := _FIO.match(line)):
            command, began = _options(match[1]), 0
        elif _VERSION.match(line):
            began += 1
            command = command if began < 2 else {}
        if number in ends:
            of_line[number] = command
            words[number] = {folded: place for folded, place in new.items() if folded not in seen}
            seen.update(new)
            new = {}
        elif folded := _label_of_line(line):
            new.setdefault(folded, (number, line))
    runs = [_with_command(run, of_line.get(run.line or 0, {})) for run in reading.runs]
    # Words that also follow the last run, like "run 1 done", follow each run and name no system.
    kept = {line: [at for folded, at in of_run.items() if folded not in new] for line, of_run in words.items()}
    new_words = {line: places[0] for line, places in kept.items() if places}
    return _divide_where_runs_repeat(replace(reading, runs=tuple(runs)), new_words)


def _label_of_line(line: str) -> str:
    """Return a heading, command, sentence or "with cache=none:" in lower case, without counting words; else ""."""
    parts = (line.replace("=", "-") if line.count("=") == 1 else line).split()  # of figures there are several
    is_sentence = (len(parts) > 3 or line.endswith(":")) and all(map(_WORD.fullmatch, parts))
    if not (is_sentence or _HEADING.fullmatch(line) or _COMMAND.fullmatch(line)):
        return ""
    return " ".join(_COUNTING_WORDS.sub("", line.casefold()).split())


def _divide_where_runs_repeat(reading: Reading, words: dict[int, tuple[int, str]]) -> Reading:
    """Return the reading, divided into parts where a run is repeated below new words."""
    parts: list[tuple[tuple[int, str], list[Run]]] = []
    known: set[tuple[object, ...]] = set()
    last_words: tuple[int, str] | None = None  # line and text of the last new words
    last: int | None = None
    for run in sorted(reading.runs, key=lambda run: run.line or 0):
        if run.line != last:
            last_words = words.get(run.line or 0) or last_words
        key = (run.workload, run.operation, run.block_size_bytes, *sorted(run.parameters.items()))
        if not parts or (last_words and key in known and last_words[0] > max(r.line or 0 for r in parts[-1][1])):
            parts.append((last_words or (run.line or 1, "the first runs"), []))
            known = set()
        parts[-1][1].append(run)
        known.add(key)
        last = run.line
    if len(parts) < 2:
        return reading
    named = [part_of(reading, f"line {at}: {text}"[:80], at, runs_below) for (at, text), runs_below in parts]
    return divide("runs that may be of different systems", reading, named)


# Commands


def _options(text: str) -> dict[str, str | int]:
    """Return the options of a fio command; none where it has several jobs, as they may hold for one only."""
    try:
        words = iter(shlex.split(text))
    except ValueError:
        return {}
    options: dict[str, str | int] = {}
    jobs = 0
    for word in words:
        name, has_value, value = word.lstrip("-").partition("=")
        if word.startswith("--") and not has_value and name not in ("direct", "time_based", "thread"):
            value = next(words, "")
        jobs += name == "name"
        if jobs > 1:
            return {}
        if name in OPTIONS and word.startswith("--"):
            options[name] = int(value or 1) if (value or "1").isdecimal() else value
    return options


def _with_command(run: Run, options: dict[str, str | int]) -> Run:
    """Return the run with the options of its command that the output lacks; unchanged where the two disagree."""
    if not options or any(str(run.parameters.get(name, value)) != str(value) for name, value in options.items()):
        return run
    run = replace(run, parameters={**options, **run.parameters})
    if run.could_be and (rw := options.get("rw") or options.get("readwrite")):
        direction = run.could_be[0]
        operation, could_be = operation_of(str(rw), [direction])
        run = replace(run, operation=operation, could_be=could_be)
    return run
