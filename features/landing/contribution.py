"""What a transfer adds to the windows: as a movement of money, as a card attempt, and by its return."""

import msgspec

from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.windows.series_kinds import SeriesKind


class Movement(msgspec.Struct, frozen=True, gc=False):
    """What a transfer that moved money adds to the windows; equal movements leave the windows as they are."""

    row_index: int
    actor: Actor | None
    counterparty: KnownCounterparty | None
    source: int
    target: int
    cents: int | None  # US cents; without them it counts, and adds to no sum
    at: int
    class_id: int
    originated: bool  # an ACH debit that the program sent
    card: bool
    kinds: tuple[SeriesKind, ...]


class CardAttempt(msgspec.Struct, frozen=True, gc=False):
    """A card transfer, whether it moved money or not; ``card`` is the key that it is counted under (``card_key``)."""

    card: int
    actor: int  # whose card it was seen to be, -1 for nobody's
    at: int
    kinds: tuple[SeriesKind, ...]
    row_index: int


class ReturnedTransfer(msgspec.Struct, frozen=True, gc=False):
    """The transfer that a return belongs to, with the fields that the windows of returns need."""

    actor: Actor | None
    counterparty: KnownCounterparty | None
    moved: bool  # a transfer that failed or was canceled counts for nothing, and neither does its return
    outgoing_ach: bool
    originated: bool  # a debit: what comes back of others accuses nobody here
    sends_credit: bool
    is_rck: bool  # a bounced check, presented again
    cents: int | None
    at: int
    row_index: int
