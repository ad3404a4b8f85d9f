"""Search over everything that is visible: the glossary, case studies, publications, catalogue, claims.

Every word must occur somewhere in the row, in upper or lower case; `"a phrase"` counts as a word, and `-word` must not
occur. Rows whose name matches come first. All databases give the same; PostgreSQL has an index of the texts. One query
a kind, and two for the machines of case studies.
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
    HostStorage,
    Hypervisor,
    Publication,
    Server,
    Storage,
    Workload,
)
from experiments.models.catalogue import CatalogueEntry
from experiments.records import visible
from kdb.database.prepared_queries import PreparedQuery, in_pattern

LONGEST = 400  # characters of a search
MAX_WORDS = 12
MAX_ROWS = 20  # rows of a kind
_EXCERPT = 240


@dataclass(frozen=True)
class Hit:
    """One hit. kind : label; excerpt : the text around the first word

    is_retracted : whether it is, or is about, only case studies that no longer count
    """

    kind: str
    title: str
    address: str
    excerpt: str
    is_retracted: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of rows that is searched. fields : of the row, its name first; text : from which the excerpt is taken

    machines : foreign key of the row, its model, and the fields of that
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
        """Return the fields as one text, the same expression as the index of PostgreSQL has."""
        return _text_sql(self.model, self.fields, connection.vendor)


@cache
def _text_sql(model: type[Model], fields: tuple[str, ...], vendor: str) -> RawSQL:
    """Return the SQL of the text; compiling it for each query took half the time of a search."""
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
    _catalogue("Host storage", HostStorage, lambda row: f"{reverse('knowledge')}#host-storage-{row.slug}"),
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


# Other applications add functions here, from the text of a search to hits that are shown first.
QUESTIONS = ("Comparison", "Answer")
FURTHER_KINDS = (*QUESTIONS, "Glossary")
FURTHER: list[Callable[[str], list[Hit]]] = []


def search(text: str) -> list[Hit]:
    """Return the hits for a text: all questions, and at most MAX_ROWS of each other kind."""
    text = text[:LONGEST].replace("\x00", " ").strip()
    wanted, unwanted = _parse_words(text)
    if not wanted:
        return []
    further = [hit for find in FURTHER for hit in find(text)]
    hits = [hit for kind in KINDS for hit in _hits(kind, wanted, unwanted)]
    return further + _glossary_hits(wanted, unwanted) + hits


def _parse_words(text: str) -> tuple[list[str], list[str]]:
    """Return the words and phrases that must occur, and those that must not."""
    tokens = re.findall(r'(?:(?<=\s)|^)(-?)"([^"]+)"|(?:(?<=\s)|^)(-?)([^\s"]+)', text)
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, sign, word in tokens:
        words = [" ".join(phrase.split())] if phrase else re.findall(r"\w[\w.+-]*", word)
        (unwanted if minus or sign else wanted).extend(filter(None, words))
    return wanted[:MAX_WORDS], unwanted[:MAX_WORDS]


def _glossary_hits(wanted: list[str], unwanted: list[str]) -> list[Hit]:
    """Return terms of the glossary whose names match; its texts mention too much to be searched."""

    def fits(name: str) -> bool:
        folded = name.casefold()
        return all(w.casefold() in folded for w in wanted) and not any(w.casefold() in folded for w in unwanted)

    terms = [term for section in glossary() for term in section.terms if term.anchors and fits(term.name)][:MAX_ROWS]
    page = reverse("glossary")
    return [
        Hit("Glossary", term.name, f"{page}#{term.anchors[0]}", _excerpt_around(term.text, wanted)) for term in terms
    ]


def _hits(kind: Kind, wanted: list[str], unwanted: list[str]) -> list[Hit]:
    return [
        Hit(
            kind.label,
            kind.title(row),
            kind.address(row),
            _excerpt_around(kind.text(row), wanted),
            kind.is_retracted(row),
        )
        for row in _matching_rows(kind, [_spellings(word) for word in wanted], [_spellings(word) for word in unwanted])
    ]


def _matching_rows(kind: Kind, wanted: list[list[str]], unwanted: list[list[str]]) -> Iterable[Any]:
    """Return at most MAX_ROWS rows with every wanted and no unwanted word, first those with the words in the name."""
    if kind.machines:  # the query depends on which of them have a word
        texts = {
            field: [(row[0], " ".join(row[1:]).casefold()) for row in model._default_manager.values_list("pk", *fields)]
            for field, model, fields in kind.machines
        }
        return _query(kind, wanted, unwanted, texts)
    query = _prepared_query(kind, connection.vendor, tuple(map(len, wanted)), tuple(map(len, unwanted)))
    return query.rows(*map(in_pattern, chain.from_iterable([*wanted, *unwanted])))


@cache
def _rows(kind: Kind, vendor: str) -> QuerySet[Any]:
    """Return the query of all rows of a kind with their text: a base that is built once and never evaluated."""
    return kind.rows().alias(searched=kind.searched)


@lru_cache(maxsize=200)
def _prepared_query(kind: Kind, vendor: str, wanted: tuple[int, ...], unwanted: tuple[int, ...]) -> PreparedQuery[Any]:
    """Return the prepared query for so many spellings of each word; the cache never holds the words themselves."""

    def query(*marks: str) -> QuerySet[Any]:
        rest = iter(marks)
        marked = [[list(islice(rest, number)) for number in words] for words in (wanted, unwanted)]
        return _query(kind, marked[0], marked[1], {})

    return PreparedQuery(query, sum(wanted) + sum(unwanted))


def _query(
    kind: Kind, wanted: list[list[str]], unwanted: list[list[str]], machines: dict[str, list[tuple[Any, str]]]
) -> QuerySet[Any]:
    """Return the query of _matching_rows. machines : foreign key to primary keys and texts of its model"""

    def contains(word: list[str]) -> Q:
        own = [Q(searched__icontains=spelling) for spelling in word]
        in_machines = [
            Q(**{f"{field}__in": pks})
            for field, texts in machines.items()
            if (pks := [pk for pk, text in texts if word[0].casefold() in text])
        ]
        return reduce(or_, [*own, *in_machines])

    rows = _rows(kind, connection.vendor).filter(reduce(and_, map(contains, wanted)))
    for word in unwanted:
        rows = rows.exclude(contains(word))
    named = reduce(and_, (Q(**{f"{kind.fields[0]}__icontains": word[0]}) for word in wanted))
    return rows.order_by(Case(When(named, then=0), default=1), "pk")[:MAX_ROWS]


def _spellings(word: str) -> list[str]:
    """Return the word as rows may store it: databases may fold only ASCII, and SQLite escapes letters in JSON."""
    if word.isascii():
        return [word]
    cases = dict.fromkeys([word, word.lower(), word.upper(), word.capitalize()])
    return [*cases, *(json.dumps(case)[1:-1] for case in cases if connection.vendor == "sqlite")]


def _excerpt_around(text: str, words: list[str]) -> str:
    """Return the part of a text around the first of the words."""
    places = [place for word in words if (place := text.casefold().find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - _EXCERPT // 4)
    excerpt = text[start : start + _EXCERPT].strip()
    return f"{'…' if start else ''}{excerpt}{'…' if start + _EXCERPT < len(text) else ''}"
