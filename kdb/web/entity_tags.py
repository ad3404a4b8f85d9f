"""Entity tags: whoever has an answer already gets 304 in place of it."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from rest_framework.request import Request

from kdb import __version__

# Browsers ask each time, and mostly get 304. A cache before the server may answer from what it has for some seconds,
# so that a thousand readers of one answer cost what one costs. What was known as of a revision stays as it is.
_CURRENT = "public, max-age=0, s-maxage=10, must-revalidate"
_IMMUTABLE = "public, max-age=86400, immutable"


def tagged(
    request: HttpRequest | Request,
    tag: str,
    respond: Callable[[], HttpResponse],
    *,
    modified: int | None = None,
    is_immutable: bool = False,
) -> HttpResponseBase:
    """Return what `respond` makes, or 304 where the client has it, with an entity tag of `tag` and this release.

    tag : differs whenever the bytes may; modified : seconds since the epoch
    is_immutable : the address has this answer for ever
    """
    etag = f'"{tag}-{__version__}"'
    response = get_conditional_response(request, etag=etag, last_modified=modified) or respond()
    response["ETag"] = etag
    if modified is not None:
        response["Last-Modified"] = http_date(modified)
    response["Cache-Control"] = _IMMUTABLE if is_immutable else _CURRENT
    return response


def tagged_json(
    request: HttpRequest | Request, body: dict[str, Any], *, is_immutable: bool = False
) -> HttpResponseBase:
    """Return the body as JSON with an entity tag of its bytes, or 304."""
    text = json.dumps(body, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    respond = partial(HttpResponse, text, content_type="application/json")
    return tagged(request, digest, respond, is_immutable=is_immutable)
