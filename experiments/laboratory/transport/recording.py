"""A record of what a worker and a machine said, in a file that can be sent to those who wrote a driver."""

import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import ssh

_MOST = 20_000  # characters of one text
_HIDDEN = "(hidden)"
_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL)
# A name that speaks of a secret, and what stands behind it: name: x, name=x, "name": "x", --name x.
_SECRET = re.compile(
    r"((?:--?)?[\w-]{0,40}(?:passw(?:or)?d|passphrase|secret|api[_-]?key|sshkeys?|ticket|credentials?)\"?(?:\s{0,20}[:=]\s{0,20}|\s{1,20}))"
    r"(\"[^\"\n]*\"|'[^'\n]*'|[^\s,;]+)",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Return the text with private keys and what follows names of secrets hidden, and cut where it is long."""
    hidden = _SECRET.sub(rf"\1{_HIDDEN}", _KEY.sub(_HIDDEN, text))
    return hidden if len(hidden) <= _MOST else f"{hidden[:_MOST]} ... ({len(hidden)} characters)"


@contextmanager
def recorded(path: Path) -> Iterator[None]:
    """Write every command of this process and its answer to a new file, a line of JSON each, until the block ends.

    Which machine it is stands there as "host" or "guest", never its address. Raises FileExistsError.
    """
    lock = threading.Lock()  # machines are asked side by side
    with path.open("x") as file:
        path.chmod(0o600)

        def keep(connection: ssh.Connection, words: Sequence[str], given: bytes, answer: ssh.Answer) -> None:
            line = {
                "machine": "guest" if connection.via else "host",
                "command": [_word(word) for word in words],
                "given": without_secrets(given.decode(errors="replace")),
                "status": answer.status,
                "output": without_secrets(answer.text),
                "errors": without_secrets(answer.errors),
            }
            with lock:
                file.write(json.dumps(line) + "\n")
                file.flush()

        ssh.listeners.append(keep)
        try:
            yield
        finally:
            ssh.listeners.remove(keep)


def _word(word: str) -> str:
    """Return the word for the log. Our own scripts are in the project, and are not repeated in each line."""
    lines = word.count("\n")
    return f"(a script of {lines} lines)" if lines > 20 else without_secrets(word)
