"""The bank's vocabulary: event families, rails, status groups and ACH return code classes.

Source  the bank's public event pages for families and statuses; Nacha Operating Rules for return codes
"""

from typing import Final

from features.core.vocabulary import Rail

RAIL_OF_FAMILY: Final = {
    "ach": Rail.ACH,
    "wire": Rail.WIRE,
    "swift": Rail.INTL_WIRE,
    "realtime": Rail.REALTIME,
    "book": Rail.BOOK,
    "check": Rail.CHECK,
    "card": Rail.CARD,
}
KNOWN_FAMILIES: Final = frozenset(
    {
        "ach",
        "wire",
        "swift",
        "realtime",
        "book",
        "check",
        "identity",
        "account",
        "loan",
        "reporting",
        "card",
        "counterparty",
    }
)

# The middle part of an event type whose object is a transfer; every other middle part (return requests, drawdowns,
# disputes, card states) carries an object of its own.
TRANSFER_RESOURCES: Final = frozenset(
    {
        "ach.outgoing_transfer",
        "ach.incoming_transfer",
        "wire.outgoing_transfer",
        "wire.incoming_transfer",
        "swift.outgoing_transfer",
        "swift.incoming_transfer",
        "realtime.outgoing_transfer",
        "realtime.incoming_transfer",
        "book.transfer",
        "check.incoming_debit",
        "check.outgoing_debit",
        "card.authorization",
        "card.transaction",
    }
)
# An unlisted resource of a rail's family still is a transfer when its id says so and it carries an amount.
TRANSFER_ID_PREFIXES: Final = ("acht_", "wire_", "swft_", "rttr_", "book_", "chkt_", "ctxn_")

FAILED_STATUSES: Final = frozenset({"REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"})
CANCELED_STATUSES: Final = frozenset({"CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"})
# Neither kind moved money: they are attempts, and never count toward sums, baselines or a first time.
UNMOVED_STATUSES: Final = FAILED_STATUSES | CANCELED_STATUSES
RETURN_UNDONE_STATUSES: Final = frozenset({"RETURN_DISHONORED", "RETURN_DISHONORED_FUNDS_UNLOCKED"})

# Event suffixes that leave the object's status as it was.
SUFFIXES_WITHOUT_STATUS: Final = frozenset({"noc", "nsf", "tracking_updated", "amendment_request_received", "updated"})
# A suffix that is not the status's own word.
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

UNAUTHORIZED_RETURN_CODES: Final = frozenset({"R05", "R07", "R10", "R11", "R29", "R51"})
# The account was closed, missing, misnumbered or not for such entries: two on two accounts look like probing.
PROBING_RETURN_CODES: Final = frozenset({"R02", "R03", "R04", "R20"})
# After these the receiver must not be debited again.
STOP_RETURN_CODES: Final = frozenset({"R07", "R10", "R11", "R29"})
# R61-R70 dishonour a return and R71-R77 contest the dishonour: steps between banks, not returns of their own.
_DISHONOUR_FROM, _DISHONOUR_TO, _CONTEST_TO = 61, 70, 77


def is_interbank_step(code: str) -> bool:
    """True for R61-R77, which argue about a return instead of being one."""
    return code[1:].isdecimal() and _DISHONOUR_FROM <= int(code[1:]) <= _CONTEST_TO


def is_dishonour(code: str) -> bool:
    """True for R61-R70: the originating bank refuses the return."""
    return code[1:].isdecimal() and _DISHONOUR_FROM <= int(code[1:]) <= _DISHONOUR_TO
