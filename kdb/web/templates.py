"""A template loader that removes indentation and line ends, except inside <pre> and <textarea>."""

import re

from django.template.base import Origin
from django.template.loaders import filesystem

_KEPT = re.compile(r"(</?(?:pre|textarea)\b)")


class Loader(filesystem.Loader):
    """Load templates as Django does, with each line end and the indentation around it replaced by a space."""

    def get_contents(self, origin: Origin) -> str:
        text = super().get_contents(origin)
        return _flatten(text) if str(origin.name).endswith(".html") else text


def _flatten(text: str) -> str:
    pieces, is_kept = _KEPT.split(text), False
    for place, piece in enumerate(pieces):
        if place % 2:
            is_kept = not piece.startswith("</")
        elif not is_kept and "\n" in piece:
            first, *inner, last = piece.split("\n")
            pieces[place] = " ".join([first.rstrip(), *filter(None, map(str.strip, inner)), last.lstrip()])
    return "".join(pieces)
