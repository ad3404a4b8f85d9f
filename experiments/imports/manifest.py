"""Read the settings of an archive's files from their paths, as its manifest.toml says. No database, no Django.

    [everywhere]                              columns of the template that hold for every file
    benchmark = "filebench"

    [[files]]                                 the first pattern that a path fits gives its settings
    pattern = "{hypervisor}/fileserver_{threads}T_{files}kF.f_{repetition}"
    everywhere = { workload = "fileserver" }  what holds for these files
    columns = { files = "parameter nfiles" }  what a name in braces is; else the column, or the parameter, of that name
    words.hypervisor.kvm1 = { hypervisor = "kvm", host_fs = "ext4" }    the paths' own words

    [[leave_out]]
    pattern = "**/README*"
    reason = "no results"

The sections of experiments.imports.tables.conditions that describe a case study may stand in it, too. In a pattern, a
name in braces and * stand for anything but a slash, up to what follows it in the pattern; ** stands for anything.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.readers.table_columns import FIELDS, IGNORED, PARAMETER

from .tables.conditions import (
    Conditions,
    Texts,
    check_keys,
    column_role,
    columns_of,
    condition_error,
    conditions_of,
    list_of,
    table_of,
    tables_of,
    toml_tables,
)

NAME = "manifest.toml"
MOST_PATTERNS = 200
SHOWN = 12  # values, or paths
_TOKEN = re.compile(r"\{([^{}/]*)\}|\*\*|\*")


@dataclass(frozen=True)
class FilePattern:
    """A pattern of paths, and the settings of files that fit it. places : name in braces to a column, or IGNORED

    reason : why such files are left out; "" for those that are taken
    """

    pattern: str
    expression: re.Pattern[str]
    everywhere: Texts = field(default_factory=dict)
    places: Texts = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Texts]] = field(default_factory=dict)
    reason: str = ""

    def settings_of(self, path: str) -> dict[str, str] | None:
        """Return column of the template to value; None where the path does not fit. Raises ConditionsError."""
        match = self.expression.fullmatch(path)
        if match is None:
            return None
        settings: dict[str, str] = {}
        for name, text in match.groupdict().items():
            given = self.words.get(name, {}).get(text, {self.places[name]: text})
            for column, value in given.items():
                if column != IGNORED and settings.setdefault(column, value) != value:
                    raise condition_error(f"{path}, {column}", value, f"{settings[column]}, as its path says before")
        return {**self.everywhere, **settings}


@dataclass(frozen=True)
class Manifest:
    """The patterns of a manifest in their order, and the case study that it describes; study None: it describes none"""

    everywhere: Texts
    patterns: tuple[FilePattern, ...]
    study: Conditions | None = None


@dataclass(frozen=True)
class PatternUse:
    """One pattern, and what its names in braces stood for. places : (name, column or "", its values, how many more)"""

    pattern: str
    files: int
    places: tuple[tuple[str, str, tuple[str, ...], int], ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Explained:
    """What the manifest says of each path. settings : None for files that are left out; unexplained : fit no pattern"""

    settings: Mapping[str, dict[str, str] | None]
    uses: tuple[PatternUse, ...]
    unexplained: tuple[str, ...] = ()


def read_manifest(text: str) -> Manifest:
    """Return the manifest of a TOML text. Raises ConditionsError."""
    given = toml_tables(text)
    files = list_of(given, "files")
    left_out = list_of(given, "leave_out")
    if not files or len(files) + len(left_out) > MOST_PATTERNS:
        raise condition_error("files", len(files) or "", f"1 to {MOST_PATTERNS} tables [[files]] and [[leave_out]]")
    if "case_study" not in given:
        check_keys("the file", given, ("everywhere", "case_study", "files", "leave_out"))
    study = {name: value for name, value in given.items() if name not in ("files", "leave_out")}
    patterns = [_pattern_left_out(f"leave_out {number}", rule) for number, rule in enumerate(left_out, start=1)]
    patterns += [_pattern_taken(f"files {number}", rule) for number, rule in enumerate(files, start=1)]
    return Manifest(
        columns_of("everywhere", table_of(given, "everywhere"), ""),
        tuple(patterns),
        conditions_of(study) if "case_study" in given else None,
    )


def _pattern_left_out(place: str, rule: Any) -> FilePattern:
    check_keys(place, rule, ("pattern", "reason"))
    if not isinstance(rule.get("reason"), str) or not rule["reason"].strip():
        raise condition_error(f"{place}.reason", rule.get("reason"), "why these files are not taken")
    expression, _ = _compiled(place, rule.get("pattern"))
    return FilePattern(rule["pattern"], expression, reason=rule["reason"].strip())


def _pattern_taken(place: str, rule: Any) -> FilePattern:
    check_keys(place, rule, ("pattern", "everywhere", "columns", "words"))
    expression, names = _compiled(place, rule.get("pattern"))
    columns = {name: column_role(name, column) for name, column in table_of(rule, "columns").items()}
    words = tables_of(rule, "words")
    for name in (*columns, *words):
        if name not in names:
            raise condition_error(
                place, name, f"a name in braces of its pattern: {', '.join(names) or 'there is none'}"
            )
    places = {name: columns.get(name, name if name in FIELDS else PARAMETER + name) for name in names}
    return FilePattern(
        rule["pattern"],
        expression,
        columns_of(f"{place}.everywhere", table_of(rule, "everywhere"), ""),
        places,
        {
            name: {
                word: columns_of(f'{place}.words.{name}."{word}"', fields, places[name])
                for word, fields in of_name.items()
            }
            for name, of_name in words.items()
        },
    )


def _compiled(place: str, pattern: Any) -> tuple[re.Pattern[str], list[str]]:
    """Return the regular expression of a pattern, which never goes back in a path, and its names in braces."""
    if not isinstance(pattern, str) or not pattern.strip() or len(pattern) > 400:
        raise condition_error(f"{place}.pattern", pattern, "a path with names in braces, of up to 400 characters")
    tokens = list(_TOKEN.finditer(pattern))
    names = [token[1] for token in tokens if token[1] is not None]
    if wrong := [name for name in names if not name.isidentifier() or names.count(name) > 1]:
        raise condition_error(f"{place}.pattern", f"{{{wrong[0]}}}", "names of letters, digits and _, each once")
    expression = re.escape(pattern[: tokens[0].start()] if tokens else pattern)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        literal = pattern[token.end() : following.start() if following else None]
        if following and not literal:
            raise condition_error(f"{place}.pattern", pattern, "a sign between two names or stars")
        any_sign = "." if token[0] == "**" else "[^/]"
        until = f"(?!{re.escape(literal)}{'' if following else chr(92) + 'Z'})" if literal else ""
        name = f"?P<{token[1]}>" if token[1] else "?:"
        expression += f"({name}(?:{until}{any_sign}){'*+' if token[1] is None else '++'}){re.escape(literal)}"
    return re.compile(expression), names


def explain(manifest: Manifest, paths: Sequence[str]) -> Explained:
    """Return the settings of each path, and what each pattern explains. Raises ConditionsError."""
    settings: dict[str, dict[str, str] | None] = {}
    fitting: dict[str, FilePattern] = {}
    for path in paths:
        for pattern in manifest.patterns:
            if (of_path := pattern.settings_of(path)) is not None:
                settings[path] = None if pattern.reason else {**manifest.everywhere, **of_path}
                fitting[path] = pattern
                break
    uses = tuple(
        _use(pattern, [path for path in paths if fitting.get(path) is pattern]) for pattern in manifest.patterns
    )
    return Explained(settings, uses, tuple(path for path in paths if path not in settings))


def _use(pattern: FilePattern, paths: Sequence[str]) -> PatternUse:
    matches = [match for path in paths if (match := pattern.expression.fullmatch(path))]
    places = []
    for name, column in pattern.places.items():
        values = sorted({match[name] for match in matches}, key=lambda value: (len(value), value))
        role = "" if column == IGNORED else column
        places.append((name, role, tuple(values[:SHOWN]), max(0, len(values) - SHOWN)))
    return PatternUse(pattern.pattern, len(paths), tuple(places), pattern.reason)


def lines_of(explained: Explained) -> Iterator[str]:
    """Yield what became parameter, setting and repetition, and what no pattern explains, as plain lines."""
    for use in explained.uses:
        yield f"{use.pattern}: {file_count(use.files)}{f' left out, {use.reason}' if use.reason else ''}"
        for name, column, values, further in use.places:
            role = (
                f"parameter {column.removeprefix(PARAMETER)}" if column.startswith(PARAMETER) else column or "nothing"
            )
            yield f"  {{{name}}}  {role}  {', '.join(values) or '-'}{f' and {further:,} more' if further else ''}"
    if paths := explained.unexplained:
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        yield f"no pattern explains {file_count(len(paths))}: {', '.join(paths[:SHOWN])}{more}"


def file_count(count: int) -> str:
    """Return a number of files in words: "1 file", "2,000 files"."""
    return "1 file" if count == 1 else f"{count:,} files"
