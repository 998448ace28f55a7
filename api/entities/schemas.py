"""Entities as the interface shows them, and reading them: the persons and businesses of a program.

Errors  NotFoundError for an entity or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them
"""

from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread

from clearhold.api.http.fields import ProgramId
from clearhold.api.lists.lists import to_answer
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.program import Simulated
from clearhold.features.core.rows.parties import EntityRow
from clearhold.features.core.vocabulary import EntityType, PepStatus, VerificationStatus, about
from clearhold.store.duck.parties import Entities


class EntityQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have an entity of that id."""

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


_TEXTS = msgspec.json.Decoder(tuple[str, ...])


def to_entity(row: EntityRow, *, raw: str, created_at: int) -> Entity:
    return to_answer(
        row,
        Entity,
        review_reasons=_TEXTS.decode(row.review_reasons),
        expected_payment_rails=_TEXTS.decode(row.expected_payment_rails),
        raw=masked_raw(raw.encode()),
        created_at=format_instant(created_at),
    )


UNKNOWN_ENTITY: Final = "Unknown entity on this tenant."


class EntityService:
    def __init__(self, *, programs: ProgramService, entities: Entities) -> None:
        self._programs, self._entities = programs, entities

    async def read(self, principal: Principal, entity_id: str, program_id: str | None) -> Entity:
        return await to_thread.run_sync(self._read, principal, entity_id, program_id)

    def _read(self, principal: Principal, entity_id: str, program_id: str | None) -> Entity:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        rows = self._entities.find(principal, entity_id, named)
        if not rows:
            raise NotFoundError(UNKNOWN_ENTITY, ErrorCode.ENTITY_NOT_FOUND)
        if len(rows) > 1:
            raise several_programs("an entity")
        (row,) = rows
        entity = to_entity(row, raw=self._entities.last_raw(row), created_at=self._entities.created_at(row))
        return self._programs.marked(entity, row.program_id)
