"""AS SSD Benchmark's text, as its menu copies it: English, versions 1.7 to 2.0.

    AS SSD Benchmark 2.0.7316.34247
    ------------------------------
    Name: EXAMPLE SSD
    ------------------------------
    Sequential:                         with rates, "16MB"
    ------------------------------
    Read: 2468.65 MB/s                  154.29 iops
    Write: 1077.41 MB/s                 67.34 iops
    4K:  ...  4K-64Threads:  ...
    Access Times:                       with rates, "512B"
    ------------------------------
    Read: 0.098 ms                      10204 iops
    Score:
    ------------------------------
    Read: 753 ...

- MB is 2**20 bytes: the same test in rates has 256 requests of 4 KiB, and a sixteenth of one of 16 MiB, to each.
- Below 4K-64Threads 64 requests are under way; else one.
- The text says nothing of the file's size: 1 GB unless it was set otherwise.

The two texts of one test, in MB/s and in rates, count once: their scores are the same.

Source: two public outputs of 2.0.7316, one of them in both forms.
"""

import re
from collections.abc import Iterator

from ..base import Refusal, Run, text_of
from ..reader import Outcome, Report, ReportReader, System, ToolVersion

AGAIN = "the test of a text above once more, in its other form: it counts once"
NO_TEST = "below it stands no test in English that has a result: switch its language and copy again"

# Section: block size, whether places are at random, and how many requests are under way.
_TESTS = {
    "Sequential": (16 * 2**20, False, 1),
    "4K": (4096, True, 1),
    "4K-64Threads": (4096, True, 64),
    "Access Times": (512, True, 1),
}
_SAME = {"16MB": "Sequential", "512B": "Access Times", "4K-64Thrd": "4K-64Threads", "Access Time": "Access Times"}


class AsSsd(ReportReader):
    name = "as-ssd"
    counted, systems = "figures", "disks"
    nothing = "the line with the program's version is missing"
    begins = "banner"
    labels = {
        "banner": re.compile(r"AS SSD Benchmark (\d[\w.]{0,30})$"),
        "section": re.compile(r"(Sequential|16MB|4K-64(?:Threads|Thrd)|4K|Access Times?|512B|Score):?$"),
        "name": re.compile(r"Name: (.{1,80})$"),
        "figure": re.compile(r"(Read|Write|Total): (\d{1,9}(?:[.,]\d{1,4})?)( MB/s| iops| ms|)$"),
        "row": re.compile(r"(?:Read|Write): .{0,400}"),
    }

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**18]
        return b"AS SSD Benchmark" in start and any(
            self.labels["banner"].match(line.strip()) for line in text_of(start).splitlines()[:20_000]
        )

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        """Yield each test once: its text in MB/s and that in rates have the same scores."""
        seen: set[tuple[str, ...]] = set()
        for report in self.reports(lines):
            banner = report.first("banner") if isinstance(report, Report) else None
            if not isinstance(report, Report) or not banner:
                continue
            disk, scores = _disk_and_scores(report)
            yield ToolVersion(banner.match[1])
            yield System(disk, banner.line)
            if scores and (banner.match[1], disk, *scores) in seen:
                yield Refusal(banner.line, AGAIN)
                continue
            seen.add((banner.match[1], disk, *scores))
            yield from self.judge(report)

    def judge(self, report: Report) -> Iterator[Outcome]:
        banner, section = report.hits[0], ""
        figures: dict[tuple[str, str], tuple[int, float, str]] = {}  # of section and direction
        for hit in report.hits[1:]:
            if hit.label == "section":
                section = _SAME.get(hit.match[1], hit.match[1])
            elif section in ("", "Score"):
                continue
            elif hit.label == "figure" and hit.match[3]:
                value = float(hit.match[2].replace(",", "."))
                figures[section, hit.match[1].lower()] = hit.line, value, hit.match[3].strip()
            elif not hit.match[0].startswith(("Name", "Total")):
                reason = f"a line of results that is cut, or has no result: {hit.match[0][:80]!r}"
                yield Refusal(hit.line, reason)
        for section, (block, is_random, queue) in _TESTS.items():
            for verb in ("read", "write"):
                if (section, verb) not in figures:
                    continue
                line, value, unit = figures[section, verb]
                if not value:
                    yield Refusal(line, f"0 {unit} is no result")
                    continue
                is_access = section == "Access Times"
                yield Run(
                    self.name,
                    line,
                    throughput_mib_s=value if unit == "MB/s" else None,
                    ops_per_s=value if unit == "iops" and not is_access else None,
                    latency_ms=value if unit == "ms" else 1000 / value if is_access and unit == "iops" else None,
                    operation=f"random-{verb}" if is_random else verb,
                    block_size_bytes=block,
                    tool_version=banner.match[1],
                    parameters={"queue_depth": queue},
                )
        if not figures:
            yield Refusal(banner.line, NO_TEST)
        elif missing := [name for name in _TESTS if len([1 for of, _ in figures if of == name]) < 2]:
            yield Refusal(banner.line, f"the test did not finish, or its text is cut: {', '.join(missing)}")


def _disk_and_scores(report: Report) -> tuple[str, list[str]]:
    disk, section = "", ""
    scores = []
    for hit in report.hits:
        if hit.label == "section":
            section = hit.match[1]
        elif hit.label == "name" and not section:
            disk = hit.match[1].strip()
        elif hit.label == "figure" and section == "Score":
            scores.append(hit.match[2])
    return disk, scores
