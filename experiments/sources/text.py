"""The text of a page that is held against what it was: what a reader sees of it, without what changes daily. No Django.

Of HTML that is the text outside of scripts, styles, navigation, headers, footers, asides, forms and <time>; dates and
times of day are left out, wherever they stand, and space and case count for nothing. Other texts lose space alone, and
what is no text (a PDF, a spreadsheet) is taken byte for byte. Source: docs/imports.md.
"""

import hashlib
import re
from html.parser import HTMLParser

_UNSEEN = frozenset(
    ("script", "style", "noscript", "template", "svg", "nav", "header", "footer", "aside", "form", "button", "time")
)
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_MOMENT = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?z?)?\b|\b\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)?\b"
    rf"|\b\d{{1,2}}\.? {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}},? \d{{4}}\b",
)


def digest(body: bytes, content_type: str) -> str:
    """Return SHA-256 of the part of a page that counts."""
    kind = content_type.partition(";")[0].strip().lower()
    if not kind.startswith(_TEXTS):
        return hashlib.sha256(body).hexdigest()
    charset = re.search(r"charset=[\"']?([\w-]+)", content_type.lower())
    text = _decoded(body, charset[1] if charset else "utf-8")
    if "html" in kind:
        text = _MOMENT.sub(" ", seen(text).lower())
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def seen(html: str) -> str:
    """Return the text of a page that a reader sees."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return " ".join(reader.parts)


def _decoded(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, errors="replace")
    except LookupError:
        return body.decode("utf-8", errors="replace")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.unseen: list[str] = []  # elements that are open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in _UNSEEN:
            self.unseen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.unseen:  # and what was left open inside
            del self.unseen[self.unseen.index(tag) :]

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(data)
