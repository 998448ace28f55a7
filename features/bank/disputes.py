"""Disputes of card payments and of checks: the disputed transfer, and who won.

Source  The bank defines no object for ``card.dispute.*``. Issuers' APIs state an outcome of won or lost, seen from the
        holder's side (Stripe Issuing ``won``, ``lost``; Lithic ``CASE_WON``). A dispute that was withdrawn, or that
        expired, says nothing of the payment. Of checks the bank states the outcome as a status.
Errors  none: an object that names no transfer or no outcome is None
"""

from enum import StrEnum
from typing import Any, Final, NamedTuple

from clearhold.features.bank.fields import mapping, text, word


class DisputeOutcome(StrEnum):
    """The party that the decision is for; the holder disputes the payment."""

    WON = "won"
    LOST = "lost"


class DecidedDispute(NamedTuple):
    transfer_id: str
    outcome: DisputeOutcome


_TRANSFER_FIELDS: Final = ("transfer_id", "transaction_id", "card_transaction_id")
_OUTCOME_FIELDS: Final = ("outcome", "resolution", "status")
DISPUTE_OPENED: Final = "dispute.opened"
_WON: Final = frozenset({"WON", "CASE_WON", "CARDHOLDER_WON", "WON_BY_CARDHOLDER", "ACCEPTED", "UPHELD"})
_LOST: Final = frozenset({"LOST", "CASE_LOST", "MERCHANT_WON", "WON_BY_MERCHANT", "DENIED", "REJECTED"})
OUTCOME_OF_CHECK_STATUS: Final = {
    "USER_INITIATED_RETURNED": DisputeOutcome.WON,
    "USER_INITIATED_RETURN_DISHONORED": DisputeOutcome.LOST,
}


def read_dispute(suffix: str, data: dict[str, Any]) -> DecidedDispute | None:
    """A ``card.dispute.*`` event's object, once the dispute is decided."""
    if suffix == DISPUTE_OPENED:
        return None
    nested = text(mapping(data.get("transaction")).get("id"))
    transfer_id = next((value for name in _TRANSFER_FIELDS if (value := text(data.get(name)))), nested)
    words = {value for name in _OUTCOME_FIELDS if (value := word(data.get(name)))}
    outcome = DisputeOutcome.WON if words & _WON else DisputeOutcome.LOST if words & _LOST else None
    return None if transfer_id is None or outcome is None else DecidedDispute(transfer_id, outcome)
