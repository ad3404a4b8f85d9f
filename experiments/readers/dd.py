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

from .base import Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000
MAX_LINE = 500
NEAR = 12  # lines in which a command may stand before its report

_REPORT = re.compile(
    r"(\d{1,18}) bytes(?: \([^()]{1,40}\))? (?:copied, |transferred in )"
    r"(\d{1,9}(?:[.,]\d{1,9})?(?:e-\d\d)?) s(?:ec(?:ond)?s?)?\b"
)
_RECORDS = re.compile(r"(\^C)?(\d{1,15})\+(\d{1,15}) records (in|out)$")
_COMMAND = re.compile(r"(?:.{0,200}[\s$#>`;&|(])?dd (?=.{0,300}\b[io]f=|.{0,300}\bbs=)(.{1,400})")
_OPERAND = re.compile(r"\b(if|of|bs|ibs|obs|oflag|iflag|conv)=(\S{1,200})")
_FAILED = re.compile(r"dd: .{1,200}")
_SOURCES = ("/dev/zero", "/dev/urandom", "/dev/random")
_FLAGS = ("dsync", "sync", "direct", "fdatasync", "fsync")
_IN_MEMORY = "Neither conv=fdatasync or fsync nor oflag=dsync, sync or direct is seen: part of it may be in memory."


class Dd:
    name = "dd"

    def recognises(self, data: bytes) -> bool:
        start = text_of(data[: 2**20])
        return " records out" in start and bool(_REPORT.search(start))

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("reports", MAX_RUNS)
        command: tuple[int, str] | None = None
        blocks: tuple[int, int] | None = None  # whole and partial ones written
        failed, is_open = "", None
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _RECORDS.match(line):
                is_open = number
                if match[1]:
                    failed = "it was interrupted (^C)"
                if match[4] == "out":
                    blocks = int(match[2]), int(match[3])
            elif match := _REPORT.match(line):
                if failed:
                    outcomes.add(Refusal(number, f"dd did not finish: {failed}"))
                else:
                    near = command[1] if command and number - command[0] <= NEAR else None
                    outcomes.add(_judge(number, match, blocks, near))
                command, blocks, failed, is_open = None, None, "", None
            elif match := _FAILED.match(line):
                failed = match[0]
            elif match := _COMMAND.match(line):
                command = number, match[1]
        if is_open:
            outcomes.add(Refusal(is_open, "the report is cut: its bytes and seconds are missing"))
        if not outcomes.count:
            outcomes.add(Refusal(None, "there is no report of dd with its bytes and seconds"))
        return Reading(self.name, "", self.name, outcomes.runs, outcomes.refused)


def _judge(line: int, report: re.Match[str], blocks: tuple[int, int] | None, command: str | None) -> Run | Refusal:
    moved, seconds = int(report[1]), float(report[2].replace(",", "."))
    if not moved or not seconds:
        return Refusal(line, f"{moved:,} bytes in {seconds:g} s are no result")
    operands = dict(_OPERAND.findall(command or ""))
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
    count = blocks[0] if blocks and not blocks[1] else 0
    one_by_one = bool(count) and operation == "write" and bool(flags & {"dsync", "sync"})
    parameters: dict[str, str | int] = {"file_size_bytes": moved}
    if command:
        parameters["flush"] = ", ".join(sorted(flags)) or "none"
    return Run(
        workload="dd",
        line=line,
        throughput_mib_s=moved / seconds / 2**20,
        ops_per_s=count / seconds if one_by_one else None,
        latency_ms=seconds / count * 1000 if one_by_one else None,
        duration_s=seconds,
        operation=operation,
        could_be=() if operation else ("write", "read"),
        block_size_bytes=moved // count if count and moved % count == 0 else None,
        working_set_bytes=moved,
        parameters=parameters,
        warnings=() if flags or operation == "read" else (_IN_MEMORY,),
    )
