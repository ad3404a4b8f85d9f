"""CrystalDiskMark's text, versions 3 to 8.

    CrystalDiskMark 8.0.1 x64 (C) 2007-2021 hiyohiyo
    * MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
    [Read]
      SEQ    1MiB (Q=  8, T= 1):   531.458 MB/s [    506.8 IOPS] < 15726.77 us>        (7 and later)
      Random Read 4KiB (Q= 32,T= 1) :    33.730 MB/s [  8234.9 IOPS]                    (5 and 6)
              Random Read 4KB (QD=32) :    33.730 MB/s [  8234.9 IOPS]                  (3 and 4)
       Test: 1 GiB (x5) [E: 96% (894/932GiB)]

MB/s is 10**6 bytes a second in every version. A figure is the best of the repetitions, not their mean.

Source: the header of the text itself; crystalmark.info.
"""

import re
from collections.abc import Iterator
from typing import Any

from experiments.readers.base import Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing
from kdb.units import convert

MAX_RUNS = 20_000
MAX_LINE = 300

_BANNER = re.compile(r"CrystalDiskMark (\d[\w.]{0,20})\b(?=.{0,40}(?:\(C\)|hiyohiyo|$))")
_SECTION = re.compile(r"^\[(Read|Write|Mix)\]")
_NEW = re.compile(
    r"^\s*(SEQ|RND)\s+(\d{1,6})([KM])iB \(Q= *(\d{1,5}), ?T= *(\d{1,4})\) ?:\s*(\S{1,20}) MB/s"
    r"(?: \[ *(\S{1,20}) IOPS\])?(?: < *(\S{1,20}) us>)?"
)
_OLD = re.compile(
    r"^\s*(Sequential|Random) (Read|Write)(?: (\d{1,6})([KM])i?B)?"
    r"(?: \((?:QD= *(\d{1,5})|(?:Q= *(\d{1,5}), ?)?T= *(\d{1,4}))\))? *:\s*(\S{1,20}) MB/s(?: \[ *(\S{1,20}) IOPS\])?"
)
_ROW = re.compile(r"\s*(?:SEQ|RND|Sequential|Random)\b.{0,40}(?:\(Q|iB\b|: )")
_TEST = re.compile(r"^\s*Test ?: (\d{1,9}) ?([MG])i?B\b.{0,120}?\(x(\d{1,3})\)")
_ROUNDED = "A figure is the best of the repetitions, not their mean."


class CrystalDiskMark:
    name = "crystaldiskmark"

    def recognises(self, data: bytes) -> bool:
        return bool(_BANNER.search(text_of(data[: 2**18])))

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("figures", MAX_RUNS)
        part = _Report()
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE]
            if banner := _BANNER.search(line):
                outcomes.add(*part.refused, *_runs(part))
                part = _Report(banner[1])
            elif section := _SECTION.match(line):
                part.section = section[1].lower()
            elif test := _TEST.match(line):
                part.parameters = {
                    "file_size_bytes": int(test[1]) * 2 ** (30 if test[2] == "G" else 20),
                    "repeats": int(test[3]),
                }
            elif match := _NEW.match(line):
                part.add_new(number, match)
            elif match := _OLD.match(line):
                part.add_old(number, match)
            elif _ROW.match(line):
                part.refused.append(
                    Refusal(number, f"a line of results that is cut, or changed: {line.strip()[:80]!r}")
                )
        outcomes.add(*part.refused, *_runs(part))
        if not outcomes.count:
            outcomes.add(Refusal(None, "there is no line with a result: the text is cut"))
        version = outcomes.runs[0].tool_version if outcomes.runs else ""
        return Reading(self.name, version, self.name, outcomes.runs, outcomes.refused)


def _runs(part: "_Report") -> Iterator[Run]:
    """Yield a report's lines as runs: what its footer says holds for all of them."""
    for line, operation, block, queue, threads, megabytes, iops, latency in part.rows:
        parameters = {"queue_depth": queue, "threads": threads, **part.parameters}
        yield Run(
            workload="crystaldiskmark",
            line=line,
            throughput_mib_s=convert(megabytes, "MB/s", "MiB/s"),
            ops_per_s=iops,
            latency_ms=latency,
            operation=operation,
            block_size_bytes=block,
            tool_version=part.version,
            working_set_bytes=part.parameters.get("file_size_bytes"),
            parameters={name: value for name, value in parameters.items() if value},
            warnings=(_ROUNDED,),
        )


class _Report:
    """One text of the program, from its banner to the next."""

    def __init__(self, version: str = "") -> None:
        self.version, self.section = version, ""
        self.parameters: dict[str, int] = {}
        self.rows: list[tuple[Any, ...]] = []
        self.refused: list[Refusal] = []

    def add_new(self, line: int, match: re.Match[str]) -> None:
        access, size, power, queue, threads, *figures = match.groups()
        if not self.section:
            self.refused.append(Refusal(line, "above the line stands neither [Read], [Write] nor [Mix]"))
            return
        verb = "mixed" if self.section == "mix" else self.section
        operation = verb if access == "SEQ" else f"random-{verb}"
        self._add(line, operation, int(size) * 1024 ** " KM".index(power), int(queue), int(threads), *figures)

    def add_old(self, line: int, match: re.Match[str]) -> None:
        access, verb, size, power, depth, queue, threads, *figures = match.groups()
        operation = verb.lower() if access == "Sequential" else f"random-{verb.lower()}"
        block = int(size) * 1024 ** " KM".index(power) if size else None
        queue = depth or queue
        self._add(line, operation, block, int(queue) if queue else None, int(threads) if threads else None, *figures)

    def _add(
        self,
        line: int,
        operation: str,
        block: int | None,
        queue: int | None,
        threads: int | None,
        speed: str,
        iops: str | None = None,
        latency: str | None = None,
    ) -> None:
        megabytes = _positive(speed)
        if megabytes is None or not self.version:
            self.refused.append(Refusal(line, f"a throughput of {speed} MB/s is no result"))
            return
        microseconds = _positive(latency)
        self.rows.append(
            (line, operation, block, queue, threads, megabytes, _positive(iops), microseconds and microseconds / 1000)
        )


def _positive(text: str | None) -> float | None:
    """Return a number above zero; None for anything else, also for what the program prints as 0."""
    if text is None or not re.fullmatch(r"\d{1,12}(?:\.\d{1,6})?", text, re.ASCII):
        return None
    return float(text) or None
