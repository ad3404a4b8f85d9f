"""Open a case-study bundle and check it against its schema. case_studies.bundles takes it into the database."""

import hashlib
import json
from itertools import islice
from typing import Any, NamedTuple

from kdb.json_values import refuse_unkeepable

from . import archives

DOCUMENT, MEASUREMENTS, DERIVED, FILES = "case-study.json", "measurements.csv", "derived.csv", "files/"

# The largest published one has 120 kB, 4,800 values and 150 entries.
MAX_DOCUMENT_BYTES = 4 * 2**20
MAX_VALUES = 100_000  # in the document, at any depth; the depth has its limit in refuse_unkeepable
MAX_ENTRIES = 5_000  # in all lists of the document: each becomes a row
MAX_FAULTS = 10  # of the schema, that are listed
_MAX_MESSAGE = 200  # characters of one fault


class BundleError(ValueError):
    """The bundle cannot be used; the message names the place in it and may be shown to users."""


class Bundle(NamedTuple):
    """A checked bundle. digest : SHA-256 of document and tables, whatever wrote the ZIP; lines : of both tables"""

    document: dict[str, Any]
    digest: str
    lines: int
    members: dict[str, bytes]


def read(data: bytes, schema: dict[str, Any]) -> Bundle:
    """Return the bundle in a ZIP. Raises BundleError."""
    members = members_of(data)
    document = _checked_document(members, schema)
    tables = [members[name].replace(b"\r\n", b"\n") for name in (MEASUREMENTS, DERIVED)]
    digest = hashlib.sha256(b"\0".join([json.dumps(document, sort_keys=True).encode(), *tables])).hexdigest()
    del members[DOCUMENT]
    return Bundle(document, digest, sum(table.count(b"\n") for table in tables), members)


def members_of(data: bytes) -> dict[str, bytes]:
    """Return name to bytes of the members that a bundle may have. Raises BundleError."""
    try:
        members = {member.name: member.data for member in archives.members("bundle", data)}
    except archives.ArchiveError as error:
        raise BundleError(str(error)) from error
    for name in (DOCUMENT, MEASUREMENTS, DERIVED):
        if name not in members:
            raise BundleError(f"{name} is missing in the bundle.")
    for name in members:
        if name not in (DOCUMENT, MEASUREMENTS, DERIVED) and not name.startswith(FILES):
            raise BundleError(f"{name!r} has no place in a bundle.")
    return members


def _checked_document(members: dict[str, bytes], schema: dict[str, Any]) -> dict[str, Any]:
    document = parse_document(DOCUMENT, members[DOCUMENT], schema, max_bytes=MAX_DOCUMENT_BYTES, max_values=MAX_VALUES)
    entries = sum(len(rows) for rows in (*document.values(), *document["catalogue"].values()) if isinstance(rows, list))
    if entries > MAX_ENTRIES:
        raise BundleError(f"{DOCUMENT} holds {entries:,} entries; at most {MAX_ENTRIES:,} are taken.")
    named = {f"{FILES}{entry['sha256']}" for entry in document["files"]}
    present = {name for name in members if name.startswith(FILES)}
    if named != present:
        raise BundleError(f"{DOCUMENT} and the bundle disagree on {sorted(named ^ present)[0]}.")
    for entry in document["files"]:
        content = members[f"{FILES}{entry['sha256']}"]
        if hashlib.sha256(content).hexdigest() != entry["sha256"] or len(content) != entry["size_bytes"]:
            raise BundleError(f"{entry['name']}: the bytes are not those that the bundle names.")
    return document


def parse_document(
    name: str, data: bytes, schema: dict[str, Any], *, max_bytes: int, max_values: int
) -> dict[str, Any]:
    """Return the content of a JSON file that obeys the schema. Raises BundleError, whose text begins with the name."""
    import jsonschema  # here: slow to import, and other formats do not need it

    if len(data) > max_bytes:
        raise BundleError(f"{name} has more than {max_bytes:,} bytes.")
    try:
        document = json.loads(data, parse_constant=_refuse_constant)
        refuse_unkeepable(document)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{name}: {error}") from error
    if _count_values(document, max_values) > max_values:
        raise BundleError(f"{name} holds more than {max_values:,} values.")
    faults = [*islice(jsonschema.Draft202012Validator(schema).iter_errors(document), MAX_FAULTS + 1)]
    if faults:
        listed = "; ".join(f"{fault.json_path}: {fault.message[:_MAX_MESSAGE]}" for fault in faults[:MAX_FAULTS])
        raise BundleError(f"{name}: {listed}{'; and more' if len(faults) > MAX_FAULTS else ''}")
    return dict(document)


def _count_values(document: Any, most: int) -> int:
    """Count the values at every depth, level by level until there are more than `most`."""
    level, count = [document], 0
    while level and count <= most:
        count += len(level)
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return count


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
