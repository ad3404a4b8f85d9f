"""The citation of an answer as text, BibTeX, CSL-JSON and schema.org, each with its permanent address."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from experiments.case_studies import bibtex

_PUBLISHER = "KDB"


@dataclass(frozen=True)
class Citation:
    """The citation of an answer. address : permanent, absolute; says : its sentence; given_on : day it was computed"""

    title: str
    says: str
    address: str
    revision: int
    method: int
    given_on: date

    @property
    def key(self) -> str:
        return f"kdb-{hashlib.sha256(self.address.encode()).hexdigest()[:10]}"

    @property
    def version(self) -> str:
        return f"knowledge revision {self.revision}, method {self.method}"

    @property
    def text(self) -> str:
        return f"{_PUBLISHER} ({self.given_on.year}): {self.title} As of {self.version}. {self.address}"

    @property
    def bibtex(self) -> str:
        return bibtex.entry(
            "misc",
            self.key,
            {
                "author": _PUBLISHER,
                "title": self.title,
                "year": str(self.given_on.year),
                "howpublished": f"{_PUBLISHER}, answer",
                "url": self.address,
                "note": self.version.capitalize(),
            },
        )

    @property
    def csl(self) -> str:
        """Return CSL-JSON: a list with one item, as reference managers import it."""
        item = {
            "id": self.key,
            "type": "webpage",
            "title": self.title,
            "author": [{"literal": _PUBLISHER}],
            "container-title": _PUBLISHER,
            "issued": {"date-parts": [[self.given_on.year, self.given_on.month, self.given_on.day]]},
            "version": self.version,
            "URL": self.address,
            "abstract": self.says,
        }
        return json.dumps([item], ensure_ascii=False, indent=0)  # the template loader drops indentation

    def as_schema_org(self, case_studies: Mapping[str, str]) -> dict[str, Any]:
        """Return the answer as a Claim of schema.org. case_studies : slug to address of those it rests on"""
        return {
            "@type": "Claim",
            "@id": self.address,
            "url": self.address,
            "name": self.title,
            "text": self.says,
            "version": self.version,
            "dateCreated": self.given_on.isoformat(),
            "author": {"@type": "Organization", "name": _PUBLISHER},
            "isBasedOn": [
                {"@type": "Dataset", "@id": address, "identifier": slug, "url": address}
                for slug, address in case_studies.items()
            ],
        }
