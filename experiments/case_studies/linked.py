"""Describe a case study as a Dataset of schema.org, with the publication that it is based on."""

from typing import Any

from django.urls import reverse

from experiments.models import CaseStudy, Publication


def dataset(case_study: CaseStudy, site: str) -> dict[str, Any]:
    """Return the JSON-LD of a published case study, for search engines for data. site : scheme and host"""
    address = site + reverse("case-study-detail", args=[case_study.slug])
    about: dict[str, Any] = {
        "@type": "Dataset",
        "@id": address,
        "url": address,
        "name": case_study.title,
        "identifier": case_study.slug,
        "description": case_study.procedure or f"Measurements of storage performance: {case_study.title}.",
        "version": f"knowledge revision {case_study.published_revision_id}",
        "creativeWorkStatus": case_study.status,
        "keywords": ["storage performance", "file systems", "hypervisors"],
        "includedInDataCatalog": {"@type": "DataCatalog", "name": "KDB", "url": f"{site}/"},
        "distribution": {
            "@type": "DataDownload",
            "encodingFormat": "application/zip",
            "contentUrl": site + reverse("case-study-bundle", args=[case_study.slug]),
        },
    }
    publication = case_study.publication
    if publication is not None:
        about["isBasedOn"] = _publication(publication)
        if publication.licence:
            about["license"] = f"https://spdx.org/licenses/{publication.licence}"
    return about


def _publication(publication: Publication) -> dict[str, Any]:
    fields = {
        "@type": "ScholarlyArticle" if publication.is_reviewed else "CreativeWork",
        "name": publication.title,
        "author": [{"@type": "Person", "name": name} for name in publication.authors],
        "datePublished": str(publication.year or ""),
        "url": publication.address,
        "sameAs": f"https://doi.org/{publication.doi}" if publication.doi else "",
        "archivedAt": publication.archive_address,
    }
    return {name: value for name, value in fields.items() if value}
