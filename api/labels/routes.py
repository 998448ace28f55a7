"""Labels over HTTP."""

from typing import Any, Final

from litestar import Response, get, post
from litestar.di import NamedDependency

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.labels.schemas import Label, LabelPage, LabelsQuery, NewLabel
from clearhold.api.labels.service import LabelService
from clearhold.api.lists.lists import next_link
from clearhold.api.lists.operations import list_operation
from clearhold.api.programs.examples import PROGRAM_ID
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.alerts import Labels
from clearhold.store.duck.transfers import Transfers

LABEL: Final[dict[str, Any]] = {
    "id": "6b1d4f0e-9a2c-4c7e-8b5d-1e3f7a0c9d11",
    "transferId": "acht_2zExample0001",
    "programId": PROGRAM_ID,
    "label": "bad",
    "reason": "The payer disputes that it authorized this.",
    "source": "person",
    "recordedBy": "ann",
    "createdAt": "2026-03-20T10:00:00.000Z",
}
NEW_LABEL: Final = {name: LABEL[name] for name in ("transferId", "label", "reason", "programId")}


_TAG: Final = "labels"

_RECORD: Final = Operation(
    id="recordLabel",
    tag=_TAG,
    summary="Labels a transfer `bad` or `ok` once its outcome is known. The newest label of a transfer counts. "
    "400 if several programs have a transfer of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.LABELS,
    answers={201: Label},
    refusals=(
        ErrorCode.PROGRAM_REQUIRED,
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.TRANSFER_NOT_FOUND,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(NewLabel),
    example=NEW_LABEL,
    answer_example=LABEL,
)
_LIST: Final = list_operation(
    "listLabels",
    tag=_TAG,
    summary="Labels, newest first, including labels that a later one of the same transfer replaced.",
    scope=KeyScope.LABELS,
    page=LabelPage,
    query=LabelsQuery,
    example=LABEL,
)


@post("/api/labels", opt=_RECORD.as_opt)
async def record_label(request: ApiRequest, labels: NamedDependency[LabelService]) -> Label:
    return await labels.record(
        principal_of(request.scope), body_of(request.scope, NewLabel), effect_id_of(request.scope)
    )


@get("/api/labels", opt=_LIST.as_opt)
async def list_labels(request: ApiRequest, labels: NamedDependency[LabelService]) -> Response[LabelPage]:
    page = await labels.page(principal_of(request.scope), query_of(request.scope, LabelsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


def _labels(resources: Resources) -> LabelService:
    return LabelService(
        programs=resources.programs,
        labels=Labels(resources.stores.database),
        transfers=Transfers(resources.stores.database),
        command_log=resources.command_log,
    )


AREA: Final = Area(routes=(record_label, list_labels), provide={"labels": _labels})
