"""Suggest what the headings of a published table mean, for its owner to confirm. No database, no Django.

Cache mode            a setting: cache_mode
4K rand read (kIOPS)  numbers: workload random-read, block_size_bytes 4K, unit kIOPS
8 threads             numbers with the parameter threads = 8
Queue depth           a parameter of the load
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from experiments.imports.normalise import value_of_spelling
from experiments.readers.table import NOT_MEASURED
from experiments.readers.table_columns import NUMERIC, PARAMETER, UnknownHeader, parse_header
from experiments.rules.entry_names import Names, fold
from experiments.rules.number_grammar import looks_numeric
from kdb.disk_path import SETTINGS
from kdb.units import METRICS, spelled_unit

from .parsing import PlainTable

VALUE = "value"
CLOSE_ENOUGH = 0.75  # of two spellings, by difflib
_BLOCK = re.compile(r"\b(\d{1,4} ?[KkMm](?:i?[Bb])?)\b")
_TAIL = re.compile(r"[(\[]([^)\]]{1,20})[)\]]|[,/:] ?([^\s,]{1,12})$|\s(\S{1,12})$")
_PARAMETERS = re.compile(r"\b(queue|depth|i/?o ?depth|qd|threads?|num ?jobs|jobs|clients|rwmix\w*|engine|io ?engine)\b")
# "8 threads", "threads = 8", "QD32"; the name of each as fio and sysbench have it.
_SET = re.compile(
    r"\b(?:(?P<before>\d{1,6}) ?(?P<word>threads?|jobs?|numjobs|clients?|writers?|readers?|streams?|processes)"
    r"|(?P<name>threads?|num ?jobs|jobs|clients?|i/?o ?depth|queue depth|qd)\W{0,3}(?P<after>\d{1,6}))\b"
)
_PARAMETER_NAMES = {"qd": "iodepth", "queuedepth": "iodepth", "iodepth": "iodepth", "job": "numjobs", "jobs": "numjobs"}
_WORDS_NOT_UNITS = ("min", "h", "s", "x", "times")  # at the end of a heading: "Latency min" is the least one
_WORDS = {  # further names that people give a column; folded below
    **dict.fromkeys(("fs", "filesystem", "hostfilesystem", "hostfs"), "host_fs"),
    **dict.fromkeys(("guestfilesystem", "guestfs", "vmfs"), "guest_fs"),
    **dict.fromkeys(("virtualization", "vm", "virtualisationplatform", "virtualizationplatform"), "hypervisor"),
    **dict.fromkeys(("storage", "storagebackend", "volume", "storagetype"), "backend"),
    **dict.fromkeys(("pattern", "iopattern", "accesspattern", "job", "testcase"), "workload"),
    **dict.fromkeys(("guests", "vms"), "vm_count"),
    **dict.fromkeys(("kernel", "hostkernelversion"), "host_kernel"),
    **dict.fromkeys(("±", "stddev.", "error"), "standard_deviation"),
    **{
        fold(word): setting.column
        for setting in SETTINGS.values()
        for word in (setting.label, setting.axis, *setting.words)
    },
}
_WORDS = {fold(word): column for word, column in _WORDS.items()}


def sections(table: PlainTable, names: Names) -> dict[str, dict[str, object]]:
    """Return the sections [columns] and [values] of conditions that the headings and cells suggest."""
    columns: dict[str, object] = {}
    values: dict[str, object] = {}
    for at, heading in enumerate(table.header):
        cells = [row[at] for row in table.rows if row[at].casefold() not in NOT_MEASURED]
        if (column := column_of(heading, cells, names)) == VALUE:
            values[heading] = number_facts(heading, names)
        elif column and column not in columns.values():
            columns[heading] = column
    return {"columns": columns, "values": values}


def column_of(heading: str, cells: list[str], names: Names) -> str:
    """Return the column of the template that a heading and its cells fit, VALUE for numbers; empty: none."""
    is_numeric = bool(cells) and sum(map(looks_numeric, cells)) >= 0.6 * len(cells)
    if is_numeric and unit_in(heading):
        return VALUE
    try:
        header = parse_header(heading)
        known = VALUE if header.is_wide else header.name
    except UnknownHeader:
        known = _WORDS.get(fold(heading), "")
    if known and (known in NUMERIC or not is_numeric or known.startswith(PARAMETER) or known in SETTINGS):
        return known
    if is_numeric and parameter_in(heading):
        return VALUE
    if _PARAMETERS.search(heading.casefold()):
        return f"{PARAMETER}{heading.casefold()}"
    return VALUE if is_numeric else known or _column_of_words(cells, names)


def _column_of_words(cells: list[str], names: Names) -> str:
    """Return the column of which at least half of the words are known names or values; "" where there is none."""
    words = dict.fromkeys(cells)
    kinds = {
        **{"file_system": "host_fs", "host_storage": "backend", "hypervisor": "hypervisor"},
        **{"workload": "workload", "benchmark": "benchmark"},
    }
    for kind, column in kinds.items():
        if words and 2 * sum(names.find(kind, word) is not None for word in words) >= len(words):
            return column
    for setting in SETTINGS.values():
        if words and 2 * sum(bool(value_of_spelling(setting.column, word)) for word in words) >= len(words):
            return setting.column
    return ""


def unit_in(heading: str) -> str:
    """Return the unit that a heading has in brackets or at its end; empty: none."""
    for match in reversed([*_TAIL.finditer(heading)]):
        text = next(filter(None, match.groups())).strip("()[]")
        if text == "%" or (spelled_unit(text) and not (match[3] and text in _WORDS_NOT_UNITS)):
            return text
    return heading if spelled_unit(heading) and len(heading) > 1 else ""


def parameter_in(heading: str) -> tuple[str, str] | None:
    """Return name and value of the load's parameter that a heading states, as of "8 threads"; None: none."""
    match = _SET.search(heading.casefold())
    if match is None:
        return None
    word = fold(match["word"] or match["name"])
    plural = word if word.endswith(("s", "h", "qd")) else f"{word}s"
    return _PARAMETER_NAMES.get(word, plural), match["before"] or match["after"]


def number_facts(heading: str, names: Names) -> dict[str, str]:
    """Return what a heading says of its numbers: unit, load, block size, metric."""
    fields = {}
    unit, folded = unit_in(heading), heading.casefold()
    if unit:
        fields["unit"] = unit
    if match := _BLOCK.search(heading):
        fields["block_size_bytes"] = match[1]
    if parameter := parameter_in(heading):
        fields[f"{PARAMETER}{parameter[0]}"] = parameter[1]
    way = "random" if "rand" in folded else "sequential" if "seq" in folded else ""
    has = {word: re.search(rf"(?<!th){word}|\b{word[0]}\b", folded) is not None for word in ("read", "write")}
    what = "mixed" if all(has.values()) or "mix" in folded or "rw" in folded else next((w for w in has if has[w]), "")
    if way and what and (workload := names.find("workload", f"{way} {what}")):
        fields["workload"] = workload
    elif what and what != "mixed":
        fields["operation"] = f"{way} {what}".strip().replace("sequential ", "").replace(" ", "-")
    if nth := re.search(r"p(50|95|99)\b|\b(50|95|99)(?:th|\.0|%)", folded):
        fields["metric"] = f"latency_p{nth[1] or nth[2]}"
    elif "latency" in folded:
        fields["metric"] = "latency"
    return {name: value for name, value in fields.items() if name != "metric" or value in METRICS}


def close_entry(word: str, spellings: Mapping[str, str]) -> str:
    """Return the slug whose spelling is nearest to a word; empty where none is near. spellings : folded to slug"""
    folded = fold(word)
    near = get_close_matches(folded[:80], spellings, n=1, cutoff=CLOSE_ENOUGH)
    if near:
        return spellings[near[0]]
    inside = [known for known in spellings if len(known) > 2 and folded.startswith(known)]  # "ZFS 2.1"
    return spellings[max(inside, key=len)] if inside else ""
