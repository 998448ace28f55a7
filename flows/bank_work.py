"""The service's work over the bank's API: fetches parties, carries out actions."""

from collections.abc import Sequence
from typing import Final

import duckdb
from prometheus_client.registry import Collector

from clearhold.flows.actions.executor import ActionExecutor
from clearhold.flows.actions.outcomes import BankActions
from clearhold.flows.directory.bank_client import BankClient
from clearhold.flows.directory.fetcher import DirectoryFetcher
from clearhold.flows.directory.waiting import FirstSeen
from clearhold.flows.running.bank_http import http_client
from clearhold.store.clock import Clock
from clearhold.store.control.registry import Registry
from clearhold.store.duck.alerts import ActionTable
from clearhold.store.duck.parties import DirectoryTable
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.offsets import LogProgress
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
            registry=registry,
            appender=appender,
            progress=progress,
            clock=clock,
            new_id=new_id,
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
