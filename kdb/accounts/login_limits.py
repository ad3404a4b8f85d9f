"""Limit how often a password may be guessed. django-axes counts the failures in the database; the limits are ours.

Failures count until a quarter of an hour after the last one. An address is an IPv4 address or an IPv6 /64.

    5 for one name from one address     this address waits with this name
    30 for any names from one address   this address waits
    20 for one name from anywhere       who tries this name from an address it never signed in from waits

So whoever guesses at an account from many addresses is stopped, and its owner is not: the addresses where
they signed in before are counted by themselves, and a password reset signs in from any.
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
KNOWN_FOR = timedelta(days=90)  # an address after a sign-in


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """Return the name typed, as its SHA-256: people type passwords there. What axes keeps (AXES_USERNAME_CALLABLE)."""
    return hashlib.sha256(_typed(request, credentials).strip().casefold().encode()).hexdigest()


class LimitHandler(AxesDatabaseHandler):
    """Axes' own handler, with our limits (AXES_HANDLER)."""

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
            or (failures["name"] >= MOST_BY_NAME and not _is_known(_typed(request, credentials), address))
        )

    def user_logged_in(self, sender: Any, request: HttpRequest, user: Any, **kwargs: Any) -> None:
        super().user_logged_in(sender, request, user, **kwargs)
        AccessLog.objects.filter(attempt_time__lt=now() - KNOWN_FOR).delete()


def answer(request: HttpRequest, original: HttpResponse | None, credentials: dict[str, Any] | None) -> HttpResponse:
    """Answer one who guessed too often (AXES_LOCKOUT_CALLABLE)."""
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
    """Tell whether this account signed in from there lately."""
    return AccessLog.objects.filter(username=name, ip_address=address, attempt_time__gt=now() - KNOWN_FOR).exists()


def _typed(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    return str((credentials or request.POST).get("username") or "")
