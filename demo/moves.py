"""A move: one future transfer, before the bank reports it."""

from clearhold.demo.parties import Other, Party
from clearhold.features.sandbox.parties import EventFamily, PlannedTransfer


class Move(PlannedTransfer, frozen=True, kw_only=True):
    """A transfer of the simulated bank, and the story that it belongs to."""

    program: str
    party: Party
    other: Other
    story: str = ""  # the story of a fraudulent move; empty for everyday moves
    telling: str = ""  # the run of the story that this move belongs to
    asked: bool = False  # it always has a pre-flight
    closes: bool = False  # the last move of its run

    @property
    def is_askable(self) -> bool:
        """Whether it is sent, and neither spent on a card nor booked within the bank."""
        return not self.incoming and self.family not in (EventFamily.CARD, EventFamily.BOOK)
