"""The seals of log entries: they show that Clearhold wrote an entry, and wrote it at this place.

Seal    a nonce of 8 bytes, and the first 16 bytes of HMAC-SHA256 over nonce, stream, kind, program, time and body as
        one MessagePack array. The key follows from the master key, by HKDF-SHA256 under a fixed label
Nonce   in a shard a number that grows from entry to entry, which shows a repeated entry
        (``features/core/log_entry.py``); in a control stream random bytes
Sealed  every entry but bank events, whose signature by the bank is checked before they are appended
"""

import hmac
import os
from typing import Final

import msgspec
import structlog
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from clearhold.features.core.log_entry import EntryKind, LogEntry

_LABEL: Final = b"clearhold log entries v1"
_NONCE_BYTES: Final = 8
_TAG_BYTES: Final = 16
_ENCODE: Final = msgspec.msgpack.Encoder().encode

log = structlog.get_logger()


class EntrySeals:
    """Makes and checks seals; ``key`` is the derived one, so that a scorer process does not have the master key."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    @classmethod
    def under(cls, master_key: bytes) -> "EntrySeals":
        return cls(HKDF(SHA256(), 32, salt=None, info=_LABEL).derive(master_key))

    def seal(
        self, stream: str, kind: str, program_id: str, appended_at: int, body: bytes, *, number: int | None = None
    ) -> bytes:
        """The seal of a new entry, empty for a bank event; ``number`` is that of a shard's entry."""
        if kind == EntryKind.BANK:
            return b""
        nonce = os.urandom(_NONCE_BYTES) if number is None else number.to_bytes(_NONCE_BYTES)
        return self._sealed(nonce, (stream, str(kind), program_id, appended_at, body))

    def checked(self, stream: str, entry: LogEntry) -> LogEntry:
        """The entry, marked as forged if it has no seal that fits; a bank event without any."""
        if entry.kind == EntryKind.BANK:
            return msgspec.structs.replace(entry, seal=b"") if entry.seal else entry
        contents = (stream, entry.kind, entry.program_id, entry.appended_at, entry.body)
        if hmac.compare_digest(entry.seal, self._sealed(entry.seal[:_NONCE_BYTES], contents)):
            return entry
        return msgspec.structs.replace(entry, is_forged=True)

    def _sealed(self, nonce: bytes, contents: tuple[str, str, str, int, bytes]) -> bytes:
        return nonce + hmac.digest(self.key, _ENCODE((nonce, *contents)), "sha256")[:_TAG_BYTES]


def number_of(entry: LogEntry) -> int:
    """The number in a shard's seal."""
    return int.from_bytes(entry.seal[:_NONCE_BYTES])


def log_forged(stream: str, entry: LogEntry) -> None:
    """One line of the log names an entry that must not be applied."""
    log.error("forged_entry", stream=stream, offset=entry.offset, kind=entry.kind, program_id=entry.program_id)
