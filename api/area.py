"""An area of the interface: its routes, and how the services that they call are made.

An area is one folder and one line in ``api/areas.py``.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec
from litestar.types import ControllerRouterHandler

from clearhold.api.lists.exports import Downloads
from clearhold.api.log.commands import CommandLog
from clearhold.api.log.pending_entries import PendingEntries
from clearhold.api.log.preflight_log import PreflightLog
from clearhold.api.log.recorded_preflights import RecordedPreflights
from clearhold.api.stores import Stores
from clearhold.api.telemetry.readiness import Readiness
from clearhold.features.core.backtests import Backtest, ShadowReport
from clearhold.features.core.entries.backfill import ActorsRescored
from clearhold.features.core.principal import Principal
from clearhold.features.core.program import Program
from clearhold.features.core.rows.agents import AgentImportRow
from clearhold.features.core.rules import Rule, RuleMode
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.duck.webhooks import StoredDelivery
from clearhold.store.lake.raw_events import RawEvents


class Rescoring(Protocol):
    """Rescores the transfers or the actors of a program. A caller that goes away stops nothing."""

    async def rescore_transfers(self, tenant_id: str, program_id: str, backfill_id: str | None) -> int: ...

    async def rescore_actors(self, tenant_id: str, program_id: str, backfill_id: str | None) -> ActorsRescored: ...


class ActionConcluder(Protocol):
    """Carries out approved actions. A caller that goes away stops nothing."""

    async def conclude(self, tenant_id: str, action_id: str, *, within_s: float) -> None:
        """Have an action carried out that is approved, and wait for its outcome no longer than this."""


class WebhookDispatch(Protocol):
    """Delivers events to endpoints. A caller that goes away stops nothing."""

    @property
    def allow_local(self) -> bool:
        """Whether endpoints on this machine are delivered to."""

    async def ping(self, endpoint: Endpoint, cause: str) -> StoredDelivery:
        """Enqueue a ``ping``; the same cause gives the same delivery."""

    async def redeliver(self, endpoint: Endpoint, delivery_id: str) -> StoredDelivery | None:
        """Make a delivery due at once; None when the endpoint has none of this id."""


class Backtests(Protocol):
    """Evaluates rules over stored transfers. What a caller may see of them is the principal's."""

    async def run(self, principal: Principal, rule: Rule, *, key: str, days: int, full: bool) -> Backtest:
        """The backtest of a rule over the days before now; ``key`` becomes its own."""

    async def shadow(
        self, principal: Principal, rule: Rule, mode: RuleMode, *, version: str, since: int
    ) -> ShadowReport:
        """What a rule has matched live in a mode in which it is counted; ``version`` has had it since ``since``."""


class AgentImporting(Protocol):
    """Imports agents from the scan index. A caller that goes away stops nothing."""

    async def run_import(self, program: Program, *, full: bool = False) -> AgentImportRow:
        """Import now, or wait for the import under way; a full one reads everything, and waits for full ones only."""

    def progress_of(self, program_id: str) -> "ImportUnderWay | None":
        """How far the import is that is under way."""


class ImportUnderWay(Protocol):
    """How far an import is; ``reading`` is the list that it reads."""

    id: str
    started_at: int
    reading: str | None
    agents: int
    profiles: int
    settlements_scanned: int
    skipped: Counter[str]


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What areas make their services from: the stores, and all that exists once for the process."""

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
    issuer: str | None  # of proofs: the public address; None where it is not known
    webhook_registry: WebhookRegistry
    webhook_dispatch: WebhookDispatch
    backtests: Backtests
    agent_importer: AgentImporting


Provider = Callable[[Resources], object]
"""Makes one service."""

NO_SERVICES: Mapping[str, Provider] = {}


class Area(NamedTuple):
    """``provide`` makes each service under the name by which a handler asks for it."""

    routes: tuple[ControllerRouterHandler, ...]
    provide: Mapping[str, Provider] = NO_SERVICES
