"""The execution of actions in a running service, on its event loop."""

from typing import Final

import duckdb

from clearhold.flows.actions.bank_actions import BankActions
from clearhold.flows.actions.collector import ActionCollector, ActionCounts
from clearhold.flows.actions.executor import ActionExecutor
from clearhold.flows.running.bank_http import http_client
from clearhold.store.clock import Clock
from clearhold.store.control.registry import Registry
from clearhold.store.duck.actions import ActionTable
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.offsets import CommitWaiter, LogProgress

MAX_CONNECTIONS: Final = 64


class ActionExecution:
    """``root`` is the URL of the bank's API; without one every action is a dry run."""

    def __init__(
        self,
        root: str | None,
        *,
        database: duckdb.DuckDBPyConnection,
        registry: Registry,
        appender: LogAppender,
        progress: LogProgress,
        clock: Clock,
        new_id: IdFactory,
    ) -> None:
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
    def collector(self) -> ActionCollector:
        return ActionCollector(self._counts)

    async def stop(self) -> None:
        """Cancel the executions; the next start repeats them. Close the connections."""
        await self.executor.stop()
        if self._http is not None:
            await self._http.aclose()
