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

from experiments.readers.base import Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000
MAX_LINE = 400

_COMMAND = re.compile(r"(?:.{0,120}[\s$#>])?rados (?=.{0,200}\bbench\b)(.{1,200})$")
_MODE = re.compile(r"\b(write|seq|rand)\b")
_THREADS = re.compile(r"(?:-t|--concurrent-ios)[ =](\d{1,6})\b")
_BEGIN = re.compile(r"Maintaining (\d{1,6}) concurrent (?:writes|reads) of \d{1,15} bytes")
_PROGRESS = re.compile(r"sec Cur ops {1,8}started {1,8}finished")
_TOTAL = re.compile(
    r"(Total time run|Total (?:writes|reads) made|(?:Write|Read) size|Object size|Average Latency(?:\(s\))?)"
    r" {0,4}: {1,24}(\d{1,15}(?:\.\d{1,9})?(?:e-\d\d)?)\b"
)
_FAILED = re.compile(r"(?:error during benchmark|(?:read|write) got -\d|.{1,120} is not correct!).{0,120}")
_LAST = "Average Latency"


class RadosBench:
    name = "rados-bench"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return (b"Total time run:" in start and b" made:" in start) or b"sec Cur ops   started" in start

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("runs", MAX_RUNS)
        run = _Open()
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _TOTAL.match(line):
                run.take(number, match[1].removesuffix("(s)"), float(match[2]))
                if _LAST in run.totals:
                    outcomes.add(run.judged())
                    run = _Open()
            elif match := _COMMAND.match(line):
                outcomes.add(*run.left_open())
                run = _Open(match[1])
            elif match := _BEGIN.match(line):
                if run.began:
                    outcomes.add(*run.left_open())
                    run = _Open()
                run.began, run.threads = number, int(match[1])
            elif _PROGRESS.match(line):
                run.began = run.began or number
            elif match := _FAILED.match(line):
                run.failed = match[0]
        outcomes.add(*run.left_open())
        if not outcomes.count:
            outcomes.add(Refusal(None, "there are no totals of rados bench"))
        return Reading(self.name, "", self.name, outcomes.runs, outcomes.refused)


class _Open:
    """One run, from its command to its mean latency, which is the last total that is read."""

    def __init__(self, command: str = "") -> None:
        mode, threads = _MODE.search(command), _THREADS.search(command)
        self.mode = mode[1] if mode else ""
        self.threads = int(threads[1]) if threads else None
        self.began: int | None = None
        self.failed = ""
        self.totals: dict[str, tuple[int, float]] = {}

    def take(self, line: int, name: str, value: float) -> None:
        self.began = self.began or line
        self.totals[name] = line, value

    def left_open(self) -> list[Refusal]:
        if not self.began:
            return []
        return [Refusal(self.began, self.failed or "the run did not finish: its totals are missing, or cut")]

    def judged(self) -> Run | Refusal:
        kind = "read" if "Total reads made" in self.totals else "write"
        wanted = ("Total time run", f"Total {kind}s made", f"{kind.title()} size")
        if missing := [name for name in wanted if name not in self.totals]:
            return Refusal(self.began, f"{missing[0]} is missing: the totals are cut")
        seconds, count, size = (self.totals[name][1] for name in wanted)
        line = self.totals[wanted[1]][0]
        if self.failed:
            return Refusal(line, f"rados bench failed: {self.failed}")
        if not (seconds and count and size):
            return Refusal(line, "nothing was done: a total is zero")
        operation, could_be = {"seq": "read", "rand": "random-read"}.get(self.mode, ""), ("read", "random-read")
        parameters: dict[str, str | int] = {}
        if "Object size" in self.totals:
            parameters["object_size_bytes"] = int(self.totals["Object size"][1])
        if self.threads:
            parameters["queue_depth"] = self.threads
        return Run(
            workload=RadosBench.name,
            line=line,
            throughput_mib_s=count * size / seconds / 2**20,
            ops_per_s=count / seconds,
            latency_ms=self.totals[_LAST][1] * 1000 or None,
            duration_s=seconds,
            operation="write" if kind == "write" else operation,
            could_be=() if kind == "write" or operation else could_be,
            block_size_bytes=int(size),
            parameters=parameters,
        )
