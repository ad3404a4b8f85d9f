"""Parse XML of results within bounds; documents with entities or references are refused."""

import re
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from .base import FileRefusedError

MAX_DEPTH = 50
MAX_XML = 16 * 2**20  # bytes; a thousand results are three


class NoTreeError(FileRefusedError):
    """The XML is not read; the message may be shown to users."""


def root_of(data: bytes) -> Element:
    """Return the root of an XML document. Raises NoTreeError."""
    if len(data) > MAX_XML:
        raise NoTreeError(f"the file has {len(data):,} bytes; XML has at most {MAX_XML:,} here")
    if _depth(data) > MAX_DEPTH:
        raise NoTreeError(f"elements are nested deeper than {MAX_DEPTH}")
    try:
        root: Element = fromstring(data)
    except DefusedXmlException as error:
        what = type(error).__name__
        raise NoTreeError(f"the XML defines or refers to something, as no result does ({what})") from error
    except (ParseError, ValueError, LookupError, RecursionError) as error:
        raise NoTreeError(f"the XML is cut, or broken ({error})") from error
    return root


def text_at(element: Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _depth(data: bytes) -> int:
    """Return how deep elements are nested, counted before a parser recurses."""
    depth = deepest = 0
    for match in re.finditer(rb"<(/?)[A-Za-z][^<>]{0,500}?(/?)>", data):
        depth += -1 if match[1] else not match[2]
        deepest = max(deepest, depth)
    return deepest
