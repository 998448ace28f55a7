"""An authenticator in software: passkeys as a browser hands them to a page (WebAuthn, ES256, no attestation)."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class SoftAuthenticator:
    """One passkey; each part of an answer can be another than the right one."""

    def __init__(self, credential_id: bytes, *, origin: str, counter: int = 0) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id, self.origin, self.counter = credential_id, origin, counter
        self.user_id = ""

    def created(self, options: dict[str, Any], *, flags: int = PRESENT | VERIFIED, **over: Any) -> str:
        """The answer to ``navigator.credentials.create``, as JSON."""
        self.user_id = options["user"]["id"]
        data = self._data(options["rp"]["id"], flags | ATTESTED) + self._attested()
        attestation = _map({"fmt": _cbor("none"), "attStmt": _map({}), "authData": _cbor(data)})
        client = self._client("webauthn.create", options, over)
        return self._sent({"clientDataJSON": text_of(client), "attestationObject": text_of(attestation)})

    def used(self, options: dict[str, Any], *, flags: int = PRESENT | VERIFIED, **over: Any) -> str:
        """The answer to ``navigator.credentials.get``, as JSON."""
        if self.counter:
            self.counter += 1
        data = self._data(options["rpId"], flags)
        client = self._client("webauthn.get", options, over)
        signature = self.key.sign(data + sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._sent(
            {
                "clientDataJSON": text_of(client),
                "authenticatorData": text_of(data),
                "signature": text_of(signature),
                "userHandle": self.user_id,
            }
        )

    def _client(self, kind: str, options: dict[str, Any], over: dict[str, Any]) -> bytes:
        content = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return msgspec.json.encode(content | over)

    def _data(self, party: str, flags: int) -> bytes:
        return sha256(party.encode()).digest() + bytes([flags]) + self.counter.to_bytes(4, "big")

    def _attested(self) -> bytes:
        numbers = self.key.public_key().public_numbers()
        key = _map(
            {1: _cbor(2), 3: _cbor(-7), -1: _cbor(1), -2: _cbor(_of_32(numbers.x)), -3: _cbor(_of_32(numbers.y))}
        )
        return bytes(16) + len(self.credential_id).to_bytes(2, "big") + self.credential_id + key

    def _sent(self, response: dict[str, str]) -> str:
        own = text_of(self.credential_id)
        return msgspec.json.encode({"id": own, "rawId": own, "type": "public-key", "response": response}).decode()


def text_of(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _of_32(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _cbor(value: int | str | bytes) -> bytes:
    """RFC 8949, of what a key and an attestation have."""
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    raw = value.encode() if isinstance(value, str) else value
    return _head(3 if isinstance(value, str) else 2, len(raw)) + raw


def _map(items: dict[Any, bytes]) -> bytes:
    return _head(5, len(items)) + b"".join(_cbor(name) + value for name, value in items.items())


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind << 5 | number])
    size = 1 if number < 1 << 8 else 2
    return bytes([kind << 5 | (23 + size)]) + number.to_bytes(size, "big")
