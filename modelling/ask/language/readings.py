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

from ..machine import FACTS_OF_MACHINE
from .content import Pointer, Reading, Said, Unknown, Word
from .lexicon import Lexicon, fold_text
from .parsing import PLACE, Group, Parsed, Piece, parse
from .words import FAMILIES, FAMILIES_OF, GUEST, HOST, TOPICS, UNMEASURED

MOST = 3  # readings
_WHERE = ("host_fs", "host_storage")
_FILTERS = {field.name for field in fields(Question)} - {"axis", "workload"}
_MACHINE_FACTS = {"storage": "disks"}  # facts of the machine, which filter no evidence
_ENVIRONMENT = ("hypervisor", "storage", "guest_os_family", "vm_count", "benchmark")
_FILE_SYSTEMS = {"file_system", "guest_fs", "host_fs"}
_HOST_ONLY = {"zfs", "vmfs", "cephfs", "openzfs"}  # on the host unless the text says otherwise
_ZFS = (("zfs", "zfs"), ("zfs", "zvol"))  # file system and storage that both name ZFS

Columns = Mapping[str, str]


@dataclass(frozen=True)
class Draft:
    """A reading before it has a workload and an address."""

    axis: str
    filters: Columns
    entries: tuple[str, ...] = ()
    is_whole: bool = False


def read(text: str, lexicon: Lexicon, names: Mapping[str, Mapping[str, str]]) -> Said:
    """Read a text in up to MOST ways. names : kind of name to slug to name (modelling.evidence.names)"""
    parsed = parse(text, lexicon)
    reader = TextReader(parsed, names)
    unknown = dict.fromkeys(piece.words for piece in parsed.pieces if piece.is_unknown)
    return Said(
        text,
        tuple(reader.understood()),
        tuple(Unknown(word, tuple(lexicon.nearest(word))) for word in unknown),
        tuple(reader.readings()),
        tuple(reader.pages),
    )


def axes_of(column: str) -> list[str]:
    """Return the axes whose entries are values of a column, for a file system without a role those of both roles."""
    if column in SETTINGS:
        return [SETTINGS[column].axis]
    placed = [axis.name for axis in AXES.values() if axis.entry == (column,)]
    kinds = [axis.name for axis in AXES.values() if len(axis.entry) == 1 and KINDS.get(axis.entry[0]) == column]
    return placed or kinds


class TextReader:
    """The readings of a parsed text."""

    def __init__(self, parsed: Parsed, names: Mapping[str, Mapping[str, str]]) -> None:
        self.parsed, self.pieces, self.names = parsed, parsed.pieces, names
        self.inside = {number for group in parsed.groups for member in group.members for number in member}

    # Parts of the text

    @cached_property
    def workloads(self) -> dict[str, str]:
        """Return workload to family: of named families, then named workloads, then further families of a program."""
        named = [(piece.names[0], fold_text(piece.words)) for piece in self.pieces if piece.names]
        families = [(name.slug, written) for name, written in named if name.kind == "family"]
        loads = [(self._nearest_workload(family), family) for family, _ in families]
        loads += [(name.slug, "") for name, _ in named if name.kind == "workload"]
        if len({workload for workload, _ in loads}) == 1:
            also = [family for _, written in families for family in FAMILIES_OF.get(written, ())[1:]]
            loads += [(self._nearest_workload(family), family) for family in also]
        family_of: dict[str, str] = {}
        for workload, family in loads:
            family_of.setdefault(workload, family)
        return {workload: family for workload, family in family_of.items() if workload}

    def _nearest_workload(self, family: str) -> str:
        """Return the first workload of a family that is in the catalogue; "" for none."""
        return next((slug for slug in FAMILIES[family].stands if slug in self.names["workload"]), "")

    @cached_property
    def alternatives(self) -> list[list[Columns]]:
        """Return the columns of each alternative by group; several values of a column without "or" are a group, too."""
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
            _share_roles(rows)
        if group.kind in ("host_storage", PLACE) or any("host_storage" in row for row in rows):
            rows = [_merge_host_storage(row) for row in rows]
        for column in {column for row in rows for column in row}:
            values = {row[column] for row in rows if column in row}
            is_elsewhere = column in _WHERE and any(set(_WHERE) & row.keys() - {column} for row in rows)
            if len(values) == 1 and not is_elsewhere:
                for row in rows:
                    row.setdefault(column, *values)
        return list({tuple(sorted(row.items())): row for row in rows}.values())

    def _columns(self, piece: Piece) -> dict[str, str]:
        """Return column and value of a configuration that a piece names; the value is "" where nobody measured it."""
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
        """Return the columns with one value; of nested hypervisors the last, which is outermost: "Docker in KVM"."""
        stated: dict[str, str] = {}
        differing = {column for group in self.alternatives for column in _differing_columns(group)}
        for number, piece in enumerate(self.pieces):
            for column, value in self._columns(piece).items() if number not in self.inside else ():
                if value != UNMEASURED and (column == "hypervisor" or column not in stated):
                    stated[column] = value
        for group in self.alternatives:
            stated |= {column: value for column, value in group[0].items() if column not in differing}
        for number in (*self.parsed.asked, *self.parsed.column_names):
            axis = self.pieces[number].of("axis")
            if axis and axis.slug in SETTINGS:
                narrowed = {fold_text(word): filters for word, filters in SETTINGS[axis.slug].narrowed.items()}
                stated = {**narrowed.get(fold_text(self.pieces[number].words), {}), **stated}
        for column in ("file_system", "host_fs"):
            if column in stated and "host_storage" in stated:
                stored = _merge_host_storage({"host_storage": stated["host_storage"], "host_fs": stated[column]})[
                    "host_storage"
                ]
                if stored != stated["host_storage"] or (stated[column], stored) in _ZFS:
                    stated["host_storage"] = stored
                    del stated[column]
        return {column: value for column, value in stated.items() if column not in differing and value != UNMEASURED}

    @cached_property
    def unmeasured(self) -> list[Piece]:
        """Return the pieces that name what no source measured."""
        return [piece for piece in self.pieces if piece.is_unmeasured]

    @cached_property
    def pages(self) -> list[Pointer]:
        slugs = [name.slug for piece in self.pieces if (name := piece.of("topic"))]
        is_native = any(row.get("hypervisor") == NATIVE for group in self.alternatives for row in group)
        return [TOPICS[slug] for slug in dict.fromkeys([*slugs, *(["native"] if is_native else [])])]

    # Drafts

    def drafts(self) -> Iterator[Draft]:
        """Yield drafts, likeliest first."""
        compared = [draft for group in self.alternatives for draft in self._drafts_of_alternatives(group)]
        released = list(self._drafts_of_releases())
        asked = [draft for number in self.parsed.asked for draft in self._drafts_of_axis(number)]
        if not asked:
            asked = [draft for role in self.parsed.asked_places for draft in self._drafts_of_place(role)]
        yield from compared if not released else ()
        yield from released
        yield from sorted(asked, key=lambda draft: draft.axis == "configuration")
        weighed = [draft for column in self.given for draft in self._drafts_of_value(column)]
        if asked or compared or released or (self.pages and not (weighed or self.workloads)):
            return
        if {"guest_fs", "host_fs"} <= self.given.keys():
            yield Draft("fs-pair", self.given, (_entry(AXES["fs-pair"], self.given),))
        yield from sorted(weighed, key=lambda draft: AXES[draft.axis].setting is None)
        if self.workloads or not weighed:
            yield from self._drafts_left_open(is_whole=not weighed)

    def _drafts_of_alternatives(self, group: list[Columns]) -> Iterator[Draft]:
        differing = _differing_columns(group)
        slugs = [row["file_system"] for row in group if "file_system" in row]
        for column in self._places(*slugs) if "file_system" in differing else ("",):
            rows = [_assign_role(row, column) for row in group] if column else group
            changed = _differing_columns(rows)
            ranked = [axis for axis in AXES.values() if self._can_rank(axis, changed)]
            for axis in sorted(ranked, key=lambda axis: _count_unexplained(axis, changed)):
                measured = [row for row in rows if row.get("hypervisor") != NATIVE]
                entries = dict.fromkeys(filter(None, (_entry(axis, row) for row in measured)))
                along = {column for row in rows for column in row} & set(axis.may_confound)
                filters = {column: value for column, value in self.given.items() if column not in along}
                yield Draft(axis.name, filters, tuple(entries))

    def _places(self, *slugs: str) -> tuple[str, ...]:
        """Return the possible columns of file systems without a role, likelier first."""
        if self.given.get("hypervisor") == NATIVE:
            return ("host_fs",)
        return ("host_fs", "guest_fs") if _HOST_ONLY & set(slugs) else ("guest_fs", "host_fs")

    def _can_rank(self, axis: Axis, changed: set[str]) -> bool:
        known = changed | self.given.keys() if axis.setting else changed
        return bool(set(axis.entry) & changed) and set(axis.required) <= known

    def _drafts_of_axis(self, number: int) -> Iterator[Draft]:
        piece = self.pieces[number]
        name = piece.names[0]
        roles = {role for role in (GUEST, HOST) if self.parsed.says(role)} | {name.slug.removesuffix("_fs")}
        if name.slug in _FILE_SYSTEMS and {GUEST, HOST} <= roles and not _FILE_SYSTEMS & self.given.keys():
            yield Draft("fs-pair", self.given)
        of_role = {GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, name.slug)
        column = of_role if name.slug == "file_system" else name.slug
        yield from (Draft(axis, self.given) for axis in ([column] if column in AXES else axes_of(column)))

    def _drafts_of_place(self, role: str) -> Iterator[Draft]:
        """Yield the drafts of "which host" and "which guest"."""
        for column in ("guest_fs",) if role == GUEST else ("host_fs", "hypervisor", "host_storage"):
            if column not in self.given:
                yield from (Draft(axis, self.given) for axis in axes_of(column))

    def _drafts_of_releases(self) -> Iterator[Draft]:
        """Yield the drafts of numbers of releases: "Proxmox 8 or 9"."""
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

    def _drafts_of_value(self, column: str) -> Iterator[Draft]:
        """Yield the drafts of a column's only value: "is qcow2 slower?"."""
        others = {name: value for name, value in self.given.items() if name != column}
        for place in self._places(self.given[column]) if column == "file_system" else (column,):
            for axis in axes_of(place) if place not in _ENVIRONMENT else ():
                yield Draft(axis, others, (self.given[column],))

    def _drafts_left_open(self, *, is_whole: bool) -> Iterator[Draft]:
        """Yield the drafts on what the text leaves open."""
        for piece in self.unmeasured:
            yield from (Draft(axis, self.given) for column in self._columns(piece) for axis in axes_of(column))
        if not self.workloads and not self.given:
            return
        filters = self.given
        if "file_system" in filters:
            filters = _assign_role(filters, self._places(filters["file_system"])[0])
        host = filters.get("host_fs") or filters.get("host_storage")
        yield Draft(axis_left_open(filters.get("hypervisor"), filters.get("guest_fs"), host), filters, (), is_whole)

    # Readings

    def readings(self) -> list[Reading]:
        unique_readings: dict[tuple[Any, ...], Reading] = {}
        for workload, family in self.workloads.items() or [("", "")]:
            for draft in self.drafts():
                for finished in self._complete(draft):
                    reading = self._reading(finished, workload, family)
                    unique_readings.setdefault((reading.axis, workload, tuple(reading.filters.items())), reading)
        return list(unique_readings.values())[:MOST]

    def _complete(self, draft: Draft) -> Iterator[Draft]:
        """Yield the draft without filters on its own axis; for a file system without a role, one draft per role."""
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
            column: value
            for column, value in draft.filters.items()
            if column in _FILTERS and column not in _MACHINE_FACTS
        }
        on = filters.get("host_storage", "")
        if on in self.names["images"] and AXES[draft.axis].setting is None:
            del filters["host_storage"]
        machine = {_MACHINE_FACTS[column]: value for column, value in draft.filters.items() if column in _MACHINE_FACTS}
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
            facts = {name: beside[name] for name in (*FACTS_OF_MACHINE, "text") if name in beside}
            address = f"/known/{workload}/?{urlencode(facts)}"
        elif entries and workload:
            address = comparison_address(question, entries, text=self.parsed.text)
        else:
            address = "/?" + urlencode({"axis": draft.axis, **({"workload": workload} if workload else {}), **beside})
        return Reading(
            draft.axis, label, workload, family, {**filters, **machine}, draft.entries, address, draft.is_whole
        )

    # Understood words

    def understood(self) -> Iterator[Word]:
        """Yield the understood words, one for each name."""
        words_read: dict[tuple[str, str, str], Word] = {}
        for number, piece in enumerate(self.pieces):
            name = piece.names[0] if piece.names else None
            if name is None or not name.label or number in self.parsed.column_names or name.kind == "number":
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
                role, note = "workload", self._family_note(name.slug)
            elif name.kind == "file_system":
                role = {GUEST: "guest_fs", HOST: "host_fs"}.get(piece.role, "file_system")
            elif name.kind == "size" and self._sizes_are_of_volumes:
                role = "volume_block_bytes"
            elif (
                is_inner or name.kind in ("metric", "size") or (name.kind == "axis" and number not in self.parsed.asked)
            ):
                role = "not counted"
            before = words_read.get((role, name.slug, label))
            written = f"{before.words}, {piece.words}" if before and piece.words not in before.words else piece.words
            rest = before.rest if before else self.parsed.text
            rest = " ".join(rest.replace(piece.words, "", 1).split())
            words_read[role, name.slug, label] = Word(written, role, label, name.slug, note, rest)
        yield from words_read.values()

    def _family_note(self, slug: str) -> str:
        """State which workload stands for a family, and why; "" where it has the same name."""
        family, nearest = FAMILIES[slug], self.names["workload"].get(self._nearest_workload(slug))
        called = family.label.lower()
        if nearest is None:
            return f"No load here stands for {called}."
        if nearest in family.label:
            return ""
        return f"For {called} the nearest load with evidence is “{nearest}”. {family.reason}"


def _differing_columns(rows: Sequence[Columns]) -> set[str]:
    """Return the columns in which rows differ."""
    return {column for row in rows for column in row if len({other.get(column) for other in rows}) > 1}


def _assign_role(row: Columns, column: str) -> dict[str, str]:
    """Return the row with its file system in this column, guest_fs or host_fs."""
    return {(column if name == "file_system" else name): value for name, value in row.items()}


def _share_roles(rows: list[dict[str, str]]) -> None:
    """Give file systems without a role that of the nearest row with one: "ext4 or xfs in the guest"."""
    placed = [column for row in rows for column in row if column in ("guest_fs", "host_fs")]
    for number, row in enumerate(rows):
        if "file_system" not in row or not placed:
            continue
        before = [column for other in rows[:number] for column in other if column in ("guest_fs", "host_fs")]
        after = [column for other in rows[number + 1 :] for column in other if column in ("guest_fs", "host_fs")]
        column = before[-1] if before else after[0] if after else ""
        if column and column not in row:
            row[column] = row.pop("file_system")


def _merge_host_storage(row: Columns) -> dict[str, str]:
    """Return the row with file system or storage merged into the column host_storage."""
    on = row.get("host_fs") or row.get("file_system")
    if not on and row.get("image_format", "raw") != "raw":
        row = {"host_storage": UNNAMED, **row}  # only files have an image format
    if row.get("host_storage") not in (None, UNNAMED):
        on = None
    rest = {column: value for column, value in row.items() if column not in ("host_fs", "file_system")}
    return {**rest, "host_storage": host_storage_key(FILE, on) or ""} if on else rest


def _count_unexplained(axis: Axis, changed: set[str]) -> int:
    """Count the columns that differ but neither make entries of the axis nor may differ along with them."""
    beside = {"host_storage"} if "host_fs" in axis.entry else set()
    return len(changed - set(axis.entry) - set(axis.may_confound) - beside)


def _entry(axis: Axis, row: Columns) -> str:
    values = tuple(row.get(column, "") for column in axis.entry)
    return entry_key(axis, values) if all(row.get(column) for column in axis.required) else ""
