"""Limit the size of request bodies before they are parsed; users may send more than anonymous clients."""

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
_IN_MEMORY = 4 * 2**20  # bytes; a larger body without a length goes to a temporary file


def body_limit_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Allow KDB_BODY_BYTES with an account, else KDB_ANONYMOUS_BODY_BYTES. Must follow the authentication middleware.

    Django ignores a body without Content-Length, so a chunked one is buffered here, counted, and given its length.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if "HTTP_TRANSFER_ENCODING" in request.META and request.META.get("wsgi.input_terminated"):
            most = _allowed_bytes(request)
            with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as body:
                if not _buffer_body(request, body, most):
                    return _too_large(request, f"more than {most:,} bytes")
                return get_response(request)
        length = _content_length(request)
        if length > settings.KDB_ANONYMOUS_BODY_BYTES and length > _allowed_bytes(request):
            return _too_large(request, f"{length:,} bytes")
        return get_response(request)

    return answer


def _content_length(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0  # as Django does, which then reads no body


def _allowed_bytes(request: HttpRequest) -> int:
    """Return how many bytes the sender of this request may send."""
    has_token = tokens.bearer_key(request) is not None
    is_user = tokens.token_of(request) is not None if has_token else request.user.is_authenticated
    return settings.KDB_BODY_BYTES if is_user else settings.KDB_ANONYMOUS_BODY_BYTES


def _buffer_body(request: HttpRequest, body: Any, most: int) -> bool:
    """Buffer a chunked body and set its length. Return False where it is longer than `most` bytes."""
    size = 0
    try:
        while chunk := request.META["wsgi.input"].read(_CHUNK_BYTES):
            size += len(chunk)
            if size > most:
                return False
            body.write(chunk)
    except (OSError, ParseException) as error:  # the connection ended, or the chunks are malformed
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
