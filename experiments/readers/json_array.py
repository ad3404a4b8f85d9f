"""A JSON array of objects, as JSON lines: what generated clients can send, as what the reader of tables reads."""

import json
import re
from collections.abc import Iterator

from .table import MAX_LINE

_WHITE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def lines_of(data: bytes) -> Iterator[bytes]:
    """Yield each object of an array as it is written, on one line. Raises ValueError with what is wrong, and where."""
    text = data.decode("utf-8-sig")

    def after_white(place: int) -> int:
        match = _WHITE.match(text, place)
        return match.end() if match else place

    at = after_white(0)
    if not text.startswith("[", at):
        raise ValueError("a JSON array of objects begins with [.")
    at = after_white(at + 1)
    number = 0
    while number or not text.startswith("]", at):
        number += 1
        if not text.startswith("{", at):
            raise ValueError(f"item {number} of the array is no object.")
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"object {number} of the array: {error}.") from None
        if end - at > MAX_LINE:
            raise ValueError(f"object {number} of the array is longer than {MAX_LINE:,} characters.")
        yield text[at:end].translate({10: " ", 13: " "}).encode() + b"\n"  # line ends are never within a text
        at = after_white(end)
        if text.startswith("]", at):
            break
        if not text.startswith(",", at):
            raise ValueError(f"after object {number} of the array there is neither a comma nor its end.")
        at = after_white(at + 1)
    if after_white(at + 1) < len(text):
        raise ValueError("something follows the array.")
