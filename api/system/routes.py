"""Operations endpoints: health, readiness and the OpenAPI document."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from msgspec import UNSET, UnsetType

from clearhold.api.area import Area
from clearhold.api.http.envelope import HEADERS_OF_STATUS, ApiRequest, ErrorEnvelope, request_id
from clearhold.api.http.head import published
from clearhold.api.http.operation import JSON, Access, Operation
from clearhold.api.telemetry.readiness import (
    BEHIND_SECONDS,
    DOWN,
    OWNER,
    READY,
    ROLE,
    Readiness,
    ReadinessReport,
    Replay,
)
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.vocabulary import about


class Health(msgspec.Struct, frozen=True, kw_only=True):
    status: Annotated[str, about("ok, while the process runs.")]


class UnreadyReport(ErrorEnvelope, frozen=True, kw_only=True, rename="camel"):
    """The report of a service that is not ready: an error envelope."""

    status: Annotated[str, about("Always unavailable.")]
    components: dict[str, str]
    replay: Replay | UnsetType = UNSET
    degraded_work: Sequence[str] | UnsetType = UNSET
    forged_entries: int | UnsetType = UNSET
    removed_entries: int | UnsetType = UNSET
    role: Annotated[str | UnsetType, ROLE] = UNSET
    behind_seconds: Annotated[float | UnsetType | None, BEHIND_SECONDS] = UNSET
    owner: Annotated[str | UnsetType | None, OWNER] = UNSET


_operation: Final = partial(Operation, tag="operations", access=Access.PUBLIC)
_HEALTH: Final = _operation(
    id="getHealth",
    summary="Answers while the process runs.",
    answers={200: Health},
    answer_example={"status": "ok"},
)
_READINESS: Final = _operation(
    id="getReadiness",
    summary="Whether every component can serve.",
    answers={200: ReadinessReport, 503: UnreadyReport},
    refusals=(ErrorCode.UNAVAILABLE,),
    answer_example={
        "status": "ready",
        "components": {
            "database": "up",
            "redis": "up",
            "flow": "up",
            "background": "up",
            "log": "up",
            "clock": "up",
        },
    },
)
_DOCUMENT: Final = _operation(
    id="getOpenApi",
    summary="This document.",
    answers={200: dict[str, Any], 304: None},
    headers=("Cache-Control",),
)


@get("/healthz", opt=_HEALTH.as_opt)
async def get_health() -> Health:
    return Health(status="ok")


@get("/readyz", opt=_READINESS.as_opt)
async def get_readiness(
    request: ApiRequest, readiness: NamedDependency[Readiness]
) -> Response[ReadinessReport] | Response[UnreadyReport]:
    report = await readiness.latest()
    if report.status == READY:
        return Response(report)
    down = ", ".join(name for name, state in report.components.items() if state == DOWN)
    stands_by = report.role is not UNSET
    unready = UnreadyReport(
        error="Not ready: this node stands by." if stands_by else f"Not ready: {down} down.",
        code=ErrorCode.STANDBY if stands_by else ErrorCode.UNAVAILABLE,
        request_id=request_id(request.scope),
        status=report.status,
        components=report.components,
        replay=report.replay,
        degraded_work=report.degraded_work,
        forged_entries=report.forged_entries,
        removed_entries=report.removed_entries,
        role=report.role,
        behind_seconds=report.behind_seconds,
        owner=report.owner,
    )
    return Response(unready, status_code=503, headers=HEADERS_OF_STATUS[503])


@get("/openapi.json", opt=_DOCUMENT.as_opt)
async def get_openapi(request: ApiRequest) -> Response[bytes | None]:
    document: bytes = request.app.state.openapi
    return published(request, document, media_type=JSON)


AREA: Final = Area(
    routes=(get_health, get_readiness, get_openapi), provide={"readiness": lambda resources: resources.readiness}
)
