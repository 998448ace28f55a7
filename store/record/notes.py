"""Checkpoints as signed notes: three lines with a chain's name, length and root, and an Ed25519 signature.

Form    ``origin``, ``size``, base64 root; a blank line; ``— origin base64(key id || signature)``. The key id is
        sha256(origin || 0x0A || 0x01 || public key)[:4]
Source  C2SP signed-note and tlog-checkpoint
Errors  ``NoteError`` for an invalid checkpoint, or one without a signature by the keys; its sentence says which
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MAX_NOTE_BYTES: Final = 64 * 1024
_DASH: Final = "\N{EM DASH}"
_ED25519: Final = b"\n\x01"
_KEY_ID_BYTES: Final = 4
_SIZE: Final = re.compile(r"(0|[1-9][0-9]{0,17})", re.ASCII)
_BODY_LINES: Final = 3
_SIGNATURE_WORDS: Final = 3


class NoteError(Exception):
    """A note that proves nothing."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The root over the first ``size`` links of the chain ``origin``."""

    origin: str
    size: int
    root: bytes

    @property
    def chain(self) -> str:
        return self.origin.rpartition("/")[2]

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def signed_note(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> str:
    """The note; deterministic for one checkpoint and key."""
    public = key.public_key().public_bytes_raw()
    signature = _key_id(checkpoint.origin, public) + key.sign(checkpoint.text.encode())
    return f"{checkpoint.text}\n{_DASH} {checkpoint.origin} {base64.b64encode(signature).decode()}\n"


def opened_note(text: str, public_keys: Iterable[bytes]) -> Checkpoint:
    """The note's checkpoint, after a valid signature by one of the keys; other signatures do not matter."""
    body, blank, signatures = text.partition("\n\n")
    if not blank or len(text.encode()) > MAX_NOTE_BYTES:
        raise NoteError("This is no checkpoint.")
    checkpoint = _checkpoint(body)
    trusted = list(public_keys)
    for name, signature in _signatures(signatures):
        for public in trusted:
            if name == checkpoint.origin and signature[:_KEY_ID_BYTES] == _key_id(name, public):
                _verify(public, signature[_KEY_ID_BYTES:], f"{body}\n".encode())
                return checkpoint
    raise NoteError("No signature of this checkpoint is by a known key.")


def _checkpoint(body: str) -> Checkpoint:
    lines = body.split("\n")
    if len(lines) < _BODY_LINES or not lines[0] or not _SIZE.fullmatch(lines[1]):
        raise NoteError("This is no checkpoint.")
    root = _decoded(lines[2])
    if len(root) != sha256().digest_size:
        raise NoteError("This checkpoint has no root.")
    return Checkpoint(origin=lines[0], size=int(lines[1]), root=root)


def _signatures(text: str) -> Iterator[tuple[str, bytes]]:
    for line in text.strip("\n").split("\n"):
        words = line.split(" ")
        if len(words) == _SIGNATURE_WORDS and words[0] == _DASH:
            yield words[1], _decoded(words[2])


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError("This checkpoint is not in base64 where it should be.") from error


def _verify(public: bytes, signature: bytes, signed: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, signed)
    except InvalidSignature as error:
        raise NoteError("The signature of this checkpoint does not hold.") from error


def _key_id(name: str, public: bytes) -> bytes:
    return sha256(name.encode() + _ED25519 + public).digest()[:_KEY_ID_BYTES]
