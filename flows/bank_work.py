"""The service's work with the bank: fetches parties, carries out actions, delivers webhooks."""

from collections.abc import Callable, Sequence
from typing import Final

import duckdb
from prometheus_client.registry import Collector

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.flows.actions.executor import ActionExecutor
from clearhold.flows.actions.outcomes import BankActions
from clearhold.flows.directory.fetcher import DirectoryFetcher
from clearhold.flows.directory.waiting import FirstSeen
from clearhold.flows.running.bank_http import BankClient, http_client
from clearhold.flows.webhooks.dispatcher import WebhookDispatcher
from clearhold.flows.webhooks.outbox import WebhookCollector, WebhookCounts, WebhookOutbox
from clearhold.flows.webhooks.sender import GuardedNetwork, Resolver, Sender
from clearhold.store.clock import Clock
from clearhold.store.control.registry import Registry
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.duck.alerts import ActionTable
from clearhold.store.duck.inputs import CommittedLimits
from clearhold.store.duck.parties import DirectoryTable
from clearhold.store.duck.webhooks import WebhookDeliveries
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.tables import RowTables

MAX_CONNECTIONS: Final = 64


class BankWork:
    """``root`` is the URL of the bank's API. Without one nothing is fetched, and every action is a dry run."""

    def __init__(
        self,
        root: str | None,
        *,
        per_second: int,
        database: duckdb.DuckDBPyConnection,
        registry: Registry,
        appender: LogAppender,
        progress: LogProgress,
        clock: Clock,
        new_id: IdFactory,
        require_owner: Callable[[], None] = lambda: None,
    ) -> None:
        keys, self._http = registry.tenancy.bank_keys, http_client(connections=MAX_CONNECTIONS)
        self._fetches = root is not None
        self._first_seen = FirstSeen(has_key=lambda tenant_id: keys.of_tenant(tenant_id) is not None)
        self._fetcher = DirectoryFetcher(
            BankClient(root or "", self._http, clock),
            table=DirectoryTable(database),
            first_seen=self._first_seen,
            keys=keys,
            appender=appender,
            progress=progress,
            clock=clock,
            per_second=per_second,
        )
        self.executor = ActionExecutor(
            None if root is None else BankActions(root, self._http, clock),
            table=ActionTable(database),
            limits=CommittedLimits(database),
            registry=registry,
            appender=appender,
            progress=progress,
            clock=clock,
            new_id=new_id,
            require_owner=require_owner,
        )
        self.collectors: Sequence[Collector] = (self._fetcher.counts, self.executor.counts)

    def offer(self, rows: RowTables) -> None:
        """Take the parties of a commit; for the committer's thread."""
        if self._fetches:
            self._first_seen.offer(rows)

    async def fetch_parties(self) -> None:
        """Fetch until cancelled; begin when the log of the start is committed."""
        if self._fetches:
            await self._fetcher.run()

    async def stop(self) -> None:
        """Cancel the executions; the next start repeats them. Close the connections."""
        await self.executor.stop()
        await self._http.aclose()


KEPT_US: Final = 30 * DAY_US
"""Ended deliveries can be read, and sent again, for this long."""

KEPT_LISTENED_US: Final = DAY_US
"""Deliveries to a listener are never attempted, so they do not end; they can be read for this long."""

_FORGET_EVERY_US: Final = HOUR_US


class Webhooks:
    """``allow_local``: deliver to endpoints on this machine too."""

    def __init__(
        self,
        tenancy: Tenancy,
        registry: WebhookRegistry,
        database: duckdb.DuckDBPyConnection,
        *,
        clock: Clock,
        allow_local: bool,
        require_owner: Callable[[], None] = lambda: None,
    ) -> None:
        counts = WebhookCounts()
        self.registry, self._table, self._clock = registry, WebhookDeliveries(database), clock
        self._endpoints = tenancy.webhooks
        self._forgotten_at = 0
        self.outbox = WebhookOutbox(tenancy, clock=clock, counts=counts)
        self.collector = WebhookCollector(counts, tenancy.webhooks.disabled_count, clock=clock)
        self.dispatcher = WebhookDispatcher(
            tenancy=tenancy,
            table=self._table,
            sender=Sender(GuardedNetwork(Resolver(), allow_local=allow_local)),
            slow_sender=Sender(GuardedNetwork(Resolver(), allow_local=allow_local)),
            disable=registry.disable,
            clock=clock,
            counts=counts,
            allow_local=allow_local,
            require_owner=require_owner,
        )

    def forget_when_due(self) -> None:
        """Delete deliveries past their retention, once an hour; for the maintenance thread."""
        now = self._clock.now()
        if abs(now - self._forgotten_at) >= _FORGET_EVERY_US:
            self._forgotten_at = now
            self._table.forget_settled(now - KEPT_US)
            listened = self._endpoints.listened_ids()
            if listened:
                self._table.forget_of(listened, now - KEPT_LISTENED_US)
