"""What kdb measure keeps on the machine, for its user alone, until a sitting has ended."""

import hashlib
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .client import Client
from .errors import AwayError, KdbError, NotAllowedError, ProblemError
from .guardian import state_folder
from .output import show

RESUMED_WITHIN = 24 * 3600.0  # seconds after which a sitting is not gone on with: the machine is another one by then
SAME_BLOCK_WITHIN = 900.0  # seconds, of runs that are compared with one another
RECONNECTED_WITHIN = 1800.0
CUT_OFF = "the measurement was cut off before it"
_PAUSES = (5.0, 60.0)  # seconds between two tries: the first, and the longest


def forget_old() -> None:
    """Remove what is kept of sittings that nothing goes on with any more."""
    for path in state_folder().glob("under-way-*.json"):
        if abs(time.time() - path.stat().st_mtime) > RESUMED_WITHIN:
            path.unlink(missing_ok=True)


def begin_as_visitor(client: Client, asked: Mapping[str, Any]) -> tuple[Client, Any]:
    """Begin a sitting without an account; return a client that goes on with it, and the server's answer."""
    try:
        with_key(client, "a visitor's")
    except KdbError:
        raise KdbError(
            f"{client.configuration.url} is no https, so others could read what goes on with it: use --offline FILE."
        ) from None
    try:
        sitting = with_key(client, "").post("sittings/", asked)
    except NotAllowedError:
        raise KdbError("This server measures for its users alone: --laboratory NAME, or --offline FILE.") from None
    if not (isinstance(sitting, dict) and all(isinstance(sitting.get(name), str) for name in ("key", "page"))):
        raise KdbError("The server's answer is none to a visitor.")
    url = client.configuration.url
    if not sitting["page"].startswith(f"{url}/"):
        sitting["page"] = f"{url}/{sitting['page'].split('/', 3)[-1]}"
    return with_key(client, sitting["key"]), sitting


def with_key(client: Client, key: str) -> Client:
    """Return a client of the same server with a visitor's key."""
    return Client(replace(client.configuration, token=key), patience_seconds=client.patience_seconds)


def post_until_answered(client: Client, path: str, body: Mapping[str, Any]) -> Any:
    """Return what the server answers, however often it is away for RECONNECTED_WITHIN."""
    give_up_at, pause = time.monotonic() + RECONNECTED_WITHIN, _PAUSES[0]
    while True:
        try:
            return client.post(path, body)
        except (AwayError, ProblemError) as error:
            is_away = isinstance(error, AwayError) or error.status >= 500
            if not is_away or time.monotonic() + pause > give_up_at:
                raise
            show(f"The server is away ({error}). The run is kept, and told again in {pause:.0f} s.")
        time.sleep(pause)
        pause = min(2 * pause, _PAUSES[1])


class UnderWay:
    """The sitting under way, as a file that only the same words on the same machine lead to.

    asked : what the server is asked for; places : what says which disks and folders they are
    """

    def __init__(self, client: Client, asked: Mapping[str, Any], places: Sequence[str]) -> None:
        self.client = client
        words = [client.configuration.url, platform.node(), {**asked, "facts": {}, "set_mib": 0}, list(places)]
        digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:16]
        self._path = state_folder() / f"under-way-{digest}.json"
        self.kept: dict[str, Any] = {}
        self.age = 0.0  # seconds since it was written, where it was found

    @property
    def made(self) -> int:
        """Return how many runs were made, without those that warm up."""
        return int(self.kept.get("made", 0))

    @property
    def page(self) -> str:
        """Return the address of what a visitor measures; "" in a laboratory."""
        return str(self.kept.get("page") or "")

    def find(self) -> Any:
        """Return the sitting that was begun the same way lately, told of the run that it missed; None: none is open."""
        try:
            self.kept = json.loads(self._path.read_text(encoding="utf-8"))
            self.age = abs(time.time() - self.kept["since"])
            number, untold = int(self.kept["sitting"]), self.kept["untold"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if self.age > RESUMED_WITHIN:
            return None
        if self.kept.get("key"):
            self.client = with_key(self.client, self.kept["key"])
        try:
            return self._tell(number, *untold) if untold else self.client.get(f"sittings/{number}/")
        except ProblemError as error:
            if error.status in (401, 403, 404, 409):
                return None  # it was removed, or is over
            raise

    def begin(self, asked: Mapping[str, Any]) -> Any:
        """Begin a sitting; as a visitor where no laboratory is named."""
        if "laboratory" in asked:
            sitting = self.client.post("sittings/", asked)
        else:
            self.client, sitting = begin_as_visitor(self.client, asked)
        told = sitting if isinstance(sitting, dict) else {}
        self.kept = {"sitting": told.get("id"), "key": told.get("key"), "page": told.get("page"), "made": 0}
        self._write(untold=None)
        return sitting

    def report(self, sitting: int, number: int, report: Mapping[str, Any], *, counts: bool) -> Any:
        """Tell the server of a run, however long it is away; what it showed is on the disk meanwhile."""
        self.kept["made"] = self.made + counts
        self._write(untold=[number, dict(report)])
        answer = self._tell(sitting, number, report)
        self._write(untold=None)
        return answer

    def _tell(self, sitting: int, number: int, report: Mapping[str, Any]) -> Any:
        return post_until_answered(self.client, f"sittings/{sitting}/runs/{number}/", report)

    def end(self) -> None:
        self._path.unlink(missing_ok=True)

    def _write(self, untold: Any) -> None:
        """Write it whole or not at all, for its owner alone."""
        self.kept |= {"untold": untold, "since": time.time()}
        new = self._path.with_suffix(f".{os.getpid()}.new")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(file, "w", encoding="utf-8") as text:
            json.dump(self.kept, text)
            text.flush()
            os.fsync(text.fileno())
        new.replace(self._path)
