"""The tenant's on-chain agents: read from the tables, with totals and scores from the program's state, and imported.

Errors  NotFoundError for an agent that is not there, and for an import without a program ``agents``; GatewayError when
        the scan index is not set or fails; UnavailableError while the program's state has no owner
"""

from functools import partial
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import CursorText, PageLimit
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.lists.lists import ArrayPart, Place, cursor_for, place_of, to_answer
from clearhold.features.core.entries.directory import ImportStage
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import KeyScope, Principal, Program, Simulated
from clearhold.features.core.rows.parties import AgentRow
from clearhold.features.core.vocabulary import ActorType, Band, Score, about
from clearhold.features.shard.questions import AgentTotals, ReadScores
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.store.duck.parties import AgentImports, Agents

_TAG: Final = "agents"
NO_PROGRAM: Final = "This tenant has no program agents; agents are imported once it is created."
UNKNOWN_AGENT: Final = "Unknown agent on this tenant."
MOST_LISTED: Final = 1_000
"""The default number of agents in one answer."""


class AgentsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``band`` is that of the score, or unscored."""

    band: Annotated[tuple[Band, ...], msgspec.Meta(min_length=1, max_length=len(Band))] | None = None
    limit: PageLimit | None = None
    cursor: CursorText | None = None


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``full`` reads all settlements from the beginning and imports unchanged ones again."""

    full: Annotated[bool, about("Whether all settlements are read and imported again, unchanged ones too.")] = False


class Agent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent with its score of now. ``name`` is what the agent calls itself."""

    entity_id: Annotated[str, about("The entity that the agent is, on the program `agents`.")]
    name: Annotated[str, about("The name that the agent gives itself, unchecked.")]
    chain_id: Annotated[int | None, about("The chain of the agent's registry; 8453 is Base.")]
    agent_id: Annotated[str | None, about("The agent's id within its registry; every chain has an agent 22.")]
    address: Annotated[str | None, about("The agent's wallet; null when none is set.")]
    verification_status: Annotated[str, about("UNVERIFIED unless the wallet's profile says otherwise.")]
    screening_status: Annotated[
        str | None, about("clear, hit, review or not_covered, of the wallet; null if never screened.")
    ]
    last_screened_at: Annotated[str | None, about("When the wallet was last screened.")]
    settlements: Annotated[int, about("Payments imported, without payments that the chain took back.")]
    volume_cents: str
    score: Annotated[int | None, about("The Agent Risk Score, 0 to 100; null below 10 settlements.")]
    band_name: Annotated[Band, about("clear, review or hold by the score; unscored without one.")]
    n: Annotated[int, about("How many settlements the score rests on.")]
    confidence: Annotated[float | None, about("0 to 1; halved while the wallet was never screened.")]
    version: Annotated[str | None, about("The scorer that gave the score.")]
    simulated: Simulated = msgspec.UNSET


class ImportResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Items read, and the new ones among them: ``transfers``, ``counterparties`` and ``agentCounterparties``."""

    program_id: str
    agents: Annotated[int, about("Agents read, each counted once.")]
    profiles: int
    settlements_scanned: int
    transfers: Annotated[int, about("Settlements that are new, as transfers.")]
    counterparties: Annotated[int, about("Payers that are new, as counterparties.")]
    agent_counterparties: Annotated[int, about("Payers found to be agents' wallets that were not known as such.")]
    simulated: Simulated = msgspec.UNSET


class ImportState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The import under way, else the last one. ``stage`` is begun, done or failed, or none before the first.

    ``reading`` is the list being read, ``skipped`` the number of items left out, by reason.
    """

    program_id: str
    stage: Annotated[str, about("begun, done, failed, or none before the first import.")]
    reading: Annotated[str | None, about("The list that is being read; null when no import is under way.")]
    agents: Annotated[int, about("Agents read so far, each counted once.")]
    profiles: int
    settlements_scanned: int
    skipped: Annotated[
        dict[str, int],
        about("Items left out, by reason: malformed, too_large, unknown_asset, unknown_agent, no_agent, contradicted."),
    ]
    reason: Annotated[str | None, about("Why the import failed; null when it did not.")]
    updated_at: str | None
    simulated: Simulated = msgspec.UNSET


_SKIPPED = msgspec.json.Decoder(dict[str, int])
_NO_IMPORT: Final = ImportState(
    program_id="",
    stage="none",
    reading=None,
    agents=0,
    profiles=0,
    settlements_scanned=0,
    skipped={},
    reason=None,
    updated_at=None,
)


def to_agent(row: AgentRow, totals: tuple[int, int], score: Score | None) -> Agent:
    """An agent with its score of now."""
    settlements, cents = totals
    return to_answer(
        row,
        Agent,
        entity_id=row.id,
        address=row.wallet,
        settlements=settlements,
        volume_cents=str(cents),
        score=None if score is None else score.value,
        band_name=Band.UNSCORED if score is None else score.band,
        n=settlements if score is None else score.n,
        confidence=None if score is None else score.confidence,
        version=None if score is None or not (score.hard or score.value is not None) else score.version,
    )


class AgentService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._importer = resources.programs, resources.agent_importer
        self._agents, self._imports = Agents(stores.database), AgentImports(stores.database)
        self._owner, self._clock = stores.owner, stores.clock

    async def page(self, principal: Principal, query: AgentsQuery) -> ArrayPart:
        """By entity id, with the cursor of the next page; nothing without a program ``agents``."""
        program = self._programs.find_by_slug(principal, AGENTS_SLUG)
        if program is None:
            return ArrayPart(b"[]", None)
        limit, filters = query.limit or MOST_LISTED, {"band": query.band}
        after = "" if query.cursor is None else place_of(query.cursor, filters).id

        def read() -> list[AgentRow]:
            return self._agents.page(principal.tenant_id, program.id, after, limit + 1, bands=query.band)

        stored = await in_reader(read)
        page = stored[:limit]
        cursor = cursor_for(Place(0, page[-1].id, program.id), filters) if len(stored) > limit else None
        agents = await self._with_scores(program.id, page)
        in_bands = [each for each in agents if query.band is None or each.band_name in query.band]
        return ArrayPart(msgspec.json.encode(in_bands), cursor)

    async def read(self, principal: Principal, entity_id: str) -> Agent:
        program = self._program(principal)
        stored = await in_reader(self._agents.find, principal.tenant_id, program.id, entity_id)
        if stored is None:
            raise NotFoundError(UNKNOWN_AGENT, ErrorCode.AGENT_NOT_FOUND)
        (agent,) = await self._with_scores(program.id, [stored])
        return agent

    async def run_import(self, principal: Principal, request: ImportRequest) -> ImportResult:
        """Import now, or wait for the import under way; a full import waits for full ones only."""
        program = self._program(principal)
        row = await self._importer.run_import(program, full=request.full)
        return self._programs.marked(to_answer(row, ImportResult), program.id)

    async def import_state(self, principal: Principal) -> ImportState:
        program = self._program(principal)
        return self._programs.marked(await self._import_state(principal, program.id), program.id)

    async def _import_state(self, principal: Principal, program_id: str) -> ImportState:
        progress = self._importer.progress_of(program_id)
        if progress is not None:
            began = format_instant(progress.started_at)
            return to_answer(
                progress, ImportState, program_id=program_id, stage=ImportStage.BEGUN, reason=None, updated_at=began
            )
        row = await in_reader(self._imports.newest, principal.tenant_id, program_id)
        if row is None:
            return msgspec.structs.replace(_NO_IMPORT, program_id=program_id)
        return to_answer(row, ImportState, reading=None, skipped=_SKIPPED.decode(row.skipped))

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


_EXAMPLES: Final = examples_of(__file__)
AGENT: Final[dict[str, Any]] = _EXAMPLES["agent"]


_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.REPORTS)
_LIST: Final = _operation(
    id="listAgents",
    summary="The agents of the program `agents`, by entity id, each with its score of now; empty without that program. "
    "`band` narrows to those "
    "whose score has one of these, `unscored` to those without a score too. A list of more than `limit`, or "
    '1,000, goes on behind `Link: rel="next"`.',
    answers={200: tuple[Agent, ...]},
    asks_owner=True,
    answer_example=[AGENT],
    query=RequestSchema(AgentsQuery),
)
_READ: Final = _operation(
    id="getAgent",
    summary="One agent with its score of now.",
    answers={200: Agent},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.AGENT_NOT_FOUND),
    asks_owner=True,
    answer_example=AGENT,
)
_IMPORT: Final = Operation(
    id="importAgents",
    tag=_TAG,
    summary="Imports agents, their profiles and their settlements from the scan index. "
    "Answers once everything is recorded; live traffic continues. It also runs every hour. A call while an import "
    "is under way gets the result of that import. `full` reads all settlements from the beginning and imports "
    "unchanged ones again; it runs after an import under way that is not full. Stored settlements "
    "change nothing: importing twice adds 0 transfers.",
    access=Access.OPERATOR,
    answers={200: ImportResult},
    refusals=(
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.SCAN_INDEX_UNSET,
        ErrorCode.SCAN_INDEX_FAILED,
        ErrorCode.STARTING,
    ),
    body=RequestSchema(ImportRequest),
    body_required=False,
    example={"full": True},
    answer_example=_EXAMPLES["result"],
)
_STATE: Final = _operation(
    id="getAgentImport",
    summary="The progress of the import under way, else the result of the last one, with the items left out.",
    answers={200: ImportState},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    answer_example=_EXAMPLES["state"],
)


AREA: Final = Area(
    routes=(
        answer_route("/api/agents", _LIST, _TAG, AgentService.page),
        answer_route("/api/agents/import", _STATE, _TAG, AgentService.import_state),
        answer_route("/api/agents/{entity_id:str}", _READ, _TAG, AgentService.read),
        write_route("/api/agents/import", _IMPORT, _TAG, AgentService.run_import),
    ),
    provide={_TAG: AgentService},
)
