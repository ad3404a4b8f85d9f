"""The texts of CrystalDiskMark, versions 3 to 8, and of KDiskMark, 1.x to 3.x.

    CrystalDiskMark 8.0.1 x64 (C) 2007-2021 hiyohiyo
    * MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
    [Read]
      SEQ    1MiB (Q=  8, T= 1):   531.458 MB/s [    506.8 IOPS] < 15726.77 us>        (7 and later)
      Random Read 4KiB (Q= 32,T= 1) :    33.730 MB/s [  8234.9 IOPS]                    (5 and 6)
              Random Read 4KB (QD=32) :    33.730 MB/s [  8234.9 IOPS]                  (3 and 4)
       Test: 1 GiB (x5) [E: 96% (894/932GiB)]

                         KDiskMark (3.0.0): https://github.com/JonMagon/KDiskMark     without a version in 1.0
    [Read]
    Sequential   1 MiB (Q=  8, T= 1):   508.897 MB/s [    497.0 IOPS] < 13840.05 us>
       Test: 1 GiB (x5) [Measure: 5 sec / Interval: 5 sec]

- CrystalDiskMark's MB/s is 10**6 bytes a second in every version. A figure is the best of the repetitions, not
  their mean.
- KDiskMark's header says so, too, but its "MB/s" is 2**20 bytes in the first versions and 1000 KiB in later ones:
  which it is shows in its ratio to rate times block size.

Source: the header of CrystalDiskMark's text; crystalmark.info; the reports in KDiskMark's own documentation, of 1.0,
1.6.0 and 3.0.0; a public one of 3.2.0.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator

from kdb.units import convert

from ..base import Refusal, Run, text_of
from ..reader import Outcome, Report, ReportReader

FITS = 0.01  # how far KDiskMark's throughput may be from rate times block size; the units are 2.4 % apart

_UNITS = (1e6 / 2**20, 1000 / 1024, 1.0)  # what KDiskMark's "MB/s" may be, MiB/s
_BEST = "A figure is the best of the repetitions, not their mean."
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?", re.ASCII)
_CRYSTAL = r"CrystalDiskMark (\d[\w.]{0,20})\b(?=.{0,40}(?:\(C\)|hiyohiyo|$))"
_KDE = r"KDiskMark(?: \((\d[\w.\-]{0,20})\))?: https?://"
_SECTION = re.compile(r"\[(Read|Write|Mix)\]")
_FOOTER = re.compile(r"Test ?: (\d{1,9}) ?([MG])i?B\b.{0,120}?\(x(\d{1,3})\)")


class _DiskMark(ReportReader):
    """Rows below [Read], [Write] or [Mix], and a footer that holds for all of them."""

    counted = "figures"
    nothing = "there is no line with a result: the text is cut"
    begins = "banner"
    banner: str
    cut: str  # what may be wrong with a row that is cut
    warnings: tuple[str, ...] = ()

    def recognises(self, data: bytes) -> bool:
        return re.search(self.banner, text_of(data[: 2**18])) is not None

    @abstractmethod
    def figures(self, row: dict[str, str], block: int | None, version: str | None) -> tuple[float, float | None] | str:
        """Return MiB/s and requests a second of a row, or why it is no result.

        version : "" where the banner has none, None where there is no banner
        """

    def judge(self, report: Report) -> Iterator[Outcome]:
        banner, footer = report.first("banner"), report.last("footer")
        version = banner.match[1] or "" if banner else None
        shared = {}
        if footer:
            size = int(footer.match[1]) * 2 ** (30 if footer.match[2] == "G" else 20)
            shared = {"file_size_bytes": size, "repeats": int(footer.match[3])}
        section = ""
        for hit in report.hits:
            if hit.label == "section":
                section = "mixed" if hit.match[1] == "Mix" else hit.match[1].lower()
            elif hit.label == "cut":
                yield Refusal(hit.line, f"a line of results that is {self.cut}: {hit.match.string[:80]!r}")
            elif hit.label.endswith("row"):
                yield self._judge_row(hit.line, hit.match.groupdict(), section, version, shared)

    def _judge_row(
        self, line: int, row: dict[str, str], section: str, version: str | None, shared: dict[str, int]
    ) -> Run | Refusal:
        verb = row.get("verb", section).lower()
        if not verb:
            return Refusal(line, "above the line stands neither [Read], [Write] nor [Mix]")
        block = int(row["size"]) * 1024 ** " KM".index(row["power"]) if row["size"] else None
        figures = self.figures(row, block, version)
        if isinstance(figures, str):
            return Refusal(line, figures)
        queue, threads = row["queue"] or row.get("depth"), row["threads"]
        parameters = {"queue_depth": int(queue or 0), "threads": int(threads or 0), **shared}
        latency = _positive(row.get("latency"))
        return Run(
            self.name,
            line,
            *figures,
            latency_ms=latency and latency / 1000,
            operation=verb if row["access"].lower().startswith("seq") else f"random-{verb}",
            block_size_bytes=block,
            tool_version=version or "",
            working_set_bytes=shared.get("file_size_bytes"),
            parameters={name: value for name, value in parameters.items() if value},
            warnings=self.warnings,
        )


class CrystalDiskMark(_DiskMark):
    name = "crystaldiskmark"
    limit = 20_000
    banner = _CRYSTAL
    cut = "cut, or changed"
    warnings = (_BEST,)
    labels = {
        "banner": re.compile(rf".{{0,300}}?{_CRYSTAL}"),
        "section": _SECTION,
        "footer": _FOOTER,
        "row": re.compile(
            r"(?P<access>SEQ|RND)\s+(?P<size>\d{1,6})(?P<power>[KM])iB \(Q= *(?P<queue>\d{1,5}), ?"
            r"T= *(?P<threads>\d{1,4})\) ?:\s*(?P<speed>\S{1,20}) MB/s"
            r"(?: \[ *(?P<iops>\S{1,20}) IOPS\])?(?: < *(?P<latency>\S{1,20}) us>)?"
        ),
        "old row": re.compile(
            r"(?P<access>Sequential|Random) (?P<verb>Read|Write)(?: (?P<size>\d{1,6})(?P<power>[KM])i?B)?"
            r"(?: \((?:QD= *(?P<depth>\d{1,5})|(?:Q= *(?P<queue>\d{1,5}), ?)?T= *(?P<threads>\d{1,4}))\))? *:"
            r"\s*(?P<speed>\S{1,20}) MB/s(?: \[ *(?P<iops>\S{1,20}) IOPS\])?"
        ),
        "cut": re.compile(r"(?:SEQ|RND|Sequential|Random)\b.{0,40}(?:\(Q|iB\b|: )"),
    }

    def figures(self, row: dict[str, str], block: int | None, version: str | None) -> tuple[float, float | None] | str:
        speed = _positive(row["speed"])
        if speed is None or not version:
            return f"a throughput of {row['speed']} MB/s is no result"
        return convert(speed, "MB/s", "MiB/s"), _positive(row["iops"])


class KDiskMark(_DiskMark):
    name = "kdiskmark"
    banner = _KDE
    cut = "cut, or has no rate"
    labels = {
        "banner": re.compile(_KDE),
        "section": _SECTION,
        "footer": _FOOTER,
        "row": re.compile(
            r"(?P<access>Sequential|Random) {1,12}(?P<size>\d{1,6}) (?P<power>[KM])iB \(Q= {0,4}(?P<queue>\d{1,5}),"
            r" T= {0,4}(?P<threads>\d{1,4})\): {0,12}(?P<speed>\d{1,9}(?:\.\d{1,4})?) MB/s"
            r" \[ {0,12}(?P<iops>\d{1,12}(?:\.\d{1,3})?) IOPS\](?: < {0,12}(?P<latency>\d{1,12}(?:\.\d{1,3})?) us>)?"
        ),
        "cut": re.compile(r"(?:Sequential|Random) {1,12}\d"),
    }

    def figures(self, row: dict[str, str], block: int | None, version: str | None) -> tuple[float, float | None] | str:
        if version is None:
            return "above the line stands neither [Read], [Write] nor [Mix]"
        speed, iops = float(row["speed"]), float(row["iops"])
        if not (block and iops and speed):
            return f"{row['speed']} MB/s at {row['iops']} IOPS is no result"
        ratio = speed * 2**20 / (iops * block)  # of a MiB/s to what the rate says
        factor = min(_UNITS, key=lambda unit: abs(ratio * unit - 1))
        if abs(ratio * factor - 1) > FITS:
            return f"{row['speed']} MB/s are not {row['iops']} IOPS of {row['size']} {row['power']}iB in any unit"
        return speed * factor, iops


def _positive(text: str | None) -> float | None:
    """Return a number above zero; None for anything else, also for what the program prints as 0."""
    return float(text) or None if text and _NUMBER.fullmatch(text) else None
