"""An entity that pays a counterparty once a day, and the score records that come of it."""

from typing import Any, Final

import msgspec

from features.core.instants import DAY_US
from features.core.reason import Reason
from features.core.rows import ScoreRow
from features.landing.stored_transfer import EntryPosition
from tests.support.applied import Applied
from tests.support.bank_events import Data, a_return, an_ach_transfer, rfc3339
from tests.support.clock import T0

ACH: Final = "ach.outgoing_transfer.initiated"
WIRE: Final = "wire.outgoing_transfer.initiated"
RETURNED: Final = "ach.outgoing_transfer.returned"
LONG_AGO: Final = T0 - 20 * DAY_US


def a_credit(number: int, at: int, **over: Any) -> Data:
    usual: Data = {
        "id": f"acht_{number}",
        "entity_id": "enti_1",
        "created_at": rfc3339(at),
        "updated_at": rfc3339(at),
    }
    return an_ach_transfer(**usual | over)


def pay(applied: Applied, count: int, *, first: int = 1, at: int = LONG_AGO, **over: Any) -> Applied:
    """So many ACH transfers, a day apart."""
    for number in range(first, first + count):
        now = at + (number - first) * DAY_US
        applied.deliver(ACH, a_credit(number, now, **over), at=now)
    return applied


def scores(applied: Applied, subject_type: str = "entity") -> list[ScoreRow]:
    return [row for row in applied.all(ScoreRow) if row.subject_type == subject_type]


def reason_ids(row: ScoreRow) -> list[str]:
    return [reason.id for reason in msgspec.json.decode(row.reasons, type=tuple[Reason, ...])]


def the_end(applied: Applied) -> EntryPosition:
    return EntryPosition(0, 99 << 20, applied.entries[-1].appended_at, applied.entries[-1].appended_at)


def a_returned(number: int, own: int, code: str, at: int, **over: Any) -> Data:
    """A debit that came back."""
    usual: Data = {
        "type": "DEBIT",
        "status": "RETURNED",
        "return_details": [a_return(code, at)],
        "updated_at": rfc3339(at),
    }
    return a_credit(number, own, **usual | over)
