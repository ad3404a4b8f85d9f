"""Resolve host names, and tell which addresses KDB must not connect to."""

import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

Addresses = list[tuple[socket.AddressFamily, Any]]

# Networks that count as global but embed IPv4 addresses, also private ones: NAT64, 6to4, Teredo.
_TUNNELS = [ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")]
# Metadata services of clouds, which give a machine its secrets; most others are link-local.
_METADATA = {ip_address(text) for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192")}
_METADATA.add(ip_address("168.63.129.16"))


def resolve(host: str, port: int, *, seconds: float | None = None) -> Addresses:
    """Return the addresses of a host. Raises OSError, also after `seconds` without an answer, if given."""
    if seconds is None:
        return _resolve(host, port)
    results: list[Addresses | OSError] = []

    def look_up() -> None:
        try:
            results.append(_resolve(host, port))
        except OSError as error:
            results.append(error)

    thread = threading.Thread(target=look_up, daemon=True)  # the resolver has no time limit of its own
    thread.start()
    thread.join(seconds)
    result = results[0] if results else TimeoutError(f"no answer within {seconds:.0f} s")
    if isinstance(result, OSError):
        raise result
    return result


def _resolve(host: str, port: int) -> Addresses:
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError("no name of a host") from error
    return [(family, sockaddr) for family, _, _, _, sockaddr in infos]


def is_public(address: str) -> bool:
    """Tell whether an IP address belongs to the public Internet."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip.is_site_local or any(ip in network for network in _TUNNELS):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def is_link_local_or_metadata(address: str) -> bool:
    """Tell whether an IP address is link-local or a metadata service's, also one that an IPv6 address embeds."""
    ip = ip_address(address.partition("%")[0])
    return any(part.is_link_local or part in _METADATA for part in (ip, *_embedded(ip)))


def _embedded(ip: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(ip, IPv4Address):
        return []
    last = [IPv4Address(int(ip) & 0xFFFF_FFFF)] if int(ip) >> 32 in (0, 0x64_FF9B << 64) else []
    return [part for part in (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())) if part is not None] + last
