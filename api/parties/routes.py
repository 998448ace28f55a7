"""The parties of transfers, for reading: entities, the persons and businesses of a program, and the other sides.

Only ingest writes them.

Errors  NotFoundError for a party or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them
"""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import ProgramId
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import to_answer
from clearhold.api.program_service import several_programs
from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.rows.parties import CounterpartyRow, EarlierAccount, EntityRow
from clearhold.features.core.vocabulary import ActorType, EntityType, PepStatus, VerificationStatus, about
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.store.duck.alert_lists import SubjectNames
from clearhold.store.duck.parties import Counterparties, Entities

_NOUNS: Final = {
    ActorType.ENTITY: ("an entity", "Unknown entity on this tenant.", ErrorCode.ENTITY_NOT_FOUND),
    ActorType.COUNTERPARTY: (
        "a counterparty",
        "Unknown counterparty on this tenant.",
        ErrorCode.COUNTERPARTY_NOT_FOUND,
    ),
    ActorType.AGENT: ("an agent", "Unknown agent on this tenant.", ErrorCode.AGENT_NOT_FOUND),
}
"""Noun, and the refusal of an unknown id."""

_SERVICE: Final = "parties"
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])


class PartyQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have a party of that id."""

    program_id: ProgramId | None = None


class Entity(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The bank's newest statement of each field; ``raw`` is its object as last delivered, masked."""

    id: str
    tenant_id: str
    program_id: str
    type: Annotated[EntityType, about("A person or a business.")]
    name: str
    verification_status: Annotated[
        VerificationStatus, about("The bank's verification; UNVERIFIED when only transfers name it.")
    ]
    is_high_risk: Annotated[bool, about("Whether the bank marks it as high risk.")]
    pep_status: Annotated[PepStatus, about("Whether it is a politically exposed person.")]
    requires_screening: bool
    review_reasons: Annotated[tuple[str, ...], about("Why the bank reviews it.")]
    last_screened_at: str | None
    country_code: str | None
    legal_type: Annotated[str | None, about("Legal form of a business; null for a person or when unknown.")]
    expected_payment_rails: Annotated[tuple[str, ...], about("Rails that it said it would use.")]
    raw: dict[str, Any]
    created_at: str
    updated_at: str
    simulated: Simulated = msgspec.UNSET


def to_entity(row: EntityRow, *, raw: str, created_at: int) -> Entity:
    return to_answer(
        row,
        Entity,
        review_reasons=_TEXTS.decode(row.review_reasons),
        expected_payment_rails=_TEXTS.decode(row.expected_payment_rails),
        raw=masked_raw(raw.encode()),
        created_at=format_instant(created_at),
    )


class Counterparty(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Details as the bank delivered them.

    ``raw`` is the bank's newest object of it, from an event on it or in a transfer, masked; empty without one.

    ``firstSeenAt`` is the time of the program's first transfer with it; before that, of the bank's first event on it.
    """

    id: str
    tenant_id: str
    program_id: str
    name: str | None
    routing_number: Annotated[str | None, about("Routing number of the counterparty's bank; null when unknown.")]
    account_last4: Annotated[str | None, about("Last four of the account number; null when unknown.")]
    country_code: str | None
    earlier_accounts: Annotated[
        tuple[EarlierAccount, ...], about("Other accounts that it had before, the oldest first; at most 15.")
    ]
    raw: dict[str, Any]
    first_seen_at: Annotated[
        str, about("Time of the program's first transfer with it; before that, of the bank's first event on it.")
    ]
    simulated: Simulated = msgspec.UNSET


def to_counterparty(row: CounterpartyRow, *, raw: str) -> Counterparty:
    earlier = msgspec.json.decode(row.earlier_accounts or "[]", type=tuple[EarlierAccount, ...])
    return to_answer(row, Counterparty, raw=masked_raw(raw.encode()), earlier_accounts=earlier)


class PartyFinder:
    """Finds the one party of an id, on the named program or on any within reach. For worker threads."""

    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._programs = resources.programs
        self.entities, self.counterparties = Entities(database), Counterparties(database)

    def find(
        self, principal: Principal, kind: ActorType, actor_id: str, program_id: str | None
    ) -> EntityRow | CounterpartyRow:
        """An agent is an entity of the program ``agents``."""
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        table = self.counterparties if kind is ActorType.COUNTERPARTY else self.entities
        rows = [
            row
            for row in table.find(principal, actor_id, named)
            if kind is not ActorType.AGENT or self.holds_agents(principal, row.program_id)
        ]
        noun, sentence, code = _NOUNS[kind]
        if not rows:
            raise NotFoundError(sentence, code)
        if len(rows) > 1:
            raise several_programs(noun)
        return rows[0]

    def holds_agents(self, principal: Principal, program_id: str) -> bool:
        return self._programs.read(principal, program_id).slug == AGENTS_SLUG


class PartyService:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._parties = resources.programs, PartyFinder(resources)
        self._names = SubjectNames(resources.stores.database)

    async def entity(self, principal: Principal, entity_id: str, query: PartyQuery) -> Entity:
        return await in_reader(self._entity, principal, entity_id, query)

    async def counterparty(self, principal: Principal, counterparty_id: str, query: PartyQuery) -> Counterparty:
        return await in_reader(self._counterparty, principal, counterparty_id, query)

    async def counterparty_names(self, principal: Principal, ids: Iterable[str], program_id: str) -> dict[str, str]:
        """The newest names of counterparties of a program within reach; a counterparty without one is left out."""
        program = self._programs.read(principal, program_id).id
        subjects = {(ActorType.COUNTERPARTY.value, program, each) for each in ids}
        names = await in_reader(self._names.of, principal, subjects)
        return {id_: name for (_, of_program, id_), name in names.items() if name and of_program == program}

    def _entity(self, principal: Principal, entity_id: str, query: PartyQuery) -> Entity:
        row, table = (
            self._parties.find(principal, ActorType.ENTITY, entity_id, query.program_id),
            self._parties.entities,
        )
        assert isinstance(row, EntityRow), "an entity was asked for"
        entity = to_entity(row, raw=table.last_raw(row), created_at=table.created_at(row))
        return self._programs.marked(entity, row.program_id)

    def _counterparty(self, principal: Principal, counterparty_id: str, query: PartyQuery) -> Counterparty:
        row = self._parties.find(principal, ActorType.COUNTERPARTY, counterparty_id, query.program_id)
        assert isinstance(row, CounterpartyRow), "a counterparty was asked for"
        counterparty = to_counterparty(row, raw=self._parties.counterparties.last_raw(row))
        return self._programs.marked(counterparty, row.program_id)


_EXAMPLES: Final = examples_of(__file__)
ENTITY: Final[dict[str, Any]] = _EXAMPLES["entity"]


_operation: Final = partial(Operation, access=Access.BEARER, scope=KeyScope.ALERTS_READ)

_ENTITY: Final = _operation(
    id="getEntity",
    tag="entities",
    summary="One person or business of a program. It is UNVERIFIED while only transfers name it. "
    "400 if several programs have an entity of that id and programId names none of them.",
    answers={200: Entity},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.ENTITY_NOT_FOUND),
    answer_example=ENTITY,
    query=RequestSchema(PartyQuery),
)
_COUNTERPARTY: Final = _operation(
    id="getCounterparty",
    tag="counterparties",
    summary="The other side of a program's transfers, as the bank named it. "
    "400 if several programs have a counterparty of that id and programId names none of them.",
    answers={200: Counterparty},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.COUNTERPARTY_NOT_FOUND),
    answer_example=_EXAMPLES["counterparty"],
    query=RequestSchema(PartyQuery),
)
AREA: Final = Area(
    routes=(
        answer_route("/api/entities/{entity_id:str}", _ENTITY, _SERVICE, PartyService.entity),
        answer_route("/api/counterparties/{counterparty_id:str}", _COUNTERPARTY, _SERVICE, PartyService.counterparty),
    ),
    provide={_SERVICE: PartyService},
)
