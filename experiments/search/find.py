"""Search over everything that is visible: case studies, publications, catalogue, claims.

PostgreSQL searches its full text (English stems, `"a phrase"`, `-without`, `or`), ranked by how well a row
fits; elsewhere every word must stand somewhere in the row. One query a kind, whatever is asked.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector
from django.db import connection
from django.db.models import Q, QuerySet
from django.urls import reverse

from experiments import visible
from experiments.models import FileSystem, Hypervisor, Workload
from experiments.models.catalogue import CatalogueEntry

LONGEST = 200  # characters of a search
MOST_WORDS = 12
MOST = 20  # hits of a kind
_EXCERPT = 240


@dataclass(frozen=True)
class Hit:
    """One thing found: the kind's label, its title, page and the text around what was asked."""

    kind: str
    title: str
    address: str
    excerpt: str


@dataclass(frozen=True)
class _Kind:
    label: str
    rows: Callable[[], QuerySet[Any]]
    fields: tuple[str, ...]
    title: Callable[[Any], str]
    address: Callable[[Any], str]
    text: Callable[[Any], str]


def _described(entry: CatalogueEntry) -> str:
    return entry.description


def _catalogue(label: str, model: type[CatalogueEntry], address: Callable[[Any], str]) -> _Kind:
    return _Kind(
        label, lambda: visible.entries(model), ("slug", "name", "aliases", "description"), str, address, _described
    )


# What is searched, in the order it is shown.
KINDS = (
    _catalogue("File system", FileSystem, lambda row: reverse("file-system-detail", args=[row.slug])),
    _catalogue("Hypervisor", Hypervisor, lambda row: reverse("hypervisor-detail", args=[row.slug])),
    _catalogue("Workload", Workload, lambda row: reverse("workload-detail", args=[row.slug])),
    _Kind(
        "Case study",
        lambda: visible.case_studies().select_related("server", "storage"),
        ("slug", "title", "procedure", "notes", "server__model", "server__cpu", "storage__description"),
        lambda row: row.title,
        lambda row: reverse("case-study-detail", args=[row.slug]),
        lambda row: " ".join([row.procedure, row.server.model, row.storage.description, *row.notes]),
    ),
    _Kind(
        "Publication",
        visible.publications,
        ("slug", "title", "authors", "venue"),
        lambda row: row.title,
        lambda row: f"{reverse('knowledge')}#{row.slug}",
        lambda row: ", ".join([*row.authors, row.venue]),
    ),
    _Kind(
        "Claim",
        lambda: visible.claims().select_related("publication"),
        ("code", "statement", "scope", "location"),
        lambda row: row.code,
        lambda row: reverse("claim-detail", args=[row.publication.slug, row.code]),
        lambda row: row.statement,
    ),
)


# What other rooms find in a text, shown first: they add a function of the text here.
FURTHER_KINDS = ("Comparison", "Answer")
FURTHER: list[Callable[[str], list[Hit]]] = []


def search(text: str) -> list[Hit]:
    """Everything visible that fits, at most MOST of a kind; nothing where nothing is asked."""
    text = text[:LONGEST].replace("\x00", " ").strip()
    words = re.findall(r"\w[\w.+-]*", text)[:MOST_WORDS]
    if not words:
        return []
    further = [hit for find in FURTHER for hit in find(text)]
    return further + [hit for kind in KINDS for hit in _hits(kind, text, words)]


def _hits(kind: _Kind, text: str, words: list[str]) -> list[Hit]:
    rows = kind.rows().order_by("pk").distinct()
    if connection.vendor == "postgresql":
        query = SearchQuery(text, search_type="websearch", config="english")
        vector = SearchVector(*kind.fields, config="english")
        found = rows.annotate(fits=SearchRank(vector, query), vector=vector).filter(vector=query)
        found = found.order_by("-fits", "pk")
    else:
        anywhere = (reduce(or_, (Q(**{f"{name}__icontains": word}) for name in kind.fields)) for word in words)
        found = rows.filter(reduce(and_, anywhere))
    return [Hit(kind.label, kind.title(row), kind.address(row), _around(kind.text(row), words)) for row in found[:MOST]]


def _around(text: str, words: list[str]) -> str:
    """The part of a text where the first of the words stands."""
    places = [place for word in words if (place := text.casefold().find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - _EXCERPT // 4)
    excerpt = text[start : start + _EXCERPT].strip()
    return f"{'…' if start else ''}{excerpt}{'…' if start + _EXCERPT < len(text) else ''}"
