"""Slows down those who guess passwords: by user name and by address, counted where all processes see it."""

import hashlib
from datetime import timedelta
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest
from django.utils.timezone import now

from kdb.models import FailedLogin

WINDOW = timedelta(minutes=15)
MOST_BY_NAME = 5  # from one address, within the window
MOST_BY_ADDRESS = 30


def address_of(request: HttpRequest) -> str:
    """Where the request comes from: the connection, or behind a proxy what the proxy itself wrote down.

    A client may begin X-Forwarded-For with anything; the proxy's own entry is the last.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.KDB_BEHIND_PROXY else ""
    found = forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")
    try:
        return str(ip_address(found))
    except ValueError:  # a socket has none
        return "127.0.0.1"


def wait_seconds(request: HttpRequest, name: str) -> int:
    """How long this address must wait before it may try this name again; 0: not at all."""
    since = now() - WINDOW
    address = address_of(request)
    recent = FailedLogin.objects.filter(at__gt=since, address=address)
    for most, rows in ((MOST_BY_NAME, recent.filter(name_digest=_digest(name))), (MOST_BY_ADDRESS, recent)):
        moments = list(rows.order_by("-at").values_list("at", flat=True)[:most])
        if len(moments) == most:
            return max(1, int((moments[-1] + WINDOW - now()).total_seconds()))
    return 0


def note_failure(request: HttpRequest, name: str) -> None:
    FailedLogin.objects.create(name_digest=_digest(name), address=address_of(request), at=now())
    FailedLogin.objects.filter(at__lt=now() - WINDOW).delete()


def forget(request: HttpRequest, name: str) -> None:
    """After a success: what was mistyped before counts no longer."""
    FailedLogin.objects.filter(name_digest=_digest(name), address=address_of(request)).delete()


def _digest(name: str) -> str:
    return hashlib.sha256(name.strip().casefold().encode()).hexdigest()
