"""Reads the recorded inputs of scores: bank events with their results, pre-flights, policies in force.

Events  every delivery in the log, newest first by the time of its arrival; an unknown event is an empty list
Checks  pre-flights, the transfers that landed for them, and counts of both; an unknown pre-flight is None
Policy  the bodies that links cite, and versions of single programs

Errors  ForbiddenError for a row of a program out of the principal's reach
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.log_entry import EventSubjectType
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import EventRow
from clearhold.features.core.vocabulary import AlertStatus
from clearhold.features.policy.bodies import LIMITS, LimitsBody
from clearhold.store.duck.committed_rows import CommittedRows, RowFilter, programs_sql, reached
from clearhold.store.duck.database import LABEL_ORDER
from clearhold.store.tables import TEXTS, Predicate, listed, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter


MOST_UNDER_ONE_ID: Final = 100

Place = tuple[int, int, str]
"""Where a page ended: arrival, log offset and program of its last delivery."""

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
# The range lets DuckDB leave out all blocks of other offsets, which a list does not.
_AT_OFFSETS: Final = '"offset" BETWEEN $first AND $last AND list_contains($offsets, "offset")'
# An alert that several entries of a page join is written once; ``alert_transfers`` has a row for each of them. It also
# has the entries that came when the alert was closed, which did not change it.
_ALERTS: Final = f"""
    WITH joined AS MATERIALIZED (
        SELECT DISTINCT alert_id AS id, "offset" FROM alert_transfers
        WHERE tenant_id = $tenant AND program_id = $program AND {_AT_OFFSETS}
    ), changed AS (
        SELECT joined.id FROM joined LEFT JOIN alerts AS before
            ON before.tenant_id = $tenant AND before.id = joined.id AND before."offset" < joined."offset"
        GROUP BY joined.id, joined."offset"
        HAVING arg_max(status, before."offset") IS DISTINCT FROM '{AlertStatus.CLOSED}'
    )
    SELECT id FROM alerts
    WHERE tenant_id = $tenant AND program_id = $program AND NOT list_contains($but, detector) AND {_AT_OFFSETS}
    UNION
    SELECT id FROM alerts
    WHERE tenant_id = $tenant AND program_id = $program AND NOT list_contains($but, detector) AND id IN (FROM changed)
    ORDER BY id"""
_OFFSETS: Final = f"""
    SELECT "offset" FROM bank_events WHERE tenant_id = ? AND program_id = ? AND event_id IN {TEXTS}"""
_SUBJECT: Final = """
    SELECT subject_id FROM bank_events
    WHERE tenant_id = ? AND program_id = ? AND event_id = ? AND subject_type = ? ORDER BY "offset" DESC LIMIT 1"""
_PREFLIGHT: Final = """
    SELECT preflight_id FROM preflight_matches WHERE tenant_id = ? AND program_id = ? AND "offset" = ?"""
_EVENT: Final = row_builder(EventRow)


class EventFilter(RowFilter, frozen=True, kw_only=True):
    """``subject_types`` and ``subject_ids`` are of the object that an event is about, each on its own."""

    results: tuple[str, ...] | None = msgspec.field(default=None, name="result")
    subject_types: tuple[str, ...] | None = msgspec.field(default=None, name="subjectType")
    subject_ids: tuple[str, ...] | None = msgspec.field(default=None, name="subjectId")
    received_from: int | None = msgspec.field(default=None, name="from")
    received_to: int | None = msgspec.field(default=None, name="to")

    def predicate(self, principal: Principal) -> Predicate:
        predicate = super().predicate(principal)
        predicate.among("result", self.results)
        predicate.among("subject_type", self.subject_types)
        predicate.among("subject_id", self.subject_ids)
        predicate.between("appended_at", self.received_from, self.received_to)
        return predicate


class Consequences(msgspec.Struct, frozen=True, kw_only=True):
    """The alerts that a delivery opened or changed, and the pre-flight that its transfer was matched with."""

    alert_ids: tuple[str, ...]
    preflight_id: str | None


class Events(CommittedRows):
    def list_page(self, principal: Principal, wanted: EventFilter, after: Place | None, limit: int) -> list[EventRow]:
        """At most ``limit`` deliveries after ``after``."""
        predicate = wanted.predicate(principal)
        if after is not None:
            at, offset, program_id = after
            predicate.add(_AFTER, at, at, offset, offset, program_id)
        tuples = self._read(_PAGE.format(matching=predicate.sql), [*predicate.values, limit])
        return [*map(_EVENT, tuples)]

    def find(self, principal: Principal, event_id: str, program_ids: Sequence[str] | None) -> list[EventRow]:
        """The newest deliveries under that id in the programs (None: the tenant's) within the principal's reach.

        ForbiddenError when the tenant has it only outside a key's mode.
        """
        if program_ids is not None and not program_ids:
            return []
        sql = _FIND.format(programs=programs_sql(program_ids))
        rows = self._read(sql, [principal.tenant_id, event_id, *(program_ids or ())])
        return reached(principal, [*map(_EVENT, rows)])

    def alerts_of(
        self, principal: Principal, program_id: str, event_ids: Sequence[str], *, but: Sequence[str]
    ) -> tuple[str, ...]:
        """The alerts that deliveries under these ids opened or changed, except those of the detectors ``but``."""
        principal.require_program(program_id)
        offsets = self._read(_OFFSETS, [principal.tenant_id, program_id, listed(event_ids)])
        return self._alerts_at(principal.tenant_id, program_id, [offset for (offset,) in offsets], but)

    def _alerts_at(
        self, tenant_id: str, program_id: str, offsets: Sequence[int], but: Sequence[str] = ()
    ) -> tuple[str, ...]:
        if not offsets:
            return ()
        bounds = {"first": min(offsets), "last": max(offsets)}
        named = {"tenant": tenant_id, "program": program_id, "offsets": list(offsets), "but": list(but), **bounds}
        return tuple(alert_id for (alert_id,) in self._read(_ALERTS, named))

    def transfer_of(self, principal: Principal, program_id: str, event_id: str) -> str | None:
        """The id of the event's transfer."""
        principal.require_program(program_id)
        transfer_id: str | None = self._value(
            _SUBJECT, [principal.tenant_id, program_id, event_id, EventSubjectType.TRANSFER.value]
        )
        return transfer_id

    def consequences(self, row: EventRow) -> Consequences:
        place = [row.tenant_id, row.program_id, row.offset]
        alert_ids = self._alerts_at(row.tenant_id, row.program_id, [row.offset])
        return Consequences(alert_ids=alert_ids, preflight_id=self._value(_PREFLIGHT, place))


# An unconfirmed append may have left a second record; the newer one was answered.
_FIND_PREFLIGHT: Final = 'SELECT body FROM preflights WHERE tenant_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1'
_MATCHED: Final = """
    SELECT transfer_id FROM preflight_matches WHERE tenant_id = ? AND preflight_id = ? ORDER BY "offset" LIMIT 1"""
_MATCHES: Final = """
    SELECT preflight_id FROM preflight_matches WHERE tenant_id = ? AND program_id = ? AND transfer_id = ?
    ORDER BY "offset" LIMIT 1"""
# The id of a repeatable pre-flight follows from its key (version 5), any other is random (version 4).
_REPEATABLE: Final = "SELECT id FROM preflights WHERE substr(id, 15, 1) = '5'"
_RECORD: Final = msgspec.json.Decoder(PreflightRecord)
# A pre-flight counts once, with its answer; its grade is the newest label of the transfer that landed for it.
_COUNTS: Final = """
    WITH answers AS MATERIALIZED (
        SELECT program_id, id, decision = 'hold' AS held, decision, degraded, latency_ms FROM preflights
        WHERE {within} AND created_at >= make_timestamp(?)
        QUALIFY row_number() OVER (PARTITION BY program_id, id ORDER BY "offset" DESC) = 1
    ), landed AS (
        SELECT program_id, preflight_id AS id, arg_min(transfer_id, "offset") AS transfer_id FROM preflight_matches
        WHERE {within} AND (program_id, preflight_id) IN (SELECT (program_id, id) FROM answers) GROUP BY ALL
    ), verdicts AS (
        SELECT program_id, transfer_id, arg_max(label, {order}) AS label FROM labels WHERE {within} GROUP BY ALL
    )
    SELECT
        count(*),
        count(*) FILTER (decision = 'clear'), count(*) FILTER (decision = 'review'), count(*) FILTER (held),
        count(*) FILTER (degraded), count(transfer_id),
        quantile_cont(latency_ms, 0.5), quantile_cont(latency_ms, 0.9),
        count(*) FILTER (held AND label = 'bad'), count(*) FILTER (held AND label = 'ok'),
        count(*) FILTER (NOT held AND label = 'bad'), count(*) FILTER (NOT held AND label = 'ok')
    FROM answers LEFT JOIN landed USING (program_id, id) LEFT JOIN verdicts USING (program_id, transfer_id)"""


class PreflightCounts(NamedTuple):
    """The number of pre-flights, by decision and by the label of their transfers.

    The two latencies are None without a pre-flight. ``hold_bad`` to ``other_ok`` are those with a labelled transfer.
    """

    total: int
    clear: int
    review: int
    hold: int
    degraded: int
    matched: int
    latency_ms_p50: float | None
    latency_ms_p90: float | None
    hold_bad: int
    hold_ok: int
    other_bad: int
    other_ok: int


class Preflights(CommittedRows):
    def find(self, principal: Principal, preflight_id: str) -> PreflightRecord | None:
        """ForbiddenError when the tenant has it on a program outside a key's mode."""
        body = self._value(_FIND_PREFLIGHT, [principal.tenant_id, preflight_id])
        if body is None:
            return None
        record = _RECORD.decode(body)
        return record if principal.finds(record.answer.program_id) else None

    def matched_transfer_id(self, principal: Principal, preflight_id: str) -> str | None:
        """The transfer that landed for it, if any."""
        transfer_id: str | None = self._value(_MATCHED, [principal.tenant_id, preflight_id])
        return transfer_id

    def id_for(self, principal: Principal, program_id: str, transfer_id: str) -> str | None:
        """The pre-flight for which a transfer landed, if any."""
        preflight_id: str | None = self._value(_MATCHES, [principal.tenant_id, program_id, transfer_id])
        return preflight_id

    def counts(self, principal: Principal, program_ids: Sequence[str] | None, *, since: int) -> PreflightCounts:
        """Over pre-flights since an instant, of these programs; None is all that the principal reaches."""
        within = Predicate(principal)
        within.of_programs(program_ids)
        values = [*within.values, since, *within.values, *within.values]
        (counts,) = self._read(_COUNTS.format(within=within.sql, order=LABEL_ORDER), values)
        return PreflightCounts(*counts)


def idempotent_ids(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The ids of all pre-flights with an idempotency key of either kind; read once, at start."""
    with connection.cursor() as cursor:
        return [preflight_id for (preflight_id,) in cursor.execute(_REPEATABLE).fetchall()]


_BODIES: Final = "SELECT DISTINCT body FROM policies WHERE tenant_id = ?"
_BODY: Final = "SELECT body FROM policies WHERE program_id = ? AND version = ? LIMIT 1"
_OF_PROGRAMS: Final = """
    WITH versions AS (
        SELECT program_id, version, split_part(version, '-', 1) AS prefix, any_value(body) AS body,
               epoch_us(min(in_force_at)) AS since, min("offset") AS "offset"
        FROM policies
        WHERE tenant_id = ? AND of_program AND list_contains(?, split_part(version, '-', 1))
        GROUP BY ALL
    )
    SELECT program_id, version, body, since,
           row_number() OVER (PARTITION BY program_id, prefix ORDER BY "offset" DESC) = 1 AS active
    FROM versions
"""


_NEWEST: Final = """
    SELECT scored.program_id, policy.version, policy.body
    FROM (SELECT DISTINCT program_id FROM transfer_features WHERE tenant_id = ?) AS scored
    LEFT JOIN (
        FROM (
            FROM policies WHERE tenant_id = ? AND split_part(version, '-', 1) = ?
            QUALIFY row_number() OVER (PARTITION BY program_id, of_program ORDER BY "offset" DESC) = 1
        ) WHERE json_extract_string(body, '$.followsTenant') IS DISTINCT FROM 'true'
        QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY of_program DESC) = 1
    ) AS policy USING (program_id)
    ORDER BY scored.program_id
"""


class NewestVersion(msgspec.Struct, frozen=True):
    """A program's newest version of a prefix; version and body are None without one."""

    program_id: str
    version: str | None
    body: str | None


class ProgramVersion(msgspec.Struct, frozen=True):
    """A version for one program alone. ``active`` when it is the newest of its prefix."""

    program_id: str
    version: str
    body: str
    since: int
    active: bool


class PolicyTable(CommittedRows):
    def bodies(self, tenant_id: str) -> list[bytes]:
        """The canonical body of every version that came into force in any program of the tenant."""
        return [body.encode() for (body,) in self._read(_BODIES, [tenant_id])]

    def body(self, program_id: str, version: str) -> dict[str, Any] | None:
        """The body of a version that came into force in a program, or None."""
        body = self._value(_BODY, [program_id, version])
        return None if body is None else msgspec.json.decode(body, type=dict[str, Any])

    def newest(self, tenant_id: str, prefix: str) -> list[NewestVersion]:
        """The version of a prefix in force in each program with scorings; the program's version stands above the
        tenant's, unless it makes the program follow the tenant.
        """
        rows = self._read(_NEWEST, [tenant_id, tenant_id, prefix])
        return [NewestVersion(*row) for row in rows]

    def of_programs(self, tenant_id: str, prefixes: Sequence[str]) -> list[ProgramVersion]:
        """The versions of these prefixes that came into force in single programs."""
        rows = self._read(_OF_PROGRAMS, [tenant_id, list(prefixes)])
        return [ProgramVersion(*row) for row in rows]


class CommittedLimits:
    """The limits of a tenant's programs, as committed."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._table = PolicyTable(database)

    def of_tenant(self, tenant_id: str) -> dict[str, tuple[LimitsBody, int]]:
        """By program, with the instant of their last change; programs that never had a limit are left out."""
        versions = [each for each in self._table.of_programs(tenant_id, (LIMITS,)) if each.active]
        return {each.program_id: (msgspec.json.decode(each.body, type=LimitsBody), each.since) for each in versions}
