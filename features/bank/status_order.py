"""The order of an object's states: of two snapshots of one instant, the one with the later state is the newer one.

An object's snapshots are ordered by ``updated_at``, then by the ``created_at`` of their events. Both have whole seconds
at the bank, a payment settles within one, and events come in any order. Words on one line are states of equal rank,
among which the order of arrival decides; a word that is not listed comes before all others.

Final states come after those on the way to them. Where a rail has two ends of which only one can be true, the one that
moved no money comes last, so that money that never moved is counted in no order of arrival.

Source  the bank's public pages on the states of each rail; decision record 0077
"""

from collections.abc import Mapping
from typing import Final

from clearhold.features.core.money import RAIL_CLASSES
from clearhold.features.core.vocabulary import Direction, Rail, VerificationStatus

_REVIEW: Final = ("MANUAL_REVIEW", "MANUAL_REVIEW_APPROVED")
_NEVER_SENT: Final = ("FAILED", "MANUAL_REVIEW_REJECTED", "REJECTED", "CANCELED CANCELLED")
_WIRE: Final = ("INITIATED", *_REVIEW, "PENDING", "PENDING_SUBMISSION", "SUBMITTED")
_BOOK: Final = ("INITIATED", "HOLD", "COMPLETED", *_NEVER_SENT)

_OF_ACH: Final = (
    *("INITIATED SCHEDULED", "NSF", *_REVIEW, "PENDING", "PENDING_SUBMISSION", "SUBMITTED", "SETTLED", "COMPLETED"),
    *_NEVER_SENT,
    *("PENDING_RETURN", "RETURNED"),
    *("RETURN_DISHONORED", "RETURN_DISHONORED_FUNDS_UNLOCKED", "RETURN_CONTESTED"),
)
_OF_INTERNATIONAL_WIRE: Final = (
    *_WIRE,
    *("CANCELLATION_REQUESTED", "CANCELLATION_REJECTED", "COMPLETED", *_NEVER_SENT),
    *("CANCELLATION_ACCEPTED", "PENDING_RETURN", "RETURNED"),
)
_OF_REALTIME: Final = (  # and settlements on a chain, which are confirmed or dropped
    *("INITIATED", *_REVIEW, "PENDING", "ACCEPTED", "COMPLETED CONFIRMED DROPPED"),
    *("FAILED", "MANUAL_REVIEW_REJECTED", "BLOCKED", "REJECTED", "CANCELED CANCELLED"),
)
_OF_ISSUED_CHECK: Final = (
    *("INITIATED", *_REVIEW, "ISSUED", "PENDING_STOP", "PENDING_DEPOSIT", "SETTLED", *_NEVER_SENT, "STOPPED"),
    *("PENDING_FIRST_RETURN", "FIRST_RETURN RETURNED", "PENDING_RECLEAR", "RECLEARED"),
    *("PENDING_SECOND_RETURN", "SECOND_RETURN", "USER_INITIATED_RETURN_SUBMITTED", "PENDING_USER_INITIATED_RETURN"),
    *("USER_INITIATED_RETURNED", "USER_INITIATED_RETURN_DISHONORED"),
)
_OF_DEPOSITED_CHECK: Final = (
    *("INITIATED", *_REVIEW, "PENDING_DEBIT", "PENDING_DEPOSIT", "DEPOSITED", "SETTLED", *_NEVER_SENT),
    *("PENDING_RECLEAR", "RECLEARED", "RETURNED"),
)
_OF_CARD: Final = ("PENDING", "EXPIRED", "VOIDED", "SETTLED", "DECLINED", "REFUNDED")

STATES_OF_TRANSFERS: Final[Mapping[tuple[Rail, Direction], tuple[str, ...]]] = {
    **{(Rail.ACH, direction): _OF_ACH for direction in Direction},
    **{(Rail.WIRE, direction): (*_WIRE, "COMPLETED", *_NEVER_SENT) for direction in Direction},
    **{(Rail.INTL_WIRE, direction): _OF_INTERNATIONAL_WIRE for direction in Direction},
    **{(Rail.REALTIME, direction): _OF_REALTIME for direction in Direction},
    **{(Rail.BOOK, direction): _BOOK for direction in Direction},
    (Rail.CHECK, Direction.OUTGOING): _OF_ISSUED_CHECK,
    (Rail.CHECK, Direction.INCOMING): _OF_DEPOSITED_CHECK,
    **{(Rail.CARD, direction): _OF_CARD for direction in Direction},
}
"""Words on one line of equal rank are separated by a space. Checks that the program issued are outgoing."""

STATES_OF_ENTITIES: Final = tuple(
    each.value
    for each in (
        VerificationStatus.UNVERIFIED,
        VerificationStatus.PENDING,
        VerificationStatus.MANUAL_REVIEW,
        VerificationStatus.VERIFIED,
        VerificationStatus.DENIED,
    )
)
STATES_OF_ACCOUNTS: Final = ("OPEN", "FROZEN", "CLOSED")
STATES_OF_COUNTERPARTIES: Final = ("created", "updated", "deleted")
"""A counterparty has no status: the last part of the event's type."""


def _ranks(states: tuple[str, ...]) -> dict[str, int]:
    return {word: rank for rank, words in enumerate(states, 1) for word in words.split()}


_RANKS_OF_CLASS: Final = tuple(
    _ranks(STATES_OF_TRANSFERS[Rail(rail), Direction(direction)]) for rail, direction in RAIL_CLASSES
)
_RANKS_OF_ENTITIES: Final = _ranks(STATES_OF_ENTITIES)
_RANKS_OF_ACCOUNTS: Final = _ranks(STATES_OF_ACCOUNTS)
_RANKS_OF_COUNTERPARTIES: Final = _ranks(STATES_OF_COUNTERPARTIES)


def transfer_rank(class_id: int, status: str | None) -> int:
    """The rank of a status on the rail and in the direction with this number; 0 for a word that is not listed."""
    return _RANKS_OF_CLASS[class_id].get(status or "", 0)


def entity_rank(status: str | None) -> int:
    return _RANKS_OF_ENTITIES.get(status or "", 0)


def account_rank(status: str | None) -> int:
    return _RANKS_OF_ACCOUNTS.get(status or "", 0)


def counterparty_rank(suffix: str) -> int:
    return _RANKS_OF_COUNTERPARTIES.get(suffix, 0)
