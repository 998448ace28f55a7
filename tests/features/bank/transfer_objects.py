"""A transfer object of any rail, landed on an empty program."""

from typing import Any, Final

from clearhold.features.core.rows.events import TransferRow
from tests.support import bank_events as bank
from tests.support.stories import ShardStory

BUILDERS: Final = {
    "ach": bank.an_ach_transfer,
    "wire": bank.a_wire,
    "swift": bank.an_international_wire,
    "realtime": bank.a_realtime_transfer,
    "book": bank.a_book_transfer,
    "check": bank.a_check,
    "card": bank.a_card_authorization,
}


def object_of(kind: str, **over: Any) -> bank.Data:
    """The object of an event's family, which says nothing of its direction or status by itself."""
    data = BUILDERS[kind.split(".", maxsplit=1)[0]](**over)
    return {name: value for name, value in data.items() if name != "is_incoming" or name in over}


def transfer_row(kind: str, data: object) -> TransferRow:
    return ShardStory().deliver(kind, data).one(TransferRow)
