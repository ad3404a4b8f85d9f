"""Answer 503 while the web server starts, so that nobody's connection is refused or hangs."""

import json
import select
import socket
import threading
import time
from contextlib import suppress

PATIENCE_SECONDS = 0.1  # for the web server, which shares the port, to take a connection itself
CLIENT_SECONDS = 2  # for a request to arrive, and for its answer to be taken
MOST_AT_ONCE = 32
_MOST_BYTES = 64 * 1024
_WHY = "KDB is starting. That takes seconds; at the first start and after an upgrade minutes, to prepare its database."
_PAGE = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Starting · KDB</title><meta http-equiv="refresh" content="5">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"></head>
<body><h1>Not yet</h1><p>{_WHY}</p><p>This page asks again every five seconds.</p></body>
</html>
"""
_PROBLEM = json.dumps({"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": _WHY})


class StartingPage:
    """A thread that answers the connections which the web server does not take, until `end` is called."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._listener.setblocking(False)  # as the web server does: it may have taken what was there a moment ago
        self._ended = threading.Event()
        self._free = threading.Semaphore(MOST_AT_ONCE)
        self._thread = threading.Thread(target=self._take, name="answer that KDB is starting", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Leave all further connections to the web server."""
        self._ended.set()
        self._thread.join()

    def _take(self) -> None:
        while not self._ended.is_set():
            if not self._is_connection_waiting(0.2) or self._ended.wait(PATIENCE_SECONDS):
                continue
            while self._is_connection_waiting(0) and self._free.acquire(timeout=CLIENT_SECONDS):
                with suppress(OSError):  # they are gone, or taken by the web server
                    client, _ = self._listener.accept()
                    threading.Thread(target=self._answer, args=(client,), daemon=True).start()
                    continue
                self._free.release()

    def _is_connection_waiting(self, seconds: float) -> bool:
        return bool(select.select([self._listener], [], [], seconds)[0])

    def _answer(self, client: socket.socket) -> None:
        until = time.monotonic() + CLIENT_SECONDS
        try:
            with client, suppress(OSError):
                client.settimeout(CLIENT_SECONDS)
                head = b""
                while b"\r\n\r\n" not in head and len(head) < _MOST_BYTES and (more := _more(client, until)):
                    head += more
                client.sendall(_answer_to(head))
                client.shutdown(socket.SHUT_WR)
                while _more(client, until):
                    pass  # what is left unread would take the answer back
        finally:
            self._free.release()


def _more(client: socket.socket, until: float) -> bytes:
    return client.recv(_MOST_BYTES) if time.monotonic() < until else b""


def _answer_to(head: bytes) -> bytes:
    method, _, rest = head.partition(b" ")
    is_api = rest.startswith(b"/api/")
    body = (_PROBLEM if is_api else _PAGE).encode()
    kind = "application/problem+json" if is_api else "text/html; charset=utf-8"
    lines = [
        "HTTP/1.1 503 Service Unavailable",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Retry-After: 5",
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if method == b"HEAD" else body)
