"""The tenant's on-chain agents: read from the tables, with totals and scores from the program's state, and imported.

Errors  NotFoundError for an agent that is not there, and for an import without a program ``agents``; GatewayError when
        the scan index is not set or fails; UnavailableError while the program's state has no owner
"""

from typing import Final

from anyio import to_thread

from clearhold.api.agents.schemas import (
    Agent,
    AgentsQuery,
    ImportRequest,
    ImportResult,
    ImportState,
    to_agent,
    to_result,
    to_state,
)
from clearhold.api.area import AgentImporting
from clearhold.api.lists.cursors import Place, cursor_for, place_of
from clearhold.api.program_service import ProgramService
from clearhold.features.core.entries.directory import ImportStage
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.program import Program
from clearhold.features.core.rows.parties import AgentRow
from clearhold.features.core.vocabulary import ActorType
from clearhold.features.shard.questions import AgentTotals, Owner, ReadScores
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.store.clock import Clock
from clearhold.store.duck.parties import AgentImports, Agents

NO_PROGRAM: Final = "This tenant has no program agents; agents are imported once it is created."
UNKNOWN_AGENT: Final = "Unknown agent on this tenant."
NEVER: Final = "none"
MOST_LISTED: Final = 1_000
"""The default number of agents in one answer."""


class AgentService:
    def __init__(
        self,
        *,
        programs: ProgramService,
        agents: Agents,
        imports: AgentImports,
        owner: Owner,
        importer: AgentImporting,
        clock: Clock,
    ) -> None:
        self._programs, self._agents, self._imports = programs, agents, imports
        self._owner, self._importer, self._clock = owner, importer, clock

    async def page(self, principal: Principal, query: AgentsQuery) -> tuple[tuple[Agent, ...], str | None]:
        """By entity id, with the cursor of the next page; nothing without a program ``agents``."""
        program = self._programs.find_by_slug(principal, AGENTS_SLUG)
        if program is None:
            return (), None
        limit, filters = query.limit or MOST_LISTED, {"band": query.band}
        after = "" if query.cursor is None else place_of(query.cursor, filters).id

        def read() -> list[AgentRow]:
            return self._agents.page(principal.tenant_id, program.id, after, limit + 1, bands=query.band)

        stored = await to_thread.run_sync(read)
        page = stored[:limit]
        cursor = cursor_for(Place(0, page[-1].id, program.id), filters) if len(stored) > limit else None
        agents = await self._with_scores(program.id, page)
        return tuple(each for each in agents if query.band is None or each.band_name in query.band), cursor

    async def read(self, principal: Principal, entity_id: str) -> Agent:
        program = self._program(principal)
        stored = await to_thread.run_sync(self._agents.find, principal.tenant_id, program.id, entity_id)
        if stored is None:
            raise NotFoundError(UNKNOWN_AGENT, ErrorCode.AGENT_NOT_FOUND)
        (agent,) = await self._with_scores(program.id, [stored])
        return agent

    async def run_import(self, principal: Principal, request: ImportRequest) -> ImportResult:
        """Import now, or wait for the import under way; a full import waits for full ones only."""
        program = self._program(principal)
        return self._programs.marked(to_result(await self._importer.run_import(program, full=request.full)), program.id)

    async def import_state(self, principal: Principal) -> ImportState:
        program = self._program(principal)
        progress = self._importer.progress_of(program.id)
        if progress is not None:
            state = ImportState(
                program_id=program.id,
                stage=ImportStage.BEGUN.value,
                reading=progress.reading,
                agents=progress.agents,
                profiles=progress.profiles,
                settlements_scanned=progress.settlements_scanned,
                skipped=dict(progress.skipped),
                reason=None,
                updated_at=format_instant(progress.started_at),
            )
            return self._programs.marked(state, program.id)
        row = await to_thread.run_sync(self._imports.newest, principal.tenant_id, program.id)
        return self._programs.marked(_never(program.id) if row is None else to_state(row), program.id)

    def _program(self, principal: Principal) -> Program:
        program = self._programs.find_by_slug(principal, AGENTS_SLUG)
        if program is None:
            raise NotFoundError(NO_PROGRAM, ErrorCode.PROGRAM_NOT_FOUND)
        return program

    async def _with_scores(self, program_id: str, stored: list[AgentRow]) -> list[Agent]:
        if not stored:
            return []
        ids = tuple(row.id for row in stored)
        totals = (await self._owner.query(program_id, AgentTotals(ids))).value
        scores = (await self._owner.query(program_id, ReadScores(ActorType.AGENT, ids, self._clock.now()))).value
        agents = map(to_agent, stored, totals, scores)
        return [self._programs.marked(agent, program_id) for agent in agents]


def _never(program_id: str) -> ImportState:
    return ImportState(
        program_id=program_id,
        stage=NEVER,
        reading=None,
        agents=0,
        profiles=0,
        settlements_scanned=0,
        skipped={},
        reason=None,
        updated_at=None,
    )
