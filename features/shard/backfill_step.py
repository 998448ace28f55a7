"""One step of a backfill applied to its program: the new scores replace the stored scores of its transfers.

A score that a transfer got after the start of the backfill stays, whether from the stream or from an earlier step. A
score of a replaced card changes nothing. So a repeated step changes nothing, and neither does one that an event has
overtaken.
"""

import msgspec

from clearhold.features.alerts.opening import open_for_band, run_actor_detectors
from clearhold.features.core.entries.commands import ActorRange, BackfillStep, Progress, Rescored
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.core.rows.alerts import BackfillRow
from clearhold.features.landing.rescoring import score_again
from clearhold.features.landing.stored_transfer import StoredTransfer, known_result
from clearhold.features.landing.transfer_records import with_baseline
from clearhold.features.measurement.assessment import Assessment, vector_of
from clearhold.features.parties.actor_scores import (
    add_transfer_score,
    emit_counterparty_score,
    emit_entity_score,
    settle_clearings,
)
from clearhold.features.parties.party_rows import features_row
from clearhold.features.policy.card_book import card_version
from clearhold.features.state.program import ProgramState


def apply_step(program: ProgramState, step: BackfillStep, position: EntryPosition, emit: Emit) -> None:
    """Apply one entry of a backfill."""
    started_offset = step.progress.started_offset or position.offset
    program.arrivals.scores_changed |= bool(step.rescored or step.evaluate)
    for rescored in step.rescored:
        _replace_score(program, rescored, step.progress.feature_version, position, emit, started_offset=started_offset)
    if step.evaluate is not None:
        _evaluate(program, step.evaluate, position, emit)
    settle_clearings(program, position, emit)
    emit(_progress_row(program, step.progress, position, started_offset=started_offset))


def _replace_score(
    program: ProgramState,
    rescored: Rescored,
    feature_version: str,
    position: EntryPosition,
    emit: Emit,
    *,
    started_offset: int,
) -> None:
    transfer = StoredTransfer.find(program, rescored.transfer_id)
    if transfer is None or transfer.record.scored_offset > started_offset or not _is_in_force(program, rescored):
        return
    assessment = Assessment(vector_of(rescored.vector), rescored.score, rescored.degraded)
    former = transfer.day_contribution()
    transfer.set_score(assessment, position)
    country = program.strings.number(assessment.vector.counterparty_country)  # that of its payee may come late
    transfer.record = with_baseline(transfer.record, assessment.vector)._replace(country=country)
    transfer.write()
    program.day_tallies.replace(former, transfer.day_contribution())
    actor = transfer.actor
    if actor is not None:
        add_transfer_score(program, actor, (transfer.row_index, transfer.record.at), rescored.score, again=True)
        program.scores.look_again(actor)
    row = transfer.row(rescored.transfer_id, position)
    features = features_row(program, rescored.transfer_id, assessment, rescored.taken_at, position, rescored=True)
    # Later versions of the scorer and of the features read this log back too, so the versions are those of the step.
    emit(msgspec.structs.replace(row, score_version=rescored.score.version))
    emit(msgspec.structs.replace(features, feature_version=feature_version, paths=rescored.paths))
    if program.runs_detectors:
        result = known_result(rescored.transfer_id, transfer, assessment)
        open_for_band(program, result, position, emit)


def _is_in_force(program: ProgramState, rescored: Rescored) -> bool:
    """Whether the score is of the card in force, whichever version of the scorer wrote the step."""
    return card_version(rescored.score.version) == card_version(program.scorecards.champion.version)


def _evaluate(program: ProgramState, actor_range: ActorRange, position: EntryPosition, emit: Emit) -> None:
    """Evaluate actors and counterparties at the instant of the step."""
    for actor in program.actors[slice(*actor_range.actors)]:
        emit_entity_score(program, actor, position, emit, force=True)
    for party in program.counterparties.all[slice(*actor_range.counterparties)]:
        emit_counterparty_score(program, party, position, emit, force=True)
    if program.runs_detectors:
        for transfer_id in actor_range.transfers:
            _detect_again(program, transfer_id, position, emit)


def _detect_again(program: ProgramState, transfer_id: str, position: EntryPosition, emit: Emit) -> None:
    """Run the detectors of actors on a stored transfer, measured again at its own time."""
    transfer = StoredTransfer.find(program, transfer_id)
    if transfer is None:
        return
    run_actor_detectors(program, known_result(transfer_id, transfer, score_again(transfer)), position, emit)


def _progress_row(
    program: ProgramState, progress: Progress, position: EntryPosition, *, started_offset: int
) -> BackfillRow:
    return BackfillRow(
        **{**msgspec.structs.asdict(progress), "started_offset": started_offset},
        tenant_id=program.tenant_id,
        program_id=program.id,
        shard=position.shard,
        offset=position.offset,
        updated_at=position.appended_at,
    )
