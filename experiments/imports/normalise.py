"""Convert a file's cells to rows with names of the catalogue, and check their units. No database, no Django.

Every file first becomes a `Source`: named fields and text cells, one measurement a line. A table has its own fields. A
run of a benchmark has workload, parameters and figures; the user states what it lacks, such as the configuration and
the number of machines, as `context`, which cells of the file override.

Nothing is guessed: a name that is neither a slug nor an alias becomes an `Unknown`, and a row that lacks a value a
`Fault` with what is expected.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

from experiments.readers.base import Reading, Run
from experiments.readers.table import Cell, Cells, Fault
from experiments.readers.table_columns import COLUMNS, NUMERIC, PARAMETER
from experiments.rules.entry_names import NATIVE, Names, fold
from experiments.rules.names import WORDS
from experiments.rules.number_grammar import LARGEST as LARGEST_WHOLE
from experiments.rules.number_grammar import WrongValue, positive_number, whole_number
from kdb.disk_path import SETTINGS, bytes_of
from kdb.pairs import pair_key
from kdb.units import LATENCY, METRICS, THROUGHPUT, UNITS, convert, measures

Values = dict[str, Any]  # of a configuration: field to value, catalogue entries as slugs

# field that refers to an entry of the catalogue: kind of name
REFERENCES = {column.name: column.entry_of for column in COLUMNS if column.entry_of and column.name != "backend"}
NAMED = {**REFERENCES, "backend": "host_storage"}  # every field that holds a name
KINDS = tuple(dict.fromkeys(NAMED.values()))

# Longest text of each field, as the models have it; a test compares them.
LENGTHS = {
    **{column.name: column.longest for column in COLUMNS if column.longest},
    **{"host_fs_release": 40, "guest_fs_release": 40, "disk_driver_release": 80, "compression": 20},
}
NOT_STATED = "not-stated"  # a value of guest_access: nothing is known of the guest's file system
CHOICES = {
    "virtualisation": ("full", "para", "emulated", "container", "none"),
    "storage_kind": ("hdd", "ssd", "nvme", "mixed"),
    "guest_access": ("file-system", "raw-device"),
    **{
        column: tuple(value.name for value in setting.values)
        for column, setting in SETTINGS.items()
        if setting.is_closed
    },
}
QUALITIES = ("exact", "ocr-ambiguous", "digitised")

CONFIGURATION = (
    *("configuration", "hypervisor", "hypervisor_release", "virtualisation", "virtual_devices"),
    *("host_os", "host_kernel", "host_fs", "host_mkfs_options", "host_mount_options", "host_io_scheduler"),
    *("backend", "below", "storage_kind"),
    *(column for column in SETTINGS if column not in ("hypervisor_release", "host_kernel", "guest_kernel")),
    *("guest_os", "guest_kernel", "guest_fs", "guest_access"),
    *("guest_mkfs_options", "guest_mount_options", "guest_io_scheduler"),
    *("vm_vcpus", "vm_ram_gib", "vm_disk"),
)
HOST = (  # fields that native has, too
    *("host_os", "host_kernel", "host_fs", "host_mkfs_options", "host_mount_options", "host_io_scheduler"),
    *(setting.column for setting in SETTINGS.values() if setting.is_native and setting.column != "host_kernel"),
)
WORKLOAD = ("workload", "benchmark", "benchmark_version")
NUMBERS = (
    *("vm_count", "machine", "operation", "block_size_bytes", "metric", "value", "unit", "repetition", "repetitions"),
    *("standard_deviation", "minimum", "maximum", "reference", "quality", "alternative_value"),
    *("excluded_because", "excluded_by", "source", "note", "working_set_bytes"),
)
_SIZES = tuple(setting.column for setting in SETTINGS.values() if setting.is_bytes)
# A configuration of which nothing is known.
EMPTY: Values = {
    name: None if name in (*REFERENCES, "vm_vcpus", "vm_ram_gib", *_SIZES) else "" for name in CONFIGURATION[1:]
}
A_CONFIGURATION = "the name of a configuration, or its hypervisor (or native) and file systems"
# Fields that a user may state for a file.
CONTEXT = (*CONFIGURATION, *WORKLOAD, "vm_count", "operation", "source", "note")
FILE_CONTEXT = (*CONTEXT, "block_size_bytes", "repetition")  # and that programs and manifests may, beside parameters

LINE = "line"  # of a row in its source; not a field of the template
ROW_FIELDS = {*CONFIGURATION, *WORKLOAD, *NUMBERS, "parameters"}

LARGEST = {"vm_count": 32_767, "machine": 32_767, "vm_vcpus": 32_767, "repetition": 2**31 - 1, "repetitions": 2**31 - 1}
LARGEST_VOLUME_BLOCK = 2**31 - 1
MOST_NEW = 1_000  # configurations that one import adds: each new one is compared with all of them
LONGEST_PARAMETERS = 4_000  # characters of JSON


class Unknown(NamedTuple):
    """A name that the catalogue does not have."""

    line: int | None
    kind: str
    name: str


class Variant(NamedTuple):
    """One workload as one benchmark version runs it; hashable."""

    workload: str
    benchmark: str
    benchmark_version: str
    parameters: str  # JSON, keys sorted


NO_VARIANT = Variant("", "", "", "")


class Row(NamedTuple):
    """One measurement, in the catalogue's names. `repetition` None: the next one of its cell."""

    line: int | None
    configuration: str
    variant: Variant
    value: float
    vm_count: int
    operation: str = "mixed"
    block_size_bytes: int | None = None
    machine: int | None = None
    metric: str = THROUGHPUT
    unit: str = ""
    alternative_value: float | None = None
    quality: str = "exact"
    repetition: int | None = None
    repetitions: int | None = None
    standard_deviation: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    reference: str = ""
    excluded_because: str = ""
    excluded_by: str = ""
    source: str = ""
    note: str = ""
    working_set_bytes: int | None = None


# What many lines share, parsed once: the VM count (None: not stated), and a Row whose line, configuration, variant and
# value are still to be filled in.
Shared = tuple[int | None, Row]


@dataclass(frozen=True)
class Source:
    """Named cells of one file, a measurement a line: numbers where it has numbers, else texts as people typed them.

    `rows` may also yield faults. An empty cell is "".
    """

    fields: tuple[str, ...]
    rows: Callable[[], Iterator[tuple[int | None, Cells] | Fault]]
    context: Mapping[str, str] = field(default_factory=dict)


# From files to sources

RUN_FIELDS = (
    *(*WORKLOAD, "parameters", "operation", "block_size_bytes", "working_set_bytes", "note"),
    *("metric", "value", "unit"),
)
FIGURES = (("throughput", "throughput_mib_s"), ("operation_rate", "ops_per_s"), ("latency", "latency_ms"))


def source_of_reading(
    reading: Reading, context: Mapping[str, str], runs: Mapping[str, Mapping[str, str]] | None = None
) -> Source:
    """Return a source with a line for each figure of each run; the context may rename the tool's workload.

    runs : context of single runs, by their line in the file; it overrides the context of the file
    """
    contexts = runs or {}
    own_fields = tuple(dict.fromkeys(name for given in contexts.values() for name in given if name not in RUN_FIELDS))

    def rows() -> Iterator[tuple[int | None, Cells] | Fault]:
        for run in reading.runs:
            own = contexts.get(str(run.line), {})
            # The operation stated for the whole file counts only where a run does not name its own.
            stated_for_all = context.get("operation") if run.operation in ("", "mixed") else ""
            operation = own.get("operation") or stated_for_all or run.operation
            if not operation:
                expected = f"{' or '.join(run.could_be)}, said beside the file: the file does not tell them apart"
                yield Fault(run.line, "operation", "nothing", expected)
                continue
            load = (
                own.get("workload") or context.get("workload") or run.workload,
                run.benchmark or reading.benchmark or own.get("benchmark", ""),
                run.tool_version or reading.tool_version or own.get("benchmark_version", ""),
                json.dumps(dict(run.parameters), sort_keys=True),
                operation,
                run.block_size_bytes or "",
                run.working_set_bytes or "",
                " ".join(filter(None, (run.note, own.get("note") or context.get("note")))),
            )
            own_cells = tuple(own.get(name, "") for name in own_fields)
            for metric, value in figures_of(run):
                yield run.line, (*load, metric, value, METRICS[metric].unit, *own_cells)

    return Source((*RUN_FIELDS, *own_fields), rows, context)


def figures_of(run: Run) -> Iterator[tuple[str, float]]:
    """Yield each metric that a run measured, and its value in the canonical unit."""
    figures = [(metric, getattr(run, attribute)) for metric, attribute in FIGURES]
    figures += [(f"{LATENCY}_{name}", value) for name, value in run.percentiles_ms.items()]
    yield from ((metric, value) for metric, value in figures if value is not None)


def source_of_rows(given: Sequence[Mapping[str, Any]], context: Mapping[str, str]) -> Source:
    """Return rows that KDB itself made as a source. Raises ValueError for a field that rows do not have.

    given : field to value; "line" is the row's line in its origin, if any
    """
    fields = tuple(dict.fromkeys(name for row in given for name in row if name != LINE))
    if unknown := {name for name in fields if not name.startswith(PARAMETER)} - ROW_FIELDS:
        raise ValueError(f"no fields of a row: {', '.join(sorted(unknown))}")

    def rows() -> Iterator[tuple[int | None, Cells]]:
        for row in given:
            yield int(row[LINE]) if LINE in row else None, tuple(_cell(name, row.get(name)) for name in fields)

    return Source(fields, rows, context)


def _cell(name: str, value: Any) -> Cell:
    if value is None:
        return ""
    if name == "parameters":
        return json.dumps(value, sort_keys=True)
    return value if name in NUMERIC else str(value).strip()


# From sources to rows


class Normaliser:
    """Makes rows of the lines of an import's files, and collects the configurations that they name.

    configurations : slug to values of every configuration of the case study, new ones included
    new : slugs of those that the import adds
    """

    def __init__(self, names: Names, configurations: Mapping[str, Values]) -> None:
        self.names = names
        self.configurations = dict(configurations)
        self.new: list[str] = []

    def rows(self, source: Source) -> Iterator[Row | Fault | Unknown]:
        """Yield every line of the file as a row, or as what keeps it from being one; nothing is left out."""
        reader = _LineReader(source, self)
        for item in source.rows():
            if isinstance(item, Fault):
                yield item
            else:
                yield from reader.read(*item)

    def configuration(self, given: Values) -> str:
        """Return the slug of the configuration with these values, added where the case study has none like it.

        `given` has the fields of the file, empty ones too. Raises WrongValue.
        """
        if len(self.new) > MOST_NEW:
            raise WrongValue("configuration", f"more than {MOST_NEW:,} new ones", f"at most {MOST_NEW:,} in one import")
        slug = given.pop("configuration", "")
        if is_guest_unknown := given.get("guest_access") == NOT_STATED:
            given["guest_access"] = ""
        if slug and slug in self.configurations:
            existing = self.configurations[slug]
            for name, value in given.items():
                if value not in (None, "") and existing.get(name) != value:
                    expected = f"{_as_text(existing.get(name))}, as configuration {slug} has it"
                    raise WrongValue(name, _as_text(value), expected)
            return slug
        if slug and not re.fullmatch(r"[a-z0-9_-]{1,80}", slug):
            raise WrongValue("configuration", slug, "up to 80 small letters, digits, hyphens and underscores")
        if not slug:
            same = [s for s, other in self.configurations.items() if all(other.get(n) == v for n, v in given.items())]
            if "hypervisor" not in given:
                raise WrongValue("configuration", "nothing", A_CONFIGURATION)
            if len(same) > 1:
                raise WrongValue("configuration", "nothing", f"one of {first_few(same)}: the columns fit all of them")
            if same:
                return same[0]
        elif "hypervisor" not in given:
            known = first_few(self.configurations) or "none yet"
            raise WrongValue("configuration", slug, f"one of the case study ({known}); for a new one {A_CONFIGURATION}")
        _check_guest_and_host(given, self.names.volumes, is_guest_unknown=is_guest_unknown)
        if "," in (given.get("cache_mode") or ""):
            raise WrongValue("cache_mode", given["cache_mode"], "a text without comma")
        slug = slug or self._free_slug(given)
        self.configurations[slug] = {**EMPTY, **given}
        self.new.append(slug)
        return slug if len(self.new) <= MOST_NEW else self.configuration(given)

    def _free_slug(self, values: Values) -> str:
        host = values.get("host_fs") or "unknown"
        inside = values.get("guest_fs") or values.get("guest_access") or "unknown"
        guest = values["hypervisor"] and f"{values['hypervisor']}-{pair_key(inside, host)}"
        stem = guest or f"native-{host}"
        slug, number = stem[:70], 1
        while slug in self.configurations:
            number += 1
            slug = f"{stem[:70]}-{number}"
        return slug


def _check_guest_and_host(values: Values, volumes: Collection[str], *, is_guest_unknown: bool = False) -> None:
    """Raise where a virtual machine lacks a guest file system, or the bare machine has something of a guest."""
    if values["hypervisor"]:
        is_container = values.get("virtualisation") == "container"
        if not (values.get("guest_fs") or values.get("guest_access") or is_container or is_guest_unknown):
            expected = "the guest's file system, because a hypervisor is named; where it is not known, guest_access"
            raise WrongValue(
                "guest_fs", "nothing", f"{expected} file-system, where there is none, raw-device, else {NOT_STATED}"
            )
        if values.get("guest_fs") and values.get("guest_access") == "raw-device":
            raise WrongValue("guest_fs", values["guest_fs"], "nothing, because the guest works on the raw device")
        if values.get("virtualisation") == "none":
            raise WrongValue(
                "virtualisation", "none", "full, para, emulated or container, because a hypervisor is named"
            )
        if values.get("host_fs") and values.get("backend") in volumes:
            raise WrongValue(
                "host_fs", values["host_fs"], f"nothing, because the backend is {values['backend']}, a volume"
            )
        return
    for name in ("guest_fs", "guest_access", "guest_os", "vm_ram_gib", "backend"):
        if values.get(name):
            raise WrongValue(name, _as_text(values[name]), "nothing, because native has no guest")
    if values.setdefault("virtualisation", "none") in ("", None):
        values["virtualisation"] = "none"
    if values["virtualisation"] != "none":
        raise WrongValue("virtualisation", values["virtualisation"], "none, because the hypervisor is native")


class _Missing(Exception):  # noqa: N818 - becomes an Unknown
    """A name that the catalogue lacks: its kind and its text."""


class _LineReader:
    """Reads the lines of one source; cells that many lines share are parsed once."""

    def __init__(self, source: Source, normaliser: Normaliser) -> None:
        self.normaliser = normaliser
        self.fields = source.fields
        self.context = {name: text for name, text in source.context.items() if text}
        at = {name: index for index, name in enumerate(source.fields)}
        parameters = [name for name in source.fields if name.startswith(PARAMETER) or name == "parameters"]
        self.pick_configuration, self.configuration_names = self._picker(CONFIGURATION, at)
        self.load = (*WORKLOAD, *(name for name in self.context if name.startswith(PARAMETER)))
        self.pick_variant, self.variant_names = self._picker((*WORKLOAD, *parameters), at)
        self.pick_numbers, self.number_names = self._picker(NUMBERS, at)
        self.configurations: dict[tuple[Any, ...], str | list[Exception]] = {}
        self.variants: dict[tuple[Any, ...], Variant | list[Exception]] = {}
        self.numbers: dict[tuple[Any, ...], Shared | list[Exception]] = {}
        self.value_at = self.number_names.index("value") if "value" in self.number_names else None

    def _picker(self, wanted: Iterable[str], at: Mapping[str, int]) -> tuple[Callable[[Cells], Cells], tuple[str, ...]]:
        """Return a function from a line's cells to those of the wanted fields, and their names."""
        names = tuple(name for name in wanted if name in at)
        places = [at[name] for name in names]
        pick = itemgetter(*places) if len(places) > 1 else lambda cells: tuple(cells[place] for place in places)
        return pick, names

    def read(self, line: int | None, cells: Cells) -> Iterator[Row | Fault | Unknown]:
        configuration = self._cached(self.configurations, self.pick_configuration(cells), self._configuration)
        variant = self._cached(self.variants, self.pick_variant(cells), self._variant)
        shared, value = self._numbers(self.pick_numbers(cells))
        wrong = [part for part in (configuration, variant, shared, value) if isinstance(part, list)]
        if not (wrong or isinstance(shared, list) or isinstance(value, list)):  # the last two for mypy
            stated_count, pattern = shared
            vm_count = self._effective_vm_count(configuration, stated_count)
            if pattern.machine and isinstance(vm_count, int) and pattern.machine > vm_count:
                expected = f"a number from 1 to the {vm_count} that ran together"
                wrong = [[WrongValue("machine", str(pattern.machine), expected)]]
            elif not (pattern.minimum or value) <= value <= (pattern.maximum or value):
                printed = f"{value:g}, with {_as_text(pattern.minimum)} to {_as_text(pattern.maximum)} as its range"
                wrong = [[WrongValue("value", printed, "a number within minimum and maximum")]]
            elif isinstance(vm_count, int):
                yield Row(line, configuration, variant, value, vm_count, *pattern[5:])
            else:
                wrong = [[vm_count]]
        for problem in (problem for part in wrong for problem in part):
            if isinstance(problem, WrongValue):
                yield Fault(line, *problem.args)
            else:
                yield Unknown(line, *problem.args)

    @staticmethod
    def _cached(cache: dict[tuple[Any, ...], Any], key: Cells, parse: Callable[[Cells], Any]) -> Any:
        if key not in cache:
            cache[key] = parse(key)
        return cache[key]

    def _with_context(self, names: tuple[str, ...], cells: Cells, wanted: Iterable[str]) -> dict[str, Any]:
        """Return field to cell, of the file or else of the context; fields that neither has are left out.

        A cell is a text, but may be a number in a field of NUMERIC.
        """
        given: dict[str, Any] = {name: self.context[name] for name in wanted if name in self.context}
        for name, cell in zip(names, cells, strict=True):
            if cell != "" or name not in given:
                given[name] = cell
        return given

    def _configuration(self, cells: Cells) -> str | list[Exception]:
        own: dict[str, Any] = dict(zip(self.configuration_names, cells, strict=True))
        # A line that says native is not about the machines that the context describes.
        is_own_native = fold(own.get("hypervisor", "")) in NATIVE
        texts = self._with_context(self.configuration_names, cells, HOST if is_own_native else CONFIGURATION)
        problems: list[Exception] = []
        given: dict[str, Any] = {}
        is_native = fold(texts.get("hypervisor", "")) in NATIVE
        for name, text in texts.items():
            try:
                given[name] = None if is_native and name == "hypervisor" else self._configuration_value(name, text)
            except (WrongValue, _Missing) as problem:
                problems.append(problem)
        if "hypervisor" in given and given["hypervisor"] is None and not is_native:
            del given["hypervisor"]  # an empty cell says nothing
        if not problems:
            try:
                return self.normaliser.configuration(given)
            except WrongValue as problem:
                problems.append(problem)
        return problems

    def _configuration_value(self, name: str, text: Any) -> Any:
        if name in NAMED:
            return self._name(name, text) if text else EMPTY[name]
        if name == "vm_vcpus":
            return _whole(name, text) if text != "" else None
        if name == "vm_ram_gib":
            return positive_number(name, text) if text != "" else None
        if name in SETTINGS and SETTINGS[name].is_bytes and text != "":
            return _volume_block(name, str(text))
        if name == "guest_access" and fold(str(text)) == fold(NOT_STATED):
            return NOT_STATED
        text = value_of_spelling(name, str(text)) or text
        if name in CHOICES and text not in ("", *CHOICES[name]):
            raise WrongValue(name, text, f"one of {', '.join(CHOICES[name])}")
        return _text(name, text)

    def _variant(self, cells: Cells) -> Variant | list[Exception]:
        texts = self._with_context(self.variant_names, cells, self.load)
        problems: list[Exception] = []
        slugs = {}
        for name in ("workload", "benchmark"):
            try:
                if not texts.get(name):
                    raise WrongValue(name, "nothing", f"the name of a {name}")
                slugs[name] = self._name(name, texts[name])
            except (WrongValue, _Missing) as problem:
                problems.append(problem)
        try:
            version = _text("benchmark_version", texts.get("benchmark_version", ""))
            parameters = _parameters(texts.get("parameters") or "{}")
            for name, text in texts.items():
                if name.startswith(PARAMETER) and text:
                    value = _scalar(text)
                    if (own := parameters.setdefault(name.removeprefix(PARAMETER), value)) != value:
                        raise WrongValue(name, text, f"{_as_text(own)}, as the file itself says")
            packed = json.dumps(parameters, sort_keys=True)
            if len(packed) > LONGEST_PARAMETERS:
                raise WrongValue("parameters", f"{len(packed):,} characters", f"at most {LONGEST_PARAMETERS:,}")
        except WrongValue as problem:
            problems.append(problem)
        return problems or Variant(slugs["workload"], slugs["benchmark"], version, packed)

    def _numbers(self, cells: Cells) -> tuple[Shared | list[Exception], float | list[Exception]]:
        """Return what the line shares with others, and its value; or the problems of either in its place."""
        if self.value_at is None:
            return [], [WrongValue("value", "nothing", "a column with the measured values")]
        # All but the value repeats from line to line.
        key = cells[: self.value_at] + cells[self.value_at + 1 :]
        shared = self._cached(self.numbers, key, self._shared_numbers)
        try:
            return shared, positive_number("value", cells[self.value_at])
        except WrongValue as problem:
            return shared, [problem]

    def _shared_numbers(self, cells: Cells) -> Shared | list[Exception]:
        names = tuple(name for name in self.number_names if name != "value")
        stated = ("vm_count", "operation", "source", "note", "block_size_bytes", "repetition")
        given = self._with_context(names, cells, stated)
        problems: list[Exception] = []
        unit = given.get("unit", "")
        if unit not in UNITS:
            problems.append(WrongValue("unit", unit or "nothing", f"one of {', '.join(UNITS)}"))
        checked: dict[str, Any] = {"unit": unit, "note": given.get("note", "")}
        checked["metric"] = UNITS[unit][0] if unit in UNITS else THROUGHPUT
        for name, check in _CHECKS.items():
            if (cell := given.get(name, "")) != "":
                try:
                    checked[name] = check(name, cell)
                except WrongValue as problem:
                    problems.append(problem)
        vm_count = checked.pop("vm_count", None)
        pattern = Row(None, "", NO_VARIANT, math.nan, 0, **checked)
        if unit in UNITS and not measures(unit, pattern.metric):
            problems.append(WrongValue("unit", unit, f"a unit of {pattern.metric}"))
        if bool(pattern.reference) != (pattern.metric == "relative"):
            expected = "what a ratio is a ratio to, and only for one"
            problems.append(WrongValue("reference", pattern.reference or "nothing", expected))
        if (pattern.alternative_value is not None) != (pattern.quality == "ocr-ambiguous"):
            expected = "the other reading where the quality is ocr-ambiguous, else nothing"
            problems.append(WrongValue("alternative_value", _as_text(given.get("alternative_value")), expected))
        if bool(given.get("excluded_because")) != bool(given.get("excluded_by")):
            name = "excluded_by" if given.get("excluded_because") else "excluded_because"
            problems.append(
                WrongValue(name, "nothing", "why a value counts nowhere, and who says so: both, or neither")
            )
        return problems or (vm_count, pattern)

    def _effective_vm_count(self, configuration: str, vm_count: int | None) -> int | WrongValue:
        """Return the VM count: native has zero virtual machines, stated or not; a hypervisor has at least one."""
        if not self.normaliser.configurations[configuration]["hypervisor"]:
            return WrongValue("vm_count", str(vm_count), "0 or nothing: the configuration is native") if vm_count else 0
        if vm_count is None:
            return WrongValue("vm_count", "nothing", "how many virtual machines ran together")
        return vm_count or WrongValue("vm_count", "0", "at least 1: the configuration has a hypervisor")

    def _name(self, field_name: str, text: str) -> str:
        kind = NAMED[field_name]
        slug = self.normaliser.names.find(kind, text)
        if slug is None:
            raise _Missing(kind, text[:80])
        return slug


# Single values


def first_few(names: Iterable[str]) -> str:
    """Return the first 20 names, comma-separated, and how many more there are."""
    names = [*names]
    return ", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")


def _as_text(value: Any) -> str:
    return "nothing" if value in (None, "") else str(value)


def _text(name: str, text: str) -> str:
    if len(text) > LENGTHS.get(name, 80):
        raise WrongValue(name, f"{len(text)} characters", f"at most {LENGTHS.get(name, 80)}")
    return text


def _volume_block(name: str, text: str) -> int:
    size = bytes_of(text)
    if size is None or size > LARGEST_VOLUME_BLOCK:
        raise WrongValue(name, text, "a size such as 16384, 16k or 1 MiB, below 2 GiB")
    return size


def value_of_spelling(column: str, text: str) -> str:
    """Return the value that a spelling stands for: "writeback" for "Write-Back"; "" for none."""
    return _values_by_spelling(column).get(fold(text), "")


@cache
def _values_by_spelling(column: str) -> dict[str, str]:
    words = WORDS.get("storage" if column == "storage_kind" else column, {})
    known = {fold(word): value for value, phrases in words.items() for word in phrases}
    known |= {fold(word): value for word, value in SETTINGS[column].spellings.items()} if column in SETTINGS else {}
    return known | {fold(value): value for value in CHOICES.get(column, ())}


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    by_spelling = {fold(value): value for value in allowed}

    def check(name: str, text: str) -> str:
        if fold(text) not in by_spelling:
            raise WrongValue(name, text, f"one of {', '.join(allowed)}")
        return by_spelling[fold(text)]

    return check


def _whole(name: str, cell: Cell, *, lowest: int = 1) -> int:
    return whole_number(name, cell, lowest=lowest, largest=LARGEST.get(name, LARGEST_WHOLE))


# How what a line says of its number, besides value and unit, is checked where it says it.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "vm_count": partial(_whole, lowest=0),
    "metric": _one_of(*METRICS),
    "quality": _one_of(*QUALITIES),
    **dict.fromkeys(("operation", "reference", "excluded_because", "excluded_by", "source"), _text),
    **dict.fromkeys(("block_size_bytes", "machine", "repetition", "repetitions", "working_set_bytes"), _whole),
    **dict.fromkeys(("alternative_value", "minimum", "maximum"), positive_number),
    "standard_deviation": partial(positive_number, or_zero=True),
}


def _parameters(text: str) -> dict[str, Any]:
    try:
        parameters = json.loads(text)
    except (ValueError, RecursionError):
        parameters = None
    if not isinstance(parameters, dict):
        raise WrongValue("parameters", text[:80], 'a JSON object, like {"threads": 16}')
    return parameters


def _scalar(text: str) -> int | float | str:
    """Return a parameter: a number where it reads as one and prints the same again, else the text."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if str(value) == text and math.isfinite(value):
            return value
    return text


def convert_to_canonical(cell: Cell, unit: str) -> tuple[str, float]:
    """Return metric and value in its canonical unit from a table's cells. Raises ValueError saying what is expected."""
    if unit not in UNITS:
        raise ValueError(f"unit: found {unit or 'nothing'}, expected is one of {', '.join(UNITS)}")
    try:
        value = positive_number("value", cell)
    except WrongValue as wrong:
        raise ValueError("{}: found {}, expected is {}".format(*wrong.args)) from None
    metric = UNITS[unit][0]
    return metric, convert(value, unit, METRICS[metric].unit)
