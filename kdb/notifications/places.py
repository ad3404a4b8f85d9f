"""Judge where a webhook's address leads, when it is chosen and before each delivery: a name may turn inside."""

from urllib.parse import urlsplit

from django.conf import settings

from kdb import name_resolution

from .errors import NotSent


def judged(address: str, *, seconds: float | None = None) -> name_resolution.Addresses:
    """Return the addresses to connect to, each checked. Raises NotSent where one is forbidden or there is none.

    seconds : for the lookup
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    is_named = host in settings.KDB_WEBHOOK_PRIVATE_HOSTS
    if parts.scheme != "https" and not is_named:
        raise NotSent("The address must begin with https://.")
    try:
        addresses = name_resolution.resolve(
            host, parts.port or (443 if parts.scheme == "https" else 80), seconds=seconds
        )
    except OSError as error:
        raise NotSent("There is no such host.") from error
    if not is_named and not all(name_resolution.is_public(sockaddr[0]) for _, sockaddr in addresses):
        raise NotSent("The host is not one of the public Internet.")
    return addresses
