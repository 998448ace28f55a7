"""The inbound webhook, one endpoint a program.

The busiest route by far, so its answer is given by a middleware of its own: routing, the gate, the error handler and
the headers are those of every route, while Litestar's handler and response objects, half the cost of a request here,
are left out.
"""

from typing import Any, Final

import msgspec
from litestar import post
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from api.gate import passed
from api.ingest.service import IngestService
from api.metrics import Outcome, note
from api.operation import INGEST_BODY_LIMIT, Access, Operation

STATE_KEY: Final = "ingest"
"""Where the application's state holds the IngestService."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The event is in the log; ``duplicate`` when it had been before."""

    received: bool
    duplicate: bool


_OPERATION: Final = Operation(
    id="ingestBankEvent",
    tag="ingest",
    summary="Takes in one event of the bank, signed over its raw bytes with the program's secret.",
    access=Access.SIGNATURE,
    answers={200: Receipt, 400: None, 401: None, 413: None, 503: None},
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


class IngestAtOnce(ASGIMiddleware):
    """Answers for the route it stands before."""

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:  # noqa: ARG002
        ingest: IngestService = scope["litestar_app"].state[STATE_KEY]
        duplicate = await ingest.take(scope["path_params"]["program_id"], scope, passed(scope).raw)
        if duplicate:
            note(scope, Outcome.DUPLICATE)
        body = _DUPLICATE if duplicate else _TAKEN
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


@post("/api/ingest/bank/{program_id:str}", status_code=200, opt=_OPERATION.as_opt, middleware=[IngestAtOnce()])
async def ingest_bank_event() -> Receipt:
    """Names the route; IngestAtOnce answers."""
    raise RuntimeError("The ingest route is answered by its middleware.")


ROUTES: Final[tuple[Any, ...]] = (ingest_bank_event,)
