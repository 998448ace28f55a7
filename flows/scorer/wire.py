"""The messages between a scorer process and its service, over two sockets a scorer, and the service's end of questions.

rows        scorer ─▶ service: batches of rows, offsets, "ready", snapshots written, heartbeats
            service ─▶ scorer: committed offsets, "drain", "close"
questions   service ─▶ scorer: questions; scorer ─▶ service: answers, in the order of the questions

``RemoteOwner`` is the ``Owner`` of a service that scores in separate processes.

Frame   8 bytes of length, 1 byte of kind, the body
Errors  ``ConnectionError`` when the other side has ended; ``FrameError`` for an impossible length; UnavailableError
        while the program's scorer is starting, and for open questions of a scorer that ends
"""

import asyncio
import mmap
import socket
from collections.abc import Callable
from enum import IntEnum
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.log_entry import shard_of
from clearhold.features.shard.questions import ANSWER_TYPES, Answer, AnyQuestion, Question
from clearhold.store import clock

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
    """The second line, enough to score; in standard input because the address may hold a password. None comes
    when the service does not get so far.
    """

    log: str
    epochs: dict[int, int]
    """Of each shard that it owns."""

    committed: dict[int, int]
    with_live: bool
    """Whether its batches have entries of the live streams."""

    seal_key: bytes | None
    """That of ``EntrySeals``; None where the log has no seals, as in a benchmark."""

    replicas: int = 0
    """Of the log's Redis, which must have the entries that are scored."""


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


STARTING: Final = "The scorer of this program is starting. Nothing was recorded; try again."
ANSWERED_WITHIN_S: Final = 5.0


class _OpenQuestion(NamedTuple):
    """``late_at`` is in the event loop's time."""

    question: Question[Any]
    answer: "asyncio.Future[Answer[Any]]"
    late_at: float


class ScorerProtocol(asyncio.Protocol):
    """The connection to one scorer: questions in their order, answers as they come. Belongs to the event loop."""

    def __init__(self, flag: mmap.mmap) -> None:
        self._flag = flag
        self._frames = Frames()
        self._waiting: dict[int, _OpenQuestion] = {}
        self._numbers = count(1)
        self._late: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def query(self, program_id: str, question: Question[AnswerT]) -> Answer[AnswerT]:
        if self._transport is None:
            raise UnavailableError(STARTING, ErrorCode.STARTING)
        loop = asyncio.get_running_loop()
        number = next(self._numbers)
        answer: asyncio.Future[Answer[AnswerT]] = loop.create_future()
        late_at = loop.time() + ANSWERED_WITHIN_S
        self._waiting[number] = _OpenQuestion(question, answer, late_at)
        self._transport.write(frame(FrameKind.QUESTION, encoded_question(number, program_id, question)))
        self._flag[0] = 1  # after writing: the scorer clears it before it reads
        if self._late is None:
            self._late = clock.call_at(late_at, self._end_late)
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def _end_late(self) -> None:
        """One timer for all questions: ends the late ones, and is set to the next deadline."""
        self._late = None
        loop = asyncio.get_running_loop()
        for _, answer, late_at in self._waiting.values():  # in the order of the questions
            if loop.time() < late_at:
                self._late = clock.call_at(late_at, self._end_late)
                return
            if not answer.done():
                answer.set_exception(UnavailableError(STARTING, ErrorCode.STARTING))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is not a subclass

    def data_received(self, data: bytes) -> None:
        for _, body in self._frames.feed(data):
            envelope = envelope_of(body)
            waiting = self._waiting.get(envelope.number)
            if waiting is None or waiting.answer.done():
                continue
            try:
                waiting.answer.set_result(decoded_answer(envelope, waiting.question))
            except UnavailableError as error:
                waiting.answer.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's name
        self._transport = None
        for _, answer, _ in self._waiting.values():
            if not answer.done():
                answer.set_exception(UnavailableError(STARTING, ErrorCode.STARTING))


class ScorerConnection:
    """A connected socket of a ready scorer, and the flag that a question waits."""

    def __init__(self, questions: socket.socket, flag: mmap.mmap) -> None:
        self._socket = questions
        self._line = ScorerProtocol(flag)
        self._opening: asyncio.Task[object] | None = None

    def close(self) -> None:
        """The scorer has ended; an open line closes with the other end."""
        if self._opening is None:
            self._socket.close()

    def disconnect(self) -> None:
        """For the event loop that uses it, before it ends."""
        self._line.close()

    async def line(self) -> ScorerProtocol:
        """The line, opened on the event loop of the first question."""
        if self._line.is_open:
            return self._line
        if self._opening is None:
            loop = asyncio.get_running_loop()
            self._opening = loop.create_task(loop.create_unix_connection(lambda: self._line, sock=self._socket))
        try:
            await asyncio.shield(self._opening)
        except OSError:
            raise UnavailableError(STARTING, ErrorCode.STARTING) from None
        return self._line


class RemoteOwner:
    """``connection_of`` returns the connection to the scorer of a shard, None while it is not ready."""

    def __init__(self, shards: int, connection_of: Callable[[int], ScorerConnection | None]) -> None:
        self._shards, self._connection_of = shards, connection_of

    async def query(self, program_id: str, question: Question[AnswerT]) -> Answer[AnswerT]:
        connection = self._connection_of(shard_of(program_id, self._shards))
        if connection is None:
            raise UnavailableError(STARTING, ErrorCode.STARTING)
        line = await connection.line()
        return await line.query(program_id, question)
