"""Say in schema.org's words what a page says, for search engines and programs: JSON-LD inside the page."""

from typing import Any

from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

_AS_DJANGO = '<script type="application/json">'


def script(content: dict[str, Any]) -> SafeString:
    """Return the element with the content; no text in it can end the element or begin another."""
    element = json_script({"@context": "https://schema.org", **content})
    return mark_safe(element.replace(_AS_DJANGO, '<script type="application/ld+json">', 1))  # noqa: S308 - escaped
