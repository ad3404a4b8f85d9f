"""PostMark 1.5: its report of one or several runs.

    PostMark v1.5 : 3/27/01
    Transactions: 20000                     (of "show", if that was typed)
    Time:
            61 seconds total
            55 seconds of transactions (363 per second)
    Data:
            129.81 megabytes read (2.13 megabytes per second)
            161.27 megabytes written (2.64 megabytes per second)

Seconds are whole numbers, so a rate is uncertain by one part in as many. A megabyte is 2**20 bytes. Data
rates are over the total time, the rate of transactions over theirs.

Source: postmark-1_5.c.
"""

import re
from collections.abc import Iterator

from ..base import Refusal, Run
from ..reader import Outcome, Report, ReportReader, ToolVersion

SHORTEST = 2  # s: a shorter run's rates are rounding
UNCERTAIN = 20  # s: below, the rounding is worth a word

_UNITS = {"bytes": 2**-20, "kilobytes": 2**-10, "megabytes": 1.0, "gigabytes": 2**10}
_SETTINGS = ("files", "transactions", "blocks")


class Postmark(ReportReader):
    name = "postmark"
    nothing = "the run did not finish: there is no report of its time"
    signs = ((b"PostMark v",), (b" seconds of transactions (", b"megabytes"))
    labels = {
        "version": re.compile(r".{0,400}?PostMark v(\S{1,10})"),
        "files": re.compile(r"The base number of files is (\d{1,12})"),
        "transactions": re.compile(r"Transactions: (\d{1,12})"),
        "blocks": re.compile(r"Block sizes are: read=(\d{1,12})(?: bytes, write=(\d{1,12}))?"),
        "time": re.compile(r"Time:$"),
        "total": re.compile(r"(\d{1,9}) seconds? total$"),
        "rate": re.compile(r"(\d{1,9}) seconds? of transactions \((\d{1,12}) per second\)"),
        "moved": re.compile(
            r"[\d.]{1,20} \w{1,9} (read|written) {1,80}\((\d{1,12}(?:\.\d{1,4})?) (\w{1,9}) per second\)"
        ),
    }

    def begins_report(self, report: Report, label: str) -> bool:
        return label in ("time", *_SETTINGS) and report.has("time")

    def judge(self, report: Report) -> Iterator[Outcome]:
        if version := report.first("version"):
            yield ToolVersion(version.match[1])
        yield from super().judge(report)

    def judge_run(self, report: Report) -> Run | Refusal | None:
        time, total, rate = (report.first(label) for label in ("time", "total", "rate"))
        if not time:
            return None
        if not total or not rate:
            return Refusal(time.line, self.nothing)
        seconds, of_transactions, rate_per_s = int(total.match[1]), int(rate.match[1]), int(rate.match[2])
        if seconds < SHORTEST or of_transactions < 1:
            reason = f"a run of {seconds} s is too short for a clock of whole seconds; set more transactions"
            return Refusal(time.line, reason)
        moved = {hit.match[1]: float(hit.match[2]) * _UNITS.get(hit.match[3], 0) for hit in report.all("moved")}
        if set(moved) != {"read", "written"}:
            return Refusal(time.line, "the report is cut: the data read and written are missing")
        if not sum(moved.values()) or not rate_per_s:
            return Refusal(time.line, "nothing was moved: the rates are zero")
        warnings: tuple[str, ...] = ()
        if seconds < UNCERTAIN:
            warnings = (f"Times are whole seconds: with {seconds} s the rates are uncertain by {100 / seconds:.0f} %.",)
        return Run(
            "postmark",
            time.line,
            throughput_mib_s=sum(moved.values()),
            ops_per_s=float(rate_per_s),
            duration_s=float(seconds),
            parameters=_parameters(report),
            warnings=warnings,
        )


def _parameters(report: Report) -> dict[str, str | int | float]:
    files, transactions, blocks = (report.last(label) for label in _SETTINGS)
    parameters = {
        "files": files and files.match[1],
        "transactions": transactions and transactions.match[1],
        "read_block_bytes": blocks and blocks.match[1],
        "write_block_bytes": blocks and blocks.match[2],
    }
    return {name: int(text) for name, text in parameters.items() if text is not None}
