"""Readers are proven again, and get heartbeats, also while commits come faster than they can be published."""

import asyncio
from typing import Final, cast

import pytest

from clearhold.features.core.errors import ErrorCode, UnauthorizedError
from clearhold.features.live.reading import End, Wanted
from clearhold.flows.live import feed as feed_module
from clearhold.flows.live.committed import LiveCommit
from clearhold.flows.live.feed import CommitFeed
from clearhold.flows.live.missed import MissedEvents
from clearhold.flows.live.positions import Position

EVERY_S: Final = 0.05
NO_ROWS: Final = LiveCommit({}, lambda _: False)


class NothingMissed:
    def now(self, _tenant_id: str) -> Position:
        return Position({})

    def is_unknown(self, _position: Position) -> bool:
        return False


class Line:
    """A connection that takes everything."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False


def refused() -> Wanted:
    raise UnauthorizedError("The token has ended.", ErrorCode.TOKEN_EXPIRED)


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> CommitFeed:
    """A feed to which another commit has come whenever one is published."""
    busy = CommitFeed(cast("MissedEvents", NothingMissed()), shards=4)

    async def publish(commit: LiveCommit) -> None:
        await asyncio.sleep(EVERY_S / 5)
        busy._offer(commit)

    monkeypatch.setattr(busy, "_publish", publish)
    monkeypatch.setattr(feed_module, "CHECK_EVERY_S", EVERY_S)
    monkeypatch.setattr(feed_module, "BEAT_EVERY_S", EVERY_S)
    return busy


def test_given_commits_without_a_pause_when_a_caller_loses_its_right_then_its_answer_ends(feed: CommitFeed) -> None:
    async def ended() -> End:
        with feed.reading("tenant", Wanted(), None, connection=Line(), renewed=refused) as answer:
            async for _ in answer.pieces():
                pass
            work = asyncio.create_task(feed.run())
            feed._offer(NO_ROWS)
            try:
                return await asyncio.wait_for(asyncio.shield(answer.ended), 40 * EVERY_S)
            finally:
                work.cancel()

    assert asyncio.run(ended()) is End.UNAUTHORIZED


def test_given_commits_without_a_pause_then_heartbeats_come_and_commits_are_published(feed: CommitFeed) -> None:
    line, published = Line(), feed._publish
    counts: list[int] = []

    async def publish(commit: LiveCommit) -> None:
        counts.append(line.written.count(b":\n"))
        await published(commit)

    async def run() -> None:
        feed._publish = publish  # type: ignore[method-assign]
        with feed.reading("tenant", Wanted(), None, connection=line, renewed=Wanted) as answer:
            async for _ in answer.pieces():
                pass
            feed._offer(NO_ROWS)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(feed.run(), 10 * EVERY_S)

    asyncio.run(run())
    assert len(counts) > 10
    assert counts[-1] > 2
