"""The tenant's programs, for reading. The platform's administration writes them (``api/admin``)."""

from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import only
from clearhold.api.program_service import ProgramService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.vocabulary import ProgramSource

_TAG: Final = "programs"
PROGRAM_ID: Final = "0b9f6f0e-3f0a-4a43-8f2f-5a4f3d0c7a10"
TENANT_ID: Final = "c2a5a1de-52a5-4c53-9b7e-0d5c8a3f6e21"

PROGRAM: Final[dict[str, Any]] = examples_of(__file__)["program"]


_Sources = Annotated[tuple[ProgramSource, ...], msgspec.Meta(min_length=1, max_length=len(ProgramSource))]


class ProgramsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: _Sources | None = None


_LIST: Final = Operation(
    id="listPrograms",
    tag=_TAG,
    summary="The tenant's programs, newest first.",
    access=Access.BEARER,
    answers={200: tuple[Program, ...]},
    answer_example=[PROGRAM],
    query=RequestSchema(ProgramsQuery),
)
_READ: Final = Operation(
    id="getProgram",
    tag=_TAG,
    summary="One program of the tenant.",
    access=Access.BEARER,
    answers={200: Program},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    answer_example=PROGRAM,
)


async def _list(programs: ProgramService, principal: Principal, query: ProgramsQuery) -> tuple[Program, ...]:
    return programs.list(principal, source=only(query.source))


async def _read(programs: ProgramService, principal: Principal, program_id: str) -> Program:
    return programs.read(principal, program_id)


AREA: Final = Area(
    routes=(
        answer_route("/api/programs", _LIST, _TAG, _list),
        answer_route("/api/programs/{program_id:str}", _READ, _TAG, _read),
    ),
    provide={_TAG: lambda resources: resources.programs},
)
