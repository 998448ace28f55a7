"""The bank's words on the state of an object: ACH return codes, statuses and their order, and the decision reasons of
several card issuers, folded into one list.

An object's snapshots are ordered by ``updated_at``, then by the ``created_at`` of their events. Both have whole seconds
at the bank, a payment settles within one, and events come in any order. So of two snapshots of one instant, the one
with the later state is the newer one. Words on one line are states of equal rank, among which the order of arrival
decides; a word that is not listed comes before all others.

Final states come after those on the way to them. Where a rail has two ends of which only one can be true, the one that
moved no money comes last, so that money that never moved is counted in no order of arrival.

Source  Nacha Operating Rules; the bank's public pages on the states of each rail; decision record 0077; public issuer
        API references, of which unknown words become OTHER and stay in the raw object
"""

from collections.abc import Mapping
from typing import Final

from clearhold.features.core.money import RAIL_CLASSES
from clearhold.features.core.vocabulary import CardReason, Direction, Rail, VerificationStatus

UNAUTHORIZED_RETURN_CODES: Final = frozenset({"R05", "R07", "R10", "R11", "R29", "R51"})
ADMINISTRATIVE_RETURN_CODES: Final = frozenset({"R02", "R03", "R04"})
# The account was closed, missing, misnumbered or not for such entries: two on two accounts look like probing.
PROBING_RETURN_CODES: Final = frozenset({"R02", "R03", "R04", "R20"})
# After these the receiver must not be debited again.
STOP_RETURN_CODES: Final = frozenset({"R07", "R10", "R11", "R29"})
# The account is frozen, or OFAC ordered the return.
FROZEN_RETURN_CODE: Final = "R16"
RETURN_CODES: Final = frozenset(f"R{number:02d}" for number in range(1, 86))
"""Some of them are not in use; they are returns too."""

NOTICES_OF_CHANGE: Final = frozenset(f"C{number:02d}" for number in range(1, 15))
"""They correct an entry and return nothing."""

# R61-R70 dishonour a return and R71-R77 contest the dishonour: steps between banks, which are not returns.
_DISHONOURS: Final = frozenset(f"R{number}" for number in range(61, 71))
_INTERBANK_STEPS: Final = _DISHONOURS | {f"R{number}" for number in range(71, 78)}


def return_code_of(value: object) -> str | None:
    """One of R01 to R85; None for any other value, such as R1."""
    code = value.strip().upper() if isinstance(value, str) else None
    return code if code in RETURN_CODES else None


def is_interbank_step(code: str) -> bool:
    """True for R61-R77, which argue about a return instead of being one."""
    return code in _INTERBANK_STEPS


def is_dishonour(code: str) -> bool:
    """True for R61-R70: the originating bank refuses the return."""
    return code in _DISHONOURS


FAILED_STATUSES: Final = frozenset({"REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"})
CANCELED_STATUSES: Final = frozenset({"CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"})
DROPPED_STATUSES: Final = frozenset({"DROPPED"})  # of a settlement that its chain took back
# None of them moved money: they are attempts, and never count toward sums, baselines or a first time.
UNMOVED_STATUSES: Final = FAILED_STATUSES | CANCELED_STATUSES | DROPPED_STATUSES
RETURN_UNDONE_STATUSES: Final = frozenset({"RETURN_DISHONORED", "RETURN_DISHONORED_FUNDS_UNLOCKED"})
# Of rails without return codes too.
RETURNED_STATUSES: Final = frozenset({"RETURNED", "FIRST_RETURN", "SECOND_RETURN", "USER_INITIATED_RETURNED"})
# The money is at the payee; a refund has its own transfer. Other statuses are on the way to one of these.
POSTED_STATUSES: Final = RETURN_UNDONE_STATUSES | {
    *("SETTLED", "COMPLETED", "CONFIRMED", "RECLEARED"),
    *("REFUNDED", "USER_INITIATED_RETURN_DISHONORED"),
}

REFUNDED_STATUS: Final = "REFUNDED"  # of a card

# Event suffixes that do not change the object's status.
SUFFIXES_WITHOUT_STATUS: Final = frozenset({"noc", "nsf", "tracking_updated", "amendment_request_received", "updated"})
# Suffixes that differ from the word of their status.
STATUS_OF_BOOK_SUFFIX: Final = {"hold_created": "HOLD", "updated": "HOLD"}
STATUS_OF_CARD_SUFFIX: Final = {
    "approved": "PENDING",
    "updated": "PENDING",
    "declined": "DECLINED",
    "reversed": "VOIDED",
    "expired": "EXPIRED",
    "settled": "SETTLED",
    "refunded": REFUNDED_STATUS,
}


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

STATES_OF_ENTITIES: Final = tuple(each.value for each in VerificationStatus)
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


_WORDS: Final[dict[CardReason, tuple[str, ...]]] = {
    CardReason.APPROVED: ("approved", "card_active", "webhook_approved", "network_fallback", "0000", "0002", "1830"),
    CardReason.INSUFFICIENT_FUNDS: (
        "insufficient_funds",
        "insufficient_funds_preload",
        "insufficient_funding_source_balance",
    ),
    CardReason.LIMIT_EXCEEDED: ("spending_controls", "user_transaction_limit", "limit_exceeded"),
    CardReason.MERCHANT_BLOCKED: (
        "merchant_blacklist",
        "unauthorized_merchant",
        "auth_rule_blocked_mcc",
        "auth_rule_blocked_country",
        "not_allowed",
        "merchant_blocked",
    ),
    CardReason.CARD_INACTIVE: ("card_inactive", "card_paused", "card_not_activated"),
    CardReason.CARD_CLOSED: ("card_canceled", "card_closed", "terminated"),
    CardReason.CARD_EXPIRED: ("card_expired", "1001"),
    CardReason.ACCOUNT_INACTIVE: (
        "account_disabled",
        "account_paused",
        "account_inactive",
        "inactive_account",
        "account_under_review",
        "account_delinquent",
        "program_suspended",
    ),
    CardReason.CARDHOLDER_BLOCKED: ("cardholder_blocked", "cardholder_inactive", "cardholder_verification_required"),
    CardReason.PIN_OR_CVV: (
        "incorrect_pin",
        "pin_blocked",
        "invalid_card_details",
        "card_security_code_incorrect",
        "card_expiry_date_incorrect",
        "verification_failed",
        "insecure_authorization_method",
        "sca_required",
        "pin_or_cvv",
    ),
    CardReason.SUSPECTED_FRAUD: (
        "suspected_fraud",
        "fraud_advice",
        "security_violation",
        "cardholder_challenge_failed",
    ),
    CardReason.PROGRAM_DECLINED: ("webhook_declined", "custom_asa_result", "auth_rule", "program_declined"),
    CardReason.TECHNICAL: (
        "webhook_timeout",
        "webhook_error",
        "customer_asa_timeout",
        "unknown_host_timeout",
        "switch_inoperative_advice",
        "format_error",
        "technical",
    ),
}
_NORMALISED: Final = {word: reason.value for reason, words in _WORDS.items() for word in words}


def normalised_reason(word: str) -> str:
    """The shared word for an issuer's decision reason."""
    known = _NORMALISED.get(word.lower())
    if known is not None:
        return known
    over_a_limit = word.upper().endswith("_SPEND_LIMIT_EXCEEDED")
    return (CardReason.LIMIT_EXCEEDED if over_a_limit else CardReason.OTHER).value
