"""An area of the interface: its routes and services, and the opened stores and other resources of which they are made.

An area is one folder and one line in ``api/areas.py``. Nothing is opened or started here.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import duckdb
import msgspec
import redis.asyncio
from litestar.types import ControllerRouterHandler

from clearhold.api.lists.exports import Downloads
from clearhold.api.log.commands import CommandLog, PendingEntries
from clearhold.api.log.preflight_log import PreflightLog, RecordedPreflights
from clearhold.api.program_service import ProgramService
from clearhold.api.telemetry.readiness import Readiness
from clearhold.features.core.entries.commands import ActorsRescored
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.rows.parties import AgentImportRow
from clearhold.features.core.rules import Backtest, Rule, RuleMode, ShadowReport
from clearhold.features.live.reading import End, Wanted
from clearhold.features.shard.questions import Owner
from clearhold.features.windows.id_index import IdIndex
from clearhold.store.clock import ServiceClock
from clearhold.store.control.credential_registry import CredentialRegistry
from clearhold.store.control.credentials import KeyUsage
from clearhold.store.control.registry import Registry
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.duck.alerts import EntryResults
from clearhold.store.duck.inputs import Preflights
from clearhold.store.duck.party_index import PartyIndex
from clearhold.store.duck.waiting_alerts import WaitingAlertIndex
from clearhold.store.duck.webhooks import StoredDelivery
from clearhold.store.ids import IdFactory
from clearhold.store.keys import SecretBox, SigningKeys
from clearhold.store.lake.log_segments import ControlCopy, LogSegments, RawEvents
from clearhold.store.record.chain import Holes
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.reading import LastVerifications
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import RedisMemory
from clearhold.store.redis_log.health import RedisHealth
from clearhold.store.redis_log.owner import LogOwnership
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader


class RecordStores(msgspec.Struct, frozen=True, kw_only=True):
    """The stores of the record beside the chains themselves."""

    signing_keys: SigningKeys
    checkpoint_log: CheckpointLog
    checkpoints: RecordCheckpoints
    verifications: LastVerifications
    holes: Holes


class Stores(msgspec.Struct, frozen=True, kw_only=True):
    """``owner`` answers queries on program state, ``hot`` is Redis on the event loop, ``process`` the id of
    this run.
    """

    clock: ServiceClock
    new_id: IdFactory
    owner: Owner
    progress: LogProgress
    box: SecretBox
    process: str
    hot: redis.asyncio.Redis
    memory: RedisMemory
    redis_health: RedisHealth
    key_usage: KeyUsage
    registry: Registry
    appender: LogAppender
    reader: LogReader
    segments: LogSegments
    control_copy: ControlCopy
    database: duckdb.DuckDBPyConnection
    waiting_alerts: WaitingAlertIndex
    parties: PartyIndex
    record: RecordStores
    sealed_backup: Callable[[], Generator[bytes, None, None]]  # of the directory, taken in a worker thread
    ownership: LogOwnership | None = None  # of a named Redis

    def require_owner(self) -> None:
        """Raise NotOwnerError unless this service owns its log; always the case with the embedded Redis."""
        if self.ownership is not None:
            self.ownership.require_current()

    @property
    def credentials(self) -> CredentialRegistry:
        return CredentialRegistry(self.registry, box=self.box, clock=self.clock, new_id=self.new_id)

    @property
    def webhook_registry(self) -> WebhookRegistry:
        return WebhookRegistry(self.registry, box=self.box, clock=self.clock, new_id=self.new_id)


class Rescoring(Protocol):
    """Rescores a program's transfers or actors; a call continues when its caller disconnects."""

    async def rescore_transfers(self, tenant_id: str, program_id: str, backfill_id: str | None) -> int: ...

    async def rescore_actors(self, tenant_id: str, program_id: str, backfill_id: str | None) -> ActorsRescored: ...


class ActionConcluder(Protocol):
    """Executes approved actions; a call continues when its caller disconnects."""

    async def conclude(self, tenant_id: str, action_id: str, *, within_s: float) -> None:
        """Execute an approved action and wait at most ``within_s`` for its outcome."""


class WebhookDispatch(Protocol):
    """Delivers events to endpoints; a call continues when its caller disconnects."""

    @property
    def allow_local(self) -> bool:
        """Whether endpoints on this machine are delivered to."""

    async def ping(self, endpoint: Endpoint, cause: str) -> StoredDelivery:
        """Enqueue a ``ping``; the same cause gives the same delivery."""

    async def redeliver(self, endpoint: Endpoint, delivery_id: str) -> StoredDelivery | None:
        """Make a delivery due at once; None when the endpoint has none of this id."""


class Backtests(Protocol):
    """Evaluates rules over the stored transfers that the principal may read."""

    async def run(
        self, principal: Principal, rule: Rule, program_ids: Sequence[str], *, key: str, days: int, full: bool
    ) -> Backtest:
        """Backtest a rule on these programs over the last ``days``; ``key`` identifies the result."""

    async def shadow(
        self,
        principal: Principal,
        rule: Rule,
        program_ids: Sequence[str],
        mode: RuleMode,
        *,
        version: str,
        since: int,
    ) -> ShadowReport:
        """Live matches of a rule in a counting mode, in which ``version`` is since ``since``."""


class AgentImporting(Protocol):
    """Imports agents from the scan index; a call continues when its caller disconnects."""

    async def run_import(self, program: Program, *, full: bool = False) -> AgentImportRow:
        """Import now, or wait for the import under way. A full import reads everything and waits for full ones only."""

    def progress_of(self, program_id: str) -> "ImportUnderWay | None":
        """Progress of the import under way."""


class ImportUnderWay(Protocol):
    """Progress of an import; ``reading`` is the list being read."""

    id: str
    started_at: int
    reading: str | None
    agents: int
    profiles: int
    settlements_scanned: int
    skipped: Counter[str]


class LiveReading(Protocol):
    """One answer of the feed."""

    ended: "asyncio.Future[End]"

    def pieces(self) -> AsyncIterator[bytes]:
        """What brings the reader to now; after that it is given further events as they come."""

    def farewell(self, reason: End) -> bytes:
        """The last event."""


class LiveFeed(Protocol):
    """Events of commits, for readers that get them as they happen."""

    def position_of(self, event_id: str) -> object:
        """Where the answer continues; ValueError for an unreadable id."""

    def reading(
        self,
        tenant_id: str,
        wanted: Wanted,
        position: Any,
        *,
        connection: Any,
        renewed: Callable[[], Wanted],
    ) -> AbstractContextManager[LiveReading]:
        """One answer, from a position or from now on. ``renewed`` gives what its caller may see later on, or raises its
        refusal.
        """


class Resources:
    """The stores and process-wide objects of which areas make their services.

    The pre-flight log is opened once the flow has caught up.
    """

    def __init__(
        self,
        stores: Stores,
        *,
        readiness: Readiness,
        rescoring: Rescoring,
        executor: ActionConcluder,
        webhook_dispatch: WebhookDispatch,
        backtests: Backtests,
        agent_importer: AgentImporting,
        feed: LiveFeed,
        issuer: str | None,
    ) -> None:
        """``issuer`` of proofs is the public address; None when it is unknown."""
        progress, self.stores, self.issuer = stores.progress, stores, issuer
        self.readiness, self.rescoring, self.executor = readiness, rescoring, executor
        self.webhook_registry, self.webhook_dispatch = stores.webhook_registry, webhook_dispatch
        self.backtests, self.agent_importer, self.feed = backtests, agent_importer, feed
        self.programs, self.downloads = ProgramService(stores.registry.tenancy), Downloads()
        self.waiting_alerts = stores.waiting_alerts
        self.events, self.pending = RawEvents(stores.reader, stores.segments), PendingEntries(progress)
        self.recorded_preflights = RecordedPreflights(
            committed=Preflights(stores.database), events=self.events, progress=progress
        )
        self.command_log = CommandLog(
            appender=stores.appender,
            pending=self.pending,
            progress=progress,
            results=EntryResults(stores.database),
            clock=stores.clock,
            new_id=stores.new_id,
        )
        self.preflight_log = PreflightLog(
            appender=stores.appender,
            recorded=self.recorded_preflights,
            pending=self.pending,
            keyed=IdIndex(),
            shards=progress.shards,
        )


Provider = Callable[[Resources], object]
"""Makes one service."""

NO_SERVICES: Mapping[str, Provider] = {}


class Area(NamedTuple):
    """``provide`` builds each service under the name by which handlers request it."""

    routes: tuple[ControllerRouterHandler, ...]
    provide: Mapping[str, Provider] = NO_SERVICES
