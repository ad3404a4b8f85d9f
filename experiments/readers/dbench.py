"""dbench 3 and 4: the last line of a finished run.

    dbench version 4.00 - Copyright Andrew Tridgell 1999-2004
    Running for 60 seconds with load '/usr/share/dbench/client.txt' and minimum warmup 12 secs
       4    266123    80.68 MB/sec  execute  59 sec  latency 39.204 ms      (an average so far, no result)
    NTCreateX     155431     0.049    16.076                                 (count, mean and greatest latency, ms)
    Throughput 80.6754 MB/sec  4 clients  4 procs  max_latency=578.915 ms

MB is 10**6 bytes. tbench prints the same line of a network: only dbench's own banner tells them apart.

Source: dbench.c, child.c and tbench.c of dbench 4.0.
"""

import re

from kdb.units import convert

from .base import Operation, Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000
MAX_LINE = 500

_BANNER = re.compile(r"dbench version (\S{1,20}) - Copyright")
_LENGTH = re.compile(r"Running for (\d{1,9}) seconds with load '([^']{1,300})'")
_RESULT = re.compile(
    r"^\s*(?:\w{1,20}:\s+)?Throughput (\S{1,20}) MB/sec(?: \(.{1,80}?\))?\s+(\d{1,9}) (?:clients|procs)\b"
)
_ROW = re.compile(r"^\s*([A-Z][A-Za-z0-9]{1,20})\s+(\d{1,15})\s+(\d{1,9}\.\d{1,6})\s+(\d{1,9}\.\d{1,6})\s*$")
_PROGRESS = re.compile(r"\s+\d+\s+\d+\s+\S+ MB/sec\s+(?:warmup|execute|cleanup)")
_NETWORK = re.compile(r"\btbench(?:_srv)?\b")


class Dbench:
    name = "dbench"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return b"dbench version" in start or (b"Throughput " in start and b" MB/sec" in start and b" procs" in start)

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("runs", MAX_RUNS)
        run = _Started()
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE]
            if _NETWORK.search(line):
                run.is_network = True
            if banner := _BANNER.search(line):
                outcomes.add(*run.unfinished())
                run = _Started(number, banner[1], run.is_network and "tbench" in line)
            elif length := _LENGTH.search(line):
                run.seconds, run.load = int(length[1]), length[2].rpartition("/")[2]
            elif row := _ROW.match(line):
                run.rows.append(Operation(row[1], number, int(row[2]), latency_ms=float(row[3]) or None))
            elif _PROGRESS.match(line):
                run.last = number
            elif result := _RESULT.match(line):
                outcomes.add(run.judge(number, result))
                run.is_done = True
        outcomes.add(*run.unfinished())
        if not outcomes.count:
            outcomes.add(Refusal(None, "there is no result of dbench"))
        version = outcomes.runs[0].tool_version if outcomes.runs else ""
        return Reading(self.name, version, self.name, outcomes.runs, outcomes.refused)


class _Started:
    """A run from its banner on; without one, what stands before the first."""

    def __init__(self, line: int | None = None, version: str = "", is_network: bool = False) -> None:
        self.line, self.version, self.is_network = line, version, is_network
        self.seconds: int | None = None
        self.load = ""
        self.rows: list[Operation] = []
        self.last: int | None = None
        self.is_done = False

    def unfinished(self) -> list[Refusal]:
        if self.line is None or self.is_done:
            return []
        return [Refusal(self.last or self.line, "the run did not finish: its line with the throughput is missing")]

    def judge(self, line: int, result: re.Match[str]) -> Run | Refusal:
        if self.is_network:
            return Refusal(line, "this is tbench, which measures a network, not a file system")
        if not self.version:
            return Refusal(line, "dbench's banner is missing; tbench prints the same line of a network")
        try:
            megabytes = float(result[1])
        except ValueError:
            megabytes = 0.0
        clients = int(result[2])
        if not 0 < megabytes < 1e9 or not clients:
            return Refusal(line, f"a throughput of {result[1]} MB/sec by {clients} clients is no result")
        parameters = {"clients": clients, "load": self.load or None, "run_seconds": self.seconds}
        return Run(
            workload="dbench",
            line=line,
            throughput_mib_s=convert(megabytes, "MB/s", "MiB/s"),
            duration_s=float(self.seconds) if self.seconds else None,
            tool_version=self.version,
            operations=tuple(self.rows[:100]),
            parameters={name: value for name, value in parameters.items() if value},
        )
