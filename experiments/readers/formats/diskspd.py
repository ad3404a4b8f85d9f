"""DiskSpd's text and XML, 2.0 to 2.2: one run a timespan.

    Command Line: diskspd.exe -b4K -r -o32 -t4 -w30 -L -d30 C:\\test.dat
        path: 'C:\\test.dat'
            performing mix test (read/write ratio: 70/30)        or: performing read test, performing write test
            block size: 4096                                     2.1 and later: 4KiB
            using random I/O (alignment: 4096)                   or: using sequential I/O (stride: 65536)
            number of outstanding I/O operations: 32             2.1: ... per thread: 32
            threads per file: 4
    Results for timespan 1:
    actual test time:   30.00s
    Total IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
    total:       1234567890 |       301407 |      39.25 |   10046.90 |    3.186 |     1.234

    <Results><System><Tool><Version>2.0.21a</Version>...<Profile>...<Target><BlockSize>4096</BlockSize>...
      <TimeSpan><TestTimeSeconds>30.00</TestTimeSeconds>...<Thread><Target><ReadBytes>...<ReadCount>...

- Throughput and rate are computed from bytes, I/Os and time; the text prints two decimals of them.
- Latencies are ms, there with -L only. Percentiles are those of all I/O.
- With several targets of different settings nothing is said of operation and block size but "mixed".

Source: ResultParser.cpp and XmlResultParser.cpp of DiskSpd 2.0; its manual, and outputs of 2.0 and 2.1.
"""

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from ..base import LineNumbers, Refusal, Run, lines_of, text_of
from ..reader import Outcome, Reader, ToolVersion
from ..xml_tree import root_of, text_at

MAX_LINE = 500

_COMMAND = re.compile(r"Command Line: .{0,400}?diskspd", re.IGNORECASE)
_RESULTS = re.compile(r"Results for timespan (\d{1,6}):")
_TIME = re.compile(r"actual test time:\s{0,20}(\d{1,9}(?:\.\d{1,3})?)s")
_PART = re.compile(r"(Total|Read|Write) IO$")
_TOTAL = re.compile(
    r"total:\s{0,20}(\d{1,20}) \|\s{0,20}(\d{1,18}) \|\s{0,20}(\d{1,12}\.\d{1,4}) \|\s{0,20}(\d{1,12}\.\d{1,4})"
    r"(?: \|\s{0,20}(\d{1,12}\.\d{1,6}))?"
)
_COLUMNS = re.compile(r"thread \|")
_PERCENTILE = re.compile(r"(50|95|99)th \|[^|]{1,20}\|[^|]{1,20}\|\s{0,20}(\d{1,12}\.\d{1,6})")
_SIZE = re.compile(r"(\d{1,15})([KMG]?)(?:iB|B)?", re.IGNORECASE)
_ERROR = re.compile(r"(?:ERROR|Error opening file|There has been an error)\b.{0,200}")
_PRINTED = {
    "mix": re.compile(r"performing (read|write|mix) test(?: \(read/write ratio: (\d{1,3})/(\d{1,3})\))?"),
    "block": re.compile(r"block size: (\d{1,15}[KMG]?(?:iB|B)?)\b"),
    "access": re.compile(r"using (random|sequential|interlocked sequential) I/O"),
    "depth": re.compile(r"number of outstanding I/O operations(?: per thread)?: (\d{1,6})"),
    "threads": re.compile(r"(?:threads per file|total threads): (\d{1,6})"),
    "cache": re.compile(r"(software cache disabled|using software cache)"),
    "write_cache": re.compile(r"(hardware write cache disabled|using hardware write cache)"),
}
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?", re.ASCII)


class DiskSpd(Reader):
    name = "diskspd"
    counted, limit = "timespans", 1_000
    nothing = "there are no results of a timespan: DiskSpd did not finish"
    signs = ((b"<TestTimeSeconds>", b"<Results>"), (b"Results for timespan",))

    def recognises(self, data: bytes) -> bool:
        return super().recognises(data) or bool(_COMMAND.search(text_of(data[: self.signs_within])))

    def parse(self, data: bytes) -> Iterator[Outcome]:
        if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<":
            root = root_of(data)
            yield ToolVersion(text_at(root, "System/Tool/Version")[:40])
            yield from _parse_xml(root, text_of(data))
        else:
            yield from _parse_text(text_of(data))


def _run(
    line: int, seconds: float, total: tuple[int, int, float | None], moved_by: dict[str, int], settings: dict[str, Any]
) -> Run | Refusal:
    """Return one run. total : bytes, I/Os, mean latency (ms); moved_by : "Read" and "Write" to bytes"""
    moved, count, latency = total
    if not (seconds and moved and count):
        return Refusal(line, "nothing was read or written: bytes, I/Os or the time are zero")
    done = [name.lower() for name in ("Read", "Write") if moved_by.get(name)]
    direction = done[0] if len(done) == 1 else "mixed"
    access = settings.pop("access", None)
    could_be: tuple[str, ...] = ()
    operation = f"random-{direction}" if access == "random" else direction
    if access is None and direction != "mixed":
        operation, could_be = "", (direction, f"random-{direction}")
    elif direction == "mixed":
        operation = "mixed"
    return Run(
        workload="diskspd",
        line=line,
        throughput_mib_s=moved / seconds / 2**20,
        ops_per_s=count / seconds,
        latency_ms=latency or None,
        duration_s=seconds,
        operation=operation,
        could_be=could_be,
        block_size_bytes=settings.pop("block", None),
        percentiles_ms=settings.pop("percentiles", {}),
        parameters={name: value for name, value in settings.items() if value is not None},
    )


# Text


def _parse_text(text: str) -> Iterator[Run | Refusal]:
    settings: dict[str, set[Any]] = {}
    seconds, part, line = 0.0, "", 0
    totals: dict[str, tuple[int, int, float | None]] = {}
    percentiles: dict[str, float] = {}
    has_latency, is_open = False, False

    def judged() -> Iterator[Run | Refusal]:
        if "Total" in totals:
            moved_by = {name: total[0] for name, total in totals.items()}
            of_run = {**_common_settings(settings), "percentiles": dict(percentiles)}
            yield _run(line, seconds, totals["Total"], moved_by, of_run)
        elif is_open:
            yield Refusal(line, "the results are cut: the total of all I/O is missing")

    for number, raw in lines_of(text):
        line_text = raw[:MAX_LINE].strip()
        if error := _ERROR.match(line_text):
            yield Refusal(number, f"DiskSpd failed: {error[0]}")
        elif _COMMAND.match(line_text) or _RESULTS.match(line_text):
            yield from judged()
            totals, percentiles, part, is_open = {}, {}, "", bool(_RESULTS.match(line_text))
            seconds, line, has_latency = 0.0, number, False
            if not is_open:
                settings = {}
        elif match := _TIME.match(line_text):
            seconds = float(match[1])
        elif match := _PART.match(line_text):
            part = match[1]
        elif _COLUMNS.match(line_text):
            has_latency = "AvgLat" in line_text
        elif part and (match := _TOTAL.match(line_text)):
            latency = float(match[5]) if has_latency and match[5] else None
            if (wrong := _inconsistency(int(match[1]), seconds, float(match[3]))) and part == "Total":
                yield Refusal(number, wrong)
                is_open = False
            else:
                totals[part] = (int(match[1]), int(match[2]), latency)
                line = number if part == "Total" else line
            part = ""
        elif match := _PERCENTILE.match(line_text):
            if float(match[2]):  # else below a microsecond
                percentiles.setdefault(f"p{match[1]}", float(match[2]))
        elif not is_open:
            for name, pattern in _PRINTED.items():
                if match := pattern.search(line_text):
                    settings.setdefault(name, set()).add(match[1] if name != "mix" else match[2] or match[1])
    yield from judged()


def _inconsistency(moved: int, seconds: float, printed: float) -> str | None:
    """Return why bytes, time and the printed MiB/s do not fit one another; None where they do."""
    if seconds and printed >= 1 and abs(moved / seconds / 2**20 / printed - 1) > 0.02:
        return f"{moved:,} bytes in {seconds:g} s are not the {printed:g} MiB/s beside them"
    return None


def _common_settings(settings: dict[str, set[Any]]) -> dict[str, Any]:
    """Return the settings that all targets share."""
    one = {name: next(iter(values)) for name, values in settings.items() if len(values) == 1}
    size = _SIZE.fullmatch(one.get("block", ""))
    mix = {"read": "100", "write": "0"}.get(one.get("mix", ""), one.get("mix", ""))
    return {
        "block": int(size[1]) * 1024 ** " KMG".index(size[2].upper() or " ") if size else None,
        "access": one["access"].replace("interlocked ", "") if "access" in one else None,
        "queue_depth": int(one["depth"]) if "depth" in one else None,
        "threads": int(one["threads"]) if "threads" in one else None,
        "read_percent": int(mix) if mix.isdigit() else None,
        "software_cache": one.get("cache"),
        "write_cache": one.get("write_cache"),
    }


# XML


def _parse_xml(root: Element, text: str) -> Iterator[Run | Refusal]:
    numbers = LineNumbers(text)
    lines = [numbers.at(match.start()) for match in re.finditer("<TestTimeSeconds>", text)]
    profiles = root.findall("Profile/TimeSpans/TimeSpan")
    for number, span in enumerate(root.findall("TimeSpan")):
        line = lines[number] if number < len(lines) else 1
        seconds = _number(text_at(span, "TestTimeSeconds"))
        moved_by = {"Read": 0, "Write": 0}
        count, waited_ms, has_latency = 0.0, 0.0, True  # I/Os, and the sum of their latencies
        for target in span.findall("Thread/Target"):
            for name in moved_by:
                done = _number(text_at(target, f"{name}Count"))
                mean = text_at(target, f"Average{name}LatencyMilliseconds")
                has_latency &= bool(mean) or not done
                moved_by[name] += int(_number(text_at(target, f"{name}Bytes")))
                count += done
                waited_ms += _number(mean) * done
        latency = waited_ms / count if has_latency and count else None
        profile = profiles[number] if number < len(profiles) else None
        settings = _settings(profile, text_at(span, "ThreadCount")) if profile is not None else {}
        percentiles = {
            f"p{round(percent)}": value
            for bucket in span.findall("Latency/Bucket")
            if (percent := _number(text_at(bucket, "Percentile"))) in (50, 95, 99)
            and (value := _number(text_at(bucket, "TotalMilliseconds")))
        }
        total = sum(moved_by.values()), int(count), latency
        yield _run(line, seconds, total, moved_by, {**settings, "percentiles": percentiles})


def _settings(profile: Element, threads: str) -> dict[str, Any]:
    targets = profile.findall("Targets/Target")

    def one(path: str) -> str | None:
        values = {text_at(target, path) for target in targets}
        return next(iter(values)) or None if len(values) == 1 else None

    is_random = {bool(text_at(target, "Random") or text_at(target, "RandomRatio")) for target in targets}
    block, depth, ratio = (one(path) for path in ("BlockSize", "RequestCount", "WriteRatio"))
    return {
        "block": int(_number(block)) or None if block else None,
        "access": ("random" if is_random == {True} else "sequential") if len(is_random) == 1 else None,
        "queue_depth": int(_number(depth)) if depth else None,
        "threads": int(_number(threads)) or None,
        "read_percent": 100 - int(_number(ratio)) if ratio else None,
    }


def _number(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else 0.0
