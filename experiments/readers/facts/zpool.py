"""zpool status: pools of ZFS with their state and layout.

      pool: tank
     state: ONLINE
    config:
            NAME        STATE     READ WRITE CKSUM
            tank        ONLINE       0     0     0
              mirror-0  ONLINE       0     0     0
                sda     ONLINE       0     0     0
                sdb     ONLINE       0     0     0
            logs
              nvme0n1p1 ONLINE       0     0     0
    errors: No known data errors

Below the pool stand its parts by two blanks, below these their disks by four; a disk by itself is a part of one. Of one
pool alone its layout, and the further devices beside its data disks, fill the fields of a configuration.

Source: the manual of OpenZFS 2.1 (zpool-status) and its outputs.
"""

import re
from collections import Counter
from collections.abc import Iterator

from ..base import Fact
from ..reader import Outcome, Report, ReportReader

_CLASSES = ("logs", "cache", "spares", "special", "dedup")
_KIND = re.compile(r"(mirror|raidz[123]?|draid[123]?\S{0,40}|spare|replacing)-\d{1,4}$")

Parts = dict[str, list[tuple[int, str, int]]]  # class to line, kind and number of disks of each part


class Zpool(ReportReader):
    name = "zpool"
    benchmark, counted = "", "facts"
    nothing = "there is no pool in the text"
    is_indented = True  # how far says what is part of what
    signs_within = 2**16
    signs = ((b"pool: ", b"state: ", b"READ WRITE CKSUM"),)
    begins = "pool"
    labels = {
        "pool": re.compile(r"\s{0,8}pool: {1,4}(.{1,200})"),
        "statement": re.compile(r"\s{0,8}(state|errors): {1,4}(.{1,200})"),
        "other": re.compile(r"\s{0,8}scan: "),
        "config": re.compile(r"\s{0,20}NAME\s{1,80}STATE\b"),
        "row": re.compile(
            r"\t?( {0,12})([\w./:\-]{1,120})"
            r"(?: {1,40}(ONLINE|DEGRADED|FAULTED|OFFLINE|UNAVAIL|REMOVED|AVAIL|INUSE)\b.{0,100})?$"
        ),
    }

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        pools = [report for report in self.reports(lines) if isinstance(report, Report) and report.first("pool")]
        for pool in pools:
            yield from self.judge(pool)
        if len(pools) == 1:
            yield from _settings(*_name_and_parts(pools[0]))

    def judge(self, report: Report) -> Iterator[Outcome]:
        name, parts = _name_and_parts(report)
        for hit in report.all("statement"):
            yield Fact(f"pool {name}", hit.match[1], hit.match[2].strip()[:200], hit.line)
        for group, members in parts.items():
            layouts = Counter("disk" if kind == "disk" else f"{kind} of {disks}" for _, kind, disks in members)
            text = ", ".join(f"{count} x {layout}" for layout, count in layouts.items())
            yield Fact(f"pool {name}", "layout" if group == "data" else group, text, members[0][0])


def _name_and_parts(report: Report) -> tuple[str, Parts]:
    pool = report.hits[0].match[1].strip()[:80]
    parts: Parts = {}
    group, is_config = "data", False
    for hit in report.hits[1:]:
        if hit.label != "row":
            is_config = hit.label == "config"
            continue
        indent, name, state = len(hit.match[1]), hit.match[2], hit.match[3]
        if not is_config:
            continue
        if not state and name in _CLASSES:
            group = name
        elif indent == 0 and name == pool:
            group = "data"
        elif indent <= 2:
            kind = _KIND.match(name)
            parts.setdefault(group, []).append((hit.line, kind[1], 0) if kind else (hit.line, "disk", 1))
        elif indent == 4 and group in parts:
            line, kind_name, disks = parts[group][-1]
            parts[group][-1] = line, kind_name, disks + 1
    return pool, parts


def _settings(pool: str, parts: Parts) -> Iterator[Fact]:
    """Yield layout and further devices of a pool, where KDB has a word for them."""
    if "data" not in parts:
        return
    line, _, _ = parts["data"][0]
    kinds = {"draid" if kind.startswith("draid") else kind for _, kind, _ in parts["data"]}
    is_striped = len(parts["data"]) > 1
    names = {
        "disk": "stripe" if is_striped else "single",
        "mirror": "striped-mirrors" if is_striped else "mirror",
        "raidz": "raidz1",
    }
    if len(kinds) == 1 and (kind := kinds.pop()) not in ("spare", "replacing"):
        yield Fact(f"pool {pool}", "pool_layout", names.get(kind, kind), line, "pool_layout")
    beside = [word for group, word in (("logs", "slog"), ("special", "special")) if group in parts]
    devices = "-".join(beside) or ("cache" if "cache" in parts else "none")
    yield Fact(f"pool {pool}", "pool_devices", devices, line, "pool_devices")
