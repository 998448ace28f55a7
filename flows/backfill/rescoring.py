"""Scores every transfer of a program again, from its stored vector or by a replay of the log, or every actor.

start ─▶ committed ─▶ newest stored scorings ─▶ facts came in order: the vectors scored page by page ─▶ changes ──▶ log
                                             └▶ some came late: the log applied in its own time's order ─▶ changes ▶ log
start ─▶ committed ─▶ their newest and strongest transfers ─▶ steps that name some actors, then counterparties ─▶ log

Vectors of another feature version are replaced by a replay as well. The condition: ``Arrivals``.
The stream continues meanwhile: threads read and replay at low priority, separate processes score. Entities, agents and
counterparties are scored a few at a time, in the flow that owns their state. Their detectors run again too, on each
party's newest transfer and on the strongest of each entity; see docs/decisions/0017-actor-backfill-runs-detectors.md.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, NamedTuple

import duckdb
import structlog

from clearhold.features.catalogue.vector import FEATURE_VERSION
from clearhold.features.core.entries.commands import ActorRange, ActorsRescored, Rescored
from clearhold.features.measurement.assessment import scored_with
from clearhold.features.scorers.ers_v1 import DAY, LIVES
from clearhold.features.shard.questions import ActorIds, CardInForce, CounterpartyIds, CountParties, Owner, ReadArrivals
from clearhold.flows.backfill.page_scoring import PageScoring
from clearhold.flows.backfill.replay import LogReplay, OrderedLog, gently
from clearhold.flows.backfill.step_log import BackfillCounts, BackfillSteps, StepLog
from clearhold.flows.running.supervision import Workers
from clearhold.store.duck.scorings.backfills import Fading, NewestScorings, PartyTransfers, ScoringPage

PAGE_TRANSFERS: Final = 16_384
STEP_TRANSFERS: Final = 200
"""Results in one log entry: the longest that a reader of the shard waits for."""

_READ_AT_ONCE: Final = 50  # entries or results, before a thread rests

PROCESSES: Final = 2
PROCESSES_FROM_TRANSFERS: Final = 50_000
"""Fewer are scored by a thread, before a process would have started."""

log = structlog.get_logger()


class BackfillMeans(NamedTuple):
    """The same for every backfill of a service; ``folder`` is for temporary files."""

    step_log: StepLog
    owner: Owner
    database: duckdb.DuckDBPyConnection
    workers: Workers
    counts: BackfillCounts
    folder: Path


class TransferBackfill:
    """One run over one program; its results go into its steps."""

    def __init__(self, steps: BackfillSteps, means: BackfillMeans, card: CardInForce) -> None:
        self._steps, self._card, self._compiled = steps, card, card.compiled()
        self._log, self._owner, self._database, self._workers, self._counts, self._folder = means

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
            arrived = (await self._owner.query(steps.program_id, ReadArrivals())).value
            steps.note(total=newest.total)
            if newest.others or arrived.needs_replay or steps.progress.replaying:
                await self._replay(newest, reads_scores=arrived.reads_scores)
            else:
                await self._score_stored(newest)

    async def _score_stored(self, newest: NewestScorings) -> None:
        """Read the next page while others are scored; take the results in the order of the pages."""
        processes = PROCESSES if newest.total >= PROCESSES_FROM_TRANSFERS else 0
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
        await self._add(await scored, count=page.transfers, position=page.upto)

    async def _add(self, results: Sequence[Rescored], *, count: int, position: int) -> None:
        """Append results in several steps; only the last one moves the position, so a crash in between repeats them."""
        steps = self._steps
        last = max(0, (len(results) - 1) // STEP_TRANSFERS * STEP_TRANSFERS)
        for start in range(0, last, STEP_TRANSFERS):
            await steps.add(tuple(results[start : start + STEP_TRANSFERS]))
        at = steps.progress
        changed = at.changed + len(results)
        await steps.add(tuple(results[last:]), done=at.done + count, changed=changed, position=position)
        self._counts.transfers += count
        self._counts.changed += len(results)

    async def _replay(self, newest: NewestScorings, *, reads_scores: bool) -> None:
        steps, run, stopping = self._steps, self._workers.run, self._workers.stopping
        if not steps.progress.replaying:
            steps.note(replaying=True, position=0, done=0, changed=0)
        steps.log_progress("backfill_replays")
        with TemporaryFile(dir=self._folder) as file, TemporaryFile(dir=self._folder) as scorings:
            ordered = OrderedLog(file)
            history = self._log.history(steps.program_id, steps.progress.started_offset, stopping=stopping)
            await run(lambda: ordered.read(gently(history, _READ_AT_ONCE), stopping=stopping))
            shard, program_id = self._log.shard_of(steps.program_id), steps.program_id
            replay = LogReplay(shard, program_id, ordered, scorings, reads_scores=reads_scores)
            await run(
                lambda: replay.run(
                    stopping=stopping,
                    progressed=lambda applied: steps.log_if_due(applied=applied, entries=len(ordered)),
                )
            )
            await self._compare(newest, replay)
            results = gently(replay.results(steps.progress.position), _READ_AT_ONCE)
            while some := await run(lambda: _next_of(results)):
                changed = tuple(scored_with(self._compiled, result) for _, result in some if result is not None)
                await self._add(changed, count=len(some), position=some[-1][0])

    async def _compare(self, newest: NewestScorings, replay: LogReplay) -> None:
        """Note the stored scorings; those of transfers that are not in the log are scored from their vectors."""
        steps, run, after, unknown = self._steps, self._workers.run, 0, 0
        is_fresh = steps.progress.position == 0
        while (page := await run(newest.page, after, PAGE_TRANSFERS)) is not None:
            after = page.upto
            count, results = await run(replay.compare, page.rows, self._compiled)
            unknown += count
            if count and is_fresh:
                await self._add(results, count=count, position=0)
        if unknown:
            log.warning("backfill_cannot_replay", program_id=steps.program_id, transfers=unknown)


def _next_of(results: Iterator[tuple[int, Rescored | None]]) -> list[tuple[int, Rescored | None]]:
    """The next results, up to a page of them or a step of changed ones."""
    some, changed = list[tuple[int, Rescored | None]](), 0
    for number, result in results:
        some.append((number, result))
        changed += result is not None
        if changed >= STEP_TRANSFERS or len(some) >= PAGE_TRANSFERS:
            break
    return some


STEP_SUBJECTS: Final = 100
_STRONGEST: Final = 4  # transfers of an entity that are scored again
FADING: Final = Fading(LIVES, DAY, _STRONGEST)
_COUNTED_AT_ONCE: Final = 2_000


class ActorBackfill:
    def __init__(self, steps: BackfillSteps, means: BackfillMeans) -> None:
        self._steps = steps
        _, self._owner, self._database, self._workers, self._counts, _ = means

    async def run(self) -> None:
        steps, workers = self._steps, self._workers
        if not steps.progress.total:
            of = (await self._owner.query(steps.program_id, CountParties())).value
            steps.note(total=of.actors + of.counterparties, actors=of.actors, counterparties=of.counterparties)
        upto = steps.progress.started_offset
        with PartyTransfers(
            self._database, tenant_id=steps.tenant_id, program_id=steps.program_id, upto=upto
        ) as transfers:
            await workers.run(transfers.find, FADING, interrupt=transfers.interrupt)
            while steps.progress.position < steps.progress.total:
                await self._step(transfers)

    async def _step(self, transfers: PartyTransfers) -> None:
        at = self._steps.progress
        first = at.position
        if first < at.actors:
            upto = min(first + STEP_SUBJECTS, at.actors)
            ids = (await self._owner.query(self._steps.program_id, ActorIds(first, upto))).value
            named = await self._workers.run(transfers.of_actors, ids)
            evaluate = ActorRange(actors=(first, upto), transfers=named)
        else:
            upto = min(first + STEP_SUBJECTS, at.total)
            indices = (first - at.actors, upto - at.actors)
            ids = (await self._owner.query(self._steps.program_id, CounterpartyIds(*indices))).value
            named = await self._workers.run(transfers.of_counterparties, ids)
            evaluate = ActorRange(counterparties=indices, transfers=named)
        await self._steps.add(evaluate=evaluate, done=upto, position=upto)
        self._counts.actors += upto - first


async def subjects_of(owner: Owner, program_id: str, *, actors: int, parties: int) -> ActorsRescored:
    """How many of the first actors and counterparties have a score."""
    entities = counterparties = 0
    for first in range(0, max(actors, parties), _COUNTED_AT_ONCE):
        upto = first + _COUNTED_AT_ONCE
        counted = (await owner.query(program_id, CountParties(first, min(upto, actors), min(upto, parties)))).value
        entities += counted.entities
        counterparties += counted.listed
    holds_agents = (await owner.query(program_id, CountParties())).value.holds_agents
    return ActorsRescored(entities=entities, counterparties=counterparties, agents=entities if holds_agents else 0)
