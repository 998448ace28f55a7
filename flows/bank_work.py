"""The service's work over the bank's API: fetches parties, carries out actions."""

from collections.abc import Sequence
from typing import Final

import duckdb
from prometheus_client.registry import Collector

from clearhold.flows.actions.executor import ActionCounts, ActionExecutor
from clearhold.flows.actions.outcomes import BankActions
from clearhold.flows.directory.fetcher import Directory
from clearhold.flows.running.bank_http import http_client
from clearhold.store.clock import Clock
from clearhold.store.control.registry import Registry
from clearhold.store.duck.decisions import ActionTable
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.offsets import CommitWaiter, LogProgress

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
        self.directory = Directory(
            root,
            per_second=per_second,
            database=database,
            keys=registry.tenancy.bank_keys,
            appender=appender,
            progress=progress,
            clock=clock,
        )
        self._http = None if root is None else http_client(connections=MAX_CONNECTIONS)
        self._counts = ActionCounts()
        self.executor = ActionExecutor(
            None if root is None or self._http is None else BankActions(root, self._http, clock),
            table=ActionTable(database),
            registry=registry,
            appender=appender,
            waiter=CommitWaiter(progress.committed_offset),
            shards=progress.shards,
            clock=clock,
            new_id=new_id,
            counts=self._counts,
        )

    @property
    def collectors(self) -> Sequence[Collector]:
        return self.directory.counts, self._counts

    async def stop(self) -> None:
        """Cancel the executions; the next start repeats them. Close the connections."""
        await self.executor.stop()
        if self._http is not None:
            await self._http.aclose()
