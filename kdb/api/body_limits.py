"""Limit a request's body before a byte of it is read: little for strangers, much for users."""

import tempfile
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from gunicorn.http.errors import ParseException

from kdb.accounts import tokens
from kdb.api.errors import API_PREFIX, problem

_CHUNK_BYTES = 2**16
_IN_MEMORY = 4 * 2**20  # of a body without a length; the rest goes to a temporary file


def body_limit_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Allow KDB_BODY_BYTES with an account, else KDB_ANONYMOUS_BODY_BYTES. Stands where it is known who asks.

    Django reads a body by its Content-Length only; one sent in chunks is counted while it is read, and then has one.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if "HTTP_TRANSFER_ENCODING" in request.META and request.META.get("wsgi.input_terminated"):
            most = _most(request)
            with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as body:
                if not _take_in(request, body, most):
                    return _too_large(request, f"more than {most:,} bytes")
                return get_response(request)
        length = _length(request)
        if length > settings.KDB_ANONYMOUS_BODY_BYTES and length > _most(request):
            return _too_large(request, f"{length:,} bytes")
        return get_response(request)

    return answer


def _length(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0  # as Django takes it, and reads nothing


def _most(request: HttpRequest) -> int:
    """Return how many bytes the sender of this request may send."""
    has_token = tokens.key_in(request) is not None
    is_user = tokens.of(request) is not None if has_token else request.user.is_authenticated
    return settings.KDB_BODY_BYTES if is_user else settings.KDB_ANONYMOUS_BODY_BYTES


def _take_in(request: HttpRequest, body: Any, most: int) -> bool:
    """Read what has no length into `body` and give it one; False where it goes on after `most` bytes."""
    size = 0
    try:
        while chunk := request.META["wsgi.input"].read(_CHUNK_BYTES):
            size += len(chunk)
            if size > most:
                return False
            body.write(chunk)
    except (OSError, ParseException) as error:  # the connection ended; chunks that are none
        raise BadRequest("The body cannot be read.") from error
    body.seek(0)
    request.META["CONTENT_LENGTH"] = str(size)
    request._stream = body
    return True


def _too_large(request: HttpRequest, size: str) -> HttpResponse:
    sentence = (
        f"The request has {size}; {settings.KDB_BODY_BYTES:,} bytes are allowed with an account, "
        f"{settings.KDB_ANONYMOUS_BODY_BYTES:,} without signing in."
    )
    if request.path.startswith(API_PREFIX):
        return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
    return render(request, "413.html", {"text": sentence}, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
