"""Sign in by OpenID Connect where OIDC_ISSUER is set: mozilla-django-oidc, with further checks.

Only the issuer's `sub` identifies a person: a mail address, verified or not, never gives access to an existing account.
Its owner, signed in, joins it with an identity. Roles are taken from the issuer only by the claim OIDC_ROLES_CLAIM.
"""

import logging
import re
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.core.exceptions import SuspiciousOperation
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView

from kdb.accounts.roles import ROLES
from kdb.models import OidcIdentity

logger = logging.getLogger(__name__)

_JOINING = "oidc_joins"  # in the session: id of the user who asked to be joined with an identity


class OidcBackend(OIDCAuthenticationBackend):
    def authenticate(self, request: HttpRequest | None, **kwargs: Any) -> Any:
        """Accept only sign-ins that our own view started, which have a nonce."""
        return super().authenticate(request, **kwargs) if kwargs.get("nonce") else None

    def get_user(self, user_id: int) -> Any:
        """Return the signed-in user, None once the account is inactive, which the library does not check."""
        return get_user_model().objects.filter(pk=user_id, is_active=True).first()

    def verify_token(self, token: str, **kwargs: Any) -> dict[str, Any]:
        """Check issuer, audience and subject of the token; the library checks signature, nonce and expiry."""
        claims: dict[str, Any] = super().verify_token(token, **kwargs)
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        if claims.get("iss") != settings.KDB_OIDC_ISSUER:
            raise SuspiciousOperation("The token is of another issuer.")
        if settings.OIDC_RP_CLIENT_ID not in audiences or claims.get("azp", settings.OIDC_RP_CLIENT_ID) != (
            settings.OIDC_RP_CLIENT_ID
        ):
            raise SuspiciousOperation("The token was made for another client.")
        if not claims.get("sub") or "exp" not in claims:
            raise SuspiciousOperation("The token says not who it is of, or has no end.")
        return claims

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> Any:
        claims = self.get_userinfo(access_token, id_token, payload)
        if claims.get("sub") != payload["sub"]:
            raise SuspiciousOperation("Token and user info are of different people.")
        who = {"issuer": settings.KDB_OIDC_ISSUER, "subject": payload["sub"]}
        joining = self.request.session.pop(_JOINING, None)
        identity = OidcIdentity.objects.select_related("user").filter(**who).first()
        if identity is not None:
            user = identity.user
        elif joining is not None and joining == self.request.user.pk:
            user = self.request.user
            OidcIdentity.objects.create(user=user, **who)
            logger.info("joined user=%s with an identity", user.pk)
        elif settings.KDB_OIDC_CREATES_USERS:
            user = _new_user(claims, who)
        else:
            raise SuspiciousOperation("Nobody here has this identity, and accounts are not made by signing in.")
        _set_roles(user, claims)
        return user


class CallbackView(OIDCAuthenticationCallbackView):
    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer every failure with a page, and log it; the library would answer 500."""
        try:
            return super().get(request)
        except (SuspiciousOperation, requests.RequestException, jwt.PyJWTError, KeyError, ValueError) as error:
            logger.warning("sign-in by OpenID Connect failed reason=%r", error)
            return self.login_failure()

    def login_failure(self) -> HttpResponse:
        return render(self.request, "accounts/oidc_failed.html", {"name": settings.KDB_OIDC_NAME}, status=403)


@require_POST
@login_required
def join(request: HttpRequest) -> HttpResponse:
    """Join this account with the identity that signs in next in this session."""
    request.session[_JOINING] = request.user.pk
    return redirect("oidc_authentication_init")


def _new_user(claims: dict[str, Any], who: dict[str, str]) -> Any:
    """Create an account without password and role, with its mail address only if that is verified."""
    wanted = re.sub(r"[^\w.@+-]", "", str(claims.get("preferred_username") or ""))[:100] or "user"
    email = str(claims.get("email") or "") if claims.get("email_verified") is True else ""
    users = get_user_model().objects
    for number in range(1, 1000):
        name = wanted if number == 1 else f"{wanted}-{number}"
        if users.filter(username__iexact=name).exists():
            continue
        try:
            with transaction.atomic():
                user = users.create_user(name, email=email)
                OidcIdentity.objects.create(user=user, **who)
        except IntegrityError:  # the name was taken in between
            continue
        logger.info("made user=%s by OpenID Connect", user.pk)
        return user
    raise SuspiciousOperation("A thousand people have this name.")


def _set_roles(user: Any, claims: dict[str, Any]) -> None:
    """Set the user's roles to those that the claim names; groups that are no roles stay."""
    if not settings.KDB_OIDC_ROLES_CLAIM:
        return
    names = claims.get(settings.KDB_OIDC_ROLES_CLAIM)
    wanted = {name for name in names if name in ROLES} if isinstance(names, list) else set()
    with transaction.atomic():
        user.groups.remove(*Group.objects.filter(name__in=set(ROLES) - wanted))
        user.groups.add(*Group.objects.filter(name__in=wanted))
