"""One request to the bank's API that carries out an action, and the action's outcome as it is recorded.

A request goes under the action's id as the bank's idempotency key. One key has one effect at the bank, so a request
without an answer is repeated unchanged. Of the bank's words only its JSON object is recorded, masked and bounded; no
error sentence quotes the bank.

Errors  none: whatever goes wrong is a ``Verdict``
"""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

import httpx
import msgspec

from clearhold.features.bank.action_endpoints import BankRequest
from clearhold.features.bank.masking import masked_raw
from clearhold.features.core.canonical import canonical
from clearhold.flows.running.bank_http import (
    ANSWER_WITHIN_S,
    PASSING,
    body_of,
    credential,
    retry_after_us,
    trace_header,
)
from clearhold.store.clock import Clock

MAX_RECORDED_BYTES: Final = 16 * 1024
IDEMPOTENCY_KEY: Final = "Idempotency-Key"

_UNSURE: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT})
_ENCODE: Final = msgspec.json.Encoder().encode


class Verdict(StrEnum):
    """The state of the action at the bank, according to its answer."""

    DONE = "done"
    REFUSED = "refused"  # nothing was done, and nothing will be
    REFUSED_NOW = "refused now"  # this request did nothing; an earlier one may have, or may be under way
    UNKNOWN = "unknown"  # it may have been done


class ActionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """``body`` is the bank's object, masked; None where it sent none, or none that can be recorded."""

    verdict: Verdict
    status: int | None = None
    body: dict[str, Any] | None = None
    retry_after_us: int | None = None


_UNKNOWN: Final = ActionAnswer(verdict=Verdict.UNKNOWN)


class BankActions:
    """``root`` is the URL of the bank's API, without a slash at its end."""

    def __init__(self, root: str, http: httpx.AsyncClient, clock: Clock) -> None:
        self._root, self._http, self._clock = root, http, clock

    async def send(self, request: BankRequest, key: str, action_id: str, *, trace_id: str) -> ActionAnswer:
        headers = {"Content-Type": "application/json", IDEMPOTENCY_KEY: action_id} | trace_header(trace_id)
        try:
            async with (
                asyncio.timeout(ANSWER_WITHIN_S),
                self._http.stream(
                    "POST",
                    self._root + request.path,
                    content=_ENCODE(request.body),
                    auth=credential(key),
                    headers=headers,
                ) as response,
            ):
                return await self._answer(response)
        except (httpx.HTTPError, TimeoutError, OSError):
            return _UNKNOWN

    async def _answer(self, response: httpx.Response) -> ActionAnswer:
        status = response.status_code
        verdict = _verdict_of(status)
        try:
            body = await body_of(response)
        except (httpx.HTTPError, TimeoutError, OSError):
            body = None  # the status has been read and gives the verdict
        return ActionAnswer(
            verdict=verdict,
            status=status,
            body=None if body is None else _recorded(body),
            retry_after_us=retry_after_us(response, now=self._clock.now()),
        )


def _verdict_of(status: int) -> Verdict:
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Verdict.DONE
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in PASSING or status == HTTPStatus.TOO_MANY_REQUESTS:
        return Verdict.UNKNOWN
    return Verdict.REFUSED_NOW if status in _UNSURE else Verdict.REFUSED


def _recorded(body: bytes) -> dict[str, Any] | None:
    """The object as the record takes it: masked, in canonical form, and not large."""
    try:
        encoded = canonical(masked_raw(body))
    except ValueError:  # outside of what the record can hold: a number beyond 2**53, a name that is not ASCII
        return None
    if len(encoded) > MAX_RECORDED_BYTES:
        return None
    recorded: dict[str, Any] = msgspec.json.decode(encoded)
    return recorded or None


ON_RECORD: Final = "Nothing is sent to the bank for an action of this type: it stands on the record."
NO_ENDPOINT: Final = "The bank has no endpoint that does this to a target with such an id. Nothing was sent."
REFUSED: Final = "The bank refused the action with status {status}. Nothing was done."
REFUSED_AFTER_SILENCE: Final = (
    "The bank refused the action with status {status}, but did not answer an earlier request for it, which it may have "
    "carried out. Look at the target at the bank before you request the action again."
)
KEY_REFUSED: Final = "The bank refused the tenant's key. Nothing was done; the platform's admin can set another key."
LOOK_AT_THE_BANK: Final = (
    "The bank did not say whether it carried out the action: it may have. Look at the target at the bank before you "
    "request the action again."
)
_KEY_STATUSES: Final = frozenset({401, 403})


class Result(StrEnum):
    """The end of an execution, for the metrics and the log."""

    EXECUTED = "executed"
    DRY_RUN = "dry_run"
    RECORDED = "recorded"
    IN_FORCE = "in_force"
    FAILED = "failed"
    UNKNOWN = "unknown"


class DryRun(StrEnum):
    """Why nothing is sent to the bank."""

    SIMULATED = "simulated_program"
    NO_KEY = "no_bank_key"
    NO_URL = "no_bank_url"


_WHY: Final[Mapping[DryRun, str]] = {
    DryRun.SIMULATED: "the program is simulated",
    DryRun.NO_KEY: "the tenant has no key to the bank's API",
    DryRun.NO_URL: "the service has no address of the bank's API (CLEARHOLD_BANK_URL)",
}


class ExecutionOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """``error`` is None when the action was carried out."""

    result: Result
    bank_response: dict[str, Any] | None
    error: str | None = None


def recorded() -> ExecutionOutcome:
    """For a type without an endpoint at any bank."""
    return ExecutionOutcome(result=Result.RECORDED, bank_response={"dryRun": False, "note": ON_RECORD})


def dry_run(reason: DryRun, request: BankRequest | None) -> ExecutionOutcome:
    response = {
        "dryRun": True,
        "reason": reason.value,
        "note": f"This is a dry run: {_WHY[reason]}, so nothing was sent to the bank.",
        "request": _request_fields(request),
    }
    return ExecutionOutcome(result=Result.DRY_RUN, bank_response=response)


def without_endpoint() -> ExecutionOutcome:
    """For a target whose id no endpoint takes."""
    return ExecutionOutcome(result=Result.FAILED, bank_response=_response(None, None, 0), error=NO_ENDPOINT)


def executed(request: BankRequest, answer: ActionAnswer, attempts: int) -> ExecutionOutcome:
    return ExecutionOutcome(result=Result.EXECUTED, bank_response=_response(request, answer, attempts))


def refused(request: BankRequest, answer: ActionAnswer, attempts: int, *, may_be_done: bool) -> ExecutionOutcome:
    """The bank did nothing; with ``may_be_done`` an earlier request without an answer may have had effect."""
    refusal = REFUSED_AFTER_SILENCE if may_be_done else REFUSED
    is_of_key = answer.status in _KEY_STATUSES and not may_be_done
    error = KEY_REFUSED if is_of_key else refusal.format(status=answer.status)
    return ExecutionOutcome(result=Result.FAILED, bank_response=_response(request, answer, attempts), error=error)


def unknown(request: BankRequest | None, answer: ActionAnswer | None, attempts: int) -> ExecutionOutcome:
    """The bank may have carried it out; there are no further requests."""
    return ExecutionOutcome(
        result=Result.UNKNOWN, bank_response=_response(request, answer, attempts), error=LOOK_AT_THE_BANK
    )


def _response(request: BankRequest | None, answer: ActionAnswer | None, attempts: int) -> dict[str, Any]:
    return {
        "dryRun": False,
        "request": _request_fields(request),
        "status": None if answer is None else answer.status,
        "attempts": attempts,
        "body": None if answer is None else answer.body,
    }


def _request_fields(request: BankRequest | None) -> dict[str, str] | None:
    return None if request is None else {"method": "POST", "path": request.path}
