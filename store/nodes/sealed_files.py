"""A folder as a stream of sealed bytes, for a node that joins: it cannot be read or changed without the master key.

Stream  a salt of 16 bytes, then frames: the length in 4 bytes, and AES-256-GCM of up to ``FRAME_BYTES`` of a tar
        archive
Key     HKDF-SHA256 of the master key with that salt, under a fixed label
Nonce   the number of the frame in 11 bytes, and 1 for the last frame, else 0: a frame that is missing, moved or
        repeated does not open, and neither does a stream that was cut
Errors  ``StartupError`` for a stream that was sealed under another master key, or was cut or changed
"""

import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from clearhold.store.errors import StartupError

FRAME_BYTES: Final = 1 << 20

_LABEL: Final = b"clearhold sealed files v1"
_SALT_BYTES: Final = 16
_LENGTH_BYTES: Final = 4
_NUMBER_BYTES: Final = 11
_MOST_BYTES: Final = FRAME_BYTES + 64
_DAMAGED: Final = "The backup was cut or changed on its way, or was sealed under another master key."


def sealed_files(folder: Path, master_key: bytes) -> Iterator[bytes]:
    """All files below a folder, as the chunks of a stream. They must not change meanwhile."""
    salt = os.urandom(_SALT_BYTES)
    cipher = _cipher(master_key, salt)
    yield salt
    pending, number = bytearray(), 0
    for part in _archive(folder):
        pending += part
        while len(pending) > FRAME_BYTES:
            yield _frame(cipher, number, pending[:FRAME_BYTES], is_last=False)
            del pending[:FRAME_BYTES]
            number += 1
    yield _frame(cipher, number, pending, is_last=True)


def unseal_files(chunks: Iterable[bytes], folder: Path, master_key: bytes) -> None:
    """Write the files of a stream into a folder."""
    opened = _Opened(chunks, master_key)
    try:
        with tarfile.open(fileobj=opened, mode="r|") as archive:  # type: ignore[call-overload]
            archive.extractall(folder, filter="data")
        while opened.read(FRAME_BYTES):
            pass  # to the last frame, without which the stream was cut
    except (tarfile.TarError, EOFError) as error:
        raise StartupError(f"The backup is no archive of files: {error}.") from error


def _archive(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        entry = tarfile.TarInfo(str(path.relative_to(folder)))
        entry.size, entry.mode = path.stat().st_size, 0o600
        yield entry.tobuf()
        with path.open("rb") as file:
            while part := file.read(FRAME_BYTES):
                yield part
        yield bytes(-entry.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


class _Opened:
    """The archive in a stream, as a file that is read once."""

    def __init__(self, chunks: Iterable[bytes], master_key: bytes) -> None:
        self._chunks, self._master_key = iter(chunks), master_key
        self._received, self._opened = bytearray(), bytearray()
        self._cipher: AESGCM | None = None
        self._number, self._is_whole = 0, False

    def read(self, size: int) -> bytes:
        while len(self._opened) < size and not self._is_whole:
            self._open_next()
        part = bytes(self._opened[:size])
        del self._opened[:size]
        return part

    def _open_next(self) -> None:
        if self._cipher is None:
            self._cipher = _cipher(self._master_key, self._taken(_SALT_BYTES))
        length = int.from_bytes(self._taken(_LENGTH_BYTES))
        if length > _MOST_BYTES:
            raise StartupError(_DAMAGED)
        sealed = self._taken(length)
        for is_last in (False, True):
            try:
                self._opened += self._cipher.decrypt(_nonce(self._number, is_last=is_last), sealed, None)
            except InvalidTag:
                continue
            self._number, self._is_whole = self._number + 1, is_last
            return
        raise StartupError(_DAMAGED)

    def _taken(self, size: int) -> bytes:
        while len(self._received) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise StartupError(_DAMAGED)
            self._received += chunk
        part = bytes(self._received[:size])
        del self._received[:size]
        return part


def _frame(cipher: AESGCM, number: int, part: bytearray, *, is_last: bool) -> bytes:
    sealed = cipher.encrypt(_nonce(number, is_last=is_last), bytes(part), None)
    return len(sealed).to_bytes(_LENGTH_BYTES) + sealed


def _cipher(master_key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, salt=salt, info=_LABEL).derive(master_key))


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(_NUMBER_BYTES) + bytes([is_last])
