"""Read the guides of docs/guides: title, list of facts, recommendation in bold, and text."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.utils.safestring import mark_safe
from markdown_it import MarkdownIt

FOLDER = settings.BASE_DIR / "docs" / "guides"
_STOP_WORDS = re.compile(
    r"an?|and|are|as|at|be|better|best|by|can|do|does|for|from|how|i|in|is|its?|many|much|my|need|of|on|off|or|should|"
    r"than|that|the|to|under|used?|using|vs|was|what|when|where|which|who|why|with|worth"
)


@dataclass(frozen=True)
class Guide:
    """One file of docs/guides.

    axis : axis of KDB that it is about; "": none
    questions : that it answers; sources : codes of the advice that it uses
    recommendation : in one line; html : the text after it
    terms : significant words of its title and of each question
    """

    slug: str
    title: str
    axis: str
    questions: tuple[str, ...]
    sources: tuple[str, ...]
    recommendation: str
    html: str
    terms: tuple[Counter[str], ...]

    @property
    def address(self) -> str:
        return f"/guides/{self.slug}/"


@cache
def guides() -> dict[str, Guide]:
    """Return every guide by its slug, in the order of the list in README.md."""
    slugs = re.findall(r"\]\(([a-z-]+)\.md\)", (FOLDER / "README.md").read_text("utf-8"))
    return {slug: _guide(slug) for slug in slugs}


def guide_for_axis(axis: str) -> Guide | None:
    """Return the guide on an axis; None where there is none."""
    return next((guide for guide in guides().values() if guide.axis == axis), None)


def terms(text: str) -> Counter[str]:
    """Count the significant words of a text, with plurals as singulars."""
    words = (
        word for word in re.findall(r"\w+", text.casefold().replace("i/o", "io")) if not _STOP_WORDS.fullmatch(word)
    )
    return Counter(word.removesuffix("s") if len(word) > 3 else word for word in words)


def _guide(slug: str) -> Guide:
    title, facts, recommendation, text = (FOLDER / f"{slug}.md").read_text("utf-8").split("\n\n", 3)
    lines = (" ".join(fact.split()) for fact in facts.removeprefix("- ").split("\n- "))
    facts_by_name = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    title, recommendation = title.removeprefix("# "), " ".join(recommendation.strip("*").split())
    questions = [f"{question.strip()}?" for question in facts_by_name["Asked as"].split("?")[:-1]]
    html = MarkdownIt("commonmark", {"html": False}).render(text).replace("<pre>", '<pre tabindex="0">')  # it scrolls
    return Guide(
        slug=slug,
        title=title,
        axis=facts_by_name.get("Axis", ""),
        questions=tuple(questions),
        sources=tuple(facts_by_name["Sources"].split(", ")),
        recommendation=recommendation,
        html=mark_safe(html),  # noqa: S308 (ours, and html is off)
        terms=tuple(terms(words) for words in (title, *questions)),
    )
