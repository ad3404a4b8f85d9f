"""Serve metrics in Prometheus' text format at /metrics, for tokens of administrators.

Requests are counted in files that the web server's processes share (prometheus_client's multiprocess mode). The states
of jobs, and metrics that apps register with `reads`, are read from the database at each scrape. Labels never come from
a request, so that no client can create new series.
"""

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kdb.models import Job

Read = Callable[[], Iterable[GaugeMetricFamily]]
_database_metrics: list[Read] = []

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # set by kdb.wsgi for the web server's processes
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REQUESTS = Histogram(
    "kdb_request_seconds",
    "Requests by view, from first to last byte of KDB's work.",
    ["view", "method"],
    buckets=BUCKETS,
)
RESPONSES = Counter("kdb_responses", "Answers by view and status.", ["view", "status"])
DATABASE = Counter("kdb_database_seconds", "Time that requests waited for the database.", ["view"])
QUERIES = Counter("kdb_database_queries", "Queries of requests.", ["view"])
ANSWERS = Counter("kdb_answers", "Rankings given, by whether a kept one was there (yes) or not (no).", ["kept"])


def reads(read: Read) -> Read:
    """Register a function that reads metrics from the database."""
    _database_metrics.append(read)
    return read


def metrics_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Count each request, its seconds and queries, and the seconds of its queries."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began, waited, queries = time.perf_counter(), 0.0, 0

        def timed(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            nonlocal waited, queries
            at = time.perf_counter()
            try:
                return execute(sql, params, many, context)
            finally:
                waited += time.perf_counter() - at
                queries += 1

        with connection.execute_wrapper(timed):
            response = get_response(request)
        match = request.resolver_match
        view = (match.view_name if match else "") or "none"
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(view, method).observe(time.perf_counter() - began)
        RESPONSES.labels(view, str(response.status_code)).inc()
        DATABASE.labels(view).inc(waited)
        QUERIES.labels(view).inc(queries)
        return response

    return middleware


class _DatabaseCollector:
    """A collector of the metrics that are read from the database."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        for read in _database_metrics:
            yield from read()


@reads
def _jobs() -> Iterable[GaugeMetricFamily]:
    states = GaugeMetricFamily("kdb_jobs", "Jobs by kind and state; ended ones of all time.", labels=["kind", "state"])
    lost = GaugeMetricFamily("kdb_job_leases_lost", "Attempts whose worker fell silent, by kind.", labels=["kind"])
    age = GaugeMetricFamily("kdb_job_oldest_seconds", "How long the oldest waiting job waits.", labels=["kind"])
    by_kind: dict[str, int] = {}
    counted = (
        Job.objects.order_by().values_list("kind", "state").annotate(count=Count("pk"), again=Sum(F("attempt") - 1))
    )
    for kind, state, count, again in counted:
        states.add_metric([kind, state], count)
        by_kind[kind] = by_kind.get(kind, 0) + again
    for kind, again in by_kind.items():
        lost.add_metric([kind], again)
    queued = Job.objects.filter(state=Job.State.QUEUED).order_by().values_list("kind").annotate(since=Min("created_at"))
    for kind, since in queued:
        age.add_metric([kind], (now() - since).total_seconds())
    return states, lost, age


def delete_earlier() -> None:
    """Delete the counts of earlier processes; called before the web server starts."""
    for path in settings.KDB_METRICS_DIR.glob("*.db"):
        path.unlink()


def text() -> bytes:
    registry = CollectorRegistry()
    if SHARED in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REGISTRY)
    registry.register(_DatabaseCollector())
    return generate_latest(registry)


class MetricsView(APIView):
    """The metrics, which only administrators may read, as they show what others ask."""

    permission_classes = [IsAuthenticated]
    schema = None  # not in the API's document, whose tags are derived from the common prefix of its URLs

    def get(self, request: Request) -> HttpResponse | Response:
        if not request.user.has_perm("auth.view_user"):
            raise PermissionDenied("Metrics are for administrators' tokens.")
        return HttpResponse(text(), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})
