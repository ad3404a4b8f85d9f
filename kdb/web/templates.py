"""A template loader that takes the layout of template files out of the pages, but inside <pre> and <textarea>."""

import re

from django.template.base import Origin
from django.template.loaders import filesystem

_KEPT = re.compile(r"(</?(?:pre|textarea)\b)")


class Loader(filesystem.Loader):
    """Loads templates as Django does, with one space in place of each line's end and the indentation around it."""

    def get_contents(self, origin: Origin) -> str:
        text = super().get_contents(origin)
        return _flat(text) if str(origin.name).endswith(".html") else text


def _flat(text: str) -> str:
    pieces, is_kept = _KEPT.split(text), False
    for place, piece in enumerate(pieces):
        if place % 2:
            is_kept = not piece.startswith("</")
        elif not is_kept and "\n" in piece:
            first, *inner, last = piece.split("\n")
            pieces[place] = " ".join([first.rstrip(), *filter(None, map(str.strip, inner)), last.lstrip()])
    return "".join(pieces)
