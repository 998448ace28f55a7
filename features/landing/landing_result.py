"""The result of one transfer event, and the challenger's score beside it."""

from typing import NamedTuple

import msgspec

from clearhold.features.core.log_entry import Emit, EntryPosition, EventFault, EventResult, no_rows
from clearhold.features.core.rows.parties import ShadowScoreRow
from clearhold.features.core.vocabulary import band_word
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState


class RenamedTransfer(NamedTuple):
    """A refund that had its purchase's id, under its new one."""

    id: str
    transfer: StoredTransfer
    assessment: Assessment


class LandingResult(msgspec.Struct, frozen=True, gc=False):
    """Without a ``transfer`` nothing changed; without an ``assessment`` the transfer keeps its score."""

    result: EventResult
    transfer_id: str = ""
    transfer: StoredTransfer | None = None  # after the event
    assessment: Assessment | None = None
    taken_at: int = 0  # the transfer's own time, the end of the windows of its vector
    is_new: bool = False
    updated_counterparty: KnownCounterparty | None = None  # set when the snapshot changed its details
    row_index: int = -1  # in the table of transfers
    parties: tuple[Actor | None, KnownCounterparty | None] = (None, None)
    former_parties: tuple[Actor | KnownCounterparty, ...] = ()  # the parties that the transfer had until this event
    fault: EventFault | None = None  # why the event cannot be used, where its own data does not show it
    renamed: RenamedTransfer | None = None


def known_result(transfer_id: str, transfer: StoredTransfer, assessment: Assessment) -> LandingResult:
    """The result for a stored transfer assessed again without an event, and so perhaps without a ``transfer_id``."""
    return LandingResult(
        EventResult.APPLIED,
        transfer_id,
        transfer,
        assessment,
        transfer.record.at,
        row_index=transfer.row_index,
        parties=transfer.parties(),
    )


def emit_shadow_score(
    program: ProgramState, _snapshot: object, landed: LandingResult, position: EntryPosition, emit: Emit
) -> None:
    """Score the vector of a newly scored transfer with the challenger too, where one runs."""
    challenger, assessment = program.scorecards.challenger, landed.assessment
    if challenger is None or assessment is None or emit is no_rows:
        return
    score, champion = challenger.weigh(assessment.vector)[0], assessment.score
    emit(
        ShadowScoreRow(
            tenant_id=program.tenant_id,
            program_id=program.id,
            transfer_id=landed.transfer_id,
            shard=position.shard,
            offset=position.offset,
            version=challenger.version,
            score=score,
            band=band_word(score),
            champion_version=champion.version,
            champion_score=champion.value,
            champion_band=champion.band.value,
            bank_created_at=landed.taken_at,
            scored_at=position.appended_at,
        )
    )
