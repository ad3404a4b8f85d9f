"""A second factor of those who want one: a one-time password (RFC 6238) of an app, or a recovery code.

It is asked for after the password, on the way to pages and administration alike. Until it is given nobody is signed in.
The secret is kept encrypted by a key made of SECRET_KEY; recovery codes are kept as their SHA-256.
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

SECONDS = 30  # that one password counts
_TOLERANCE = (0, -1, 1)  # steps that clocks may differ by
_DIGITS = 6
_SECRET_BYTES = 20
_RECOVERY_CODES = 10


def is_on(user: Any) -> bool:
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).exists()


def begin(user: Any) -> SecondFactor:
    """Return the factor that this user has begun to set up, or a new one. It counts once it is confirmed."""
    encrypted = _cipher().encrypt(secrets.token_bytes(_SECRET_BYTES)).decode()
    factor, _ = SecondFactor.objects.get_or_create(user=user, defaults={"secret": encrypted})
    try:
        _totp(factor)
    except InvalidToken:  # SECRET_KEY is another by now
        SecondFactor.objects.filter(pk=factor.pk, confirmed_at__isnull=True).update(secret=encrypted)
        factor.refresh_from_db()
    return factor


def provisioning_uri(factor: SecondFactor) -> str:
    """Return what an app reads from a QR code."""
    return _totp(factor).get_provisioning_uri(factor.user.get_username(), "KDB")


def typed_secret(factor: SecondFactor) -> str:
    """Return the secret for those who type it."""
    return base64.b32encode(_cipher().decrypt(factor.secret)).decode()


def confirm(user: Any, code: str) -> list[str]:
    """Let the factor count from now on, where this is its password now; its recovery codes, else none.

    The codes are in no place but this answer.
    """
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=True).first()
        if factor is None or not _takes_password(factor, code):
            return []
        codes = [secrets.token_hex(8) for _ in range(_RECOVERY_CODES)]
        factor.confirmed_at, factor.recovery_digests = now(), [_digest(recovery_code) for recovery_code in codes]
        factor.save(update_fields=["confirmed_at", "recovery_digests"])
    return codes


def verify(user: Any, code: str) -> bool:
    """Tell whether this is the user's password now, or a recovery code. Either counts once."""
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False).first()
        return factor is not None and (_takes_password(factor, code) or _takes_recovery(factor, code))


def remove(user: Any) -> None:
    SecondFactor.objects.filter(user=user).delete()


def _takes_password(factor: SecondFactor, code: str) -> bool:
    code = code.replace(" ", "")
    try:
        totp = _totp(factor)
    except InvalidToken:  # SECRET_KEY is another by now; recovery codes still count
        return False
    step_now = int(time.time()) // SECONDS
    for step in (step_now + difference for difference in _TOLERANCE):
        if constant_time_compare(totp.generate(step * SECONDS).decode(), code) and step > factor.last_step:
            factor.last_step = step
            factor.save(update_fields=["last_step"])
            return True
    return False


def _takes_recovery(factor: SecondFactor, code: str) -> bool:
    digest = _digest(code)
    if digest not in factor.recovery_digests:
        return False
    factor.recovery_digests = [kept for kept in factor.recovery_digests if kept != digest]
    factor.save(update_fields=["recovery_digests"])
    return True


def _digest(code: str) -> str:
    """Return the SHA-256 of a code. 64 random bits are not guessed: a slow hash would add nothing."""
    return hashlib.sha256(code.strip().lower().replace(" ", "").encode()).hexdigest()


def _totp(factor: SecondFactor) -> TOTP:
    return TOTP(_cipher().decrypt(factor.secret), _DIGITS, SHA1(), SECONDS)  # noqa: S303 - as every app computes it


def _cipher() -> Fernet:
    key = salted_hmac("kdb.second_factor", "secret", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
