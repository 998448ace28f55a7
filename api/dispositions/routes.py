"""Dispositions over HTTP: every decision on every alert, by policy or by a person."""

from typing import Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ASGIApp

from clearhold.api.area import Area, Resources
from clearhold.api.dispositions.examples import DISPOSITION
from clearhold.api.dispositions.schemas import Disposition, DispositionFilters, DispositionPage, DispositionsQuery
from clearhold.api.dispositions.service import DispositionService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.lists.exports import Downloads, ExportFormat
from clearhold.api.lists.lists import next_link
from clearhold.api.lists.operations import export_operation, list_operation
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.decisions import Dispositions

_TAG: Final = "dispositions"


class DispositionExportQuery(DispositionFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


_LIST: Final = list_operation(
    "listDispositions",
    tag=_TAG,
    summary="Decisions on alerts, newest first.",
    scope=KeyScope.ALERTS_READ,
    page=DispositionPage,
    query=DispositionsQuery,
    example=DISPOSITION,
)
_EXPORT: Final = export_operation(
    "exportDispositions",
    tag=_TAG,
    summary="Downloads all dispositions of a list: one a line, or CSV with a header row.",
    scope=KeyScope.ALERTS_READ,
    item=Disposition,
    query=DispositionExportQuery,
    example=DISPOSITION,
)
_READ: Final = Operation(
    id="getDisposition",
    tag=_TAG,
    summary="One disposition, with its place on the tenant's chain.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Disposition},
    refusals=(ErrorCode.DISPOSITION_NOT_FOUND,),
    answer_example=DISPOSITION,
)


@get("/api/dispositions", opt=_LIST.as_opt)
async def list_dispositions(
    request: ApiRequest, dispositions: NamedDependency[DispositionService]
) -> Response[DispositionPage]:
    page = await dispositions.page(principal_of(request.scope), query_of(request.scope, DispositionsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/dispositions/export", opt=_EXPORT.as_opt)
async def export_dispositions(
    request: ApiRequest,
    dispositions: NamedDependency[DispositionService],
    downloads: NamedDependency[Downloads],
) -> ASGIApp:
    principal, query = principal_of(request.scope), query_of(request.scope, DispositionExportQuery)
    batches = dispositions.export(principal, query)
    return downloads.of(principal, batches, name="dispositions", kind=Disposition, format_=query.format)


@get("/api/dispositions/{disposition_id:str}", opt=_READ.as_opt)
async def get_disposition(
    disposition_id: FromPath[str], request: ApiRequest, dispositions: NamedDependency[DispositionService]
) -> Disposition:
    return await dispositions.read(principal_of(request.scope), disposition_id)


def _dispositions(resources: Resources) -> DispositionService:
    return DispositionService(programs=resources.programs, dispositions=Dispositions(resources.stores.database))


AREA: Final = Area(
    routes=(list_dispositions, export_dispositions, get_disposition), provide={"dispositions": _dispositions}
)
