"""The sandbox over HTTP: for test keys, on simulated programs."""

from typing import Any, Final

from litestar import get

from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import write_route
from clearhold.api.sandbox.schemas import (
    LISTINGS,
    EventRequest,
    ReturnRequest,
    SandboxResult,
    SandboxTransfer,
    ScenarioListing,
    ScenarioRequest,
    event_rules,
    transfer_rules,
)
from clearhold.api.sandbox.service import SandboxService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_EXAMPLES: Final = examples_of(__file__)


_TAG: Final = "sandbox"

_LIST: Final = Operation(
    id="listScenarios",
    tag=_TAG,
    summary="Every scenario, and the detectors of the alerts that it must open: exactly these, or none.",
    access=Access.BEARER,
    scope=KeyScope.SANDBOX,
    sandbox=True,
    answers={200: tuple[ScenarioListing, ...]},
    answer_example=[_EXAMPLES["listing"]],
)


def _write(operation_id: str, summary: str, body: RequestSchema[Any], example: Any, *refusals: ErrorCode) -> Operation:
    """A route that sends the program events as the bank would."""
    return Operation(
        id=operation_id,
        tag=_TAG,
        summary=f"{summary} The answer waits for the commit, at most 5 seconds; `committed` is false if it "
        "takes longer, and the results can be read later.",
        access=Access.BEARER,
        scope=KeyScope.SANDBOX,
        sandbox=True,
        answers={201: SandboxResult},
        refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.STARTING, ErrorCode.TOO_MANY_AT_ONCE, *refusals),
        body=body,
        example=example,
        answer_example=_EXAMPLES["result"],
    )


_RUN: Final = _write(
    "runScenario",
    "Runs a scenario: the program gets the bank's events, up to now.",
    RequestSchema(ScenarioRequest),
    {"scenario": "ach_debits_returned_r10", "seed": 7, "count": 1},
)
_TRANSFER: Final = _write(
    "simulateTransfer",
    "Sends the events of a transfer from beginning to end. An ACH entry to a counterparty named RETURN_NSF (R01), "
    "RETURN_ACCOUNT_CLOSED (R02), RETURN_STOP_PAYMENT (R08) or RETURN_UNAUTH (R10) comes back after it settled.",
    RequestSchema(SandboxTransfer, rules=transfer_rules),
    _EXAMPLES["transfer_request"],
    ErrorCode.ENTITY_NOT_FOUND,
)
_EVENT: Final = _write(
    "simulateEvent",
    "Sends one event with any data. An entity that `identity.created` creates is verified at "
    "once; one with the last or business name Review goes to manual review, and one named Denied is denied.",
    RequestSchema(EventRequest, rules=event_rules),
    _EXAMPLES["event_request"],
)
_RETURN: Final = _write(
    "simulateReturn",
    "Returns a transfer as the bank would: an ACH entry, a check or an international wire that was sent.",
    RequestSchema(ReturnRequest),
    {"transferId": "acht_sbx0c1d2e3f4a5b0001", "returnCode": "R01"},
    ErrorCode.TRANSFER_NOT_FOUND,
    ErrorCode.OBJECT_LOST,
    ErrorCode.TRANSFER_NOT_RETURNABLE,
)


@get("/api/sandbox/scenarios", opt=_LIST.as_opt)
async def list_scenarios() -> tuple[ScenarioListing, ...]:
    return LISTINGS


AREA: Final = Area(
    routes=(
        list_scenarios,
        write_route("/api/sandbox/{program_id:str}/scenario", _RUN, _TAG, SandboxService.run),
        write_route("/api/sandbox/{program_id:str}/transfer", _TRANSFER, _TAG, SandboxService.transfer),
        write_route("/api/sandbox/{program_id:str}/event", _EVENT, _TAG, SandboxService.send),
        write_route("/api/sandbox/{program_id:str}/return", _RETURN, _TAG, SandboxService.send_back),
    ),
    provide={_TAG: SandboxService},
)
