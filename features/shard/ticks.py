"""The passing of time in a program: the steps of a tick, the stored totals of ended days, and snapshots of its KRIs.

A tick is one minute. An alert past its due time is escalated once. A decided alert whose window is over is packed. The
first tick of a UTC day stores the totals of the previous day, as known then, and of earlier days without a tick.

A snapshot of the key risk indicators, with the Program Risk Score, is taken once in every quarter of an hour in which
the service runs, after every 200 transfers, and on request. Programs have theirs at different minutes of the quarter,
so that no tick measures them all.

While history is loaded, each past UTC day gets one as of its end, before the first event of a later day, or after a
minute without events. It is a figure for reports: it opens no alert. Events of such a day that come later count in the
next days and change nothing in it.
"""

import sys
from collections.abc import Callable
from typing import Final
from zlib import crc32

import msgspec

from clearhold.features.actions.autonomy import narrow_by_itself
from clearhold.features.alerts.evidence import with_totals
from clearhold.features.alerts.evidence_bodies import Escalation
from clearhold.features.alerts.program_alerts import run_program_detectors
from clearhold.features.alerts.rows import alert_row, emit_newest, result_row
from clearhold.features.catalogue.kris import WINDOW_DAYS, KriName, KriValue, SnapshotCause, SnapshotEntry
from clearhold.features.core.canonical import SNAPSHOT_IDS, json_text
from clearhold.features.core.entries.commands import EntryResult, ResultKind
from clearhold.features.core.instants import DAY_US, MINUTE_US, format_instant
from clearhold.features.core.log_entry import Emit, EntryPosition, LogEntry, no_rows, position_of
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.rows.parties import KriSnapshotRow, MetricsDayRow
from clearhold.features.core.vocabulary import Score, band_word
from clearhold.features.detectors.program import ProgramSnapshot
from clearhold.features.kris.measure import measure_kris, measure_past_kris
from clearhold.features.landing.stored_transfer import LandingResult
from clearhold.features.parties.actor_scores import record_changes_by_time, record_changes_until, score_row
from clearhold.features.scorers import prs_v1
from clearhold.features.state.kri_windows import WindowCounts
from clearhold.features.state.program import ProgramState

QUARTER_US: Final = 15 * MINUTE_US
_AHEAD_QUARTERS: Final = 4  # a newer snapshot was taken while the clock was ahead, and counts as none
_START_MINUTES: Final = 13  # ticks are never more than a minute or two apart, and so one falls behind each start
EVERY_TRANSFERS: Final = 200
_PROGRAM: Final = "program"
TOTALS_DAYS: Final = 30
MOST_MISSED_DAYS: Final = 30  # older days without a tick are not stored
BY_CLOCK: Final = "clock"
OnTick = Callable[[ProgramState, EntryPosition, Emit], None]


def snapshot_on_tick(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Take the snapshot of this quarter of an hour, from the program's minute on, unless it is taken."""
    if not program.declarations:
        return
    quarter, within = divmod(position.appended_at, QUARTER_US)
    is_taken = 0 <= program.kri_memory.quarter - quarter < _AHEAD_QUARTERS
    if is_taken or within < crc32(program.id.encode()) % _START_MINUTES * MINUTE_US:
        return
    program.kri_memory.quarter = quarter
    take_snapshot(program, SnapshotCause.SCHEDULED, position, emit)


def follow_history(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Before an event of the bank: take the snapshots of the past days that it ends."""
    history, day = program.kri_history, position.event_at // DAY_US
    if history.is_over:
        return
    if history.live_from is None or (history.day is None and day >= history.live_from):
        history.is_over = True
        return
    if history.day is None:
        history.day, program.kri_windows.past = day, WindowCounts()
    if day > history.day:
        first, upto = history.day, min(day, history.live_from)
        for past_day in range(first, min(upto, first + WINDOW_DAYS)):  # all windows of later days are empty
            _take_past_snapshot(program, past_day, position, emit)
        _reach_day(program, upto)
    if day >= history.day:
        history.has_events = True
    history.is_quiet = False


def end_quiet_day(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """On a tick: the day that the history has reached gets its snapshot when no event came since the last tick."""
    history = program.kri_history
    if history.is_over or history.day is None:
        return
    if history.is_quiet and history.has_events:
        _take_past_snapshot(program, history.day, position, emit)
        _reach_day(program, history.day + 1)
    history.is_quiet = True


def _reach_day(program: ProgramState, day: int) -> None:
    history = program.kri_history
    history.day, history.has_events = day, False
    if history.live_from is not None and day >= history.live_from:
        history.is_over, program.kri_windows.past = True, None


def _take_past_snapshot(program: ProgramState, day: int, position: EntryPosition, emit: Emit) -> None:
    past = program.kri_windows.past
    if past is None:
        return
    at = (day + 1) * DAY_US - 1
    record_changes_until(program, at, position, emit, most=sys.maxsize)  # before bands are counted
    kris = measure_past_kris(program, past, at)
    if emit is not no_rows:
        score, taken_id = prs_v1.DEFAULT.score(kris), SNAPSHOT_IDS.id_of(f"{program.id}/day/{day}")
        emit(_snapshot_row(program, taken_id, SnapshotCause.HISTORY, position, kris, score, as_of_at=at))


def snapshot_after_transfers(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Take a snapshot after every 200 transfers of the program."""
    if landed.is_new and (landed.row_index + 1) % EVERY_TRANSFERS == 0:
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
    record_changes_by_time(program, position, emit)  # before bands are counted
    kris = measure_kris(program, now)
    score = prs_v1.DEFAULT.score(kris)
    last = program.scores.program
    at, former = last.instant(0, now), last.value(0)
    is_news = last.exchange(0, score.value, hard=score.hard)
    taken_id = snapshot_id or SNAPSHOT_IDS.id_of(f"{program.id}/{position.offset}")
    if emit is not no_rows:
        if is_news:
            emit(score_row(program, position, (_PROGRAM, program.id), score, kris, at=at, former=former))
        emit(_snapshot_row(program, taken_id, cause, position, kris, score, as_of_at=now))
    if program.runs_detectors:
        run_program_detectors(ProgramSnapshot(program, taken_id, now, kris), score, position, emit)


def _snapshot_row(
    program: ProgramState,
    snapshot_id: str,
    cause: SnapshotCause,
    position: EntryPosition,
    kris: dict[KriName, KriValue],
    score: Score,
    *,
    as_of_at: int,
) -> KriSnapshotRow:
    return KriSnapshotRow(
        *position.first_columns(program.tenant_id, program.id, snapshot_id),
        cause=cause.value,
        as_of_at=as_of_at,
        window_days=WINDOW_DAYS,
        kris=json_text(kris),
        program_score=score.value,
        program_score_n=score.n,
        program_score_version=score.version,
        band=band_word(score.value),
        created_at=position.appended_at,
    )


def totals_of_days(program: ProgramState, first_day: int, upto_day: int) -> DayTotals:
    """The program's totals over the days [first, upto), as known now."""
    is_scored = program.scores.program.value(0) is not None
    return program.day_tallies.totals(first_day, upto_day, is_scored=is_scored)


def store_ended_days(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Store every day that has ended and is not stored; a program's first tick only begins its first day."""
    today, tallies = position.appended_at // DAY_US, program.day_tallies
    first = today if tallies.stored_upto is None else max(tallies.stored_upto, today - MOST_MISSED_DAYS)
    tallies.stored_upto = today  # earlier than before when the clock was ahead: the days are stored when they end
    if emit is no_rows or not program.declarations:  # an undeclared state is that of a tenant's actions
        return
    for day in range(first, today):
        totals = totals_of_days(program, day + 1 - TOTALS_DAYS, day + 1)
        emit(
            MetricsDayRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                shard=position.shard,
                offset=position.offset,
                day_at=day * DAY_US,
                window_days=TOTALS_DAYS,
                totals=json_text(totals),
                as_of_at=position.appended_at,
            )
        )


def run_clocks(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Escalate the waiting alerts whose due time has passed; the cost grows with the alerts that are due alone."""
    book, now = program.alerts, position.appended_at
    for alert in book.overdue(now):
        alert.escalated_at = now
        summary, evidence, draft = book.texts(alert)
        escalation = Escalation(at=format_instant(now), by=BY_CLOCK)
        book.set_texts(alert, (summary, with_totals(evidence, alert, escalation), draft))
        emit(alert_row(program, alert, position))
    book.end_waits(now)
    times = program.series.amounts.instants()
    if times:
        book.rest(times[-1])  # windows are in the transfers' own time


def expire_preflights(program: ProgramState, position: EntryPosition, _emit: Emit) -> None:
    """Remove the open pre-flights that no transfer can match any more."""
    program.preflights.expire(position.appended_at)


ON_TICK: Final[tuple[OnTick, ...]] = (
    expire_preflights,
    end_quiet_day,
    record_changes_by_time,
    run_clocks,
    narrow_by_itself,
    snapshot_on_tick,
    store_ended_days,
)
"""The steps of a tick for every program, in order."""


def apply_tick(program: ProgramState, _body: None, entry: LogEntry, emit: Emit) -> None:
    """The clock of an alert may run out as a snapshot changes it."""
    position, rows = position_of(entry), list[msgspec.Struct]()
    for act in ON_TICK:
        act(program, position, emit if emit is no_rows else rows.append)
    emit_newest(rows, emit)
