"""Get the client's address of a request, which clients cannot forge, and the site that it was sent to."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

NETWORK_BITS = 64  # of an IPv6 address; a customer gets at least one such network
WIDER_BITS = {4: 24, 6: 48}  # the network of a customer with many addresses


def address_of(request: HttpRequest) -> str:
    """Return the client's address: the connection's, or the one recorded by the outermost of KDB_TRUSTED_PROXIES.

    Each proxy appends its client's address to X-Forwarded-For, and a client may send anything in front, so entries are
    counted from the end. Where there are fewer entries than proxies, the last one is used.
    """
    connection = _parsed(request.META.get("REMOTE_ADDR", "")) or "127.0.0.1"  # empty for a Unix socket
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    proxies = settings.KDB_TRUSTED_PROXIES
    if not proxies:
        return connection
    return _parsed(forwarded[-proxies if len(forwarded) >= proxies else -1]) or connection


def counted_address(request: HttpRequest) -> str:
    """Return the address by which attempts are counted; for IPv6, the first address of its /64."""
    address = address_of(request)
    return str(ip_network(f"{address}/{NETWORK_BITS}", strict=False)[0]) if ":" in address else address


def network_of(address: str) -> str:
    """Return the network of an address, in which one customer may have many: "192.0.2.0/24"."""
    return str(ip_network(f"{address}/{WIDER_BITS[ip_address(address).version]}", strict=False))


def site_of(request: HttpRequest) -> str:
    """Return scheme and host of the request, for links in mail."""
    return request.build_absolute_uri("/").rstrip("/")


def _parsed(text: str) -> str:
    """Return an address without port, brackets and zone: "1.2.3.4:5678", "[::1]:80", "fe80::1%eth0"; "": it is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
