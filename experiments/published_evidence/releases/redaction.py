"""Redact names and addresses of machines, mail addresses and serial numbers in the texts of a release.

Each is replaced by its kind and a number, like "[host 1]", the same everywhere in a case study, so that different names
stay different. No pattern finds every name: the publisher reads the preview, which lists the replacements, and can name
more words.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from typing import Any

_HEX = "[0-9A-Fa-f]"
_PATTERNS = (
    ("mail address", r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"),
    ("disk", r"/dev/disk/by-[a-z]{2,9}/[\w.:+-]{1,200}"),
    ("disk", rf"\b(?:wwn-0x|0x|naa\.|eui\.){_HEX}{{16,32}}\b"),
    ("identifier", rf"\b{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}\b"),
    ("serial number", r"(?i:(?:\bserial(?: number| no\.?)?|\bS/N)[ :=]{1,3})(?P<it>(?=[\w-]{0,40}\d)[\w-]{5,40})"),
    ("address", rf"(?<![\w:-]){_HEX}{{2}}(?::{_HEX}{{2}}){{5}}(?![\w:-])"),
    ("address", rf"(?<![\w:.]){_HEX}{{0,4}}(?::{_HEX}{{0,4}}){{2,7}}(?![\w:.]\w)"),
    ("address", r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)"),
)
_FREE_TEXT = {  # by the part of a bundle's document; a list of lists has its fields in every entry
    "server": ("model", "cpu", "cores", "ram_kind", "network"),
    "storage": ("description", "controller", "raid", "source"),
    "case_study": ("title", "procedure", "notes"),
    "configurations": (
        *("virtual_devices", "host_kernel", "guest_kernel", "host_mkfs_options", "host_mount_options", "below"),
        *("guest_mkfs_options", "guest_mount_options", "vm_disk", "note"),
    ),
    "workload_variants": ("parameters",),
    "printed_ratios": ("note",),
    "publications": ("note",),
    "claims": ("location", "scope", "statement"),
    "files": ("name",),
}
_COLUMNS = ("source", "note", "excluded_because", "excluded_by")


@dataclass
class Redaction:
    """Redacts the texts of one case study.

    names : known names and addresses of machines, and words to redact, each with its kind
    replaced : each redacted text with its replacement
    """

    names: dict[str, str]
    replaced: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words = sorted(self.names, key=len, reverse=True)
        known = rf"(?<![\w.-])(?:{'|'.join(map(re.escape, words))})(?![\w-])" if words else r"(?!)"
        parts = [_PATTERNS[0], ("known", known), *_PATTERNS[1:]]  # a host's name may be part of a mail address
        self._kinds = [kind for kind, _ in parts]
        self._patterns = [re.compile(pattern, re.IGNORECASE if kind == "known" else 0) for kind, pattern in parts]
        self._counts: dict[str, int] = {}

    def redact(self, value: Any) -> Any:
        """Return a text, or a list or object of texts, redacted."""
        if isinstance(value, str):
            for kind, pattern in zip(self._kinds, self._patterns, strict=True):
                value = pattern.sub(partial(self._replacement, kind), value)
            return value
        if isinstance(value, list):
            return [self.redact(inner) for inner in value]
        if isinstance(value, dict):
            return {name: self.redact(inner) for name, inner in value.items()}
        return value

    def redact_document(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a bundle's document with its texts redacted."""
        redacted = dict(document)
        for name, fields in _FREE_TEXT.items():
            part = document[name]
            is_list = isinstance(part, list)
            redacted[name] = (
                [self._redact_fields(row, fields) for row in part] if is_list else self._redact_fields(part, fields)
            )
        redacted["catalogue"] = {
            name: [self._redact_fields(row, ("description", "source")) for row in rows]
            for name, rows in document["catalogue"].items()
        }
        for name in ("server", "storage"):
            if self.redact(redacted[name]["slug"]) != redacted[name]["slug"]:
                redacted[name]["slug"] = document["case_study"]["slug"]
        return redacted

    def redact_rows(self, rows: Iterable[list[Any]]) -> Iterable[list[Any]]:
        """Yield the lines of a bundle's table, redacted; the first are its columns."""
        lines = iter(rows)
        columns = next(lines)
        yield columns
        places = [columns.index(name) for name in _COLUMNS if name in columns]
        for cells in lines:
            for place in places:
                if cells[place]:
                    cells[place] = self.redact(cells[place])
            yield cells

    def _redact_fields(self, row: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
        return {**row, **{name: self.redact(row[name]) for name in names if name in row}}

    def _replacement(self, kind: str, match: re.Match[str]) -> str:
        whole = match[0]
        text = match.groupdict().get("it") or whole
        if kind == "address" and not _is_address(text):
            return whole
        if kind == "known":
            kind = self.names.get(text) or next(self.names[name] for name in self.names if name.lower() == text.lower())
        if text not in self.replaced:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self.replaced[text] = f"[{kind} {self._counts[kind]}]"
        return whole.removesuffix(text) + self.replaced[text]


def _is_address(text: str) -> bool:
    """Tell addresses from times and versions: 12:30:15 and Filebench 1.4.9.1 stay."""
    if re.fullmatch(rf"{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}", text):
        return True
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified or text.startswith("0."):
        return False
    return address.version == 6 or address.is_private or any(int(part) >= 100 for part in text.split("."))
