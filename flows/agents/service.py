"""Imports of agents in this process: on request, and every hour for each program ``agents``. One at a time.

A request joins the waiting or running import of its program. A full request does not join an ordinary import: it waits
for it, and then runs. A full import reads from the beginning and appends again the items of earlier imports, which
changes nothing. An import continues when its caller disconnects, and ends with the process; its appended items stay,
and the next import reads the rest.

Unit    instants in microseconds, durations in seconds
Errors  GatewayError without an index, and when it cannot be read; UnavailableError when the service stops, and when the
        log takes nothing for minutes
"""

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final

import duckdb
import structlog

from clearhold.features.core.entries.directory import ImportStage
from clearhold.features.core.errors import ErrorCode, GatewayError, UnavailableError
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.parties import AgentImportRow
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.flows.agents.importer import AgentImport, ImportCounts, ImportProgress, ItemLog, KnownItems
from clearhold.flows.agents.scan_client import ScanClient, Sleep
from clearhold.flows.backfill.step_log import Settle
from clearhold.flows.running.bank_http import http_client
from clearhold.flows.running.supervision import end, result_of
from clearhold.store.clock import Clock
from clearhold.store.control.tenancy import Programs
from clearhold.store.duck.parties import AgentImports, Agents
from clearhold.store.redis_log.appender import LogAppender

EVERY_US: Final = HOUR_US
LOOK_EVERY_S: Final = 30.0
UNSET: Final = "This service has no scan index: CLEARHOLD_SCAN_INDEX_URL is not set."
STOPPING: Final = "The service is stopping; imported items stay, and the next import reads the rest."

log = structlog.get_logger()


class AgentImporter:
    """``root`` is the URL of the scan index; without one nothing is imported. Belongs to one event loop."""

    def __init__(
        self,
        root: str | None,
        *,
        database: duckdb.DuckDBPyConnection,
        programs: Programs,
        appender: LogAppender,
        shards: int,
        settle: Settle,
        clock: Clock,
        new_id: Callable[[], str],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._root, self._programs, self._appender, self._shards = root, programs, appender, shards
        self._settle, self._clock, self._new_id, self._sleep = settle, clock, new_id, sleep
        self._agents, self._imports = Agents(database), AgentImports(database)
        self._turn = asyncio.Lock()
        self._under_way: dict[tuple[str, bool], asyncio.Task[AgentImportRow]] = {}  # by program and whether full
        self._progress: dict[str, ImportProgress] = {}
        self._known: dict[str, KnownItems] = {}
        self._stopped = False
        self.counts = ImportCounts()

    async def run_import(self, program: Program, *, full: bool = False) -> AgentImportRow:
        """Import now, or join the import under way; returns the counters of the finished import."""
        if self._root is None:
            raise GatewayError(UNSET, ErrorCode.SCAN_INDEX_UNSET)
        row = await self._joined(program, full=full)
        if row.stage != ImportStage.DONE:
            raise GatewayError(row.reason or "The import failed.", ErrorCode.SCAN_INDEX_FAILED)
        return row

    def progress_of(self, program_id: str) -> ImportProgress | None:
        """The progress of the running import."""
        return self._progress.get(program_id)

    async def run(self) -> None:
        """Import every hour, until cancelled; begin when the log of the start is committed."""
        while self._root is not None:
            for program in self._programs.with_slug(AGENTS_SLUG):
                newest = await asyncio.to_thread(self._imports.newest, program.tenant_id, program.id)
                if newest is None or abs(self._clock.now() - newest.updated_at) >= EVERY_US or self._is_left(newest):
                    await self._refreshed(program)
            await asyncio.sleep(LOOK_EVERY_S)

    def cancel(self) -> None:
        """Cancel the imports, so that their callers are answered; the next ones continue."""
        self._stopped = True
        for task in self._under_way.values():
            task.cancel()

    async def stop(self) -> None:
        self.cancel()
        await end(self._under_way.values())

    def _is_left(self, newest: AgentImportRow) -> bool:
        """Whether the newest import began, and neither ended nor is under way."""
        return newest.stage == ImportStage.BEGUN and self._task_of(newest.program_id, full=False) is None

    async def _refreshed(self, program: Program) -> None:
        try:
            await self._joined(program, full=False)
        except UnavailableError:
            return
        except Exception as error:  # noqa: BLE001 - whatever failed: the next hour tries again
            log.warning("agent_import_broke", program_id=program.id, error=f"{type(error).__name__}: {error}")

    async def _joined(self, program: Program, *, full: bool) -> AgentImportRow:
        if self._stopped:
            raise UnavailableError(STOPPING, ErrorCode.STARTING)
        task = self._task_of(program.id, full=full)
        if task is None:
            wanted = (program.id, full)
            task = self._under_way[wanted] = asyncio.create_task(self._import(program, full=full))
            task.add_done_callback(lambda done: self._ended(wanted, done))
        return await result_of(task, STOPPING)

    def _task_of(self, program_id: str, *, full: bool) -> "asyncio.Task[AgentImportRow] | None":
        """The import that answers this request; a full one answers both kinds."""
        ordinary = None if full else self._under_way.get((program_id, False))
        return ordinary or self._under_way.get((program_id, True))

    def _ended(self, wanted: tuple[str, bool], task: "asyncio.Task[AgentImportRow]") -> None:
        del self._under_way[wanted]
        if not task.cancelled():
            task.exception()  # Retrieved: it may have no caller left.

    async def _import(self, program: Program, *, full: bool) -> AgentImportRow:
        assert self._root is not None
        async with self._turn, http_client(connections=1) as http:
            began = monotonic()
            self.counts.running += 1
            try:
                client = ScanClient(self._root, http, self._clock, sleep=self._sleep)
                progress = await self._imported(program, client, full=full)
            finally:
                self.counts.running -= 1
                self._progress.pop(program.id, None)
            self.counts.seconds.add(monotonic() - began)
        row = await asyncio.to_thread(self._imports.ended, program.tenant_id, program.id, progress.id)
        assert row is not None, "a committed import has a row of its end"
        return row

    async def _imported(self, program: Program, client: ScanClient, *, full: bool) -> ImportProgress:
        progress = ImportProgress(id=self._new_id(), started_at=self._clock.now())
        self._progress[program.id] = progress
        if full:
            self._known[program.id] = KnownItems()
        known = self._known.setdefault(program.id, KnownItems())
        item_log = ItemLog(
            program.id, self._appender, shards=self._shards, settle=self._settle, clock=self._clock, known=known
        )
        last = None if full else await asyncio.to_thread(self._imports.done, program.tenant_id, program.id)
        first_registered = partial(self._agents.first_registered, program.tenant_id, program.id)
        await AgentImport(
            progress, client, item_log, last=last, first_registered=first_registered, counts=self.counts
        ).run()
        known.turn()
        return progress
