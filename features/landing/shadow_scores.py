"""The challenger's score of an assessed transfer: a row beside the champion's score, without other effects."""

from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.reason import band_word
from clearhold.features.core.rows.parties import ShadowScoreRow
from clearhold.features.core.rows.record import Emit, no_rows
from clearhold.features.landing.landing_result import LandingResult
from clearhold.features.state.program import ProgramState


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
