"""ACH transfers of an entity with a counterparty, one a day, and their returns."""

from typing import Any, Final

import msgspec

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import Reason
from tests.support.bank_events import Data, a_return, an_ach_transfer, rfc3339
from tests.support.clock import T0
from tests.support.stories import ShardStory

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


def a_returned_debit(number: int, created_at: int, code: str, returned_at: int, **over: Any) -> Data:
    usual: Data = {
        "type": "DEBIT",
        "status": "RETURNED",
        "return_details": [a_return(code, returned_at)],
        "updated_at": rfc3339(returned_at),
    }
    return a_credit(number, created_at, **usual | over)


def pay_daily(story: ShardStory, count: int, *, first: int = 1, at: int = LONG_AGO, **over: Any) -> ShardStory:
    """Deliver so many ACH transfers, a day apart; the first at this instant."""
    for number in range(first, first + count):
        created_at = at + (number - first) * DAY_US
        story.deliver(ACH, a_credit(number, created_at, **over), at=created_at)
    return story


def reason_ids(row: ScoreRow) -> list[str]:
    return [reason.id for reason in msgspec.json.decode(row.reasons, type=tuple[Reason, ...])]
