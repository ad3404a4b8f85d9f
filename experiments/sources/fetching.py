"""Fetch a source's page, as a robot that asks first: robots.txt, pauses, judged addresses, limits of size and time."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from kdb import __version__, calls, lookups

AGENT = "KDB-source-check"
SECONDS = 20.0  # for one request
LOOKUP_SECONDS = 5.0
PAUSE = 10.0  # seconds between two requests to one host, at least
LONGEST_PAUSE = 120.0  # that a robots.txt may ask for; a site that asks for more is not visited
MOST_BYTES = 16 * 2**20
MOST_ROBOTS_BYTES = 512 * 2**10
MOST_REDIRECTS = 5
GONE = (404, 410)


class NotFetched(Exception):  # noqa: N818 - an event, not a mistake
    """The page was not to be had; the text is fit to show."""


class Gone(NotFetched):
    """The page is not there any more, as its server says."""


class Refused(NotFetched):
    """robots.txt asks not to look."""


@dataclass(frozen=True)
class Page:
    body: bytes
    content_type: str


@dataclass
class Fetcher:
    """Fetches pages one after the other, no host more often than it wants.

    visited : host to when it was last asked, by `clock`
    """

    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    visited: dict[str, float] = field(default_factory=dict)
    robots: dict[str, RobotFileParser] = field(default_factory=dict)

    def fetch(self, address: str) -> Page:
        """Return the page at this address. Raises NotFetched."""
        for _ in range(MOST_REDIRECTS + 1):
            between = self._asked_first(address)
            reply = self._request(address, MOST_BYTES, between)
            if reply.status in (301, 302, 303, 307, 308) and reply.headers.get("location"):
                address = urljoin(address, reply.headers["location"])
                continue
            if reply.status in GONE:
                raise Gone(f"Its server answers {reply.status}.")
            if reply.status != 200:
                raise NotFetched(f"Its server answers {reply.status}.")
            if reply.is_cut:
                raise NotFetched(f"It is longer than {MOST_BYTES // 2**20} MiB.")
            return Page(reply.body, reply.headers.get("content-type", ""))
        raise NotFetched(f"It leads on more than {MOST_REDIRECTS} times.")

    def _asked_first(self, address: str) -> float:
        """Return the pause that robots.txt wants between two requests. Raises Refused where it wants none at all."""
        parts = urlsplit(address)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self.robots:
            self.robots[site] = self._rules(f"{site}/robots.txt")
        rules = self.robots[site]
        wanted = float(rules.crawl_delay(AGENT) or 0)
        if not rules.can_fetch(AGENT, address) or wanted > LONGEST_PAUSE:
            raise Refused("Its robots.txt asks not to look.")
        return max(PAUSE, wanted)

    def _rules(self, address: str) -> RobotFileParser:
        """Return the rules of a site; without a robots.txt all is allowed. Raises NotFetched if they cannot be read."""
        rules = RobotFileParser(address)
        reply = self._request(address, MOST_ROBOTS_BYTES, PAUSE)
        for _ in range(MOST_REDIRECTS):
            if not 300 <= reply.status < 400 or not reply.headers.get("location"):
                break
            address = urljoin(address, reply.headers["location"])
            reply = self._request(address, MOST_ROBOTS_BYTES, PAUSE)
        if reply.status in (401, 403):
            rules.parse(["User-agent: *", "Disallow: /"])
        elif 400 <= reply.status < 500:
            rules.parse([])
        elif reply.status == 200:
            rules.parse(reply.body.decode("utf-8", errors="replace").splitlines())
        else:
            raise NotFetched(f"Its robots.txt answers {reply.status}.")
        return rules

    def _request(self, address: str, most_bytes: int, between: float) -> calls.Reply:
        host, addresses = judged(address)
        if host in self.visited and (rest := self.visited[host] + between - self.clock()) > 0:
            self.pause(rest)
        self.visited[host] = self.clock()
        try:
            return calls.call("GET", address, addresses, headers=_HEADERS, seconds=SECONDS, most_bytes=most_bytes)
        except calls.NotReached as error:
            raise NotFetched(str(error)) from error


_HEADERS: Mapping[str, str] = {"User-Agent": f"{AGENT}/{__version__}", "Accept": "text/html, */*;q=0.5"}


def judged(address: str) -> tuple[str, lookups.Found]:
    """Return the host and what to connect to. Raises NotFetched where that is not of the public Internet."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise NotFetched("This is no address.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise NotFetched("It leads to what is not on the web.")
    try:
        addresses = lookups.addresses(host, port, seconds=LOOKUP_SECONDS)
    except OSError as error:
        raise NotFetched("There is no such host.") from error
    if not all(lookups.is_public(sockaddr[0]) for _, sockaddr in addresses):
        raise NotFetched("The host is not one of the public Internet.")
    return host, addresses
