"""Reads alerts, labels of transfers, and results of entries by their id; the newest version of each.

Labels are the verdicts of people, returns and imports; the last one of a transfer is in force.

Errors  none; an unknown row is None
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS, AlertRow, EntryResultRow, LabelRow
from clearhold.features.core.vocabulary import WAITING
from clearhold.store.duck.committed_rows import Place, Timeline
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


class AlertFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    statuses: tuple[str, ...] | None = None
    routes: tuple[str, ...] | None = None
    detectors: tuple[str, ...] | None = None
    severities: tuple[str, ...] | None = None
    sla_tiers: tuple[str, ...] | None = None
    subject_types: tuple[str, ...] | None = None
    subject_ids: tuple[str, ...] | None = None
    transfer_ids: tuple[str, ...] | None = None
    overdue: bool | None = None
    from_history: bool | None = None
    opened_from: int | None = None
    opened_to: int | None = None


class Alerts(Timeline[AlertRow, AlertRow], table="alerts", row_type=AlertRow, rank="queue_rank"):
    def list_page(
        self, principal: Principal, wanted: AlertFilter, after: Place | None, limit: int, *, now: int
    ) -> list[AlertRow]:
        """The worst first, and the newest of equal ones; ``now`` decides which are overdue."""
        return self.page(principal, _predicate(principal, wanted, now), after, limit)

    def export(self, principal: Principal, wanted: AlertFilter, batch: int, *, now: int) -> Iterator[list[AlertRow]]:
        """All of them in the order of pages, in the state at the first batch."""
        return self.all(principal, _predicate(principal, wanted, now), batch)

    def overdue(self, principal: Principal, wanted: AlertFilter, limit: int, *, now: int) -> tuple[int, list[AlertRow]]:
        """The number of alerts that match, and the worst ``limit`` of them: oldest due first, then the worst."""
        within, matching = Predicate(principal), _predicate(principal, wanted, now)
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


def _predicate(principal: Principal, wanted: AlertFilter, now: int) -> Predicate:
    predicate = Predicate(principal)
    predicate.among("program_id", wanted.program_ids)
    predicate.among("status", wanted.statuses)
    predicate.among("route", wanted.routes)
    predicate.among("detector", wanted.detectors)
    predicate.among("severity", wanted.severities)
    predicate.among("sla_tier", wanted.sla_tiers)
    predicate.among("subject_type", wanted.subject_types)
    predicate.among("subject_id", wanted.subject_ids)
    if wanted.transfer_ids is not None:
        predicate.add(_RESTS_ON, principal.tenant_id, principal.tenant_id, listed(wanted.transfer_ids))
    predicate.between("opened_at", wanted.opened_from, wanted.opened_to)
    if wanted.from_history is not None:
        predicate.add("from_history = ?", wanted.from_history)
    if wanted.overdue is not None:
        sql = "coalesce(status IN (?, ?, ?) AND due_at < make_timestamp(?), false) = ?"
        predicate.add(sql, *WAITING, now, wanted.overdue)
    return predicate


class LabelFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list. None is any. Instants are half-open, microseconds."""

    program_ids: tuple[str, ...] | None = None
    transfer_ids: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    created_from: int | None = None
    created_to: int | None = None


class Labels(Timeline[LabelRow, LabelRow], table="labels", row_type=LabelRow, at="created_at"):
    def list_page(self, principal: Principal, wanted: LabelFilter, after: Place | None, limit: int) -> list[LabelRow]:
        predicate = Predicate(principal)
        predicate.among("program_id", wanted.program_ids)
        predicate.among("transfer_id", wanted.transfer_ids)
        predicate.among("label", wanted.labels)
        predicate.between("created_at", wanted.created_from, wanted.created_to)
        return self.page(principal, predicate, after, limit)


class EntryResults(
    Timeline[EntryResultRow, EntryResultRow], table="decision_results", row_type=EntryResultRow, at="created_at"
):
    """The results of decisions, appeals and labels by the id of their log entry."""
