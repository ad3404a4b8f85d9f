"""Laboratories of visitors, who need no account.

Each has one sitting: whoever has the key measures, and whoever knows the address sees it and may hand it in for review.
Nobody is a member, and it ends after KEPT.
"""

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.http import HttpRequest
from django.utils.timezone import now
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from experiments.case_studies import reviews
from experiments.models import CaseStudy, ImportBatch
from kdb.accounts.tokens import bearer_key
from kdb.cost import budget
from kdb.web.addresses import address_of, counted_address, network_of
from kdb.web.rates import is_within
from modelling.models import Laboratory, Sitting

from . import sessions, sharing

KEPT = timedelta(days=30)
DAY = 24 * 3600
# A day, from one address, from one network, and in all.
MOST_VISITS, MOST_CONTRIBUTIONS = (40, 200, 5_000), (3, 10, 50)
_SIGN = "visit_"  # of a key
_AT_ONCE = 100  # that a tick deletes


def begin_session(**asked: Any) -> tuple[Sitting, str]:
    """Begin a session in a new laboratory; return it with the key, which is kept nowhere. asked : of sessions"""
    key = _SIGN + secrets.token_urlsafe(32)
    laboratory = Laboratory(
        slug=f"visit-{secrets.token_hex(16)}",
        name="A visitor's machine",
        key_digest=_digest(key),
        expires_at=now() + KEPT,
    )
    return sessions.begin_session(laboratory, None, **asked), key


def is_within_limits(what: str, most: tuple[int, int, int], request: HttpRequest) -> bool:
    """Count one more of it; tell whether that is within the limits of a day."""
    whom = (counted_address(request), network_of(address_of(request)), "all")
    return all(is_within(limit, DAY, f"visitor.{what}", who) for limit, who in zip(most, whom, strict=True))


def laboratory_at(slug: str) -> Laboratory | None:
    """Return the visitor's laboratory of this address, while it is kept."""
    return Laboratory.objects.filter(slug=slug, expires_at__gt=now()).first()


def submit_for_review(session: Sitting, user: User | None) -> CaseStudy:
    """Hand in what was measured for review, as a draft that nobody owns; again it is the same one. Raises Refused.

    user : who does so, where anybody is signed in
    """
    with transaction.atomic():
        session = Sitting.objects.select_for_update().get(pk=session.pk)
        if session.case_study is not None:
            return session.case_study
        draft = sharing.share_session(session, None, ImportBatch.Door.BROWSER)
        reviews.submit(draft, user=user)
    return draft


def delete_expired() -> None:
    """Delete the laboratories of visitors whose time is over, with all that was measured there; drafts of it stay."""
    over = Laboratory.objects.filter(expires_at__lte=now()).order_by("pk").values_list("pk", flat=True)
    Laboratory.objects.filter(pk__in=list(over[:_AT_ONCE])).delete()


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class VisitorAuthentication(BaseAuthentication):
    """Keys of visitors; a request without one is left to the next way of signing in. `auth` is the laboratory."""

    def authenticate(self, request: Request) -> tuple[Any, Laboratory] | None:
        key = bearer_key(request) or ""
        if not key.startswith(_SIGN):
            return None
        laboratory = Laboratory.objects.filter(key_digest=_digest(key), expires_at__gt=now()).first()
        if laboratory is None:
            raise AuthenticationFailed("This key of a visitor is not known, or its 30 days are over.")
        budget.remove_limit()  # a worker that went on would have no key
        return AnonymousUser(), laboratory

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="KDB"'


class VisitorScheme(OpenApiAuthenticationExtension):
    target_class = VisitorAuthentication
    name = "visitor"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A visitor's key, of the sitting that it began."}
