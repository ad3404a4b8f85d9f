"""The words of series over time, and of their changes. No Django."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from kdb.content import Among
from modelling.evidence.words import column
from modelling.own_lab.content import PROGRAMS

NEW, ACKNOWLEDGED, EXCUSED, CONFIRMED = STATES = "new", "acknowledged", "excused", "confirmed"
STEADY, SLOWER, FASTER, UNKNOWN = "steady", "slower", "faster", "not known"
SPEEDS = STEADY, SLOWER, FASTER, f"perhaps {SLOWER}", f"perhaps {FASTER}", UNKNOWN
DEEDS = {"acknowledge": ACKNOWLEDGED, "excuse": EXCUSED, "confirm": CONFIRMED, "reopen": NEW}


@dataclass(frozen=True)
class Series:
    """One thing that is measured again and again: all of it the same, but for the releases of what it runs on."""

    component: ClassVar[str] = "MeasuredSeries"

    machine: Annotated[str, "As its owner calls it."]
    load: Annotated[str, "A workload, or the load of which observed machine."]
    engine: str
    seconds: Annotated[int, "Of one run."]
    place: Annotated[str, "The disk or folder it is on."]
    settings: Annotated[Mapping[str, str], "Of the disk's path, without releases."]
    job: Annotated[str, "Digest of the load of an observed machine; empty: the load is a workload."]
    set_mib: Annotated[int, "MiB of the files of a run; 0: as the load has them."] = 0

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> "Series":
        """Return the series that a row keeps beside its name."""
        return cls(**{name: value for name, value in about.items() if name != "name"})

    @property
    def key(self) -> str:
        """Return what the series is known by in addresses."""
        about = {name: value for name, value in vars(self).items() if name != "set_mib" or value}  # as before sizes
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def unit(self) -> str:
        """Return what its values are, a second."""
        return "transactions/s" if self.engine in PROGRAMS else "ops/s"

    @property
    def where(self) -> str:
        """Return the place and its settings in words: vdb, guest file system ext4."""
        size = [f"{self.set_mib:,} MiB of files"] if self.set_mib else []
        return ", ".join([self.place, *(f"{column(name)} {value}" for name, value in self.settings.items()), *size])


@dataclass(frozen=True)
class Fact:
    """One thing that was new at a point, against the one before."""

    component: ClassVar[str] = "ChangedFact"

    name: str
    before: Annotated[str, "Empty: it was not known."]
    after: Annotated[str, "Empty: it is not known."]


@dataclass(frozen=True)
class Point:
    """One sitting in a series."""

    component: ClassVar[str] = "SeriesPoint"

    sitting: int
    at: Annotated[str, "When it ended, ISO 8601, UTC."]
    value: Annotated[float | None, "Median of its runs that count, in the unit of the history; null: none counts."]
    slowest: Annotated[float | None, "Of its runs that count."]
    fastest: Annotated[float | None, "Of its runs that count."]
    runs: Annotated[int, "That count."]
    disturbed: Annotated[int, "Runs that were disturbed: shown, and counted in nothing."]
    facts: Annotated[tuple[Fact, ...], "What was new."]


@dataclass(frozen=True)
class Level:
    """A time between two changes, suspected or confirmed."""

    component: ClassVar[str] = "SeriesLevel"

    sitting: Annotated[int, "Its first."]
    at: Annotated[str, "When that ended."]
    points: Annotated[int, "That count."]
    value: Annotated[float, "The geometric mean of its points."]
    ratio: Annotated[float | None, "Speed as a multiple of the level before; null: it is the first."]
    low: Annotated[float | None, "Lower end of the ratio's 95 % interval."]
    high: Annotated[float | None, "Upper end of it."]
    is_confirmed: Annotated[bool | None, "Whether it was measured side by side, else it is suspected; null: the first."]


@dataclass(frozen=True)
class Drift:
    """A slow change that no day stands out in."""

    component: ClassVar[str] = "SeriesDrift"

    ratio: Annotated[float, "Speed as a multiple of 30 nights earlier."]
    low: Annotated[float, "Lower end of its 95 % interval."]
    high: Annotated[float, "Upper end of it."]
    sentence: str


@dataclass(frozen=True)
class Current:
    """How fast a series is now, and whether it changed lately."""

    component: ClassVar[str] = "CurrentSpeed"

    key: str
    name: Annotated[str, "Of what is measured."]
    load: Annotated[str, "A workload, or the load of which observed machine."]
    point: Annotated[Point | None, "The newest that counts; null: there is none."]
    state: Annotated[str, Among(SPEEDS)]
    not_known: Annotated[str, "Why not: 5 of 17 nights, or since when there was none; empty: the state is known."]
    change: Annotated[int | None, "The change or suspicion that the state tells, of the last 30 days."]
    is_new: Annotated[bool, "Whether it is a change, and no member has said anything of it."]
    unit: str
    sentence: str


@dataclass(frozen=True)
class History:
    """A series over time: its points, oldest first, and its levels."""

    component: ClassVar[str] = "SeriesHistory"

    key: str
    series: Series
    name: Annotated[str, "Of what is measured, as last called."]
    unit: str
    current: Current
    points: tuple[Point, ...]
    levels: tuple[Level, ...]
    drift: Annotated[Drift | None, "Where its end drifts; null: it does not, as far as can be told."]


@dataclass(frozen=True)
class SeriesLine:
    """A series in a list."""

    component: ClassVar[str] = "SeriesLine"

    key: str
    series: Series
    name: Annotated[str, "Of what is measured, as last called."]
    sittings: int
    last: Annotated[str, "When the newest of them ended, ISO 8601, UTC."]


@dataclass(frozen=True)
class Handling:
    """The judgement of a laboratory's members on a change."""

    component: ClassVar[str] = "ChangeHandling"

    state: Annotated[str, Among(STATES)]
    reason: Annotated[str, "Why it is excused."]
    excused_until: Annotated[str | None, "Last day of the excuse; after it the change is new again."]
    by: Annotated[str, "User name; empty: nobody said anything."]


@dataclass(frozen=True)
class Tally:
    """Further series, and how many of them changed as this one did."""

    component: ClassVar[str] = "SeriesTally"

    series: int
    laboratories: int
    alike: Annotated[int, "Series that became slower, or faster, as this one did: surely, by their 95 % intervals."]


@dataclass(frozen=True)
class Cause:
    """A fact that changed with the speed, and what further series say of it."""

    component: ClassVar[str] = "ChangeCause"

    fact: Fact
    took: Annotated[Tally, "Series in which it changed to the same."]
    without: Annotated[Tally, "Series in which it stayed as it was at that time."]
    ratio: Annotated[float | None, "Speed that taking it leads to, against series without it; null: none took it."]
    low: Annotated[float | None, "Lower end of the ratio's 95 % interval."]
    high: Annotated[float | None, "Upper end of it."]
    sentence: str
