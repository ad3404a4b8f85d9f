"""Badges: two words side by side as an SVG, for pages elsewhere."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

_LONGEST_LABEL, _MARGIN, _SIGN = 60, 10, 7  # signs; pixels at the sides of a part, and of a sign


def render_badge(request: HttpRequest, label: str, text: str, colour: str) -> HttpResponse:
    label = label[:_LONGEST_LABEL]
    left, right = (_MARGIN + _SIGN * len(words) for words in (label, text))
    context = {"label": label, "text": text, "left": left, "right": right, "width": left + right, "colour": colour}
    return render(request, "includes/badge.svg", context, content_type="image/svg+xml")
