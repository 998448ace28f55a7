"""Scores every transfer of a program again: from its stored vector, or by a replay of the log.

start ─▶ committed ─▶ newest stored scorings ─▶ of this feature version: scored page by page ─▶ changes ──────────▶ log
                                             └▶ of other versions: the log replayed ─▶ the last scorings ─────────▶ log

The stream continues meanwhile: threads read and replay at low priority, separate processes score.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import duckdb
import structlog

from clearhold.features.catalogue.vector import FEATURE_VERSION
from clearhold.features.core.entries.backfill import Rescored
from clearhold.features.measurement.rescored import scored_with
from clearhold.features.shard.questions import CardInForce
from clearhold.flows.backfill.collector import BackfillCounts
from clearhold.flows.backfill.page_scoring import PageScoring
from clearhold.flows.backfill.replay import LogReplay
from clearhold.flows.backfill.step_log import BackfillSteps, StepLog
from clearhold.flows.running.workers import Workers
from clearhold.store.duck.scorings.newest import NewestScorings, ScoringPage

PAGE_TRANSFERS: Final = 16_384
STEP_TRANSFERS: Final = 200
"""Results in one log entry: the longest that a reader of the shard waits for."""

PROCESSES: Final = 2
PROCESSES_FROM_TRANSFERS: Final = 50_000
"""Fewer are scored by a thread, before a process would have started."""

log = structlog.get_logger()


class TransferBackfill:
    """One run over one program; its results go into its steps."""

    def __init__(
        self,
        steps: BackfillSteps,
        *,
        step_log: StepLog,
        database: duckdb.DuckDBPyConnection,
        workers: Workers,
        counts: BackfillCounts,
        folder: Path,
        card: CardInForce,
    ) -> None:
        self._steps, self._log, self._database = steps, step_log, database
        self._workers, self._counts, self._folder, self._card = workers, counts, folder, card

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
        """Read the next page while others are scored; take the results in the order of the pages."""
        processes = PROCESSES if newest.current >= PROCESSES_FROM_TRANSFERS else 0
        async with PageScoring(self._workers, self._card, processes=processes) as scoring:
            under_way: deque[tuple[ScoringPage, asyncio.Task[list[Rescored]]]] = deque()
            after = self._steps.progress.position
            while (page := await self._workers.run(newest.page, after, PAGE_TRANSFERS)) is not None:
                after = page.upto
                under_way.append((page, scoring.begin(page.table)))
                if len(under_way) > scoring.width:
                    await self._take(*under_way.popleft())
            while under_way:
                await self._take(*under_way.popleft())

    async def _take(self, page: ScoringPage, scored: asyncio.Task[list[Rescored]]) -> None:
        await self._add(await scored, count=page.count, position=page.upto)

    async def _add(self, results: Sequence[Rescored], *, count: int, position: int) -> None:
        """Append results in several steps; only the last one moves the position, so a crash in between repeats them."""
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
        steps.log_progress("backfill_replays", transfers=newest.total - newest.current)
        with TemporaryFile(dir=self._folder) as scorings:
            replay = LogReplay(self._log.shard_of(steps.program_id), steps.program_id, scorings)
            history = self._log.history(steps.program_id, steps.progress.started_offset, stopping=stopping)
            await run(lambda: replay.read(history, stopping=stopping))
            unknown = await run(replay.choose, newest.others())
            if unknown:
                log.warning("backfill_cannot_replay", program_id=steps.program_id, transfers=unknown)
            if not steps.progress.replaying:
                steps.note(replaying=True, position=0)
            results, card = replay.results(steps.progress.position), self._card.compiled()
            while some := await run(lambda: list(islice(results, STEP_TRANSFERS))):
                at, count = steps.progress, len(some)
                rescored = tuple(scored_with(card, result) for _, result in some)
                await steps.add(rescored, done=at.done + count, changed=at.changed + count, position=some[-1][0])
                self._counts.note_transfers(count, changed=count)
