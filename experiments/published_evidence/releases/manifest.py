"""release.json: which case studies a release holds, where they come from, and how they ended there."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import cattrs

from experiments.readers.bundle import BundleError, parse_document

from . import ReleaseError

FORMAT, VERSION = "kdb-release", 1
MAX_BYTES = 16 * 2**20
MAX_CASE_STUDIES = 10_000
MAX_VALUES = 2_000_000


@dataclass(frozen=True)
class Publisher:
    """An installation. identity : the UUID that it gave itself; address : where it can be read, or "" """

    identity: str
    name: str
    address: str


@dataclass(frozen=True)
class Ending:
    """The end of a case study. kind : retracted, superseded or doubted; replaced_by : slug at its origin, or empty"""

    kind: str
    reason: str
    replaced_by: str


@dataclass(frozen=True)
class Entry:
    """A case study. slug, number : its slug, and the knowledge revision, at its origin
    path : of its folder; digest : of digests.digest; ended : None where it counts"""

    slug: str
    origin: Publisher
    number: int
    path: str
    digest: str
    ended: Ending | None


@dataclass(frozen=True)
class Manifest:
    """number : the knowledge revision of the release; made_on : its day; files : SHA-256 by name, of all others"""

    origin: Publisher
    number: int
    made_on: str
    case_studies: list[Entry]
    files: dict[str, str]


_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_SLUG = {"type": "string", "pattern": "^[-a-zA-Z0-9_]{1,60}$"}
_NUMBER = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


_PUBLISHER = _object(
    identity={"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
    name={"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^\x00-\x1f\x7f-\x9f]+$"},
    address={"type": "string", "pattern": r"^(https?://[^\s\"<>]+)?$", "maxLength": 500},
)
_ENDING = _object(
    kind={"enum": ["retracted", "superseded", "doubted"]},
    reason={"type": "string", "minLength": 1, "maxLength": 10_000, "pattern": r"\S"},
    replaced_by={"anyOf": [_SLUG, {"const": ""}]},
)
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "KDB release",
    **_object(
        format={"const": FORMAT},
        version={"const": VERSION},
        origin=_PUBLISHER,
        number=_NUMBER,
        made_on={"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        case_studies={
            "type": "array",
            "maxItems": MAX_CASE_STUDIES,
            "items": _object(
                slug=_SLUG,
                origin=_PUBLISHER,
                number=_NUMBER,
                path={"type": "string", "pattern": "^case-studies/[-a-zA-Z0-9_]{1,60}/$"},
                digest=_DIGEST,
                ended={"anyOf": [{"type": "null"}, _ENDING]},
            ),
        },
        files={"type": "object", "additionalProperties": _DIGEST, "maxProperties": 5 * MAX_CASE_STUDIES},
    ),
}


def to_json(manifest: Manifest) -> bytes:
    document = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def parse(data: bytes) -> Manifest:
    """Return the manifest that release.json holds. Raises ReleaseError."""
    try:
        document = parse_document("release.json", data, SCHEMA, max_bytes=MAX_BYTES, max_values=MAX_VALUES)
    except BundleError as error:
        raise ReleaseError(str(error)) from error
    del document["format"], document["version"]
    manifest = cattrs.structure(document, Manifest)
    for name, keys in (
        ("path", [entry.path for entry in manifest.case_studies]),
        ("slug", [(entry.origin.identity, entry.slug) for entry in manifest.case_studies]),
    ):
        if len(set(keys)) != len(keys):
            raise ReleaseError(f"release.json, case_studies: a {name} is there twice.")
    return manifest
