"""The webhook for bank events, one endpoint for each program: by far the busiest route."""

from typing import Final

import msgspec
from litestar import post
from litestar.types import Scope

from api.area import Area, Resources
from api.http.fast_route import FastRoute, JsonAnswer, answered_by_middleware
from api.http.gate import checked
from api.http.operation import INGEST_BODY_LIMIT, Access, Operation
from api.ingest.service import IngestService
from api.telemetry.metrics import Outcome, note


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The event is in the log; ``duplicate`` if it was already there."""

    received: bool
    duplicate: bool


_OPERATION: Final = Operation(
    id="ingestBankEvent",
    tag="ingest",
    summary="Takes in one event of the bank, signed over its raw bytes with the program's secret.",
    access=Access.SIGNATURE,
    answers={200: Receipt, 401: None, 503: None},
    answer_example={"received": True, "duplicate": False},
    raw_body=True,
    body_limit=INGEST_BODY_LIMIT,
    example={
        "id": "evnt_2zExample0001",
        "created_at": "2026-03-02T15:04:05Z",
        "type": "ach.outgoing_transfer.returned",
        "data": {"id": "acht_2zExample0001", "status": "RETURNED"},
    },
)
_TAKEN: Final = msgspec.json.encode(Receipt(received=True, duplicate=False))
_DUPLICATE: Final = msgspec.json.encode(Receipt(received=True, duplicate=True))


async def _take(ingest: IngestService, scope: Scope) -> JsonAnswer:
    duplicate = await ingest.take(scope["path_params"]["program_id"], scope, checked(scope).raw)
    if duplicate:
        note(scope, Outcome.DUPLICATE)
    return 200, _DUPLICATE if duplicate else _TAKEN, []


@post(
    "/api/ingest/bank/{program_id:str}", status_code=200, opt=_OPERATION.as_opt, middleware=[FastRoute("ingest", _take)]
)
async def ingest_is_answered_by_middleware() -> Receipt:
    """Names the route only."""
    answered_by_middleware()


def _ingest(resources: Resources) -> IngestService:
    stores = resources.stores
    return IngestService(
        tenancy=stores.registry.tenancy,
        log=stores.appender,
        owner=stores.owner,
        pending=resources.pending,
        clock=stores.clock,
    )


AREA: Final = Area(routes=(ingest_is_answered_by_middleware,), provide={"ingest": _ingest})
