"""Reading transfers; only ingest writes them."""

from typing import Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ASGIApp

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import Downloads
from clearhold.api.lists.lists import next_link
from clearhold.api.lists.operations import export_operation, list_operation
from clearhold.api.transfers.examples import TRANSFER, TRANSFER_SUMMARY
from clearhold.api.transfers.schemas import (
    ExportQuery,
    Transfer,
    TransferPage,
    TransferQuery,
    TransfersQuery,
    TransferSummary,
)
from clearhold.api.transfers.service import ScoringCards, TransferService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.transfers import Transfers

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


@get("/api/transfers", opt=_LIST.as_opt)
async def list_transfers(request: ApiRequest, transfers: NamedDependency[TransferService]) -> Response[TransferPage]:
    page = await transfers.page(principal_of(request.scope), query_of(request.scope, TransfersQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/transfers/export", opt=_EXPORT.as_opt)
async def export_transfers(
    request: ApiRequest, transfers: NamedDependency[TransferService], downloads: NamedDependency[Downloads]
) -> ASGIApp:
    principal, query = principal_of(request.scope), query_of(request.scope, ExportQuery)
    batches = transfers.export(principal, query)
    return downloads.of(principal, batches, name="transfers", kind=TransferSummary, format_=query.format)


@get("/api/transfers/{transfer_id:str}", opt=_READ.as_opt)
async def get_transfer(
    transfer_id: FromPath[str], request: ApiRequest, transfers: NamedDependency[TransferService]
) -> Transfer:
    program_id = query_of(request.scope, TransferQuery).program_id
    return await transfers.read(principal_of(request.scope), transfer_id, program_id)


def transfer_service(resources: Resources) -> TransferService:
    return TransferService(
        programs=resources.programs,
        transfers=Transfers(resources.stores.database),
        events=resources.events,
        cards=ScoringCards(resources.stores.registry.tenancy.policies),
    )


AREA: Final = Area(routes=(list_transfers, export_transfers, get_transfer), provide={"transfers": transfer_service})
