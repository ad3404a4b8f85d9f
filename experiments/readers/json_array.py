"""Convert a JSON array of objects, which generated clients send, to JSON lines, which the reader of tables reads."""

import json
import re
from collections.abc import Iterator

from .table import MAX_LINE

_WHITE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def lines_of(data: bytes) -> Iterator[bytes]:
    """Yield each object of an array as it is written, on one line. Raises ValueError with what is wrong, and where."""
    text = data.decode("utf-8-sig")

    def skip_white(place: int) -> int:
        match = _WHITE.match(text, place)
        return match.end() if match else place

    position = skip_white(0)
    if not text.startswith("[", position):
        raise ValueError("a JSON array of objects begins with [.")
    position = skip_white(position + 1)
    number = 0
    while number or not text.startswith("]", position):
        number += 1
        if not text.startswith("{", position):
            raise ValueError(f"item {number} of the array is no object.")
        try:
            _, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"object {number} of the array: {error}.") from None
        if end - position > MAX_LINE:
            raise ValueError(f"object {number} of the array is longer than {MAX_LINE:,} characters.")
        yield text[position:end].translate({10: " ", 13: " "}).encode() + b"\n"  # line ends are never within a text
        position = skip_white(end)
        if text.startswith("]", position):
            break
        if not text.startswith(",", position):
            raise ValueError(f"after object {number} of the array there is neither a comma nor its end.")
        position = skip_white(position + 1)
    if skip_white(position + 1) < len(text):
        raise ValueError("something follows the array.")
