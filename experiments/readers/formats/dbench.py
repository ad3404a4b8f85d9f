"""dbench 3 and 4: the last line of a finished run.

    dbench version 4.00 - Copyright Andrew Tridgell 1999-2004
    Running for 60 seconds with load '/usr/share/dbench/client.txt' and minimum warmup 12 secs
       4    266123    80.68 MB/sec  execute  59 sec  latency 39.204 ms      (an average so far, no result)
    Throughput 80.6754 MB/sec  4 clients  4 procs  max_latency=578.915 ms

MB is 10**6 bytes. tbench prints the same line of a network: only dbench's own banner tells them apart.

Source: dbench.c, child.c and tbench.c of dbench 4.0.
"""

import re
from collections.abc import Iterator

from kdb.units import convert

from ..base import Refusal, Run
from ..reader import Hit, Outcome, Report, ReportReader

_NETWORK = re.compile(r".{0,500}?\btbench(?:_srv)?\b")


class Dbench(ReportReader):
    name = "dbench"
    nothing = "there is no result of dbench"
    signs = ((b"dbench version",), (b"Throughput ", b" MB/sec", b" procs"))
    begins = "banner"
    labels = {
        "banner": re.compile(r".{0,500}?dbench version (\S{1,20}) - Copyright"),
        "network": _NETWORK,
        "length": re.compile(r".{0,500}?Running for (\d{1,9}) seconds with load '([^']{1,300})'"),
        "progress": re.compile(r"\d+\s+\d+\s+\S+ MB/sec\s+(?:warmup|execute|cleanup)"),
        "result": re.compile(
            r"(?:\w{1,20}:\s+)?Throughput (\S{1,20}) MB/sec(?: \(.{1,80}?\))?\s+(\d{1,9}) (?:clients|procs)\b"
        ),
    }

    def judge(self, report: Report) -> Iterator[Outcome]:
        banner, results = report.first("banner"), report.all("result")
        if banner and not results:
            end = report.last("progress") or banner
            yield Refusal(end.line, "the run did not finish: its line with the throughput is missing")
        for result in results:
            yield self._judge(report, banner, result)

    def _judge(self, report: Report, banner: Hit | None, result: Hit) -> Run | Refusal:
        if report.first("network") or (banner and _NETWORK.match(banner.match.string)):
            return Refusal(result.line, "this is tbench, which measures a network, not a file system")
        if not banner:
            return Refusal(result.line, "dbench's banner is missing; tbench prints the same line of a network")
        try:
            megabytes = float(result.match[1])
        except ValueError:
            megabytes = 0.0
        clients = int(result.match[2])
        if not 0 < megabytes < 1e9 or not clients:
            reason = f"a throughput of {result.match[1]} MB/sec by {clients} clients is no result"
            return Refusal(result.line, reason)
        length = report.last("length")
        seconds = int(length.match[1]) if length else 0
        load = length.match[2].rpartition("/")[2] if length else ""
        parameters = {"clients": clients, "load": load, "run_seconds": seconds}
        return Run(
            "dbench",
            result.line,
            throughput_mib_s=convert(megabytes, "MB/s", "MiB/s"),
            duration_s=float(seconds) or None,
            tool_version=banner.match[1],
            parameters={name: value for name, value in parameters.items() if value},
        )
