"""One server, asked by HTTP with nothing but the standard library."""

import json
import math
import time
import urllib.error
import urllib.request
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from .configuration import Configuration
from .errors import NotAllowedError, NotReadyError, ProblemError, TooManyRequestsError, UnreachableError

if TYPE_CHECKING:  # long, and not in the one-file form
    from .models import Campaign, Import, Ranking, Status

_KEPT_ANSWERS = 100
_TIMEOUT_SECONDS = 60
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 60.0
_TOKEN_ERRORS, _LATER = (401, 403), (429, 503)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A handler that refuses redirects: the server of another address would be sent the token."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Message
    body: bytes


class Client:
    """A client of the server of a Configuration; without one, of that of the environment or the file.

    What was answered with an entity tag is kept, and asked for again with it. A server that says when to come back
    (202, 429, 503 with Retry-After) is asked again for `patience_seconds` in all.
    """

    def __init__(self, configuration: Configuration | None = None, *, patience_seconds: float = 60) -> None:
        self.configuration = configuration or Configuration.read()
        self.patience_seconds = patience_seconds
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._kept: OrderedDict[str, tuple[str, Any]] = OrderedDict()

    # Methods for what is asked most

    def ranking(self, axis: str, workload: str, **filters: Any) -> "Ranking":
        """Return which entry of the axis is best for a workload; the filters are those of the API."""
        return cast("Ranking", self.get(f"rankings/{quote(axis, safe='')}/", workload=workload, **filters))

    def status(self) -> "Status":
        return cast("Status", self.get("status/"))

    def campaign(self, slug: str) -> "Campaign":
        return cast("Campaign", self.get(f"campaigns/{quote(slug, safe='')}/"))

    def import_(self, number: int) -> "Import":
        return cast("Import", self.get(f"imports/{number}/"))

    def rows(self, path: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Yield all rows of a list, page by page: `rows("measurements", case_study="p1")`."""
        path, page = f"{path.strip('/')}/", dict(filters)
        while True:
            answer = self.get(path, **page)
            yield from answer["results"]
            if not answer["next"]:
                return
            page = dict(parse_qsl(urlsplit(answer["next"]).query))  # never another server's address

    def upload(
        self,
        files: Iterable[Path],
        case_study: str,
        *,
        answers: Mapping[str, Any] | None = None,
        confirm: bool = False,
    ) -> "Import":
        """Upload result files into a draft; they are read in the background, see `import_`. Twice is done once."""
        fields = {"case_study": case_study, "confirm": str(confirm).lower()}
        if answers:
            fields["answers"] = json.dumps(answers)
        media_type, body = _form(fields, [(path.name, path.read_bytes()) for path in files])
        headers = {"Content-Type": media_type, "Idempotency-Key": uuid.uuid4().hex}
        return cast("Import", json.loads(self._patiently("POST", self._url("imports/", {}), headers, body).body))

    # Anything else

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the JSON below /api/v1/. An answer of 202 is waited for."""
        url = self._url(path, parameters)
        give_up_at = time.monotonic() + self.patience_seconds
        while True:
            tag, kept = self._kept.get(url, ("", None))
            answer = self._patiently("GET", url, {"If-None-Match": tag} if tag else {})
            if answer.status == 304:
                self._kept.move_to_end(url)
                return kept
            document = json.loads(answer.body)
            if answer.status != 202:
                break
            if document.get("error"):
                raise NotReadyError(f"The answer could not be worked out: {document['error']}")
            pause = _pause(answer.headers)
            if time.monotonic() + pause > give_up_at:
                raise NotReadyError("The answer is still being worked out; ask again later.")
            time.sleep(pause)
        if new_tag := answer.headers.get("ETag"):
            self._kept[url] = (new_tag, document)
            if len(self._kept) > _KEPT_ANSWERS:
                self._kept.popitem(last=False)
        return document

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return what the server answers to this JSON. A server that asks to wait is asked again."""
        headers = {"Content-Type": "application/json"}
        return json.loads(self._patiently("POST", self._url(path, {}), headers, json.dumps(body).encode()).body)

    # HTTP

    def _url(self, path: str, parameters: Mapping[str, Any]) -> str:
        given = {name: str(value) for name, value in parameters.items() if value is not None}
        query = f"?{urlencode(given)}" if given else ""
        return f"{self.configuration.url}/api/v1/{path.lstrip('/')}{query}"

    def _patiently(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> _Answer:
        give_up_at = time.monotonic() + self.patience_seconds
        while True:
            answer = self._send(method, url, headers, body)
            if answer.status < 300 or answer.status == 304:
                return answer
            pause = _pause(answer.headers)
            comes_back = answer.status in _LATER and "Retry-After" in answer.headers
            if not comes_back or time.monotonic() + pause > give_up_at:
                raise _problem(answer)
            time.sleep(pause)

    def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> _Answer:
        token = self.configuration.token
        sent = {"Accept": "application/json", **headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        request = urllib.request.Request(url, data=body, headers=sent, method=method)  # noqa: S310 - checked to be HTTP
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                return _Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return _Answer(error.code, error.headers, error.read())
        except (OSError, urllib.error.URLError) as error:
            reason = getattr(error, "reason", error)
            raise UnreachableError(f"{self.configuration.url} does not answer: {reason}") from None


def _pause(headers: Message) -> float:
    """Return the seconds of Retry-After; 2 where it gives none, as a date or "nan" does not."""
    try:
        seconds = float(headers.get("Retry-After", "2"))
    except ValueError:
        return 2.0
    return 2.0 if math.isnan(seconds) else min(max(seconds, _SHORTEST_PAUSE), _LONGEST_PAUSE)


def _problem(answer: _Answer) -> ProblemError | UnreachableError:
    try:
        body = json.loads(answer.body)
        detail, errors = str(body["detail"]), body.get("errors")
    except (ValueError, KeyError, TypeError):
        return UnreachableError(f"The answer of status {answer.status} is none of KDB's.")
    if answer.status in _TOKEN_ERRORS:
        return NotAllowedError(answer.status, detail, errors)
    if answer.status == 429:
        return TooManyRequestsError(answer.status, detail, errors)
    return ProblemError(answer.status, detail, errors)


def _form(fields: Mapping[str, str], files: Iterable[tuple[str, bytes]]) -> tuple[str, bytes]:
    """Return a body of multipart/form-data, and its media type."""
    boundary = uuid.uuid4().hex
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    for name, content in files:
        spelled = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        parts.append((f'name="file"; filename="{spelled}"', content))
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + content + b"\r\n"
        for head, content in parts
    )
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()
