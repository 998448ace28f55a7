"""Reads the results of bank events: every delivery in the log, newest first by the time of its arrival.

Errors  none; an unknown event is an empty list
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from clearhold.features.core.log_entry import EventSubjectType
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import EventRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import TEXTS, Predicate, listed, placeholders

MOST_UNDER_ONE_ID: Final = 100

Place = tuple[int, int, str]
"""Where a page ended: arrival, log offset and program of its last delivery."""

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_COLUMNS: Final = select_list(EventRow)
_PAGE: Final = f"""
    SELECT {_COLUMNS} FROM bank_events WHERE {{matching}}
    ORDER BY appended_at DESC, "offset" DESC, program_id LIMIT ?"""
_AFTER: Final = """
    appended_at <= make_timestamp(?) AND (appended_at < make_timestamp(?) OR "offset" < ? OR
    ("offset" = ? AND program_id > ?))"""
_FIND: Final = f"""
    SELECT {_COLUMNS} FROM bank_events WHERE tenant_id = ? AND event_id = ? {{programs}}
    ORDER BY program_id, "offset" DESC LIMIT {MOST_UNDER_ONE_ID}"""
_ALERTS: Final = """
    SELECT DISTINCT id FROM alerts WHERE tenant_id = ? AND program_id = ? AND "offset" = ? ORDER BY id"""
_ALERTS_OF_EVENTS: Final = f"""
    SELECT DISTINCT id FROM alerts WHERE tenant_id = ? AND program_id = ? AND detector NOT IN {TEXTS} AND "offset" IN (
        SELECT "offset" FROM bank_events WHERE tenant_id = ? AND program_id = ? AND event_id IN {TEXTS}
    ) ORDER BY id"""
_SUBJECT: Final = """
    SELECT subject_id FROM bank_events
    WHERE tenant_id = ? AND program_id = ? AND event_id = ? AND subject_type = ? ORDER BY "offset" DESC LIMIT 1"""
_PREFLIGHT: Final = """
    SELECT preflight_id FROM preflight_matches WHERE tenant_id = ? AND program_id = ? AND "offset" = ?"""
_EVENT: Final = row_builder(EventRow)


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    results: tuple[str, ...] | None = None
    received_from: int | None = None
    received_to: int | None = None


class Consequences(msgspec.Struct, frozen=True, kw_only=True):
    """The alerts that a delivery opened or changed, and the pre-flight that its transfer was matched with."""

    alert_ids: tuple[str, ...]
    preflight_id: str | None


class Events(CommittedRows):
    def list_page(self, principal: Principal, wanted: EventFilter, after: Place | None, limit: int) -> list[EventRow]:
        """At most ``limit`` deliveries after ``after``."""
        predicate = Predicate(principal)
        predicate.among("program_id", wanted.program_ids)
        predicate.among("result", wanted.results)
        predicate.between("appended_at", wanted.received_from, wanted.received_to)
        if after is not None:
            at, offset, program_id = after
            predicate.add(_AFTER, at, at, offset, offset, program_id)
        tuples = self._read(_PAGE.format(matching=predicate.sql), [*predicate.values, limit])
        return [*map(_EVENT, tuples)]

    def find(self, principal: Principal, event_id: str, program_ids: Sequence[str] | None) -> list[EventRow]:
        """The newest deliveries under that id in the programs (None: the tenant's) within the principal's reach.

        ForbiddenError when the tenant has it only out of reach.
        """
        if program_ids is not None and not program_ids:
            return []
        programs = "" if program_ids is None else f"AND program_id IN {placeholders(program_ids)}"
        values = [principal.tenant_id, event_id, *(program_ids or ())]
        with self._connection.cursor() as cursor:
            rows = [*map(_EVENT, cursor.execute(_FIND.format(programs=programs), values).fetchall())]
        reached = [row for row in rows if principal.reaches(row.program_id)]
        if rows and not reached:
            principal.require_program(rows[0].program_id)
        return reached

    def alerts_of(
        self, principal: Principal, program_id: str, event_ids: Sequence[str], *, but: Sequence[str]
    ) -> tuple[str, ...]:
        """The alerts that deliveries under these ids opened or changed, except those of the detectors ``but``."""
        principal.require_program(program_id)
        place = [principal.tenant_id, program_id]
        values = [*place, listed(but), *place, listed(event_ids)]
        rows = self._read(_ALERTS_OF_EVENTS, values)
        return tuple(alert_id for (alert_id,) in rows)

    def transfer_of(self, principal: Principal, program_id: str, event_id: str) -> str | None:
        """The id of the event's transfer."""
        principal.require_program(program_id)
        values = [principal.tenant_id, program_id, event_id, EventSubjectType.TRANSFER.value]
        row = self._first(_SUBJECT, values)
        return None if row is None else str(row[0])

    def consequences(self, row: EventRow) -> Consequences:
        place = [row.tenant_id, row.program_id, row.offset]
        with self._connection.cursor() as cursor:
            alert_ids = tuple(alert_id for (alert_id,) in cursor.execute(_ALERTS, place).fetchall())
            match = cursor.execute(_PREFLIGHT, place).fetchone()
        return Consequences(alert_ids=alert_ids, preflight_id=None if match is None else str(match[0]))
