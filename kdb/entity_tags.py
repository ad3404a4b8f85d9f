"""Entity tags: whoever has an answer already gets 304 in place of it."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from rest_framework.request import Request

from kdb import __version__


def tagged(
    request: HttpRequest | Request, tag: str, respond: Callable[[], HttpResponse], *, modified: int | None = None
) -> HttpResponseBase:
    """What `respond` makes, or 304 where the client has it, either with an entity tag of `tag` and this release.

    tag : differs whenever the bytes may; modified : seconds since the epoch
    """
    etag = f'"{tag}-{__version__}"'
    response = get_conditional_response(request, etag=etag, last_modified=modified) or respond()
    response["ETag"] = etag
    if modified is not None:
        response["Last-Modified"] = http_date(modified)
    response["Cache-Control"] = "public, max-age=0, must-revalidate"
    return response


def tagged_json(request: HttpRequest | Request, body: dict[str, Any]) -> HttpResponseBase:
    """The body as JSON with an entity tag of its bytes, or 304."""
    text = json.dumps(body, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return tagged(request, digest, lambda: HttpResponse(text, content_type="application/json"))
