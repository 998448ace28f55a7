"""A backfill's step applied: the scores it found take the place of those the program's transfers had.

A transfer that was scored behind the start of the backfill keeps that score, whether the stream gave it or an earlier
step. So a step that comes twice changes nothing, and neither does one that is overtaken by an event.
"""

import msgspec

from features.alerts.opening import run_actor_detectors
from features.core.backfill import ActorRange, BackfillStep, Progress, Rescored
from features.core.rows.backfills import BackfillRow
from features.core.rows.emit import Emit
from features.landing.actor_scores import counterparty_score_row, entity_score_row, keep_transfer_score
from features.landing.landing import LandingResult
from features.landing.party_rows import features_row
from features.landing.rescoring import score_again
from features.landing.stored_transfer import EntryPosition, parties_of, scored, version_row
from features.measurement.assess import Assessment
from features.measurement.rescored import vector_of
from features.state.program import ProgramState


def take_step(program: ProgramState, step: BackfillStep, when: EntryPosition, emit: Emit) -> None:
    """Apply one entry of a backfill."""
    started_offset = step.progress.started_offset or when.offset
    for result in step.rescored:
        _take_over(program, result, step.progress.feature_version, when, emit, started_offset=started_offset)
    if step.evaluate is not None:
        _evaluate(program, step.evaluate, when, emit, started_offset=started_offset)
    emit(_progress_row(program, step.progress, when, started_offset=started_offset))


def _take_over(
    program: ProgramState,
    result: Rescored,
    feature_version: str,
    when: EntryPosition,
    emit: Emit,
    *,
    started_offset: int,
) -> None:
    row = program.transfers.row_of(result.transfer_id)
    if row is None:
        return
    held = program.transfers.read(row)
    if held.scored_offset > started_offset:
        return
    assessment = Assessment(vector_of(result.vector), result.score, result.degraded)
    record = scored(held, assessment, when)
    program.transfers.write(row, record)
    if held.actor >= 0 and not (actor := program.actors[held.actor]).is_account:
        keep_transfer_score(program, actor, (row, held.at), result.score, again=True)
    version = version_row(program, row, record, result.transfer_id, when)
    made_from = features_row(program, result.transfer_id, assessment, result.taken_at, when)
    # A log is also read back by later versions, which have other numbers of their own.
    emit(msgspec.structs.replace(version, score_version=result.score.version))
    emit(msgspec.structs.replace(made_from, feature_version=feature_version, paths=result.paths))


def _evaluate(
    program: ProgramState, asked: ActorRange, when: EntryPosition, emit: Emit, *, started_offset: int
) -> None:
    """Evaluate actors and counterparties as of the program's newest transfer, so that a repeat says the same."""
    times = program.baseline.amounts.times
    as_of = msgspec.structs.replace(when, event_at=times[-1] if times else when.event_at)
    _remember(program, asked, started_offset=started_offset)
    for actor in program.actors[slice(*asked.actors)]:
        score = entity_score_row(program, actor, as_of, force=True)
        if score is not None:
            emit(score)
    for party in program.counterparties.all[slice(*asked.counterparties)]:
        row = counterparty_score_row(program, party, as_of, force=True)
        if row is not None:
            emit(row)
    if program.is_watched:
        for transfer_id in dict.fromkeys((*asked.newest, *(stored.transfer_id for stored in asked.strongest))):
            _watch_again(program, transfer_id, when, emit)


def _remember(program: ProgramState, asked: ActorRange, *, started_offset: int) -> None:
    """Which transfers count most, as stored; memory alone cannot tell once several were scored lower."""
    transfers, strongest = program.transfers, program.scores.transfers

    def is_stored(row: int) -> bool:
        return transfers.read(row).scored_offset <= started_offset

    for index in range(*asked.actors):
        for row in filter(is_stored, strongest.rows(index)):
            strongest.drop(index, row)
    for stored in asked.strongest:
        known = transfers.row_of(stored.transfer_id)
        if known is None or not is_stored(known):
            continue
        held = transfers.read(known)
        place, _ = strongest.keep(held.actor, known, held.at, stored.score)
        if place >= 0:
            strongest.share(place, identity=stored.identity, returns=stored.returns)


def _watch_again(program: ProgramState, transfer_id: str, when: EntryPosition, emit: Emit) -> None:
    place = program.transfers.row_of(transfer_id)
    if place is None:
        return
    record = program.transfers.read(place)
    landed = LandingResult(
        "applied",
        version_row(program, place, record, transfer_id, when),
        score_again(program, place, record),
        record.at,
        place=place,
        parties=parties_of(program, record),
    )
    run_actor_detectors(program, landed, when, emit)


def _progress_row(
    program: ProgramState, progress: Progress, when: EntryPosition, *, started_offset: int
) -> BackfillRow:
    return BackfillRow(
        program.tenant_id,
        program.id,
        progress.id,
        when.shard,
        when.offset,
        progress.subjects,
        progress.stage,
        progress.feature_version,
        progress.score_version,
        started_offset,
        progress.replaying,
        progress.position,
        progress.total,
        progress.done,
        progress.changed,
        progress.actors,
        progress.counterparties,
        when.appended_at,
    )
