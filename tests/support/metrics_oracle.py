"""The day totals counted anew: from the tables in DuckDB, and for the returns that stand from the events as delivered.

``busy_entries`` puts commands between the events of a random stream: people decide and appeal alerts and label
transfers, minutes pass, and transfers are rescored.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from random import Random
from typing import Any, Final

import duckdb
import msgspec

from clearhold.features.catalogue.vector import FEATURE_VERSION, TransferFeaturesRow
from clearhold.features.core.entries.commands import (
    AppealEntry,
    BackfillStep,
    DecisionEntry,
    LabelEntry,
    OperatorKind,
    Progress,
    Rescored,
    Stage,
    Subjects,
)
from clearhold.features.core.log_entry import ChainFactRow, EntryKind, LogEntry
from clearhold.features.core.measured import DayTotals, day_totals
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import AlertDecision, LabelSource, LabelValue, Score
from clearhold.features.shard.shard import ShardState
from clearhold.store.duck.database import BatchWriter
from clearhold.store.tables import row_tables
from tests.oracle.facts import Program
from tests.oracle.oracle import _in_time, _taken_in
from tests.oracle.random_streams import stream_of
from tests.oracle.reading import instant
from tests.support.builders import a_program
from tests.support.clock import T0

DAY: Final = 86_400_000_000
PROGRAM: Final = "prg_1"
UNAUTHORIZED: Final = ("R05", "R07", "R10", "R11", "R29", "R51")

_TRANSFERS: Final = """
    WITH newest AS (
        SELECT t.*, epoch_us(t.bank_created_at) // 86400000000 AS day, f.amount_cents AS usd_cents,
            t.status NOT IN ('REJECTED', 'MANUAL_REVIEW_REJECTED', 'FAILED', 'BLOCKED', 'DECLINED', 'CANCELED',
                'CANCELLED', 'STOPPED', 'VOIDED', 'EXPIRED') AS moved
        FROM transfers_latest t
        JOIN (SELECT transfer_id, arg_max(amount_cents, "offset") AS amount_cents FROM transfer_features GROUP BY 1) f
            ON f.transfer_id = t.id
    ), first_seen AS (SELECT id, arg_min(score_band, "offset") AS first_band FROM transfers GROUP BY 1),
    alerted AS (
        SELECT DISTINCT unnest(from_json(evidence -> 'transferIds', '["VARCHAR"]')) AS id FROM alerts
        WHERE appeal_of IS NULL
    )
    SELECT n.id, n.moved, coalesce(n.usd_cents, 0), n.score_band, s.first_band, l.label, a.id IS NOT NULL, n.day,
        n.rail = 'ach' AND n.direction = 'outgoing' AND n.type = 'DEBIT'
    FROM newest n JOIN first_seen s USING (id) LEFT JOIN labels_latest l ON l.transfer_id = n.id
    LEFT JOIN alerted a USING (id)
    WHERE n.day >= ? AND n.day < ?"""
_ALERTS: Final = """
    SELECT count(*), count(*) FILTER (first_status = 'auto_closed') FROM (
        SELECT id, any_value(opened_at) AS opened_at, arg_min(status, "offset") AS first_status FROM alerts GROUP BY id
    ) WHERE epoch_us(opened_at) // 86400000000 >= ? AND epoch_us(opened_at) // 86400000000 < ?"""
_REVIEWS: Final = """
    SELECT count(overturns_draft), count(*) FILTER (overturns_draft) FROM dispositions
    WHERE decided_by LIKE 'operator:%'
    AND epoch_us(created_at) // 86400000000 >= ? AND epoch_us(created_at) // 86400000000 < ?"""
_WAITS: Final = """
    SELECT greatest(epoch_us(d.created_at) - epoch_us(a.opened_at), 0) // 1000000 FROM (
        SELECT alert_id, arg_min(created_at, "offset") AS created_at, arg_min(decided_by, "offset") AS decided_by
        FROM dispositions GROUP BY 1
    ) d JOIN (SELECT id, any_value(opened_at) AS opened_at FROM alerts GROUP BY 1) a ON a.id = d.alert_id
    WHERE d.decided_by NOT LIKE 'policy:%'
    AND epoch_us(d.created_at) // 86400000000 >= ? AND epoch_us(d.created_at) // 86400000000 < ? ORDER BY 1"""
_EVENTS: Final = """
    SELECT family, result, count(*) FROM bank_events
    WHERE epoch_us(least(created_at, appended_at)) // 86400000000 >= ?
    AND epoch_us(least(created_at, appended_at)) // 86400000000 < ? GROUP BY ALL"""


class Recount:
    """What was applied so far, in tables and as facts."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database, self._writer = database, BatchWriter(database)
        self._program = Program()
        for (table,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - our own table

    def take(self, entries: Sequence[LogEntry], rows: Sequence[msgspec.Struct]) -> None:
        """Commit the rows that these entries led to, and read the events among them."""
        by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        for row in rows:
            if not isinstance(row, ChainFactRow):
                by_type.setdefault(type(row), []).append(row)
        self._writer.commit(row_tables(by_type), {0: entries[-1].offset}, 0)
        for entry in entries:
            if entry.kind == EntryKind.BANK:
                self._read(entry)

    def _read(self, entry: LogEntry) -> None:
        event = json.loads(entry.body)
        if event["id"] in self._program.events:
            return
        self._program.events.add(event["id"])
        event_at = min(instant(event["created_at"]), entry.appended_at)
        data = _in_time(event.get("data") or {}, entry.appended_at)
        _taken_in(self._program, event["type"], data, event_at, entry.appended_at)

    def totals(self, first_day: int, upto_day: int, *, is_scored: bool) -> DayTotals:
        days = [first_day, upto_day]
        figures = Counter(programs=1, scored_programs=int(is_scored))
        for row in self._database.execute(_TRANSFERS, days).fetchall():
            figures.update(self._of_transfer(row, upto_day))
        figures["alerts"], figures["auto_closed"] = self._two(_ALERTS, days)
        figures["reviews"], figures["overturns"] = self._two(_REVIEWS, days)
        waits = [seconds for (seconds,) in self._database.execute(_WAITS, days).fetchall()]
        events: dict[str, dict[str, int]] = {}
        for family, result, count in self._database.execute(_EVENTS, days).fetchall():
            events.setdefault(family, {})[result] = count
        return day_totals(figures, waits, events)

    def _two(self, sql: str, days: list[int]) -> tuple[int, int]:
        ((first, second),) = self._database.execute(sql, days).fetchall()
        return first, second

    def _of_transfer(self, row: tuple[Any, ...], upto_day: int) -> dict[str, int]:
        """What a transfer adds, by name."""
        transfer_id, moved, cents, band, first_band, label, alerted, day, originated = row
        fact = self._program.transfers[transfer_id]
        assert fact.moved.last == moved
        returned = fact.returned.last
        stands = moved and returned is not None and not returned.undone
        adds = Counter(transfers=1, cents=cents * moved, returned=stands)
        adds["unauthorized"] = returned is not None and stands and originated and returned.code in UNAUTHORIZED
        adds[band] = 1
        if label is not None:
            adds[f"{first_band}_{label}"] = 1
            adds["provisional_ok"] = label == "ok" and day >= upto_day - 61
        if band == "clear" and not alerted:
            adds["unalerted"], adds["unalerted_cents"] = 1, cents * moved
        return adds


def busy_entries(state: ShardState, seed: int, happenings: int) -> Iterator[tuple[LogEntry, list[msgspec.Struct]]]:
    """Apply a random stream with commands between its events; each entry with the rows that it led to."""
    chance, people = Random(seed), _People(seed)
    declaration = LogEntry(0, 1, EntryKind.PROGRAM.value, PROGRAM, T0, msgspec.json.encode(a_program()))
    stream = [declaration, *stream_of(chance, happenings)]
    for entry in stream:
        for each in chain((entry,), people.after(entry)):  # a command is chosen when what came before is applied
            rows: list[msgspec.Struct] = []
            state.apply(each, rows.append)
            people.read(rows)
            yield each, rows


class _People:
    """Those who decide, appeal and label; and the clock, which ticks now and then."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(-seed - 1)
        self._alerts: dict[str, AlertRow] = {}
        self._transfers: dict[str, TransferFeaturesRow] = {}

    def read(self, rows: Sequence[msgspec.Struct]) -> None:
        self._alerts |= {row.id: row for row in rows if isinstance(row, AlertRow)}
        self._transfers |= {row.transfer_id: row for row in rows if isinstance(row, TransferFeaturesRow)}

    def after(self, entry: LogEntry) -> Iterator[LogEntry]:
        """What happens before the next event comes."""
        for number, (kind, body) in enumerate(self._commands(entry.appended_at), start=1):
            yield LogEntry(0, entry.offset + number, kind.value, PROGRAM, entry.appended_at, msgspec.json.encode(body))

    def _commands(self, now: int) -> Iterator[tuple[EntryKind, object]]:
        chance = self._chance
        if chance.random() < 0.1:
            yield EntryKind.TICK, None
        for _ in range(chance.choice((0, 0, 1, 2))):
            cause, at = f"cmd_{chance.getrandbits(60)}", now - chance.choice((0, 0, 7_000_000, DAY))
            if self._alerts and chance.random() < 0.5:
                yield self._on_alert(chance.choice(list(self._alerts.values())), cause, at)
            elif self._transfers and chance.random() < 0.7:
                yield EntryKind.LABEL, self._label(cause, at)
            elif self._transfers:
                yield EntryKind.BACKFILL, self._rescored()

    def _on_alert(self, alert: AlertRow, cause: str, at: int) -> tuple[EntryKind, object]:
        if alert.status == "closed":
            return EntryKind.APPEAL, AppealEntry(id=cause, alert_id=alert.id, reason="No.", operator="j.lee", at=at)
        kind = self._chance.choice((OperatorKind.PERSON, OperatorKind.PERSON, OperatorKind.KEY))
        decision = self._chance.choice(list(AlertDecision))
        return EntryKind.DECISION, DecisionEntry(
            id=cause,
            alert_id=alert.id,
            decision=decision,
            narrative="It was looked into by us.",
            operator="j.lee" if kind is OperatorKind.PERSON else "key:live_12345678",
            operator_kind=kind,
            at=at,
        )

    def _label(self, cause: str, at: int) -> LabelEntry:
        return LabelEntry(
            id=cause,
            transfer_id=self._chance.choice(list(self._transfers)),
            label=self._chance.choice(list(LabelValue)),
            reason="It was looked into.",
            source=LabelSource.PERSON,
            recorded_by="j.lee",
            at=at,
        )

    def _rescored(self) -> BackfillStep:
        """A step that gives one transfer another score."""
        transfer = self._transfers[self._chance.choice(list(self._transfers))]
        value = self._chance.choice((None, 0, 29, 30, 69, 70, 100))
        score = Score(version="trs-v9", value=value, n=12, confidence=None, reasons=())
        progress = Progress(
            id="backfill_1",
            subjects=Subjects.TRANSFERS,
            stage=Stage.RUNNING,
            feature_version=FEATURE_VERSION,
            score_version="trs-v9",
        )
        vector = msgspec.structs.astuple(transfer.vector)
        result = Rescored(
            transfer.transfer_id,
            taken_at=transfer.taken_at,
            degraded=False,
            score=score,
            paths=None,
            vector=vector,
        )
        return BackfillStep(progress=progress, rescored=(result,))
