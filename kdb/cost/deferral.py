"""Defer requests that cost the web server too much: a worker answers them, and the client polls for the answer.

A LeftRequest has those parts of a request that its view reads, so equal requests are computed once. Clients poll every
two seconds; a request that nobody polls any more is not computed, or broken off. Workers take one request at a time,
and charge its time to the client's address and network. Next is the request with the least sum of the time that its
address owes and the time that requests to its view took lately. So a hundred expensive requests of a hundred addresses
delay a cheap one by one of them; and after as much work on cheap ones, an expensive one has its turn.
"""

import hashlib
import io
import json
import logging
import time
from collections import Counter
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.exception import response_for_exception
from django.core.handlers.wsgi import WSGIRequest
from django.db.models import Avg, F, QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import resolve
from django.utils.cache import get_conditional_response
from django.utils.http import parse_http_date_safe
from django.utils.timezone import now

from kdb.api.errors import API_PREFIX, problem
from kdb.api.throttle import FROM_WORKER
from kdb.database.prepared_queries import PreparedQuery
from kdb.jobs import jobs
from kdb.models import Job, LeftRequest, Turn
from kdb.web.addresses import counted_address
from kdb.web.htmx import target_of, wants_fragment

from . import budget
from .spending import shares_of

logger = logging.getLogger(__name__)

JOB = "work_out_left_requests"
ASK_AGAIN_SECONDS = 2
RECORD_EVERY = timedelta(seconds=5)  # how often it is recorded that a client still polls
ABANDONED_AFTER = timedelta(seconds=20)
KEPT = timedelta(minutes=10)
MOST_WAITING = 20  # requests of one address
MOST_OWED = 5  # of the workers' time: this many times what an address may cost the web server in a minute
MOST_ROWS = 300  # that wait, and again as many that do not
MOST_BYTES = 256 * 2**20  # of all kept answers
MOST_BYTES_OF_ONE = 32 * 2**20
MOST_ATTEMPTS = 3
MOST_SECONDS = 300.0  # of processor time in a worker
_READ = ("PATH_INFO", "SCRIPT_NAME", "QUERY_STRING", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "wsgi.url_scheme")
_READ_OF_API = (*_READ, "HTTP_ACCEPT")


_rows_by_key = PreparedQuery(lambda key: LeftRequest.objects.filter(key=key).order_by(), 1)


class Abandoned(BaseException):
    """Nobody polls for the request any more. Not an Exception, which templates would swallow."""


# In the web server


def find(request: HttpRequest) -> LeftRequest | None:
    """Return the row of the request if it was deferred before, waiting or answered."""
    row = next(iter(_rows_by_key.rows(_key(_fields_of(request)))), None)
    is_wanted = row and (row.answered_at is not None or row.polled_at > now() - ABANDONED_AFTER)
    return row if is_wanted else None


def defer(request: HttpRequest) -> HttpResponseBase:
    """Defer the request to a worker. Return a 202 response, the answer if there is one by now, or a refusal."""
    fields, address = _fields_of(request), counted_address(request)
    row = LeftRequest(key=_key(fields), asked=fields, address=address, polled_at=now(), kind=_kind(request))
    others = list(_waiting().exclude(key=row.key).defer("asked", "content"))
    waiting = Counter(name for other in others for name in shares_of(other.address))
    for name, share in shares_of(address).items():
        if waiting[name] >= share * MOST_WAITING:
            return refuse(request, f"{waiting[name]} of your questions are being worked out; wait for one of them.")
    order = _Order()
    if 0 < MOST_OWED * settings.KDB_CPU_SECONDS_A_MINUTE < (owed := order.owed(row)):
        why = f"Your questions have lately taken {owed:.0f} seconds of the workers; wait a little."
        return refuse(request, why, seconds=15)
    if len(others) >= MOST_ROWS:
        last = max((other for other in others if not other.attempts), key=order.rank, default=None)
        if last is None or order.rank(last) <= order.rank(row):
            return refuse(request, f"{MOST_ROWS} questions are being worked out; ask again when some are.")
        LeftRequest.objects.filter(pk=last.pk, attempts=0).delete()  # its client polls, and so asks again
    row, _ = LeftRequest.objects.update_or_create(
        key=row.key, defaults={"asked": fields, "address": address, "polled_at": now(), "kind": row.kind}
    )
    return answer(request, row)


def answer(request: HttpRequest, row: LeftRequest) -> HttpResponseBase:
    """Return the worker's answer, or a 202 response while there is none."""
    if row.answered_at is None:
        _record_poll(row)
        return _waiting_response(request)
    response = HttpResponse(row.content, status=row.status, headers=row.headers)
    if row.status != 200:
        return response
    modified = parse_http_date_safe(response.get("Last-Modified", ""))
    return get_conditional_response(request, response.get("ETag"), modified, response) or response


def refuse(request: HttpRequest, why: str, seconds: int = ASK_AGAIN_SECONDS, status: int = 429) -> HttpResponse:
    """Return a refusal, as a page or as problem details. seconds : for Retry-After; 0: without it"""
    is_api = request.path.startswith(API_PREFIX)
    response = problem(status, why) if is_api else render(request, "429.html", {"why": why}, status=status)
    if seconds:
        response["Retry-After"] = str(seconds)
    return response


def _fields_of(request: HttpRequest) -> dict[str, str]:
    """Return those parts of the WSGI environment that views read of an anonymous request."""
    names = _READ_OF_API if request.path.startswith(API_PREFIX) else _READ
    fields = {name: str(request.META[name]) for name in names if name in request.META}
    fields["wsgi.url_scheme"] = request.scheme or "http"
    fragment = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": target_of(request)}
    return fields | (fragment if wants_fragment(request) else {})


def _key(fields: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _kind(request: HttpRequest) -> str:
    """Return the name of the view, as requests to one view take about the same time."""
    return request.resolver_match.view_name[:80] if request.resolver_match else ""


def _record_poll(row: LeftRequest) -> None:
    """Record every RECORD_EVERY that a client polls, and enqueue a job if none is queued."""
    if row.attempts == 0:
        jobs.enqueue_once(JOB)
    if row.polled_at < now() - RECORD_EVERY:
        LeftRequest.objects.filter(pk=row.pk).update(polled_at=now())


def _waiting_response(request: HttpRequest) -> HttpResponse:
    headers = {"Retry-After": str(ASK_AGAIN_SECONDS), "Cache-Control": "no-store"}
    if request.path.startswith(API_PREFIX):
        body = {"detail": "The answer is being worked out; ask again.", "error": ""}
        return JsonResponse(body, status=202, headers=headers)
    shown = {"address": request.get_full_path(), "target": target_of(request)}
    name = "includes/_being_worked_out.html" if wants_fragment(request) else "being_worked_out.html"
    response = render(request, name, shown, status=202)
    for header, value in headers.items():
        response[header] = value
    return response


# In workers


def answer_waiting() -> None:
    """Answer the waiting requests, one after the other, until there are none."""
    if Job.objects.filter(kind=JOB, state=Job.State.RUNNING).count() > 1:  # another job answers them
        return
    spent_on_cheapest = 0.0  # seconds since the last turn of a request that was not the cheapest
    while waiting := list(_waiting().defer("content")):
        order = _Order()
        row = min(waiting, key=lambda waits: (order.owed(waits), waits.pk))
        if is_cheapest := spent_on_cheapest < order.expected(row):
            row = min(waiting, key=lambda waits: (order.rank(waits), waits.pk))
        if LeftRequest.objects.filter(pk=row.pk, attempts=row.attempts).update(attempts=F("attempts") + 1):
            spent = _answer_deferred(row)
            spent_on_cheapest = spent_on_cheapest + spent if is_cheapest else 0.0
        delete_old()


def maintain() -> None:
    """Delete old rows, and enqueue a job where one was lost; called by the tick."""
    delete_old()
    Job.objects.filter(kind=JOB, state=Job.State.DONE).delete()
    if _waiting().exists():
        jobs.enqueue_with_backoff(JOB)


def delete_old() -> None:
    """Delete old answers and abandoned requests, and the oldest answers where too many are left."""
    LeftRequest.objects.filter(answered_at__lt=now() - KEPT).delete()
    LeftRequest.objects.filter(answered_at__isnull=True, polled_at__lt=now() - KEPT).delete()
    Turn.objects.filter(served_at__lt=now() - KEPT).delete()
    others = LeftRequest.objects.exclude(pk__in=_waiting()).order_by(F("answered_at").desc(nulls_last=True), "-pk")
    kept = 0
    for number, (pk, size) in enumerate(others.values_list("pk", Length("content"))):
        kept += size
        if number >= MOST_ROWS or kept > MOST_BYTES:
            LeftRequest.objects.filter(pk=pk).delete()


def delete_all() -> None:
    """Delete all answers, also those being computed, as the knowledge has changed."""
    LeftRequest.objects.all().delete()


def _waiting() -> QuerySet[LeftRequest]:
    return LeftRequest.objects.filter(
        answered_at__isnull=True, polled_at__gt=now() - ABANDONED_AFTER, attempts__lt=MOST_ATTEMPTS
    )


class _Order:
    """The order in which requests are answered: by the time that their address owes plus their own expected time."""

    def __init__(self) -> None:
        self._owed = {turn.address: turn.owed for turn in Turn.objects.all()}
        known = LeftRequest.objects.filter(seconds__gt=0).order_by()
        self._seconds = dict(known.values_list("kind").annotate(Avg("seconds")))

    def rank(self, row: LeftRequest) -> float:
        return self.owed(row) + self.expected(row)

    def owed(self, row: LeftRequest) -> float:
        """Return the worker seconds that the address owes, or its share of its network's debt, if that is more."""
        return max(self._owed.get(name, 0.0) / share for name, share in shares_of(row.address).items())

    def expected(self, row: LeftRequest) -> float:
        """Return the seconds that the request is expected to take; 0: unknown."""
        return row.seconds or self._seconds.get(row.kind, 0.0)


def _answer_deferred(row: LeftRequest) -> float:
    """Answer the request. Return its processor time in s, which is charged even if it was abandoned."""
    began = time.thread_time()
    result: dict[str, Any] = {}
    try:
        with budget.call_before_queries(_abandonment_check(row)):
            response = respond(row.asked | {"REMOTE_ADDR": row.address})
        result = {
            "answered_at": now(),
            "status": response.status_code,
            "headers": dict(response.items()),
            "content": response.content,
        }
    except Abandoned:
        logger.info("broke off what nobody asks for path=%s", row.asked["PATH_INFO"])
        LeftRequest.objects.filter(pk=row.pk, polled_at__lte=now() - ABANDONED_AFTER).update(attempts=0)
    seconds = time.thread_time() - began
    for name in shares_of(row.address):
        turn = Turn.objects.filter(address=name).first()
        owed = seconds + (turn.owed if turn else 0.0)
        Turn.objects.update_or_create(address=name, defaults={"served_at": now(), "seconds": owed})
    LeftRequest.objects.filter(pk=row.pk).update(seconds=seconds, **result)
    return seconds


def _abandonment_check(row: LeftRequest) -> budget.Check:
    """Return a check that raises Abandoned if nobody polls any more, looked up once a second, or it takes too long."""
    looked_at, began = time.monotonic(), time.thread_time()

    def check(ahead: float) -> None:
        nonlocal looked_at
        if time.monotonic() - looked_at < 1:
            return
        looked_at = time.monotonic()
        waits = LeftRequest.objects.filter(pk=row.pk, polled_at__gt=now() - ABANDONED_AFTER)
        if time.thread_time() - began > MOST_SECONDS or not waits.exists():
            raise Abandoned

    return check


def respond(environ: dict[str, Any]) -> HttpResponse:
    """Return the view's answer to an anonymous request, or a refusal if it is too large to store."""
    request = WSGIRequest(environ | {"REQUEST_METHOD": "GET", "wsgi.input": io.BytesIO(), FROM_WORKER: True})
    request.user = AnonymousUser()
    try:
        match = request.resolver_match = resolve(request.path_info)
        response = match.func(request, *match.args, **match.kwargs)
        return _buffer_response(request, response.render() if hasattr(response, "render") else response)
    except Exception as error:  # answered and logged as the web server does
        return response_for_exception(request, error)


def _buffer_response(request: HttpRequest, response: Any) -> HttpResponse:
    """Return the response with its content in one piece, or a refusal if that is too large to store."""
    content = bytearray()
    for chunk in response:
        content += chunk
        if len(content) > MOST_BYTES_OF_ONE:
            why = f"This has more than {MOST_BYTES_OF_ONE // 2**20} MiB: sign in to have it."
            return refuse(request, why, seconds=0, status=403)
    return HttpResponse(bytes(content), status=response.status_code, headers=response.headers)
