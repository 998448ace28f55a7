"""Scores explained: of a transfer from its stored inputs, of a pre-flight from its recorded reasons, of an actor as of
now.

Errors  NotFoundError for a subject that is not this tenant's, and for a card that is not there any more;
        InvalidRequestError for an id that several programs have while the request names none of them;
        UnavailableError while the program's state has no owner
"""

from typing import Annotated, Any

import msgspec

from clearhold.api.area import Resources
from clearhold.api.http.reading import in_reader
from clearhold.api.parties.routes import PartyFinder, PartyQuery
from clearhold.api.transfers.service import ScoringCard, ScoringCards, TransferQuery, find_transfer
from clearhold.features.core.entries.preflight import LimitHit
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal, Simulated
from clearhold.features.core.vocabulary import ActorType, Decision, about
from clearhold.features.measurement.explanation import (
    ScoreExplained,
    ScoreOnce,
    StoredExplained,
    explained_reasons,
    explained_transfer,
)
from clearhold.features.policy.card_book import TransferCard, card_version
from clearhold.features.scorers.cards import DEFAULTS, compile_card, faults_of
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.shard.questions import ReadScores
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.store.control.scorecard_registry import card_in
from clearhold.store.duck.transfers import ScoredTransfers

NO_CARD = "The scorecard of this score cannot score in this version of the service."
NOT_SCORED = "This transfer was not scored."
_SCORERS = {ActorType.ENTITY: "ers", ActorType.COUNTERPARTY: "crs", ActorType.AGENT: "ars"}


class TransferExplained(StoredExplained, frozen=True, kw_only=True, rename="camel"):
    """The score of a transfer, scored again from its stored inputs with the card that scored it."""

    transfer_id: Annotated[str, about("The bank's id of the transfer.")]
    program_id: str
    card: Annotated[ScoringCard, about("The scorecard of the score; GET /api/scorecards/{version} has it whole.")]
    simulated: Simulated = msgspec.UNSET


class PreflightExplained(ScoreExplained, frozen=True, kw_only=True, rename="camel"):
    """The recorded answer of a pre-flight. Its inputs are not stored, so no other amount is tried."""

    preflight_id: str
    program_id: str
    card: Annotated[ScoringCard, about("The scorecard of the score; GET /api/scorecards/{version} has it whole.")]
    decision: Annotated[Decision, about("The recorded decision.")]
    limits_hit: Annotated[tuple[LimitHit, ...], about("Caps that the amount would cross.")]
    stored: Annotated[ScoreOnce, about("The recorded score.")]
    is_same: Annotated[bool, about("Whether the recorded reasons add up to the recorded score under the card.")]
    unmeasured: Annotated[tuple[str, ...], about("Which facts were missing; docs/api-guide.md lists the words.")]
    simulated: Simulated = msgspec.UNSET


class ActorExplained(ScoreExplained, frozen=True, kw_only=True, rename="camel"):
    """The score that an actor has now."""

    type: Annotated[ActorType, about("entity, counterparty or agent.")]
    id: str
    program_id: str
    as_of: str
    n: Annotated[int, about("How many observations the score rests on.")]
    confidence: float | None
    version: Annotated[str, about("The scorer that gave the score.")]
    simulated: Simulated = msgspec.UNSET


class ExplainService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._parties = resources.programs, PartyFinder(resources)
        self._transfers, self._recorded = ScoredTransfers(stores.database), resources.recorded_preflights
        self._policies = stores.registry.tenancy.policies
        self._cards = ScoringCards(self._policies)
        self._owner, self._clock = stores.owner, stores.clock

    async def transfer(self, principal: Principal, transfer_id: str, query: TransferQuery) -> TransferExplained:
        return await in_reader(self._transfer, principal, transfer_id, query)

    async def preflight(self, principal: Principal, preflight_id: str) -> PreflightExplained:
        record = await self._recorded.find(principal, preflight_id.lower())
        if record is None:
            raise NotFoundError("Unknown pre-flight on this tenant.", ErrorCode.PREFLIGHT_NOT_FOUND)
        answer = record.answer
        card = self._compiled(principal, answer.version)
        whole = explained_reasons(card, answer.score, answer.reasons)
        explained = PreflightExplained(
            **_fields_of(whole),
            preflight_id=answer.preflight_id,
            program_id=answer.program_id,
            card=self._cards.of(principal.tenant_id, answer.version),
            decision=answer.decision,
            limits_hit=answer.limits_hit,
            stored=ScoreOnce(
                score=answer.score,
                band=answer.band,
                n=answer.n,
                confidence=answer.confidence,
                version=answer.version,
            ),
            is_same=whole.adds_up,
            unmeasured=answer.degraded_reasons,
        )
        return self._programs.marked(explained, answer.program_id)

    async def entity(self, principal: Principal, entity_id: str, query: PartyQuery) -> ActorExplained:
        return await self._actor(principal, ActorType.ENTITY, entity_id, query.program_id)

    async def counterparty(self, principal: Principal, counterparty_id: str, query: PartyQuery) -> ActorExplained:
        return await self._actor(principal, ActorType.COUNTERPARTY, counterparty_id, query.program_id)

    async def agent(self, principal: Principal, entity_id: str) -> ActorExplained:
        """An agent is in the program ``agents`` alone, which no key of another program reaches."""
        program = self._programs.find_by_slug(principal, AGENTS_SLUG)
        if program is None:
            raise NotFoundError("Unknown agent on this tenant.", ErrorCode.AGENT_NOT_FOUND)
        return await self._actor(principal, ActorType.AGENT, entity_id, program.id)

    async def _actor(
        self, principal: Principal, kind: ActorType, actor_id: str, program_id: str | None
    ) -> ActorExplained:
        """An entity of the program ``agents`` is explained as the agent that it is."""
        row = await in_reader(self._parties.find, principal, kind, actor_id, program_id)
        if kind is ActorType.ENTITY and self._parties.holds_agents(principal, row.program_id):
            kind = ActorType.AGENT
        card, now = DEFAULTS[_SCORERS[kind]], self._clock.now()
        (score,) = (await self._owner.query(row.program_id, ReadScores(kind, (actor_id,), now))).value
        value, reasons = (None, ()) if score is None else (score.value, score.reasons)
        explained = ActorExplained(
            **_fields_of(explained_reasons(card, value, reasons)),
            type=kind,
            id=actor_id,
            program_id=row.program_id,
            as_of=format_instant(now),
            n=0 if score is None else score.n,
            confidence=None if score is None else score.confidence,
            version=card.version,
        )
        return self._programs.marked(explained, row.program_id)

    def _transfer(self, principal: Principal, transfer_id: str, query: TransferQuery) -> TransferExplained:
        stored = find_transfer(self._programs, self._transfers, principal, transfer_id, query.program_id)
        if stored.features is None:
            raise NotFoundError(NOT_SCORED, ErrorCode.TRANSFER_NOT_FOUND)
        version = stored.features.score_version
        explained = TransferExplained(
            **_fields_of(explained_transfer(stored.features, self._compiled(principal, version))),
            transfer_id=stored.row.id,
            program_id=stored.row.program_id,
            card=self._cards.of(principal.tenant_id, version),
        )
        return self._programs.marked(explained, stored.row.program_id)

    def _compiled(self, principal: Principal, score_version: str) -> TransferCard:
        """The card of a score's version. Equal cards are compiled once."""
        version = card_version(score_version)
        if version is None:
            return trs_v1.DEFAULT
        policy = self._policies[principal.tenant_id].find(version)
        card = None if policy is None else card_in(policy)
        if card is None or next(faults_of(card), None) is not None:
            raise NotFoundError(f"{NO_CARD} The score has its recorded reasons.", ErrorCode.SCORECARD_NOT_FOUND)
        return compile_card(card, version=version)


def _fields_of(whole: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(whole, name) for name in whole.__struct_fields__}
