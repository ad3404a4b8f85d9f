"""One server, asked by HTTP with nothing but the standard library."""

import http.client
import json
import math
import time
import urllib.request
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from .configuration import Configuration
from .errors import AwayError, NotAllowedError, NotReadyError, ProblemError, TooManyRequestsError, UnreachableError

_KEPT_ANSWERS = 100
_TIMEOUT_SECONDS = 60  # without a byte
_DEADLINE_SECONDS = 300  # for an answer as a whole
_MOST_BYTES = 128 * 2**20  # of an answer
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 60.0
_TOKEN_ERRORS, _LATER = (401, 403), (429, 503)


class _Response(http.client.HTTPResponse):
    """An answer that is read until the deadline, however slowly it drips."""

    def __init__(self, connected: Any, *arguments: Any, **more: Any) -> None:
        super().__init__(connected, *arguments, **more)
        stream: Any = self.fp.raw
        read, ends = stream.readinto, time.monotonic() + _DEADLINE_SECONDS

        def readinto(buffer: Any) -> Any:
            left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"the answer takes longer than {_DEADLINE_SECONDS} seconds")
            connected.settimeout(min(left, _TIMEOUT_SECONDS))
            return read(buffer)

        stream.readinto = readinto


class _Handler(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    def do_open(self, http_class: Any, req: Any, **http_conn_args: Any) -> Any:
        def connection(*place: Any, **more: Any) -> Any:
            made = http_class(*place, **more)
            made.response_class = _Response
            return made

        return super().do_open(connection, req, **http_conn_args)


class _AsTheyAre(urllib.request.HTTPErrorProcessor):
    """Follows no redirects, whose server would be sent the token, and raises nothing for what a server answers."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


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
        self._opener = urllib.request.build_opener(_Handler, _AsTheyAre)
        self._kept: OrderedDict[str, tuple[str, Any]] = OrderedDict()

    # Methods for what is asked most

    def ranking(self, axis: str, workload: str, **filters: Any) -> Any:
        """Return which entry of the axis is best for a workload; the filters are those of the API."""
        return self.get(f"rankings/{quote(axis, safe='')}/", workload=workload, **filters)

    def status(self) -> Any:
        return self.get("status/")

    def campaign(self, slug: str) -> Any:
        return self.get(f"campaigns/{quote(slug, safe='')}/")

    def import_(self, number: int) -> Any:
        return self.get(f"imports/{number}/")

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
    ) -> Any:
        """Upload result files into a draft; they are read in the background, see `import_`. Twice is done once."""
        fields = {"case_study": case_study, "confirm": str(confirm).lower()}
        if answers:
            fields["answers"] = json.dumps(answers)
        media_type, body = _form(fields, [(path.name, path.read_bytes()) for path in files])
        headers = {"Content-Type": media_type, "Idempotency-Key": uuid.uuid4().hex}
        return _document(self._patiently("POST", self._url("imports/", {}), headers, body))

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
            document = _document(answer)
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
        return _document(self._patiently("POST", self._url(path, {}), headers, json.dumps(body).encode()))

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
                return _Answer(response.status, response.headers, _body(response))
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise AwayError(f"{self.configuration.url} does not answer: {reason}") from None


def _body(response: Any) -> bytes:
    """Return a body of a reasonable size. Raises UnreachableError."""
    body: bytes = response.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise UnreachableError(f"The answer has more than {_MOST_BYTES:,} bytes.")
    return body


def _document(answer: _Answer) -> Any:
    """Return the JSON of an answer. Raises UnreachableError where it is none."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise UnreachableError(f"The answer of status {answer.status} is none of KDB's.") from None


def _pause(headers: Message) -> float:
    """Return the seconds of Retry-After; 2 where it gives none, as a date or "nan" does not."""
    try:
        seconds = float(headers.get("Retry-After", "2"))
    except ValueError:
        return 2.0
    return 2.0 if math.isnan(seconds) else min(max(seconds, _SHORTEST_PAUSE), _LONGEST_PAUSE)


def _problem(answer: _Answer) -> ProblemError | UnreachableError:
    try:
        body = _document(answer)
        detail, errors = str(body["detail"]), body.get("errors")
    except (UnreachableError, KeyError, TypeError):
        text = f"The answer of status {answer.status} is none of KDB's."
        # A proxy in between may take less than KDB does, and never will.
        return ProblemError(413, text) if answer.status == 413 else UnreachableError(text)
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
