"""KDiskMark's report, 1.x to 3.x.

                         KDiskMark (3.0.0): https://github.com/JonMagon/KDiskMark     without a version in 1.0
                     Flexible I/O Tester (fio-3.30): https://github.com/axboe/fio
    * MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
    [Read]
    Sequential   1 MiB (Q=  8, T= 1):   508.897 MB/s [    497.0 IOPS] < 13840.05 us>
        Random   4 KiB (Q= 32, T= 1):   354.657 MB/s [  88664.6 IOPS] <   352.37 us>
    Profile: Default
       Test: 1 GiB (x5) [Measure: 5 sec / Interval: 5 sec]

Whatever its header says, a "MB/s" is 2**20 bytes in the first versions and 1000 KiB in later ones: which it is
shows in its ratio to rate times block size.

Source: the reports in KDiskMark's own documentation, of 1.0, 1.6.0 and 3.0.0; a public one of 3.2.0.
"""

import re
from typing import Any

from experiments.readers.base import Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000
MAX_LINE = 300
FITS = 0.01  # how far throughput may be from rate times block size; the units are 2.4 % apart

_BANNER = re.compile(r"KDiskMark(?: \((\d[\w.\-]{0,20})\))?: https?://")
_SECTION = re.compile(r"\[(Read|Write|Mix)\]")
_FIGURE = re.compile(
    r"(Sequential|Random) {1,12}(\d{1,6}) ([KM])iB \(Q= {0,4}(\d{1,5}), T= {0,4}(\d{1,4})\): {0,12}"
    r"(\d{1,9}(?:\.\d{1,4})?) MB/s \[ {0,12}(\d{1,12}(?:\.\d{1,3})?) IOPS\](?: < {0,12}(\d{1,12}(?:\.\d{1,3})?) us>)?"
)
_ROW = re.compile(r"(?:Sequential|Random) {1,12}\d")
_TEST = re.compile(r"Test: (\d{1,9}) ([MG])iB \(x(\d{1,3})\)")
_UNITS = (1e6 / 2**20, 1000 / 1024, 1.0)  # what a "MB/s" may be, MiB/s


class KDiskMark:
    name = "kdiskmark"

    def recognises(self, data: bytes) -> bool:
        return bool(_BANNER.search(text_of(data[: 2**18])))

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("figures", MAX_RUNS)
        version, section = "", ""
        rows: list[tuple[int, str, re.Match[str]]] = []
        shared: dict[str, int] = {}
        has_banner = False
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _BANNER.match(line):
                outcomes.add(*(_judge(*row, version, shared) for row in rows))
                version, section, rows, shared, has_banner = match[1] or "", "", [], {}, True
            elif match := _SECTION.match(line):
                section = match[1].lower()
            elif match := _TEST.match(line):
                shared = {
                    "file_size_bytes": int(match[1]) * 2 ** (30 if match[2] == "G" else 20),
                    "repeats": int(match[3]),
                }
            elif match := _FIGURE.match(line):
                if section and has_banner:
                    rows.append((number, section, match))
                else:
                    outcomes.add(Refusal(number, "above the line stands neither [Read], [Write] nor [Mix]"))
            elif _ROW.match(line):
                outcomes.add(Refusal(number, f"a line of results that is cut, or has no rate: {line[:80]!r}"))
        outcomes.add(*(_judge(*row, version, shared) for row in rows))
        if not outcomes.count:
            outcomes.add(Refusal(None, "there is no line with a result: the text is cut"))
        versions = [run.tool_version for run in outcomes.runs]
        return Reading(self.name, next(iter(versions), ""), self.name, outcomes.runs, outcomes.refused)


def _judge(line: int, section: str, row: re.Match[str], version: str, shared: dict[str, int]) -> Run | Refusal:
    access, size, power, queue, threads, printed, iops, latency = row.groups()
    block = int(size) * 1024 ** " KM".index(power)
    rate, megabytes = float(iops), float(printed)
    if not block or not rate or not megabytes:
        return Refusal(line, f"{printed} MB/s at {iops} IOPS is no result")
    factor = min(_UNITS, key=lambda unit: abs(megabytes * unit * 2**20 / (rate * block) - 1))
    if abs(megabytes * factor * 2**20 / (rate * block) - 1) > FITS:
        return Refusal(line, f"{printed} MB/s are not {iops} IOPS of {size} {power}iB in any unit")
    verb = "mixed" if section == "mix" else section
    parameters: dict[str, Any] = {"queue_depth": int(queue), "threads": int(threads), **shared}
    return Run(
        workload="kdiskmark",
        line=line,
        throughput_mib_s=megabytes * factor,
        ops_per_s=rate,
        latency_ms=float(latency) / 1000 or None if latency else None,
        operation=verb if access == "Sequential" else f"random-{verb}",
        block_size_bytes=block,
        tool_version=version,
        working_set_bytes=shared.get("file_size_bytes"),
        parameters=parameters,
    )
