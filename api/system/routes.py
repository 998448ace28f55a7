"""Operations endpoints: is the process there, is it ready, and what does it offer."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from litestar import Request, Response, get
from litestar.di import NamedDependency

from api.http.conditional import ETAG, published
from api.http.operation import JSON, Access, Operation

UP: Final = "up"
DOWN: Final = "down"
READY: Final = "ready"
UNAVAILABLE: Final = "unavailable"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    status: str


class ReadinessReport(msgspec.Struct, frozen=True, kw_only=True):
    """``components`` names each part as up or down and says no more."""

    status: str
    components: dict[str, str]


class Readiness:
    """Asks each component whether it is up; a check that raises counts as down."""

    def __init__(self, checks: dict[str, Callable[[], bool]]) -> None:
        self._checks = checks

    def add(self, name: str, check: Callable[[], bool]) -> None:
        self._checks[name] = check

    def report(self) -> ReadinessReport:
        components = {name: UP if _holds(check) else DOWN for name, check in self._checks.items()}
        status = READY if all(state == UP for state in components.values()) else UNAVAILABLE
        return ReadinessReport(status=status, components=components)


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
    summary="Tells whether every component can serve.",
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


@get("/readyz", opt=_READINESS.as_opt, sync_to_thread=True)
def get_readiness(readiness: NamedDependency[Readiness]) -> Response[ReadinessReport]:
    report = readiness.report()
    return Response(report, status_code=200 if report.status == READY else 503)


@get("/openapi.json", opt=_DOCUMENT.as_opt)
async def get_openapi(request: Request[Any, Any, Any]) -> Response[bytes | None]:
    document: bytes = request.app.state.openapi
    return published(request, document, media_type=JSON)


def _holds(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:  # noqa: BLE001 - whatever a component raises, it is down; its own code logs why
        return False


ROUTES: Final = (get_health, get_readiness, get_openapi)
