"""A scorer's connection to its service: answers questions between two entries, sends rows.

A byte of shared memory says that a question waits, so a busy scorer pays nothing without one. Questions are
answered too while the thread waits for the log, or for room to send. Once a second it reports to the service, in waits
and between entries: a page of slow entries is not taken for a hung scorer.
"""

import mmap
import os
import select
import socket
from collections.abc import Callable, Sequence
from time import monotonic, perf_counter_ns
from typing import Final, NoReturn

import msgspec
import structlog

from clearhold.features.shard.questions import Question
from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.wire import (
    Buffer,
    FrameKind,
    Frames,
    decoded_question,
    encoded_answer,
    frame,
    header,
)
from clearhold.flows.stream.dataflow import RowBatch, encoded

ALIVE_EVERY_S: Final = 1.0
ANSWERED_WITHIN_S: Final = 5.0
GONE: Final = 3  # exit code of a scorer whose service is gone
_RECEIVE_BYTES: Final = 1 << 16
_NS_PER_US: Final = 1_000

log = structlog.get_logger()


class ScorerEndpoint:
    """The ``Attendant`` and the ``RowSink`` of a scorer process. Belongs to its thread."""

    def __init__(self, rows: socket.socket, questions: socket.socket, flag: mmap.mmap, shards: Shards) -> None:
        self._rows, self._questions, self._flag = rows, questions, flag
        self._shards = shards
        self._watched = [rows, questions]
        self._questions_read, self._words_read = Frames(), Frames()
        self._alive_at = 0.0
        self.committed: dict[int, int] = {}
        self.draining = self.closing = False
        self.on_pause: list[Callable[[], None]] = []
        """Called at each pause of the thread."""

        rows.settimeout(0)
        questions.settimeout(0)

    def between_entries(self) -> None:
        """Called before each entry, and before each column of rows: it costs next to nothing without a question."""
        if self._flag[0]:
            self._answer_waiting()
        self._report_alive()

    def pause(self, seconds: float) -> None:
        """Called instead of sleeping."""
        self.wait(None, seconds)

    def wait(self, descriptor: int | None, seconds: float) -> None:
        """Return when the descriptor is readable or the time is over; answers questions meanwhile."""
        deadline = monotonic() + seconds
        others = () if descriptor is None else (descriptor,)
        while True:
            for look in self.on_pause:
                look()
            self._report_alive()
            left = min(max(0.0, deadline - monotonic()), ALIVE_EVERY_S)
            readable, _, _ = select.select([*self._watched, *others], (), (), left)
            self._serve(readable)
            if descriptor in readable or monotonic() >= deadline:
                return

    def put(self, batch: RowBatch) -> None:
        """Send a batch; answers questions while there is no room."""
        parts: list[Buffer] = [*encoded(batch)]
        self._send([header(FrameKind.BATCH, sum(map(len, parts))), *parts])

    def send(self, kind: FrameKind, body: object = None) -> None:
        self._send([frame(kind, b"" if body is None else msgspec.msgpack.encode(body))])

    def leave_sockets(self) -> None:
        """In a forked child: the service must notice when the child's parent has ended."""
        self._rows.close()
        self._questions.close()

    def _report_alive(self) -> None:
        if monotonic() - self._alive_at > ALIVE_EVERY_S:
            self.send(FrameKind.ALIVE)

    def _send(self, parts: list[Buffer]) -> None:
        self._alive_at = monotonic()
        for part in parts:
            view = memoryview(part)
            while view:
                try:
                    view = view[self._rows.send(view) :]
                except BlockingIOError:
                    readable, _, _ = select.select(self._watched, [self._rows], (), ALIVE_EVERY_S)
                    self._serve(readable)
                except OSError:
                    _leave()

    def _serve(self, readable: Sequence[object]) -> None:
        if self._questions in readable:
            self._answer_waiting()
        if self._rows in readable:
            for kind, body in self._words_read.feed(self._heard()):
                if kind is FrameKind.COMMITTED:
                    self.committed |= msgspec.msgpack.decode(body, type=dict[int, int])
                elif kind is FrameKind.DRAIN:
                    self.draining = True
                elif kind is FrameKind.CLOSE:
                    self.closing = True

    def _heard(self) -> bytes:
        data = _received(self._rows)
        return _leave() if data == b"" else data or b""

    def _answer_waiting(self) -> None:
        self._flag[0] = 0  # before reading: a later question sets it again
        data = _received(self._questions)
        if data == b"" and self._questions in self._watched:  # The service stops: no more questions come.
            self._watched.remove(self._questions)
        for _, body in self._questions_read.feed(data or b""):
            self._give(frame(FrameKind.ANSWER, self._answered(body)))

    def _give(self, answer: bytes) -> None:
        """Send an answer: it is small and read at once, so there is nearly always room."""
        try:
            sent = self._questions.send(answer)
        except BlockingIOError:
            sent = 0
        except OSError:
            _leave()
        if sent == len(answer):
            return
        self._questions.settimeout(ANSWERED_WITHIN_S)
        try:
            self._questions.sendall(answer[sent:])
        except OSError:
            _leave()
        finally:
            self._questions.settimeout(0)

    def _answered(self, body: bytes) -> bytes:
        number, program_id, question = decoded_question(body)
        any_question: Question[object] = question
        began = perf_counter_ns()
        try:
            with self._shards.reading(program_id) as program:
                value = any_question.answer(program)
            return encoded_answer(number, (perf_counter_ns() - began) // _NS_PER_US, value)
        except Exception as error:  # noqa: BLE001 - one question that cannot be answered must not end the scoring
            log.error("question_failed", question=type(question).__name__, error=f"{type(error).__name__}: {error}")  # noqa: TRY400 - one line
        return encoded_answer(number, 0, None, failed=True)


def _received(connection: socket.socket) -> bytes | None:
    """The bytes that are readable now; None for nothing yet, empty at the end."""
    try:
        return connection.recv(_RECEIVE_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _leave() -> NoReturn:
    """End at once: without the service, the work of this process has no use."""
    os._exit(GONE)
