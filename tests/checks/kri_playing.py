"""A golden stream as log entries, live or loaded late, and the readings of the service's state at its end."""

from collections.abc import Callable
from typing import Any

import msgspec

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.kris.measure import measure_kris
from clearhold.features.shard.shard import ShardState
from tests.checks.kri_bank import Bank
from tests.checks.kri_oracle import Judged
from tests.support.bank_events import a_bank_entry
from tests.support.builders import a_program

PROGRAM = "prg_1"
DECLARED_FIELDS = {
    "declaredMonthlyVolumeCents": "declared_monthly_volume_cents",
    "declaredRails": "declared_rails",
    "declaredCountries": "declared_countries",
    "programReserveAccountId": "program_reserve_account_id",
}


def entries_of(bank: Bank, *, live: bool) -> list[LogEntry]:
    """Each event as it happens, or all of them at the end in the order in which they were told of."""
    body = msgspec.json.encode(a_program(id=PROGRAM, **{DECLARED_FIELDS[name]: v for name, v in bank.declared.items()}))
    told = sorted(bank.events, key=lambda event: event.at) if live else bank.events
    first = min((event.at for event in bank.events), default=bank.now)
    entries = [LogEntry(0, 1 << 20, EntryKind.PROGRAM, PROGRAM, first if live else bank.now, body)]
    for place, event in enumerate(told, start=2):
        entries.append(
            a_bank_entry(
                event.kind,
                event.data,
                offset=place << 20,
                created_at=event.at,
                appended_at=event.at if live else bank.now,
                event_id=event.id,
                program_id=PROGRAM,
            )
        )
    return entries


def judged_of(rows: list[msgspec.Struct]) -> Judged:
    """Bands and alerts as the API would show them."""
    judged = Judged({}, {}, [])
    alerts: dict[str, AlertRow] = {}
    for row in rows:
        if isinstance(row, TransferRow):
            judged.transfers[row.id] = row.score_band or "unscored"
        elif isinstance(row, ScoreRow) and row.subject_type == "entity":
            judged.entities[row.subject_id] = row.band
        elif isinstance(row, AlertRow):
            alerts[row.id] = row
    for alert in alerts.values():
        judged.alerts.append(
            {
                "status": alert.status,
                "subjectType": alert.subject_type,
                "bandAtAlert": alert.band_at_alert,
                "openedAt": alert.opened_at,
            }
        )
    return judged


def readings(state: ShardState, now: int) -> dict[str, Any]:
    return {str(name): value for name, value in measure_kris(state.program(PROGRAM), now).items()}


def played(entries: list[LogEntry], *, each: Callable[[msgspec.Struct], None]) -> ShardState:
    state = ShardState(0)
    for entry in entries:
        state.apply(entry, each)
    return state
