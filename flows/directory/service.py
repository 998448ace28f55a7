"""The directory of a running service: takes new parties from the committer's thread, fetches on the event loop."""

import duckdb

from clearhold.flows.directory.bank_client import BankClient
from clearhold.flows.directory.fetcher import CONCURRENT_FETCHES, DirectoryCounts, DirectoryFetcher
from clearhold.flows.directory.first_seen import FirstSeen
from clearhold.flows.running.bank_http import http_client
from clearhold.store.clock import Clock
from clearhold.store.control.bank_keys import BankKeys
from clearhold.store.duck.directory import DirectoryTable
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.offsets import LogProgress
from clearhold.store.tables.row_tables import RowTables


class Directory:
    """``root`` is the URL of the bank's API; without one nothing is fetched, with or without keys."""

    def __init__(
        self,
        root: str | None,
        *,
        per_second: int,
        database: duckdb.DuckDBPyConnection,
        keys: BankKeys,
        appender: LogAppender,
        progress: LogProgress,
        clock: Clock,
    ) -> None:
        self._root, self._per_second, self._database = root, per_second, database
        self._keys, self._appender, self._progress, self._clock = keys, appender, progress, clock
        self._first_seen = FirstSeen(has_key=lambda tenant_id: keys.of_tenant(tenant_id) is not None)
        self.counts = DirectoryCounts()

    def offer(self, rows: RowTables) -> None:
        """Take the parties of a commit; for the committer's thread."""
        if self._root is not None:
            self._first_seen.offer(rows)

    async def run(self) -> None:
        """Fetch until cancelled; begin when the log of the start is committed."""
        if self._root is None:
            return
        async with http_client(connections=CONCURRENT_FETCHES) as http:
            fetcher = DirectoryFetcher(
                BankClient(self._root, http, self._clock),
                table=DirectoryTable(self._database),
                first_seen=self._first_seen,
                keys=self._keys,
                appender=self._appender,
                shards=self._progress.shards,
                committed_offset=self._progress.committed_offset,
                clock=self._clock,
                per_second=self._per_second,
                counts=self.counts,
            )
            await fetcher.run()
