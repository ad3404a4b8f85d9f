"""API tokens: `Authorization: Bearer kdb_...`. Made once, shown once, kept as a digest."""

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils.timezone import now
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from kdb.accounts import token_scopes
from kdb.models import ApiToken

_SIGN = "kdb_"
_SCHEME = "Bearer"
_USED_WITHIN = timedelta(minutes=1)  # last_used_at is no finer, so that reading does not become writing


def why_not(scopes: Collection[str], laboratory: str) -> str:
    """Say what is wrong with a token of these scopes for this laboratory; "" where nothing is."""
    measures = ApiToken.Scope.MEASURE in scopes
    if measures and (len(set(scopes)) > 1 or not laboratory):
        return "A token that measures opens one laboratory, which is to be named, and has no other scope."
    return "" if measures or not laboratory else "A laboratory is named for the scope measure only."


def make(
    user: Any, name: str, scopes: Collection[str], *, expires_at: datetime | None = None, laboratory: str = ""
) -> tuple[ApiToken, str]:
    """Return a new token and its key. The key is in no place but this answer. Raises ValueError as `why_not` says."""
    if wrong := why_not(scopes, laboratory):
        raise ValueError(wrong)
    key = _SIGN + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=key[: len(_SIGN) + 6],
        digest=_digest(key),
        scopes=sorted(set(scopes)),
        laboratory=laboratory,
        expires_at=expires_at,
    )
    return token, key


def revoke(token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=now())


class TokensEndWithPassword:
    """A password validator in form, because Django tells these of each new password, at every door, once it is saved.

    Who resets a password may do so because somebody else has a key.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Accept every password."""

    def get_help_text(self) -> str:
        return "A new password revokes the account's API tokens."

    def password_changed(self, password: str, user: Any = None) -> None:
        ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=now())


def find(key: str) -> ApiToken | None:
    """Return the token of this key, where it counts now."""
    return (
        ApiToken.objects.filter(digest=_digest(key), revoked_at__isnull=True, user__is_active=True)
        .filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now()))
        .select_related("user")
        .first()
    )


def key_in(request: HttpRequest | Request) -> str | None:
    """Return what a request gives as its token's key; None where it gives none."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == _SCHEME.lower() else None


def of(request: HttpRequest) -> ApiToken | None:
    """Return the token that a request brings, where it counts; it is looked up once."""
    if not hasattr(request, "kdb_token"):
        key = key_in(request)
        request.kdb_token = None if key is None else find(key)  # type: ignore[attr-defined]
    return request.kdb_token  # type: ignore[attr-defined]


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class TokenAuthentication(BaseAuthentication):
    """Bearer tokens within their scopes; requests without one are left to the next way of signing in."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        if key_in(request) is None:
            return None
        token = of(request._request)
        if token is None:
            raise AuthenticationFailed("This token is not known, has expired, or was revoked.")
        self._refuse_beyond(token, request)
        moment = now()
        if token.last_used_at is None or moment - token.last_used_at > _USED_WITHIN:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=moment)
        return token.user, token

    @staticmethod
    def _refuse_beyond(token: ApiToken, request: Request) -> None:
        """Refuse a token what is beyond its scopes; a signed-in person needs none."""
        match = request.resolver_match
        scopes = token_scopes.needed(match.url_name if match else None, request.method)
        if not scopes:
            raise PermissionDenied("No token may do this: sign in.")
        if not {*scopes} & {*token.scopes}:
            raise PermissionDenied(f"This needs a token with the scope {' or '.join(scopes)}.")

    def authenticate_header(self, request: Request) -> str:
        return f'{_SCHEME} realm="KDB"'


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API token of your account page."}
