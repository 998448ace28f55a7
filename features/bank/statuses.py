"""The bank's status words of transfers: which mean that no money moved, and which status an event type implies.

Source  the bank's public event pages
"""

from typing import Final

FAILED_STATUSES: Final = frozenset({"REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"})
CANCELED_STATUSES: Final = frozenset({"CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"})
DROPPED_STATUSES: Final = frozenset({"DROPPED"})  # of a settlement that its chain took back
# None of them moved money: they are attempts, and never count toward sums, baselines or a first time.
UNMOVED_STATUSES: Final = FAILED_STATUSES | CANCELED_STATUSES | DROPPED_STATUSES
RETURN_UNDONE_STATUSES: Final = frozenset({"RETURN_DISHONORED", "RETURN_DISHONORED_FUNDS_UNLOCKED"})

# Event suffixes that do not change the object's status.
SUFFIXES_WITHOUT_STATUS: Final = frozenset({"noc", "nsf", "tracking_updated", "amendment_request_received", "updated"})
# Suffixes that differ from the word of their status.
STATUS_OF_SUFFIX: Final = {"hold_created": "HOLD"}
STATUS_OF_CARD_SUFFIX: Final = {
    "approved": "PENDING",
    "updated": "PENDING",
    "declined": "DECLINED",
    "reversed": "VOIDED",
    "expired": "EXPIRED",
    "settled": "SETTLED",
    "refunded": "REFUNDED",
}
