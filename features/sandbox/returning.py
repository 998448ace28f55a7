"""Returns: the transfers that the bank can send back, the codes, and the event.

Source  the bank's public event pages; Nacha Operating Rules for the codes
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from clearhold.features.bank.return_codes import UNAUTHORIZED_RETURN_CODES, UNMOVED_STATUSES
from clearhold.features.core.instants import format_instant
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.feed import ComposedEvents, compose_events
from clearhold.features.sandbox.scenario import tag_of

ACH_RETURN_CODE: Final = r"R(0[1-9]|[1-3][0-9]|4[0-7]|5[0-3]|8[0-5])"
"""Without R61 to R77, which are not returns but disputes of a return."""
CHECK_RETURN_REASON: Final = r"[ABCDEFNQ]"

_OF_DEBITS: Final = UNAUTHORIZED_RETURN_CODES | {"R01", "R08", "R09"}
_OF_CREDITS: Final = frozenset({"R23"})
_NOT_SENT: Final = frozenset({"INITIATED", "MANUAL_REVIEW", "MANUAL_REVIEW_APPROVED", "PENDING_SUBMISSION", "ISSUED"})
_RETURNED: Final = frozenset(
    {"RETURNED", "RETURN_CONTESTED", "FIRST_RETURN", "SECOND_RETURN", "USER_INITIATED_RETURNED"}
)
_NEVER: Final[Mapping[Rail, str]] = {
    Rail.WIRE: "A wire is final: its money comes back as another wire.",
    Rail.REALTIME: "A realtime payment is final: its money comes back as another payment.",
    Rail.BOOK: "A book transfer is final: its money comes back as another book transfer.",
    Rail.CARD: "A card transfer is not returned: the merchant refunds it, or the holder disputes it.",
}


class ReturnableTransfer(NamedTuple):
    """A transfer's state that decides whether it can come back, and the bank's object as last delivered."""

    id: str
    rail: Rail
    direction: Direction
    type: AchType | None
    status: str
    data: Mapping[str, Any]


def never_returned(transfer: ReturnableTransfer) -> str | None:
    """Why the bank cannot send the transfer back; None when it can."""
    if transfer.rail in _NEVER:
        return _NEVER[transfer.rail]
    if transfer.status in _RETURNED:
        return "This transfer was already returned."
    if transfer.status in UNMOVED_STATUSES:
        return "This transfer moved no money, so there is nothing to return."
    if transfer.direction is Direction.OUTGOING and transfer.status in _NOT_SENT:
        return "This transfer was not sent yet. First send the event that it was submitted or settled."
    return None


def is_returnable_as(code: str, rail: Rail, ach_type: AchType | None) -> bool:
    """Whether an entry of this kind can come back under a well-formed code."""
    if rail is not Rail.ACH:
        return False
    return code not in (_OF_CREDITS if ach_type is AchType.DEBIT else _OF_DEBITS)


def return_tag(program_id: str, run: str) -> str:
    """The tag of the ids of a return."""
    return tag_of(program_id, "return", run)


def compose_return(
    program_id: str, transfer: ReturnableTransfer, code: str | None, *, run: str, at: int
) -> ComposedEvents:
    """The event of the return: the bank's object with the changed fields."""
    event_type, status = _EVENT_OF[transfer.rail, transfer.direction]
    now = format_instant(at)
    data = {**transfer.data, "id": transfer.id, "status": status, "returned_at": now, "updated_at": now}
    if transfer.rail is Rail.ACH:
        earlier = transfer.data.get("return_details")
        data["return_details"] = [
            *(earlier if isinstance(earlier, list) else ()),
            objects.return_detail(code or "", at),
        ]
    elif transfer.rail is Rail.CHECK:
        data["return_reason"] = code
    else:
        data["return_reason"] = "returned by the beneficiary's bank"
    return compose_events(return_tag(program_id, run), [(at, event_type, data)], transfer.id)


_EVENT_OF: Final = {
    (Rail.ACH, Direction.OUTGOING): ("ach.outgoing_transfer.returned", "RETURNED"),
    (Rail.ACH, Direction.INCOMING): ("ach.incoming_transfer.returned", "RETURNED"),
    (Rail.INTL_WIRE, Direction.OUTGOING): ("swift.outgoing_transfer.returned", "RETURNED"),
    (Rail.INTL_WIRE, Direction.INCOMING): ("swift.incoming_transfer.returned", "RETURNED"),
    (Rail.CHECK, Direction.OUTGOING): ("check.incoming_debit.first_return", "first_return"),
    (Rail.CHECK, Direction.INCOMING): ("check.outgoing_debit.returned", "returned"),
}
