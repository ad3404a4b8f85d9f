"""Look up what the name of a host leads to, and judge whether KDB may go there."""

import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

Addresses = list[tuple[socket.AddressFamily, Any]]

# Global by their own numbers, and yet a way to any IPv4 address: NAT64, 6to4, Teredo.
_TUNNELS = [ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")]
# Where clouds tell a machine's own secrets: their services of metadata, most of them link-local.
_METADATA = {ip_address(text) for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192")}
_METADATA.add(ip_address("168.63.129.16"))


def resolve(host: str, port: int, *, seconds: float | None = None) -> Addresses:
    """Return what a connection may be made to. Raises OSError; where `seconds` are said, after these at the latest."""
    if seconds is None:
        return _looked_up(host, port)
    outcomes: list[Addresses | OSError] = []

    def look_up() -> None:
        try:
            outcomes.append(_looked_up(host, port))
        except OSError as error:
            outcomes.append(error)

    thread = threading.Thread(target=look_up, daemon=True)  # the resolver's own patience has no limit of ours
    thread.start()
    thread.join(seconds)
    outcome = outcomes[0] if outcomes else TimeoutError(f"no answer within {seconds:.0f} s")
    if isinstance(outcome, OSError):
        raise outcome
    return outcome


def _looked_up(host: str, port: int) -> Addresses:
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError("no name of a host") from error
    return [(family, sockaddr) for family, _, _, _, sockaddr in infos]


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the Internet at large."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip.is_site_local or any(ip in network for network in _TUNNELS):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def is_link_local_or_metadata(address: str) -> bool:
    """Tell whether an IP address is link-local or a cloud's service of metadata, be it inside an IPv6 address."""
    ip = ip_address(address.partition("%")[0])
    return any(inside.is_link_local or inside in _METADATA for inside in (ip, *_inside(ip)))


def _inside(ip: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that an IPv6 address is a way to."""
    if isinstance(ip, IPv4Address):
        return []
    last = [IPv4Address(int(ip) & 0xFFFF_FFFF)] if int(ip) >> 32 in (0, 0x64_FF9B << 64) else []
    return [inside for inside in (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())) if inside is not None] + last
