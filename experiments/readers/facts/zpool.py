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
from collections.abc import Iterator

from experiments.readers.base import Fact, Reading, Refusal, TooMuch, lines_of, text_of, whole_or_nothing

MAX_ROWS = 5_000
MAX_LINE = 300

_KEY = re.compile(r"\s{0,8}(pool|state|scan|errors): {1,4}(.{1,200})")
_ROW = re.compile(
    r"(\t?)( {0,12})([\w./:\-]{1,120})"
    r"(?: {1,40}(ONLINE|DEGRADED|FAULTED|OFFLINE|UNAVAIL|REMOVED|AVAIL|INUSE)\b.{0,100})?$"
)
_KINDS = re.compile(r"(mirror|raidz[123]?|draid[123]?\S{0,40}|spare|replacing)-\d{1,4}$")
_CLASSES = ("logs", "cache", "spares", "special", "dedup")


class Zpool:
    name = "zpool"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**16]
        return b"pool: " in start and b"state: " in start and b"READ WRITE CKSUM" in start

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        facts: list[Fact] = []
        settings: list[list[Fact]] = []  # of each pool
        pool: _Pool | None = None
        rows = 0
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].rstrip()
            if match := _KEY.match(line):
                if match[1] == "pool":
                    if pool:
                        facts += pool.facts()
                        settings.append([*pool.settings()])
                    pool = _Pool(match[2].strip()[:80], number)
                elif pool and match[1] in ("state", "errors"):
                    pool.stated.append((number, match[1], match[2].strip()))
                if pool:
                    pool.in_config = False
            elif pool and line.split()[:2] == ["NAME", "STATE"]:
                pool.in_config = True
            elif pool and pool.in_config and line.strip() and (match := _ROW.match(line)):
                rows += 1
                if rows > MAX_ROWS:
                    raise TooMuch(rows, "rows of pools", MAX_ROWS)
                pool.take(number, len(match[2]), match[3], match[4] or "")
        if pool:
            facts += pool.facts()
            settings.append([*pool.settings()])
        if len(settings) == 1:
            facts += settings[0]
        if not facts:
            return Reading(self.name, refused=(Refusal(None, "there is no pool in the text"),))
        return Reading(self.name, facts=tuple(facts))


class _Pool:
    """One pool: its parts by class, each with its number of disks."""

    def __init__(self, name: str, line: int) -> None:
        self.name, self.line = name, line
        self.in_config = False
        self.stated: list[tuple[int, str, str]] = []
        self.group = "data"
        self.parts: dict[str, list[tuple[int, str, int]]] = {}  # class to (line, kind, disks)

    def take(self, line: int, indent: int, name: str, state: str) -> None:
        if not state and name in _CLASSES:
            self.group = name
        elif indent == 0 and name == self.name:
            self.group = "data"
        elif indent <= 2:
            kind = _KINDS.match(name)
            self.parts.setdefault(self.group, []).append((line, kind[1] if kind else "disk", 0 if kind else 1))
        elif (parts := self.parts.get(self.group)) and indent == 4:
            at, kind_name, disks = parts[-1]
            parts[-1] = (at, kind_name, disks + 1)

    def facts(self) -> Iterator[Fact]:
        about = f"pool {self.name}"
        for line, name, value in self.stated:
            yield Fact(about, name, value[:200], line)
        for group, parts in self.parts.items():
            layouts: dict[str, int] = {}
            for _, kind, disks in parts:
                layout = "disk" if kind == "disk" else f"{kind} of {disks}"
                layouts[layout] = layouts.get(layout, 0) + 1
            told = ", ".join(f"{count} x {layout}" for layout, count in layouts.items())
            yield Fact(about, "layout" if group == "data" else group, told, parts[0][0])

    def settings(self) -> Iterator[Fact]:
        """Yield layout and further devices, where KDB has a word for them."""
        parts = self.parts.get("data", [])
        kinds = {"draid" if kind.startswith("draid") else kind for _, kind, _ in parts}
        several = len(parts) > 1
        names = {
            "disk": "stripe" if several else "single",
            "mirror": "striped-mirrors" if several else "mirror",
            "raidz": "raidz1",
        }
        if len(kinds) == 1 and (kind := kinds.pop()) not in ("spare", "replacing"):
            yield Fact(f"pool {self.name}", "pool_layout", names.get(kind, kind), parts[0][0], "pool_layout")
        beside = [word for group, word in (("logs", "slog"), ("special", "special")) if group in self.parts]
        devices = "-".join(beside) or ("cache" if "cache" in self.parts else "none")
        if parts:
            yield Fact(f"pool {self.name}", "pool_devices", devices, parts[0][0], "pool_devices")
