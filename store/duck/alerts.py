"""Reads alerts, labels of transfers, results of entries by their id, and dispositions and actions with their links,
whose hashes are the record's; the newest version of each.

Labels are the verdicts of people, returns and imports; the last one of a transfer is in force.

Errors  none; an unknown row is None
"""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import msgspec

from clearhold.features.core.canonical import Chain
from clearhold.features.core.entries.actions import ActionStatus, person_key
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import (
    RANK_INSTANT_BITS,
    ActionRow,
    AlertNoteRow,
    AlertRow,
    DispositionRow,
    EntryResultRow,
    LabelRow,
)
from clearhold.features.core.vocabulary import WAITING, SubjectType
from clearhold.store.duck.alert_orders import AlertOrder
from clearhold.store.duck.committed_rows import CommittedRows, RowFilter, Timeline
from clearhold.store.tables import NUMBERS, TEXTS, Predicate, listed, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_OVERDUE: Final = f"""
    SELECT id, "offset", count(*) OVER () FROM alerts SEMI JOIN (
        SELECT id, max("offset") AS "offset" FROM alerts WHERE {{within}} GROUP BY id
    ) AS newest USING (id, "offset") WHERE {{matching}}
    ORDER BY queue_rank >> {RANK_INSTANT_BITS} DESC, due_at, id LIMIT ?"""
_TRANSFERS_AT: Final = f"""
    SELECT program_id, "offset", id FROM transfers WHERE tenant_id = ? AND "offset" BETWEEN ? AND ?
    AND "offset" IN {NUMBERS} AND program_id IN {TEXTS}"""
_PROGRAMS: Final = "SELECT id, any_value(program_id) FROM alerts WHERE {} GROUP BY id"
_RESTS_ON: Final = f"""(program_id, id) IN (
    SELECT program_id, alert_id FROM alert_transfers WHERE tenant_id = ? AND (program_id, transfer_number) IN (
        SELECT program_id, number FROM transfers WHERE tenant_id = ? AND id IN {TEXTS}))"""
_OF_ACCOUNTS: Final = f"""((subject_type = '{SubjectType.ACCOUNT}' AND subject_id IN {TEXTS}) OR (program_id, id) IN (
    SELECT program_id, alert_id FROM alert_transfers WHERE tenant_id = ? AND (program_id, transfer_number) IN (
        SELECT program_id, number FROM transfers WHERE tenant_id = ? AND account_id IN {TEXTS})))"""


_ASSIGNED_TO: Final = f"""id IN (
    SELECT alert_id FROM alert_assignments WHERE tenant_id = ? GROUP BY alert_id
    HAVING arg_max(assignee_key, "offset") IN {TEXTS})"""
_ASSIGNED_TO_NOBODY: Final = """id NOT IN (
    SELECT alert_id FROM alert_assignments WHERE tenant_id = ? GROUP BY alert_id
    HAVING arg_max(assignee_key, "offset") <> '')"""

NO_ASSIGNEE: Final = "none"
"""As a filter by assignee: unassigned alerts. No person is assigned under this name."""


def assignee_keys(names: Sequence[str]) -> frozenset[str]:
    """The forms of names that assignments are compared by; of ``NO_ASSIGNEE`` the empty one.

    >>> sorted(assignee_keys(("Ann  Lee", "None")))
    ['', 'ann lee']
    """
    return frozenset("" if key == NO_ASSIGNEE else key for key in map(person_key, names))


class AlertFilter(RowFilter, frozen=True, kw_only=True):
    """``now`` decides which alerts are overdue; ``sort`` is no filter, but a list's cursor is of one order alone."""

    sort: AlertOrder = AlertOrder.WORST
    statuses: tuple[str, ...] | None = msgspec.field(default=None, name="status")
    routes: tuple[str, ...] | None = msgspec.field(default=None, name="route")
    detectors: tuple[str, ...] | None = msgspec.field(default=None, name="detector")
    severities: tuple[str, ...] | None = msgspec.field(default=None, name="severity")
    sla_tiers: tuple[str, ...] | None = msgspec.field(default=None, name="slaTier")
    bands: tuple[str, ...] | None = msgspec.field(default=None, name="band")
    subject_types: tuple[str, ...] | None = msgspec.field(default=None, name="subjectType")
    subject_ids: tuple[str, ...] | None = msgspec.field(default=None, name="subjectId")
    transfer_ids: tuple[str, ...] | None = msgspec.field(default=None, name="transferId")
    account_ids: tuple[str, ...] | None = msgspec.field(default=None, name="accountId")
    stack_ids: tuple[str, ...] | None = msgspec.field(default=None, name="stackId")
    assignees: tuple[str, ...] | None = msgspec.field(default=None, name="assignee")
    overdue: bool | None = None
    now: int = 0
    from_history: bool | None = msgspec.field(default=None, name="fromHistory")
    opened_from: int | None = msgspec.field(default=None, name="from")
    opened_to: int | None = msgspec.field(default=None, name="to")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("status", self.statuses)
        predicate.among("route", self.routes)
        predicate.among("detector", self.detectors)
        predicate.among("severity", self.severities)
        predicate.among("sla_tier", self.sla_tiers)
        predicate.among("band_at_alert", self.bands)
        predicate.among("subject_type", self.subject_types)
        predicate.among("subject_id", self.subject_ids)
        predicate.among("stack_id", self.stack_ids)
        if self.assignees is not None:
            keys = assignee_keys(self.assignees)
            named = f"({_ASSIGNED_TO} OR {_ASSIGNED_TO_NOBODY})" if "" in keys else _ASSIGNED_TO
            further = (principal.tenant_id,) if "" in keys else ()
            predicate.add(named, principal.tenant_id, listed(sorted(keys - {""})), *further)
        self.narrow(principal, predicate)
        predicate.between("opened_at", self.opened_from, self.opened_to)
        if self.from_history is not None:
            predicate.add("from_history = ?", self.from_history)
        if self.overdue is not None:
            sql = "coalesce(status IN (?, ?, ?) AND due_at < make_timestamp(?), false) = ?"
            predicate.add(sql, *WAITING, self.now, self.overdue)
        return predicate

    def narrow(self, principal: Principal, predicate: Predicate) -> bool:
        """Add the filters that other tables decide; whether there are any."""
        tenant_id = principal.tenant_id
        if self.transfer_ids is not None:
            predicate.add(_RESTS_ON, tenant_id, tenant_id, listed(self.transfer_ids))
        if self.account_ids is not None:
            ids = listed(self.account_ids)
            predicate.add(_OF_ACCOUNTS, ids, tenant_id, tenant_id, ids)
        return self.transfer_ids is not None or self.account_ids is not None


class Alerts(Timeline[AlertRow, AlertRow], table="alerts", row_type=AlertRow, rank="queue_rank"):
    """The worst first, and the newest of equal ones."""

    def overdue(self, principal: Principal, wanted: AlertFilter, limit: int) -> tuple[int, list[AlertRow]]:
        """The number of alerts that match, and the worst ``limit`` of them: oldest due first, then the worst."""
        within, matching = Predicate(principal), wanted.predicate(principal)
        sql = _OVERDUE.format(within=within.sql, matching=matching.sql)
        matches = self._read(sql, [*within.values, *matching.values, limit])
        rows = self.of_keys(principal, [key[:2] for key in matches])
        rows.sort(key=lambda row: (row.due_at, -row.queue_rank, row.id))
        return (matches[0][2] if matches else 0), rows

    def by_program(self, principal: Principal, alert_ids: Sequence[str]) -> dict[str, list[str]]:
        """Those of the alerts that the principal reaches, in the given order, by program in the order of ids."""
        predicate = Predicate(principal)
        predicate.add(f"id IN {TEXTS}", listed(alert_ids))
        programs = dict(self._read(_PROGRAMS.format(predicate.sql), predicate.values))
        return {
            program_id: [each for each in alert_ids if programs.get(each) == program_id]
            for program_id in sorted(set(programs.values()))
        }

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
    transfer_ids: tuple[str, ...] | None = msgspec.field(default=None, name="transferId")
    labels: tuple[str, ...] | None = msgspec.field(default=None, name="label")
    created_from: int | None = msgspec.field(default=None, name="from")
    created_to: int | None = msgspec.field(default=None, name="to")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("transfer_id", self.transfer_ids)
        predicate.among("label", self.labels)
        predicate.between("created_at", self.created_from, self.created_to)
        return predicate


class Labels(Timeline[LabelRow, LabelRow], table="labels", row_type=LabelRow, at="created_at"):
    """All labels, newest first."""


_OF_ENTRY: Final = f"""
    SELECT {select_list(EntryResultRow)} FROM decision_results
    WHERE tenant_id = ? AND program_id = ? AND "offset" = ? ORDER BY rowid"""


class EntryResults(
    Timeline[EntryResultRow, EntryResultRow], table="decision_results", row_type=EntryResultRow, at="created_at"
):
    """The results of decisions, appeals and labels by the id of their log entry."""

    def of_entry(self, principal: Principal, entry: EntryResultRow) -> list[EntryResultRow]:
        """All results of an entry that decides on several alerts, in the order of their alerts."""
        rows = map(self._row, self._read(_OF_ENTRY, [principal.tenant_id, entry.program_id, entry.offset]))
        return [row for row in rows if row.id != entry.id]


MOST_OF_ONE_ALERT: Final = 1_000

Row = TypeVar("Row", ActionRow, AlertNoteRow, DispositionRow)

_LINKS: Final = f"""
    SELECT id, seq, prev_hash, hash FROM record_chain
    WHERE tenant_id = ? AND chain = ? AND {{within}} AND id IN {TEXTS}"""


class LinkedRow(msgspec.Struct, Generic[Row], frozen=True, kw_only=True):
    """A row and its link in the tenant's chain; of an action, the link of its request."""

    row: Row
    seq: int
    prev_hash: str | None
    hash: str


class LinkedRows(CommittedRows):
    """Adds links; ``within`` and ``bounds`` are where in the chain they are."""

    def linked(
        self, principal: Principal, rows: list[Row], chain: Chain, within: str, bounds: list[int]
    ) -> list[LinkedRow[Row]]:
        values = [principal.tenant_id, chain, min(bounds), max(bounds), listed([row.id for row in rows])]
        links = {link[0]: link[1:] for link in self._read(_LINKS.format(within=within), values)}
        return [
            LinkedRow(row=row, seq=seq, prev_hash=prev_hash, hash=hash_)
            for row in rows
            for seq, prev_hash, hash_ in (links[row.id],)
        ]


class DispositionFilter(RowFilter, frozen=True, kw_only=True):
    alert_ids: tuple[str, ...] | None = msgspec.field(default=None, name="alertId")
    decisions: tuple[str, ...] | None = msgspec.field(default=None, name="decision")
    decided_by: tuple[str, ...] | None = msgspec.field(default=None, name="decidedBy")
    overturned: bool | None = None
    created_from: int | None = msgspec.field(default=None, name="from")
    created_to: int | None = msgspec.field(default=None, name="to")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("alert_id", self.alert_ids)
        predicate.among("decision", self.decisions)
        predicate.among("decided_by", self.decided_by)
        if self.overturned is not None:
            predicate.add("coalesce(overturns_draft, false) = ?", self.overturned)
        predicate.between("created_at", self.created_from, self.created_to)
        return predicate


StoredDisposition = LinkedRow[DispositionRow]


class Dispositions(
    Timeline[DispositionRow, StoredDisposition],
    LinkedRows,
    table="dispositions",
    row_type=DispositionRow,
    at="created_at",
):
    def of_alert(self, principal: Principal, alert_id: str) -> list[StoredDisposition]:
        """The decisions on one alert, in log order."""
        decisions = self.list_page(principal, DispositionFilter(alert_ids=(alert_id,)), None, MOST_OF_ONE_ALERT)
        return sorted(decisions, key=lambda stored: stored.row.offset)

    def of_entry(self, principal: Principal, offset: int, ids: Sequence[str]) -> list[StoredDisposition]:
        """The decisions of these ids that one entry made, in this order."""
        return self.of_keys(principal, [(each, offset) for each in ids])

    def _stored(self, principal: Principal, rows: list[DispositionRow]) -> list[StoredDisposition]:
        bounds = [row.offset for row in rows]
        return self.linked(principal, rows, Chain.DISPOSITIONS, '"offset" BETWEEN ? AND ?', bounds)


_ROW: Final = row_builder(ActionRow)
# A request's link has the id and the time of its action.
_REQUESTED: Final = "created_at BETWEEN make_timestamp(?) AND make_timestamp(?)"
# The text is a JSON list of ids, which ``list_has_any`` would decode for each row.
_RELEASED: Final = f"""(released_alert_ids IS NOT NULL AND EXISTS (
    SELECT 1 FROM {TEXTS} AS wanted(id) WHERE contains(released_alert_ids, wanted.id)))"""
_READ: Final = f"""
    SELECT {select_list(ActionRow)} FROM actions WHERE tenant_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1"""
_REQUESTED_OF: Final = f"""
    SELECT count(*) FROM (
        SELECT arg_max(status, "offset") AS status FROM actions
        WHERE {{within}} AND program_id IN {TEXTS} GROUP BY id
    ) WHERE status = '{ActionStatus.REQUESTED}'"""
_IN_STATUS: Final = """
    SELECT tenant_id, id FROM actions GROUP BY tenant_id, id HAVING arg_max(status, "offset") = ?
    QUALIFY row_number() OVER (PARTITION BY tenant_id ORDER BY min(created_at), id) <= ?"""


class ActionFilter(RowFilter, frozen=True, kw_only=True):
    alert_ids: tuple[str, ...] | None = msgspec.field(default=None, name="alertId")
    statuses: tuple[str, ...] | None = msgspec.field(default=None, name="status")
    types: tuple[str, ...] | None = msgspec.field(default=None, name="type")
    created_from: int | None = msgspec.field(default=None, name="from")
    created_to: int | None = msgspec.field(default=None, name="to")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        if self.alert_ids is not None:
            ids = listed(self.alert_ids)
            predicate.add(f"(alert_id IN {TEXTS} OR {_RELEASED})", ids, ids)
        predicate.among("status", self.statuses)
        predicate.among("type", self.types)
        predicate.between("created_at", self.created_from, self.created_to)
        return predicate


StoredAction = LinkedRow[ActionRow]


class Actions(Timeline[ActionRow, StoredAction], LinkedRows, table="actions", row_type=ActionRow, at="created_at"):
    def of_alert(self, principal: Principal, alert_id: str) -> list[StoredAction]:
        """The actions that name one alert or released it, in the order of their requests."""
        actions = self.list_page(principal, ActionFilter(alert_ids=(alert_id,)), None, MOST_OF_ONE_ALERT)
        return sorted(actions, key=lambda stored: (stored.row.created_at, stored.row.id))

    def requested(self, principal: Principal, program_ids: Sequence[str]) -> int:
        """The number of actions on these programs that wait for an approver; the tenant's id is the whole tenant."""
        within = Predicate(principal)
        count: int = self._value(_REQUESTED_OF.format(within=within.sql), [*within.values, listed(program_ids)])
        return count

    def _stored(self, principal: Principal, rows: list[ActionRow]) -> list[StoredAction]:
        return self.linked(principal, rows, Chain.ACTIONS, _REQUESTED, [row.created_at for row in rows])


class ActionTable(CommittedRows):
    """The newest rows of all tenants' actions, for their execution."""

    def read(self, tenant_id: str, action_id: str) -> ActionRow | None:
        values = self._first(_READ, [tenant_id, action_id])
        return None if values is None else _ROW(values)

    def approved(self, limit: int) -> list[tuple[str, str]]:
        """Tenant and id of approved actions without an outcome, the oldest of each tenant."""
        return self._read(_IN_STATUS, [ActionStatus.APPROVED.value, limit])
