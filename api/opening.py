"""Opens the scorers, the database with its log, and the stores of a data directory, before the flow starts; and the
checks of their readiness.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import duckdb
import redis.asyncio

from clearhold.api.area import RecordStores, Stores
from clearhold.api.settings import Settings
from clearhold.api.telemetry.readiness import Readiness, Replay, StandingBy
from clearhold.features.core.errors import UnavailableError
from clearhold.features.shard.shard import Shards
from clearhold.flows.engine import STATE_VERSION, Engine, Scorers
from clearhold.flows.roles import Roles
from clearhold.flows.scorer.scorers import ScorerProcesses
from clearhold.flows.scorer.scoring import LocalScorer
from clearhold.flows.scorer.supervisor import ScorerPaths
from clearhold.store.backup import OPEN_DELIVERIES, passing_backup
from clearhold.store.clock import Clock, SteadyClock, SystemClock
from clearhold.store.control.credentials import KeyUsage
from clearhold.store.control.registry import Registry
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.database import forged_entries as forged_in
from clearhold.store.duck.database import open_database
from clearhold.store.duck.open_deliveries import write_open
from clearhold.store.duck.party_index import PartyIndex
from clearhold.store.duck.waiting_alerts import WaitingAlertIndex
from clearhold.store.errors import StartupError
from clearhold.store.ids import new_id
from clearhold.store.joining.joining import join_log, open_signing_keys
from clearhold.store.keys import SecretBox, SigningKeys, UnsealError
from clearhold.store.lake.log_segments import ControlCopy, LogSegments
from clearhold.store.nodes.joined import is_joined, mark_joined
from clearhold.store.nodes.members import require_kept
from clearhold.store.nodes.sealed_files import sealed_files
from clearhold.store.nodes.shared_keys import KeysInLog
from clearhold.store.record.chain import Holes
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.reading import LastVerifications
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import BegunRedis, RedisMemory, begun_redis, connect_async, connect_sync
from clearhold.store.redis_log.health import RedisHealth
from clearhold.store.redis_log.owned import owned_log
from clearhold.store.redis_log.owner import LogOwnership
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.replicas import check_replicas, require_confirmed
from clearhold.store.state_snapshots import StateSnapshots


class OpenedScoring(NamedTuple):
    """The scorers, and the progress and log segments that they share with the committer."""

    scorers: Scorers
    progress: LogProgress
    segments: LogSegments


class BegunLog(NamedTuple):
    """The log's Redis; of a named one the ownership of the log, and the replicas that confirm each write."""

    redis: BegunRedis
    ownership: LogOwnership | None
    replicas: int

    @property
    def target(self) -> str | Path:
        return self.redis.target


def begun_log(settings: Settings, data_dir: DataDir, base_url: str, opened: ExitStack) -> BegunLog:
    """The log's Redis, started or checked, and a named one taken."""
    begun, replicas = begun_redis(settings.redis_url, data_dir, opened), settings.redis_replicas
    if replicas:
        with closing(connect_sync(begun.target)) as client:
            check_replicas(client, replicas)
    ownership = owned_log(
        settings.redis_url,
        data_dir,
        settings.node_url or base_url,
        opened,
        take_over=settings.take_over,
        may_stand_by=not settings.accept_loss and is_joined(data_dir.path),
    )
    if replicas:
        with closing(connect_sync(begun.target)) as client:
            require_confirmed(client, replicas)
    return BegunLog(begun, ownership, replicas)


def begun_scoring(settings: Settings, data_dir: DataDir, begun: BegunLog, opened: ExitStack) -> OpenedScoring:
    """Scoring that loads what it can before the log and the tables are there."""
    scoring = _scoring(settings.scorers, data_dir, begun.target, replicas=begun.replicas, with_live=settings.live)
    opened.callback(scoring.scorers.abandon)
    scoring.scorers.begin()
    return scoring


def _scoring(count: int, data_dir: DataDir, target: str | Path, *, replicas: int, with_live: bool) -> OpenedScoring:
    """Scoring by ``count`` processes; 0 uses a thread of this one."""
    progress, seals = LogProgress(data_dir.shards), data_dir.entry_seals()
    segments = LogSegments(data_dir.lake_dir, seals=seals)
    snapshots = StateSnapshots(data_dir.snapshots_dir, format_version=STATE_VERSION)
    if not count:
        local = LocalScorer(
            Shards(data_dir.shards),
            progress,
            open_reader=lambda shards: LogReader(connect_sync(target), shards, seals=seals, replicas=replicas),
            snapshots=snapshots,
            segments=segments,
        )
        return OpenedScoring(local, progress, segments)
    places = ScorerPaths(
        log=str(target),
        seal_key=seals.key,
        snapshots=data_dir.snapshots_dir,
        lake=data_dir.lake_dir,
        state_version=STATE_VERSION,
        replicas=replicas,
        with_live=with_live,
    )
    processes = ScorerProcesses(count, data_dir.shards, places, open_redis=lambda: connect_sync(target))
    return OpenedScoring(processes, progress, segments)


def joined_database(
    data_dir: DataDir, begun: BegunLog, segments: LogSegments, opened: ExitStack, *, accept_loss: bool
) -> duckdb.DuckDBPyConnection:
    """The database, after the check that database, log and directory belong together.

    It replays its log while Redis does the same and scorers load their snapshots.
    """
    database = opened.enter_context(closing(open_database(data_dir.duckdb_path)))
    begun.redis.wait()
    if begun.ownership is not None and not begun.ownership.is_owner:
        _require_entries(begun.target, segments, shards=data_dir.shards)
    join_log(data_dir, begun.target, database, segments, clock=SystemClock(), accept_loss=accept_loss)
    if begun.ownership is not None and begun.ownership.is_owner:
        mark_joined(data_dir.path)
    return database


def _require_entries(target: str | Path, segments: LogSegments, *, shards: int) -> None:
    """Refuse a standby whose next entries were trimmed: the log is whole, but this node is no longer its member."""
    with closing(connect_sync(target)) as client:
        require_kept(client, {shard: segments.shard(shard).last_offset for shard in range(shards)}, shards=shards)


def open_stores(
    data_dir: DataDir,
    begun: BegunLog,
    database: duckdb.DuckDBPyConnection,
    base_url: str,
    scoring: OpenedScoring,
    opened: ExitStack,
) -> Stores:
    clock, shards, box = SteadyClock(), data_dir.shards, SecretBox(data_dir.master_key())
    reading, hot = opened.enter_context(closing(connect_sync(begun.target))), connect_async(begun.target)
    ownership, replicas, in_log = begun.ownership, begun.replicas, _keys_in_log(begun, opened)
    reader = LogReader(reading, range(shards), seals=data_dir.entry_seals(), replicas=replicas)
    appender = _appender(data_dir, begun, hot, reader)
    clock.compare(reader.newest_at())
    control_copy = ControlCopy(reader, scoring.segments)
    registry = Registry(
        log=appender, read=reader.control_of, copy=control_copy.copy, box=box, clock=clock, new_id=new_id, shards=shards
    )
    _load_control(registry, reader, control_copy, data_dir, may_write=ownership is None or ownership.is_owner)
    return Stores(
        clock=clock,
        new_id=new_id,
        owner=scoring.scorers.owner,
        progress=scoring.progress,
        box=box,
        process=new_id(),
        hot=hot,
        memory=RedisMemory(),
        redis_health=RedisHealth(reading, replicas=replicas),
        key_usage=KeyUsage.read_from(reading),
        registry=registry,
        appender=appender,
        reader=reader,
        segments=scoring.segments,
        control_copy=control_copy,
        database=database,
        waiting_alerts=WaitingAlertIndex(database),
        parties=PartyIndex(database),
        record=wired_record(
            database,
            data_dir.record_dir,
            signing_keys=open_signing_keys(data_dir, database, box=box, clock=clock, in_log=in_log),
            clock=clock,
            registry=registry,
            base_url=base_url,
        ),
        sealed_backup=partial(_sealed_backup, data_dir, begun.target, database, clock),
        ownership=ownership,
    )


def _keys_in_log(begun: BegunLog, opened: ExitStack) -> KeysInLog | None:
    """Of a log that several nodes may have."""
    if begun.ownership is None:
        return None
    client = opened.enter_context(closing(connect_sync(begun.target)))
    return KeysInLog(client, begun.ownership, replicas=begun.replicas)


def _sealed_backup(
    data_dir: DataDir, target: str | Path, database: duckdb.DuckDBPyConnection, clock: Clock
) -> Generator[bytes, None, None]:
    with closing(connect_sync(target)) as client:
        reader = LogReader(client, range(data_dir.shards))
        try:
            with passing_backup(data_dir, reader, clock=clock) as folder:
                write_open(database, folder / OPEN_DELIVERIES)
                yield from sealed_files(folder, data_dir.master_key())
        except (StartupError, ConnectionError) as error:
            raise UnavailableError(f"No backup can be taken: {error}") from error


def _appender(data_dir: DataDir, begun: BegunLog, hot: redis.asyncio.Redis, reader: LogReader) -> LogAppender:
    """``hot`` belongs to it."""
    return LogAppender(
        hot,
        shards=data_dir.shards,
        identity=data_dir.identity,
        seals=data_dir.entry_seals(),
        numbers=[reader.newest_number(shard) for shard in range(data_dir.shards)],
        ownership=begun.ownership,
        replicas=begun.replicas,
    )


def _load_control(
    registry: Registry, reader: LogReader, control_copy: ControlCopy, data_dir: DataDir, *, may_write: bool
) -> None:
    """Read the control streams, after entries that were removed from them are back: the owner puts them back."""
    if may_write:
        control_copy.restore_removed()
    else:
        control_copy.copy_all()
    try:
        registry.tenancy.load(reader.control())
    except UnsealError as error:
        raise StartupError(f"{data_dir.master_key_path} does not open the secrets in the log: {error}") from error


def wired_record(
    database: duckdb.DuckDBPyConnection,
    folder: Path,
    *,
    signing_keys: SigningKeys,
    clock: Clock,
    registry: Registry,
    base_url: str,
) -> RecordStores:
    """The checkpoints in the tables and in the files of ``folder``, and their signer."""
    checkpoint_log = CheckpointLog(database, folder)
    checkpoint_log.open()
    host = urlsplit(base_url).hostname or base_url

    def origin_of(tenant_id: str, chain: str) -> str:
        tenant = registry.tenancy.tenants.find(tenant_id)
        return f"{host}/{tenant_id if tenant is None else tenant.slug}/{chain}"

    holes = Holes()
    checkpoints = RecordCheckpoints(
        database,
        checkpoint_log,
        signing_keys=signing_keys,
        clock=clock,
        origin_of=origin_of,
        holes=holes,
    )
    return RecordStores(
        signing_keys=signing_keys,
        checkpoint_log=checkpoint_log,
        checkpoints=checkpoints,
        verifications=LastVerifications(clock),
        holes=holes,
    )


def opened_readiness(
    stores: Stores, engine: Engine, degraded_work: Callable[[], Sequence[str]], roles: Roles
) -> Readiness:
    """Checks of the parts that run from the start."""

    def database() -> bool:
        with stores.database.cursor() as cursor:
            return cursor.execute("SELECT 1").fetchone() is not None

    def replay() -> Replay | None:
        at = engine.catch_up()
        return None if at is None else Replay.of(*at)

    def redis() -> bool:
        """Whether it has our log with all confirmed entries, as the appender demands, and takes and keeps new ones; and
        a named one for us alone.
        """
        reader, appender, shards = stores.reader, stores.appender, range(stores.progress.shards)
        confirmed = [appender.last_appended(shard) for shard in shards]  # read before the tails, which grow
        return (
            (not roles.is_open or stores.ownership is None or stores.ownership.is_current())
            and reader.identity() == appender.identity
            and all(reader.tail(shard) >= offset for shard, offset in enumerate(confirmed))
            and stores.redis_health.keeps_entries()
        )

    def flow() -> bool:
        return engine.failure is None and engine.caught_up()

    def forged_entries() -> int:
        return forged_in(stores.database) + len(stores.reader.forged_control)

    checks = {"database": database, "redis": redis, "flow": flow}
    return Readiness(
        checks,
        replay=replay,
        degraded_work=degraded_work,
        forged_entries=forged_entries,
        is_clock_doubtful=lambda: stores.clock.is_doubtful,
        removed_entries=lambda: stores.control_copy.removed,
        standing_by=lambda: None if roles.is_open else StandingBy(roles.role, engine.behind_s(), roles.owner_url),
    )
