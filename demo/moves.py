"""A move: one transfer that is going to happen, before the bank has told anyone about it."""

from clearhold.demo.cast import Other, Party
from clearhold.features.sandbox.planned_transfer import EventFamily, PlannedTransfer


class Move(PlannedTransfer, frozen=True, kw_only=True):
    """A transfer of the simulated bank, and the story that it belongs to."""

    program: str
    party: Party
    other: Other
    story: str = ""  # what a bad actor is up to; empty for everyday moves
    telling: str = ""  # which telling of the story this move belongs to
    asked: bool = False  # a pre-flight is asked before it, come what may
    closes: bool = False  # with this move the telling is complete

    @property
    def is_askable(self) -> bool:
        """Whether it is sent, and neither spent on a card nor booked within the bank."""
        return not self.incoming and self.family not in (EventFamily.CARD, EventFamily.BOOK)
