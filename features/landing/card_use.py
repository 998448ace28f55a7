"""What a card transfer adds to the usual amounts of its merchant category, and what later attempts on its card read.

A purchase is an outgoing card transfer. It counts in its category when it moved money; its place, its merchant and
whether the card was there are read for attempts too.
"""

import msgspec

from clearhold.features.core.money import CARD_CLASSES, PURCHASE_CLASS
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.state.parties import Actor, coded_cents, payments_of
from clearhold.features.state.program import ProgramState


class CardUse(msgspec.Struct, frozen=True, gc=False):
    """Equal uses leave all later measures unchanged. ``category`` is None where the transfer counts in none."""

    actor: Actor | None
    category: str | None
    cents: int | None
    at: int
    purchase: int
    country: int
    counterparty: int


def use_of(transfer: StoredTransfer) -> CardUse | None:
    """None on other rails."""
    record = transfer.record
    if record.class_id not in CARD_CLASSES:
        return None
    return CardUse(
        transfer.actor,
        category_counted(transfer.program, record.purchase, record.class_id, moved=record.moved),
        transfer.cents(),
        record.at,
        record.purchase,
        record.country,
        record.counterparty,
    )


def category_counted(program: ProgramState, purchase: int, class_id: int, *, moved: bool) -> str | None:
    """The merchant category that a transfer counts in."""
    return program.purchases.all[purchase].category if moved and class_id == PURCHASE_CLASS else None


def replace_use(program: ProgramState, before: CardUse | None, after: CardUse | None, *, known_at: int | None) -> None:
    """Replace one contribution to the categories by another; ``known_at`` is None at the first sight of a transfer."""
    if before is not None and after is not None and _counted_as(before) == _counted_as(after):
        return
    if before is not None and before.category is not None:
        assert known_at is not None
        program.categories.leave(before.category, before.at, before.cents, known_at=known_at)
        if before.actor is not None:
            series = payments_of(before.actor, before.category)
            series.remove_amount(before.at, coded_cents(before.cents), known_at=known_at)
    if after is not None and after.category is not None:
        program.categories.enter(after.category, after.at, after.cents, known_at=known_at)
        if after.actor is not None:
            series = payments_of(after.actor, after.category)
            series.add_amount(after.at, coded_cents(after.cents), known_at=known_at)


def _counted_as(use: CardUse) -> tuple[str | None, int | None, Actor | None]:
    return use.category, use.cents, use.actor
