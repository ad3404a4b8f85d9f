"""Tell where a request comes from, so that nobody can be somebody else by saying so, and where it reached KDB."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

NETWORK_BITS = 64  # of an IPv6 address: what one customer gets at least
WIDER_BITS = {4: 24, 6: 48}  # what one customer gets who wants many addresses


def address_of(request: HttpRequest) -> str:
    """Return the client's address: the connection's, or what the outermost of KDB_TRUSTED_PROXIES wrote down.

    Each proxy appends to X-Forwarded-For whom it talks to, and a client may begin the list with anything, so
    the entries are counted from the end. Where there are fewer than proxies, the last is the one to believe.
    """
    connection = _parsed(request.META.get("REMOTE_ADDR", "")) or "127.0.0.1"  # a socket file has none
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    proxies = settings.KDB_TRUSTED_PROXIES
    if not proxies:
        return connection
    return _parsed(forwarded[-proxies if len(forwarded) >= proxies else -1]) or connection


def counted_address(request: HttpRequest) -> str:
    """Return the address by which attempts are counted: all of an IPv6 /64 are one, written as its first."""
    address = address_of(request)
    return str(ip_network(f"{address}/{NETWORK_BITS}", strict=False)[0]) if ":" in address else address


def network_of(address: str) -> str:
    """Return the network by which many addresses of one customer are counted together: "192.0.2.0/24"."""
    return str(ip_network(f"{address}/{WIDER_BITS[ip_address(address).version]}", strict=False))


def site_of(request: HttpRequest) -> str:
    """Return scheme and host by which KDB was reached, for addresses in letters."""
    return request.build_absolute_uri("/").rstrip("/")


def _parsed(text: str) -> str:
    """Strip port, brackets and zone of an address: of "1.2.3.4:5678", "[::1]:80", "fe80::1%eth0". Empty: is none."""
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
