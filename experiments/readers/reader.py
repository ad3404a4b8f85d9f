"""Base classes of readers. A format states how it is recognised, and yields runs, refusals and facts.

Reader parses bytes, LineReader lines, ReportReader reports of labelled lines. None raises or hangs on any input: time
and memory are linear in its size, and a file that holds too much is refused as a whole.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .base import Fact, FileRefusedError, Reading, Refusal, Run, TooMuchError, lines_of, text_of
from .parts import split_by_name


class ToolVersion(str):
    """The version of the program that wrote the file; without one, that of the first run counts."""


class System(NamedTuple):
    """The device, disk or machine that the runs yielded after it are of, and the line that names it."""

    name: str
    line: int


Outcome = Run | Refusal | Fact | ToolVersion | System


class Reader(ABC):
    """One format: one module, and one instance in experiments.readers.READERS."""

    name: str  # "filebench", "fio-json"
    benchmark: str | None = None  # the catalogue's name of the tool; None: the format's; empty: it is no benchmark
    counted, limit = "figures", 10_000  # most outcomes of one file, and what messages call them
    nothing: str  # reason for refusing a file without any outcome
    systems = ""  # what System names: "devices"
    signs: tuple[tuple[bytes, ...], ...] = ()  # a file has all the signs of at least one group
    signs_within = 2**20  # first bytes of a file, in which signs are looked for

    def recognises(self, data: bytes) -> bool:
        """Tell whether the content, not the name, looks like this format; quick, and never raises."""
        start = data[: self.signs_within]
        return any(all(sign in start for sign in group) for group in self.signs)

    @abstractmethod
    def parse(self, data: bytes) -> Iterator[Outcome]:
        """Yield what the file holds, in its order. Raises FileRefusedError."""

    def read(self, data: bytes) -> Reading:
        """Return everything the file holds."""
        version: str | None = None
        benchmark = self.name if self.benchmark is None else self.benchmark
        runs: list[Run] = []
        refused: dict[Refusal, None] = {}
        facts: list[Fact] = []
        runs_of: dict[str, tuple[int, list[Run]]] = {}  # system to the line that names it, and its runs
        system: System | None = None
        count = 0
        try:
            for outcome in self.parse(data):
                if isinstance(outcome, ToolVersion):
                    version = str(outcome) if version is None else version
                    continue
                if isinstance(outcome, System):
                    system = outcome
                    continue
                count += 1
                if count > self.limit:
                    continue
                if isinstance(outcome, Run):
                    runs.append(outcome)
                    if system:
                        runs_of.setdefault(system.name, (system.line, []))[1].append(outcome)
                elif isinstance(outcome, Fact):
                    facts.append(outcome)
                else:
                    refused[outcome] = None
            if count > self.limit:
                raise TooMuchError(count, self.counted, self.limit)
            if not count:
                raise FileRefusedError(self.nothing)
        except FileRefusedError as error:
            return Reading(self.name, version or "", benchmark, refused=(error.refusal,))
        if version is None:
            version = runs[0].tool_version if runs else ""
        reading = Reading(self.name, version, benchmark, tuple(runs), tuple(refused), tuple(facts))
        return split_by_name(self.systems, reading, runs_of)


class LineReader(Reader):
    """A format that is read line by line."""

    longest_line = 500  # characters that are looked at
    is_indented = False  # False: white space before a line is stripped

    def parse(self, data: bytes) -> Iterator[Outcome]:
        strip = str.rstrip if self.is_indented else str.strip
        return self.parse_lines((number, strip(line[: self.longest_line])) for number, line in lines_of(text_of(data)))

    @abstractmethod
    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        """Yield what numbered lines hold. Raises FileRefusedError."""


class Hit(NamedTuple):
    """A line of a report, and the label whose pattern it matches."""

    label: str
    line: int
    match: re.Match[str]


@dataclass
class Report:
    """The labelled lines of one report, in their order. first, last and has take the same time in any report."""

    hits: list[Hit] = field(default_factory=list)
    by_label: dict[str, list[Hit]] = field(default_factory=dict)

    def add(self, hit: Hit) -> None:
        self.hits.append(hit)
        self.by_label.setdefault(hit.label, []).append(hit)

    def all(self, *labels: str) -> list[Hit]:
        if len(labels) == 1:
            return self.by_label.get(labels[0], [])
        return [hit for hit in self.hits if hit.label in labels]

    def has(self, *labels: str) -> bool:
        return any(label in self.by_label for label in labels)

    def first(self, label: str) -> Hit | None:
        hits = self.by_label.get(label)
        return hits[0] if hits else None

    def last(self, label: str) -> Hit | None:
        hits = self.by_label.get(label)
        return hits[-1] if hits else None

    def number(self, label: str) -> float | None:
        """Return the first group of the label's first line, as a number."""
        hit = self.first(label)
        return float(hit.match[1]) if hit else None


class ReportReader(LineReader):
    """A format whose files are reports, one after the other.

    labels : name to pattern of the lines that count; a line has the first label whose pattern it matches
    begins, ends : the labels of a report's first and last line; empty: none is always there
    versions : a pattern of lines with the version of the program, of which a file may have but one
    """

    counted = "runs"
    labels: Mapping[str, re.Pattern[str]]
    begins = ends = ""
    program = ""  # as messages call it; empty: the format's name
    versions: re.Pattern[str] | None = None

    def begins_report(self, report: Report, label: str) -> bool:
        """Tell whether a line with this label is the first of the next report."""
        return label == self.begins

    def judge(self, report: Report) -> Iterator[Outcome]:
        """Yield the outcomes of one report; the lines before the first report come as one without its first line."""
        if outcome := self.judge_run(report):
            yield outcome

    def judge_run(self, report: Report) -> Run | Refusal | None:
        """Return the run of a report that is of one at most."""
        raise NotImplementedError

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        for report in self.reports(lines):
            if isinstance(report, Report):
                yield from self.judge(report)
            else:
                yield report

    def reports(self, lines: Iterator[tuple[int, str]]) -> Iterator[Report | ToolVersion | Refusal]:
        """Yield the reports and the program's version; end with a refusal at a second version."""
        report, version = Report(), ""
        for number, line in lines:
            if self.versions and (match := self.versions.match(line)):
                if version and match[1] != version:
                    yield report
                    yield two_installations(number, self.program or self.name, match[1], version)
                    return
                version = match[1]
                yield ToolVersion(version)
            for label, pattern in self.labels.items():
                if match := pattern.match(line):
                    if self.begins_report(report, label):
                        yield report
                        report = Report()
                    report.add(Hit(label, number, match))
                    if label == self.ends:
                        yield report
                        report = Report()
                    break
        yield report


def two_installations(line: int, program: str, version: str, version_above: str) -> Refusal:
    """Return the refusal of results by a second version of a program in the same file."""
    reason = f"{program} {version} here and {version_above} above: two installations in one file; give each its own"
    return Refusal(line, reason)
