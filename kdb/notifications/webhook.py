"""A delivery as a POST of JSON to an address that its owner chose, who may be anybody.

    KDB-Delivery: the delivery's id, the same in each attempt
    KDB-Timestamp: seconds since 1970 of this attempt
    KDB-Signature: HMAC-SHA256, in hex, of the timestamp, a full stop and the body, by the subscription's signing key

The address must not lead inside. Its host is looked up once, each address found is judged, and the connection is made
to one that was judged. No redirect is followed, of the answer nothing but the status is told, and all of it takes
seconds.
"""

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
import time
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from kdb import __version__

from . import subscriptions
from .errors import NotSent
from .models import Delivery

SECONDS = 10  # for all of an attempt, once the host is looked up
# Global by their own numbers, and yet a way to any IPv4 address: NAT64, 6to4, Teredo.
_TUNNELS = [ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")]


def send(delivery: Delivery) -> None:
    """Raises NotSent where it is not taken, that is answered with a status of 200 to 299."""
    subscription = delivery.subscription
    body = json.dumps(content(delivery)).encode()
    moment = str(int(time.time()))
    key = subscriptions.signing_key(subscription)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"KDB/{__version__}",
        "KDB-Delivery": str(delivery.pk),
        "KDB-Timestamp": moment,
        "KDB-Signature": signature(key, moment, body),
    }
    status = _post(subscription.address, headers, body)
    if 300 <= status < 400:
        raise NotSent(f"It answered {status}; redirects are not followed.")
    if not 200 <= status < 300:
        raise NotSent(f"It answered {status}.")


def content(delivery: Delivery) -> dict[str, Any]:
    """The body, before it is JSON."""
    return {
        "id": str(delivery.pk),
        "topic": delivery.topic,
        "created_at": delivery.created_at.isoformat(),
        "subject": delivery.subject,
        "text": delivery.text,
        "address": f"{delivery.subscription.site}{delivery.path}",
        "facts": delivery.facts,
    }


def signature(key: str, timestamp: str, body: bytes) -> str:
    return hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def is_public(address: str) -> bool:
    """Whether an IP address is one of the Internet at large."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        elif found.is_site_local or any(found in network for network in _TUNNELS):
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved


def _post(address: str, headers: dict[str, str], body: bytes) -> int:
    """The status of the answer. Raises NotSent where there is none."""
    parts = urlsplit(address)
    host, path = parts.hostname or "", parts.path or "/"
    is_named = host in settings.KDB_WEBHOOK_PRIVATE_HOSTS
    if parts.scheme != "https" and not is_named:
        raise NotSent("The address must begin with https://.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = _looked_up(host, port)
    if not is_named and not all(is_public(sockaddr[0]) for _, sockaddr in found):
        raise NotSent("The host is not one of the public Internet.")
    connection = http.client.HTTPConnection(host, port)
    is_late = threading.Event()

    def cut() -> None:
        """End what waits for the other side, however slowly that drips its bytes in."""
        is_late.set()
        with suppress(OSError):  # it ended by itself meanwhile
            if connection.sock is not None:
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    timer = threading.Timer(SECONDS, cut)
    timer.daemon = True
    timer.start()
    try:
        connection.sock = _connected(found)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(connection.sock, server_hostname=host, do_handshake_on_connect=False)
            connection.sock.do_handshake()
        connection.request("POST", f"{path}?{parts.query}" if parts.query else path, body=body, headers=headers)
        status = connection.getresponse().status
        if is_late.is_set():  # what was cut off looks like an answer that ended
            raise TimeoutError
        return status
    except ssl.SSLCertVerificationError as error:
        raise NotSent(f"Its certificate is not trusted: {error.verify_message}.") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        is_slow = is_late.is_set() or isinstance(error, TimeoutError)
        raise NotSent(f"No answer within {SECONDS} s." if is_slow else "It could not be reached.") from error
    finally:
        timer.cancel()
        connection.close()


def _looked_up(host: str, port: int) -> list[tuple[socket.AddressFamily, Any]]:
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent("There is no such host.") from error
    return [(family, sockaddr) for family, _, _, _, sockaddr in infos]


def _connected(found: list[tuple[socket.AddressFamily, Any]]) -> socket.socket:
    """A connection to the first of these addresses that takes one; they are not looked up again."""
    problem: OSError = OSError("no address")
    for family, sockaddr in found:
        plain = socket.socket(family, socket.SOCK_STREAM)
        plain.settimeout(SECONDS / len(found))
        try:
            plain.connect(sockaddr)
        except OSError as error:
            plain.close()
            problem = error
        else:
            plain.settimeout(SECONDS)
            return plain
    raise problem
