"""An area of the interface: its routes and the builders of their services.

An area is one folder and one line in ``api/areas.py``.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec
from litestar.types import ControllerRouterHandler

from clearhold.api.lists.exports import Downloads
from clearhold.api.log.commands import CommandLog
from clearhold.api.log.pending_entries import PendingEntries
from clearhold.api.log.preflight_log import PreflightLog
from clearhold.api.log.recorded_preflights import RecordedPreflights
from clearhold.api.program_service import ProgramService
from clearhold.api.stores import Stores
from clearhold.api.telemetry.readiness import Readiness
from clearhold.features.core.entries.backfill import ActorsRescored
from clearhold.features.core.principal import Principal
from clearhold.features.core.program import Program
from clearhold.features.core.rows.parties import AgentImportRow
from clearhold.features.core.rules import Backtest, Rule, RuleMode, ShadowReport
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.duck.webhooks import StoredDelivery
from clearhold.store.lake.log_segments import RawEvents


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
        self, principal: Principal, rule: Rule, program_ids: Sequence[str] | None, *, key: str, days: int, full: bool
    ) -> Backtest:
        """Backtest a rule on these programs over the last ``days``; ``key`` identifies the result."""

    async def shadow(
        self,
        principal: Principal,
        rule: Rule,
        program_ids: Sequence[str] | None,
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


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """The stores and process-wide objects from which areas build their services."""

    stores: Stores
    events: RawEvents
    pending: PendingEntries
    command_log: CommandLog
    preflight_log: PreflightLog
    recorded_preflights: RecordedPreflights
    downloads: Downloads
    readiness: Readiness
    rescoring: Rescoring
    executor: ActionConcluder
    issuer: str | None  # of proofs: the public address; None when unknown
    webhook_registry: WebhookRegistry
    webhook_dispatch: WebhookDispatch
    backtests: Backtests
    agent_importer: AgentImporting

    @property
    def programs(self) -> ProgramService:
        return ProgramService(self.stores.registry.tenancy)


Provider = Callable[[Resources], object]
"""Makes one service."""

NO_SERVICES: Mapping[str, Provider] = {}


class Area(NamedTuple):
    """``provide`` builds each service under the name by which handlers request it."""

    routes: tuple[ControllerRouterHandler, ...]
    provide: Mapping[str, Provider] = NO_SERVICES
