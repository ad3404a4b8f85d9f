"""Filebench logs: every text dialect from Sun's 1.2 to the git head of 1.5 and its forks.

Shape of one run (1.4.x puts the pid of the writing process before the time stamp):

    Filebench Version 1.5-alpha3
    0.386: File-server Version 3.0 personality successfully loaded
    2.214: Running...
    62.229: Run took 60 seconds...
    62.232: Per-Operation Breakdown
    readfile1            29697ops     7347ops/s 500.2mb/s    0.087ms/op [0.001ms - 225.499ms]
    62.232: IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s 0.532ms/op
    62.232: Shutting down processes

What the figures mean:

- "mb/s" is MiB/s: bytes are divided by 2**20. "rd/wr" are rates, not counts. "Run took" is cut to whole
  seconds, so a duration is ops / (ops/s).
- The summary's latency with one decimal (up to the 1.5 release) is all I/O time over reads and writes
  only; with more (git after May 2017) it is over all operations. parameters["latency_of"] says which.
  A printed 0.0 is below the resolution, or there was nothing to divide by: None.
- `psrun -N` starts its figures afresh after each summary, `psrun N` and repeated `stats snap` go on
  counting. Which it was shows only in ops / (ops/s) against the stamps.
- Filebench exits with 0 whatever happened, and complains on standard error, which a log may lack. So a
  run counts only where a summary ends it and nothing between its banner and the next voids it.

Source: stats.c, parser_gram.y, misc.c and ipc.c of the tags 1.4.9.1 and 1.5-alpha1 and of git 22620e6,
github.com/filebench/filebench.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..base import MAX_LINES, FileRefusedError, Refusal, Run, TooMuchError, text_of
from ..reader import Outcome, Reader, ToolVersion

MAX_LINE = 1_000  # characters of a line that are read; except for histograms Filebench's own are shorter
MAX_ROWS = 1_000  # of one breakdown
MAX_SUMMARIES = 100_000  # of one run: eleven days of ten-second intervals

# Before Filebench's own words there may be Markdown, a mail's quotation marks, or a terminal's ^C.
_BEFORE = r"[ \t>*`|]{0,40}(?:\^C)?"
_STAMP = r"(?:(\d{1,10}): {0,3})?(\d{1,9}\.\d{3}): ?"
_BANNER = re.compile(rf"{_BEFORE}(?:{_STAMP})?File[bB]ench Version (\S{{1,40}})[\s*`]*$", re.ASCII)
_STAMPED = re.compile(_BEFORE + _STAMP + r"(.*)", re.ASCII)
_SIGNS = (b"ench Version ", b"IO Summary:", b"Per-Operation Breakdown", b"Run took ", b"NO VALID RESULTS!")
_SIGN = re.compile(
    rf"^{_BEFORE}(?:{_STAMP})?(?:File[bB]ench Version \S|IO Summary: {{1,20}}\S{{1,20}} ops|Per-Operation Breakdown"
    r"|Run took \d{1,9} seconds|NO VALID RESULTS! File)",
    re.ASCII | re.MULTILINE,
)

_LOADED = " personality successfully loaded"
_RUN_COMMAND = re.compile(r"(?:filebench(?:>|&gt;)\s*)?run (\d{1,7})\s*$", re.ASCII)
_STARTING = re.compile(r"Starting (\d{1,9}) \S+ (instances|threads)", re.ASCII)
_FILESET = re.compile(r"(?:Fileset (\S+)|(\S+) populated): (\d{1,12}) files,.* (\d{1,12}\.\d{1,6})MB", re.ASCII)
_TOOK = re.compile(r"Run took (\d{1,9}) seconds\.\.\.", re.ASCII)

_OLD_SUMMARY = re.compile(  # Sun, 1.4.8.fsl, 1.4.9, 1.4.9.1
    r"IO Summary:\s*(\S+) ops,? +(\S+) ops/s, +\(([^\s/]+)/([^\s/]+) r/w\),? +([^\s/]+)mb/s,"
    r" +\S+us cpu/op, +(\S+)ms latency"
)
_NEW_SUMMARY = re.compile(  # 1.5; a fork puts blanks before the units
    r"IO Summary:\s*(\S+) ops +(\S+) ops/s +([^\s/]+)/([^\s/]+) rd/wr +([^\s/]+) ?mb/s +([^\s/]+) ?ms/op"
)
_ROW = re.compile(  # Sun printed no count and no bracket; a fork prints microseconds
    r"(\S+)\s+(?:(\d{1,15})ops\s+)?([^\s/]+)ops/s\s+([^\s/]+)mb/s\s+([^\s/]+)\s?([mu])s/op"
    r"(\s+\S+us/op-cpu)?(?:\s+\[.*)?",
    re.ASCII,
)
_CSV_HEADER = "op,ops,ops/s,mb/s,ms/op,"  # of the fork with the blanks
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_FINISHER = re.compile(r"fin|count|limit", re.IGNORECASE)  # how flowops that end a run early are named

# Messages that void a run, and the reason shown. The first are looked for in every line, the others only in lines of
# Filebench itself.
_VOID = {
    "NO VALID RESULTS!": "Filebench itself calls the run invalid",
    "Unexpected Process termination": "a worker process died",
    "WARNING! Run stopped early": "the run stopped early",
    "Out of shared memory": "Filebench ran out of shared memory",
    "Can't malloc filesetentry": "Filebench ran out of shared memory",
    "bytes of ISM shared memory": "the threads got no memory",
    "Fatal error 'mutex": "a worker process died",
    "no run command in the WML script": "nothing was run",
}
_VOID_STAMPED = {
    "syntax error": "the personality does not parse",
    "Aborting...": "the run was aborted",
    "Failed to create filesets": "the files were not created",
    "Failed to disable read ahead": "",  # harmless
    "Failed to ": "an operation failed",
    " failed": "an operation failed",
}
_NOTES = {
    "Could not open /proc/sys/kernel/shmmax": "Filebench did not run as root.",
    "address space randomization is enabled": "Address-space randomisation was on; Filebench advises against it.",
}
_PRINTS = ("Run took ", "Per-Operation", _CSV_HEADER, "IO Summary:")  # only the process that leads does
_BEGINNINGS = ("Creating/pre", "Populating", "Starting ", "Running...", *_PRINTS)


@dataclass(frozen=True)
class Dialect:
    """The way that figures were printed: by which family, and with how many decimals of a millisecond."""

    family: str  # "1.4" (and before) or "1.5"
    decimals: int
    blanks: bool = False  # "826.3 mb/s"

    def __str__(self) -> str:
        if self.family == "1.4":
            return "1.4.9.x or before"
        build = {1: "1.5 release", 3: "1.5 git"}.get(self.decimals, f"1.5 with {self.decimals} decimals")
        return f"{build}, patched" if self.blanks else build


@dataclass
class _Summary:
    line: int
    stamp: float
    operations: int
    ops_per_s: float
    moves_per_s: float  # reads and writes
    mib_s: float
    ms: float
    dialect: Dialect
    elapsed: float  # seconds its figures cover
    blur: float  # seconds elapsed may be wrong by, since ops/s is rounded


@dataclass
class _Log:
    """The lines of one run, as far as they have been read."""

    line: int
    reached: tuple[int, str]  # the last line that tells how far the run came
    version: str = ""
    workload: str = ""
    personality_version: str = ""
    asked_s: int | None = None
    stamp: float = 0.0
    pid: str | None = None  # of the process that prints results; None with 1.5
    started: float | None = None  # stamp of the first "Running..."
    took_s: int | None = None
    awaits_summary: bool = False
    shut_down: bool = False
    table_kind: str = ""  # "rows" or "csv" while inside a breakdown
    table: list[tuple[str, int | None, float]] = field(default_factory=list)  # name, count, rate
    row_dialects: dict[Dialect, int] = field(default_factory=dict)  # with the first line of each
    summaries: list[_Summary] = field(default_factory=list)
    added: dict[str, int] = field(default_factory=dict)  # operations of all tables together
    void: Refusal | None = None
    counts: dict[str, int] = field(default_factory=dict)
    filesets: dict[str, tuple[int, float]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, line: int, reason: str) -> None:
        """Refuse the run, for the first reason given, as later ones follow from it."""
        self.void = self.void or Refusal(line, reason)

    def warn(self, sentence: str) -> None:
        if sentence not in self.warnings:
            self.warnings.append(sentence)


class Filebench(Reader):
    name = "filebench"
    counted = "runs"
    nothing = "no Filebench run: only fragments of lines"

    def recognises(self, data: bytes) -> bool:
        """Tell a log by a banner or a result line; a WML personality has neither."""
        return _SIGN.search(_text(data)) is not None

    def parse(self, data: bytes) -> Iterator[Outcome]:
        """Yield a run for the summaries of each run; runs of another version than the first good one's are refused."""
        text = _text(data)
        if not _SIGN.search(text):
            raise FileRefusedError("no Filebench output: neither a banner nor a result line")
        if (count := text.count("\n")) > MAX_LINES:  # 64 MiB of breakdown rows come to 930,000
            raise TooMuchError(count, "lines", MAX_LINES)
        banner, first = "", None
        for log in _logs(text):
            banner = banner or log.version
            outcome = _judge(log)
            if isinstance(outcome, Run) and first:
                outcome = _version_mismatch(log, first) or outcome
            if isinstance(outcome, Run):
                first = first or log
                first.version = first.version or log.version
            yield outcome
        yield ToolVersion(first.version if first else banner)


def _text(data: bytes) -> str:
    """Return the text, or nothing where the bytes cannot be a log: garbage is not worth decoding."""
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return text_of(data) if utf16 or any(sign in data for sign in _SIGNS) else ""


# --- From lines to runs


def _logs(text: str) -> Iterator[_Log]:
    """Cut a file into runs: at a banner, after a shutdown, where the process changes or time falls back."""
    log: _Log | None = None
    command, asked_s = "", None  # said before the banner they belong to
    alone: tuple[str | None, float] | None = None  # a stamp and nothing else: Sun's results follow it
    for number, whole_line in enumerate(text.split("\n"), start=1):  # numbered as an editor numbers them
        if not (line := whole_line[:MAX_LINE].rstrip()):
            continue
        if match := _BANNER.match(line):
            if log:
                yield log
            log = _Log(number, (number, line.strip()), version=match[3], workload=command, asked_s=asked_s)
            command, asked_s, alone = "", None, None
            continue
        if match := _STAMPED.match(line):
            pid, stamp, message = match[1], float(match[2]), match[3].strip(" \t*`")
            alone = None if message else (pid, stamp)
        elif alone and line.lstrip().startswith(("IO Summary:", "Per-Operation")):
            (pid, stamp), message, alone = alone, line.strip(), None
        else:
            command = _personality_file(line) or command
            if match := _RUN_COMMAND.match(line):
                if log and not log.summaries:
                    log.asked_s = int(match[1])
                else:
                    asked_s = int(match[1])
            if log:
                _read_unstamped(log, number, line)
            continue
        if log is None or _begins_next_run(log, pid, stamp, message):
            if not _shows_run(message):
                continue
            if log:
                yield log
            log = _next_run_without_banner(log, number, stamp, message)
        log.stamp = stamp
        _read_stamped(log, number, pid, stamp, message)
    if log:
        yield log


def _personality_file(line: str) -> str:
    """Return "varmail" of a shell's "filebench -f workloads/varmail.f"."""
    words = line.split() if "filebench" in line and " -f " in line else []
    if "-f" not in words[:-1]:
        return ""
    return words[words.index("-f") + 1].rpartition("/")[2].removesuffix(".f").removesuffix(".wml")[:200]


def _shows_run(message: str) -> bool:
    """Tell whether a line without a banner before it shows that there was a run."""
    return (
        message.startswith(("Allocated ", *_BEGINNINGS))
        or message.endswith(_LOADED)
        or any(sign in message for sign in (*_VOID, *_VOID_STAMPED))
    )


def _begins_next_run(log: _Log, pid: str | None, stamp: float, message: str) -> bool:
    if log.shut_down:
        return message.startswith(_BEGINNINGS) or message.endswith(_LOADED)
    if stamp < log.stamp - 1:
        return True
    if message.startswith("Allocated "):
        return log.stamp > 0
    if not log.summaries or not message.startswith(_PRINTS):
        return False
    excerpts = message.startswith("Run took") and log.took_s is not None and log.started is None
    return excerpts or log.pid != pid


def _next_run_without_banner(log: _Log | None, number: int, stamp: float, message: str) -> _Log:
    """Return the next run of the same Filebench, if the last one was shut down; else an excerpt."""
    following = _Log(number, (number, message[:200]))
    if log and log.shut_down and stamp >= log.stamp - 1:
        following.version, following.workload = log.version, log.workload
        following.personality_version = log.personality_version
    return following


def _read_unstamped(log: _Log, number: int, line: str) -> None:
    if log.table_kind == "rows" and "ops/s" in line:
        if match := _ROW.fullmatch(line.strip()):
            _add_row(log, number, *match.groups())
    elif log.table_kind == "csv":
        cells = line.strip().split(",")
        if len(cells) == 8 and re.fullmatch(r"\d{1,15}", cells[1], re.ASCII):
            _add_row(log, number, *cells[:5], "m", None)
    _complain(log, number, line, _VOID)
    if line.startswith("^C") and not log.shut_down:
        log.refuse(number, "the run was aborted: '^C'")
    for sign, sentence in _NOTES.items():
        if sign in line:
            log.warn(sentence)


def _complain(log: _Log, number: int, message: str, void: Mapping[str, str]) -> None:
    sign = next((sign for sign in void if sign in message), "")
    if void.get(sign):
        log.refuse(number, f"{void[sign]}: {message.strip()[:200]!r}")


def _read_stamped(log: _Log, number: int, pid: str | None, stamp: float, message: str) -> None:
    """Take in one of Filebench's own lines."""
    if message.startswith("IO Summary:"):
        _add_summary(log, number, stamp, message)
        log.pid, log.awaits_summary, log.table_kind = pid, False, ""
    elif message.startswith(("Per-Operation Breakdown", _CSV_HEADER)):
        log.table_kind = "csv" if message.startswith(_CSV_HEADER) else "rows"
        log.table, log.awaits_summary = [], True
    elif message.startswith("Running..."):
        log.started = stamp if log.started is None else log.started
        log.awaits_summary, log.table_kind, log.table = True, "", []
    elif match := _TOOK.match(message):
        log.took_s = int(match[1])
        log.awaits_summary, log.table_kind, log.table = True, "", []
    elif message.startswith("Shutting down processes"):
        log.shut_down = True
    elif message.endswith(_LOADED):
        name, _, version = message.removesuffix(_LOADED).strip().partition(" Version ")
        log.workload, log.personality_version = name[:200], version[:40]
    elif match := _STARTING.match(message):
        log.counts[match[2]] = log.counts.get(match[2], 0) + int(match[1])
    elif match := _FILESET.match(message):
        log.filesets[match[1] or match[2]] = int(match[3]), float(match[4])
    else:
        _complain(log, number, message, _VOID)
        _complain(log, number, message, _VOID_STAMPED)
    if message and not message.startswith("Waiting for pid "):
        log.reached = number, message[:200]


# --- Figures


def _numbers(texts: Sequence[str | None]) -> list[float] | None:
    """Return the numbers; None where one is nan, inf or whatever else is no plain number."""
    plain = [text for text in texts if text is not None and _NUMBER.fullmatch(text)]
    return [float(text) for text in plain] if len(plain) == len(texts) else None


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _add_row(log: _Log, number: int, name: str, operations: str | None, *cells: str | None) -> None:
    *printed, unit, cpu = cells
    figures = _numbers(printed)
    if figures is None or min(figures) < 0:
        log.refuse(number, f"a figure of the row {name[:80]!r} is no number, or negative")
    elif len(log.table) == MAX_ROWS:
        log.refuse(number, f"more than {MAX_ROWS:,} rows in one breakdown")
    else:
        if unit != "u":
            log.row_dialects.setdefault(Dialect("1.4" if cpu else "1.5", _decimals(printed[2] or "")), number)
        log.table.append((name[:200], None if operations is None else int(operations), figures[0]))


def _add_summary(log: _Log, number: int, stamp: float, message: str) -> None:
    match = _OLD_SUMMARY.fullmatch(message) or _NEW_SUMMARY.fullmatch(message)
    if not match:
        log.refuse(number, f"an IO Summary in no form of Filebench's, or cut short: {message[:200]!r}")
        return
    figures = _numbers(match.groups())
    if figures is None:
        log.refuse(number, f"a figure of the IO Summary is no number: {message[:200]!r}")
        return
    if min(figures) < 0:
        log.refuse(number, f"a figure of the IO Summary is negative: {message[:200]!r}")
        return
    operations, ops_per_s, reads, writes, mib_s, ms = figures
    last = log.summaries[-1] if log.summaries else None
    if last and (last.stamp, last.operations) == (stamp, operations):
        log.warn("The last summary was printed twice, as after an abort.")
        return
    if len(log.summaries) == MAX_SUMMARIES:
        log.refuse(number, f"more than {MAX_SUMMARIES:,} summaries of one run")
        return
    since = last.stamp if last else log.started
    elapsed = operations / ops_per_s if ops_per_s else max(0.0, stamp - (stamp if since is None else since))
    blur = elapsed * 0.5 * 10 ** -_decimals(match[2]) / ops_per_s if ops_per_s else 1.0
    dialect = Dialect("1.4" if "r/w)" in message else "1.5", _decimals(match[6]), " mb/s" in message)
    log.summaries.append(
        _Summary(number, stamp, int(operations), ops_per_s, reads + writes, mib_s, ms, dialect, elapsed, blur)
    )
    for name, count, rate in log.table:
        log.added[name] = log.added.get(name, 0) + (round(rate * elapsed) if count is None else count)
    if len(log.added) > MAX_ROWS:
        log.refuse(number, f"more than {MAX_ROWS:,} operations in one run")


# --- Verdicts


def _judge(log: _Log) -> Run | Refusal:
    """Return a Run where the log shows one that finished, else why not."""
    if log.void:
        return log.void
    if log.awaits_summary or not log.summaries:
        line, reached = log.reached
        where = "inside the per-operation breakdown" if log.table_kind else f"after {reached!r}"
        return Refusal(line, f"no IO Summary: the run did not finish, or the log was cut {where}")
    last = log.summaries[-1]
    whole = log.took_s is not None or (log.started is not None and log.shut_down)
    if not whole or (len(log.summaries) > 1 and not log.shut_down):
        return Refusal(last.line, "the log was cut: there may be more summaries of this run")
    kind = _kind(log.summaries)
    if not kind or (kind == "intervals" and log.started is None):
        return Refusal(last.line, f"{len(log.summaries)} summaries that do not make up one whole run")
    result = _result(log, kind)
    return _mixed_dialects(log) or _implausible(log, result) or _run(log, result)


def _kind(summaries: list[_Summary]) -> str:
    """Return "single", "intervals" or "snapshots"; empty where the times covered fit neither."""
    if len(summaries) == 1:
        return "single"
    steps = [(last, this, this.stamp - last.stamp) for last, this in pairwise(summaries)]
    if all(_covers(this.elapsed, gap, this.blur) for _, this, gap in steps):
        return "intervals"
    if all(
        _covers(this.elapsed - last.elapsed, gap, this.blur + last.blur) and this.operations >= last.operations
        for last, this, gap in steps
    ):
        return "snapshots"
    return ""


def _covers(elapsed: float, passed: float, blur: float) -> bool:
    """Tell whether figures cover the time between two stamps; printing them may take a moment."""
    return abs(elapsed - passed) <= 1 + 0.05 * passed + blur


def _family(version: str) -> str:
    """Return the family of a banner's version; empty for versions to come."""
    if re.match(r"1\.[0-4](?:\D|$)", version, re.ASCII):
        return "1.4"
    return "1.5" if version.startswith("1.5") else ""


def _mixed_dialects(log: _Log) -> Refusal | None:
    """Return why the lines of this run cannot all be of one Filebench; None where they can."""
    first = log.summaries[0].dialect
    for summary in log.summaries:
        if summary.dialect != first:
            return Refusal(summary.line, f"two versions mixed: this summary is of {summary.dialect}, others of {first}")
    last = log.summaries[-1]
    for rows, line in log.row_dialects.items():
        if (rows.family, rows.decimals) != (first.family, first.decimals):
            return Refusal(line, f"two versions mixed: this row is of {rows}, the summary of {first}")
    if log.version and _family(log.version) not in ("", first.family):
        return Refusal(last.line, f"two versions mixed: the banner says {log.version}, the summary is of {first}")
    return None


def _version_mismatch(log: _Log, first: _Log) -> Refusal | None:
    """Return why a run cannot be in one file with the first good one; None where it can."""

    def describe(run: _Log) -> str:
        return f"{run.version} ({run.summaries[0].dialect})" if run.version else str(run.summaries[0].dialect)

    versions = {run.version for run in (log, first) if run.version}
    if len(versions) < 2 and log.summaries[0].dialect == first.summaries[0].dialect:
        return None
    return Refusal(
        log.line,
        f"two versions in one file: this run is of {describe(log)}, that of line {first.line} of {describe(first)};"
        " import it from a file of its own",
    )


@dataclass
class _Result:
    """The result of a whole run: of the summaries of intervals together, else of the last one."""

    kind: str
    summaries: list[_Summary]  # that count
    covered: float  # seconds
    mib_s: float
    ops_per_s: float
    ms: float
    counts: list[int | None]  # operations of each row of the breakdown, where they are printed


def _result(log: _Log, kind: str) -> _Result:
    if kind != "intervals":
        last = log.summaries[-1]
        return _Result(
            kind, [last], last.elapsed, last.mib_s, last.ops_per_s, last.ms, [count for _, count, _ in log.table]
        )
    covered = sum(summary.elapsed for summary in log.summaries)
    seconds = covered or 1.0
    return _Result(
        kind,
        log.summaries,
        covered,
        round(sum(summary.mib_s * summary.elapsed for summary in log.summaries) / seconds, 3),
        round(sum(summary.operations for summary in log.summaries) / seconds, 3),
        _mean_latency(log.summaries),
        [*log.added.values()],
    )


def _mean_latency(summaries: list[_Summary]) -> float:
    """Return the mean, ms; each interval weighs what its own figure was divided by. 0 where one is unknown."""
    by_move = summaries[0].dialect.decimals == 1
    weights = [summary.moves_per_s * summary.elapsed if by_move else summary.operations for summary in summaries]
    weighted = [(weight, summary.ms) for weight, summary in zip(weights, summaries, strict=True) if weight]
    if not all(ms for _, ms in weighted):
        return 0.0
    return round(sum(weight * ms for weight, ms in weighted) / (sum(weights) or 1), 3)


def _implausible(log: _Log, result: _Result) -> Refusal | None:
    """Return why figures that are well-formed are still not those of a run; None where they may be."""
    last = log.summaries[-1]
    if not any(summary.operations and summary.ops_per_s for summary in result.summaries):
        return Refusal(last.line, "no operations: the IO Summary prints zero")
    if not any(summary.mib_s for summary in result.summaries) and any(s.moves_per_s for s in result.summaries):
        return Refusal(last.line, "zero throughput, although files were read or written")
    covered, blur = result.covered, sum(summary.blur for summary in result.summaries)
    passed = last.stamp - log.started if log.started is not None else covered
    took = log.took_s or 0
    if covered < took - 1 - blur or not _covers(covered, passed, blur):
        return Refusal(last.line, f"the figures cover {covered:.1f} s of a run that took {max(passed, took):.1f} s")
    if covered < (log.asked_s or 0) / 2 and not any(_FINISHER.search(name) for name in log.added):
        return Refusal(last.line, f"the run ended after {covered:.1f} of {log.asked_s} s")
    return None


def _run(log: _Log, result: _Result) -> Run:
    last, files = log.summaries[-1], list(log.filesets.values())
    parameters = {
        "personality_version": log.personality_version,
        "dialect": str(last.dialect),
        "latency_of": "reads and writes" if last.dialect.decimals == 1 else "all operations",
        "processes": log.counts.get("instances", 0),
        "threads": log.counts.get("threads", 0),
        "files": sum(count for count, _ in files),
    }
    return Run(
        log.workload,
        last.line,
        throughput_mib_s=result.mib_s or None,
        ops_per_s=result.ops_per_s,
        latency_ms=result.ms or None,
        duration_s=round(result.covered, 3),
        working_set_bytes=round(sum(mib for _, mib in files) * 2**20) or None,
        parameters={name: value for name, value in parameters.items() if value},
        warnings=tuple(dict.fromkeys([*log.warnings, *_warnings(log, result)])),
    )


def _warnings(log: _Log, result: _Result) -> Iterator[str]:
    """Yield what a reader of the figures has to know."""
    count = len(log.summaries)
    if not log.workload:
        yield "The log does not name the workload."
    if not log.shut_down:
        yield "The log ends without 'Shutting down processes'."
    if result.kind == "intervals":
        idle = sum(not summary.operations for summary in log.summaries)
        yield f"The figures are those of {count} intervals together" + (f", {idle} of them idle." if idle else ".")
    if result.kind == "snapshots":
        yield f"The figures are those of the last of {count} snapshots, each of the whole run so far."
        if log.summaries[-2].operations == log.summaries[-1].operations:
            yield "No operation was finished between the last two snapshots: the run may have hung."
    if not result.mib_s:
        yield "Nothing was read or written: there is no throughput."
    if not result.ms:
        yield "The latency is printed as zero: it is unknown."
    operations = sum(summary.operations for summary in result.summaries)
    counts = [count for count in result.counts if count is not None]
    if not log.added:
        yield "The log has no breakdown by operation."
    elif len(counts) == len(result.counts) and sum(counts) < operations * 0.99 - 5 * len(log.added) * count:
        # More is no fault: the summary does not count every kind.
        yield f"The breakdown has {sum(counts)} of {operations} operations: lines of it are missing."
