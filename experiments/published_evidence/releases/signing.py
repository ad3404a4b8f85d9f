"""Signatures of releases (Ed25519): only who has the private key of an installation speaks for it.

The private key is a file of DATA_DIR that its owner alone reads; no database, archive or log has it. A key is
written as 64 hexadecimal digits.
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
    """Return the text of the signature, which names the public key. The manifest names every other file's digest."""
    return f"{key.public_key().public_bytes_raw().hex()}\n{key.sign(_signed(manifest, crate)).hex()}\n"


def signing_key(manifest: bytes, crate: bytes, signature: bytes) -> str:
    """Return the public key that made the signature. Raises ReleaseError where none did."""
    try:
        signed = bytes.fromhex(signature.decode("ascii"))
        if len(signed) != _LENGTH:
            raise ValueError
        Ed25519PublicKey.from_public_bytes(signed[:32]).verify(signed[32:], _signed(manifest, crate))
    except (ValueError, InvalidSignature):
        raise ReleaseError(f"{SIGNATURE}: the signature is not of these files; they were changed.") from None
    return signed[:32].hex()


def _signed(manifest: bytes, crate: bytes) -> bytes:
    digests = (hashlib.sha256(data).hexdigest() for data in (manifest, crate))
    return "\n".join(["kdb-release 1", *digests]).encode()
