"""Recover the plain text of what people copied: a quoted message, or the source of a web page.

> CrystalDiskMark 8.0.4 ...                 quoted: read without the marks
<p>CPU BOGOMIPS: 6451.20<br>                a web page: read as a browser shows it, and its lines are counted so
"""

import html
import re

from .base import text_of

_SNIFFED_BYTES = 2**16
_QUOTED = re.compile(r"(?m)^[ \t]{0,8}>[> \t]{0,8}?(?: |$)")
_HTML = re.compile(r"(?i)<(?:!doctype html|html|body|p|br|pre|div|blockquote|h[1-6]|td|li)(?:\s[^<>]{0,500})?/?>")
_UNSHOWN = re.compile(r"(?is)<(script|style|head)\b[^<>]{0,500}>.{0,20000}?</\1\s{0,9}>|<!--.{0,20000}?-->")
_LINE_ENDS = re.compile(r"(?i)<(?:br|/p|/h[1-6]|/div|/li|/tr|/pre|/blockquote)(?:\s[^<>]{0,500})?/?>")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,500}>")


def without_quotes_and_tags(data: bytes) -> bytes:
    """Return a text without quotation marks of mails and HTML tags; other content unchanged."""
    start = text_of(data[:_SNIFFED_BYTES])
    if start.lstrip("\ufeff \t\r\n")[:1] in "{[" or start.startswith("<?xml"):
        return data
    if _HTML.search(start):
        text = _LINE_ENDS.sub("\n", _UNSHOWN.sub("", text_of(data)))
        return html.unescape(_TAG.sub("", text)).encode(errors="replace")
    lines = [line for line in start.splitlines() if line.strip()]
    if 2 * sum(bool(_QUOTED.match(line)) for line in lines) > len(lines):
        return _QUOTED.sub("", text_of(data)).encode(errors="replace")
    return data
