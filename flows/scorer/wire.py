"""What a scorer process and its service say to each other, over two sockets a scorer.

rows        scorer ─▶ service: batches of rows, how far it is, "ready", snapshots written, heartbeats
            service ─▶ scorer: what is committed, "drain", "close"
questions   service ─▶ scorer: questions; scorer ─▶ service: answers, in the order of the questions

Frame   8 bytes of length, 1 byte of kind, the body
Errors  ``ConnectionError`` when the other side is gone; ``FrameError`` for a length that no frame has
"""

import socket
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final

import msgspec

HEADER_BYTES: Final = 9
FRAME_LIMIT: Final = 1 << 31

Buffer = bytes | bytearray | memoryview


class FrameError(Exception):
    """The other side does not speak this language."""


class FrameKind(IntEnum):
    """What a frame on the rows socket is."""

    BATCH = 1
    READY = 2  # the scorer has applied what the log held at its start
    SNAPSHOTS = 3  # body: dict of shard and offset, the newest snapshots on disk
    ALIVE = 4
    DRAINED = 5
    FAILED = 6  # body: the sentence
    COMMITTED = 7  # body: dict of shard and offset
    DRAIN = 8
    CLOSE = 9
    QUESTION = 10
    ANSWER = 11
    APPLIED = 12  # body: dict of shard and offset, while the log is caught up with after the start


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a scorer's standard input: with this much it can load its newest snapshots."""

    rows: int
    questions: int
    flag: int
    """Descriptors that it inherits: two connected sockets, and a byte of memory."""

    snapshots: str
    lake: str
    state_version: int
    shards: int
    owned: tuple[int, ...]


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The second line, with which it scores; over its standard input, because an address of a log may hold a
    password. None comes where the service does not get so far.
    """

    log: str
    epochs: dict[int, int]
    """Of each shard that it owns."""

    committed: dict[int, int]


def header(kind: FrameKind, length: int) -> bytes:
    return length.to_bytes(8, "big") + bytes((kind,))


def frame(kind: FrameKind, body: bytes = b"") -> bytes:
    return header(kind, len(body)) + body


def receive(connection: socket.socket, at_timeout: Callable[[], None]) -> tuple[FrameKind, memoryview]:
    """The next frame, of a socket that blocks; whenever its timeout passes without a byte ``at_timeout`` is called,
    which may raise.
    """
    head = _exactly(connection, HEADER_BYTES, at_timeout)
    length = int.from_bytes(head[:8], "big")
    if length > FRAME_LIMIT:
        raise FrameError(f"A frame of {length} bytes.")
    return FrameKind(head[8]), _exactly(connection, length, at_timeout)


def _exactly(connection: socket.socket, length: int, at_timeout: Callable[[], None]) -> memoryview:
    buffer = memoryview(bytearray(length))
    at = 0
    while at < length:
        try:
            received = connection.recv_into(buffer[at:])
        except TimeoutError:
            at_timeout()
            continue
        if not received:
            raise ConnectionError("The other side has closed the connection.")
        at += received
    return buffer


class Frames:
    """The frames in what a socket that does not block has brought so far."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: Buffer) -> list[tuple[FrameKind, bytes]]:
        """The frames that are whole now."""
        pending = self._pending
        pending += data
        frames: list[tuple[FrameKind, bytes]] = []
        at = 0
        while len(pending) - at >= HEADER_BYTES:
            length = int.from_bytes(pending[at : at + 8], "big")
            if length > FRAME_LIMIT:
                raise FrameError(f"A frame of {length} bytes.")
            end = at + HEADER_BYTES + length
            if len(pending) < end:
                break
            frames.append((FrameKind(pending[at + 8]), bytes(pending[at + HEADER_BYTES : end])))
            at = end
        del pending[:at]
        return frames


def total(parts: Sequence[Buffer]) -> int:
    return sum(len(part) for part in parts)
