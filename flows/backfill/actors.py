"""Scores every entity, agent and counterparty of a program again, a few at a time, in the flow that owns its state.

start ─▶ committed ─▶ their newest and strongest transfers ─▶ steps that name some actors, then counterparties ─▶ log

The detectors of actors run again too, on each party's newest transfer and on the strongest of each entity; see
docs/decisions/0017-actor-backfill-runs-detectors.md.
"""

from typing import Final

import duckdb

from clearhold.features.core.entries.backfill import ActorRange, ActorsRescored
from clearhold.features.scorers.ers_v1 import DAY, LIVES
from clearhold.features.shard.questions import ActorIds, CounterpartyIds, CountParties, Owner
from clearhold.features.state.score_memory import STRONGEST
from clearhold.flows.backfill.collector import BackfillCounts
from clearhold.flows.backfill.step_log import BackfillSteps
from clearhold.flows.running.workers import Workers
from clearhold.store.duck.party_transfers import Fading, PartyTransfers

STEP_SUBJECTS: Final = 100
FADING: Final = Fading(LIVES, DAY, STRONGEST)
_COUNTED_AT_ONCE: Final = 2_000


class ActorBackfill:
    def __init__(
        self,
        steps: BackfillSteps,
        *,
        owner: Owner,
        database: duckdb.DuckDBPyConnection,
        workers: Workers,
        counts: BackfillCounts,
    ) -> None:
        self._steps, self._owner, self._database = steps, owner, database
        self._workers, self._counts = workers, counts

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
