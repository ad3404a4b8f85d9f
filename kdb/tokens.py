"""API tokens: `Authorization: Bearer kdb_...`. Made once, shown once, kept as a digest."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils.timezone import now
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from kdb.models import ApiToken

_SIGN = "kdb_"
_SCHEME = "Bearer"
_USED_WITHIN = timedelta(minutes=1)  # last_used_at is no finer, so that reading does not become writing


def make(user: Any, name: str, scopes: Iterable[str], *, expires_at: datetime | None = None) -> tuple[ApiToken, str]:
    """A new token and its key. The key is in no place but this answer."""
    key = _SIGN + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=key[: len(_SIGN) + 6],
        digest=_digest(key),
        scopes=sorted(set(scopes)),
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
        """Every password is fine."""

    def get_help_text(self) -> str:
        return "A new password revokes the account's API tokens."

    def password_changed(self, password: str, user: Any = None) -> None:
        ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=now())


def find(key: str) -> ApiToken | None:
    """The token of this key, where it counts now."""
    return (
        ApiToken.objects.filter(digest=_digest(key), revoked_at__isnull=True, user__is_active=True)
        .filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now()))
        .select_related("user")
        .first()
    )


def key_in(request: HttpRequest | Request) -> str | None:
    """What a request gives as its token's key; None where it gives none."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == _SCHEME.lower() else None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class TokenAuthentication(BaseAuthentication):
    """Bearer tokens; requests without one are left to the next way of signing in."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        key = key_in(request)
        if key is None:
            return None
        token = find(key)
        if token is None:
            raise AuthenticationFailed("This token is not known, has expired, or was revoked.")
        moment = now()
        if token.last_used_at is None or moment - token.last_used_at > _USED_WITHIN:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=moment)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return f'{_SCHEME} realm="KDB"'


class HasScope(BasePermission):
    """A token may do what its scopes say (`required_scope` of the view); a signed-in person has them all."""

    message = "The token does not have the scope that this needs."

    def has_permission(self, request: Request, view: Any) -> bool:
        return not isinstance(request.auth, ApiToken) or view.required_scope in request.auth.scopes


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API token of your account page."}
