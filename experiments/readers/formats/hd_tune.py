"""HD Tune's text, as its free version copies it: reads of a whole disk.

    HD Tune: EXAMPLE SSD Benchmark
    Transfer Rate Minimum : 1.0 MB/sec
    Transfer Rate Maximum : 449.1 MB/sec
    Transfer Rate Average : 308.1 MB/sec
    Access Time           : 0.4 ms
    Burst Rate            : 196.7 MB/sec
    CPU Usage             : 27.2%

- What a MB is, neither text nor maker says. It is taken for 10**6 bytes, which is up to 4.9 % too little, and each
  figure says so.
- The average counts, and the access time: the mean of reads at random places. Least and greatest are of single
  places, the burst rate is of the disk's memory, and none of these is a result.
- HD Tune Pro also writes: of its text the operation is asked.

Source: one public output of the free version; no text of HD Tune Pro was found.
"""

import re
from collections.abc import Iterator

from kdb.units import convert

from ..base import Refusal, Run
from ..reader import Outcome, Report, ReportReader, System

NOTE = "HD Tune does not say what its MB is: it is taken for 10**6 bytes, up to 4.9 % too little."

_VALUE = r" {0,20}: {1,4}(\d{1,7}(?:\.\d{1,3})?) ?"


class HdTune(ReportReader):
    name = "hd-tune"
    counted, systems = "figures", "disks"
    nothing = "there is no benchmark of HD Tune with its average and access time"
    signs = ((b"HD Tune", b"Transfer Rate"),)
    begins = "banner"
    labels = {
        "banner": re.compile(r"HD Tune( Pro)?: (.{1,120}) Benchmark$"),
        "Transfer Rate Average": re.compile(rf"Transfer Rate Average{_VALUE}MB/s(?:ec)?$"),
        "Access Time": re.compile(rf"Access Time{_VALUE}ms$"),
    }

    def judge(self, report: Report) -> Iterator[Outcome]:
        banner = report.first("banner")
        if not banner:
            if report.hits:
                yield Refusal(report.hits[0].line, "the line above it that names the disk is missing")
            return
        is_pro = bool(banner.match[1])
        yield System(banner.match[2], banner.line)
        for label in ("Transfer Rate Average", "Access Time"):
            figure = report.first(label)
            line, value = (figure.line, float(figure.match[1])) if figure else (banner.line, 0.0)
            access = "random-" if label == "Access Time" else ""
            operations = tuple(f"{access}{verb}" for verb in (("read", "write") if is_pro else ("read",)))
            if not figure:
                yield Refusal(line, f"{label} is missing: the test did not finish, or the text is cut")
            elif not value:
                yield Refusal(line, f"{label} is 0: below what it prints, or no result")
            else:
                yield Run(
                    self.name,
                    line,
                    throughput_mib_s=None if access else convert(value, "MB/s", "MiB/s"),
                    latency_ms=value if access else None,
                    operation="" if is_pro else operations[0],
                    could_be=operations if is_pro else (),
                    note="" if access else NOTE,
                    warnings=() if access else (NOTE,),
                )
