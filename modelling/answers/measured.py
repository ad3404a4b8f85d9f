"""Lay out the measured ratios of the recommended entry, and published tier lists. No queries, no HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from modelling.evidence.words import STORAGE, listed

from .content import Answer, MeasuredRatio

MOST_DOTS, MOST_LISTS = 6, 3
_TICKS = (0.01, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 5.0, 10.0, 100.0, 1000.0)
_CLOSEST = 22.0  # percent of the axis between two ticks


@dataclass(frozen=True)
class Source:
    """The source of a number or list. slug : of its case study; detail : "2019, hard disks", "" where not stated"""

    slug: str
    title: str
    detail: str


@dataclass(frozen=True)
class Dot:
    """A ratio that one laboratory measured.

    beside : label of the other entry; at : place on the axis, percent; is_advised : whether makers advise the other
    """

    beside: str
    is_same: bool  # whether an earlier line has the same other entry
    source: Source
    ratio: float
    at: float
    derived: bool
    is_advised: bool


@dataclass(frozen=True)
class DotChart:
    """How many times as fast as others an entry was, on one logarithmic axis.

    source : of all dots, None where they have several; one : place of 1 on the axis; ticks : place and ratio
    left_out : number of dots without room; is_advised : whether makers advise the first entry
    """

    first: str
    is_advised: bool
    dots: list[Dot]
    source: Source | None
    one: float
    ticks: list[tuple[float, float]]
    left_out: int


@dataclass(frozen=True)
class Shelves:
    """A published tier list. beside : as in TierList; shelves : name of each tier and its entries"""

    source: Source
    beside: str
    shelves: list[tuple[str, str]]


def dot_charts(answer: Answer, part: int) -> list[DotChart]:
    """Return a chart for each entry whose ratios a part lists: mostly the recommended one alone."""
    rows = [row for row in answer.side_by_side if row.part == part]
    return [_chart(answer, list(group)) for _, group in groupby(rows, key=lambda row: row.first)]


def shelves(answer: Answer) -> list[Shelves]:
    labels = {entry.key: entry.label for entry in answer.entries}
    return [
        Shelves(
            _source(tiers.case_studies, answer.titles, ""),
            tiers.beside,
            [
                (name, listed([labels.get(key, key) for key in keys]))
                for name, keys in (("Best", tiers.best), ("Middle", tiers.middle), ("Worst", tiers.worst))
                if keys
            ],
        )
        for tiers in answer.tier_lists[:MOST_LISTS]
    ]


def _chart(answer: Answer, rows: Sequence[MeasuredRatio]) -> DotChart:
    labels = {entry.key: entry.label for entry in answer.entries}
    most = MOST_DOTS if len(answer.parts) == 1 else MOST_DOTS // 2
    shown = rows if len(rows) <= most else [*rows[: most - 1], rows[-1]]  # the slowest is always shown
    low, high = (end(1.0, *(row.ratio for row in shown)) for end in (min, max))
    low, high = min(low / 1.15, 0.75), max(high * 1.15, 1.35)

    def at(ratio: float) -> float:
        return round(100 * math.log(ratio / low) / math.log(high / low), 1)

    titles, advised = answer.titles, answer.makers.advised
    sources = [_source(row.case_studies, titles, _detail(row)) for row in shown]
    others = [row.other for row in shown]
    ticks: list[float] = []
    for tick in sorted((tick for tick in _TICKS if low <= tick <= high), key=lambda tick: abs(math.log(tick))):
        if all(abs(at(tick) - at(other)) >= _CLOSEST for other in ticks) and (tick == 1 or 5 < at(tick) < 95):
            ticks.append(tick)
    return DotChart(
        first=labels[rows[0].first],
        is_advised=rows[0].first in advised,
        dots=[
            Dot(
                beside=labels[row.other],
                is_same=row.other in others[:place],
                source=source,
                ratio=row.ratio,
                at=at(row.ratio),
                derived=row.derived,
                is_advised=row.other in advised,
            )
            for place, (row, source) in enumerate(zip(shown, sources, strict=True))
        ],
        source=sources[0] if len({*sources}) == 1 else None,
        one=at(1.0),
        ticks=[(at(tick), tick) for tick in ticks],
        left_out=len(rows) - len(shown),
    )


def _source(slugs: Sequence[str], titles: Mapping[str, str], detail: str) -> Source:
    more = f" and {len(slugs) - 1} more" if len(slugs) > 1 else ""
    return Source(slugs[0], titles.get(slugs[0], slugs[0]) + more, detail)


def _detail(row: MeasuredRatio) -> str:
    years = "–".join(str(year) for year in dict.fromkeys((*row.years[:1], *row.years[-1:])))
    return ", ".join(filter(None, [years, *(STORAGE.get(kind, kind) for kind in row.storage)]))
