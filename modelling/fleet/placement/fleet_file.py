"""Read a fleet from JSON: {"pools": [...], "machines": [...], "rules": {...}} with the fields of content. No Django."""

import json
from dataclasses import MISSING, fields
from typing import Any

import cattrs
from jsonschema import Draft202012Validator

from kdb.json_values import refuse_unkeepable

from .content import FleetError, Machine, Pool, Rules

MOST_BYTES = 50 * 2**20
_TEXT = {"type": "string", "maxLength": 200}
_OF_TYPE: dict[Any, dict[str, Any]] = {
    str: _TEXT,
    float: {"type": "number"},
    bool: {"type": "boolean"},
    float | None: {"type": ["number", "null"]},
    tuple[str, ...]: {"type": "array", "items": _TEXT},
}
_SHARES = {"type": "object", "additionalProperties": {"type": "number"}}


def _schema(kind: type[Pool | Machine | Rules]) -> dict[str, Any]:
    """Return the JSON schema of objects of a dataclass."""
    known_fields = fields(kind)
    return {
        "type": "object",
        "properties": {field.name: _OF_TYPE.get(field.type, _SHARES) for field in known_fields},
        "required": [field.name for field in known_fields if field.default is MISSING],
        "additionalProperties": False,
    }


_FLEET = Draft202012Validator(
    {
        "type": "object",
        "properties": {
            "pools": {"type": "array", "items": _schema(Pool), "minItems": 1},
            "machines": {"type": "array", "items": _schema(Machine)},
            "rules": _schema(Rules),
        },
        "required": ["pools", "machines"],
        "additionalProperties": False,
    }
)


def read_fleet(text: bytes) -> tuple[list[Machine], list[Pool], Rules]:
    """Return the machines, pools and rules; raises FleetError with the place of the first error."""
    if len(text) > MOST_BYTES:
        raise FleetError(f"{len(text)} bytes; {MOST_BYTES} at most")
    try:
        document = json.loads(text, parse_constant=_not_a_number)
        refuse_unkeepable(document)
    except (ValueError, RecursionError) as error:  # ValueError also for bytes that are not UTF-8
        raise FleetError(f"no JSON: {error}") from error
    for fault in _FLEET.iter_errors(document):
        raise FleetError(f"{fault.json_path[2:] or 'the file'}: {fault.message[:500]}")
    return (
        cattrs.structure(document["machines"], list[Machine]),
        cattrs.structure(document["pools"], list[Pool]),
        cattrs.structure(document.get("rules", {}), Rules),
    )


def _not_a_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
