"""The order of states on each rail, by the bank's reference: which of two snapshots with equal times is later."""

from typing import Final

_REFUSED: Final = "FAILED > MANUAL_REVIEW_REJECTED > REJECTED > CANCELED"
_WIRE: Final = "INITIATED > MANUAL_REVIEW > MANUAL_REVIEW_APPROVED > PENDING > PENDING_SUBMISSION > SUBMITTED"
LIVES: Final = {
    "ach": "SCHEDULED = INITIATED > NSF > MANUAL_REVIEW > MANUAL_REVIEW_APPROVED > PENDING > PENDING_SUBMISSION > "
    f"SUBMITTED > SETTLED > COMPLETED > {_REFUSED} > PENDING_RETURN > RETURNED > RETURN_DISHONORED > "
    "RETURN_DISHONORED_FUNDS_UNLOCKED > RETURN_CONTESTED",
    "wire": f"{_WIRE} > COMPLETED > {_REFUSED}",
    "intl_wire": f"{_WIRE} > CANCELLATION_REQUESTED > CANCELLATION_REJECTED > COMPLETED > {_REFUSED} > "
    "CANCELLATION_ACCEPTED > PENDING_RETURN > RETURNED",
    "realtime": "INITIATED > MANUAL_REVIEW > MANUAL_REVIEW_APPROVED > PENDING > ACCEPTED > COMPLETED > FAILED > "
    "MANUAL_REVIEW_REJECTED > BLOCKED > REJECTED > CANCELED",
    "book": f"INITIATED > HOLD > COMPLETED > {_REFUSED}",
    "issued check": "INITIATED > MANUAL_REVIEW > MANUAL_REVIEW_APPROVED > ISSUED > PENDING_STOP > PENDING_DEPOSIT > "
    f"SETTLED > {_REFUSED} > STOPPED > PENDING_FIRST_RETURN > FIRST_RETURN = RETURNED > PENDING_RECLEAR > RECLEARED > "
    "PENDING_SECOND_RETURN > SECOND_RETURN > USER_INITIATED_RETURN_SUBMITTED > PENDING_USER_INITIATED_RETURN > "
    "USER_INITIATED_RETURNED > USER_INITIATED_RETURN_DISHONORED",
    "deposited check": "INITIATED > MANUAL_REVIEW > MANUAL_REVIEW_APPROVED > PENDING_DEBIT > PENDING_DEPOSIT > "
    f"DEPOSITED > SETTLED > {_REFUSED} > PENDING_RECLEAR > RECLEARED > RETURNED",
    "card": "PENDING > EXPIRED > VOIDED > SETTLED > DECLINED > REFUNDED",
    "entity": "UNVERIFIED > PENDING > MANUAL_REVIEW > VERIFIED > DENIED",
    "account": "OPEN > FROZEN > CLOSED",
    "counterparty": "created > updated > deleted",
}
"""``>`` leads to the later state; ``=`` is between two of equal rank, of which the one that comes last counts."""

UNMOVED: Final = {
    *("REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"),
    *("CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"),
}
"""In these states no money moved: the bank's failed and canceled ones."""

RETURN_UNDONE: Final = {"RETURN_DISHONORED", "RETURN_DISHONORED_FUNDS_UNLOCKED"}
"""In these states of an ACH transfer its return does not count."""

STEPS: Final = {life: [step.split(" = ") for step in told.split(" > ")] for life, told in LIVES.items()}


def life_of(rail: str, direction: str) -> str:
    if rail != "check":
        return rail
    return "issued check" if direction == "outgoing" else "deposited check"


def place(life: str, state: str | None) -> int:
    """An unknown state comes before all others."""
    return next((at for at, words in enumerate(STEPS[life], 1) if state in words), 0)
