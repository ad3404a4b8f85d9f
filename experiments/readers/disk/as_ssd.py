"""AS SSD Benchmark's text, as its menu copies it: English, versions 1.7 to 2.0.

    AS SSD Benchmark 2.0.7316.34247
    ------------------------------
    Name: EXAMPLE SSD
    ------------------------------
    Sequential:                         with rates, "16MB"
    ------------------------------
    Read: 2468.65 MB/s                  154.29 iops
    Write: 1077.41 MB/s                 67.34 iops
    4K:  ...  4K-64Threads:  ...
    Access Times:                       with rates, "512B"
    ------------------------------
    Read: 0.098 ms                      10204 iops
    Score:
    ------------------------------
    Read: 753 ...

- MB is 2**20 bytes: the same test in rates has 256 requests of 4 KiB, and a sixteenth of one of 16 MiB, to each.
- Below 4K-64Threads 64 requests are under way; else one.
- The text says nothing of the file's size: 1 GB unless it was set otherwise.

The two texts of one test, in MB/s and in rates, count once: their scores are the same.

Source: two public outputs of 2.0.7316, one of them in both forms.
"""

import re
from collections.abc import Iterator

from experiments.readers.base import (
    Outcomes,
    Reading,
    Refusal,
    Run,
    by_name,
    lines_of,
    text_of,
    whole_or_nothing,
)

MAX_RUNS = 10_000
MAX_LINE = 200
AGAIN = "the test of a text above once more, in its other form: it counts once"
NO_TEST = "below it stands no test in English that has a result: switch its language and copy again"

_BANNER = re.compile(r"AS SSD Benchmark (\d[\w.]{0,30})$")
_NAME = re.compile(r"Name: (.{1,80})$")
_SECTION = re.compile(r"(Sequential|16MB|4K-64(?:Threads|Thrd)|4K|Access Times?|512B|Score):?$")
_FIGURE = re.compile(r"(Read|Write|Total): (\d{1,9}(?:[.,]\d{1,4})?)( MB/s| iops| ms|)$")
_ROW = re.compile(r"(?:Read|Write): ")
# Section: block size, whether places are at random, and how many requests are under way.
_TESTS = {
    "Sequential": (16 * 2**20, False, 1),
    "4K": (4096, True, 1),
    "4K-64Threads": (4096, True, 64),
    "Access Times": (512, True, 1),
}
_SAME = {"16MB": "Sequential", "512B": "Access Times", "4K-64Thrd": "4K-64Threads", "Access Time": "Access Times"}


class AsSsd:
    name = "as-ssd"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**18]
        return b"AS SSD Benchmark" in start and any(
            _BANNER.match(line.strip()) for line in text_of(start).splitlines()[:20_000]
        )

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        reports: list[_Report] = []
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _BANNER.match(line):
                reports.append(_Report(number, match[1]))
            elif reports:
                reports[-1].take(number, line)
        outcomes = Outcomes("figures", MAX_RUNS)
        disks: dict[str, tuple[int, list[Run]]] = {}
        seen: set[tuple[str, ...]] = set()
        for report in reports:
            if report.scores and report.key in seen:
                outcomes.add(Refusal(report.line, AGAIN))
                continue
            seen.add(report.key)
            for outcome in report.outcomes():
                outcomes.add(outcome)
                if isinstance(outcome, Run):
                    disks.setdefault(report.disk, (report.line, []))[1].append(outcome)
        if not reports:
            outcomes.add(Refusal(None, "the line with the program's version is missing"))
        version = next((report.version for report in reports), "")
        reading = Reading(self.name, version, self.name, outcomes.runs, outcomes.refused)
        return by_name("disks", reading, disks)


class _Report:
    """One text of the program."""

    def __init__(self, line: int, version: str) -> None:
        self.line, self.version = line, version
        self.disk = self.section = ""
        self.figures: dict[tuple[str, str], tuple[int, float, str]] = {}  # of section and direction
        self.refused: list[Refusal] = []
        self.scores: list[str] = []

    @property
    def key(self) -> tuple[str, ...]:
        return self.version, self.disk, *self.scores

    def take(self, number: int, line: str) -> None:
        if match := _SECTION.match(line):
            self.section = _SAME.get(match[1], match[1])
        elif not self.section and (match := _NAME.match(line)):
            self.disk = match[1].strip()
        elif self.section == "Score":
            if match := _FIGURE.match(line):
                self.scores.append(match[2])
        elif (match := _FIGURE.match(line)) and match[3] and self.section:
            value = float(match[2].replace(",", "."))
            self.figures[self.section, match[1].lower()] = number, value, match[3].strip()
        elif self.section and _ROW.match(line):
            self.refused.append(Refusal(number, f"a line of results that is cut, or has no result: {line[:80]!r}"))

    def outcomes(self) -> Iterator[Run | Refusal]:
        yield from self.refused
        for section, (block, is_random, queue) in _TESTS.items():
            for verb in ("read", "write"):
                figure = self.figures.get((section, verb))
                if not figure:
                    continue
                line, value, unit = figure
                if not value:
                    yield Refusal(line, f"0 {unit} is no result")
                    continue
                access = section == "Access Times"
                yield Run(
                    AsSsd.name,
                    line,
                    throughput_mib_s=value if unit == "MB/s" else None,
                    ops_per_s=value if unit == "iops" and not access else None,
                    latency_ms=value if unit == "ms" else 1000 / value if access and unit == "iops" else None,
                    operation=f"random-{verb}" if is_random else verb,
                    block_size_bytes=block,
                    tool_version=self.version,
                    parameters={"queue_depth": queue},
                )
        if not self.figures:
            yield Refusal(self.line, NO_TEST)
        elif missing := [name for name in _TESTS if len([1 for of, _ in self.figures if of == name]) < 2]:
            yield Refusal(self.line, f"the test did not finish, or its text is cut: {', '.join(missing)}")
