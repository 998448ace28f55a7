"""A scorer's ends of its sockets: a question that cannot be answered, and its reports that it is at work."""

import mmap
import socket
from collections.abc import Callable, Iterator

import pytest

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.shard.questions import CountParties
from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.endpoint import ALIVE_EVERY_S, ScorerEndpoint
from clearhold.flows.scorer.wire import FrameKind, Frames, decoded_answer, encoded_question, envelope_of, frame
from clearhold.flows.stream.dataflow import ShardChunk, ShardStep, StepContext, batch_of


class _Room:
    """An endpoint with the service's ends of its sockets, and a clock that only work moves."""

    def __init__(self) -> None:
        self.time_s = 100.0
        self.rows, self._rows = socket.socketpair()
        self.questions, self._questions = socket.socketpair()
        self.flag = mmap.mmap(-1, 1)
        self.endpoint = ScorerEndpoint(self._rows, self._questions, self.flag, Shards(1))
        self.rows.settimeout(0)

    def between(self, works_s: float) -> Callable[[], None]:
        """``between_entries`` after this much work."""

        def worked() -> None:
            self.time_s += works_s
            self.endpoint.between_entries()

        return worked

    def messages(self) -> list[FrameKind]:
        """The kinds of the messages on the rows socket since the last call."""
        try:
            return [kind for kind, _ in Frames().feed(self.rows.recv(1 << 16))]
        except BlockingIOError:
            return []

    def close(self) -> None:
        for each in (self.rows, self._rows, self.questions, self._questions):
            each.close()


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Room]:
    room = _Room()
    monkeypatch.setattr("clearhold.flows.scorer.endpoint.monotonic", lambda: room.time_s)
    room.endpoint.pause(0)
    assert room.messages() == [FrameKind.ALIVE]
    yield room
    room.close()


def page(entries: int) -> ShardChunk:
    """Entries that no applier knows: each is set aside as a row."""
    return ShardChunk(0, [LogEntry(0, offset, "odd", "prg_1", 1, b"") for offset in range(1, entries + 1)])


@pytest.mark.parametrize("answer", [lambda *_: object(), lambda *_: 1 / 0], ids=["no form in bytes", "an error"])
def test_given_a_question_that_cannot_be_answered_when_an_entry_is_next_then_its_asker_hears_so_and_scoring_goes_on(
    answer: object, room: _Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountParties, "answer", answer)
    room.questions.sendall(frame(FrameKind.QUESTION, encoded_question(7, "prg_1", CountParties())))
    room.flag[0] = 1

    room.endpoint.between_entries()

    ((kind, body),) = Frames().feed(room.questions.recv(1 << 16))
    envelope = envelope_of(body)
    assert (kind, envelope.number) == (FrameKind.ANSWER, 7)
    with pytest.raises(UnavailableError):
        decoded_answer(envelope, CountParties())


@pytest.mark.parametrize("committed", [0, 2_000], ids=["new entries", "a replay of committed ones"])
def test_given_a_page_of_slow_entries_when_it_is_applied_then_the_service_hears_of_work_all_the_time(
    committed: int, room: _Room
) -> None:
    step = ShardStep(StepContext(Shards(1), {0: committed}, lambda *_: None, room.between(0.1)))

    step.on_batch([page(2_000)])

    assert 170 <= room.messages().count(FrameKind.ALIVE) <= 200  # in 200 seconds


def test_given_a_page_of_quick_entries_when_it_is_applied_then_nothing_is_sent(room: _Room) -> None:
    step = ShardStep(StepContext(Shards(1), {}, lambda *_: None, room.between(ALIVE_EVERY_S / 2_500)))

    step.on_batch([page(2_000)])

    assert room.messages() == []


def test_given_rows_that_take_long_to_put_into_columns_when_they_are_sent_then_the_service_hears_of_work_before(
    room: _Room,
) -> None:
    results, _ = ShardStep(StepContext(Shards(1), {}, lambda *_: None)).on_batch([page(10)])

    room.endpoint.put(batch_of([*results], {}, between=room.between(3.0)))

    messages = room.messages()
    assert set(messages[:-1]) == {FrameKind.ALIVE}
    assert messages[-1] == FrameKind.BATCH
