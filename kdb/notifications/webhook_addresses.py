"""Refuse webhook addresses that lead into a private network, when they are chosen and again before each delivery."""

from urllib.parse import urlsplit

from django.conf import settings

from kdb import name_resolution

from . import NotSent


def resolve(url: str, *, seconds: float | None = None) -> name_resolution.Addresses:
    """Return the addresses to connect to. Raises NotSent where there are none or one is forbidden.

    seconds : for the lookup; None: no limit
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    is_exempt = host in settings.KDB_WEBHOOK_PRIVATE_HOSTS
    if parts.scheme != "https" and not is_exempt:
        raise NotSent("The address must begin with https://.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        addresses = name_resolution.resolve(host, port, seconds=seconds)
    except OSError as error:
        raise NotSent("There is no such host.") from error
    if not is_exempt and not all(name_resolution.is_public(sockaddr[0]) for _, sockaddr in addresses):
        raise NotSent("The host is not one of the public Internet.")
    return addresses
