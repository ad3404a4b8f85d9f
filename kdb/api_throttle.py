"""So many requests a minute to the API, by user or by address; more get 429 and when to come back.

Counted in whole minutes, in Redis where there is one, else in each web process by itself.
"""

import math
import time
from typing import Any

from django.conf import settings
from django.core.cache import caches
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kdb.throttle import address_of

_SECONDS = 60


class RequestThrottle(BaseThrottle):
    """KDB_API_REQUESTS_A_MINUTE; 0 is without limit."""

    def allow_request(self, request: Request, view: Any) -> bool:
        most = settings.KDB_API_REQUESTS_A_MINUTE
        if not most:
            return True
        who = f"user-{request.user.pk}" if request.user.is_authenticated else f"address-{address_of(request)}"
        key = f"api-requests.{who}.{int(time.time() // _SECONDS)}"
        counts = caches["throttle"]
        counts.add(key, 0, timeout=2 * _SECONDS)
        try:
            return counts.incr(key) <= most
        except ValueError:  # the entry went between the two
            return True

    def wait(self) -> int:
        """Seconds to the next minute."""
        return max(1, math.ceil(_SECONDS - time.time() % _SECONDS))
