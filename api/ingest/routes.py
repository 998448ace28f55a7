"""The inbound webhook, one endpoint a program."""

from typing import Any, Final

import msgspec
from litestar import Request, Response, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.gate import passed
from api.ingest.service import IngestService
from api.operation import INGEST_BODY_LIMIT, Access, Operation


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
)


@post("/api/ingest/bank/{program_id:str}", status_code=200, opt=_OPERATION.as_opt)
async def ingest_bank_event(
    program_id: FromPath[str], request: Request[Any, Any, Any], ingest: NamedDependency[IngestService]
) -> Response[Receipt]:
    duplicate = await ingest.take(program_id, request.scope, passed(request.scope).raw)
    return Response(Receipt(received=True, duplicate=duplicate))


ROUTES: Final = (ingest_bank_event,)
