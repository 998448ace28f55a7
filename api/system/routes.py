"""Operations endpoints: health, readiness and the OpenAPI document."""

from typing import Any, Final

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency

from api.area import Area
from api.http.conditional import ETAG, published
from api.http.envelope import ApiRequest
from api.http.operation import JSON, Access, Operation
from api.telemetry.readiness import READY, Readiness, ReadinessReport


class Health(msgspec.Struct, frozen=True, kw_only=True):
    status: str


_HEALTH: Final = Operation(
    id="getHealth",
    tag="operations",
    summary="Answers while the process runs.",
    access=Access.PUBLIC,
    answers={200: Health},
    answer_example={"status": "ok"},
)
_READINESS: Final = Operation(
    id="getReadiness",
    tag="operations",
    summary="Whether every component can serve.",
    access=Access.PUBLIC,
    answers={200: ReadinessReport, 503: ReadinessReport},
    answer_example={"status": "ready", "components": {"database": "up", "redis": "up", "flow": "up"}},
)
_DOCUMENT: Final = Operation(
    id="getOpenApi",
    tag="operations",
    summary="This document.",
    access=Access.PUBLIC,
    answers={200: dict[str, Any], 304: None},
    headers=(ETAG, "Cache-Control"),
)


@get("/healthz", opt=_HEALTH.as_opt)
async def get_health() -> Health:
    return Health(status="ok")


@get("/readyz", opt=_READINESS.as_opt)
async def get_readiness(readiness: NamedDependency[Readiness]) -> Response[ReadinessReport]:
    report = await readiness.latest()
    return Response(report, status_code=200 if report.status == READY else 503)


@get("/openapi.json", opt=_DOCUMENT.as_opt)
async def get_openapi(request: ApiRequest) -> Response[bytes | None]:
    document: bytes = request.app.state.openapi
    return published(request, document, media_type=JSON)


AREA: Final = Area(
    routes=(get_health, get_readiness, get_openapi), provide={"readiness": lambda resources: resources.readiness}
)
