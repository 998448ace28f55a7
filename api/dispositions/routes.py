"""Dispositions over HTTP: every decision on every alert, by policy or by a person."""

from typing import Any, Final

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ASGIApp

from api.dispositions.schemas import Disposition, DispositionFilters, DispositionPage, DispositionsQuery
from api.dispositions.service import DispositionService
from api.examples import DISPOSITION
from api.http.gate import principal_of, query_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.lists.exports import MEDIA_TYPES, ExportFormat, examples_of
from api.lists.lists import moments_exist, next_link
from features.core.principal import KeyScope

_TAG: Final = "dispositions"


class DispositionExportQuery(DispositionFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


_LIST: Final = Operation(
    id="listDispositions",
    tag=_TAG,
    summary="Decisions on alerts, newest first.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: DispositionPage, 404: None},
    answer_example={"data": [DISPOSITION], "hasMore": False, "nextCursor": None},
    query=RequestSchema(DispositionsQuery, rules=moments_exist),
    headers=("Link",),
)
_EXPORT: Final = Operation(
    id="exportDispositions",
    tag=_TAG,
    summary="All dispositions of a list as a download: one a line, or a row under a row of names. "
    "An export that fails midway ends without a clean end of the connection; at most two run at a time.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Disposition, 404: None},
    query=RequestSchema(DispositionExportQuery, rules=moments_exist),
    headers=("Content-Disposition",),
    media=tuple(MEDIA_TYPES.values()),
    text_examples=examples_of(Disposition, DISPOSITION),
)
_READ: Final = Operation(
    id="getDisposition",
    tag=_TAG,
    summary="One disposition, with its place on the tenant's chain.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Disposition, 404: None},
    answer_example=DISPOSITION,
)


@get("/api/dispositions", opt=_LIST.as_opt)
async def list_dispositions(
    request: Request[Any, Any, Any], dispositions: NamedDependency[DispositionService]
) -> Response[DispositionPage]:
    page = await dispositions.page(principal_of(request.scope), query_of(request.scope, DispositionsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/dispositions/export", opt=_EXPORT.as_opt)
async def export_dispositions(
    request: Request[Any, Any, Any], dispositions: NamedDependency[DispositionService]
) -> ASGIApp:
    query = query_of(request.scope, DispositionExportQuery)
    return dispositions.export(principal_of(request.scope), query, query.format)


@get("/api/dispositions/{disposition_id:str}", opt=_READ.as_opt)
async def get_disposition(
    disposition_id: FromPath[str], request: Request[Any, Any, Any], dispositions: NamedDependency[DispositionService]
) -> Disposition:
    return await dispositions.read(principal_of(request.scope), disposition_id)


ROUTES: Final = (list_dispositions, export_dispositions, get_disposition)
