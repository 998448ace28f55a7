"""The engine over real stores in a separate directory, without HTTP: what the stream benchmarks run on."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

import msgspec
import redis

from bench.log_feed import Appender, Feed, feed_of
from bench.stream_events import Traffic
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.events import EventRow
from clearhold.features.shard.shard import Shards
from clearhold.flows.engine import STATE_VERSION, Engine
from clearhold.flows.scorer.scorers import ScorerProcesses
from clearhold.flows.scorer.scoring import LocalScorer
from clearhold.flows.scorer.supervisor import SCORER, ScorerPaths
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import DEFAULT_SHARDS, DataDir
from clearhold.store.duck.database import open_database
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.record.chain import ChainWriter
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.state_snapshots import StateSnapshots
from clearhold.store.tables import RowTables

PREFIX: Final = "clearhold-bench-"
TENANT: Final = "0c6ec3a6-9a53-4d4a-8a3c-0a3f1c6f2b11"
_POLL_S: Final = 0.01


class MarkedProgress(LogProgress):
    """Progress that remembers when each commit was marked: (shard, offset, microseconds)."""

    def __init__(self, shards: int) -> None:
        super().__init__(shards)
        self.marks: list[tuple[int, int, int]] = []

    def mark_committed(self, offsets: Mapping[int, int]) -> None:
        super().mark_committed(offsets)
        now = time.time_ns() // 1_000
        self.marks += [(shard, offset, now) for shard, offset in offsets.items()]


class TimedCommits:
    """Remembers of each commit when it was done, in seconds, and how many bank events it recorded."""

    def __init__(self) -> None:
        self._commits: list[tuple[float, int]] = []

    def add(self, rows: RowTables) -> None:
        events = rows.get(EventRow.__name__)
        self._commits.append((time.perf_counter(), 0 if events is None else events.num_rows))

    def events_per_s(self) -> float:
        """From the end of the first commit to that of the last; nothing before counts, so no start of a process."""
        (began, _), *later = (commit for commit in self._commits if commit[1])
        return sum(events for _, events in later) / (later[-1][0] - began)


class Workbench:
    """A data directory with Redis and DuckDB; removed when it is left."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            path = Path(opening.enter_context(TemporaryDirectory(prefix=PREFIX)))
            self.data_dir = opening.enter_context(DataDir.open(path))
            server = EmbeddedRedis(path)
            server.start()
            opening.callback(server.stop)
            self.socket = server.socket_path
            self.redis: redis.Redis = opening.enter_context(closing(connect_sync(self.socket)))
            self.database = opening.enter_context(closing(open_database(self.data_dir.duckdb_path)))
            self._opened = opening.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._opened.close()

    def engine(
        self,
        progress: LogProgress,
        *,
        scorers: int = 0,
        module: str = SCORER,
        on_commit: Callable[[RowTables], None] | None = None,
    ) -> Engine:
        """An engine that scores in this process, or in ``scorers`` processes, each of which runs ``module``."""
        segments = LogSegments(self.data_dir.lake_dir)
        places = ScorerPaths(
            log=str(self.socket),
            seal_key=None,
            snapshots=self.data_dir.snapshots_dir,
            lake=self.data_dir.lake_dir,
            state_version=STATE_VERSION,
        )
        scorer = LocalScorer(
            Shards(progress.shards),
            progress,
            open_reader=lambda shards: LogReader(connect_sync(self.socket), shards),
            snapshots=StateSnapshots(self.data_dir.snapshots_dir, format_version=STATE_VERSION),
            segments=segments,
        )
        processes = ScorerProcesses(
            max(1, scorers), progress.shards, places, open_redis=lambda: connect_sync(self.socket), module=module
        )
        return Engine(
            processes if scorers else scorer,
            progress,
            open_redis=lambda: connect_sync(self.socket),
            database=self.database,
            segments=segments,
            chains=ChainWriter(self.database, self.data_dir.record_dir),
            clock=SystemClock(),
            on_commit=on_commit,
        )

    def declare(self, feeds: Sequence[Feed], *, appended_at: int) -> None:
        """The programs' own entries, which come before their events."""
        bodies = [
            msgspec.json.encode(Program(id=feed.program_id, tenant_id=TENANT, slug=feed.traffic.name, name="Bench"))
            for feed in feeds
        ]
        Appender(self.redis).append(
            [
                (feed.shard, EntryKind.PROGRAM, feed.program_id, appended_at, body)
                for feed, body in zip(feeds, bodies, strict=True)
            ]
        )


def programs(
    count: int, *, entities: int, counterparties: int, start_at: int, step_us: int, in_order: bool = False
) -> list[Feed]:
    """``count`` programs, each in a separate shard as long as there are shards."""
    taken: dict[int, Feed] = {}
    for number in range(DEFAULT_SHARDS * 64):
        traffic = Traffic(
            f"p{number}",
            entities=entities,
            counterparties=counterparties,
            start_at=start_at,
            step_us=step_us,
            in_order=in_order,
        )
        feed = feed_of(f"program-{number}", traffic, shards=DEFAULT_SHARDS)
        taken.setdefault(feed.shard, feed)
        if len(taken) == count:
            break
    return list(taken.values())


def wait_until_caught_up(engine: Engine, *, within_s: float) -> None:
    """Return when all that the log held at the engine's start is committed."""
    deadline = time.monotonic() + within_s
    while not engine.caught_up():
        if engine.ended:
            raise SystemExit(f"The flow failed: {engine.failure}")
        if time.monotonic() > deadline:
            raise SystemExit(f"The log was not caught up with in {within_s:.0f} s.")
        time.sleep(_POLL_S)
