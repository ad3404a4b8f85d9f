"""Turn a parsed text into questions, the likeliest first. No Django, no queries.

The rules are in docs/models/reading.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from kdb.disk_path import SETTINGS
from kdb.host_storage import FILE, UNNAMED, host_storage_key
from modelling.answers import words
from modelling.comparisons.words import address_of
from modelling.evidence.axes import AXES, KINDS, NATIVE, Axis, axis_left_open, entry_key, entry_label
from modelling.evidence.question import Question
from modelling.evidence.words import listed

from ..machine import BACKENDS
from .content import Pointer, Reading, Said, Unknown, Word
from .families import FAMILIES, PRODUCTS
from .lexicon import Lexicon, fold
from .parsing import ASK, GUEST, HOST, HOST_ONLY, OR, PLACE, WEIGH, Group, Parsed, Piece, adjacent, parse, without
from .pointers import TOPICS

MOST = 6  # readings
_WHERE = ("host_fs", "host_storage")
_FILTERS = {field.name for field in fields(Question)} - {"axis", "workload"}
_OF_MACHINE = {"storage": "disks"}  # compared with the evidence, but no filter of it
_PLACED = {"file_system", "guest_fs", "host_fs"}
_ZFS = (("zfs", "zfs"), ("zfs", "zvol"))  # a volume or dataset says that it is of ZFS
_PRODUCTS = {fold(spelling): product for product in PRODUCTS for spelling in (product.name, *product.words)}

Columns = Mapping[str, str]


@dataclass(frozen=True)
class Draft:
    """A reading before it has a workload and an address."""

    axis: str
    filters: Columns
    entries: tuple[str, ...] = ()


def said(text: str, lexicon: Lexicon, names: Mapping[str, Mapping[str, str]]) -> Said:
    """Read a text. names : kind of name to slug to name (modelling.evidence.names)"""
    parsed = parse(text, lexicon)
    asks = Asks(parsed, names)
    unknown = dict.fromkeys(piece.words for piece in parsed.pieces if piece.is_unknown)
    return Said(
        text,
        tuple(asks.understood()),
        tuple(Unknown(word, tuple(lexicon.nearest(word))) for word in unknown),
        tuple(asks.readings()),
        tuple(asks.pages),
    )


def axes_of(column: str) -> list[str]:
    """Return the axes whose entries are a column's values; for a file system without a role, those of both."""
    if column in SETTINGS:
        return [SETTINGS[column].axis]
    placed = [axis.name for axis in AXES.values() if axis.entry == (column,)]
    kinds = [axis.name for axis in AXES.values() if len(axis.entry) == 1 and KINDS.get(axis.entry[0]) == column]
    return placed or kinds


class Asks:
    """The readings of a parsed text."""

    def __init__(self, parsed: Parsed, names: Mapping[str, Mapping[str, str]]) -> None:
        self.parsed, self.pieces, self.names = parsed, parsed.pieces, names
        self.weighs = parsed.says(WEIGH) or (parsed.says(OR) and not parsed.groups)

    # What stands in the text

    @cached_property
    def workloads(self) -> list[tuple[str, str]]:
        """Return what runs as (workload, family), named families before patterns of access, each workload once."""
        family_of: dict[str, str] = {}
        for kind in ("family", "workload"):
            for piece in self.pieces:
                if (name := piece.names[0] if piece.names else None) and name.kind == kind:
                    family = name.slug if kind == "family" else ""
                    slug = (
                        next((slug for slug in FAMILIES[family].stands if slug in self.names["workload"]), "")
                        if family
                        else name.slug
                    )
                    if slug:
                        family_of.setdefault(slug, family)
        return list(family_of.items())

    @cached_property
    def alternatives(self) -> list[list[Columns]]:
        """Return the columns of each alternative of each group; several of a kind without "or" are alternatives too."""
        groups = [self._alternatives(group) for group in self.parsed.groups]
        inside = {number for group in self.parsed.groups for member in group.members for number in member}
        loose: dict[str, list[str]] = {}
        for number, piece in enumerate(self.pieces):
            for column, value in self._columns(piece).items() if number not in inside else ():
                if value not in loose.setdefault(column, []):
                    loose[column].append(value)
        groups += [[{column: value} for value in values] for column, values in loose.items() if len(values) > 1]
        return [group for group in groups if len(group) > 1]

    def _alternatives(self, group: Group) -> list[Columns]:
        rows: list[dict[str, str]] = []
        for member in group.members:
            row: dict[str, str] = {}
            for number in member:
                for column, value in self._columns(self.pieces[number]).items():
                    if group.kind == column or column not in row:
                        row[column] = value
            rows.append(row)
        if group.kind == "file_system" or (group.kind == PLACE):
            _place(rows)
        if group.kind in ("host_storage", PLACE) or any("host_storage" in row for row in rows):
            rows = [_stored(row) for row in rows]
        for column in {column for row in rows for column in row}:
            values = {row[column] for row in rows if column in row}
            is_elsewhere = column in _WHERE and any(set(_WHERE) & row.keys() - {column} for row in rows)
            if len(values) == 1 and not is_elsewhere:
                for row in rows:
                    row.setdefault(column, *values)
        return list({tuple(sorted(row.items())): row for row in rows}.values())

    def _columns(self, piece: Piece) -> dict[str, str]:
        """Return the column of a configuration that a piece gives, with its value."""
        name = piece.names[0] if piece.names else None
        if name is None or not name.label:
            return {}
        if name.kind == "file_system":
            column = {GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, "file_system")
            return {column: name.slug}
        if name.kind == "size":
            return {"volume_block_bytes": name.slug} if self._sizes_are_of_volumes else {}
        if (
            name.kind in ("hypervisor", "host_storage", "storage", "guest_os_family", "vm_count", "benchmark")
            or name.kind in SETTINGS
        ):
            return {name.kind: name.slug}
        return {}

    @cached_property
    def _sizes_are_of_volumes(self) -> bool:
        named = any(
            piece.has("axis") and (name := piece.of("axis")) and name.slug == "volume_block_bytes"
            for piece in self.pieces
        )
        return named or any(group.kind == "size" for group in self.parsed.groups)

    @cached_property
    def given(self) -> dict[str, str]:
        """Return the columns that have one value, whatever is asked."""
        stated: dict[str, str] = {}
        differing = {column for group in self.alternatives for column in _differing(group)}
        inside = {number for group in self.parsed.groups for member in group.members for number in member}
        for number, piece in enumerate(self.pieces):
            for column, value in self._columns(piece).items() if number not in inside else ():
                stated.setdefault(column, value)
        for group in self.alternatives:
            stated |= {column: value for column, value in group[0].items() if column not in differing}
        for number in (*self.parsed.asked, *self.parsed.beside):
            axis = self.pieces[number].of("axis")
            if axis and axis.slug in SETTINGS:
                narrowed = {fold(word): filters for word, filters in SETTINGS[axis.slug].narrowed.items()}
                stated = {**narrowed.get(fold(self.pieces[number].words), {}), **stated}
        for column in ("file_system", "host_fs"):
            if column in stated and "host_storage" in stated:
                stored = _stored({"host_storage": stated["host_storage"], "host_fs": stated[column]})["host_storage"]
                if stored != stated["host_storage"] or (stated[column], stored) in _ZFS:
                    stated["host_storage"] = stored
                    del stated[column]
        return {column: value for column, value in stated.items() if column not in differing}

    @cached_property
    def pages(self) -> list[Pointer]:
        slugs = dict.fromkeys(name.slug for piece in self.pieces if (name := piece.of("topic")))
        return [TOPICS[slug].pointer for slug in slugs]

    # Drafts

    def drafts(self) -> Iterator[Draft]:
        """Yield readings without workload, the likeliest first."""
        asked = [draft for number in self.parsed.asked for draft in self._asked(number)]
        compared = [draft for group in self.alternatives for draft in self._compared(group)]
        released = list(self._released())
        if not asked:
            asked = [draft for role in self.parsed.asked_places for draft in self._asked_place(role)]
        yield from compared if compared and not released else ()
        yield from released
        yield from sorted(asked, key=lambda draft: draft.axis == "configuration")
        weighed = [draft for column in self.given for draft in self._weighed(column)]
        if asked and (self.weighs or not self.parsed.says(ASK)):
            yield from (draft for draft in weighed if AXES[draft.axis].setting)
        if asked or compared or released or (self.pages and not self.workloads):
            return
        weighed.sort(key=lambda draft: AXES[draft.axis].setting is None)
        is_alone = not self.workloads and len(self.given) == 1
        is_first = self.weighs or is_alone or any(AXES[draft.axis].setting for draft in weighed)
        if self.pages and not weighed:
            return
        yield from weighed if is_first else ()
        if {"guest_fs", "host_fs"} <= self.given.keys():
            yield Draft("fs-pair", self.given, (_entry(AXES["fs-pair"], self.given),))
        yield from self._left_open()
        yield from weighed if not is_first else ()

    def _compared(self, group: list[Columns]) -> Iterator[Draft]:
        differing = _differing(group)
        slugs = [row["file_system"] for row in group if "file_system" in row]
        for column in self._places(*slugs) if "file_system" in differing else ("",):
            rows = [_as(row, column) for row in group] if column else group
            changed = _differing(rows)
            ranked = [axis for axis in AXES.values() if self._is_of(axis, changed)]
            for axis in sorted(ranked, key=lambda axis: _unexplained(axis, changed)):
                entries = dict.fromkeys(key for row in rows if (key := _entry(axis, row)))
                if len(entries) > 1:
                    along = {column for row in rows for column in row} & set(axis.may_confound)
                    filters = {column: value for column, value in self.given.items() if column not in along}
                    yield Draft(axis.name, filters, tuple(entries))

    def _places(self, *slugs: str) -> tuple[str, ...]:
        """Return where file systems without a role may be, the likelier first."""
        if self.given.get("hypervisor") == NATIVE:
            return ("host_fs",)
        return ("host_fs", "guest_fs") if HOST_ONLY & set(slugs) else ("guest_fs", "host_fs")

    def _is_of(self, axis: Axis, changed: set[str]) -> bool:
        known = changed | self.given.keys() if axis.setting else changed
        return bool(set(axis.entry) & changed) and set(axis.required) <= known

    def _asked(self, number: int) -> Iterator[Draft]:
        piece = self.pieces[number]
        for name in piece.names:
            if name.kind != "axis":
                continue
            roles = {role for role in (GUEST, HOST) if self.parsed.says(role)} | {name.slug.removesuffix("_fs")}
            if name.slug in _PLACED and {GUEST, HOST} <= roles and not _PLACED & self.given.keys():
                yield Draft("fs-pair", self.given)
            column = (
                {GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, name.slug)
                if name.slug == "file_system"
                else name.slug
            )
            yield from (Draft(axis, self.given) for axis in ([column] if column in AXES else axes_of(column)))

    def _asked_place(self, role: str) -> Iterator[Draft]:
        """Yield what "which host" and "which guest" ask."""
        for column in ("guest_fs",) if role == GUEST else ("host_fs", "hypervisor", "host_storage"):
            if column not in self.given:
                yield from (Draft(axis, self.given) for axis in axes_of(column))

    def _released(self) -> Iterator[Draft]:
        """Yield what numbers of releases ask: "Proxmox 8 or 9"."""
        numbers = {
            number
            for group in self.parsed.groups
            if group.kind == "number"
            for member in group.members
            for number in member
        }
        for _, other in adjacent(self.pieces, "hypervisor", "number"):
            if other in numbers:
                yield from (Draft(axis, self.given) for axis in axes_of("hypervisor_release"))
        for one, other in adjacent(self.pieces, "file_system", "number"):
            if other in numbers:
                column = "guest_fs_release" if self.pieces[one].role == GUEST else "host_fs_release"
                yield from (Draft(axis, self.given) for axis in axes_of(column))

    def _weighed(self, column: str) -> Iterator[Draft]:
        """Yield the axis of the one value that is named of a column: "is qcow2 slower?"."""
        others = {name: value for name, value in self.given.items() if name != column}
        for place in self._places(self.given[column]) if column == "file_system" else (column,):
            for axis in axes_of(place):
                yield Draft(axis, others, (self.given[column],))

    def _left_open(self) -> Iterator[Draft]:
        if not self.workloads and not self.given:
            return
        for column in self._places(self.given["file_system"]) if "file_system" in self.given else ("",):
            filters = _as(self.given, column) if column else self.given
            host = filters.get("host_fs") or filters.get("host_storage")
            yield Draft(axis_left_open(filters.get("hypervisor"), filters.get("guest_fs"), host), filters)
        for axis in AXES.values():
            if axis.setting is None and not set(axis.entry) & self.given.keys() and "file_system" not in self.given:
                yield Draft(axis.name, self.given)

    # Readings

    def readings(self) -> list[Reading]:
        unique_readings: dict[tuple[Any, ...], Reading] = {}
        for draft in self.drafts():
            for workload, family in self.workloads or [("", "")]:
                for finished in self._finished(draft):
                    reading = self._reading(finished, workload, family)
                    unique_readings.setdefault((reading.axis, workload, tuple(reading.filters.items())), reading)
        order = {workload: place for place, (workload, _) in enumerate(self.workloads)}
        return sorted(unique_readings.values(), key=lambda reading: order.get(reading.workload, 0))[:MOST]

    def _finished(self, draft: Draft) -> Iterator[Draft]:
        """Yield the draft with the filters beside its axis; a file system without a role in both roles."""
        setting = AXES[draft.axis].setting
        entry = {setting.column} if setting else set(AXES[draft.axis].entry)
        ranked = entry | (set(_WHERE) if entry & set(_WHERE) else set())
        filters = {column: value for column, value in draft.filters.items() if column not in ranked}
        if slug := filters.pop("file_system", None):
            places = [column for column in self._places(slug) if column not in ranked and column not in filters]
            for place in places:
                yield Draft(draft.axis, {**filters, place: slug}, draft.entries)
            if places:
                return
        yield Draft(draft.axis, filters, draft.entries)

    def _reading(self, draft: Draft, workload: str, family: str) -> Reading:
        filters = {
            column: value for column, value in draft.filters.items() if column in _FILTERS and column not in _OF_MACHINE
        }
        on = filters.get("host_storage", "")
        if on in BACKENDS and AXES[draft.axis].setting is None:
            del filters["host_storage"]
        machine = {_OF_MACHINE[column]: value for column, value in draft.filters.items() if column in _OF_MACHINE}
        machine |= {"images": on} if on and "host_storage" not in filters else {}
        question = _question(draft.axis, workload, filters)
        label = words.title(question, self.names) if workload else _title(question, self.names)
        entries = draft.entries if len(draft.entries) > 1 else ()
        if entries:
            named = listed([entry_label(AXES[draft.axis], key, self.names) for key in entries], "or")
            label = f"{label.rpartition(': which ')[0]}: {named}?"
        beside = {**machine, "text": self.parsed.text}
        if entries and workload:
            address = address_of(question, entries, text=self.parsed.text)
        else:
            asked = {"axis": draft.axis, **({"workload": workload} if workload else {}), **filters}
            address = "/?" + urlencode({**asked, **beside})
        return Reading(draft.axis, label, workload, family, {**filters, **machine}, draft.entries, address)

    # What is told

    def understood(self) -> Iterator[Word]:
        for number, piece in enumerate(self.pieces):
            name = piece.names[0] if piece.names else None
            if name is None or (not name.label and name.kind != "topic"):
                continue
            rest = without(self.parsed.text, piece)
            note = f"Read as {name.label}." if piece.is_corrected else ""
            role, label, slug = name.kind, name.label, name.slug
            if name.kind == "family":
                product = _PRODUCTS.get(fold(piece.words))
                label = FAMILIES[slug].label
                note = _of_family(slug, product.families if product else (slug,), piece.words, self.names["workload"])
                role = "workload"
            elif name.kind == "file_system":
                role = {GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, "file_system")
            elif name.kind == "axis":
                role = "axis" if number in self.parsed.asked else "not counted"
            elif name.kind in ("number", "metric") or (name.kind == "size" and not self._sizes_are_of_volumes):
                role = "not counted"
            elif name.kind == "size":
                role = "volume_block_bytes"
            if number in self.parsed.beside or name.kind in ("number",):
                continue
            yield Word(piece.words, role, label, slug, note, rest)


def _question(axis: str, workload: str, filters: Columns) -> Question:
    asked: dict[str, Any] = dict(filters)
    if "vm_count" in asked:
        asked["vm_count"] = int(asked["vm_count"])
    return Question(axis, workload, **asked)


def _title(question: Question, names: Mapping[str, Mapping[str, str]]) -> str:
    """Say a question that names no workload."""
    return words.title(
        _question(question.axis, "Any workload", {k: str(v) for k, v in question.filters.items()}), names
    )


def _of_family(slug: str, families: Sequence[str], written: str, workloads: Mapping[str, str]) -> str:
    """Say what a family or a product was read as, and what else it may be."""
    family = FAMILIES[slug]
    stands = [workloads[workload] for workload in family.stands if workload in workloads]
    others = [FAMILIES[other].label.lower() for other in families if other != slug]
    read = f"{written} is read as {family.label.lower()}; " if fold(written) in _PRODUCTS else ""
    nearest = (
        f"the nearest load with evidence is “{stands[0]}”. {family.reason}" if stands else "no load here stands for it."
    )
    instead = f" {' or '.join(others).capitalize()} instead?" if others else ""
    return f"{read}{nearest}{instead}"


def _differing(rows: Sequence[Columns]) -> set[str]:
    """Return the columns that are not the same in all rows."""
    return {column for row in rows for column in row if len({other.get(column) for other in rows}) > 1}


def _as(row: Columns, column: str) -> dict[str, str]:
    """Return a row whose file system is of guest or host."""
    return {(column if name == "file_system" else name): value for name, value in row.items()}


def _place(rows: list[dict[str, str]]) -> None:
    """Give a file system without a role that of the nearest beside it: "ext4 or xfs in the guest"."""
    placed = [column for row in rows for column in row if column in ("guest_fs", "host_fs")]
    for number, row in enumerate(rows):
        if "file_system" not in row or not placed:
            continue
        before = [column for other in rows[:number] for column in other if column in ("guest_fs", "host_fs")]
        after = [column for other in rows[number + 1 :] for column in other if column in ("guest_fs", "host_fs")]
        column = before[-1] if before else after[0] if after else ""
        if column and column not in row:
            row[column] = row.pop("file_system")


def _stored(row: Columns) -> dict[str, str]:
    """Return a row with what the images lie on in one column."""
    on = row.get("host_fs") or row.get("file_system")
    if not on and row.get("image_format", "raw") != "raw":
        row = {"host_storage": UNNAMED, **row}  # a format is one of files
    if row.get("host_storage") not in (None, UNNAMED):
        on = None
    rest = {column: value for column, value in row.items() if column not in ("host_fs", "file_system")}
    return {**rest, "host_storage": host_storage_key(FILE, on) or ""} if on else rest


def _unexplained(axis: Axis, changed: set[str]) -> int:
    """Count the columns that differ and neither are entries of the axis nor come along with them."""
    return len(
        changed - set(axis.entry) - set(axis.may_confound) - ({"host_storage"} if "host_fs" in axis.entry else set())
    )


def _entry(axis: Axis, row: Columns) -> str:
    values = tuple(row.get(column, "") for column in axis.entry)
    return entry_key(axis, values) if all(row.get(column) for column in axis.required) else ""


def spellings() -> Iterable[tuple[str, str]]:
    """Yield every phrase of a family or product, with the family."""
    for family in FAMILIES.values():
        yield from ((phrase, family.slug) for phrase in (family.label, family.slug, *family.words))
    for product in PRODUCTS:
        yield from ((phrase, product.families[0]) for phrase in (product.name, *product.words))
