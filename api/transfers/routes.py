"""Reading transfers; only ingest writes them."""

from typing import Final

from litestar import get
from litestar.di import NamedDependency
from litestar.types import ASGIApp

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import Downloads
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.operations import export_operation, list_operation
from clearhold.api.transfers.examples import TRANSFER, TRANSFER_SUMMARY
from clearhold.api.transfers.service import (
    ExportQuery,
    Transfer,
    TransferPage,
    TransferQuery,
    TransferService,
    TransfersQuery,
    TransferSummary,
)
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_TAG: Final = "transfers"

_LIST: Final = list_operation(
    "listTransfers",
    tag=_TAG,
    summary="Transfers, newest first by the bank's creation time.",
    scope=KeyScope.ALERTS_READ,
    page=TransferPage,
    query=TransfersQuery,
    example=TRANSFER_SUMMARY,
)
_EXPORT: Final = export_operation(
    "exportTransfers",
    tag=_TAG,
    summary="Downloads all transfers of a list: one TransferSummary a line, or CSV with a header row.",
    scope=KeyScope.ALERTS_READ,
    item=TransferSummary,
    query=ExportQuery,
    example=TRANSFER_SUMMARY,
)
_READ: Final = Operation(
    id="getTransfer",
    tag=_TAG,
    summary="One transfer with the inputs of its score and the bank's own object. "
    "400 if several programs have a transfer of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Transfer},
    refusals=(
        ErrorCode.PROGRAM_REQUIRED,
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.TRANSFER_NOT_FOUND,
        ErrorCode.OBJECT_LOST,
        ErrorCode.UNAVAILABLE,
    ),
    answer_example=TRANSFER,
    query=RequestSchema(TransferQuery),
)


@get("/api/transfers/export", opt=_EXPORT.as_opt)
async def export_transfers(
    request: ApiRequest, transfers: NamedDependency[TransferService], downloads: NamedDependency[Downloads]
) -> ASGIApp:
    principal, query = principal_of(request.scope), query_of(request.scope, ExportQuery)
    batches = transfers.export(principal, query)
    return downloads.of(principal, batches, name="transfers", kind=TransferSummary, format_=query.format)


AREA: Final = Area(
    routes=(
        answer_route("/api/transfers", _LIST, _TAG, TransferService.page),
        export_transfers,
        answer_route("/api/transfers/{transfer_id:str}", _READ, _TAG, TransferService.read),
    ),
    provide={_TAG: TransferService},
)
