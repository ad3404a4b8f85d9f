"""Sign and verify releases with Ed25519.

The private key is a file in DATA_DIR with mode 0600; it is in no database, archive or log. Public keys are shown as 64
hexadecimal digits.
"""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

from kdb.env import kept_secret

from . import ReleaseError
from .ro_crate import SIGNATURE

KEY = r"[0-9a-f]{64}"
_LENGTH = 32 + 64  # bytes of public key and signature


def own_key() -> Ed25519PrivateKey:
    """Return the key of this installation, made when first asked for."""
    text = kept_secret(
        settings.DATA_DIR / "release_key", lambda: Ed25519PrivateKey.generate().private_bytes_raw().hex()
    )
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))


def public_key() -> str:
    return own_key().public_key().public_bytes_raw().hex()


def sign(manifest: bytes, crate: bytes, key: Ed25519PrivateKey) -> str:
    """Return public key and signature as text. The manifest has the digests of all other files, so two are enough."""
    return f"{key.public_key().public_bytes_raw().hex()}\n{key.sign(_message(manifest, crate)).hex()}\n"


def signing_key(manifest: bytes, crate: bytes, signature: bytes) -> str:
    """Return the public key that made the signature. Raises ReleaseError where none did."""
    try:
        signed = bytes.fromhex(signature.decode("ascii"))
        if len(signed) != _LENGTH:
            raise ValueError
        Ed25519PublicKey.from_public_bytes(signed[:32]).verify(signed[32:], _message(manifest, crate))
    except (ValueError, InvalidSignature):
        raise ReleaseError(f"{SIGNATURE}: the signature is not of these files; they were changed.") from None
    return signed[:32].hex()


def _message(manifest: bytes, crate: bytes) -> bytes:
    digests = (hashlib.sha256(data).hexdigest() for data in (manifest, crate))
    return "\n".join(["kdb-release 1", *digests]).encode()
