"""Labels over HTTP."""

from typing import Any, Final

from litestar import Request, Response, get, post
from litestar.di import NamedDependency

from api.examples import LABEL, NEW_LABEL
from api.http.gate import body_of, effect_id_of, principal_of, query_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.labels.schemas import Label, LabelPage, LabelsQuery, NewLabel
from api.labels.service import LabelService
from api.lists.lists import moments_exist, next_link
from features.core.principal import KeyScope

_TAG: Final = "labels"

_RECORD: Final = Operation(
    id="recordLabel",
    tag=_TAG,
    summary="Says what a transfer turned out to be. Of several labels of one transfer the last one counts. "
    "400 when several programs have a transfer of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.LABELS,
    answers={201: Label, 404: None},
    body=RequestSchema(NewLabel),
    example=NEW_LABEL,
    answer_example=LABEL,
)
_LIST: Final = Operation(
    id="listLabels",
    tag=_TAG,
    summary="Labels, newest first, those too that a later one of the same transfer replaced.",
    access=Access.BEARER,
    scope=KeyScope.LABELS,
    answers={200: LabelPage, 404: None},
    answer_example={"data": [LABEL], "hasMore": False, "nextCursor": None},
    query=RequestSchema(LabelsQuery, rules=moments_exist),
    headers=("Link",),
)


@post("/api/labels", opt=_RECORD.as_opt)
async def record_label(request: Request[Any, Any, Any], labels: NamedDependency[LabelService]) -> Label:
    asked = body_of(request.scope, NewLabel)
    return await labels.record(principal_of(request.scope), asked, effect_id_of(request.scope))


@get("/api/labels", opt=_LIST.as_opt)
async def list_labels(request: Request[Any, Any, Any], labels: NamedDependency[LabelService]) -> Response[LabelPage]:
    page = await labels.page(principal_of(request.scope), query_of(request.scope, LabelsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


ROUTES: Final = (record_label, list_labels)
