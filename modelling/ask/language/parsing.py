"""Parse a text into pieces with meanings, and groups of alternatives. No Django.

The rules are in docs/models/reading.md.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kdb.disk_path import SETTINGS, bytes_of, size_label

from .lexicon import LONGEST_NAME, Lexicon, Name, fold_text
from .words import ASK, COMMA, GUEST, HOST, MACHINES, NUMBERS, ON, OR, ORDINARY, UNDER, VOCABULARY, phrases

LONGEST = 400  # characters of a text
_END, _AXIS, _SIZE, PLACE = "end", "axis", "size", "place"
_STORED = (
    "file_system",
    "host_storage",
    "image_format",
)  # kinds that may be alternatives of one another
_NOT_NAMES = (_AXIS, "topic", "metric", "unmeasured")
_CONTAINERS = ("lxc", "docker", "gvisor", "native")  # "LXC or VM" asks for KVM
_TOKEN = re.compile(r"(?i:\d{1,5}x?(?=vms?\b))|[^\W_][^\W_.+]*(?:[.+]+[^\W_.+]+)*+\+*|[^\w\s]")
_NUMBER_WORDS = "|".join(sorted(NUMBERS, key=len, reverse=True))
_MACHINE_WORDS = "|".join(phrases(VOCABULARY["plain"]["counted"]))
_MACHINES = re.compile(
    rf"(?i)(\d{{1,5}}|\b(?:{_NUMBER_WORDS})\b)x?(?=\s*(?:(?:x|concurrent|parallel|windows|linux|running|virtual|vdi)\s+)?"
    rf"(?:{_MACHINE_WORDS})\b)"
)
_BYTES = re.compile(r"(?i)(\d{1,15})(?:[.,]\d+)?\s?(?:[kmgt](?:i?b)?|bytes?)\b")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d+)*+(?!\w)")


@dataclass(frozen=True)
class Piece:
    """Adjacent words with a meaning: a name, a word of grammar, or an unknown word.

    start, end : place in the text; names : possible meanings, likeliest first
    is_unknown : whether it is neither a name nor a filler
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
        """Return whether it names something that can be part of a question."""
        return any(name.label and name.kind not in _NOT_NAMES for name in self.names)

    @property
    def is_unmeasured(self) -> bool:
        """Return whether it names something that no source measured."""
        name = self.names[0] if self.names else None
        return name is not None and bool(name.label) and name.kind in VOCABULARY["unmeasured"] and not name.slug

    @property
    def is_filler(self) -> bool:
        """Return whether it has no meaning here: a common word, or punctuation."""
        return not self.names and not self.is_unknown


@dataclass(frozen=True)
class Group:
    """Alternatives: "A, B or C". kind : common kind of name; members : numbers of the pieces of each"""

    kind: str
    members: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Parsed:
    """A text with its pieces and alternatives.

    asked : pieces that name what to choose, those after "which" first
    column_names : pieces that name the column of an adjacent value, as "cache" in "cache none"
    asked_places : "guest" or "host" after "which" without a file system
    """

    text: str
    pieces: tuple[Piece, ...]
    groups: tuple[Group, ...]
    asked: tuple[int, ...]
    column_names: frozenset[int]
    asked_places: tuple[str, ...] = ()

    def says(self, kind: str) -> bool:
        return any(piece.has(kind) for piece in self.pieces)


def parse(text: str, lexicon: Lexicon) -> Parsed:
    """Parse the first LONGEST characters of a text."""
    pieces = list(_pieces(text[:LONGEST], lexicon))
    _read_machines_as_kvm(pieces)
    value_of = _join_columns_to_values(pieces)
    _find_roles(pieces)
    groups = tuple(_groups(pieces))
    grouped = {number: group.kind for group in groups for member in group.members for number in member}
    for number, piece in enumerate(pieces):
        pieces[number] = _choose_meaning(piece, grouped.get(number, ""), is_named=number in value_of.values())
    axes = [number for number, piece in enumerate(pieces) if piece.names and piece.names[0].kind == _AXIS]
    asked = [number for number in axes if number not in value_of]
    asked.sort(key=lambda number: not _is_asked(pieces, number))
    places = tuple(
        GUEST if piece.has(GUEST) else HOST
        for number, piece in enumerate(pieces)
        if (piece.has(GUEST) or piece.has(HOST))
        and _is_asked(pieces, number)
        and _next_file_system(pieces, number, -1, 0) is None
    )
    return Parsed(text, tuple(pieces), groups, tuple(asked), frozenset(value_of), places)


# Pieces


def _pieces(text: str, lexicon: Lexicon) -> Iterator[Piece]:
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    written = [text[start:end] for start, end in tokens]
    spelled = [lexicon.correct(word) for word in written]
    place = 0
    while place < len(tokens):
        start, end = tokens[place]
        if counted := _read_number(text, start):
            name, end = counted
            yield Piece(text[start:end], start, end, (name,))
            place += sum(start <= token[0] < end for token in tokens)
            continue
        longest = LONGEST_NAME if written[place][0].isalnum() else 1  # a name cannot begin with a sign, as in "-zfs"
        for length in range(min(longest, len(tokens) - place), 0, -1):
            wanted = "".join(spelled[place : place + length])
            if names := lexicon.find(wanted):
                end = tokens[place + length - 1][1]
                is_corrected = fold_text(wanted) != fold_text("".join(written[place : place + length]))
                yield Piece(text[start:end], start, end, names, is_corrected=is_corrected)
                place += length
                break
        else:
            word = written[place]
            is_word = word[0].isalnum() and not word.isdigit() and not lexicon.is_silent(word)
            yield Piece(word, start, end, is_unknown=is_word)
            place += 1


def _read_number(text: str, start: int) -> tuple[Name, int] | None:
    """Return the number of machines, size or number that begins here, and its end; None where there is none."""
    if match := _MACHINES.match(text, start):
        number = NUMBERS.get(match[1].casefold()) or int(match[1])
        return Name("vm_count", str(number), f"{number} machine{'' if number == 1 else 's'}"), match.end()
    if match := _BYTES.match(text, start):
        size = bytes_of(match[0])
        return Name(_SIZE, str(size or ""), size_label(size) if size else match[0]), match.end()
    if match := _NUMBER.match(text, start):
        return Name("number", match[0], match[0]), match.end()
    return None


# Columns, and roles of file systems


def _read_machines_as_kvm(pieces: list[Piece]) -> None:
    """Read "VM" as KVM where it is an alternative to a container or bare metal: "LXC or VM?"."""
    for number, piece in enumerate(pieces):
        for step in (1, -1) if piece.has(MACHINES) or piece.has(GUEST) else ():
            link = _next(pieces, number, step, most=1)
            other = _next(pieces, link, step, most=2) if link is not None and pieces[link].has(OR) else None
            name = pieces[other].of("hypervisor") if other is not None else None
            if other is not None and name and name.slug in _CONTAINERS:
                pieces[other] = replace(pieces[other], names=(name,))
                pieces[number] = replace(piece, names=(Name("hypervisor", "kvm", "KVM"),))


def _join_columns_to_values(pieces: list[Piece]) -> dict[int, int]:
    """Join a column's name with the value beside it, which it only describes: "cache none", "SATA bus"."""
    value_of: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        axis = piece.of(_AXIS)
        for step in (1, -1) if axis else ():
            other = _next(pieces, number, step, most=1)
            if axis is None or other is None or other in value_of.values():
                continue
            kind = "file_system" if axis.slug in ("guest_fs", "host_fs") else axis.slug
            kind = _SIZE if kind in SETTINGS and SETTINGS[kind].is_bytes else kind
            if pieces[other].has(kind):
                value_of[number] = other
                role = {"guest_fs": GUEST, "host_fs": HOST}.get(axis.slug, pieces[other].role)
                names = tuple(name for name in pieces[other].names if axis.slug not in SETTINGS or name.kind == kind)
                pieces[other] = replace(pieces[other], names=names, role=role)
                break
    return value_of


def _next(pieces: Sequence[Piece], number: int, step: int, most: int) -> int | None:
    """Return the next piece in this direction that is no filler, past at most `most` fillers that are words."""
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
    return before is not None and pieces[before].has(ASK)


def _has_role(piece: Piece) -> bool:
    """Tell whether it can have the role guest or host: a file system, or the word for one."""
    axis = piece.of(_AXIS)
    return piece.has("file_system") or (axis is not None and axis.slug == "file_system")


def _find_roles(pieces: list[Piece]) -> None:
    """Set the roles of file systems, guest or host: "A on B", "A guest", "on the host B"."""
    markers = [number for number, piece in enumerate(pieces) if piece.has(GUEST) or piece.has(HOST)]
    for reach in (0, 5):
        for number in list(markers):
            role = GUEST if pieces[number].has(GUEST) else HOST
            for step in (-1, 1):
                other = _next_file_system(pieces, number, step, reach)
                if other is not None and not pieces[other].role:
                    pieces[other] = replace(pieces[other], role=role)
                    markers.remove(number)
                    break
    for number, piece in enumerate(pieces):
        if not (piece.has(ON) or piece.has(UNDER)):
            continue
        above, below = _next(pieces, number, -1, most=2), _next(pieces, number, 1, most=2)
        while above is not None and (pieces[above].is_unknown or pieces[above].has("unmeasured")):
            above = _next(pieces, above, -1, most=1)
        while below is not None and pieces[below].has(HOST):
            below = _next(pieces, below, 1, most=1)
        if above is not None and (pieces[above].has(GUEST) or pieces[above].has(HOST)):
            above = _next(pieces, above, -1, most=1)
        if above is not None and below is not None:
            _assign_roles(pieces, above, below, is_under=piece.has(UNDER))


def _assign_roles(pieces: list[Piece], above: int, below: int, *, is_under: bool) -> None:
    """Set the roles in "A on B" to guest and host, and in "A under guests with B" to host and guest."""
    over, under = pieces[above], pieces[below]
    if is_under and under.role == GUEST and over.has("file_system") and not over.role:
        pieces[above] = replace(over, role=HOST)
        return
    is_open = under.has("file_system") and not under.role and over.role != HOST
    if is_open and any(over.has(kind) for kind in (*_STORED, "hypervisor", MACHINES)):
        pieces[below] = under = replace(under, role=HOST)
    is_storage = bool(under.names) and under.names[0].kind == "host_storage"
    if over.has("file_system") and not over.role and (under.role == HOST or is_storage):
        pieces[above] = replace(over, role=GUEST)


def _next_file_system(pieces: Sequence[Piece], number: int, step: int, reach: int) -> int | None:
    """Return the next file system within reach, past fillers and other names."""
    skipped = 0
    number += step
    while 0 <= number < len(pieces) and skipped <= reach:
        piece = pieces[number]
        if _has_role(piece):
            return number
        if piece.has(GUEST) or piece.has(HOST) or piece.words in "?!.":
            return None
        if piece.has("hypervisor") and reach == 0:
            return None
        skipped += not piece.has(ON)
        number += step
    return None


# Alternatives


def _groups(pieces: list[Piece]) -> Iterator[Group]:
    """Yield lists with "or" whose members have a common kind of name: "A, B or C"."""
    segments, links = _segments(pieces)
    runs: list[tuple[str, int, int]] = []  # kind, first and last segment
    for number, link in enumerate(links):
        kind = _common_kind(pieces, segments[number], segments[number + 1]) if link == OR else ""
        if kind and runs and runs[-1][0] == kind and runs[-1][2] == number:
            runs[-1] = (kind, runs[-1][1], number + 1)
        elif kind:
            kinds = _STORED if kind in (PLACE, "image_format") else (kind,)
            first = number
            while first and links[first - 1] == COMMA and _has_any(pieces, segments[first - 1], kinds):
                first -= 1
                kind = kind if kind == PLACE or _has_any(pieces, segments[first], (kind,)) else PLACE
            runs.append((kind, first, number + 1))
    for kind, first, last in runs:
        yield Group(kind, tuple(tuple(segment) for segment in segments[first : last + 1]))


def _has_any(pieces: Sequence[Piece], segment: Sequence[int], kinds: Sequence[str]) -> bool:
    return any(pieces[number].has(kind) for number in segment for kind in kinds)


def _segments(pieces: list[Piece]) -> tuple[list[list[int]], list[str]]:
    """Return the numbers of names between connectors, and the connectors."""
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


def _common_kind(pieces: Sequence[Piece], one: Sequence[int], other: Sequence[int]) -> str:
    """Return the kind of the nearest different names of equal kind on both sides of a connector; "" for none."""
    best: tuple[int, int, str] | None = None
    for before, left in enumerate(reversed(one)):
        for after, right in enumerate(other):
            for order, name in enumerate(pieces[right].names):
                like = pieces[left].of(name.kind)
                if not name.label or name.kind in _NOT_NAMES or like is None or like == name:
                    continue
                if name.kind == "file_system" and {pieces[left].role, pieces[right].role} == {GUEST, HOST}:
                    continue
                best = min(best or (99, 99, ""), (before + after, order, name.kind))
    if best:
        return best[2]
    return PLACE if _has_any(pieces, one, _STORED) and _has_any(pieces, other, _STORED) else ""


def _choose_meaning(piece: Piece, kind: str, *, is_named: bool) -> Piece:
    """Return a piece with one meaning: that of the kind of its alternatives, else the likeliest."""
    if kind and (name := piece.of(kind)):
        return replace(piece, names=(name,))
    if is_named or not piece.names:
        return replace(piece, names=piece.names[:1])
    names = piece.names
    if fold_text(piece.words) in ORDINARY:
        names = tuple(name for name in names if name.kind not in SETTINGS and name.kind != "benchmark")
    if piece.role:
        names = tuple(name for name in names if name.kind == "file_system") or names
    return replace(piece, names=names[:1])
