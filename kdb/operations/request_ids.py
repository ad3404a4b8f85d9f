"""Give each request an id, which its log lines have, and those of the jobs that it queued.

The response has it in `X-Request-ID`. A trusted proxy may choose it.
"""

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.signals import request_finished
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse

from kdb.operations.log_lines import current_request

HEADER = "X-Request-ID"
_FORM = re.compile(r"[A-Za-z0-9-]{8,36}")


def current() -> str:
    """Return the id of the current request or job; "" outside of both."""
    return current_request.get()


@contextmanager
def use_id(request_id: str) -> Iterator[None]:
    """Give log lines inside this id."""
    token = current_request.set(request_id)
    try:
        yield
    finally:
        current_request.reset(token)


def request_id_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request an id, or the one in its header if a trusted proxy is configured."""

    def middleware(request: HttpRequest) -> HttpResponse:
        chosen = request.headers.get(HEADER, "") if settings.KDB_TRUSTED_PROXIES else ""
        request_id = chosen if _FORM.fullmatch(chosen) else secrets.token_hex(8)
        # Reset only once the request is finished, as Django logs errors after all middleware.
        current_request.set(request_id)
        response = get_response(request)
        response[HEADER] = request_id
        return response

    return middleware


@receiver(request_finished)
def _forget(**kwargs: Any) -> None:
    current_request.set("")
