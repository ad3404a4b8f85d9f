"""pidstat: what single programs used while a benchmark ran; its averages at the end are read.

    Linux 6.1.0-18-amd64 (host) 	11/22/2026 	_x86_64_	(4 CPU)
    Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
    Average:      999      1234   12.00    3.00    0.00    1.50   15.00     -  qemu-system-x86
    Average:      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command                      with -d

Source: pidstat.c of sysstat 12.
"""

import re

from experiments.readers.base import Fact, Reading, Refusal, TooMuch, lines_of, text_of, whole_or_nothing

MAX_ROWS = 2_000
MAX_LINE = 400

_COLUMNS = {
    "%CPU": "cpu_percent",
    "%wait": "wait_percent",
    "kB_rd/s": "read_kib_per_s",
    "kB_wr/s": "written_kib_per_s",
    "iodelay": "io_delay_ticks",
}
_NUMBER = re.compile(r"\d{1,12}(?:[.,]\d{1,3})?", re.ASCII)


class Pidstat:
    name = "pidstat"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**16]
        return (
            b"PID" in start and b"Command" in start and (b"%CPU" in start or b"kB_rd/s" in start) and b" CPU)" in start
        )

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        header: list[str] = []
        facts: list[Fact] = []
        rows = 0
        for number, line in lines_of(text_of(data)):
            cells = line[:MAX_LINE].split()
            if not cells or cells[0] != "Average:":
                continue
            if "PID" in cells:
                header = cells
            elif header and len(cells) >= len(header):
                rows += 1
                if rows > MAX_ROWS:
                    raise TooMuch(rows, "programs", MAX_ROWS)
                about = f"{' '.join(cells[len(header) - 1 :])[:80]} ({cells[header.index('PID')][:20]})"
                for name, cell in zip(header, cells, strict=False):
                    if name in _COLUMNS and _NUMBER.fullmatch(cell):
                        facts.append(Fact(about, _COLUMNS[name], float(cell.replace(",", ".")), number))
        if not facts:
            reason = "pidstat's averages are missing: end it with ^C once, or give it a count of intervals"
            return Reading(self.name, refused=(Refusal(None, reason),))
        return Reading(self.name, facts=tuple(facts))
