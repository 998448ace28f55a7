"""Reads alerts, labels of transfers, and results of entries by their id; the newest version of each.

Labels are the verdicts of people, returns and imports; the last one of a transfer is in force.

Errors  none; an unknown row is None
"""

from collections.abc import Sequence
from typing import Final

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS, AlertRow, EntryResultRow, LabelRow
from clearhold.features.core.vocabulary import WAITING
from clearhold.store.duck.committed_rows import RowFilter, Timeline
from clearhold.store.tables.predicate import NUMBERS, TEXTS, Predicate, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_OVERDUE: Final = f"""
    SELECT id, "offset", count(*) OVER () FROM alerts SEMI JOIN (
        SELECT id, max("offset") AS "offset" FROM alerts WHERE {{within}} GROUP BY id
    ) AS newest USING (id, "offset") WHERE {{matching}}
    ORDER BY queue_rank >> {RANK_INSTANT_BITS} DESC, due_at, id LIMIT ?"""
_TRANSFERS_AT: Final = f"""
    SELECT program_id, "offset", id FROM transfers WHERE tenant_id = ? AND "offset" BETWEEN ? AND ?
    AND "offset" IN {NUMBERS} AND program_id IN {TEXTS}"""
_RESTS_ON: Final = f"""(program_id, id) IN (
    SELECT program_id, alert_id FROM alert_transfers WHERE tenant_id = ? AND (program_id, transfer_number) IN (
        SELECT program_id, number FROM transfers WHERE tenant_id = ? AND id IN {TEXTS}))"""


class AlertFilter(RowFilter, frozen=True, kw_only=True):
    """``now`` decides which alerts are overdue."""

    statuses: tuple[str, ...] | None = None
    routes: tuple[str, ...] | None = None
    detectors: tuple[str, ...] | None = None
    severities: tuple[str, ...] | None = None
    sla_tiers: tuple[str, ...] | None = None
    subject_types: tuple[str, ...] | None = None
    subject_ids: tuple[str, ...] | None = None
    transfer_ids: tuple[str, ...] | None = None
    overdue: bool | None = None
    now: int = 0
    from_history: bool | None = None
    opened_from: int | None = None
    opened_to: int | None = None

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("status", self.statuses)
        predicate.among("route", self.routes)
        predicate.among("detector", self.detectors)
        predicate.among("severity", self.severities)
        predicate.among("sla_tier", self.sla_tiers)
        predicate.among("subject_type", self.subject_types)
        predicate.among("subject_id", self.subject_ids)
        if self.transfer_ids is not None:
            predicate.add(_RESTS_ON, principal.tenant_id, principal.tenant_id, listed(self.transfer_ids))
        predicate.between("opened_at", self.opened_from, self.opened_to)
        if self.from_history is not None:
            predicate.add("from_history = ?", self.from_history)
        if self.overdue is not None:
            sql = "coalesce(status IN (?, ?, ?) AND due_at < make_timestamp(?), false) = ?"
            predicate.add(sql, *WAITING, self.now, self.overdue)
        return predicate


class Alerts(Timeline[AlertRow, AlertRow], table="alerts", row_type=AlertRow, rank="queue_rank"):
    """The worst first, and the newest of equal ones."""

    def overdue(self, principal: Principal, wanted: AlertFilter, limit: int) -> tuple[int, list[AlertRow]]:
        """The number of alerts that match, and the worst ``limit`` of them: oldest due first, then the worst."""
        within, matching = Predicate(principal), wanted.predicate(principal)
        sql = _OVERDUE.format(within=within.sql, matching=matching.sql)
        matches = self._read(sql, [*within.values, *matching.values, limit])
        rows = self._of_keys(principal, [key[:2] for key in matches])
        rows.sort(key=lambda row: (row.due_at, -row.queue_rank, row.id))
        return (matches[0][2] if matches else 0), rows

    def transfers_at(self, principal: Principal, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The ids of the transfers that these log entries, by program and offset, created or changed."""
        if not places:
            return {}
        offsets = sorted({offset for _, offset in places})
        programs = sorted({program for program, _ in places})
        values = [principal.tenant_id, offsets[0], offsets[-1], listed(offsets), listed(programs)]
        matches = self._read(_TRANSFERS_AT, values)
        return {(program_id, offset): transfer_id for program_id, offset, transfer_id in matches}


class LabelFilter(RowFilter, frozen=True, kw_only=True):
    transfer_ids: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    created_from: int | None = None
    created_to: int | None = None

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("transfer_id", self.transfer_ids)
        predicate.among("label", self.labels)
        predicate.between("created_at", self.created_from, self.created_to)
        return predicate


class Labels(Timeline[LabelRow, LabelRow], table="labels", row_type=LabelRow, at="created_at"):
    """All labels, newest first."""


class EntryResults(
    Timeline[EntryResultRow, EntryResultRow], table="decision_results", row_type=EntryResultRow, at="created_at"
):
    """The results of decisions, appeals and labels by the id of their log entry."""
