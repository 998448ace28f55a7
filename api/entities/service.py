"""Entities, for reading; only ingest writes them.

Errors  NotFoundError for an entity or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them
"""

from typing import Final

from anyio import to_thread

from clearhold.api.entities.schemas import Entity, to_entity
from clearhold.api.programs.service import ProgramService, several_programs
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.principal import Principal
from clearhold.store.duck.parties import Entities

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
