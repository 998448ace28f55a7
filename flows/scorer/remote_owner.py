"""Sends questions to the scorer processes: the ``Owner`` of a service that scores in separate processes.

Errors  UnavailableError while the program's scorer is starting, and for open questions of a scorer that ends
"""

import asyncio
import mmap
import socket
from collections.abc import Callable
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar, cast

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.log_entry import shard_of
from clearhold.features.shard.questions import Answer, Question
from clearhold.flows.scorer.wire import FrameKind, Frames, decoded_answer, encoded_question, envelope_of, frame
from clearhold.store import clock

AnswerT = TypeVar("AnswerT")

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
