"""Readers and their connections: a slow one loses events, is told so once, and goes on."""

import asyncio
from collections.abc import Callable

from clearhold.features.live.reading import End, Wanted
from clearhold.flows.live.readers import BACKLOG_BYTES, STALL_WITHIN_S, FeedReader, framed

RESYNC = b"event: resync\n\n"


class Line:
    """A connection whose other side reads when told to."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.waiting = 0

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self.waiting += len(data)

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def is_closing(self) -> bool:
        return False


def on_a_loop(test: Callable[[FeedReader, Line], None]) -> None:
    async def run() -> None:
        line = Line()
        test(FeedReader("tenant", Wanted(), line, Wanted), line)

    asyncio.run(run())


def test_given_a_reader_that_does_not_read_when_it_does_again_then_it_is_told_once_and_goes_on() -> None:
    def test(reader: FeedReader, line: Line) -> None:
        big = b"x" * (BACKLOG_BYTES + 1)
        assert not reader.write(big, RESYNC, 0.0)
        lagged_at_first = reader.lags
        assert not reader.write(b"lost 1", RESYNC, 1.0)
        assert (lagged_at_first, reader.lags) == (False, True)
        line.waiting = 10  # a part of it was read
        assert not reader.write(b"lost 2", RESYNC, 2.0)
        line.waiting = 0
        assert reader.write(b"lost 3", RESYNC, 3.0)
        assert not reader.write(b"next", RESYNC, 4.0)
        assert line.written == [big, framed(RESYNC), b"next"]

    on_a_loop(test)


def test_given_a_reader_that_reads_nothing_for_long_when_written_to_then_its_answer_ends() -> None:
    def test(reader: FeedReader, line: Line) -> None:
        reader.write(b"x" * (BACKLOG_BYTES + 1), RESYNC, 0.0)
        reader.write(b"lost", RESYNC, 1.0)
        reader.write(b"lost", RESYNC, 1.0 + STALL_WITHIN_S)
        assert not reader.ended.done()
        reader.write(b"lost", RESYNC, 1.1 + STALL_WITHIN_S)
        assert reader.ended.result() is End.STALLED
        line.waiting = 0
        assert not reader.write(b"late", RESYNC, 99.0)
        assert len(line.written) == 1

    on_a_loop(test)


def test_given_a_body_when_framed_then_it_is_a_chunk_of_http() -> None:
    assert framed(b"id: 1\n\n" * 3) == b"15\r\n" + b"id: 1\n\n" * 3 + b"\r\n"
