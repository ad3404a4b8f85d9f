"""rados bench, of Ceph: writes new objects into a pool, or reads what such a run left, in order or at random.

    $ rados bench -p testbench 10 write --no-cleanup
    Maintaining 16 concurrent writes of 4194304 bytes to objects of size 4194304 for up to 10 seconds or 0 objects
      sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)
    Total time run:         10.6523
    Total writes made:      124                 or: Total reads made:
    Write size:             4194304             or: Read size:
    Object size:            4194304
    Bandwidth (MB/sec):     46.5625
    Average IOPS:           11
    Average Latency(s):     1.3707              before 2016: Average Latency:

Throughput and rate are computed of count, size and time. Reads in order and at random print the same: the command,
where the file shows it, says which it was.

Source: obj_bencher.cc of Ceph 0.94 to 18 and outputs in repositories.
"""

import re

from ..base import Refusal, Run
from ..reader import Report, ReportReader

_MODE = re.compile(r"\b(write|seq|rand)\b")
_THREADS = re.compile(r"(?:-t|--concurrent-ios)[ =](\d{1,6})\b")
_NUMBER = r" {0,4}: {1,24}(\d{1,15}(?:\.\d{1,9})?(?:e-\d\d)?)\b"


class RadosBench(ReportReader):
    name = "rados-bench"
    nothing = "there are no totals of rados bench"
    signs = ((b"Total time run:", b" made:"), (b"sec Cur ops   started",))
    ends = "latency"  # the last total that is read
    labels = {
        "latency": re.compile(rf"Average Latency(?:\(s\))?{_NUMBER}"),
        "total": re.compile(rf"(Total time run|Total (?:writes|reads) made|(?:Write|Read) size|Object size){_NUMBER}"),
        "command": re.compile(r"(?:.{0,120}[\s$#>])?rados (?=.{0,200}\bbench\b)(.{1,200})$"),
        "begin": re.compile(r"Maintaining (\d{1,6}) concurrent (?:writes|reads) of \d{1,15} bytes"),
        "progress": re.compile(r"sec Cur ops {1,8}started {1,8}finished"),
        "failed": re.compile(r"(?:error during benchmark|(?:read|write) got -\d|.{1,120} is not correct!).{0,120}"),
    }

    def begins_report(self, report: Report, label: str) -> bool:
        return label == "command" or (label == "begin" and report.has("begin", "progress", "total"))

    def judge_run(self, report: Report) -> Run | Refusal | None:
        began, failed = report.all("begin", "progress", "total", "latency"), report.last("failed")
        if not began:
            return None
        latency = report.last("latency")
        if not latency:
            reason = failed.match[0] if failed else "the run did not finish: its totals are missing, or cut"
            return Refusal(began[0].line, reason)
        totals = {hit.match[1]: hit for hit in report.all("total")}
        kind = "read" if "Total reads made" in totals else "write"
        wanted = ("Total time run", f"Total {kind}s made", f"{kind.title()} size")
        if missing := [name for name in wanted if name not in totals]:
            return Refusal(began[0].line, f"{missing[0]} is missing: the totals are cut")
        seconds, count, size = (float(totals[name].match[2]) for name in wanted)
        line = totals[wanted[1]].line
        if failed:
            return Refusal(line, f"rados bench failed: {failed.match[0]}")
        if not (seconds and count and size):
            return Refusal(line, "nothing was done: a total is zero")
        command, begin = report.first("command"), report.last("begin")
        mode = _MODE.search(command.match[1]) if command else None
        threads = begin.match if begin else _THREADS.search(command.match[1]) if command else None
        operation = {"seq": "read", "rand": "random-read"}.get(mode[1] if mode else "", "")
        parameters: dict[str, str | int] = {}
        if "Object size" in totals:
            parameters["object_size_bytes"] = int(float(totals["Object size"].match[2]))
        if threads and int(threads[1]):
            parameters["queue_depth"] = int(threads[1])
        return Run(
            self.name,
            line,
            throughput_mib_s=count * size / seconds / 2**20,
            ops_per_s=count / seconds,
            latency_ms=float(latency.match[1]) * 1000 or None,
            duration_s=seconds,
            operation="write" if kind == "write" else operation,
            could_be=() if kind == "write" or operation else ("read", "random-read"),
            block_size_bytes=int(size),
            parameters=parameters,
        )
