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
# R61-R70 dishonour a return and R71-R77 contest the dishonour: steps between banks, which are not returns.
_DISHONOUR_FROM, _DISHONOUR_TO, _CONTEST_TO = 61, 70, 77


def is_interbank_step(code: str) -> bool:
    """True for R61-R77, which argue about a return instead of being one."""
    return code[1:].isdecimal() and _DISHONOUR_FROM <= int(code[1:]) <= _CONTEST_TO


def is_notice_of_change(code: str) -> bool:
    """True for C01 and its like, which correct an entry and return nothing."""
    return code.startswith("C") and code[1:].isdecimal()


def is_dishonour(code: str) -> bool:
    """True for R61-R70: the originating bank refuses the return."""
    return code[1:].isdecimal() and _DISHONOUR_FROM <= int(code[1:]) <= _DISHONOUR_TO


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
