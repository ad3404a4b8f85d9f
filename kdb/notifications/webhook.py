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
from typing import Any
from urllib.parse import urlsplit

from kdb import __version__

from . import places, subscriptions
from .errors import NotSent
from .models import Delivery

SECONDS = 10  # for all of an attempt, once the host is looked up


def send(delivery: Delivery) -> None:
    """Raise NotSent where it is not taken, that is answered with a status of 200 to 299."""
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
    """Return the body, before it is JSON."""
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


def _post(address: str, headers: dict[str, str], body: bytes) -> int:
    """Return the status of the answer. Raises NotSent where there is none."""
    parts = urlsplit(address)
    host, path = parts.hostname or "", parts.path or "/"
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = places.judged(address)
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
        connection.sock = _connected(addresses)
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


def _connected(addresses: list[tuple[socket.AddressFamily, Any]]) -> socket.socket:
    """Return a connection to the first of these addresses that takes one; they are not looked up again."""
    problem: OSError = OSError("no address")
    for family, sockaddr in addresses:
        plain = socket.socket(family, socket.SOCK_STREAM)
        plain.settimeout(SECONDS / len(addresses))
        try:
            plain.connect(sockaddr)
        except OSError as error:
            plain.close()
            problem = error
        else:
            plain.settimeout(SECONDS)
            return plain
    raise problem
