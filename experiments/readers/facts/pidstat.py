"""pidstat: what single programs used while a benchmark ran; its averages at the end are read.

    Linux 6.1.0-18-amd64 (host) 	11/22/2026 	_x86_64_	(4 CPU)
    Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
    Average:      999      1234   12.00    3.00    0.00    1.50   15.00     -  qemu-system-x86
    Average:      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command                      with -d

Source: pidstat.c of sysstat 12.
"""

import re
from collections.abc import Iterator

from ..base import Fact
from ..reader import LineReader, Outcome

_COLUMNS = {
    "%CPU": "cpu_percent",
    "%wait": "wait_percent",
    "kB_rd/s": "read_kib_per_s",
    "kB_wr/s": "written_kib_per_s",
    "iodelay": "io_delay_ticks",
}
_NUMBER = re.compile(r"\d{1,12}(?:[.,]\d{1,3})?", re.ASCII)


class Pidstat(LineReader):
    name = "pidstat"
    benchmark, counted = "", "facts"
    nothing = "pidstat's averages are missing: end it with ^C once, or give it a count of intervals"
    signs_within = 2**16
    signs = ((b"PID", b"Command", b" CPU)", b"%CPU"), (b"PID", b"Command", b" CPU)", b"kB_rd/s"))

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        header: list[str] = []
        for number, line in lines:
            cells = line.split()
            if not cells or cells[0] != "Average:":
                continue
            if "PID" in cells:
                header = cells
            elif header and len(cells) >= len(header):
                about = f"{' '.join(cells[len(header) - 1 :])[:80]} ({cells[header.index('PID')][:20]})"
                for name, cell in zip(header, cells, strict=False):
                    if name in _COLUMNS and _NUMBER.fullmatch(cell):
                        yield Fact(about, _COLUMNS[name], float(cell.replace(",", ".")), number)
