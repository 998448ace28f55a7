"""Snapshots of a program's key risk indicators, each with the Program Risk Score.

A snapshot is taken every quarter of an hour, after every 200 transfers, and on request. The quarters of programs begin
at different minutes, so that no tick measures them all.
"""

from typing import Final
from zlib import crc32

import msgspec

from clearhold.features.alerts.program_alerts import run_program_detectors
from clearhold.features.alerts.rows import result_row
from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.core.entries.commands import EntryResult, ResultKind
from clearhold.features.core.entries.kris import WINDOW_DAYS, KriName, KriValue, SnapshotCause, SnapshotEntry
from clearhold.features.core.ids import SNAPSHOT_IDS
from clearhold.features.core.instants import MINUTE_US
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.reason import Score, band_word
from clearhold.features.core.rows.kris import KriSnapshotRow
from clearhold.features.core.rows.record import Emit, no_rows
from clearhold.features.detectors.program import ProgramSnapshot
from clearhold.features.kris.measure import measure_kris
from clearhold.features.landing.landing_result import LandingResult
from clearhold.features.parties.actor_scores import score_row
from clearhold.features.scorers import prs_v1
from clearhold.features.state.program import ProgramState

EVERY_MINUTES: Final = 15
EVERY_TRANSFERS: Final = 200
_PROGRAM: Final = "program"
_ENCODE: Final = msgspec.json.Encoder().encode


def snapshot_on_tick(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Take the snapshot of this quarter of an hour, if it is the program's minute."""
    if (position.appended_at // MINUTE_US - crc32(program.id.encode())) % EVERY_MINUTES == 0:
        take_snapshot(program, SnapshotCause.SCHEDULED, position, emit)


def snapshot_after_transfers(
    program: ProgramState, _snapshot: TransferSnapshot, landed: LandingResult, position: EntryPosition, emit: Emit
) -> None:
    """Take a snapshot after every 200 transfers of the program."""
    if landed.is_new and len(program.transfers) % EVERY_TRANSFERS == 0:
        take_snapshot(program, SnapshotCause.TRANSFERS, position, emit)


def apply_snapshot(program: ProgramState, entry: SnapshotEntry, position: EntryPosition, emit: Emit) -> None:
    """Take a requested snapshot; a repeated entry takes none."""
    if program.kri_memory.add_request(entry.id):
        take_snapshot(program, SnapshotCause.REQUESTED, position, emit, snapshot_id=entry.id)
        emit(result_row(program, position, EntryResult.MADE, ResultKind.SNAPSHOT, entry.id))


def take_snapshot(
    program: ProgramState, cause: SnapshotCause, position: EntryPosition, emit: Emit, *, snapshot_id: str | None = None
) -> None:
    """Measure every indicator, store them, score the program, and run its detectors."""
    now = position.appended_at
    kris = measure_kris(program, now)
    score = prs_v1.DEFAULT.score(kris)
    last = program.scores.program
    at, former = last.instant(0, now), last.value(0)
    is_news = last.exchange(0, score.value, hard=score.hard)
    taken_id = snapshot_id or SNAPSHOT_IDS.id_of(f"{program.id}/{position.offset}")
    if emit is not no_rows:
        if is_news:
            emit(score_row(program, position, (_PROGRAM, program.id), score, kris, at=at, former=former))
        emit(_snapshot_row(program, taken_id, cause, position, kris, score))
    if program.runs_detectors:
        run_program_detectors(ProgramSnapshot(program, taken_id, now, kris), score, position, emit)


def _snapshot_row(
    program: ProgramState,
    snapshot_id: str,
    cause: SnapshotCause,
    position: EntryPosition,
    kris: dict[KriName, KriValue],
    score: Score,
) -> KriSnapshotRow:
    return KriSnapshotRow(
        tenant_id=program.tenant_id,
        program_id=program.id,
        id=snapshot_id,
        shard=position.shard,
        offset=position.offset,
        cause=cause.value,
        as_of_at=position.appended_at,
        window_days=WINDOW_DAYS,
        kris=_ENCODE(kris).decode(),
        program_score=score.value,
        program_score_n=score.n,
        program_score_version=score.version,
        band=band_word(score.value),
        created_at=position.appended_at,
    )
