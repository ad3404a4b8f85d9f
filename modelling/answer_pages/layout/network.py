"""Draw the network of comparisons: entries on a circle, joined by lines where laboratories compared two.

No queries, no HTML.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from modelling.answers.content import Answer, LaboratoryComparison
from modelling.evidence.words import counted

MOST = 20  # entries that are drawn, as more make an unreadable picture
SIZE = 320.0  # side of the square
_RADIUS = 132.0  # of the circle, leaving room for labels
_MOST_WIDTH = 9.0


@dataclass(frozen=True)
class Node:
    """An entry on the circle. is_joined : whether numbers join it to another, not lists alone"""

    number: int
    label: str
    x: float
    y: float
    is_joined: bool


@dataclass(frozen=True)
class Line:
    """Two entries that laboratories compared.

    studies : slug and title of their case studies; width : of the line, by number of research groups
    """

    first: Node
    second: Node
    groups: int
    laboratories: int
    studies: list[tuple[str, str]]
    width: float

    @property
    def behind(self) -> str:
        """State who compared them: "two research groups (three laboratories)"."""
        laboratories = counted(self.laboratories, "laboratory", "laboratories")
        return f"{counted(self.groups, 'research group')} ({laboratories})"


@dataclass(frozen=True)
class NetworkPicture:
    """The context of its template. Lines with the most research groups come last, to be drawn above the others.

    label : for screen readers; not_drawn : number of entries beyond MOST
    """

    size: float
    label: str
    nodes: list[Node]
    lines: list[Line]
    not_drawn: int

    @property
    def rows(self) -> list[Line]:
        """Return the lines as a table has them, those with the most research groups first."""
        return sorted(self.lines, key=lambda line: (-line.groups, line.first.number, line.second.number))


def network_picture(answer: Answer) -> NetworkPicture | None:
    """Draw an answer's comparisons; None where it has none in numbers, or an old method did not store them."""
    if not answer.compared:
        return None
    joined = {key for row in answer.compared for key in row.entries}
    drawn = answer.entries[:MOST]
    nodes = {
        entry.key: Node(number, entry.label, *_place(number - 1, len(drawn)), entry.key in joined)
        for number, entry in enumerate(drawn, start=1)
    }
    titles = {study.case_study: study.title for study in answer.evidence}
    lines = []
    for a, b in combinations(nodes, 2):
        both = [row for row in answer.compared if {a, b} <= set(row.entries)]
        if both:
            lines.append(_line(nodes[a], nodes[b], both, titles))
    lines.sort(key=lambda line: (line.groups, line.first.number, line.second.number))
    return NetworkPicture(SIZE, _label(nodes.values(), lines), list(nodes.values()), lines, len(answer.entries[MOST:]))


def _place(index: int, count: int) -> tuple[float, float]:
    """Return the entry's place in the picture: clockwise in the order of the answer, the first at the top."""
    angle = 2 * math.pi * index / count - math.pi / 2
    return round(SIZE / 2 + _RADIUS * math.cos(angle), 1), round(SIZE / 2 + _RADIUS * math.sin(angle), 1)


def _line(first: Node, second: Node, both: Sequence[LaboratoryComparison], titles: Mapping[str, str]) -> Line:
    groups = len({row.research_group for row in both})
    studies = sorted({slug for row in both for slug in row.case_studies})
    return Line(
        first,
        second,
        groups,
        len({row.laboratory for row in both}),
        [(slug, titles[slug]) for slug in studies],
        min(1.5 + 2.5 * (groups - 1), _MOST_WIDTH),
    )


def _label(nodes: Iterable[Node], lines: Sequence[Line]) -> str:
    alone = sum(not node.is_joined for node in nodes)
    several = sum(line.groups > 1 for line in lines)
    by_lists = f"; {alone} placed by lists alone" if alone else ""
    pairs = f"{counted(len(lines), 'pair')} of entries compared in numbers, {several} by several research groups"
    return f"{pairs}{by_lists}. The table has the pairs."
