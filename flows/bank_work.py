"""The service's work over the bank's API: fetches parties, carries out actions."""

from collections.abc import Sequence

import duckdb
from prometheus_client.registry import Collector

from clearhold.flows.actions.service import ActionExecution
from clearhold.flows.directory.service import Directory
from clearhold.store.clock import Clock
from clearhold.store.control.registry import Registry
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.offsets import LogProgress


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
        self._actions = ActionExecution(
            root,
            database=database,
            registry=registry,
            appender=appender,
            progress=progress,
            clock=clock,
            new_id=new_id,
        )
        self.executor = self._actions.executor

    @property
    def collectors(self) -> Sequence[Collector]:
        return self.directory.collector, self._actions.collector

    async def stop(self) -> None:
        """End both; the next start continues."""
        await self._actions.stop()
