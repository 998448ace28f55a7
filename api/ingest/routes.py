"""The inbound webhook, one endpoint a program, and the busiest route by far."""

from typing import Any, Final

import msgspec
from litestar import post

from api.http.fast_route import FastRoute, JsonAnswer
from api.http.gate import passed
from api.http.operation import INGEST_BODY_LIMIT, Access, Operation
from api.ingest.service import IngestService
from api.telemetry.metrics import Outcome, note


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The event is in the log; ``duplicate`` when it had been before."""

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


async def _take(services: Any, scope: Any) -> JsonAnswer:
    ingest: IngestService = services.ingest
    duplicate = await ingest.take(scope["path_params"]["program_id"], scope, passed(scope).raw)
    if duplicate:
        note(scope, Outcome.DUPLICATE)
    return 200, _DUPLICATE if duplicate else _TAKEN, []


@post("/api/ingest/bank/{program_id:str}", status_code=200, opt=_OPERATION.as_opt, middleware=[FastRoute(_take)])
async def ingest_bank_event() -> Receipt:
    """Names the route, which is answered at once."""
    raise RuntimeError("The ingest route is answered by its middleware.")


ROUTES: Final[tuple[Any, ...]] = (ingest_bank_event,)
