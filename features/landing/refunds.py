"""A card refund that the bank sends under the id of its purchase: a transfer with an id made from both.

The purchase keeps its id, its amount and its place in the windows. The refund is incoming; its id is the purchase's id,
``:refund:`` and the refund's own time, so that a later snapshot of it is found and a second refund is a second
transfer. A refund that comes before its purchase has the purchase's id until the purchase comes.
"""

from typing import Final

import msgspec

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.money import class_of
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.landing.landing_result import RenamedTransfer
from clearhold.features.landing.rescoring import score_again
from clearhold.features.landing.stored_transfer import StoredTransfer

REFUND_CLASS: Final = class_of(Rail.CARD.value, Direction.INCOMING.value)


def is_other_refund(stored: StoredTransfer, snapshot: TransferSnapshot, position: EntryPosition) -> bool:
    """Whether a second refund has come under the id of a purchase that is not known yet."""
    return stored.record.at != min(_own_at(snapshot, position), position.appended_at)


def under_own_id(snapshot: TransferSnapshot, position: EntryPosition) -> TransferSnapshot:
    return msgspec.structs.replace(snapshot, id=_refund_id(snapshot.id, _own_at(snapshot, position)))


def rename_refund(stored: StoredTransfer, purchase_id: str, position: EntryPosition) -> RenamedTransfer:
    """Give the stored refund its id, so that its purchase can have the one that it has."""
    refund_id = _refund_id(purchase_id, stored.record.at)
    stored.program.transfers.rename(stored.row_index, refund_id)
    assessment = score_again(stored)
    stored.set_score(assessment, position)
    stored.write()
    return RenamedTransfer(refund_id, stored, assessment)


def _own_at(snapshot: TransferSnapshot, position: EntryPosition) -> int:
    return position.event_at if snapshot.created_at is None else snapshot.created_at


def _refund_id(purchase_id: str, at: int) -> str:
    return f"{purchase_id}:refund:{format_instant(at)}"
