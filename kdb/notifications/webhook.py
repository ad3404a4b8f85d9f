"""Post a delivery as JSON to an address that its owner, who may be anybody, has chosen.

    KDB-Delivery: the delivery's id, the same in each attempt
    KDB-Timestamp: seconds since 1970 of this attempt
    KDB-Signature: HMAC-SHA256, in hex, of the timestamp, a full stop and the body, by the subscription's signing key

The host is looked up once, each of its addresses is checked (webhook_addresses), and the connection is made to one of
them. No redirect is followed, and only the status of the answer is read.
"""

import hashlib
import hmac
import json
import time
from typing import Any

from kdb import __version__, http_client

from . import NotSent, subscriptions, webhook_addresses
from .models import Delivery

SECONDS = 10  # for one attempt, after the name was resolved


def send(delivery: Delivery) -> None:
    """Post a delivery. Raises NotSent unless it is answered with a status of 200 to 299."""
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
    addresses = webhook_addresses.resolve(subscription.address)
    try:
        reply = http_client.send_request(
            "POST", subscription.address, addresses, headers=headers, body=body, seconds=SECONDS
        )
    except http_client.NoAnswer as error:
        raise NotSent(str(error)) from error
    if 300 <= reply.status < 400:
        raise NotSent(f"It answered {reply.status}; redirects are not followed.")
    if not 200 <= reply.status < 300:
        raise NotSent(f"It answered {reply.status}.")


def content(delivery: Delivery) -> dict[str, Any]:
    """Return the body, before it is serialised."""
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
