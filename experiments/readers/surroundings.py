"""What stands around outputs that people copied: quotes, HTML, commands, and words between runs that are alike.

> CrystalDiskMark 8.0.4 ...                 quoted: read without the marks
<p>CPU BOGOMIPS: 6451.20<br>                a web page: read as a browser shows it, and its lines are counted so
$ fio --rw=randrw --rwmixread=70 --direct=1 ...   what it says of the load and the output does not
Now with the virtio drivers:                a heading, a sentence or another command: the next run may be of another
                                            system, and is no repetition before somebody says so
"""

import html
import re
import shlex
from dataclasses import replace

from .base import Part, Reading, Run, in_parts, lines_of, text_of
from .fio.json import OPTIONS, operation_of

_LOOKED_AT = 2**16  # bytes
MAX_LINE = 1_000
_QUOTED = re.compile(r"(?m)^[ \t]{0,8}>[> \t]{0,8}?(?: |$)")
_HTML = re.compile(r"(?i)<(?:!doctype html|html|body|p|br|pre|div|blockquote|h[1-6]|td|li)(?:\s[^<>]{0,500})?/?>")
_UNSHOWN = re.compile(r"(?is)<(script|style|head)\b[^<>]{0,500}>.{0,20000}?</\1\s{0,9}>|<!--.{0,20000}?-->")
_LINE_ENDS = re.compile(r"(?i)<(?:br|/p|/h[1-6]|/div|/li|/tr|/pre|/blockquote)(?:\s[^<>]{0,500})?/?>")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,500}>")

_VERSION = re.compile(r"fio-\d\S{0,20}$")
_FIO = re.compile(r"(?:.{0,200}[\s$#>;&|/])?fio((?: .{1,900})? --?\w.{0,900})$")
_TOOLS = r"fio|diskspd(?:\.exe)?|bonnie\+\+|sysbench|dd|iozone|ioping|hdparm|pgbench|dbench|filebench|rados|ceph"
_COMMAND = re.compile(rf"(?:.{{0,200}}[$#>%]|sudo|time)? ?(?:\S{{0,100}}[/\\])?(?:{_TOOLS}) .{{0,200}}", re.IGNORECASE)
_HEADING = re.compile(r"#{1,6} \S.{0,200}|(={2,}|-{2,}|\*{2,}) ?\S.{0,200} ?\1|\*\*\S.{0,200}\*\*:?")
_WORD = re.compile(r"[\"'(]?[A-Za-zÀ-ÿ/][\w'’+./,;:!?)\"-]{0,40}")
# What tells repetitions apart and no systems: numbers, ordinals, days and months.
_COUNTED = re.compile(
    r"\d{1,20}|\b(?:one|two|three|four|five|first|second|third|fourth|fifth|last|next|again|once|more|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may"
    r"|jun|jul|aug|sep|oct|nov|dec)\w{0,6}\b"
)


def shown(data: bytes) -> bytes:
    """Return a text without marks of quotes and tags of HTML; anything else as it is."""
    start = text_of(data[:_LOOKED_AT])
    if start.lstrip("\ufeff \t\r\n")[:1] in "{[" or start.startswith("<?xml"):
        return data
    if _HTML.search(start):
        text = _LINE_ENDS.sub("\n", _UNSHOWN.sub("", text_of(data)))
        return html.unescape(_TAG.sub("", text)).encode(errors="replace")
    lines = [line for line in start.splitlines() if line.strip()]
    if 2 * sum(bool(_QUOTED.match(line)) for line in lines) > len(lines):
        return _QUOTED.sub("", text_of(data)).encode(errors="replace")
    return data


def by_words_between(data: bytes, reading: Reading) -> Reading:
    """Return the reading with what commands say of its runs, in parts where words stand between runs that are alike."""
    ends = {run.line for run in reading.runs if run.line is not None}
    if not ends or reading.format == "phoronix":
        return reading
    of_line: dict[int, dict[str, str | int]] = {}
    words: dict[int, dict[str, tuple[int, str]]] = {}  # line of a run to new words since the run before it
    seen: set[str] = set()
    command: dict[str, str | int] = {}
    new: dict[str, tuple[int, str]] = {}
    began = 0
    for number, raw in lines_of(text_of(data)):
        line = raw[:MAX_LINE].strip()
        if reading.format == "fio-text" and (match := _FIO.match(line)):
            command, began = _options(match[1]), 0
        elif _VERSION.match(line):
            began += 1
            command = command if began < 2 else {}
        if number in ends:
            of_line[number] = command
            words[number] = {folded: told for folded, told in new.items() if folded not in seen}
            seen.update(new)
            new = {}
        elif folded := _words(line):
            new.setdefault(folded, (number, line))
    runs = [_with_command(run, of_line.get(run.line or 0, {})) for run in reading.runs]
    # What comes once more below the last run stands below each of them: "run 1 done".
    above = {line: [told for folded, told in of_run.items() if folded not in new] for line, of_run in words.items()}
    return _apart(replace(reading, runs=tuple(runs)), {line: told[0] for line, told in above.items() if told})


def _words(line: str) -> str:
    """Return a heading, a command or a sentence, without what tells repetitions apart; "" for another line."""
    parts = line.split()
    is_sentence = len(parts) > 3 and all(map(_WORD.fullmatch, parts))
    if not (is_sentence or _HEADING.fullmatch(line) or _COMMAND.fullmatch(line)):
        return ""
    return " ".join(_COUNTED.sub("", line.casefold()).split())


def _apart(reading: Reading, words: dict[int, tuple[int, str]]) -> Reading:
    """Return the reading, in parts where a run comes once more below new words."""
    parts: list[tuple[tuple[int, str], list[Run]]] = []
    known: set[tuple[object, ...]] = set()
    since: tuple[int, str] | None = None  # the last new words
    last: int | None = None
    for run in sorted(reading.runs, key=lambda run: run.line or 0):
        if run.line != last:
            since = words.get(run.line or 0) or since
        key = (run.workload, run.operation, run.block_size_bytes, *sorted(run.parameters.items()))
        if not parts or (since and key in known and since[0] > max(r.line or 0 for r in parts[-1][1])):
            parts.append((since or (run.line or 1, "the first runs"), []))
            known = set()
        parts[-1][1].append(run)
        known.add(key)
        last = run.line
    if len(parts) < 2:
        return reading
    alone = replace(reading, refused=())
    named = [Part(f"line {at}: {text}"[:80], at, replace(alone, runs=tuple(mine))) for (at, text), mine in parts]
    return in_parts("runs that may be of different systems", reading, named)


# Commands


def _options(text: str) -> dict[str, str | int]:
    """Return what a command of fio says of every job: its options before a second job begins."""
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
    """Return the run with what its command says and it does not; as it is where the two disagree."""
    if not options or any(str(run.parameters.get(name, value)) != str(value) for name, value in options.items()):
        return run
    run = replace(run, parameters={**options, **run.parameters})
    if run.could_be and (rw := options.get("rw") or options.get("readwrite")):
        direction = run.could_be[0]
        operation, could_be = operation_of(str(rw), [direction])
        run = replace(run, operation=operation, could_be=could_be)
    return run
