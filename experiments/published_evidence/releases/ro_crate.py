"""Describe a release as an RO-Crate 1.2, in the words of schema.org. Plain values in, JSON out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

CRATE, MANIFEST = "ro-crate-metadata.json", "release.json"
SIGNATURE = "release.sig"
_RO_CRATE = "https://w3id.org/ro/crate/1.2"
_KEYWORDS = "storage performance, file systems, hypervisors, virtual machines, benchmarks"
_LICENCE_NOT_STATED = {
    "@id": "#licence-not-stated",
    "@type": "CreativeWork",
    "name": "No licence is stated",
    "description": "The source states no licence. What is held of it are facts: numbers, settings and where they "
    "stand, in words of the collection.",
}


@dataclass(frozen=True)
class ReleaseFile:
    name: str
    sha256: str
    size_bytes: int
    media_type: str
    description: str


@dataclass(frozen=True)
class Source:
    """A case study of the release. publication : as in its bundle, or None"""

    slug: str
    title: str
    description: str
    status: str
    publication: dict[str, Any] | None
    measurements: int
    files: Sequence[ReleaseFile]

    @property
    def licence(self) -> str:
        return str((self.publication or {}).get("licence", ""))


@dataclass(frozen=True)
class Release:
    """number : its knowledge revision; made_on : the day of that revision
    licence : SPDX identifier of the collection; creators : names; files : those that belong to no case study"""

    identity: str
    name: str
    address: str
    number: int
    made_on: date
    licence: str
    creators: Sequence[str]
    sources: Sequence[Source]
    files: Sequence[ReleaseFile]


def metadata(release: Release) -> dict[str, Any]:
    """Return the content of ro-crate-metadata.json, whose root is a Dataset."""
    entities: dict[str, dict[str, Any]] = {}

    def add(entity: dict[str, Any]) -> dict[str, str]:
        entities.setdefault(entity["@id"], entity)
        return {"@id": entity["@id"]}

    parts = [add(_file(file)) for file in release.files]
    parts += [add(_source(source, add)) for source in release.sources]
    creators = [add(_person(f"#creator-{n}", name)) for n, name in enumerate(release.creators, start=1)]
    publisher = {"@id": release.address or f"urn:uuid:{release.identity}", "@type": "Organization"}
    publisher |= {"name": release.name} | ({"url": release.address} if release.address else {})
    add(publisher)
    count = sum(source.measurements for source in release.sources)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{release.name}: published evidence, release {release.number}",
        "description": (
            f"Measurements of storage performance under hypervisors and natively: {count:,} numbers of "
            f"{len(release.sources):,} case studies, each with its configuration, its workload and its source, and the "
            f"lists and claims of the sources, as of knowledge revision {release.number}."
        ),
        "identifier": f"urn:uuid:{release.identity}:{release.number}",
        "version": str(release.number),
        "datePublished": release.made_on.isoformat(),
        "keywords": _KEYWORDS,
        "license": add(_licence(release.licence)),
        "publisher": {"@id": publisher["@id"]},
        "creator": creators or {"@id": publisher["@id"]},
        "hasPart": parts,
        **({"url": release.address} if release.address else {}),
    }
    about = {"@id": CRATE, "@type": "CreativeWork", "conformsTo": {"@id": _RO_CRATE}, "about": {"@id": "./"}}
    return {"@context": f"{_RO_CRATE}/context", "@graph": [about, root, *entities.values()]}


def _file(file: ReleaseFile) -> dict[str, Any]:
    return {
        "@id": file.name,
        "@type": "File",
        "name": file.name,
        "description": file.description,
        "encodingFormat": file.media_type,
        "contentSize": str(file.size_bytes),
        "sha256": file.sha256,
    }


def _person(identifier: str, name: str) -> dict[str, Any]:
    return {"@id": identifier, "@type": "Person", "name": name}


def _licence(identifier: str) -> dict[str, Any]:
    if not identifier:
        return _LICENCE_NOT_STATED
    return {
        "@id": f"https://spdx.org/licenses/{identifier}",
        "name": identifier,
        "@type": "CreativeWork",
        "description": f"The licence {identifier} of the SPDX list.",
    }


def _source(source: Source, add: Any) -> dict[str, Any]:
    entity: dict[str, Any] = {
        "@id": f"case-studies/{source.slug}/",
        "@type": "Dataset",
        "name": source.title,
        "identifier": source.slug,
        "description": source.description or f"The case study {source.slug}.",
        "creativeWorkStatus": source.status,
        "license": add(_licence(source.licence)),
        "hasPart": [add(_file(file)) for file in source.files],
    }
    if source.publication:
        entity["isBasedOn"] = add(_publication(source.publication, add))
    return entity


def _publication(publication: dict[str, Any], add: Any) -> dict[str, Any]:
    slug, doi, address = publication["slug"], publication.get("doi"), publication.get("address")
    authors = enumerate(publication.get("authors", []), start=1)
    entity = {
        "@id": f"https://doi.org/{doi}" if doi else address or f"#publication-{slug}",
        "@type": "ScholarlyArticle" if publication.get("is_reviewed", True) else "CreativeWork",
        "name": publication["title"],
        "author": [add(_person(f"#author-{slug}-{n}", name)) for n, name in authors],
        "license": add(_licence(publication.get("licence", ""))),
        "datePublished": str(publication.get("year") or ""),
        "url": address,
        "archivedAt": publication.get("archive_address"),
    }
    return {name: value for name, value in entity.items() if value}
