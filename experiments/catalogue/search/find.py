"""Search over everything that is visible: the glossary, case studies, publications, catalogue, claims.

Every word must stand somewhere in the row, in any case; `"a phrase"` counts as a word, and `-without` must not stand
there. What is named so comes first. The same on every database; PostgreSQL has an index of the texts (`index`). One
query a kind, whatever is asked, and two for the machines of case studies.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from itertools import chain, islice
from operator import and_, or_
from typing import Any

from django.db import connection
from django.db.models import Case, Exists, F, JSONField, Model, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Concat
from django.db.models.sql import Query
from django.urls import reverse

from experiments.catalogue.glossary import glossary
from experiments.models import (
    Benchmark,
    CaseStudy,
    Claim,
    FileSystem,
    Hypervisor,
    Publication,
    Server,
    Storage,
    Workload,
)
from experiments.models.catalogue import CatalogueEntry
from experiments.records import visible
from kdb.database.written import Written, in_pattern

LONGEST = 400  # characters of a search
MOST_WORDS = 12
MOST = 20  # rows of a kind
_EXCERPT = 240


@dataclass(frozen=True)
class Hit:
    """One thing found: the kind's label, its title, page and the text around what was asked.

    is_retracted : whether it is, or speaks of nothing but, case studies that count no longer
    """

    kind: str
    title: str
    address: str
    excerpt: str
    is_retracted: bool = False


@dataclass(frozen=True)
class Kind:
    """fields : of the row itself, what it is called by first; text : what is shown of it
    machines : field of the row to the model it leads to and the fields of that
    """

    label: str
    model: type[Model]
    rows: Callable[[], QuerySet[Any]]
    fields: tuple[str, ...]
    title: Callable[[Any], str]
    address: Callable[[Any], str]
    text: Callable[[Any], str]
    machines: tuple[tuple[str, type[Model], tuple[str, ...]], ...] = ()
    is_retracted: Callable[[Any], bool] = lambda row: False

    @property
    def searched(self) -> RawSQL:
        """Return the fields as one text, which is what the index of PostgreSQL is on."""
        return _searched(self.model, self.fields, connection.vendor)


@cache
def _searched(model: type[Model], fields: tuple[str, ...], vendor: str) -> RawSQL:
    """Write the text's SQL once: writing it for every query took Django half of a search."""
    kinds = {field.name: field for field in model._meta.get_fields()}
    texts = [Cast(name, TextField()) if isinstance(kinds[name], JSONField) else name for name in fields]
    text = Concat(*[part for text in texts for part in (text, Value(" "))], output_field=TextField())
    query = Query(model)
    sql, params = query.get_compiler(connection=connection).compile(text.resolve_expression(query))
    return RawSQL(sql, params, TextField())  # noqa: S611 - of names of fields alone


def _catalogue(label: str, model: type[CatalogueEntry], address: Callable[[Any], str]) -> Kind:
    return Kind(
        label,
        model,
        lambda: visible.entries(model),
        ("name", "slug", "aliases", "description"),
        str,
        address,
        lambda entry: entry.description,
    )


def _claims() -> QuerySet[Claim]:
    live = Exists(CaseStudy.objects.published().filter(claims=OuterRef("pk")))
    claims = visible.claims().annotate(is_live=live, publication_slug=F("publication__slug"))
    return claims.only("code", "statement")


def _case_studies() -> QuerySet[CaseStudy]:
    shown = ("title", "slug", "status", "procedure", "notes", "server__model", "storage__description")
    return visible.case_studies().select_related("server", "storage").only(*shown)


# The kinds are searched and shown in this order.
KINDS = (
    _catalogue("File system", FileSystem, lambda row: reverse("file-system-detail", args=[row.slug])),
    _catalogue("Hypervisor", Hypervisor, lambda row: reverse("hypervisor-detail", args=[row.slug])),
    _catalogue("Workload", Workload, lambda row: reverse("workload-detail", args=[row.slug])),
    _catalogue("Benchmark", Benchmark, lambda row: f"{reverse('knowledge')}#benchmark-{row.slug}"),
    Kind(
        "Case study",
        CaseStudy,
        _case_studies,
        ("title", "slug", "procedure", "notes"),
        lambda row: row.title,
        lambda row: reverse("case-study-detail", args=[row.slug]),
        lambda row: " ".join([row.procedure, row.server.model, row.storage.description, *row.notes]),
        (("server", Server, ("model", "cpu")), ("storage", Storage, ("description",))),
        lambda row: row.status in CaseStudy.ENDED,
    ),
    Kind(
        "Publication",
        Publication,
        lambda: visible.publications().only("title", "slug", "authors", "venue"),
        ("title", "slug", "authors", "venue"),
        lambda row: row.title,
        lambda row: f"{reverse('knowledge')}#{row.slug}",
        lambda row: ", ".join([*row.authors, row.venue]),
    ),
    Kind(
        "Claim",
        Claim,
        _claims,
        ("code", "statement", "scope", "location"),
        lambda row: row.code,
        lambda row: reverse("claim-detail", args=[row.publication_slug, row.code]),
        lambda row: row.statement,
        is_retracted=lambda row: not row.is_live,
    ),
)


# Other rooms add a function of the text here; what it finds is shown first.
QUESTIONS = ("Comparison", "Answer")
FURTHER_KINDS = (*QUESTIONS, "Glossary")
FURTHER: list[Callable[[str], list[Hit]]] = []


def search(text: str) -> list[Hit]:
    """Return all visible that fits: at most MOST of a kind, but every question; nothing where nothing is asked."""
    text = text[:LONGEST].replace("\x00", " ").strip()
    wanted, unwanted = _words(text)
    if not wanted:
        return []
    further = [hit for find in FURTHER for hit in find(text)]
    hits = [hit for kind in KINDS for hit in _hits(kind, wanted, unwanted)]
    return further + _terms(wanted, unwanted) + hits


def _words(text: str) -> tuple[list[str], list[str]]:
    """Return words and phrases that must stand there, and those that must not."""
    tokens = re.findall(r'(?:(?<=\s)|^)(-?)"([^"]+)"|(?:(?<=\s)|^)(-?)([^\s"]+)', text)
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, sign, word in tokens:
        words = [" ".join(phrase.split())] if phrase else re.findall(r"\w[\w.+-]*", word)
        (unwanted if minus or sign else wanted).extend(filter(None, words))
    return wanted[:MOST_WORDS], unwanted[:MOST_WORDS]


def _terms(wanted: list[str], unwanted: list[str]) -> list[Hit]:
    """Return the glossary's terms by their names, because its texts name everything."""

    def fits(name: str) -> bool:
        folded = name.casefold()
        return all(w.casefold() in folded for w in wanted) and not any(w.casefold() in folded for w in unwanted)

    terms = [term for section in glossary() for term in section.terms if term.anchors and fits(term.name)][:MOST]
    page = reverse("glossary")
    return [Hit("Glossary", term.name, f"{page}#{term.anchors[0]}", _around(term.text, wanted)) for term in terms]


def _hits(kind: Kind, wanted: list[str], unwanted: list[str]) -> list[Hit]:
    return [
        Hit(kind.label, kind.title(row), kind.address(row), _around(kind.text(row), wanted), kind.is_retracted(row))
        for row in _rows_found(kind, [_spellings(word) for word in wanted], [_spellings(word) for word in unwanted])
    ]


def _rows_found(kind: Kind, wanted: list[list[str]], unwanted: list[list[str]]) -> Iterable[Any]:
    """Return MOST rows of a kind with every wanted word and no unwanted one, those with the words in the name first."""
    if kind.machines:  # the query depends on which of them have a word
        texts = {
            field: [(row[0], " ".join(row[1:]).casefold()) for row in model._default_manager.values_list("pk", *fields)]
            for field, model, fields in kind.machines
        }
        return _query(kind, wanted, unwanted, texts)
    query = _written(kind, connection.vendor, tuple(map(len, wanted)), tuple(map(len, unwanted)))
    return query.rows(*map(in_pattern, chain.from_iterable([*wanted, *unwanted])))


@cache
def _rows(kind: Kind, vendor: str) -> QuerySet[Any]:
    """Return all rows of a kind with their text, as a query that is put together once and never asked itself."""
    return kind.rows().alias(searched=kind.searched)


@lru_cache(maxsize=200)
def _written(kind: Kind, vendor: str, wanted: tuple[int, ...], unwanted: tuple[int, ...]) -> Written[Any]:
    """Return the query of so many spellings of each word. What the words are is kept nowhere."""

    def query(*marks: str) -> QuerySet[Any]:
        rest = iter(marks)
        marked = [[list(islice(rest, number)) for number in words] for words in (wanted, unwanted)]
        return _query(kind, marked[0], marked[1], {})

    return Written(query, sum(wanted) + sum(unwanted))


def _query(
    kind: Kind, wanted: list[list[str]], unwanted: list[list[str]], machines: dict[str, list[tuple[Any, str]]]
) -> QuerySet[Any]:
    """Return the query of _rows_found. machines : field of the row to the keys of what it leads to, with their texts"""

    def stands(word: list[str]) -> Q:
        own = [Q(searched__icontains=spelling) for spelling in word]
        theirs = [
            Q(**{f"{field}__in": pks})
            for field, texts in machines.items()
            if (pks := [pk for pk, text in texts if word[0].casefold() in text])
        ]
        return reduce(or_, [*own, *theirs])

    rows = _rows(kind, connection.vendor).filter(reduce(and_, map(stands, wanted)))
    for word in unwanted:
        rows = rows.exclude(stands(word))
    named = reduce(and_, (Q(**{f"{kind.fields[0]}__icontains": word[0]}) for word in wanted))
    return rows.order_by(Case(When(named, then=0), default=1), "pk")[:MOST]


def _spellings(word: str) -> list[str]:
    """Return the word, and how rows may have it: databases may fold ASCII only, and SQLite escapes letters in lists."""
    if word.isascii():
        return [word]
    cases = dict.fromkeys([word, word.lower(), word.upper(), word.capitalize()])
    return [*cases, *(json.dumps(case)[1:-1] for case in cases if connection.vendor == "sqlite")]


def _around(text: str, words: list[str]) -> str:
    """Return the part of a text where the first of the words stands."""
    places = [place for word in words if (place := text.casefold().find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - _EXCERPT // 4)
    excerpt = text[start : start + _EXCERPT].strip()
    return f"{'…' if start else ''}{excerpt}{'…' if start + _EXCERPT < len(text) else ''}"
