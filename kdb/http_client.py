"""Send one HTTP request to addresses that were resolved and checked before (name_resolution).

The connection is made to one of these addresses, so the name cannot be made to resolve to another one in between. No
redirect is followed, and the time limit holds for the whole exchange, however slowly the server sends.
"""

import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .name_resolution import Addresses


class NoAnswer(Exception):  # noqa: N818 - an event, not a mistake
    """The server did not answer; the message may be shown to users."""


class CertificateMismatch(NoAnswer):
    """The server's certificate is not the pinned one, and nothing was sent. shown : its SHA-256"""

    def __init__(self, shown: bytes) -> None:
        super().__init__("It shows another certificate.")
        self.shown = shown


@dataclass(frozen=True)
class Reply:
    """An HTTP response. headers : by lower-case name; is_cut : whether the body is longer than most_bytes"""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    is_cut: bool


def send_request(
    method: str,
    address: str,
    addresses: Addresses,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    seconds: float,
    most_bytes: int = 0,
    pinned: bytes | None = None,
) -> Reply:
    """Send one request and return its reply. Raises NoAnswer, CertificateMismatch.

    addresses : tried in this order; seconds : for the whole exchange; most_bytes : of the body that are read
    pinned : SHA-256 of the only certificate that is trusted, whoever signed it; None: the usual authorities
    """
    parts = urlsplit(address)
    host, path = parts.hostname or "", parts.path or "/"
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection = http.client.HTTPConnection(host, port)
    is_late = threading.Event()

    def shut_down() -> None:
        """Shut the connection down, which ends every wait for the server."""
        is_late.set()
        with suppress(OSError):  # it ended by itself meanwhile
            if connection.sock is not None:
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, shut_down)
    timer.daemon = True
    timer.start()
    try:
        connection.sock = _connect(addresses, seconds)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            if pinned is not None:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection.sock = context.wrap_socket(connection.sock, server_hostname=host, do_handshake_on_connect=False)
            connection.sock.do_handshake()
            shown = hashlib.sha256(connection.sock.getpeercert(binary_form=True) or b"").digest()
            if pinned not in (None, shown):
                raise CertificateMismatch(shown)
        target = f"{path}?{parts.query}" if parts.query else path
        connection.request(method, target, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = response.read(most_bytes + 1) if most_bytes else b""
        if is_late.is_set():  # shutting down looks like the end of the answer
            raise TimeoutError
        reply_headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, response.reason, reply_headers, content[:most_bytes], len(content) > most_bytes)
    except ssl.SSLCertVerificationError as error:
        raise NoAnswer(f"Its certificate is not trusted: {error.verify_message}.") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        is_slow = is_late.is_set() or isinstance(error, TimeoutError)
        raise NoAnswer(f"No answer within {seconds:g} s." if is_slow else "It could not be reached.") from error
    finally:
        timer.cancel()
        connection.close()


def _connect(addresses: list[tuple[socket.AddressFamily, Any]], seconds: float) -> socket.socket:
    """Return a connection to the first address that accepts one."""
    problem: OSError = OSError("no address")
    for family, sockaddr in addresses:
        plain = socket.socket(family, socket.SOCK_STREAM)
        plain.settimeout(seconds / len(addresses))
        try:
            plain.connect(sockaddr)
        except OSError as error:
            plain.close()
            problem = error
        else:
            plain.settimeout(seconds)
            return plain
    raise problem
