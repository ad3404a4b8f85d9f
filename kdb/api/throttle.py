"""Limit the API's requests a minute by user or address; further ones get 429 with Retry-After."""

import math
import time
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kdb.web.addresses import counted_address
from kdb.web.rates import is_within

FROM_WORKER = (
    "kdb.left"  # in the WSGI environment, for a deferred request, which was counted before; no header can set it
)
_SECONDS = 60


class RequestThrottle(BaseThrottle):
    """Apply the limit KDB_API_REQUESTS_A_MINUTE; 0 means no limit."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if FROM_WORKER in request.META:
            return True
        most = settings.KDB_API_REQUESTS_A_MINUTE
        who = ("user", str(request.user.pk)) if request.user.is_authenticated else ("address", counted_address(request))
        return not most or is_within(most, _SECONDS, "api", *who)

    def wait(self) -> int:
        """Return the seconds until the next minute."""
        return max(1, math.ceil(_SECONDS - time.time() % _SECONDS))
