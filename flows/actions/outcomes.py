"""The outcome of an action as it is recorded: the answer, and a sentence of ours when it failed.

Of the bank's own words only its object is recorded, masked, in the answer.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from clearhold.features.bank.action_endpoints import BankRequest
from clearhold.flows.actions.bank_actions import ActionAnswer

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


def in_force(version: str) -> ExecutionOutcome:
    """For a change inside the service: the version that it brought into force."""
    return ExecutionOutcome(result=Result.IN_FORCE, bank_response={"version": version})


def not_in_force(error: str) -> ExecutionOutcome:
    """For a change that is no longer allowed."""
    return ExecutionOutcome(result=Result.FAILED, bank_response=None, error=error)


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
    response = {"dryRun": False, "request": None, "status": None, "attempts": 0, "body": None}
    return ExecutionOutcome(result=Result.FAILED, bank_response=response, error=NO_ENDPOINT)


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
