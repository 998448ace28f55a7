"""An engine over real stores in a temporary directory, and a bank that writes straight to its log."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import redis

from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.shard.shard import Shards
from clearhold.flows.engine import STATE_VERSION, Engine
from clearhold.flows.scorer.scoring import LocalScorer
from clearhold.flows.stream.dataflow import Reader
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import open_database
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.record.chain import ChainWriter
from clearhold.store.redis_log.owner import LogOwnership
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader, shard_key
from clearhold.store.state_snapshots import StateSnapshots
from tests.support.waiting import eventually

SHARDS = 4
APPENDED_AT = 1_790_000_000_000_000

OpenReader = Callable[[Sequence[int]], Reader]


def append(client: redis.Redis, program_id: str, bodies: Iterable[bytes], kind: EntryKind = EntryKind.BANK) -> None:
    """Put entries into the program's shard as the API would."""
    pipeline = client.pipeline(transaction=False)
    for body in bodies:
        fields: Any = {"k": kind.value, "p": program_id, "t": APPENDED_AT, "b": body}
        pipeline.xadd(shard_key(shard_of(program_id, SHARDS)), fields)
    pipeline.execute()


def shards_of(engine: Engine) -> Shards:
    """The state itself, which nobody but a test reads from outside."""
    assert isinstance(engine.scorers, LocalScorer)
    return engine.scorers.shards


class EngineRoom:
    """Where an engine can be started again and again on the same stores."""

    def __init__(
        self, folder: Path, open_redis: Callable[[], redis.Redis], open_reader: OpenReader | None = None
    ) -> None:
        """``open_reader`` reads the log that is scored, where it is not in Redis."""
        self.folder, self.open_redis = folder, open_redis
        self._open_reader = open_reader or (lambda shards: LogReader(open_redis(), shards))

    @contextmanager
    def running(self, ownership: LogOwnership | None = None) -> Iterator[Engine]:
        """An engine that has caught up; stopped cleanly on leaving."""
        with closing(open_database(self.folder / "clearhold.duckdb")) as database:
            progress, segments = LogProgress(SHARDS), LogSegments(self.folder / "lake")
            scorer = LocalScorer(
                Shards(SHARDS),
                progress,
                open_reader=self._open_reader,
                snapshots=StateSnapshots(self.folder / "checkpoints", format_version=STATE_VERSION),
                segments=segments,
            )
            engine = Engine(
                scorer,
                progress,
                open_redis=self.open_redis,
                database=database,
                segments=segments,
                chains=ChainWriter(database, self.folder / "record"),
                clock=SystemClock(),
                ownership=ownership,
            )
            engine.start()
            eventually(lambda: engine.ended or engine.caught_up())
            assert engine.caught_up(), engine.failure
            try:
                yield engine
            finally:
                engine.stop(60.0)
            assert engine.failure is None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Read the tables while no engine runs."""
        with closing(duckdb.connect(str(self.folder / "clearhold.duckdb"), read_only=True)) as connection:
            return connection.execute(query).fetchall()

    def change(self, statement: str) -> None:
        """Change the tables while no engine runs, as no engine ever would."""
        with closing(duckdb.connect(str(self.folder / "clearhold.duckdb"))) as connection:
            connection.execute(statement)

    def snapshots(self) -> list[Path]:
        return sorted((self.folder / "checkpoints").glob("*.checkpoint"))
