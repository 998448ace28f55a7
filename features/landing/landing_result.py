"""What came of one transfer event."""

import msgspec

from clearhold.features.core.event_results import EventResult
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.state.parties import Actor, KnownCounterparty


class LandingResult(msgspec.Struct, frozen=True, gc=False):
    """The result of one transfer event.

    Without a ``transfer`` nothing changed; without an ``assessment`` the transfer keeps the score it has.
    """

    result: EventResult
    transfer_id: str = ""
    transfer: StoredTransfer | None = None  # as it stands after the event
    assessment: Assessment | None = None
    taken_at: int = 0  # the transfer's own time, which the windows of its vector end at
    is_new: bool = False
    updated_counterparty: KnownCounterparty | None = None  # set when the snapshot changed what is known of it
    row_index: int = -1  # in the table of transfers
    parties: tuple[Actor | None, KnownCounterparty | None] = (None, None)
    former_parties: tuple[Actor | KnownCounterparty, ...] = ()  # the parties that the transfer had until this event


def known_result(transfer_id: str, transfer: StoredTransfer, assessment: Assessment) -> LandingResult:
    """A stored transfer that is looked at again, without an event of its own.

    A program remembers no ids of transfers: without an entry that names it, ``transfer_id`` is empty.
    """
    return LandingResult(
        EventResult.APPLIED,
        transfer_id,
        transfer,
        assessment,
        transfer.record.at,
        row_index=transfer.row_index,
        parties=transfer.parties(),
    )
