"""A JSON array of objects, as JSON lines: what generated clients can send, as what the reader of tables reads.

An object goes on as it was written, on one line, so that the line's number is the object's.
"""

import codecs
import json
from collections.abc import Iterable, Iterator

from .table import MAX_LINE

_WHITE = " \t\r\n"
_DECODER = json.JSONDecoder()


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each object of the array in the chunks as a line. Raises ValueError with what is wrong, and where."""
    text = _Text(chunks)
    if text.next_sign() != "[":
        raise ValueError("a JSON array of objects begins with [.")
    if text.next_sign(take=False) == "]":
        text.next_sign()
    else:
        number = 0
        while True:
            number += 1
            yield text.take_object(number).encode() + b"\n"
            if (sign := text.next_sign()) == "]":
                break
            if sign != ",":
                raise ValueError(f"after object {number} of the array there is neither a comma nor its end.")
    if text.next_sign():
        raise ValueError("something follows the array.")


class _Text:
    """The text that is there so far; at most an object is kept."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.chunks = codecs.iterdecode(chunks, "utf-8-sig")
        self.text, self.at = "", 0

    def more(self) -> bool:
        """Take the next chunk; False where there is none."""
        chunk = next(self.chunks, None)
        if chunk is None:
            return False
        self.text, self.at = self.text[self.at :] + chunk, 0
        return True

    def next_sign(self, *, take: bool = True) -> str:
        """Return the next character that is no white space; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _WHITE:
                self.at += 1
            if self.at < len(self.text):
                sign = self.text[self.at]
                self.at += take
                return sign
            if not self.more():
                return ""

    def take_object(self, number: int) -> str:
        if self.next_sign(take=False) != "{":
            raise ValueError(f"item {number} of the array is no object.")
        while True:
            try:
                _, end = _DECODER.raw_decode(self.text, self.at)
                break
            except (ValueError, RecursionError) as error:  # not whole yet, or never
                if len(self.text) - self.at > MAX_LINE:
                    raise ValueError(f"object {number} of the array is longer than {MAX_LINE:,} characters.") from None
                if isinstance(error, RecursionError) or not self.more():
                    raise ValueError(f"object {number} of the array: {error}.") from None
        written, self.at = self.text[self.at : end], end
        return "".join(" " if sign in "\r\n" else sign for sign in written)  # line ends are never within a text
