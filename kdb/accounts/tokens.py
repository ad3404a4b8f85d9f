"""Make and check API tokens, `Authorization: Bearer kdb_...`. A key is shown once and stored as its digest."""

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from django.utils.timezone import now
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from kdb.accounts import token_scopes
from kdb.models import ApiToken
from kdb.signals import token_changed, token_used_elsewhere
from kdb.web.addresses import address_of, network_of
from kdb.web.rates import is_within

_SIGN = "kdb_"
_SCHEME = "Bearer"
_USED_WITHIN = timedelta(minutes=1)  # last_used_at is no finer, so that few requests that read also write
_MOST_NETWORKS = 10  # that are remembered of a token
_MOST_NOTICES, _DAY = 5, 86_400  # of one token a day, as a thief may have many networks


def scope_fault(scopes: Collection[str], laboratory: str) -> str:
    """Return why there can be no token of these scopes for this laboratory, in words; "" where there can."""
    measures = ApiToken.Scope.MEASURE in scopes
    if measures and (len(set(scopes)) > 1 or not laboratory):
        return "A token that measures opens one laboratory, which is to be named, and has no other scope."
    return "" if measures or not laboratory else "A laboratory is named for the scope measure only."


def make(
    user: Any,
    name: str,
    scopes: Collection[str],
    *,
    expires_at: datetime | None = None,
    laboratory: str = "",
    actor: Any = None,
) -> tuple[ApiToken, str]:
    """Return a new token and its key, which is not stored. Raises ValueError where there can be no such token.

    actor : who makes it; None: somebody at the server's command line
    """
    if fault := scope_fault(scopes, laboratory):
        raise ValueError(fault)
    key = _SIGN + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=key[: len(_SIGN) + 6],
            digest=_digest(key),
            scopes=sorted(set(scopes)),
            laboratory=laboratory,
            expires_at=expires_at,
        )
        token_changed.send(sender=ApiToken, token=token, action="token made", actor=actor)
    return token, key


def revoke(token: ApiToken, *, actor: Any = None) -> None:
    """Revoke a token, unless it is already. actor : None: a new password, or somebody at the server's command line"""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=now()):
            token_changed.send(sender=ApiToken, token=token, action="token revoked", actor=actor)


class TokensEndWithPassword:
    """Revoke a user's tokens when their password changes, as a reset often follows a leaked key.

    Django calls `password_changed` of every password validator, wherever a password is set.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Accept every password."""

    def get_help_text(self) -> str:
        return "A new password revokes the account's API tokens."

    def password_changed(self, password: str, user: Any = None) -> None:
        for token in ApiToken.objects.filter(user=user, revoked_at__isnull=True):
            revoke(token)


def _find(key: str) -> ApiToken | None:
    """Return the token of this key if it is valid now."""
    valid = ApiToken.objects.filter(digest=_digest(key), revoked_at__isnull=True, user__is_active=True)
    valid = valid.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now()))
    return next(iter(valid.select_related("user")), None)


def bearer_key(request: HttpRequest | Request) -> str | None:
    """Return the token's key in the request's Authorization header; None where there is none."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == _SCHEME.lower() else None


def token_of(request: HttpRequest) -> ApiToken | None:
    """Return the request's token if it is valid now. It is looked up once for each request."""
    if not hasattr(request, "kdb_token"):
        key = bearer_key(request)
        request.kdb_token = None if key is None else _find(key)  # type: ignore[attr-defined]
    return request.kdb_token  # type: ignore[attr-defined]


def note_use(token: ApiToken, address: str) -> None:
    """Store when and from which network a token was used; a network that is new is told to the token's owner.

    The first network of all is not. Of earlier ones only digests are kept, so that nobody can read where it was used.
    """
    network = network_of(address)
    digest = salted_hmac("kdb.accounts.tokens.network", f"{token.pk} {network}").hexdigest()[:16]
    is_recent = token.last_used_at is not None and now() - token.last_used_at <= _USED_WITHIN
    if is_recent and digest in token.known_networks.split():
        return
    with transaction.atomic():
        # Locked, so that of two requests from a new network one tells of it.
        row = ApiToken.objects.select_for_update().get(pk=token.pk)
        known = row.known_networks.split()
        row.known_networks = " ".join([*(kept for kept in known if kept != digest), digest][-_MOST_NETWORKS:])
        row.last_used_at, row.last_network = now(), network
        row.save(update_fields=["known_networks", "last_used_at", "last_network"])
        if known and digest not in known and is_within(_MOST_NOTICES, _DAY, "token elsewhere", str(token.pk)):
            token_used_elsewhere.send(sender=ApiToken, token=row)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class TokenAuthentication(BaseAuthentication):
    """Authenticate by bearer token, within its scopes. Requests without a token are left to the next authentication."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        if bearer_key(request) is None:
            return None
        token = token_of(request._request)
        if token is None:
            raise AuthenticationFailed("This token is not known, has expired, or was revoked.")
        note_use(token, address_of(request._request))  # first: a thief may try what the token may not do
        self._check_scopes(token, request)
        return token.user, token

    @staticmethod
    def _check_scopes(token: ApiToken, request: Request) -> None:
        """Raise PermissionDenied where the token has no scope for this URL and method."""
        match = request.resolver_match
        scopes = token_scopes.required_scopes(match.url_name if match else None, request.method)
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
