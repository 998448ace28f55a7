"""The messages between a scorer process and its service, over two sockets a scorer.

rows        scorer ─▶ service: batches of rows, offsets, "ready", snapshots written, heartbeats
            service ─▶ scorer: committed offsets, "drain", "close"
questions   service ─▶ scorer: questions; scorer ─▶ service: answers, in the order of the questions

Frame   8 bytes of length, 1 byte of kind, the body
Errors  ``ConnectionError`` when the other side has ended; ``FrameError`` for an impossible length
"""

import socket
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

import msgspec

from clearhold.features.core.errors import UnavailableError
from clearhold.features.shard.questions import ANSWER_TYPES, Answer, AnyQuestion, Question

HEADER_BYTES: Final = 9
FRAME_LIMIT: Final = 1 << 31

Buffer = bytes | bytearray | memoryview


class FrameError(Exception):
    """The other side sends no frames."""


class FrameKind(IntEnum):
    """The kind of a frame on the rows socket."""

    BATCH = 1
    READY = 2  # the scorer has applied the log of its start
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
    """The first line of a scorer's standard input: enough to load its newest snapshots."""

    rows: int
    questions: int
    flag: int
    """Inherited descriptors: two connected sockets, and a byte of memory."""

    snapshots: str
    lake: str
    state_version: int
    shards: int
    owned: tuple[int, ...]


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The second line, enough to score; in standard input because the log's address may hold a password. None comes
    when the service does not get so far.
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
    """The next frame of a blocking socket; ``at_timeout`` is called whenever the timeout passes without a byte, and may
    raise.
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
    """The frames received so far on a socket that does not block."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: Buffer) -> list[tuple[FrameKind, bytes]]:
        """The frames that are complete now."""
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


AnswerT = TypeVar("AnswerT")

FAILED: Final = "The question could not be answered."
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_QUESTIONS: Final = msgspec.msgpack.Decoder(tuple[int, str, AnyQuestion])


class Envelope(NamedTuple):
    """An encoded answer; ``number`` names its question."""

    number: int
    took_us: int
    value: msgspec.Raw
    failed: bool


_ENVELOPES: Final = msgspec.msgpack.Decoder(Envelope)
_ANSWERS: Final = {kind: msgspec.msgpack.Decoder(answer) for kind, answer in ANSWER_TYPES.items()}


def encoded_question(number: int, program_id: str, question: Question[object]) -> bytes:
    return _ENCODE((number, program_id, question))


def decoded_question(body: bytes) -> tuple[int, str, AnyQuestion]:
    """The question's number, which its answer repeats, the program and the question."""
    return _QUESTIONS.decode(body)


def encoded_answer(number: int, took_us: int, value: object, *, failed: bool = False) -> bytes:
    return _ENCODE((number, took_us, value, failed))


def envelope_of(body: bytes) -> Envelope:
    return _ENVELOPES.decode(body)


def decoded_answer(envelope: Envelope, question: Question[AnswerT]) -> Answer[AnswerT]:
    """The answer to this question; UnavailableError when its owner failed to answer it."""
    if envelope.failed:
        raise UnavailableError(FAILED)
    answer: AnswerT = _ANSWERS[type(question)].decode(envelope.value)
    return Answer(answer, envelope.took_us)
