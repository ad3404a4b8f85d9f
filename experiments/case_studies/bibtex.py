"""A case study and its publication as BibTeX. What a source does not state is left out."""

from experiments.models import CaseStudy, Publication

_ESCAPED = str.maketrans({"\\": r"\textbackslash{}"} | {sign: "\\" + sign for sign in "{}%&#_$"})
_VERBATIM = ("url", "doi")  # BibTeX styles print these without interpreting them
_PERCENT_ENCODED = str.maketrans({"{": "%7B", "}": "%7D"})


def entries(case_study: CaseStudy, address: str) -> str:
    """Return an entry for the case study, and one for its publication if it has one. address : of its page"""
    revision = f"Knowledge revision {case_study.published_revision_id}"
    if case_study.retracted_revision_id:
        revision += f", {case_study.status} at revision {case_study.retracted_revision_id}"
    contributor = getattr(case_study.owner, "contributor", None)
    fields = {
        "author": contributor.name if contributor else "",
        "title": case_study.title,
        "howpublished": "KDB, case study",
        "url": address,
        "note": revision,
    }
    texts = [entry("misc", f"kdb-{case_study.slug}", fields)]
    if case_study.publication is not None:
        texts.append(_publication(case_study.publication))
    return "\n".join(texts)


def _publication(publication: Publication) -> str:
    fields = {
        "author": " and ".join(publication.authors),
        "title": publication.title,
        "howpublished": publication.venue,
        "year": str(publication.year or ""),
        "doi": publication.doi,
        "url": publication.address,
    }
    return entry("misc", publication.slug, fields)


def entry(kind: str, key: str, fields: dict[str, str]) -> str:
    """Return one entry; empty fields are left out."""
    lines = [
        f"  {name} = {{{text.translate(_PERCENT_ENCODED if name in _VERBATIM else _ESCAPED)}}},"
        for name, text in fields.items()
        if text
    ]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])
