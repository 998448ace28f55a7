"""A move: one transfer that is going to happen, before the bank has told anyone about it."""

from enum import StrEnum
from typing import Final

import msgspec

from demo.cast import Other, Party

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US


class Family(StrEnum):
    """How the bank's event types begin."""

    ACH = "ach"
    WIRE = "wire"
    SWIFT = "swift"
    REALTIME = "realtime"
    BOOK = "book"
    CHECK = "check"
    CARD = "card"


class Ending(StrEnum):
    """How it turns out."""

    GOOD = "good"
    RETURNED = "returned"
    REJECTED = "rejected"
    DECLINED = "declined"


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """``at`` is microseconds since the epoch; ``code`` is a return code, a rejection code or a decline reason."""

    program: str
    at: int
    family: Family
    party: Party
    other: Other
    cents: int
    incoming: bool = False
    debit: bool = False
    sec_code: str = "PPD"
    note: str = ""
    ending: Ending = Ending.GOOD
    code: str = ""
    story: str = ""  # what a bad actor is up to; empty for everyday moves
    telling: str = ""  # which telling of the story this move belongs to
    asked: bool = False  # a pre-flight is asked before it, come what may
    closes: bool = False  # with this move the telling is complete

    @property
    def is_askable(self) -> bool:
        """Whether it is sent, and neither spent on a card nor booked within the bank."""
        return not self.incoming and self.family not in (Family.CARD, Family.BOOK)
