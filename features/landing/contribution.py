"""The contribution of a transfer to the windows: as a movement of money, as a card attempt, and by its return."""

import msgspec

from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.windows.series_kinds import SeriesKind


class Movement(msgspec.Struct, frozen=True, gc=False):
    """The contribution of a transfer that moved money; equal movements leave the windows unchanged."""

    row_index: int
    actor: Actor | None
    counterparty: KnownCounterparty | None
    source: int
    target: int
    cents: int | None  # US cents; without them it counts but adds to no sum
    at: int
    class_id: int
    originated: bool  # an ACH debit that the program sent
    card: bool
    kinds: tuple[SeriesKind, ...]


class CardAttempt(msgspec.Struct, frozen=True, gc=False):
    """A card transfer, whether it moved money or not; ``card`` is the key that it is counted under (``card_key``)."""

    card: int
    actor: int  # the observed holder of the card, -1 if unknown
    at: int
    kinds: tuple[SeriesKind, ...]
    row_index: int


class ReturnedTransfer(msgspec.Struct, frozen=True, gc=False):
    """The transfer that a return belongs to, with the fields that the windows of returns need."""

    actor: Actor | None
    counterparty: KnownCounterparty | None
    moved: bool  # a failed or canceled transfer does not count, and neither does its return
    outgoing_ach: bool
    originated: bool  # a debit: returns of other entries accuse no party here
    sends_credit: bool
    is_rck: bool  # a returned check, presented again
    cents: int | None
    at: int
    row_index: int
