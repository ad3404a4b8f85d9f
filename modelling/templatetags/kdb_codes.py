"""Codes of the papers and of this code's documents, as something a reader can follow."""

import re

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

from experiments.models import MechanismCost

register = template.Library()

_CODE = re.compile(r"\b(?:C([1-9])\.([1-7])|(H\d\.\d)|(docs/models/[a-z-]+\.md))\b(?!\.\d)")


@register.filter
def with_codes(text: str) -> SafeString:
    """Return a sentence with its cost terms (C3.5), hypotheses (H3.1) and documents explained or linked."""
    return mark_safe(_CODE.sub(_explain_code, conditional_escape(text)))  # noqa: S308 (escaped before)


def _explain_code(match: re.Match[str]) -> str:
    file_system, operation, hypothesis, document = match.groups()
    if hypothesis:
        return format_html('<a href="{}#{}">{}</a>', reverse("hypotheses"), slugify(hypothesis), hypothesis)
    title = "A document in the source code of this site"
    if not document:
        title = f"Cost term of the papers: {MechanismCost.Operation(int(operation)).label}, file system {file_system}"
    return format_html('<abbr title="{}">{}</abbr>', title, match.group())
