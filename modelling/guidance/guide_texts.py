"""Read the guides of docs/guides: a title, a list of facts, the recommendation in bold, the text."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.utils.safestring import mark_safe
from markdown_it import MarkdownIt

FOLDER = settings.BASE_DIR / "docs" / "guides"
_SILENT = re.compile(
    r"an?|and|are|as|at|be|better|best|by|can|do|does|for|from|how|i|in|is|its?|many|much|my|need|of|on|off|or|should|"
    r"than|that|the|to|under|used?|using|vs|was|what|when|where|which|who|why|with|worth"
)


@dataclass(frozen=True)
class Guide:
    """One file of docs/guides.

    axis : of KDB that it is about; "": none
    questions : that it answers; sources : codes of the advice that it rests on
    recommendation : in one line; html : what follows it
    terms : the words that count of its title and of each question
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
    """Return the guide that is about an axis; None where there is none."""
    return next((guide for guide in guides().values() if guide.axis == axis), None)


def terms(text: str) -> Counter[str]:
    """Count the words of a text that tell what it asks; plural and singular are one."""
    words = (word for word in re.findall(r"\w+", text.casefold().replace("i/o", "io")) if not _SILENT.fullmatch(word))
    return Counter(word.removesuffix("s") if len(word) > 3 else word for word in words)


def _guide(slug: str) -> Guide:
    title, facts, recommendation, text = (FOLDER / f"{slug}.md").read_text("utf-8").split("\n\n", 3)
    lines = (" ".join(fact.split()) for fact in facts.removeprefix("- ").split("\n- "))
    told = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    title, recommendation = title.removeprefix("# "), " ".join(recommendation.strip("*").split())
    questions = [f"{question.strip()}?" for question in told["Asked as"].split("?")[:-1]]
    html = MarkdownIt("commonmark", {"html": False}).render(text).replace("<pre>", '<pre tabindex="0">')  # it scrolls
    return Guide(
        slug=slug,
        title=title,
        axis=told.get("Axis", ""),
        questions=tuple(questions),
        sources=tuple(told["Sources"].split(", ")),
        recommendation=recommendation,
        html=mark_safe(html),  # noqa: S308 (ours, and html is off)
        terms=tuple(terms(words) for words in (title, *questions)),
    )
