"""Read and write conditions.toml, which states what a published table itself does not say. No database, no Django.

    [case_study]                     what the study is: slug, title, laboratory, procedure, notes
    [source]                         who published it, when and where
    [server], [storage]              what it was measured on
    [everywhere]                     what holds for every row: column of the template = value
    [columns]                        heading of the table = column of the template, "parameter NAME", or "ignore"
    [values."4K read (kIOPS)"]       a heading whose cells are numbers: what they are numbers of
    [words."Setup"."raw, cache off"] the table's own words in a column = columns of the template
    [[leave_out]]                    rows that are not taken, each with its reason
    [[new]]                          names that the catalogue lacks, proposed with the study

A form writes the same file (`as_toml`). docs/imports.md explains each key.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.readers.reading_process import NotRead, read_isolated
from experiments.readers.table_columns import FIELDS, IGNORED, PARAMETER, is_column_role

Texts = Mapping[str, str]

LONGEST = 256 * 1024  # characters of a file of conditions
MOST_WORDS = 2_000  # of one table
MOST_RULES = 200  # of rows that are left out
SLUG = r"[a-z0-9][a-z0-9_-]*"

# Section to its keys, each a field of the model of that name; a test compares them.
FACTS = {
    "case_study": (
        *("slug", "title", "laboratory", "research_group", "run_seconds", "repetitions", "measured_year", "fits_cache"),
        *("value_scope", "procedure", "notes"),
    ),
    "source": (
        *("slug", "title", "authors", "year", "venue", "address", "doi", "archive_address", "made_on", "read_on"),
        *("is_reviewed", "note"),
    ),
    "server": ("model", "cpu", "sockets", "cores", "ram_gib", "ram_kind", "network"),
    "storage": (
        *("description", "kind", "controller", "raid", "sequential_read_limit", "sequential_write_limit"),
        *("interface_limit", "source"),
    ),
}
NEW_KINDS = ("hypervisor", "file_system", "host_storage", "operating_system", "workload", "benchmark")
IS_A = "is_a"  # of a new name: one of NEW_KINDS
OF_VALUES = ("percent_of",)  # keys under [values] that are no columns of the template


class ConditionsError(ValueError):
    """The conditions cannot be used as they are. The text names the key, what was found and what is allowed."""


@dataclass(frozen=True)
class LeftOutRows:
    """Rows to leave out: those on these lines, or whose cells are these words."""

    reason: str
    where: Texts = field(default_factory=dict)
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Conditions:
    """The conditions that are stated beside one table, section by section.

    columns : heading to column of the template
    values : heading of numbers to columns of the template, and "percent_of": heading to the base row's words
    words : heading, or column of the template, to the table's words to columns of the template; words of a column
        "configuration" describe the configuration of that name
    decimal : "." or ",", what stands before the decimals
    """

    case_study: Mapping[str, Any]
    source: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    storage: Mapping[str, Any] = field(default_factory=dict)
    everywhere: Texts = field(default_factory=dict)
    columns: Texts = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Texts]] = field(default_factory=dict)
    leave_out: tuple[LeftOutRows, ...] = ()
    new: tuple[Texts, ...] = ()
    decimal: str = "."


SECTIONS = tuple(name for name in Conditions.__dataclass_fields__)


def read_conditions(text: str) -> Conditions:
    """Return the conditions of a TOML text. Raises ConditionsError."""
    return conditions_of(toml_tables(text))


def toml_tables(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text, dates as texts; parsed in isolation: some take quadratic memory.

    Raises ConditionsError.
    """
    if len(text) > LONGEST:
        raise ConditionsError(f"found {len(text):,} characters, allowed are {LONGEST:,}")
    try:
        (given,) = read_isolated(text.encode(errors="replace"), f"{__name__}:_toml", dict[str, Any])
    except NotRead as limit:
        raise ConditionsError(f"found {limit.args[0]}, allowed is {limit.args[1]}") from limit
    if "refused" in given:
        raise ConditionsError(f"no TOML: {given['refused']}")
    return dict(given["tables"])


def _toml(data: bytes) -> Iterator[dict[str, Any]]:
    try:
        yield {"tables": tomllib.loads(data.decode())}
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        yield {"refused": str(error)}


def conditions_of(given: Mapping[str, Any]) -> Conditions:
    """Return the conditions of the tables that a TOML file has, or a form made. Raises ConditionsError."""
    check_keys("the file", given, SECTIONS)
    facts: dict[str, Any] = {section: _checked_section(given, section) for section in FACTS}
    case_study = facts["case_study"]
    for name in ("slug", "title"):
        if not isinstance(case_study.get(name), str) or not case_study[name].strip():
            raise condition_error(f"case_study.{name}", case_study.get(name), "a text")
    if not re.fullmatch(SLUG, case_study["slug"]):
        raise condition_error("case_study.slug", case_study["slug"], "small letters, digits, hyphens and underscores")
    words = {
        heading: {
            word: columns_of(f'words."{heading}"."{word}"', fields, heading) for word, fields in of_column.items()
        }
        for heading, of_column in tables_of(given, "words").items()
    }
    if sum(map(len, words.values())) > MOST_WORDS:
        raise condition_error("words", f"{sum(map(len, words.values())):,} words", f"at most {MOST_WORDS:,}")
    if (rules := len(list_of(given, "leave_out"))) > MOST_RULES:
        raise condition_error("leave_out", f"{rules:,} rules", f"at most {MOST_RULES}")
    decimal = given.get("decimal", ".")
    if decimal not in (".", ","):
        raise condition_error("decimal", decimal, '"." or ","')
    return Conditions(
        **facts,
        everywhere=columns_of("everywhere", table_of(given, "everywhere"), ""),
        columns={heading: column_role(heading, name) for heading, name in table_of(given, "columns").items()},
        values={
            heading: {
                **columns_of(
                    f'values."{heading}"', {name: fields[name] for name in fields if name not in OF_VALUES}, ""
                ),
                **{name: _texts(f'values."{heading}".{name}', fields[name]) for name in OF_VALUES if name in fields},
            }
            for heading, fields in tables_of(given, "values").items()
        },
        words=words,
        leave_out=tuple(
            _omission(f"leave_out {number}", rule) for number, rule in enumerate(list_of(given, "leave_out"), start=1)
        ),
        new=tuple(_new_entry(f"new {number}", entry) for number, entry in enumerate(list_of(given, "new"), start=1)),
        decimal=decimal,
    )


def template_column(name: str) -> str:
    """Return a column of the template: "parameter job" is "parameter:job"."""
    return PARAMETER + name[len("parameter ") :] if name.startswith("parameter ") else name


def column_role(heading: str, name: Any) -> str:
    if not isinstance(name, str) or not is_column_role(template_column(name)):
        raise condition_error(
            f'columns."{heading}"', name, f'{IGNORED}, "parameter NAME", or one of {", ".join(FIELDS)}'
        )
    return template_column(name)


def columns_of(place: str, fields: Any, heading: str) -> dict[str, str]:
    """Return column of the template to value; a text alone is the value of the column that the heading names."""
    if isinstance(fields, str) and heading in FIELDS:
        fields = {heading: fields}
    if not isinstance(fields, dict):
        raise condition_error(place, fields, 'columns of the template with their values, like { cache_mode = "none" }')
    columns = {}
    for name, value in fields.items():
        if (column := template_column(name)) not in FIELDS and not column.startswith(PARAMETER):
            raise condition_error(place, name, f'"parameter NAME", or one of {", ".join(FIELDS)}')
        columns[column] = _text(f"{place}.{name}", value)
    return columns


def _text(place: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise condition_error(place, value, "a text or a number")
    return str(value).strip()


def _texts(place: str, given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise condition_error(place, given, 'headings with their words, like { "Setup" = "raw" }')
    return {heading: _text(f'{place}."{heading}"', word) for heading, word in given.items()}


def _omission(place: str, given: Any) -> LeftOutRows:
    check_keys(place, given, ("where", "lines", "reason"))
    if not isinstance(given.get("reason"), str) or not given["reason"].strip():
        raise condition_error(f"{place}.reason", given.get("reason"), "why the rows are not taken")
    lines = given.get("lines", [])
    if not isinstance(lines, list) or not all(isinstance(line, int) and line > 0 for line in lines):
        raise condition_error(f"{place}.lines", lines, "lines of the table's file, from 1")
    where = _texts(f"{place}.where", given.get("where", {}))
    if bool(where) == bool(lines):
        raise condition_error(place, "both" if where else "neither", "where or lines: which rows are meant")
    return LeftOutRows(given["reason"].strip(), where, tuple(lines))


def _new_entry(place: str, given: Any) -> dict[str, str]:
    if not isinstance(given, dict) or given.get(IS_A) not in NEW_KINDS:
        given_kind = given.get(IS_A) if isinstance(given, dict) else given
        raise condition_error(f"{place}.{IS_A}", given_kind, f"one of {', '.join(NEW_KINDS)}")
    if given[IS_A] == "host_storage":
        given = {"name": given.get("slug"), **given}
    for name in ("slug", "name"):
        if not given.get(name):
            raise condition_error(f"{place}.{name}", given.get(name), "a text")
    return {name: _text(f"{place}.{name}", value) for name, value in given.items()}


def _checked_section(given: Mapping[str, Any], section: str) -> dict[str, Any]:
    table = table_of(given, section)
    check_keys(section, table, FACTS[section])
    for name, value in table.items():
        if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            raise condition_error(f"{section}.{name}", value, "a text, a number, a day or a list of texts")
    return {
        name: value if isinstance(value, bool | int | float | str | list) else value.isoformat()
        for name, value in table.items()
    }


def table_of(given: Mapping[str, Any], section: str) -> dict[str, Any]:
    table = given.get(section, {})
    if not isinstance(table, dict):
        raise condition_error(section, table, f"a table, [{section}]")
    return table


def tables_of(given: Mapping[str, Any], section: str) -> dict[str, dict[str, Any]]:
    tables = table_of(given, section)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise condition_error(f'{section}."{name}"', table, f'a table, [{section}."{name}"]')
    return tables


def list_of(given: Mapping[str, Any], section: str) -> list[Any]:
    items = given.get(section, [])
    if not isinstance(items, list):
        raise condition_error(section, items, f"tables, [[{section}]]")
    return items


def check_keys(place: str, given: Any, allowed: Collection[str]) -> None:
    if not isinstance(given, dict):
        raise condition_error(place, given, f"a table with {', '.join(allowed)}")
    for name in given:
        if name not in allowed:
            raise ConditionsError(f"{place}: found the key {name[:80]!r}, allowed are {', '.join(allowed)}")


def condition_error(place: str, given: Any, allowed: str) -> ConditionsError:
    shown = "nothing" if given in (None, "", [], {}) else str(given)[:80]
    return ConditionsError(f"{place}: found {shown}, allowed is {allowed}")


# Writing


def as_toml(conditions: Conditions) -> str:
    """Return the file of these conditions: `read_conditions` reads the same from it."""
    parts = [] if conditions.decimal == "." else [f"decimal = {_value(conditions.decimal)}\n"]
    for name in (*FACTS, "everywhere"):
        parts.append(_section(f"[{name}]", getattr(conditions, name)))
    parts.append(_section("[columns]", {heading: _toml_name(name) for heading, name in conditions.columns.items()}))
    for heading, fields in conditions.values.items():
        parts.append(_section(f"[values.{_key(heading)}]", fields))
    for heading, words in conditions.words.items():
        parts.append(_section(f"[words.{_key(heading)}]", words))
    for left_out in conditions.leave_out:
        which = {"where": left_out.where} if left_out.where else {"lines": list(left_out.lines)}
        parts.append(_section("[[leave_out]]", {**which, "reason": left_out.reason}))
    parts += [_section("[[new]]", entry) for entry in conditions.new]
    return "\n".join(filter(None, parts))


def _section(head: str, fields: Mapping[str, Any]) -> str:
    lines = [f"{_key(_toml_name(name))} = {_value(value)}\n" for name, value in fields.items()]
    return "".join([f"{head}\n", *lines]) if lines else ""


def _toml_name(name: str) -> str:
    return "parameter " + name[len(PARAMETER) :] if name.startswith(PARAMETER) else name


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    """Return a value as TOML: its strings are written as JSON's are."""
    if isinstance(value, Mapping) and not value:
        return "{}"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(_toml_name(name))} = {_value(fact)}" for name, fact in value.items()) + " }"
    if isinstance(value, list) and len(value) > 1 and isinstance(value[0], str):
        return "[\n" + "".join(f"    {_value(text)},\n" for text in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
