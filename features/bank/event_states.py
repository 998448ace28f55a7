"""The event types that the bank is known to send: the states of each resource. It may send others, which are read too.

Source  the bank's public event pages; ``card`` and ``counterparty`` events come from a program's own systems
"""

from collections.abc import Mapping
from typing import Final

_ACH_RETURNS: Final = ("returned", "return_dishonored", "return_contested")
_RECALL: Final = ("cancellation_requested", "cancellation_accepted", "cancellation_rejected", "tracking_updated")
_REVIEW: Final = ("manual_review", "rejected")
_RECLEAR: Final = ("pending_reclear", "recleared")

STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "ach.outgoing_transfer": (
        "initiated",
        "manual_review",
        "pending_submission",
        "submitted",
        "settled",
        "completed",
        *_ACH_RETURNS,
        "canceled",
        "noc",
    ),
    "ach.incoming_transfer": ("scheduled", "settled", "nsf", "completed", *_ACH_RETURNS),
    "wire.outgoing_transfer": ("initiated", "submitted", "completed", *_REVIEW),
    "wire.incoming_transfer": ("completed",),
    "wire.incoming_return_request": ("initiated", "approved", "completed", *_REVIEW),
    "wire.outgoing_return_request": ("initiated", "scheduled", "sent", "approved", "completed", *_REVIEW),
    "wire.incoming_drawdown_request": ("received", "approved", "denied"),
    "swift.outgoing_transfer": (
        "initiated",
        "manual_review",
        "submitted",
        "completed",
        "pending_return",
        "returned",
        *_RECALL,
        "amendment_request_received",
    ),
    "swift.incoming_transfer": ("initiated", "completed", "pending_return", "returned", *_RECALL),
    "realtime.outgoing_transfer": (
        "initiated",
        "completed",
        *_REVIEW,
        "manual_review_approved",
        "manual_review_rejected",
    ),
    "realtime.incoming_transfer": ("completed",),
    "realtime.incoming_return_request": ("pending", "accepted", "rejected"),
    "realtime.outgoing_return_request": ("pending", "accepted", "rejected"),
    "book.transfer": ("initiated", "completed", "hold_created", "updated", "canceled"),
    "check.incoming_debit": (
        "initiated",
        "issued",
        "pending_deposit",
        "settled",
        "returned",
        "pending_first_return",
        "first_return",
        *_RECLEAR,
        "pending_second_return",
        "second_return",
        "user_initiated_return_submitted",
        "user_initiated_returned",
        "user_initiated_return_dishonored",
        "pending_stop",
        "stopped",
        *_REVIEW,
    ),
    "check.outgoing_debit": ("initiated", *_REVIEW, "pending_debit", "deposited", "settled", "returned", *_RECLEAR),
    "card.authorization": ("approved", "declined", "updated", "reversed", "expired"),
    "card.transaction": ("settled", "refunded"),
    "card.dispute": ("opened", "closed"),
    "card.account": ("suspended", "reinstated", "closed"),
    "card": ("paused", "activated", "closed"),
    "identity": ("created",),
    "identity.verification": ("pending", "manual_review", "verified", "denied"),
    "account": ("overdrafted", "overdraft_released", "overdraft_cleared", "frozen", "unfrozen"),
    "counterparty": ("created", "updated", "deleted"),
    "loan": ("created", "updated", "in_dispute", "delinquent"),
    "loan.payment": ("completed",),
    "reporting.bank_account_summary": ("completed",),
    "reporting.bank_account_transaction": ("completed",),
}
"""By the type without its last part."""

LISTED_TYPES: Final = frozenset(f"{resource}.{state}" for resource, states in STATES.items() for state in states)
DELIVERY_OF_CHECKS: Final = "check.incoming_debit.delivery."
"""The start of types that report where the post has a check; they do not change its status."""
