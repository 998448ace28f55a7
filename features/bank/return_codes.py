"""ACH return codes: unauthorized, probing for accounts, forbidding another debit, and dishonours; the status
words of the bank.

Source  Nacha Operating Rules
"""

from typing import Final

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
