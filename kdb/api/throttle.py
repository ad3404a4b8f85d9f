"""The API takes so many requests a minute from a user or an address; more get 429 and when to come back."""

import math
import time
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kdb.web.addresses import counted_address
from kdb.web.rates import is_within

FROM_WORKER = "kdb.left"  # in the environment of a request that was counted where it was asked; no header can say so
_SECONDS = 60


class RequestThrottle(BaseThrottle):
    """The limit of KDB_API_REQUESTS_A_MINUTE; 0 is without limit."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if FROM_WORKER in request.META:
            return True
        most = settings.KDB_API_REQUESTS_A_MINUTE
        who = ("user", str(request.user.pk)) if request.user.is_authenticated else ("address", counted_address(request))
        return not most or is_within(most, _SECONDS, "api", *who)

    def wait(self) -> int:
        """Return the seconds to the next minute."""
        return max(1, math.ceil(_SECONDS - time.time() % _SECONDS))
