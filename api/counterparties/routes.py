"""Reading a counterparty; only ingest writes them."""

from typing import Any, Final

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area, Resources
from clearhold.api.counterparties.schemas import Counterparty, CounterpartyQuery, CounterpartyService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.parties import Counterparties

COUNTERPARTY: Final[dict[str, Any]] = {
    "id": "cpty_2zExample0001",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "name": "Example Supplies",
    "routingNumber": "121145307",
    "accountLast4": "6789",
    "countryCode": "US",
    "earlierAccounts": [{"routingNumber": "121145307", "accountLast4": "4471"}],
    "raw": {"id": "cpty_2zExample0001", "name": "Example Supplies", "account_number": "6789"},
    "firstSeenAt": "2026-03-02T15:04:05.000Z",
}


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
    return CounterpartyService(programs=resources.programs, counterparties=Counterparties(resources.stores.database))


AREA: Final = Area(routes=(get_counterparty,), provide={"counterparties": _counterparties})
