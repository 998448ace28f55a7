"""Every transfer of a program scored again: from its stored vector, or by a replay of the log.

start ─▶ committed ─▶ newest stored scorings ─▶ of this feature version: scored page by page ─▶ what differs ─▶ log
                                             └▶ of another one: the log replayed ─▶ the last scorings ─────────▶ log

Reading and scoring are done by threads, which give way after every few transfers; the stream goes on beside them.
"""

import asyncio
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import duckdb
import structlog

from features.backfill import Rescored, rescored
from features.vector import FEATURE_VERSION
from flows.backfill_log import BackfillLog, Steps
from flows.backfill_replay import Replay
from flows.counts import BackfillCounts
from flows.workers import Workers
from store.duck.scorings import NewestScorings, Page

PAGE_TRANSFERS: Final = 16_384
STEP_TRANSFERS: Final = 200
"""Results in one log entry: a reader of the shard waits for as many at most."""

_SLICE_TRANSFERS: Final = 200
_PAUSE_S: Final = 0.0

log = structlog.get_logger()


class TransferBackfill:
    """One run over one program; what it finds goes into its steps."""

    def __init__(
        self,
        steps: Steps,
        *,
        backfill_log: BackfillLog,
        database: duckdb.DuckDBPyConnection,
        workers: Workers,
        counts: BackfillCounts,
        folder: Path,
    ) -> None:
        self._steps, self._log, self._database = steps, backfill_log, database
        self._workers, self._counts, self._folder = workers, counts, folder

    async def run(self) -> None:
        steps, workers = self._steps, self._workers
        with NewestScorings(
            self._database,
            tenant_id=steps.tenant_id,
            program_id=steps.program_id,
            upto=steps.progress.started_offset,
            feature_version=FEATURE_VERSION,
        ) as newest:
            await workers.run(newest.find, interrupt=newest.interrupt)
            steps.note(total=newest.total)
            if not steps.progress.replaying:
                await self._score_stored(newest)
            if newest.current < newest.total:
                await self._replay(newest)

    async def _score_stored(self, newest: NewestScorings) -> None:
        """The next page is read while one is scored."""
        run = self._workers.run
        page = await run(newest.page, self._steps.progress.position, PAGE_TRANSFERS)
        while page is not None:
            following = asyncio.create_task(run(newest.page, page.upto, PAGE_TRANSFERS))
            try:
                await self._add(await run(self._scored, page), count=page.count, position=page.upto)
            finally:
                await asyncio.wait([following])
            page = following.result()

    def _scored(self, page: Page) -> list[Rescored]:
        """The results that differ from what is stored."""
        found: list[Rescored] = []
        while (some := list(islice(page.rows, _SLICE_TRANSFERS))) and not self._workers.stopping.is_set():
            found += [result for row in some if (result := rescored(row)) is not None]
            time.sleep(_PAUSE_S)
        return found

    async def _add(self, results: Sequence[Rescored], *, count: int, position: int) -> None:
        """Results go out in several steps; only the last of them moves on, so a crash in between repeats them."""
        steps = self._steps
        last = max(0, (len(results) - 1) // STEP_TRANSFERS * STEP_TRANSFERS)
        for start in range(0, last, STEP_TRANSFERS):
            await steps.add(tuple(results[start : start + STEP_TRANSFERS]))
        at = steps.progress
        changed = at.changed + len(results)
        await steps.add(tuple(results[last:]), done=at.done + count, changed=changed, position=position)
        self._counts.note_transfers(count, changed=len(results))

    async def _replay(self, newest: NewestScorings) -> None:
        steps, run = self._steps, self._workers.run
        stopping = self._workers.stopping
        steps.tell("backfill_replays", transfers=newest.total - newest.current)
        with TemporaryFile(dir=self._folder) as kept:
            replay = Replay(self._log.shard_of(steps.program_id), steps.program_id, kept)
            history = self._log.history(steps.program_id, steps.progress.started_offset, stopping=stopping)
            await run(lambda: replay.read(history, stopping=stopping))
            unknown = await run(replay.want, newest.others())
            if unknown:
                log.warning("backfill_cannot_replay", program_id=steps.program_id, transfers=unknown)
            if not steps.progress.replaying:
                steps.note(replaying=True, position=0)
            results = replay.results(steps.progress.position)
            while some := await run(lambda: list(islice(results, STEP_TRANSFERS))):
                at, count = steps.progress, len(some)
                found = tuple(result for _, result in some)
                await steps.add(found, done=at.done + count, changed=at.changed + count, position=some[-1][0])
                self._counts.note_transfers(count, changed=count)
