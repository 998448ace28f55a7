"""The feed: events of commits, written to readers over HTTP as they happen.

commit ─▶ rows of tenants with readers ─▶ events, encoded once ─▶ ring of the tenant ─▶ bytes for each kind of reader
                                                                    │                       └▶ some readers at a time
                                        tables, for older events ───┴▶ a reader that catches up after its last event

A commit costs the committer a look at a dictionary while nothing is read, else one call of the event loop. All else
belongs to that loop, but for the encoding, which a thread does. The bytes of a commit are put together once for all
readers that want the same, and given to ``READERS_AT_ONCE`` before requests have their turn.

A tenant's ring begins with its first reader, and ends ``KEPT_S`` after its last one. Whatever is committed, at that
moment or later, is in the tables or in the ring; events in both are known by their place in the log.

Bounds  readers of a tenant and in all; events and bytes of a ring, and bytes of all rings; rows that are read from the
        tables for one reader; commits that wait for the feed: beyond them its readers begin at the newest one
Errors  UnavailableError when there is no room for a reader, and while the service stops
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

import structlog
from anyio import CapacityLimiter, to_thread
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.errors import ErrorCode, RiskError, UnavailableError
from clearhold.features.live.entries import LiveEntryRow
from clearhold.features.live.reading import End, Resync, Wanted
from clearhold.flows.live.answers import FeedAnswer
from clearhold.flows.live.committed import LiveCommit
from clearhold.flows.live.feed_events import FeedEvent, blocks, feed_events, quiet_block, resync_block
from clearhold.flows.live.missed import MissedEvents
from clearhold.flows.live.positions import Position
from clearhold.flows.live.readers import Connection, FeedReader, framed
from clearhold.flows.live.ring import Ring
from clearhold.flows.running.counts import counter, gauge, zeros

READERS_OF_TENANT: Final = 600
READERS_IN_ALL: Final = 1_000
KEPT_S: Final = 300.0
BEAT_EVERY_S: Final = 15.0
CHECK_EVERY_S: Final = 2.0
RING_EVENTS: Final = 20_000
RING_BYTES: Final = 16 * 1024 * 1024
RINGS_BYTES: Final = 64 * 1024 * 1024
QUEUED_COMMITS: Final = 64
READERS_AT_ONCE: Final = 16
PAUSE_S: Final = 0.001

_NO_ROOM: Final = "Too many readers of the feed are connected. Try again later."
_STOPPING: Final = "The service is stopping. Try again."

log = structlog.get_logger()


class FeedLimits(NamedTuple):
    """Numbers that a test makes small."""

    of_tenant: int = READERS_OF_TENANT
    in_all: int = READERS_IN_ALL
    ring_events: int = RING_EVENTS
    ring_bytes: int = RING_BYTES


LIMITS: Final = FeedLimits()


class _Write(NamedTuple):
    """A chunk for a reader, as of an end of its ring."""

    reader: FeedReader
    frame: bytes
    ring: Ring
    end: Position


class CommitFeed:
    """One for the process. ``run`` is its work; ``on_commit`` is called on the committer's thread, all else on the
    event loop.
    """

    def __init__(self, missed: MissedEvents, *, shards: int, limits: FeedLimits = LIMITS) -> None:
        """``shards`` counts the shards of the log."""
        self._missed, self._shards, self._limits = missed, shards, limits
        self._rings: dict[str, Ring] = {}
        self._commits: deque[LiveCommit] = deque()
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._encoding = CapacityLimiter(1)
        self._stopping = False
        self.resyncs: Counter[str] = zeros(Resync)

    @property
    def readers(self) -> int:
        return sum(ring.open for ring in [*self._rings.values()])

    def on_commit(self, commit: LiveCommit) -> None:
        """On the committer's thread. A tenant that is added behind this look begins after this commit."""
        loop = self._loop
        if not self._rings or loop is None:
            return
        with suppress(RuntimeError):  # the loop was closed, and its readers with it
            loop.call_soon_threadsafe(self._offer, commit)

    def position_of(self, event_id: str) -> Position:
        """The position after an event; ValueError for an unreadable id."""
        return Position.read_id(event_id, self._shards)

    @contextmanager
    def reading(
        self,
        tenant_id: str,
        wanted: Wanted,
        position: Position | None,
        *,
        connection: Connection | None,
        renewed: Callable[[], Wanted],
    ) -> Iterator[FeedAnswer]:
        """One answer, from a position or from now on. ``renewed`` gives what its caller may see later on, or raises its
        refusal.
        """
        if self._stopping:
            raise UnavailableError(_STOPPING, ErrorCode.STARTING)
        self._loop = asyncio.get_running_loop()
        ring = self._ring_with_room(tenant_id)
        ring.open += 1
        reader = FeedReader(tenant_id, wanted, connection, renewed)
        try:
            begin = position or ring.end.copy()
            yield FeedAnswer(reader, ring, begin, missed=self._missed, resyncs=self.resyncs)
        finally:
            ring.part(reader)
            reader.ended.cancel()
            ring.open -= 1
            ring.left_at = self._loop.time()

    def _ring_with_room(self, tenant_id: str) -> Ring:
        ring = self._rings.get(tenant_id)
        of_tenant = 0 if ring is None else ring.open
        if of_tenant >= self._limits.of_tenant or self.readers >= self._limits.in_all:
            raise UnavailableError(_NO_ROOM, ErrorCode.OVERLOADED)
        if ring is None:
            ring = self._rings[tenant_id] = Ring(Position({}))
            ring.restart(self._missed.now(tenant_id))  # after the ring is there for the committer to see
        return ring

    def stop(self) -> None:
        """End all answers; called once the service stops."""
        self._stopping = True
        for reader in self._all_readers():
            reader.end(End.STOPPING)

    async def run(self) -> None:
        """Publish commits, until cancelled; and now and then send heartbeats and look whether readers are still allowed
        to read.
        """
        loop = self._loop = asyncio.get_running_loop()
        beat_at = check_at = loop.time()
        try:
            while True:
                due_at = min(beat_at, check_at)
                if not self._commits:
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(due_at):
                            await self._changed.wait()
                self._changed.clear()
                while self._commits and loop.time() < due_at:
                    await self._publish(self._commits.popleft())
                if loop.time() >= check_at:
                    check_at = loop.time() + CHECK_EVERY_S
                    await self._check()
                if loop.time() >= beat_at:
                    beat_at = loop.time() + BEAT_EVERY_S
                    await self._beat()
        finally:
            self._commits.clear()
            self._restart_rings()

    def _all_readers(self) -> list[FeedReader]:
        return [reader for ring in self._rings.values() for reader in ring.all_readers()]

    def _offer(self, commit: LiveCommit) -> None:
        self._commits.append(commit)
        if len(self._commits) > QUEUED_COMMITS:
            log.warning("feed_behind", commits=len(self._commits))
            self._commits.clear()
            self._restart_rings()
        self._changed.set()

    def _restart_rings(self) -> None:
        """Begin behind everything that is committed, and let the readers know."""
        now = asyncio.get_running_loop().time()
        for tenant_id, ring in self._rings.items():
            ring.restart(self._missed.now(tenant_id))
            block = resync_block(Resync.BEHIND, ring.end)
            for reader in ring.all_readers():
                reader.write(framed(block), block, now)
                self.resyncs[Resync.BEHIND] += 1

    async def _publish(self, commit: LiveCommit) -> None:
        ends = {tenant_id: ring.end for tenant_id, ring in self._rings.items()}
        positions = {tenant_id: end.copy() for tenant_id, end in ends.items()}
        by_tenant = await to_thread.run_sync(_encoded, commit, positions, limiter=self._encoding)
        writes: list[_Write] = []
        rings_bytes = RINGS_BYTES // max(1, len(self._rings))
        for tenant_id, (events, ready) in by_tenant.items():
            ring = self._rings.get(tenant_id)
            if ring is None or ring.end is not ends[tenant_id]:
                continue  # It has begun again meanwhile, behind this commit.
            most_bytes = min(self._limits.ring_bytes, rings_bytes)
            ring.add(events, positions[tenant_id], most_events=self._limits.ring_events, most_bytes=most_bytes)
            for wanted, readers in ring.readers.items():
                body = b"".join(block for each, block in zip(events, ready, strict=True) if wanted.takes(each))
                frame = framed(body) if body else b""
                writes += [_Write(reader, frame, ring, ring.end) for reader in readers if frame or reader.lags]
        await self._write(writes)

    async def _write(self, writes: Sequence[_Write]) -> None:
        """Some readers at a time. One that left meanwhile gets nothing, nor one of a ring that has begun again."""
        loop = asyncio.get_running_loop()
        for number, (reader, frame, ring, end) in enumerate(writes, 1):
            if ring.end is not end:
                continue
            block = resync_block(Resync.SLOW, end) if reader.lags else b""
            if reader.write(frame, block, loop.time()):
                self.resyncs[Resync.SLOW] += 1
            if number % READERS_AT_ONCE == 0:
                await asyncio.sleep(0 if self._commits else PAUSE_S)

    async def _beat(self) -> None:
        """A comment and the position of now, so that a quiet reader's last id does not grow old."""
        writes: list[_Write] = []
        for ring in self._rings.values():
            readers = ring.all_readers()
            frame = framed(b":\n" + quiet_block(ring.end)) if readers else b""
            writes += [_Write(reader, frame, ring, ring.end) for reader in readers]
        await self._write(writes)

    async def _check(self) -> None:
        """End the answers whose callers have lost their right, regroup readers that see other programs now, and forget
        tenants without readers.
        """
        now = asyncio.get_running_loop().time()
        for tenant_id, ring in [*self._rings.items()]:
            if not ring.open and now - ring.left_at > KEPT_S:
                del self._rings[tenant_id]
        for number, reader in enumerate(self._all_readers(), 1):
            try:
                wanted = reader.renewed()
            except RiskError:
                reader.end(End.UNAUTHORIZED)
                continue
            if wanted != reader.wanted and not reader.ended.done():
                ring = self._rings[reader.tenant_id]
                ring.part(reader)
                reader.wanted = wanted
                ring.join(reader)
            if number % READERS_AT_ONCE == 0:
                await asyncio.sleep(0)


def _encoded(commit: LiveCommit, positions: dict[str, Position]) -> dict[str, tuple[list[FeedEvent], list[bytes]]]:
    """The new events of each of the tenants and their bytes, on a worker's thread; moves the positions."""
    by_tenant: dict[str, list[LiveEntryRow]] = {}
    for entry in commit.entries:
        if entry.tenant_id in positions:
            by_tenant.setdefault(entry.tenant_id, []).append(entry)
    encoded: dict[str, tuple[list[FeedEvent], list[bytes]]] = {}
    for tenant_id, own in by_tenant.items():
        position = positions[tenant_id]
        new = [each for each in feed_events(own) if not position.has_read(each.shard, each.place)]
        if new:
            encoded[tenant_id] = new, [*blocks(new, position)]
    return encoded


class FeedCollector(Collector):
    def __init__(self, feed: CommitFeed) -> None:
        self._feed = feed

    def collect(self) -> Iterator[Metric]:
        yield gauge("clearhold_feed_readers", "Connected readers of the feed.", self._feed.readers)
        resyncs = "Readers that lack events and go on from now, by reason."
        yield counter("clearhold_feed_resyncs", resyncs, self._feed.resyncs, "reason")
