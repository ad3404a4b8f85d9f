"""Parse docs/glossary.md, for its page and for the search."""

import re
from dataclasses import dataclass
from functools import cache
from html import unescape

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt

PATH = settings.BASE_DIR / "docs" / "glossary.md"


@dataclass(frozen=True)
class Term:
    """One paragraph of the glossary.

    name : the terms it explains, as printed; anchors : of each term on the page
    html : the paragraph; text : the same without markup
    """

    name: str
    anchors: tuple[str, ...]
    html: SafeString
    text: str


@dataclass(frozen=True)
class Section:
    title: str
    terms: tuple[Term, ...]


@cache
def glossary() -> tuple[Section, ...]:
    """Return the file's sections in their order. A term's paragraph begins in bold; further ones belong to it."""
    _, *parts = re.split(r"^## (.+)\n", PATH.read_text("utf-8"), flags=re.MULTILINE)
    taken: set[str] = set()
    return tuple(
        Section(title, tuple(_term(paragraph, taken) for paragraph in re.split(r"\n\n(?=\*\*)", body.strip())))
        for title, body in zip(parts[::2], parts[1::2], strict=True)
    )


def _term(paragraph: str, taken: set[str]) -> Term:
    """Return the term of a paragraph. taken : anchors in use on the page; those of the term are added"""
    within_the_site = re.sub(
        r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", paragraph
    )  # links into docs/ lead nowhere on this site
    html = MarkdownIt("commonmark", {"html": False}).render(within_the_site)
    bold = [" ".join(term.rstrip(".:").split()) for term in re.findall(r"\*\*(.+?)\*\*", paragraph, re.DOTALL)]
    slugs = dict.fromkeys(slugify(word) for term in bold for word in term.split(", "))
    anchors = tuple(slug for slug in slugs if slug not in taken)
    taken.update(anchors)
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())
    return Term(bold[0], anchors, mark_safe(html), text)  # noqa: S308 (a file of ours, and html is off)
