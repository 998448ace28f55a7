"""Writes the events of committed rows into Redis, behind the commits: a separate thread, with a separate connection.

rows ─▶ queue of commits ─▶ entries ─▶ a transaction for every 512, packed ─▶ once committed: streams, newest scores,
           └ overflow, start, a failure of Redis, a pause:                   cursor of the shard
             the tables are read, after the cursor

All is packed while DuckDB writes the rows, so only the call of Redis follows the commit. A commit costs the
committer an append to the queue and a notice. Nothing waits for this thread: a queue that is full is dropped, and its
commits are read from the tables. The thread has the priority of requests: one that waits for a core while it holds the
interpreter's lock holds them up.

Memory    Above ``TRIM_OVER`` of Redis's limit half of the streams and of the newest scores goes each second, above
          ``SUSPEND_OVER`` nothing is written. Both lie below the half from which claims of idempotency are refused
          (``store/redis_log/connect.py``), and far below the limit of the log
Errors    none: they are logged and counted, and tried again
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from operator import attrgetter
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import Final

import duckdb
import redis
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.live.entries import LiveEntryRow
from clearhold.flows.live.committed import IsSimulated, LiveCommit, entries_of
from clearhold.flows.running.counts import Distribution, counter, gauge, histogram
from clearhold.store.clock import Clock
from clearhold.store.duck.live_rows import CommittedLiveRows
from clearhold.store.live.streams import LiveBounds, LiveStreams, LiveWrite
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import offset_at

LIVE: Final = "live"
QUEUED_COMMITS: Final = 64
ENTRIES_A_WRITE: Final = 512
PAGE_ROWS: Final = 1_024
TRIM_OVER: Final = 0.40
SUSPEND_OVER: Final = 0.45
STOP_WITHIN_S: Final = 0.5
DELAY_SECONDS_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 5, 60)
_LOOK_EVERY_S: Final = 1.0
_END_OLD_EVERY_S: Final = 60.0
_RETRY_S: Final = 0.5
_PLACE: Final = attrgetter("shard", "offset")

log = structlog.get_logger()


class LiveCounts:
    """Written by the thread, read by any."""

    def __init__(self) -> None:
        self.published = 0
        self.delays = Distribution(DELAY_SECONDS_BOUNDS)
        self.commits_dropped = 0
        self.trimmed = 0
        self.failures = 0
        self.is_suspended = False
        self.behind_since: float | None = None  # of the oldest commit that is not in the streams; monotonic


class _Queued:
    """A commit, with its writes once they are packed, and the time of the commit once it is there."""

    def __init__(self, commit: LiveCommit) -> None:
        self.commit = commit
        self.writes: list[LiveWrite] | None = None
        self.committed_at: float | None = None


class LivePublishing:
    """``is_simulated`` is called with ids of programs and tenants. Without bounds nothing is written."""

    def __init__(
        self,
        bounds: LiveBounds | None,
        *,
        client: redis.Redis,
        database: duckdb.DuckDBPyConnection,
        progress: LogProgress,
        is_simulated: IsSimulated,
        clock: Clock,
        mark: str,
    ) -> None:
        """``client`` is for this thread alone; ``mark`` names the log."""
        self.counts, self.is_on = LiveCounts(), bounds is not None
        self._bounds, self._clock, self._mark = bounds or LiveBounds(), clock, mark
        self._streams = LiveStreams(client, self._bounds)
        self._pages, self._progress, self._is_simulated = CommittedLiveRows(database), progress, is_simulated
        self._is_ready: Callable[[], bool] = lambda: True
        self._require_owner: Callable[[], None] = lambda: None
        self._queue: deque[_Queued] = deque()  # only the last one may be uncommitted
        self._changed = Condition()
        self._is_missing = True  # at first: the commits before this start
        self._stopping = False
        self._cursors: dict[int, int] = {}
        self._look_at = self._end_old_at = 0.0
        self._is_near = False  # Redis to its limit, at the last look
        self._failure: str | None = None
        self._thread = Thread(target=self._run, name=LIVE, daemon=True)

    def start(self, is_ready: Callable[[], bool], require_owner: Callable[[], None] = lambda: None) -> None:
        """Write once ``is_ready``, after a replay of the log; ``require_owner`` raises when nothing may be written."""
        self._is_ready, self._require_owner = is_ready, require_owner
        if self.is_on:
            self._thread.start()

    def before_commit(self, commit: LiveCommit) -> None:
        """Queue a commit whose rows are about to be written, on the committer's thread."""
        if self.is_on:
            with self._changed:
                self._append(commit)
                self._changed.notify()

    def on_commit(self, commit: LiveCommit) -> None:
        """The rows are written; on the committer's thread."""
        if not self.is_on:
            return
        with self._changed:
            is_queued = self._queue and self._queue[-1].commit is commit
            queued = self._queue[-1] if is_queued else self._append(commit)
            queued.committed_at = monotonic()
            self.counts.behind_since = self.counts.behind_since or queued.committed_at
            self._changed.notify()

    def _append(self, commit: LiveCommit) -> _Queued:
        if len(self._queue) == QUEUED_COMMITS:
            self.counts.commits_dropped += len(self._queue)
            self._queue.clear()
            self._is_missing = True
        self._queue.append(_Queued(commit))
        return self._queue[-1]

    def stop(self, timeout_s: float) -> None:
        """Write the queue; the next start reads from the tables what exceeds the time."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    @property
    def is_degraded(self) -> bool:
        """Whether events are held back, because Redis is nearly full or an attempt failed."""
        return self.counts.is_suspended or self._failure is not None

    def _run(self) -> None:
        while not self._is_ready():
            if self._stops_within(_LOOK_EVERY_S):
                return
        while True:
            try:
                if not self._round():
                    return
                self._note(None)
            except Exception as error:  # noqa: BLE001 - whatever failed: without this thread nothing is written
                self._note(f"{type(error).__name__}: {error}")
                self._is_missing = True
                if self._stops_within(_RETRY_S):
                    return

    def _stops_within(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping, seconds)

    def _note(self, failure: str | None) -> None:
        """Log a failure once, and its end."""
        self.counts.failures += failure is not None
        if failure is not None and self._failure is None:
            log.warning("live_failed", error=failure)
        elif failure is None and self._failure is not None:
            log.info("live_continues")
        self._failure = failure

    def _round(self) -> bool:
        """Pack or write the next commit, or write all missing ones; False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._is_missing or self._has_next(), _LOOK_EVERY_S)
            if self._stopping and (self._is_missing or not self._has_next()):
                return False
            packed = None if self._is_missing else self._next_packed()
        if packed is not None:  # before anything else that takes time
            self._write(packed)
            return True
        self._look()
        if self.counts.is_suspended:
            self._is_missing = True
            return not self._stops_within(_LOOK_EVERY_S)
        if self._is_missing:
            self._fill()
        else:
            self._pack_next()
        self._note_if_even()
        return True

    def _has_next(self) -> bool:
        """Whether there is a commit to pack or to write."""
        return bool(self._queue) and (self._queue[0].writes is None or self._queue[0].committed_at is not None)

    def _next_packed(self) -> _Queued | None:
        """The next commit, when only the write is left of it."""
        queued = self._queue[0] if self._queue else None
        return queued if queued is not None and queued.writes is not None and queued.committed_at is not None else None

    def _pack_next(self) -> None:
        with self._changed:
            queued = self._queue[0] if self._queue else None
        if queued is not None and queued.writes is None:
            queued.writes = [*self._writes_of(queued.commit.entries)]

    def _write(self, queued: _Queued) -> None:
        for write in queued.writes or ():
            self._publish(write)
        if queued.committed_at is not None:
            self.counts.delays.add(monotonic() - queued.committed_at)
        with self._changed:
            if self._queue and self._queue[0] is queued:
                self._queue.popleft()
        self._note_if_even()

    def _note_if_even(self) -> None:
        """Nothing that is committed is missing."""
        with self._changed:
            if not self._is_missing and all(queued.committed_at is None for queued in self._queue):
                self.counts.behind_since = None

    def _look(self) -> None:
        """Give back memory that the log may need, and delete old entries."""
        now, counts = monotonic(), self.counts
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EVERY_S
        share = self._streams.memory_share()
        is_near = share > TRIM_OVER
        if is_near and not self._is_near:
            log.warning("live_trims", redis_memory_share=round(share, 3))
        self._is_near = is_near
        if is_near:
            counts.trimmed += self._streams.halve()
        is_suspended = share > (TRIM_OVER if counts.is_suspended else SUSPEND_OVER)
        if is_suspended != counts.is_suspended:
            counts.is_suspended = is_suspended
            log.warning("live_suspended" if is_suspended else "live_resumed", redis_memory_share=round(share, 3))
        if now >= self._end_old_at:
            self._end_old_at = now + _END_OLD_EVERY_S
            self._streams.end_old(self._clock.now())

    def _fill(self) -> None:
        """Write the missing events, within the bounds, from the tables."""
        with self._changed:
            self._queue.clear()  # the tables have it
            self._is_missing = False
            self.counts.behind_since = self.counts.behind_since or monotonic()
        self._streams.name_log(self._mark)
        self._cursors = self._streams.cursors()
        oldest = offset_at(self._clock.now() - self._bounds.kept_us)
        for shard in range(self._progress.shards):
            after, upto = max(self._cursors.get(shard, 0), oldest), self._progress.committed_offset(shard)
            stretch = self._pages.newest(shard, after, upto, self._bounds.most_entries) if after < upto else None
            while stretch is not None and stretch.after < stretch.upto:
                rows, page_upto = self._pages.page(stretch, PAGE_ROWS)
                for write in self._writes_of(entries_of(rows, self._is_simulated)):
                    self._publish(write)
                self._look()
                if self._stopping or self.counts.is_suspended:
                    self._is_missing = True
                    return
                stretch = stretch._replace(after=page_upto)
            self._cursors[shard] = max(self._cursors.get(shard, 0), upto)

    def _writes_of(self, entries: Sequence[LiveEntryRow]) -> Iterator[LiveWrite]:
        """The entries after the cursor."""
        cursors = self._cursors
        new = [each for each in entries if each.offset > cursors.get(each.shard, 0)]
        for part, upto in _parts(new):
            yield self._streams.packed(part, upto, self._clock.now())

    def _publish(self, write: LiveWrite) -> None:
        self._require_owner()
        self.counts.published += self._streams.write(write)
        self._cursors |= write.cursors


def _parts(entries: Sequence[LiveEntryRow]) -> Iterator[tuple[Sequence[LiveEntryRow], dict[int, int]]]:
    """The entries in order, some hundred at a time, and by shard the last entry of the log that is whole with them."""
    for start in range(0, len(entries), ENTRIES_A_WRITE):
        end = start + ENTRIES_A_WRITE
        cut = {_PLACE(each) for each in entries[end : end + 1]}
        part = entries[start:end]
        yield part, {each.shard: each.offset for each in part if _PLACE(each) not in cut}


def opened_live(
    bounds: LiveBounds | None,
    target: str | Path,
    database: duckdb.DuckDBPyConnection,
    progress: LogProgress,
    is_simulated: IsSimulated,
    opened: ExitStack,
    *,
    clock: Clock,
    mark: str,
) -> LivePublishing:
    """The streams of a service whose flow ends before ``opened``; ``mark`` names its log."""
    client = opened.enter_context(closing(connect_sync(target)))

    live = LivePublishing(
        bounds,
        client=client,
        database=database,
        progress=progress,
        is_simulated=is_simulated,
        clock=clock,
        mark=mark,
    )
    opened.callback(live.stop, STOP_WITHIN_S)
    return live


class LiveCollector(Collector):
    """Reads the counts at each scrape."""

    def __init__(self, publishing: LivePublishing) -> None:
        self._publishing = publishing

    def collect(self) -> Iterator[Metric]:
        yield gauge("clearhold_live_enabled", "1 if events are written to Redis, else 0.", self._publishing.is_on)
        counts = self._publishing.counts
        since = counts.behind_since
        yield counter("clearhold_live_published_entries", "Entries written to streams.", counts.published)
        yield histogram("clearhold_live_delay_seconds", "Commit to its entries in the streams.", counts.delays)
        lag = "Age of the oldest commit that is not in the streams."
        yield gauge("clearhold_live_lag_seconds", lag, 0.0 if since is None else monotonic() - since)
        suspended = "1 while nothing is written because Redis is nearly full, else 0."
        yield gauge("clearhold_live_suspended", suspended, counts.is_suspended)
        trimmed = "Entries and hashes deleted because Redis is nearly full."
        yield counter("clearhold_live_trimmed_entries", trimmed, counts.trimmed)
        dropped = "Commits dropped from a full queue, and read from the tables."
        yield counter("clearhold_live_dropped_commits", dropped, counts.commits_dropped)
        yield counter("clearhold_live_failures", "Failed attempts, which are repeated.", counts.failures)
