"""A text as pieces with their meanings, and which of them are alternatives. Linear in its length. No Django.

The rules are in docs/models/reading.md.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kdb.disk_path import SETTINGS, bytes_of, size_label

from .lexicon import LONGEST_NAME, Lexicon, Name, fold
from .words import ASK, COMMA, GUEST, HOST, HOST_ONLY, MACHINES, NUMBERS, ON, OR, ORDINARY, UNDER, WEIGH

LONGEST = 400  # characters of a text
_END, _AXIS, _SIZE, _NUMBER, PLACE = "end", "axis", "size", "number", "place"
_STORED = ("file_system", "host_storage", "image_format")  # what may stand beside each other as "where and how"
_NOT_NAMES = (_AXIS, "topic", "metric")
_UNITS = {f"{unit}{ending}" for unit in "kmgt" for ending in ("", "b", "ib")} | {"bytes", "byte"}
_TOKEN = re.compile(r"[^\W_][^\W_.+]*(?:[.+]+[^\W_.+]+)*+\+*|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """Words that stand for something: a name, a word of grammar, or nothing that is known here.

    start, end : where in the text; names : what it may mean, the likeliest first
    is_unknown : whether it is neither a name nor a word that says nothing
    role : "guest" or "host", of a file system or the word for one
    """

    words: str
    start: int
    end: int
    names: tuple[Name, ...] = ()
    is_unknown: bool = False
    is_corrected: bool = False
    role: str = ""

    def has(self, kind: str) -> bool:
        return any(name.kind == kind for name in self.names)

    def of(self, kind: str) -> Name | None:
        return next((name for name in self.names if name.kind == kind), None)

    @property
    def is_name(self) -> bool:
        """Tell whether it names something that a question may hold."""
        return any(name.label and name.kind not in _NOT_NAMES for name in self.names)

    @property
    def is_filler(self) -> bool:
        """Tell whether it says nothing: a word of every sentence, or a sign."""
        return not self.names and not self.is_unknown


@dataclass(frozen=True)
class Group:
    """Alternatives: "A, B or C". kind : of names that they have in common; members : numbers of the pieces of each"""

    kind: str
    members: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Parsed:
    """A text with its pieces and alternatives.

    asked : pieces that name what is to be chosen, those after "which" first
    beside : names of settings that only say what the value beside them is
    asked_places : guest or host, where "which" stands before the word and no file system beside it
    """

    text: str
    pieces: tuple[Piece, ...]
    groups: tuple[Group, ...]
    asked: tuple[int, ...]
    beside: frozenset[int]
    asked_places: tuple[str, ...] = ()

    def says(self, kind: str) -> bool:
        return any(piece.has(kind) for piece in self.pieces)


def parse(text: str, lexicon: Lexicon) -> Parsed:
    """Read a text of at most LONGEST characters; what is beyond is not read."""
    pieces = list(_pieces(text[:LONGEST], lexicon))
    _tell_raw(pieces)
    beside = _name_values(pieces)
    _give_roles(pieces)
    groups = tuple(_groups(pieces))
    grouped = {number: group.kind for group in groups for member in group.members for number in member}
    for number, piece in enumerate(pieces):
        pieces[number] = _settled(piece, grouped.get(number, ""), is_named=number in beside.values())
    asked = [number for number, piece in enumerate(pieces) if piece.names and piece.names[0].kind == _AXIS]
    asked = [number for number in asked if number not in beside or _is_asked(pieces, number)]
    asked.sort(key=lambda number: not _is_asked(pieces, number))
    markers = [
        (number, GUEST if piece.has(GUEST) else HOST)
        for number, piece in enumerate(pieces)
        if piece.has(GUEST) or piece.has(HOST)
    ]
    places = tuple(
        role for number, role in markers if _is_asked(pieces, number) and _next_placed(pieces, number, -1, 0) is None
    )
    return Parsed(text, tuple(pieces), groups, tuple(asked), frozenset(beside) - set(asked), places)


# Pieces


def _pieces(text: str, lexicon: Lexicon) -> Iterator[Piece]:
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
    spelled = [_spelled(text[start:end], lexicon) for start, end in tokens]
    place = 0
    while place < len(tokens):
        start = tokens[place][0]
        if counted := _counted(text, tokens, place):
            name, length = counted
            yield Piece(text[start : tokens[place + length - 1][1]], start, tokens[place + length - 1][1], (name,))
            place += length
            continue
        for length in range(min(LONGEST_NAME, len(tokens) - place), 0, -1):
            end = tokens[place + length - 1][1]
            wanted = "".join(spelled[place : place + length])
            if names := lexicon.find(wanted):
                is_corrected = fold(wanted) != fold(
                    "".join(text[slice(*token)] for token in tokens[place : place + length])
                )
                yield Piece(text[start:end], start, end, names, is_corrected=is_corrected)
                place += length
                break
        else:
            end = tokens[place][1]
            word = text[start:end]
            is_word = word[0].isalnum() and not lexicon.is_silent(spelled[place]) and not word.isdigit()
            yield Piece(word, start, end, is_unknown=is_word)
            place += 1


def _spelled(word: str, lexicon: Lexicon) -> str:
    """Return a word as some name has it, where it is a slip of that."""
    if not word[0].isalpha() or lexicon.is_silent(word) or lexicon.find(word):
        return word
    return lexicon.corrected(word) or word


def _counted(text: str, tokens: Sequence[tuple[int, int]], place: int) -> tuple[Name, int] | None:
    """Return the number of machines, the size or the plain number that begins here, and its number of tokens."""
    word = fold(text[slice(*tokens[place])])
    following = [fold(text[slice(*token)]) for token in tokens[place + 1 : place + 3]]
    if match := re.fullmatch(r"(\d{1,5})x?(vms?)", word):
        return _machines(int(match[1])), 1
    number = NUMBERS.get(word)
    if number is None and (match := re.fullmatch(r"(\d{1,5})x?", word)):
        number = int(match[1])
    if number and following:
        skipped = (
            following[:1]
            if following[0] in ("x", "concurrent", "parallel", "windows", "linux", "running", "virtual")
            else []
        )
        if following[len(skipped) : len(skipped) + 1] and following[len(skipped)] in _MACHINE_WORDS:
            return _machines(number), 1
    raw = text[slice(*tokens[place])].replace(",", ".")
    if not raw[0].isdigit():
        return None
    for length in (2, 1):
        unit = following[0] if length == 2 and following else ""
        if length == 2 and unit not in _UNITS:
            continue
        size = bytes_of(f"{raw}{unit}") if not raw.isdigit() or unit else None
        if size:
            return Name(_SIZE, str(size), size_label(size)), length
        if unit or re.fullmatch(r"[\d.]+[kmgt]i?b?", raw.casefold()):
            return Name(_SIZE, "", f"{raw} {unit}".strip()), length
    return (Name(_NUMBER, raw, raw), 1) if re.fullmatch(r"\d+(?:\.\d+)*+", raw) else None


_MACHINE_WORDS = frozenset(
    (
        "vm",
        "vms",
        "machines",
        "machine",
        "guests",
        "maschinen",
        "maschine",
        "microvms",
        "instances",
        "gaeste",
        "desktops",
    )
)


def _machines(number: int) -> Name:
    return Name("vm_count", str(number), f"{number} machine{'' if number == 1 else 's'}")


# Which words say what others are


def _name_values(pieces: list[Piece]) -> dict[int, int]:
    """Join a column's name with the value beside it, which it only describes: "cache none", "SATA bus"."""
    beside: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        axis = piece.of(_AXIS)
        if axis is None:
            continue
        for step in (1, -1):
            other = _next(pieces, number, step, most=1)
            if other is None or other in beside.values():
                continue
            kind = {"guest_fs": "file_system", "host_fs": "file_system"}.get(axis.slug, axis.slug)
            kind = _SIZE if SETTINGS.get(kind) and SETTINGS[kind].is_bytes else kind
            if pieces[other].has(kind):
                beside[number] = other
                role = {"guest_fs": GUEST, "host_fs": HOST}.get(axis.slug, pieces[other].role)
                names = pieces[other].names
                if axis.slug in SETTINGS:
                    names = tuple(name for name in names if name.kind == kind)
                pieces[other] = replace(pieces[other], names=names, role=role)
                break
    return beside


def _tell_raw(pieces: list[Piece]) -> None:
    """Read "raw" as a format where another format stands in the text: it is a device too."""
    formats = {name.slug for piece in pieces if (name := piece.of("image_format"))}
    for number, piece in enumerate(pieces):
        if len(formats) > 1 and piece.has("image_format"):
            names = tuple(name for name in piece.names if name.kind != "host_storage")
            pieces[number] = replace(piece, names=names)


def _next(pieces: Sequence[Piece], number: int, step: int, most: int) -> int | None:
    """Return the next piece in this direction that says something, past at most so many that do not."""
    skipped = 0
    number += step
    while 0 <= number < len(pieces):
        if not pieces[number].is_filler:
            return number
        skipped += pieces[number].words[0].isalnum()
        if skipped > most or pieces[number].words in "?!.":
            return None
        number += step
    return None


def _is_asked(pieces: Sequence[Piece], number: int) -> bool:
    """Tell whether "which", "best" or the like stands before a piece."""
    before = _next(pieces, number, -1, most=2)
    while before is not None and pieces[before].is_name and not pieces[before].has(ASK):
        before = _next(pieces, before, -1, most=0)  # "which zfs recordsize"
    return before is not None and pieces[before].has(ASK)


def _is_placed(piece: Piece) -> bool:
    """Tell whether guest and host are told apart for it: a file system, or the word for one."""
    axis = piece.of(_AXIS)
    return piece.has("file_system") or (axis is not None and axis.slug == "file_system")


def _give_roles(pieces: list[Piece]) -> None:
    """Say of file systems whether they are of guest or host: "A on B", "A guest", "on the host B"."""
    markers = [number for number, piece in enumerate(pieces) if piece.has(GUEST) or piece.has(HOST)]
    for reach in (0, 2, 5):
        for number in list(markers):
            role = GUEST if pieces[number].has(GUEST) else HOST
            for step in (-1, 1):
                other = _next_placed(pieces, number, step, reach)
                if other is not None and not pieces[other].role:
                    pieces[other] = replace(pieces[other], role=role)
                    markers.remove(number)
                    break
    for number, piece in enumerate(pieces):
        if not (piece.has(ON) or piece.has(UNDER)):
            continue
        above, below = _next(pieces, number, -1, most=2), _next(pieces, number, 1, most=2)
        if above is None or below is None:
            continue
        while below is not None and pieces[below].has(HOST):
            below = _next(pieces, below, 1, most=1)
        above_fs = (
            above if not (pieces[above].has(GUEST) or pieces[above].has(HOST)) else _next(pieces, above, -1, most=1)
        )
        if below is None or above_fs is None:
            continue
        over, under = pieces[above_fs], pieces[below]
        if piece.has(UNDER) and under.role == GUEST and over.has("file_system") and not over.role:
            pieces[above_fs] = replace(over, role=HOST)
            continue
        is_open = under.has("file_system") and not under.role and over.role != HOST
        if is_open and any(over.has(kind) for kind in (*_STORED, "hypervisor", MACHINES)):
            pieces[below] = replace(under, role=HOST)
        if (
            over.has("file_system")
            and not over.role
            and (pieces[below].role == HOST or _is_only(under, "host_storage"))
        ):
            pieces[above_fs] = replace(over, role=GUEST)


def _is_only(piece: Piece, kind: str) -> bool:
    return bool(piece.names) and piece.names[0].kind == kind


def _next_placed(pieces: Sequence[Piece], number: int, step: int, reach: int) -> int | None:
    """Return the next file system within reach, past fillers and other names."""
    skipped = 0
    number += step
    while 0 <= number < len(pieces) and skipped <= reach:
        piece = pieces[number]
        if _is_placed(piece):
            return number
        if piece.has(GUEST) or piece.has(HOST) or piece.words in "?!.":
            return None
        if piece.has("hypervisor") and reach == 0:
            return None
        skipped += not piece.has(ON)
        number += step
    return None


# Alternatives


def _groups(pieces: Sequence[Piece]) -> Iterator[Group]:
    """Yield runs of segments between "or" and commas that have names of a kind in common."""
    segments, links = _segments(pieces)
    runs: list[tuple[str, int, int]] = []  # kind, first and last segment
    joined: set[int] = set()
    for wanted in (OR, COMMA):
        for number, link in enumerate(links):
            if link != wanted or number in joined:
                continue
            kind = _in_common(pieces, segments[number], segments[number + 1])
            if not kind or (kind == PLACE and wanted == COMMA):
                continue
            if runs and runs[-1][0] == kind and runs[-1][2] == number:
                runs[-1] = (kind, runs[-1][1], number + 1)
            else:
                runs.append((kind, number, number + 1))
            joined.add(number)
        if wanted == OR:
            runs = [_extended(pieces, segments, links, run, joined) for run in runs]
    for kind, first, last in runs:
        yield Group(kind, tuple(tuple(segment) for segment in segments[first : last + 1]))


def _segments(pieces: Sequence[Piece]) -> tuple[list[list[int]], list[str]]:
    """Return the names between connectors, by their numbers, and what joins each to the next."""
    segments: list[list[int]] = [[]]
    links: list[str] = []
    link = ""
    for number, piece in enumerate(pieces):
        kind = OR if piece.has(OR) else COMMA if piece.has(COMMA) else _END if piece.words in "?!." else ""
        if kind:
            link = _END if _END in (kind, link) else OR if OR in (kind, link) else COMMA
        elif piece.is_name:
            if link and segments[-1]:
                links.append(link)
                segments.append([])
            segments[-1].append(number)
            link = ""
    return segments, links


def _in_common(pieces: Sequence[Piece], one: Sequence[int], other: Sequence[int]) -> str:
    """Return the kind of the nearest two different names of one kind on both sides of a connector; "" for none."""
    best: tuple[int, int, str] | None = None
    for before, left in enumerate(reversed(one)):
        for after, right in enumerate(other):
            for order, name in enumerate(pieces[right].names):
                like = pieces[left].of(name.kind)
                if not name.label or name.kind in _NOT_NAMES or like is None or like.slug == name.slug:
                    continue
                if name.kind == "file_system" and {pieces[left].role, pieces[right].role} == {GUEST, HOST}:
                    continue
                best = min(best or (99, 99, ""), (before + after, order, name.kind))
    if best:
        return best[2]
    sides = [any(pieces[number].has(kind) for number in side for kind in _STORED) for side in (one, other)]
    return PLACE if all(sides) else ""


def _extended(
    pieces: Sequence[Piece],
    segments: Sequence[Sequence[int]],
    links: Sequence[str],
    run: tuple[str, int, int],
    joined: set[int],
) -> tuple[str, int, int]:
    """Return a run with the segments before and after it that commas join to it: "A, B or C"."""
    kind, first, last = run
    kinds = _STORED if kind == PLACE else (kind, "host_storage") if kind == "image_format" else (kind,)

    def belongs(number: int) -> bool:
        return any(pieces[piece].has(joinable) for piece in segments[number] for joinable in kinds)

    while first and links[first - 1] == COMMA and belongs(first - 1):
        first -= 1
        joined.add(first)
        kind = kind if any(pieces[piece].has(kind) for piece in segments[first]) else PLACE
    while last < len(links) and links[last] == COMMA and belongs(last + 1) and kind != PLACE:
        joined.add(last)
        last += 1
    return kind, first, last


def _settled(piece: Piece, kind: str, *, is_named: bool) -> Piece:
    """Return a piece with what it means here: of the kind of its alternatives, else the likeliest."""
    if kind and (name := piece.of(kind)):
        return replace(piece, names=(name,))
    if is_named or not piece.names:
        return replace(piece, names=piece.names[:1])
    names = piece.names
    if fold(piece.words) in ORDINARY:
        names = tuple(name for name in names if name.kind not in SETTINGS and name.kind != "benchmark")
    if piece.role == HOST or piece.role == GUEST:
        names = tuple(name for name in names if name.kind == "file_system") or names
    if kind == PLACE:
        names = tuple(sorted(names, key=lambda name: name.kind not in _STORED))
    return replace(piece, names=names[:1])


def without(text: str, piece: Piece) -> str:
    """Return the text without the words of a piece."""
    return " ".join((text[: piece.start] + text[piece.end :]).split())


def adjacent(pieces: Sequence[Piece], first: str, second: str) -> Iterator[tuple[int, int]]:
    """Yield numbers of pieces of these kinds that follow each other, past what says nothing."""
    telling = [number for number, piece in enumerate(pieces) if not piece.is_filler]
    for one, other in pairwise(telling):
        if pieces[one].has(first) and pieces[other].has(second):
            yield one, other


__all__ = [
    "ASK",
    "GUEST",
    "HOST",
    "HOST_ONLY",
    "LONGEST",
    "OR",
    "PLACE",
    "WEIGH",
    "Group",
    "Parsed",
    "Piece",
    "adjacent",
    "parse",
    "without",
]
