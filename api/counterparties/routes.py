"""Reading a counterparty; only ingest writes them."""

from typing import Final

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area, Resources
from clearhold.api.counterparties.examples import COUNTERPARTY
from clearhold.api.counterparties.schemas import Counterparty, CounterpartyQuery
from clearhold.api.counterparties.service import CounterpartyService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.parties import Counterparties

_READ: Final = Operation(
    id="getCounterparty",
    tag="counterparties",
    summary="The other side of a program's transfers, as the bank named it. "
    "400 if several programs have a counterparty of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Counterparty},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.COUNTERPARTY_NOT_FOUND),
    answer_example=COUNTERPARTY,
    query=RequestSchema(CounterpartyQuery),
)


@get("/api/counterparties/{counterparty_id:str}", opt=_READ.as_opt)
async def get_counterparty(
    counterparty_id: FromPath[str], request: ApiRequest, counterparties: NamedDependency[CounterpartyService]
) -> Counterparty:
    program_id = query_of(request.scope, CounterpartyQuery).program_id
    return await counterparties.read(principal_of(request.scope), counterparty_id, program_id)


def _counterparties(resources: Resources) -> CounterpartyService:
    stores = resources.stores
    return CounterpartyService(
        programs=ProgramService(stores.registry.tenancy), counterparties=Counterparties(stores.database)
    )


AREA: Final = Area(routes=(get_counterparty,), provide={"counterparties": _counterparties})
