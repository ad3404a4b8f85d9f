"""Turn a parsed text into questions, the likeliest first. No Django, no queries.

The rules are in docs/models/reading.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from kdb.disk_path import SETTINGS
from kdb.host_storage import FILE, UNNAMED, host_storage_key
from modelling.answers import words
from modelling.answers.words import comparison_address
from modelling.evidence.axes import AXES, KINDS, NATIVE, Axis, axis_left_open, entry_key, entry_label
from modelling.evidence.question import Question
from modelling.evidence.words import listed

from ..machine import BACKENDS, KEPT_FACTS
from .content import Pointer, Reading, Said, Unknown, Word
from .lexicon import Lexicon, fold
from .parsing import PLACE, Group, Parsed, Piece, parse
from .words import FAMILIES, FAMILIES_OF, GUEST, HOST, TOPICS, UNMEASURED

MOST = 3  # readings
_WHERE = ("host_fs", "host_storage")
_FILTERS = {field.name for field in fields(Question)} - {"axis", "workload"}
_OF_MACHINE = {"storage": "disks"}  # compared with the evidence, but no filter of it
_ENVIRONMENT = ("hypervisor", "storage", "guest_os_family", "vm_count", "benchmark")
_PLACED = {"file_system", "guest_fs", "host_fs"}
_HOST_ONLY = {"zfs", "vmfs", "cephfs", "openzfs"}  # read as of the host where the words leave it open
_ZFS = (("zfs", "zfs"), ("zfs", "zvol"))  # a volume or dataset says that it is of ZFS

Columns = Mapping[str, str]


@dataclass(frozen=True)
class Draft:
    """A reading before it has a workload and an address."""

    axis: str
    filters: Columns
    entries: tuple[str, ...] = ()
    is_whole: bool = False


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
        self.inside = {number for group in parsed.groups for member in group.members for number in member}

    # What stands in the text

    @cached_property
    def workloads(self) -> dict[str, str]:
        """Return what runs, as workload to family: named families before patterns of access, then what else a program
        may be asked about as."""
        named = [(piece.names[0], fold(piece.words)) for piece in self.pieces if piece.names]
        families = [(name.slug, written) for name, written in named if name.kind == "family"]
        loads = [(self._stand_in(family), family) for family, _ in families]
        loads += [(name.slug, "") for name, _ in named if name.kind == "workload"]
        if len({workload for workload, _ in loads}) == 1:
            also = [family for _, written in families for family in FAMILIES_OF.get(written, ())[1:]]
            loads += [(self._stand_in(family), family) for family in also]
        family_of: dict[str, str] = {}
        for workload, family in loads:
            family_of.setdefault(workload, family)
        return {workload: family for workload, family in family_of.items() if workload}

    def _stand_in(self, family: str) -> str:
        """Return the workload of the catalogue that is nearest to a family; "" for none."""
        return next((slug for slug in FAMILIES[family].stands if slug in self.names["workload"]), "")

    @cached_property
    def alternatives(self) -> list[list[Columns]]:
        """Return the columns of each alternative of each group; several of one choice without "or" count as one."""
        groups = [self._alternatives(group) for group in self.parsed.groups]
        loose: dict[str, list[str]] = {}
        for number, piece in enumerate(self.pieces):
            for column, value in self._columns(piece).items() if number not in self.inside else ():
                if column not in _ENVIRONMENT and value not in loose.setdefault(column, []):
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
        if group.kind in ("file_system", PLACE):
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
        """Return the column of a configuration that a piece gives, with its value; "" for one that nobody measured."""
        name = piece.names[0] if piece.names else None
        if name is None or not name.label:
            return {}
        if name.kind == "file_system":
            return {{GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, "file_system"): name.slug}
        if name.kind == "size":
            return {"volume_block_bytes": name.slug} if self._sizes_are_of_volumes else {}
        is_column = name.kind in (*_ENVIRONMENT, "host_storage") or name.kind in SETTINGS
        return {name.kind: name.slug} if is_column else {}

    @cached_property
    def _sizes_are_of_volumes(self) -> bool:
        axes = [name.slug for piece in self.pieces if (name := piece.of("axis"))]
        return "volume_block_bytes" in axes or any(group.kind == "size" for group in self.parsed.groups)

    @cached_property
    def given(self) -> dict[str, str]:
        """Return the columns that have one value, whatever is asked. Of hypervisors in each other the outermost counts,
        which comes last: "Docker in KVM"."""
        stated: dict[str, str] = {}
        differing = {column for group in self.alternatives for column in _differing(group)}
        for number, piece in enumerate(self.pieces):
            for column, value in self._columns(piece).items() if number not in self.inside else ():
                if value != UNMEASURED and (column == "hypervisor" or column not in stated):
                    stated[column] = value
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
        return {column: value for column, value in stated.items() if column not in differing and value != UNMEASURED}

    @cached_property
    def unmeasured(self) -> list[Piece]:
        """Return what is named and no source measured."""
        return [piece for piece in self.pieces if piece.is_unmeasured]

    @cached_property
    def pages(self) -> list[Pointer]:
        slugs = [name.slug for piece in self.pieces if (name := piece.of("topic"))]
        is_native = any(row.get("hypervisor") == NATIVE for group in self.alternatives for row in group)
        return [TOPICS[slug] for slug in dict.fromkeys([*slugs, *(["native"] if is_native else [])])]

    # Drafts

    def drafts(self) -> Iterator[Draft]:
        """Yield readings without workload, the likeliest first."""
        compared = [draft for group in self.alternatives for draft in self._compared(group)]
        released = list(self._released())
        asked = [draft for number in self.parsed.asked for draft in self._asked(number)]
        if not asked:
            asked = [draft for role in self.parsed.asked_places for draft in self._asked_place(role)]
        yield from compared if not released else ()
        yield from released
        yield from sorted(asked, key=lambda draft: draft.axis == "configuration")
        weighed = [draft for column in self.given for draft in self._weighed(column)]
        if asked or compared or released or (self.pages and not (weighed or self.workloads)):
            return
        if {"guest_fs", "host_fs"} <= self.given.keys():
            yield Draft("fs-pair", self.given, (_entry(AXES["fs-pair"], self.given),))
        yield from sorted(weighed, key=lambda draft: AXES[draft.axis].setting is None)
        if self.workloads or not weighed:
            yield from self._left_open(is_whole=not weighed)

    def _compared(self, group: list[Columns]) -> Iterator[Draft]:
        differing = _differing(group)
        slugs = [row["file_system"] for row in group if "file_system" in row]
        for column in self._places(*slugs) if "file_system" in differing else ("",):
            rows = [_as(row, column) for row in group] if column else group
            changed = _differing(rows)
            ranked = [axis for axis in AXES.values() if self._is_of(axis, changed)]
            for axis in sorted(ranked, key=lambda axis: _unexplained(axis, changed)):
                measured = [row for row in rows if row.get("hypervisor") != NATIVE]
                entries = dict.fromkeys(filter(None, (_entry(axis, row) for row in measured)))
                along = {column for row in rows for column in row} & set(axis.may_confound)
                filters = {column: value for column, value in self.given.items() if column not in along}
                yield Draft(axis.name, filters, tuple(entries))

    def _places(self, *slugs: str) -> tuple[str, ...]:
        """Return where file systems without a role may be, the likelier first."""
        if self.given.get("hypervisor") == NATIVE:
            return ("host_fs",)
        return ("host_fs", "guest_fs") if _HOST_ONLY & set(slugs) else ("guest_fs", "host_fs")

    def _is_of(self, axis: Axis, changed: set[str]) -> bool:
        known = changed | self.given.keys() if axis.setting else changed
        return bool(set(axis.entry) & changed) and set(axis.required) <= known

    def _asked(self, number: int) -> Iterator[Draft]:
        piece = self.pieces[number]
        name = piece.names[0]
        roles = {role for role in (GUEST, HOST) if self.parsed.says(role)} | {name.slug.removesuffix("_fs")}
        if name.slug in _PLACED and {GUEST, HOST} <= roles and not _PLACED & self.given.keys():
            yield Draft("fs-pair", self.given)
        of_role = {GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, name.slug)
        column = of_role if name.slug == "file_system" else name.slug
        yield from (Draft(axis, self.given) for axis in ([column] if column in AXES else axes_of(column)))

    def _asked_place(self, role: str) -> Iterator[Draft]:
        """Yield what "which host" and "which guest" ask."""
        for column in ("guest_fs",) if role == GUEST else ("host_fs", "hypervisor", "host_storage"):
            if column not in self.given:
                yield from (Draft(axis, self.given) for axis in axes_of(column))

    def _released(self) -> Iterator[Draft]:
        """Yield what numbers of releases ask: "Proxmox 8 or 9"."""
        numbers = {
            n for group in self.parsed.groups if group.kind == "number" for member in group.members for n in member
        }
        telling = [number for number, piece in enumerate(self.pieces) if not piece.is_filler]
        for one, other in pairwise(telling):
            if other in numbers and self.pieces[other].has("number"):
                piece = self.pieces[one]
                place = "guest_fs_release" if piece.role == GUEST else "host_fs_release"
                column = {"hypervisor": "hypervisor_release", "file_system": place}
                yield from (
                    Draft(axis, self.given) for kind in column if piece.has(kind) for axis in axes_of(column[kind])
                )

    def _weighed(self, column: str) -> Iterator[Draft]:
        """Yield the axis of the one value that is named of a column: "is qcow2 slower?"."""
        others = {name: value for name, value in self.given.items() if name != column}
        for place in self._places(self.given[column]) if column == "file_system" else (column,):
            for axis in axes_of(place) if place not in _ENVIRONMENT else ():
                yield Draft(axis, others, (self.given[column],))

    def _left_open(self, *, is_whole: bool) -> Iterator[Draft]:
        """Yield what the text leaves to be chosen: everything, where it names no choice."""
        for piece in self.unmeasured:
            yield from (Draft(axis, self.given) for column in self._columns(piece) for axis in axes_of(column))
        if not self.workloads and not self.given:
            return
        filters = self.given
        if "file_system" in filters:
            filters = _as(filters, self._places(filters["file_system"])[0])
        host = filters.get("host_fs") or filters.get("host_storage")
        yield Draft(axis_left_open(filters.get("hypervisor"), filters.get("guest_fs"), host), filters, (), is_whole)

    # Readings

    def readings(self) -> list[Reading]:
        unique_readings: dict[tuple[Any, ...], Reading] = {}
        for workload, family in self.workloads.items() or [("", "")]:
            for draft in self.drafts():
                for finished in self._finished(draft):
                    reading = self._reading(finished, workload, family)
                    unique_readings.setdefault((reading.axis, workload, tuple(reading.filters.items())), reading)
        return list(unique_readings.values())[:MOST]

    def _finished(self, draft: Draft) -> Iterator[Draft]:
        """Yield the draft with the filters beside its axis; a file system without a role in both roles."""
        setting = AXES[draft.axis].setting
        entry = {setting.column} if setting else set(AXES[draft.axis].entry)
        ranked = entry | (set(_WHERE) if entry & set(_WHERE) else set())
        ranked = set() if draft.is_whole else ranked
        filters = {column: value for column, value in draft.filters.items() if column not in ranked}
        if slug := filters.pop("file_system", None):
            places = [column for column in self._places(slug) if column not in ranked and column not in filters]
            for place in places:
                yield Draft(draft.axis, {**filters, place: slug}, draft.entries)
            if places:
                return
        yield Draft(draft.axis, filters, draft.entries, draft.is_whole)

    def _reading(self, draft: Draft, workload: str, family: str) -> Reading:
        filters = {
            column: value for column, value in draft.filters.items() if column in _FILTERS and column not in _OF_MACHINE
        }
        on = filters.get("host_storage", "")
        if on in BACKENDS and AXES[draft.axis].setting is None:
            del filters["host_storage"]
        machine = {_OF_MACHINE[column]: value for column, value in draft.filters.items() if column in _OF_MACHINE}
        machine |= {"images": on} if on and "host_storage" not in filters else {}
        asked: dict[str, Any] = {**filters, **({"vm_count": int(filters["vm_count"])} if "vm_count" in filters else {})}
        question = Question(draft.axis, workload or "Any workload", **asked)
        label = words.title(question, self.names)
        entries = draft.entries if len(draft.entries) > 1 else ()
        beside = {**filters, **machine, "text": self.parsed.text}
        if entries:
            named = listed([entry_label(AXES[draft.axis], key, self.names) for key in entries], "or")
            label = f"{label.rpartition(': which ')[0]}, {words.THING[draft.axis]}: {named}?"
        if draft.is_whole and workload:
            label = f"{label.rpartition(': which ')[0]}: what to choose"
            facts = {name: beside[name] for name in (*KEPT_FACTS, "text") if name in beside}
            address = f"/known/{workload}/?{urlencode(facts)}"
        elif entries and workload:
            address = comparison_address(question, entries, text=self.parsed.text)
        else:
            address = "/?" + urlencode({"axis": draft.axis, **({"workload": workload} if workload else {}), **beside})
        return Reading(
            draft.axis, label, workload, family, {**filters, **machine}, draft.entries, address, draft.is_whole
        )

    # What is told

    def understood(self) -> Iterator[Word]:
        """Yield what the words stand for; several for one name are one."""
        told: dict[tuple[str, str, str], Word] = {}
        for number, piece in enumerate(self.pieces):
            name = piece.names[0] if piece.names else None
            if name is None or not name.label or number in self.parsed.beside or name.kind == "number":
                continue
            setting = SETTINGS.get(name.kind)
            is_plain = setting is None or setting.in_sentence in name.label
            label = name.label if is_plain or setting is None else f"{setting.label}: {name.label}"
            role, note = name.kind, f"Read as {name.label}." if piece.is_corrected else ""
            is_inner = (
                name.kind == "hypervisor"
                and number not in self.inside
                and name.slug != self.given.get("hypervisor", name.slug)
            )
            if piece.is_unmeasured:
                role, note = "not measured", "Nobody measured it."
            elif name.kind == "family":
                role, note = "workload", self._of_family(name.slug)
            elif name.kind == "file_system":
                role = {GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, "file_system")
            elif name.kind == "size" and self._sizes_are_of_volumes:
                role = "volume_block_bytes"
            elif (
                is_inner or name.kind in ("metric", "size") or (name.kind == "axis" and number not in self.parsed.asked)
            ):
                role = "not counted"
            before = told.get((role, name.slug, label))
            written = f"{before.words}, {piece.words}" if before and piece.words not in before.words else piece.words
            rest = before.rest if before else self.parsed.text
            rest = " ".join(rest.replace(piece.words, "", 1).split())
            told[role, name.slug, label] = Word(written, role, label, name.slug, note, rest)
        yield from told.values()

    def _of_family(self, slug: str) -> str:
        """Say which load of the evidence stands for a family, and why; nothing where it is called the same."""
        family, nearest = FAMILIES[slug], self.names["workload"].get(self._stand_in(slug))
        called = family.label.lower()
        if nearest is None:
            return f"No load here stands for {called}."
        if nearest in family.label:
            return ""
        return f"For {called} the nearest load with evidence is “{nearest}”. {family.reason}"


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
    beside = {"host_storage"} if "host_fs" in axis.entry else set()
    return len(changed - set(axis.entry) - set(axis.may_confound) - beside)


def _entry(axis: Axis, row: Columns) -> str:
    values = tuple(row.get(column, "") for column in axis.entry)
    return entry_key(axis, values) if all(row.get(column) for column in axis.required) else ""
