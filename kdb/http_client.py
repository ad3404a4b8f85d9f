"""One request of HTTP to a host whose addresses were judged before: kdb.name_resolution, kdb.notifications.places.

The connection is made to one of these addresses and to no other. No redirect is followed, and all of it takes seconds,
however slowly the other side drips its bytes in.
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
    """There was no answer; the text is fit to show."""


class CertificateMismatch(NoAnswer):
    """The other side shows another certificate than the pinned one. Nothing was sent. shown : its SHA-256"""

    def __init__(self, shown: bytes) -> None:
        super().__init__("It shows another certificate.")
        self.shown = shown


@dataclass(frozen=True)
class Reply:
    """headers : by their names in small letters; is_cut : whether the body is longer than was wanted"""

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
    """Return the answer. Raises NoAnswer where there is none, CertificateMismatch.

    addresses : what to connect to, the first that takes a connection
    seconds : for all of it; most_bytes : of the answer's body that are read, 0: none
    pinned : SHA-256 of the one certificate that is trusted, whoever signed it; None: those of the usual authorities
    """
    parts = urlsplit(address)
    host, path = parts.hostname or "", parts.path or "/"
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection = http.client.HTTPConnection(host, port)
    is_late = threading.Event()

    def cut() -> None:
        """End what waits for the other side."""
        is_late.set()
        with suppress(OSError):  # it ended by itself meanwhile
            if connection.sock is not None:
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        connection.sock = _connected(addresses, seconds)
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
        if is_late.is_set():  # what was cut off looks like an answer that ended
            raise TimeoutError
        told = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, response.reason, told, content[:most_bytes], len(content) > most_bytes)
    except ssl.SSLCertVerificationError as error:
        raise NoAnswer(f"Its certificate is not trusted: {error.verify_message}.") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        is_slow = is_late.is_set() or isinstance(error, TimeoutError)
        raise NoAnswer(f"No answer within {seconds:g} s." if is_slow else "It could not be reached.") from error
    finally:
        timer.cancel()
        connection.close()


def _connected(addresses: list[tuple[socket.AddressFamily, Any]], seconds: float) -> socket.socket:
    """Return a connection to the first of these addresses that takes one; they are not looked up again."""
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
