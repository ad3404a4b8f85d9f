"""One JSON error shape for the whole API: problem details (RFC 9457).

    {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "...",
     "errors": [{"field": "hypervisor", "message": "...", "allowed": ["esxi", "kvm"]}]}

`errors` names the faulty fields or parameters, if there are any. Pages answer errors with HTML.
"""

import json
import sys
from collections.abc import Collection, Iterable
from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.template import loader
from django.utils.log import log_response
from django.views import defaults
from rest_framework import exceptions
from rest_framework.views import set_rollback

from kdb.api.faults import FaultyRequest, FieldError, sentences
from kdb.api.formats import FORMAT_PARAMETER
from kdb.operations.failures import is_unavailable, why_unavailable

MEDIA_TYPE = "application/problem+json"
API_PREFIX = "/api/"
RETRY_AFTER_SECONDS = 5


def problem(
    status: int, detail: str, errors: list[FieldError] | None = None, further: dict[str, Any] | None = None
) -> HttpResponse:
    """Return a response with problem details. further : more keys of the body"""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": int(status), "detail": detail}
    if errors:
        body["errors"] = errors
    text = json.dumps(body | (further or {}), cls=DjangoJSONEncoder)
    return HttpResponse(text, status=status, content_type=MEDIA_TYPE)


def database_is_down(error: BaseException | None = None, further: dict[str, Any] | None = None) -> HttpResponse:
    """Return the API's 503 response where the database failed. error : it raised; further : more keys of the body"""
    return _unavailable(problem(HTTPStatus.SERVICE_UNAVAILABLE, why_unavailable(error), further=further))


def exception_handler(exc: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Return the response to an exception of a view, for REST framework; None leaves it to `server_error`."""
    if isinstance(exc, Http404):
        exc = exceptions.NotFound(*exc.args)
    elif isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied(*exc.args)
    elif isinstance(exc, RequestDataTooBig):
        return problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"A body has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes here.",
        )
    elif is_unavailable(exc):
        response, request = database_is_down(exc), context["request"]
        log_response("%s: %s", response.reason_phrase, request.path, response=response, request=request, exception=exc)
        return response
    if not isinstance(exc, exceptions.APIException):
        return None
    set_rollback()
    errors = exc.errors if isinstance(exc, FaultyRequest) else _from_detail(exc.detail)
    detail = sentences(errors) if errors else str(exc.detail)
    response = problem(exc.status_code, detail, errors)
    if header := getattr(exc, "auth_header", None):
        response["WWW-Authenticate"] = header
    if wait := getattr(exc, "wait", None):
        response["Retry-After"] = int(wait)
    return response


def form_errors(form: forms.BaseForm) -> list[FieldError]:
    """Return the errors of a form, each with the allowed values where these can be listed."""
    entries = []
    for name, errors in form.errors.as_data().items():
        for error in errors:
            entry: FieldError = {"field": name, "message": " ".join(error.messages)}
            if (allowed := _allowed(form.fields.get(name))) is not None:
                entry["allowed"] = allowed
            params = error.params or {}
            if "line" in params:
                entry["line"] = params["line"]
            if "column" in params:
                entry["column"] = params["column"]
            entries.append(entry)
    return entries


def name_errors(query: QueryDict, allowed: Iterable[str], repeated: Collection[str] = ()) -> list[FieldError]:
    """Return an error for each parameter that is unknown or given more than once.

    repeated : parameters that may be given more than once
    """
    names = [*allowed]
    faults: list[FieldError] = []
    for name, values in query.lists():
        if name not in names:
            message = f"{name!r} is not a parameter here; allowed are {', '.join(names)}."
            faults.append({"field": name, "message": message, "allowed": names})
        elif len(values) > 1 and name not in repeated:
            faults.append({"field": name, "message": f"{name!r} is given {len(values)} times; give it once."})
    return faults


def refuse_faults(form: forms.BaseForm, query: QueryDict | None = None, *further: str) -> None:
    """Raise FaultyRequest where the form is not valid, or the query has a parameter that is no field of it.

    further : parameters that are allowed besides its fields and the format
    """
    lists = [name for name, field in form.fields.items() if isinstance(field, forms.MultipleChoiceField)]
    unknown = [] if query is None else name_errors(query, [*form.fields, *further, FORMAT_PARAMETER], lists)
    if errors := unknown + form_errors(form):
        raise FaultyRequest(errors)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith(API_PREFIX):
        return defaults.bad_request(request, exception)
    return problem(HTTPStatus.BAD_REQUEST, "The request cannot be read.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith(API_PREFIX):
        return defaults.permission_denied(request, exception)
    return problem(HTTPStatus.FORBIDDEN, "This is not allowed.")


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith(API_PREFIX):
        return defaults.page_not_found(request, exception)
    return problem(HTTPStatus.NOT_FOUND, f"There is nothing at {request.path}; /api/v1/ lists what there is.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the response to an unhandled exception; Django calls this in its `except` block."""
    error = sys.exception()
    if is_unavailable(error):
        if request.path.startswith(API_PREFIX):
            return database_is_down(error)
        page = loader.render_to_string("503.html", {"why": why_unavailable(error)})
        return _unavailable(HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE))
    if not request.path.startswith(API_PREFIX):
        return defaults.server_error(request)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Something failed here; it has been logged.")


def _unavailable(response: HttpResponse) -> HttpResponse:
    response["Retry-After"] = RETRY_AFTER_SECONDS
    return response


def _allowed(field: forms.Field | None) -> list[Any] | None:
    """Return the values that a field accepts, its `allowed` or its choices; None where they cannot be listed."""
    if isinstance(field, forms.ModelChoiceField):
        return None  # primary keys, which mean nothing to a client
    if isinstance(field, forms.ChoiceField):
        choices: Any = field.choices  # the stub has the type that may be assigned, not the one that is read
        return [value for value, _ in choices if value]
    return getattr(field, "allowed", None)


def _from_detail(detail: Any) -> list[FieldError]:
    """Return the details of a serializer's ValidationError as a list of errors."""
    if not isinstance(detail, dict):
        return []
    return [
        {"field": name, "message": str(message)}
        for name, messages in detail.items()
        for message in (messages if isinstance(messages, list) else [messages])
    ]
