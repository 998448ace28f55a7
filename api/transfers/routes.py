"""Reading transfers; ingest alone writes them."""

from typing import Any, Final
from urllib.parse import urlencode

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.examples import TRANSFER, TRANSFER_PAGE
from api.gate import principal_of, query_of, query_pairs
from api.operation import Access, Operation
from api.shapes import Shape
from api.transfers.schemas import Transfer, TransferPage, TransferQuery, TransfersQuery, moments_exist
from api.transfers.service import TransferService
from features.principal import KeyScope

_CURSOR: Final = "cursor"

_LIST: Final = Operation(
    id="listTransfers",
    tag="transfers",
    summary="Transfers, newest first by the bank's creation time.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: TransferPage, 404: None},
    answer_example=TRANSFER_PAGE,
    query=Shape(TransfersQuery, rules=moments_exist),
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
    query=Shape(TransferQuery),
)


@get("/api/transfers", opt=_LIST.as_opt)
async def list_transfers(
    request: Request[Any, Any, Any], transfers: NamedDependency[TransferService]
) -> Response[TransferPage]:
    page = await transfers.page(principal_of(request.scope), query_of(request.scope, TransfersQuery))
    return Response(page, headers=_next_link(request, page.next_cursor))


@get("/api/transfers/{transfer_id:str}", opt=_READ.as_opt)
async def get_transfer(
    transfer_id: FromPath[str], request: Request[Any, Any, Any], transfers: NamedDependency[TransferService]
) -> Transfer:
    program_id = query_of(request.scope, TransferQuery).program_id
    return await transfers.read(principal_of(request.scope), transfer_id, program_id)


def _next_link(request: Request[Any, Any, Any], cursor: str | None) -> dict[str, str]:
    """RFC 8288: the same list with the cursor of its next page."""
    if cursor is None:
        return {}
    pairs = [pair for pair in query_pairs(request.scope) if pair[0] != _CURSOR]
    return {"Link": f'<{request.scope["path"]}?{urlencode([*pairs, (_CURSOR, cursor)])}>; rel="next"'}


ROUTES: Final = (list_transfers, get_transfer)
