"""Limit how often passwords may be guessed. django-axes counts failures in the database; the limits are set here.

Failures count until 15 minutes after the last one. An address is an IPv4 address or an IPv6 /64.

    5 for one name from one address     locks this name for this address
    30 for any names from one address   locks this address
    20 for one name from anywhere       locks this name for addresses from which it has not signed in before

So guessing at one account from many addresses is stopped without locking out its owner, who has signed in from their
own address before, or can reset the password from any.
"""

import hashlib
from datetime import timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_ip_address
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.db.models import Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.timezone import now

MOST_BY_NAME_AND_ADDRESS = 5
MOST_BY_ADDRESS = 30
MOST_BY_NAME = 20
KNOWN_FOR = timedelta(days=90)  # how long an address is known after a sign-in


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """Return the SHA-256 of the typed name, as people type passwords there; axes stores it (AXES_USERNAME_CALLABLE)."""
    return hashlib.sha256(_typed_name(request, credentials).strip().casefold().encode()).hexdigest()


class LimitHandler(AxesDatabaseHandler):
    """The handler of axes with the limits of this module (AXES_HANDLER)."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return 1 where one of the limits is reached, else 0; AXES_FAILURE_LIMIT is 1."""
        address = get_client_ip_address(request)
        by_name, by_address = Q(username=counted_name(request, credentials)), Q(ip_address=address)
        recent = AccessAttempt.objects.filter(by_name | by_address, attempt_time__gt=now() - settings.AXES_COOLOFF_TIME)
        failures = {
            name: count or 0
            for name, count in recent.aggregate(
                both=Sum("failures_since_start", filter=by_name & by_address),
                address=Sum("failures_since_start", filter=by_address),
                name=Sum("failures_since_start", filter=by_name),
            ).items()
        }
        return int(
            failures["both"] >= MOST_BY_NAME_AND_ADDRESS
            or failures["address"] >= MOST_BY_ADDRESS
            or (failures["name"] >= MOST_BY_NAME and not _is_known(_typed_name(request, credentials), address))
        )

    def user_logged_in(self, sender: Any, request: HttpRequest, user: Any, **kwargs: Any) -> None:
        super().user_logged_in(sender, request, user, **kwargs)
        AccessLog.objects.filter(attempt_time__lt=now() - KNOWN_FOR).delete()


def answer(request: HttpRequest, original: HttpResponse | None, credentials: dict[str, Any] | None) -> HttpResponse:
    """Return the sign-in page with status 429 and the time to wait (AXES_LOCKOUT_CALLABLE)."""
    wait = settings.AXES_COOLOFF_TIME
    context = {
        "form": AuthenticationForm(request),
        "next": request.POST.get("next", ""),
        "wait_minutes": int(wait.total_seconds() // 60),
    }
    response = render(request, "accounts/login.html", context, status=429)
    response["Retry-After"] = int(wait.total_seconds())
    return response


def _is_known(name: str, address: str) -> bool:
    """Tell whether this account signed in from this address within KNOWN_FOR."""
    return AccessLog.objects.filter(username=name, ip_address=address, attempt_time__gt=now() - KNOWN_FOR).exists()


def _typed_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    return str((credentials or request.POST).get("username") or "")
