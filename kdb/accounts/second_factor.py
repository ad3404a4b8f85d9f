"""Check optional second factors: a one-time password (RFC 6238) of an app, or a recovery code.

It is asked for after the password, and the user is signed in only once it was right, for pages and administration
alike. The secret is stored encrypted with a key derived from SECRET_KEY, recovery codes as their SHA-256.
"""

import base64
import hashlib
import secrets
import time
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.timezone import now

from kdb.models import SecondFactor

SECONDS = 30  # for which one password is valid
_TOLERANCE = (0, -1, 1)  # steps by which clocks may differ
_DIGITS = 6
_SECRET_BYTES = 20
_RECOVERY_CODES = 10


def is_on(user: Any) -> bool:
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).exists()


def begin(user: Any) -> SecondFactor:
    """Return the factor that this user is setting up, or a new one. It is not asked for until it is confirmed."""
    encrypted = _cipher().encrypt(secrets.token_bytes(_SECRET_BYTES)).decode()
    factor, _ = SecondFactor.objects.get_or_create(user=user, defaults={"secret": encrypted})
    try:
        _totp(factor)
    except InvalidToken:  # SECRET_KEY has changed
        SecondFactor.objects.filter(pk=factor.pk, confirmed_at__isnull=True).update(secret=encrypted)
        factor.refresh_from_db()
    return factor


def provisioning_uri(factor: SecondFactor) -> str:
    """Return the otpauth: URI that an app reads from a QR code."""
    return _totp(factor).get_provisioning_uri(factor.user.get_username(), "KDB")


def typed_secret(factor: SecondFactor) -> str:
    """Return the secret in base32, for typing it into an app."""
    return base64.b32encode(_cipher().decrypt(factor.secret)).decode()


def confirm(user: Any, code: str) -> list[str]:
    """Confirm the factor by its code of now. Return recovery codes, which are not stored; none if the code is wrong."""
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=True).first()
        if factor is None or not _accept_password(factor, code):
            return []
        codes = [secrets.token_hex(8) for _ in range(_RECOVERY_CODES)]
        factor.confirmed_at, factor.recovery_digests = now(), [_digest(recovery_code) for recovery_code in codes]
        factor.save(update_fields=["confirmed_at", "recovery_digests"])
    return codes


def verify(user: Any, code: str) -> bool:
    """Tell whether this is the user's current one-time password or a recovery code. Each is accepted once."""
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False).first()
        return factor is not None and (_accept_password(factor, code) or _accept_recovery_code(factor, code))


def remove(user: Any) -> None:
    SecondFactor.objects.filter(user=user).delete()


def _accept_password(factor: SecondFactor, code: str) -> bool:
    code = code.replace(" ", "")
    try:
        totp = _totp(factor)
    except InvalidToken:  # SECRET_KEY has changed; recovery codes still work
        return False
    step_now = int(time.time()) // SECONDS
    for step in (step_now + difference for difference in _TOLERANCE):
        if constant_time_compare(totp.generate(step * SECONDS).decode(), code) and step > factor.last_step:
            factor.last_step = step
            factor.save(update_fields=["last_step"])
            return True
    return False


def _accept_recovery_code(factor: SecondFactor, code: str) -> bool:
    digest = _digest(code)
    if digest not in factor.recovery_digests:
        return False
    factor.recovery_digests = [kept for kept in factor.recovery_digests if kept != digest]
    factor.save(update_fields=["recovery_digests"])
    return True


def _digest(code: str) -> str:
    """Return the SHA-256 of a code. It has 64 random bits, so a slow hash would not make it safer."""
    return hashlib.sha256(code.strip().lower().replace(" ", "").encode()).hexdigest()


def _totp(factor: SecondFactor) -> TOTP:
    return TOTP(_cipher().decrypt(factor.secret), _DIGITS, SHA1(), SECONDS)  # noqa: S303 - as every app computes it


def _cipher() -> Fernet:
    key = salted_hmac("kdb.second_factor", "secret", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
