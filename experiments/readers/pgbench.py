"""pgbench's report, 9.x to 17: the rate is of transactions.

    pgbench (16.1)                                            14 and later
    transaction type: <builtin: TPC-B (sort of)>
    scaling factor: 10
    query mode: simple
    number of clients: 10
    number of threads: 2
    number of transactions per client: 1000                   or: duration: 60 s
    number of transactions actually processed: 10000/10000    with a duration: 10000
    number of failed transactions: 0 (0.000%)                 15 and later
    latency average = 11.013 ms                               9.x: latency average: 11.013 ms
    tps = 896.967014 (without initial connection time)        up to 13: (excluding connections establishing)

Of the two rates up to 13 the one without connections is read, which is what later versions print.

Source: the manuals of 9.6 to 17 and an output of 15.
"""

import re

from .base import Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000
MAX_LINE = 400

_BANNER = re.compile(r"pgbench \(?(?:PostgreSQL\) )?(\d{1,3}[\w.]{0,12})")
_TYPE = re.compile(r"transaction type: (.{1,200})")
_BUILTIN = re.compile(r"<builtin: (.{1,100})>")
_SETTING = re.compile(r"(scaling factor|query mode|number of clients|number of threads|duration): (\w{1,20})")
_DONE = re.compile(r"number of transactions actually processed: (\d{1,15})(?:/(\d{1,15}))?")
_FAILED = re.compile(r"number of failed transactions: (\d{1,15})")
_LATENCY = re.compile(r"latency average(?: =|:) (\d{1,12}(?:\.\d{1,6})?) ms")
_TPS = re.compile(r"tps = (\d{1,12}(?:\.\d{1,9})?) \((without initial|excluding|including)")
_ABORTED = re.compile(r"(?:pgbench: (?:error|fatal): |Run was aborted).{0,200}")
_NAMES = {
    "scaling factor": "scale",
    "query mode": "query_mode",
    "number of clients": "clients",
    "number of threads": "threads",
    "duration": "run_seconds",
}


class Pgbench:
    name = "pgbench"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return b"transaction type: " in start and b"number of transactions " in start

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("runs", MAX_RUNS)
        version = ""
        report = _Report()
        aborted = ""
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _BANNER.match(line):
                if version and match[1] != version:
                    reason = f"pgbench {match[1]} here and {version} above: two installations in one file"
                    outcomes.add(*report.judged(aborted), Refusal(number, f"{reason}; give each its own"))
                    report = _Report()
                    break
                version = match[1]
            elif match := _TYPE.match(line):
                outcomes.add(*report.judged(aborted))
                report, aborted = _Report(number, match[1]), ""
            elif match := _ABORTED.match(line):
                aborted = match[0]
            else:
                report.take(number, line)
        outcomes.add(*report.judged(aborted))
        if not outcomes.count:
            outcomes.add(Refusal(None, "there is no report of pgbench"))
        return Reading(self.name, version, self.name, outcomes.runs, outcomes.refused)


class _Report:
    """One report, from its transaction type on."""

    def __init__(self, line: int | None = None, what: str = "") -> None:
        self.line = line
        builtin = _BUILTIN.match(what)
        self.workload = (builtin[1] if builtin else what.rpartition("/")[2]).strip()[:80]
        self.parameters: dict[str, str | int] = {"rate_of": "transactions"}
        self.done: tuple[int, int] | None = None  # processed, intended
        self.failed = 0
        self.latency: float | None = None
        self.rate: float | None = None
        self.rate_at: int | None = None

    def take(self, number: int, line: str) -> None:
        if match := _SETTING.match(line):
            name, text = _NAMES[match[1]], match[2]
            self.parameters[name] = int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else text
        elif match := _DONE.match(line):
            self.done = int(match[1]), int(match[2] or match[1])
        elif match := _FAILED.match(line):
            self.failed = int(match[1])
        elif match := _LATENCY.match(line):
            self.latency = float(match[1])
        elif (match := _TPS.match(line)) and match[2] != "including":
            self.rate, self.rate_at = float(match[1]), number

    def judged(self, aborted: str) -> list[Run | Refusal]:
        if self.line is None:
            return []
        if aborted:
            return [Refusal(self.line, f"pgbench failed: {aborted}")]
        if not self.done or self.rate is None:
            return [Refusal(self.line, "the report is cut: transactions processed or their rate are missing")]
        done, intended = self.done
        if done < intended:
            return [Refusal(self.line, f"{done:,} of {intended:,} transactions were processed: the run did not finish")]
        if not self.rate:
            return [Refusal(self.rate_at, "a rate of 0 transactions a second is no result")]
        seconds = self.parameters.get("run_seconds")
        warnings = (f"{self.failed:,} transactions failed, beside {done:,} processed.",) if self.failed else ()
        return [
            Run(
                workload=self.workload or "pgbench",
                line=self.rate_at,
                ops_per_s=self.rate,
                latency_ms=self.latency or None,
                duration_s=float(seconds) if isinstance(seconds, int) and seconds else None,
                parameters=self.parameters,
                warnings=warnings,
            )
        ]
