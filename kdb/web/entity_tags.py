"""Answer with entity tags, and with 304 where the client has the current answer."""

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

# Browsers revalidate each time, and mostly get 304. A shared cache may reuse an answer for 10 s, so that a thousand
# readers cost as much as one. Answers as of a revision never change.
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
    """Return the response of `respond`, or 304 where the client has it, with an entity tag of `tag` and this release.

    tag : changes whenever the bytes may; modified : seconds since the epoch
    is_immutable : whether the answer of this URL never changes
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
