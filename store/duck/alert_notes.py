"""Reads notes on alerts with their links in the record, and the assignments of alerts, of which the newest counts.

Errors  none; an alert without an assignment is absent
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from clearhold.features.core.canonical import Chain
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import AlertAssignmentRow, AlertNoteRow
from clearhold.store.duck.alerts import LinkedRow, LinkedRows
from clearhold.store.duck.committed_rows import RowFilter, Timeline
from clearhold.store.tables import TEXTS, Predicate, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

StoredNote = LinkedRow[AlertNoteRow]


class OfAlertFilter(RowFilter, frozen=True, kw_only=True):
    alert_ids: tuple[str, ...] | None = msgspec.field(default=None, name="alertId")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("alert_id", self.alert_ids)
        return predicate


class AlertNotes(
    Timeline[AlertNoteRow, StoredNote], LinkedRows, table="alert_notes", row_type=AlertNoteRow, at="created_at"
):
    """The newest first."""

    def count(self, principal: Principal, alert_id: str) -> int:
        """The number of notes on an alert."""
        predicate = OfAlertFilter(alert_ids=(alert_id,)).predicate(principal)
        count: int = self._value(f"SELECT count(*) FROM alert_notes WHERE {predicate.sql}", predicate.values)
        return count

    def newest(self, principal: Principal, alert_id: str, limit: int) -> list[StoredNote]:
        """The newest notes on an alert, oldest first."""
        notes = self.list_page(principal, OfAlertFilter(alert_ids=(alert_id,)), None, limit)
        return sorted(notes, key=lambda stored: stored.row.offset)

    def _stored(self, principal: Principal, rows: list[AlertNoteRow]) -> list[StoredNote]:
        bounds = [row.offset for row in rows]
        return self.linked(principal, rows, Chain.ACTIONS, '"offset" BETWEEN ? AND ?', bounds)


_NEWEST: Final = f"""
    SELECT alert_id, arg_max(coalesce(assignee, ''), "offset") FROM alert_assignments
    WHERE tenant_id = ? AND alert_id IN {TEXTS} GROUP BY alert_id"""
_OF_ENTRY: Final = 'SELECT alert_id FROM alert_assignments WHERE tenant_id = ? AND program_id = ? AND "offset" = ?'


class AlertAssignments(
    Timeline[AlertAssignmentRow, AlertAssignmentRow],
    table="alert_assignments",
    row_type=AlertAssignmentRow,
    at="created_at",
):
    """The newest first."""

    def newest(self, principal: Principal, alert_id: str, limit: int) -> list[AlertAssignmentRow]:
        """The newest assignments of an alert, oldest first."""
        rows = self.list_page(principal, OfAlertFilter(alert_ids=(alert_id,)), None, limit)
        return sorted(rows, key=lambda row: row.offset)

    def assignees(self, principal: Principal, alert_ids: Sequence[str]) -> dict[str, str]:
        """The assignees by alert; unassigned alerts are left out."""
        rows = self._read(_NEWEST, [principal.tenant_id, listed(alert_ids)]) if alert_ids else []
        return {alert_id: assignee for alert_id, assignee in rows if assignee}

    def of_entry(self, principal: Principal, program_id: str, offset: int) -> frozenset[str]:
        """The alerts that one entry assigned."""
        return frozenset(id_ for (id_,) in self._read(_OF_ENTRY, [principal.tenant_id, program_id, offset]))
