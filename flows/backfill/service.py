"""Backfills of this process: one at a time, one a program and kind of subject, resumed after a crash.

A request joins the waiting or running backfill of its program and kind, unless entries of the program came after the
start of that one: then it gets the next backfill, which takes them in. A backfill continues when its caller
disconnects, ends with the process, and is resumed by the next one.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

import duckdb
import msgspec
import structlog

from clearhold.features.catalogue.vector import FEATURE_VERSION
from clearhold.features.core.entries.commands import ActorsRescored, Progress, Stage, Subjects
from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1
from clearhold.features.shard.questions import Owner, ReadArrivals, ReadCard
from clearhold.flows.backfill.rescoring import ActorBackfill, BackfillMeans, TransferBackfill, subjects_of
from clearhold.flows.backfill.step_log import BackfillCounts, BackfillSteps, StepLog
from clearhold.flows.running.supervision import Workers, end, result_of
from clearhold.store.duck.scorings.backfills import BackfillRows

STOPPING: Final = "The service is stopping; the scores are given again after its next start."
THREADS: Final = 4  # one reads while others score, or wait for the processes that do
ACTOR_SCORERS: Final = f"{ers_v1.VERSION} {crs_v1.VERSION} {ars_v1.VERSION}"

Key = tuple[str, Subjects]


class UnderWay(NamedTuple):
    key: Key
    steps: BackfillSteps
    task: asyncio.Task[Progress]


log = structlog.get_logger()


class BackfillService:
    """Belongs to the API's event loop."""

    def __init__(
        self,
        step_log: StepLog,
        *,
        owner: Owner,
        database: duckdb.DuckDBPyConnection,
        new_id: Callable[[], str],
        folder: Path,
    ) -> None:
        self._log, self._owner, self._new_id, self._rows = step_log, owner, new_id, BackfillRows(database)
        self._workers = Workers(THREADS, "backfill")
        self._turn = asyncio.Lock()
        self._under_way: dict[str, UnderWay] = {}  # by id, oldest first
        self._stopped = False
        self.counts = BackfillCounts()
        self._means = BackfillMeans(step_log, owner, database, self._workers, self.counts, folder)

    async def rescore_transfers(self, tenant_id: str, program_id: str, backfill_id: str | None) -> int:
        """Score every transfer again; returns their number. A repeated id returns the result of its first run."""
        return (await self._result(tenant_id, program_id, Subjects.TRANSFERS, backfill_id)).done

    async def rescore_actors(self, tenant_id: str, program_id: str, backfill_id: str | None) -> ActorsRescored:
        """Score every entity, agent and counterparty again; returns the number of each."""
        at = await self._result(tenant_id, program_id, Subjects.ACTORS, backfill_id)
        return await subjects_of(self._owner, program_id, actors=at.actors, parties=at.counterparties)

    async def resume(self) -> None:
        """Resume the backfills that an earlier process left unfinished; called once its log entries are committed."""
        for row in await self._workers.run(self._rows.unfinished):
            key = (row.program_id, Subjects(row.subjects))
            if row.id not in self._under_way and not self._stopped:
                log.info("backfill_resumes", backfill_id=row.id, program_id=row.program_id, done=row.done)
                self._begin(row.tenant_id, key, msgspec.convert(row, Progress, from_attributes=True))

    async def resume_all(self) -> None:
        """Resume, and wait for all to end; raises when one failed, which can be resumed again."""
        await self.resume()
        under_way = [each.task for each in self._under_way.values()]
        if under_way:
            await asyncio.wait(under_way)
        for task in under_way:
            if not task.cancelled():
                task.result()

    def cancel(self) -> None:
        """End the backfills under way and start no more; the next process resumes them."""
        if self._stopped:
            return
        self._stopped = True
        self._workers.stopping.set()
        for each in self._under_way.values():
            each.task.cancel()

    async def stop(self) -> None:
        """Cancel, and return when no backfill is under way."""
        self.cancel()
        await end(each.task for each in self._under_way.values())
        self._workers.close()

    async def _result(self, tenant_id: str, program_id: str, subjects: Subjects, backfill_id: str | None) -> Progress:
        key = (program_id, subjects)
        fresh = _fresh(backfill_id or self._new_id(), subjects)
        if self._newest(key) is None and not self._stopped:
            earlier = await self._workers.run(self._earlier, tenant_id, key, fresh.id)
            if earlier is not None and earlier.stage == Stage.DONE:
                return earlier
            fresh = earlier or fresh
            if fresh.started_offset and await self._is_overtaken(program_id, fresh):
                fresh = msgspec.structs.replace(fresh, started_offset=0)  # it starts over under its id
        joined = self._under_way.get(fresh.id) or await self._joinable(key)
        if self._stopped:
            raise UnavailableError(STOPPING, ErrorCode.STARTING)
        return await result_of((joined or self._begin(tenant_id, key, fresh)).task, STOPPING)

    async def _joinable(self, key: Key) -> UnderWay | None:
        """The newest backfill of the key, if it takes in everything that was delivered so far."""
        while (newest := self._newest(key)) is not None:
            if self._stopped or not newest.steps.is_started:
                return newest
            if not newest.steps.progress.started_offset:
                await newest.steps.in_log.wait()
                continue
            is_overtaken = await self._is_overtaken(key[0], newest.steps.progress)
            if self._newest(key) is newest:
                return None if is_overtaken else newest
        return None

    def _newest(self, key: Key) -> UnderWay | None:
        return next((each for each in reversed(self._under_way.values()) if each.key == key), None)

    async def _is_overtaken(self, program_id: str, progress: Progress) -> bool:
        """Whether entries of the program came after the start of a backfill."""
        return (await self._owner.query(program_id, ReadArrivals())).value.newest_offset > progress.started_offset

    def _earlier(self, tenant_id: str, key: Key, backfill_id: str) -> Progress | None:
        """The backfill of that id, else one that an earlier process left unfinished."""
        by_id = self._rows.find(tenant_id, key[0], backfill_id)
        left = (row for row in self._rows.unfinished() if (row.program_id, row.subjects) == key)
        row = by_id or next(left, None)
        return None if row is None else msgspec.convert(row, Progress, from_attributes=True)

    def _begin(self, tenant_id: str, key: Key, progress: Progress) -> UnderWay:
        steps = BackfillSteps(self._log, tenant_id, key[0], progress)
        task = asyncio.create_task(self._run(steps))
        begun = self._under_way[progress.id] = UnderWay(key, steps, task)
        task.add_done_callback(lambda _: self._ended(progress.id, task))
        return begun

    def _ended(self, backfill_id: str, task: asyncio.Task[Progress]) -> None:
        self._under_way.pop(backfill_id).steps.in_log.set()  # Callers that waited for its start look again.
        if not task.cancelled():
            task.exception()  # Retrieved and logged: it may have no caller left.

    async def _run(self, steps: BackfillSteps) -> Progress:
        subjects = steps.progress.subjects
        async with self._turn:
            began = monotonic()
            self.counts.running[subjects] += 1
            try:
                await self._score(steps)
                await steps.finish()
            except Exception:
                self.counts.failures += 1
                log.exception("backfill_failed", program_id=steps.program_id, subjects=subjects.value)
                raise
            finally:
                self.counts.running[subjects] -= 1
            seconds = monotonic() - began
            self.counts.seconds.add(seconds)
            steps.log_progress("backfill_done", seconds=round(seconds, 3))
            return steps.progress

    async def _score(self, steps: BackfillSteps) -> None:
        """Score all; transfers once more when the card changed meanwhile, since only the new card's scores count.

        A backfill without a start in the log, or with earlier versions, starts over under its id.
        """
        card, of_actors = None, steps.progress.subjects is Subjects.ACTORS
        while card != (card := (await self._owner.query(steps.program_id, ReadCard())).value):
            at, version = steps.progress, ACTOR_SCORERS if of_actors else card.compiled().version
            if not at.started_offset or (at.feature_version, at.score_version) != (FEATURE_VERSION, version):
                await steps.start(_fresh(at.id, at.subjects, version))
            steps.log_progress("backfill_under_way")
            await (ActorBackfill(steps, self._means) if of_actors else TransferBackfill(steps, self._means, card)).run()


def _fresh(backfill_id: str, subjects: Subjects, score_version: str = "") -> Progress:
    return Progress(id=backfill_id, subjects=subjects, score_version=score_version, feature_version=FEATURE_VERSION)
