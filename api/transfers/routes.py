"""Reading transfers; ingest alone writes them."""

from typing import Any, Final

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.examples import TRANSFER, TRANSFER_PAGE
from api.http.gate import principal_of, query_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.lists.lists import moments_exist, next_link
from api.transfers.schemas import Transfer, TransferPage, TransferQuery, TransfersQuery
from api.transfers.service import TransferService
from features.core.principal import KeyScope

_LIST: Final = Operation(
    id="listTransfers",
    tag="transfers",
    summary="Transfers, newest first by the bank's creation time.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: TransferPage, 404: None},
    answer_example=TRANSFER_PAGE,
    query=RequestSchema(TransfersQuery, rules=moments_exist),
    headers=("Link",),
)
_READ: Final = Operation(
    id="getTransfer",
    tag="transfers",
    summary="One transfer with what its score was made from and the bank's own object.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Transfer, 404: None, 503: None},
    answer_example=TRANSFER,
    query=RequestSchema(TransferQuery),
)


@get("/api/transfers", opt=_LIST.as_opt)
async def list_transfers(
    request: Request[Any, Any, Any], transfers: NamedDependency[TransferService]
) -> Response[TransferPage]:
    page = await transfers.page(principal_of(request.scope), query_of(request.scope, TransfersQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/transfers/{transfer_id:str}", opt=_READ.as_opt)
async def get_transfer(
    transfer_id: FromPath[str], request: Request[Any, Any, Any], transfers: NamedDependency[TransferService]
) -> Transfer:
    program_id = query_of(request.scope, TransferQuery).program_id
    return await transfers.read(principal_of(request.scope), transfer_id, program_id)


ROUTES: Final = (list_transfers, get_transfer)
