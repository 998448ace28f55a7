"""Reading an entity; only ingest writes them."""

from typing import Final

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area, Resources
from clearhold.api.entities.examples import ENTITY
from clearhold.api.entities.schemas import Entity, EntityQuery, EntityService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.parties import Entities

_READ: Final = Operation(
    id="getEntity",
    tag="entities",
    summary="One person or business of a program. It is UNVERIFIED while only transfers name it. "
    "400 if several programs have an entity of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Entity},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.ENTITY_NOT_FOUND),
    answer_example=ENTITY,
    query=RequestSchema(EntityQuery),
)


@get("/api/entities/{entity_id:str}", opt=_READ.as_opt)
async def get_entity(entity_id: FromPath[str], request: ApiRequest, entities: NamedDependency[EntityService]) -> Entity:
    program_id = query_of(request.scope, EntityQuery).program_id
    return await entities.read(principal_of(request.scope), entity_id, program_id)


def _entities(resources: Resources) -> EntityService:
    return EntityService(programs=resources.programs, entities=Entities(resources.stores.database))


AREA: Final = Area(routes=(get_entity,), provide={"entities": _entities})
