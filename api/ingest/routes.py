"""The webhook for bank events, one endpoint for each program; the busiest route."""

from typing import Final

import msgspec
from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import Scope

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.fast_route import FastRoute, JsonAnswer, answered_by_middleware
from clearhold.api.http.gate import checked
from clearhold.api.http.operation import BATCH_BODY_LIMIT, INGEST_BODY_LIMIT, NDJSON, Access, Operation, RawBody
from clearhold.api.http.outcomes import EventCounts, Outcome, note, note_events
from clearhold.api.ingest.service import MOST_EVENTS, IngestService, LineReceipt
from clearhold.features.bank.event_schema import EVENT_SCHEMA, EXAMPLES
from clearhold.features.core.errors import ErrorCode


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The event is in the log; ``duplicate`` if it was there before, or another event took effect under its id."""

    received: bool
    duplicate: bool


_LINES: Final = msgspec.json.Encoder()
_RECEIPTS: Final = (
    LineReceipt(line=1, received=True, id="evnt_2zExample0001", duplicate=False),
    LineReceipt(line=2, received=False, error="Validation failed: created_at is required", path="created_at"),
)
_OPERATION: Final = Operation(
    id="ingestBankEvent",
    tag="ingest",
    summary="Takes in one event of the bank, signed over its raw bytes with the program's secret.",
    access=Access.SIGNATURE,
    answers={200: Receipt},
    refusals=(ErrorCode.UNAVAILABLE, ErrorCode.OVERLOADED, ErrorCode.STARTING),
    answer_example={"received": True, "duplicate": False},
    raw_body=RawBody(schema=EVENT_SCHEMA, examples=EXAMPLES),
    body_limit=INGEST_BODY_LIMIT,
)
_BATCH: Final = Operation(
    id="ingestBankEvents",
    tag="ingest",
    summary=f"Takes in up to {MOST_EVENTS:,} events, one a line, under one signature over the raw body. All valid "
    "events become durable together; after a 503 send the batch again. The answer has one line for each event, in "
    "order: an invalid event does not stop the others.",
    access=Access.SIGNATURE,
    answers={200: LineReceipt},
    refusals=(ErrorCode.UNAVAILABLE, ErrorCode.OVERLOADED, ErrorCode.STARTING),
    text_examples={NDJSON: _LINES.encode_lines(_RECEIPTS).decode()},
    media=(NDJSON,),
    raw_body=RawBody(
        schema={"type": "string", "description": "Events, one JSON object a line."},
        examples={"two events": _LINES.encode_lines([*EXAMPLES.values()][:2]).decode()},
        media=NDJSON,
    ),
    body_limit=BATCH_BODY_LIMIT,
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


@post("/api/ingest/bank/{program_id:str}/batch", status_code=200, media_type=NDJSON, opt=_BATCH.as_opt)
async def take_batch(program_id: FromPath[str], request: ApiRequest, ingest: NamedDependency[IngestService]) -> bytes:
    receipts = await ingest.take_batch(program_id, request.scope, checked(request.scope).raw)
    note_events(
        request.scope,
        EventCounts(
            accepted=sum(receipt.duplicate is False for receipt in receipts),
            duplicate=sum(receipt.duplicate is True for receipt in receipts),
            refused_invalid=sum(not receipt.received for receipt in receipts),
        ),
    )
    return _LINES.encode_lines(receipts)


def ingest_service(resources: Resources) -> IngestService:
    """Also for the sandbox, whose events take the same path."""
    stores = resources.stores
    return IngestService(
        tenancy=stores.registry.tenancy,
        log=stores.appender,
        owner=stores.owner,
        pending=resources.pending,
        clock=stores.clock,
    )


AREA: Final = Area(routes=(ingest_is_answered_by_middleware, take_batch), provide={"ingest": ingest_service})
