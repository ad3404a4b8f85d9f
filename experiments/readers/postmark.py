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

from .base import LineNumbers, Outcomes, Reading, Refusal, Run, text_of, whole_or_nothing

MAX_RUNS = 10_000
SHORTEST = 2  # s: a shorter run's rates are rounding
UNCERTAIN = 20  # s: below, the rounding is worth a word

_TIME = re.compile(
    r"^Time:[ \t]{0,80}\n(?:[ \t]{0,80}\n){0,9}[ \t]{0,80}(\d{1,9}) seconds? total[ \t]{0,80}\n(?:[ \t]{0,80}\n){0,9}"
    r"[ \t]{0,80}(\d{1,9}) seconds? of transactions \((\d{1,12}) per second\)",
    re.MULTILINE,
)
_DATA = re.compile(
    r"^[ \t]{0,80}[\d.]{1,20} \w{1,9} (read|written) {1,80}\((\d{1,12}(?:\.\d{1,4})?) (\w{1,9}) per second\)",
    re.MULTILINE,
)
_UNITS = {"bytes": 2**-20, "kilobytes": 2**-10, "megabytes": 1.0, "gigabytes": 2**10}
_VERSION = re.compile(r"PostMark v(\S{1,10})")
_SETTINGS = {
    "files": r"^The base number of files is (\d{1,12})",
    "transactions": r"^Transactions: (\d{1,12})",
    "read_block_bytes": r"^Block sizes are: read=(\d{1,12})",
    "write_block_bytes": r"^Block sizes are: read=\d{1,12} bytes, write=(\d{1,12})",
}


class Postmark:
    name = "postmark"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return b"PostMark v" in start or (b" seconds of transactions (" in start and b"megabytes" in start)

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        text = text_of(data).replace("\r\n", "\n")
        lines = LineNumbers(text)
        match = _VERSION.search(text)
        version = match[1] if match else ""
        outcomes = Outcomes("runs", MAX_RUNS)
        times = list(_TIME.finditer(text))
        for number, time in enumerate(times):
            begin = times[number - 1].end() if number else 0
            end = times[number + 1].start() if number + 1 < len(times) else len(text)
            outcomes.add(_judge(text[begin : time.start()], time, text[time.end() : end], lines.at(time.start())))
        if not times:
            outcomes.add(Refusal(None, "the run did not finish: there is no report of its time"))
        return Reading(self.name, version, self.name, outcomes.runs, outcomes.refused)


def _judge(before: str, time: re.Match[str], after: str, line: int) -> Run | Refusal:
    total, transactions, rate = (int(value) for value in time.groups())
    if total < SHORTEST or transactions < 1:
        return Refusal(line, f"a run of {total} s is too short for a clock of whole seconds; set more transactions")
    moved = {word: float(value) * _UNITS.get(unit, 0) for word, value, unit in _DATA.findall(after)}
    if set(moved) != {"read", "written"}:
        return Refusal(line, "the report is cut: the data read and written are missing")
    if not sum(moved.values()) or not rate:
        return Refusal(line, "nothing was moved: the rates are zero")
    warnings: tuple[str, ...] = ()
    if total < UNCERTAIN:
        warnings = (f"Times are whole seconds: with {total} s the rates are uncertain by {100 / total:.0f} %.",)
    parameters = {name: int(match[1]) for name, pattern in _SETTINGS.items() if (match := _last(pattern, before))}
    return Run(
        workload="postmark",
        line=line,
        throughput_mib_s=sum(moved.values()),
        ops_per_s=float(rate),
        duration_s=float(total),
        parameters=parameters,
        warnings=warnings,
    )


def _last(pattern: str, text: str) -> re.Match[str] | None:
    match = None
    for match in re.finditer(pattern, text, re.MULTILINE):  # noqa: B007 - the last one counts
        pass
    return match
