"""Proxmox VE asked from outside: the questions of `pvesh get`, by HTTPS with a token. Nothing is changed by any of it.

pvesh(1) is the shell of this API, so its words name a request: path and options here, the same JSON back. Sources, read
at release 9: https://pve.proxmox.com/pve-docs/api-viewer/ and the authentication by tokens and the answers of
PVE/HTTPServer.pm (git.proxmox.com, pve-manager at 14a22df35955) and PVE/APIServer (pve-http-server at 5c9e4ea77336).
Not yet tried on a real host.

The host's key is its certificate, "certificate AB:CD:...", the SHA-256 as Proxmox VE prints it. The token's secret
stays in the worker's file: it is in no message and in nothing that is recorded.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

from kdb.http_client import CertificateMismatch, NoAnswer, Reply, send_request
from kdb.name_resolution import Addresses, is_link_local_or_metadata, resolve

from . import ssh

PORT = 8006
_KIND = "certificate"
_KEY = re.compile(rf"{_KIND} ([0-9A-F]{{2}}(?::[0-9A-F]{{2}}){{31}})")
# As Proxmox VE names users, realms and tokens (PVE/AccessControl.pm, Auth/Plugin.pm); the secret is a UUID.
_TOKEN = re.compile(r"[^\s:/!=]{1,60}@[A-Za-z][A-Za-z0-9._-]{1,40}![A-Za-z][A-Za-z0-9._-]{1,80}=[0-9A-Fa-f-]{36}")
_TOKEN_BYTES = 500
_REASON = 300  # characters that are told of why a request failed


def fingerprint(key: str) -> str:
    """Return "AB:CD:...", as `pvenode cert info` prints it. Raises ValueError where it is no certificate's key."""
    match = _KEY.fullmatch(key)
    if not match:
        raise ValueError("not the key of a certificate")
    return match[1]


def is_key(key: str) -> bool:
    return key.startswith(f"{_KIND} ")


def scan(host: str, port: int) -> str:
    """Return the key of the certificate shown there, to be accepted by a person. Raises Unreachable, NotAllowed."""
    try:
        _get(host, port, _judged(host, port), "", pinned=b"", seconds=ssh.CONNECT_SECONDS)
    except CertificateMismatch as other:
        return f"{_KIND} {other.shown.hex(':').upper()}"
    except NoAnswer as error:
        raise _unreachable(f"{host} port {port}", error) from error
    raise AssertionError("a connection that trusts no certificate was made")


def _judged(host: str, port: int) -> Addresses:
    """Return the addresses that a connection may be made to. Raises Unreachable, NotAllowed."""
    try:
        resolved = resolve(host, port, seconds=ssh.CONNECT_SECONDS)
    except OSError as error:
        raise ssh.Unreachable(f"{host} port {port} is not reached by HTTPS: its name is not known.") from error
    if any(is_link_local_or_metadata(place[0]) for _, place in resolved):
        raise ssh.NotAllowed(f"{host} is a link-local address, or where a cloud keeps its metadata.")
    return resolved


def _get(
    host: str,
    port: int,
    resolved: Addresses,
    path: str,
    *,
    pinned: bytes,
    seconds: float,
    most: int = 0,
    **headers: str,
) -> Reply:
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    address = f"https://{name}:{port}/api2/json{path}"
    return send_request("GET", address, resolved, headers=headers, seconds=seconds, most_bytes=most, pinned=pinned)


def _unreachable(label: str, error: NoAnswer) -> ssh.Unreachable:
    return ssh.Unreachable(f"{label} is not reached by HTTPS: {error}")


class ApiConnection(ssh.Connection):
    """The API of one node. Each request has a connection of its own, to an address that was judged at the beginning."""

    def __enter__(self) -> "ApiConnection":
        self._found = _judged(self.address.host, self.address.port)
        self._pinned = bytes.fromhex(fingerprint(self.address.host_key).replace(":", ""))
        self._token = _token(self.address.key_file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def _run(self, arguments: Sequence[str], given: bytes, timeout: float, most: int, may_end_255: bool) -> ssh.Answer:
        match [*arguments]:
            case ["pvesh", "get", path, *options, "--output-format", "json"]:
                return self._get(path, options, timeout, most)
        raise ssh.NotAllowed(f"{self.address} is asked by the API of Proxmox VE, and runs no command for KDB.")

    def _get(self, path: str, options: Sequence[str], seconds: float, most: int) -> ssh.Answer:
        """Return what pvesh would print. Raises KeyChanged, LoginRefused, NotAllowed, TooMuch, Unreachable."""
        pairs = zip(options[::2], options[1::2], strict=True)
        query = urlencode([(name.removeprefix("--"), value) for name, value in pairs])
        target, place = quote(path) + (f"?{query}" if query else ""), self.address
        try:
            limits: Any = {"pinned": self._pinned, "seconds": seconds, "most": most}
            authorization = f"PVEAPIToken={self._token}"
            reply = _get(place.host, place.port, self._found, target, Authorization=authorization, **limits)
        except CertificateMismatch as other:
            raise ssh.KeyChanged(
                f"{place} shows another certificate, {other.shown.hex(':').upper()}, than "
                f"{fingerprint(place.host_key)}, which was accepted."
            ) from other
        except NoAnswer as error:
            raise _unreachable(str(place), error) from error
        status_line = f"GET {path}: {reply.status} {reply.reason}"[:_REASON]
        if reply.status == 401:
            raise ssh.LoginRefused(f"{place} does not take the token: {status_line}")
        if reply.status == 403:
            raise ssh.NotAllowed(f"{place} does not allow it to the token: {status_line}")
        if reply.is_cut:
            raise ssh.TooMuch(f"{place} sent more than {most:,} bytes in answer to one request. Nothing of it is used.")
        if reply.status != 200:
            return ssh.Answer(1, b"", status_line)
        try:
            document: Any = json.loads(reply.body)
        except ValueError:
            document = None
        if not isinstance(document, dict) or "data" not in document:
            return ssh.Answer(1, b"", f"GET {path}: no whole answer of the API")
        return ssh.Answer(0, json.dumps(document["data"]).encode(), "")


def _token(file: Path | None) -> str:
    """Return the token of a worker's file. Raises LoginRefused, without what stands there."""
    name, text = file.name if file else "", ""
    if file is not None:
        try:
            with file.open("rb") as content:
                text = content.read(_TOKEN_BYTES).decode("ascii", errors="replace").strip()
        except OSError as error:
            raise ssh.LoginRefused(f"The worker cannot read its file {name!r}: {error.strerror}.") from error
    if not _TOKEN.fullmatch(text):
        raise ssh.LoginRefused(f"The worker's file {name!r} holds no token of Proxmox VE: USER@REALM!NAME=SECRET.")
    return text
