"""How tokens and secrets are stored: a token as its digest, a secret sealed under the master key.

Errors  ``UnsealError`` for a text that was sealed under another key, or changed since
"""

import base64
import binascii
import hashlib
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MASTER_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_VERSION: Final = "v1."
_CHANGED: Final = "This secret was sealed under another master key, or was changed since."


class UnsealError(Exception):
    """A sealed secret cannot be opened with this master key."""


def token_digest(token: str) -> str:
    """SHA-256 in hex. Tokens carry 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_master_key() -> bytes:
    return os.urandom(MASTER_KEY_BYTES)


class SecretBox:
    """Seals texts with AES-256-GCM. Nonces are random, which is safe up to 2**32 seals: far more than needed."""

    def __init__(self, master_key: bytes) -> None:
        if len(master_key) != MASTER_KEY_BYTES:
            raise ValueError(f"A master key has {MASTER_KEY_BYTES} bytes, this one has {len(master_key)}.")
        self._cipher = AESGCM(master_key)

    def seal(self, secret: str) -> str:
        return _VERSION + base64.urlsafe_b64encode(self.seal_bytes(secret.encode())).decode()

    def seal_bytes(self, content: bytes) -> bytes:
        """As ``seal``, for bytes: a third smaller."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, _VERSION.encode())

    def open(self, sealed: str) -> str:
        if not sealed.startswith(_VERSION):
            raise UnsealError("This text was not sealed here.")
        try:
            raw = base64.b64decode(sealed.removeprefix(_VERSION), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise UnsealError(_CHANGED) from error
        return self.open_bytes(raw).decode()

    def open_bytes(self, sealed: bytes) -> bytes:
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _VERSION.encode())
        except (InvalidTag, ValueError) as error:
            raise UnsealError(_CHANGED) from error
