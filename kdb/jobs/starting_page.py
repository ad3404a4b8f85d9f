"""Answer 503 while the web server starts, so that no connection is refused or hangs."""

import json
import select
import socket
import threading
import time
from contextlib import suppress

PATIENCE_SECONDS = 0.1  # in which the web server, which shares the socket, may accept a connection itself
CLIENT_SECONDS = 2  # for a client to send its request and read the answer
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
    """A thread that answers connections which the web server does not accept, until `end` is called."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._listener.setblocking(
            False
        )  # as the web server may accept the connection first, and then `accept` would block
        self._ended = threading.Event()
        self._free = threading.Semaphore(MOST_AT_ONCE)
        self._thread = threading.Thread(target=self._accept, name="answer that KDB is starting", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Leave all further connections to the web server."""
        self._ended.set()
        self._thread.join()

    def _accept(self) -> None:
        while not self._ended.is_set():
            if not self._is_connection_waiting(0.2) or self._ended.wait(PATIENCE_SECONDS):
                continue
            while self._is_connection_waiting(0) and self._free.acquire(timeout=CLIENT_SECONDS):
                with suppress(OSError):  # the client is gone, or the web server accepted it
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
                while b"\r\n\r\n" not in head and len(head) < _MOST_BYTES and (more := _receive(client, until)):
                    head += more
                client.sendall(_response_to(head))
                client.shutdown(socket.SHUT_WR)
                while _receive(client, until):
                    pass  # closing with unread data would reset the connection and lose the answer
        finally:
            self._free.release()


def _receive(client: socket.socket, until: float) -> bytes:
    return client.recv(_MOST_BYTES) if time.monotonic() < until else b""


def _response_to(head: bytes) -> bytes:
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
