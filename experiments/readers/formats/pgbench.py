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

from ..base import Refusal, Run, whole_number
from ..reader import Report, ReportReader

_BUILTIN = re.compile(r"<builtin: (.{1,100})>")
_NAMES = {
    "scaling factor": "scale",
    "query mode": "query_mode",
    "number of clients": "clients",
    "number of threads": "threads",
    "duration": "run_seconds",
}


class Pgbench(ReportReader):
    name = "pgbench"
    nothing = "there is no report of pgbench"
    signs = ((b"transaction type: ", b"number of transactions "),)
    versions = re.compile(r"pgbench \(?(?:PostgreSQL\) )?(\d{1,3}[\w.]{0,12})")
    begins = "type"
    labels = {
        "type": re.compile(r"transaction type: (.{1,200})"),
        "aborted": re.compile(r"(?:pgbench: (?:error|fatal): |Run was aborted).{0,200}"),
        "setting": re.compile(rf"({'|'.join(_NAMES)}): (\w{{1,20}})"),
        "done": re.compile(r"number of transactions actually processed: (\d{1,15})(?:/(\d{1,15}))?"),
        "failed": re.compile(r"number of failed transactions: (\d{1,15})"),
        "latency": re.compile(r"latency average(?: =|:) (\d{1,12}(?:\.\d{1,6})?) ms"),
        "rate": re.compile(r"tps = (\d{1,12}(?:\.\d{1,9})?) \((?:without initial|excluding)"),
    }

    def judge_run(self, report: Report) -> Run | Refusal | None:
        begin, aborted, rate, processed = (report.last(label) for label in ("type", "aborted", "rate", "done"))
        if not begin:
            return None
        if aborted:
            return Refusal(begin.line, f"pgbench failed: {aborted.match[0]}")
        if not processed or not rate:
            return Refusal(begin.line, "the report is cut: transactions processed or their rate are missing")
        done, intended = (int(processed.match[n] or processed.match[1]) for n in (1, 2))
        if done < intended:
            return Refusal(begin.line, f"{done:,} of {intended:,} transactions were processed: the run did not finish")
        if not float(rate.match[1]):
            return Refusal(rate.line, "a rate of 0 transactions a second is no result")
        parameters: dict[str, str | int] = {"rate_of": "transactions"}
        for hit in report.all("setting"):
            number = whole_number(hit.match[2], 11)
            parameters[_NAMES[hit.match[1]]] = hit.match[2] if number is None else number
        builtin = _BUILTIN.match(begin.match[1])
        seconds = parameters.get("run_seconds")
        failed = int(report.number("failed") or 0)
        return Run(
            (builtin[1] if builtin else begin.match[1].rpartition("/")[2]).strip()[:80] or "pgbench",
            rate.line,
            ops_per_s=float(rate.match[1]),
            latency_ms=report.number("latency") or None,
            duration_s=float(seconds) if isinstance(seconds, int) and seconds else None,
            parameters=parameters,
            warnings=(f"{failed:,} transactions failed, beside {done:,} processed.",) if failed else (),
        )
