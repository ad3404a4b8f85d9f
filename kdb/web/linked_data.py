"""Describe a page by schema.org's vocabulary, as JSON-LD for search engines and programs."""

from typing import Any

from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

_AS_DJANGO = '<script type="application/json">'


def script(content: dict[str, Any]) -> SafeString:
    """Return a script element with the content, whose texts are escaped so that none can end the element."""
    element = json_script({"@context": "https://schema.org", **content})
    return mark_safe(element.replace(_AS_DJANGO, '<script type="application/ld+json">', 1))  # noqa: S308 - escaped
