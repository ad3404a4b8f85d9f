"""A release in the words of others: RO-Crate and schema.org. Plain values in, JSON out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

CRATE, MANIFEST = "ro-crate-metadata.json", "release.json"
SIGNATURE = "release.sig"
_RO_CRATE = "https://w3id.org/ro/crate/1.2"
_NOT_STATED = "#licence-not-stated"
_KEYWORDS = ("storage performance", "file systems", "hypervisors", "virtual machines", "benchmarks")


@dataclass(frozen=True)
class Published:
    """One file of the release."""

    name: str
    sha256: str
    size_bytes: int
    media_type: str
    description: str


@dataclass(frozen=True)
class Source:
    """A case study of the release. publication : as a bundle has it, where there is one"""

    slug: str
    title: str
    description: str
    status: str
    publication: dict[str, Any] | None
    measurements: int
    files: Sequence[Published]

    @property
    def licence(self) -> str:
        return str((self.publication or {}).get("licence", ""))

    @property
    def path(self) -> str:
        return f"case-studies/{self.slug}/"


@dataclass(frozen=True)
class Release:
    """number : the knowledge revision that it holds; made_on : the day of that revision
    licence : SPDX identifier, of the collection; creators : names of who answers for it"""

    identity: str
    name: str
    address: str
    number: int
    made_on: date
    licence: str
    creators: Sequence[str]
    sources: Sequence[Source]
    tables: Sequence[Published]

    @property
    def title(self) -> str:
        return f"{self.name}: published evidence, release {self.number}"

    @property
    def description(self) -> str:
        count = sum(source.measurements for source in self.sources)
        return (
            f"Measurements of storage performance under hypervisors and natively: {count:,} numbers of "
            f"{len(self.sources):,} case studies, each with its configuration, its workload and its source, and the "
            f"lists and claims of the sources, as of knowledge revision {self.number}."
        )


def licence_address(identifier: str) -> str:
    return f"https://spdx.org/licenses/{identifier}"


# RO-Crate


def ro_crate(release: Release) -> dict[str, Any]:
    """Return the crate's metadata (RO-Crate 1.2), whose root is a Dataset of schema.org."""
    described: dict[str, dict[str, Any]] = {}

    def reference(entity: dict[str, Any]) -> dict[str, str]:
        described.setdefault(entity["@id"], entity)
        return {"@id": entity["@id"]}

    parts = [reference(_file(table)) for table in release.tables]
    parts += [reference(_source(source, reference)) for source in release.sources]
    creators = [reference({"@id": f"#creator-{n}", "@type": "Person", "name": name}) for n, name in _people(release)]
    publisher = reference(_publisher(release))
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": release.title,
        "description": release.description,
        "identifier": f"urn:uuid:{release.identity}:{release.number}",
        "version": str(release.number),
        "datePublished": release.made_on.isoformat(),
        "keywords": ", ".join(_KEYWORDS),
        "license": reference(_licence(release.licence)),
        "publisher": publisher,
        "creator": creators or publisher,
        "hasPart": parts,
        **({"url": release.address} if release.address else {}),
    }
    about = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": _RO_CRATE},
        "about": {"@id": "./"},
    }
    return {"@context": f"{_RO_CRATE}/context", "@graph": [about, root, *described.values()]}


def _people(release: Release) -> list[tuple[int, str]]:
    return list(enumerate(release.creators, start=1))


def _publisher(release: Release) -> dict[str, Any]:
    about = {"@type": "Organization", "name": release.name}
    if release.address:
        return {"@id": release.address, **about, "url": release.address}
    return {"@id": f"urn:uuid:{release.identity}", **about}


def _file(file: Published) -> dict[str, Any]:
    return {
        "@id": file.name,
        "@type": "File",
        "name": file.name,
        "description": file.description,
        "encodingFormat": file.media_type,
        "contentSize": str(file.size_bytes),
        "sha256": file.sha256,
    }


def _licence(identifier: str) -> dict[str, Any]:
    if identifier:
        named = {"@id": licence_address(identifier), "name": identifier}
        return {**named, "@type": "CreativeWork", "description": f"The licence {identifier} of the SPDX list."}
    return {
        "@id": _NOT_STATED,
        "@type": "CreativeWork",
        "name": "No licence is stated",
        "description": "The source states no licence. What is held of it are facts: numbers, settings and where they "
        "stand, in words of the collection.",
    }


def _source(source: Source, reference: Any) -> dict[str, Any]:
    about: dict[str, Any] = {
        "@id": source.path,
        "@type": "Dataset",
        "name": source.title,
        "identifier": source.slug,
        "description": source.description or f"The case study {source.slug}.",
        "creativeWorkStatus": source.status,
        "license": reference(_licence(source.licence)),
        "hasPart": [reference(_file(file)) for file in source.files],
    }
    if source.publication:
        about["isBasedOn"] = reference(_publication(source.publication, reference))
    return about


def _publication(publication: dict[str, Any], reference: Any) -> dict[str, Any]:
    doi = publication.get("doi")
    named = f"https://doi.org/{doi}" if doi else publication.get("address") or f"#publication-{publication['slug']}"
    about: dict[str, Any] = {
        "@id": named,
        "@type": "ScholarlyArticle" if publication.get("is_reviewed", True) else "CreativeWork",
        "name": publication["title"],
        "author": [
            reference({"@id": f"#author-{publication['slug']}-{n}", "@type": "Person", "name": name})
            for n, name in enumerate(publication.get("authors", []), start=1)
        ],
        "license": reference(_licence(publication.get("licence", ""))),
    }
    optional = {
        "datePublished": str(publication["year"]) if publication.get("year") else "",
        "url": publication.get("address"),
        "archivedAt": publication.get("archive_address"),
    }
    return {name: value for name, value in {**about, **optional}.items() if value}
