"""The glossary of docs/glossary.md as its page and the search have it: one source for both."""

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

    name : the words it explains, as they are printed; anchors : the place of each on the page
    html : the paragraph; text : the same without marks
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
    """Return the term of a paragraph. taken : anchors that the page has already; those of the term come to them"""
    within_the_site = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", paragraph)  # docs/ has no pages here
    html = MarkdownIt("commonmark", {"html": False}).render(within_the_site)
    bold = [" ".join(term.rstrip(".:").split()) for term in re.findall(r"\*\*(.+?)\*\*", paragraph, re.DOTALL)]
    slugs = dict.fromkeys(slugify(word) for term in bold for word in term.split(", "))
    anchors = tuple(slug for slug in slugs if slug not in taken)
    taken.update(anchors)
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())
    return Term(bold[0], anchors, mark_safe(html), text)  # noqa: S308 (a file of ours, and html is off)
