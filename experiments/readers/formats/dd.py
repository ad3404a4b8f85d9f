"""dd's report, of GNU coreutils, BusyBox and BSD; one run a report.

    $ dd if=/dev/zero of=test bs=1M count=1024 oflag=dsync
    1024+0 records in
    1024+0 records out
    1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.34567 s, 458 MB/s           coreutils; up to 8.24 without GiB
    1073741824 bytes (1.0GB) copied, 2.345678 seconds, 436.6MB/s             BusyBox
    1073741824 bytes transferred in 2.345678 secs (457754000 bytes/sec)      BSD and macOS

- Throughput is bytes over seconds: the printed one has three digits.
- What was done is in the command, if the file shows it: from zeros it is a write, to /dev/null a read.
- With oflag=dsync or sync every block is on the storage before the next one begins, so its mean latency is the
  time over the blocks; conv=fdatasync and fsync flush once, at the end; without any of them memory may hold the data.

Source: captured with coreutils 9.1; the others by their sources.
"""

import re

from ..base import Refusal, Run
from ..reader import Report, ReportReader

NEAR = 12  # lines in which a command may stand before its report

_REPORT = (
    r"(\d{1,18}) bytes(?: \([^()]{1,40}\))? (?:copied, |transferred in )"
    r"(\d{1,9}(?:[.,]\d{1,9})?(?:e-\d\d)?) s(?:ec(?:ond)?s?)?\b"
)
_OPERAND = re.compile(r"\b(if|of|bs|ibs|obs|oflag|iflag|conv)=(\S{1,200})")
_SOURCES = ("/dev/zero", "/dev/urandom", "/dev/random")
_FLAGS = ("dsync", "sync", "direct", "fdatasync", "fsync")
_IN_MEMORY = "Neither conv=fdatasync or fsync nor oflag=dsync, sync or direct is seen: part of it may be in memory."


class Dd(ReportReader):
    name = "dd"
    counted = "reports"
    nothing = "there is no report of dd with its bytes and seconds"
    ends = "report"
    labels = {
        "records": re.compile(r"(\^C)?(\d{1,15})\+(\d{1,15}) records (in|out)$"),
        "report": re.compile(_REPORT),
        "failed": re.compile(r"dd: .{1,200}"),
        "command": re.compile(r"(?:.{0,200}[\s$#>`;&|(])?dd (?=.{0,300}\b[io]f=|.{0,300}\bbs=)(.{1,400})"),
    }

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20].decode(errors="replace")
        return " records out" in start and bool(re.search(_REPORT, start))

    def judge_run(self, report: Report) -> Run | Refusal | None:
        copied, records = report.last("report"), report.last("records")
        if not copied:
            reason = "the report is cut: its bytes and seconds are missing"
            return Refusal(records.line, reason) if records else None
        failures = [
            "it was interrupted (^C)" if hit.label == "records" else hit.match[0]
            for hit in report.all("failed", "records")
            if hit.label == "failed" or hit.match[1]
        ]
        if failures:
            return Refusal(copied.line, f"dd did not finish: {failures[-1]}")
        written = [hit.match for hit in report.all("records") if hit.match[4] == "out"]
        blocks = int(written[-1][2]) if written and not int(written[-1][3]) else 0  # 0: some of them were partial
        command = report.last("command")
        is_near = command is not None and copied.line - command.line <= NEAR
        seconds = float(copied.match[2].replace(",", "."))
        return _judge(
            copied.line, int(copied.match[1]), seconds, blocks, command.match[1] if command and is_near else ""
        )


def _judge(line: int, moved: int, seconds: float, blocks: int, command: str) -> Run | Refusal:
    if not moved or not seconds:
        return Refusal(line, f"{moved:,} bytes in {seconds:g} s are no result")
    operands = dict(_OPERAND.findall(command))
    source, target = (operands.get(name, "").strip("'\"") for name in ("if", "of"))
    makes, drops = source in _SOURCES, target == "/dev/null"
    if makes and drops:
        return Refusal(line, "from zeros to /dev/null: no storage had a part in it")
    operation = "mixed" if source and target else ""  # of one file into another it does both
    if makes or drops:
        operation = "write" if makes else "read"
    flags = {
        flag for name in ("oflag", "iflag", "conv") for flag in operands.get(name, "").split(",") if flag in _FLAGS
    }
    if "sync" in operands.get("conv", "").split(",") and "sync" not in operands.get("oflag", "").split(","):
        flags.discard("sync")  # conv=sync pads blocks, and flushes nothing
    one_by_one = bool(blocks) and operation == "write" and bool(flags & {"dsync", "sync"})
    parameters: dict[str, str | int] = {"file_size_bytes": moved}
    if command:
        parameters["flush"] = ", ".join(sorted(flags)) or "none"
    return Run(
        "dd",
        line,
        throughput_mib_s=moved / seconds / 2**20,
        ops_per_s=blocks / seconds if one_by_one else None,
        latency_ms=seconds / blocks * 1000 if one_by_one else None,
        duration_s=seconds,
        operation=operation,
        could_be=() if operation else ("write", "read"),
        block_size_bytes=moved // blocks if blocks and moved % blocks == 0 else None,
        working_set_bytes=moved,
        parameters=parameters,
        warnings=() if flags or operation == "read" else (_IN_MEMORY,),
    )
