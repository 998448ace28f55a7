"""The things of a subject, looked up once in one state of the database, and the tables in its export.

A row is the subject's when it belongs to one of its things: itself, its accounts, its transfers, and their
consequences. Each lookup fills a temporary table of the cursor, so memory grows with the subject's things, and nothing
is locked for other users; the conditions of the tables use them. The offset is the program's shard's committed one in
the same transaction: a row with a higher one is later and not in the export. A test holds that every table of the
database is here, included or omitted with the reason.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.canonical import ALERT_NOTE
from clearhold.store.duck.database import TABLES
from clearhold.store.duck.transfers import FIRST_OWNERS
from clearhold.store.subjects.check import SubjectKind

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

WITHIN: Final = 'tenant_id = ? AND program_id = ? AND "offset" <= ?'
_UPTO: Final = 'SELECT coalesce(max("offset"), 0) FROM log_offsets WHERE shard = ?'


class ExportSubject(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of an export. ``shard`` is that of the program; the caller has checked the principal's reach."""

    kind: SubjectKind
    id: str
    tenant_id: str
    program_id: str
    shard: int


class SubjectFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Further results of the lookup: the highest offset, the accounts, and the versions in rows."""

    upto: int
    accounts: tuple[str, ...]
    feature_versions: tuple[str, ...]
    score_versions: tuple[str, ...]
    policies: dict[str, str]
    cited_policies: frozenset[str]
    chains: tuple[str, ...]


_ACCOUNTS: Final = f"""
    INSERT INTO subject_things SELECT 'account', account_id FROM ({FIRST_OWNERS.format(matching=WITHIN)})
    WHERE owner_id = ?"""
_OWN_ACCOUNT: Final = "account_id IN (SELECT id FROM subject_things WHERE type = 'account')"
_TRANSFERS: Final = {
    SubjectKind.ENTITY: f"entity_id = ? OR (entity_id IS NULL AND {_OWN_ACCOUNT})",
    SubjectKind.COUNTERPARTY: "counterparty_id = ?",
}
_SEEN: Final = {
    SubjectKind.ENTITY: f"""
        SELECT DISTINCT counterparty_id AS id FROM transfers
        WHERE {WITHIN} AND counterparty_id IS NOT NULL AND id IN (SELECT id FROM subject_transfers)""",
    SubjectKind.COUNTERPARTY: f"SELECT DISTINCT id FROM counterparties WHERE {WITHIN} AND id = ?",
}
_NAMED: Final = {
    SubjectKind.ENTITY: "['$.resolved.entityId', '$.transfer.entityId']",
    SubjectKind.COUNTERPARTY: "['$.resolved.counterpartyId', '$.transfer.counterpartyId']",
}
_PREFLIGHTS: Final = f"""
    CREATE TEMP TABLE subject_preflights AS SELECT DISTINCT id FROM preflights WHERE {WITHIN} AND (
        list_has_any(json_extract_string(body, {{named}}),
            (SELECT list(id) FROM subject_things WHERE type IN ('entity', 'counterparty', 'account')))
        OR id IN (SELECT preflight_id FROM preflight_matches
            WHERE {WITHIN} AND transfer_id IN (SELECT id FROM subject_transfers)))"""
# An alert on a counterparty refers to transfers of several entities: its evidence names them.
_ALERTS: Final = f"""
    CREATE TEMP TABLE subject_alerts AS SELECT DISTINCT id FROM alerts WHERE {WITHIN} AND (
        (subject_type, subject_id) IN (SELECT type, id FROM subject_things)
        OR transfer_id IN (SELECT id FROM subject_transfers)
        OR (subject_type = 'counterparty' AND list_has_any(json_extract_string(evidence, '$.actorIds[*]'),
            (SELECT list(id) FROM subject_things WHERE type IN ('entity', 'account')))))"""
_ACTIONS: Final = f"""
    CREATE TEMP TABLE subject_actions AS SELECT DISTINCT id FROM actions WHERE {WITHIN} AND (
        (target_type, target_id) IN (SELECT type, id FROM subject_things)
        OR alert_id IN (SELECT id FROM subject_alerts))"""
_LINKS: Final = f"""
    CREATE TEMP TABLE subject_links AS SELECT rowid AS place, chain FROM record_chain
    WHERE tenant_id = ? AND (json_extract_string(body, '$.kind') = 'log_loss' OR (
        program_id = ? AND "offset" <= ? AND (
            (chain = 'dispositions' AND json_extract_string(body, '$.alertId') IN (SELECT id FROM subject_alerts))
            OR (chain = 'actions' AND json_extract_string(body, '$.actionId') IN (SELECT id FROM subject_actions))
            OR (json_extract_string(body, '$.kind') = '{ALERT_NOTE}'
                AND json_extract_string(body, '$.alertId') IN (SELECT id FROM subject_alerts)))))"""
_CITATIONS: Final = """
    CREATE TEMP TABLE subject_citations AS
    WITH cited AS (SELECT body FROM record_chain WHERE rowid IN (SELECT place FROM subject_links))
    SELECT DISTINCT 'alert' AS of_what, json_extract_string(body, '$.alertSha256') AS digest FROM cited
    UNION SELECT 'policy', unnest(
        json_extract_string(body, ['$.policySha256', '$.bodySha256', '$.change.bodySha256'])) FROM cited"""
_DELIVERIES: Final = """
    CREATE TEMP TABLE subject_deliveries AS SELECT DISTINCT id FROM (
        SELECT id, json_extract_string(body,
            ['$.data.alertId', '$.data.actionId', '$.data.preflightId', '$.data.transferId']) AS named
        FROM webhook_deliveries WHERE tenant_id = ? AND program_id = ?
    ) WHERE named[1] IN (SELECT id FROM subject_alerts) OR named[2] IN (SELECT id FROM subject_actions)
        OR named[3] IN (SELECT id FROM subject_preflights) OR named[4] IN (SELECT id FROM subject_transfers)"""
_FEATURE_VERSIONS: Final = f"""
    SELECT list_sort(list(DISTINCT feature_version)), list_sort(list(DISTINCT score_version)) FROM transfer_features
    WHERE {WITHIN} AND transfer_id IN (SELECT id FROM subject_transfers)"""
_SCORE_VERSIONS: Final = f"""
    SELECT list_sort(list(DISTINCT version)) FROM scores
    WHERE {WITHIN} AND (subject_type, subject_id) IN (SELECT type, id FROM subject_things)"""
_POLICIES: Final = f"""
    SELECT split_part(version, '-', 1), arg_max(version, "offset") FROM policies WHERE {WITHIN} GROUP BY 1 ORDER BY 1"""
_CITED: Final = "SELECT digest FROM subject_citations WHERE of_what = 'policy' AND digest IS NOT NULL"
_CHAINS: Final = "SELECT DISTINCT chain FROM subject_links ORDER BY chain"
_ACCOUNT_IDS: Final = "SELECT id FROM subject_things WHERE type = 'account' ORDER BY id"


def look_up(cursor: duckdb.DuckDBPyConnection, subject: ExportSubject) -> SubjectFacts:
    """Fill the cursor's tables, in one transaction."""
    cursor.begin()
    try:
        facts = _look_up(cursor, subject)
    except BaseException:
        cursor.rollback()
        raise
    cursor.commit()
    return facts


def _look_up(cursor: duckdb.DuckDBPyConnection, subject: ExportSubject) -> SubjectFacts:
    ((upto,),) = cursor.execute(_UPTO, [subject.shard]).fetchall()
    place: list[object] = [subject.tenant_id, subject.program_id, upto]
    kind = subject.kind
    cursor.execute("CREATE TEMP TABLE subject_things (type VARCHAR, id VARCHAR)")
    types = ("entity", "agent") if kind is SubjectKind.ENTITY else ("counterparty",)
    for each in types:
        cursor.execute("INSERT INTO subject_things VALUES (?, ?)", [each, subject.id])
    if kind is SubjectKind.ENTITY:
        cursor.execute(_ACCOUNTS, [*place, subject.id])
    of_subject = f"SELECT DISTINCT id FROM transfers WHERE {WITHIN} AND ({_TRANSFERS[kind]})"
    cursor.execute(f"CREATE TEMP TABLE subject_transfers AS {of_subject}", [*place, subject.id])
    cursor.execute("INSERT INTO subject_things SELECT 'transfer', id FROM subject_transfers")
    own_id = [subject.id] if kind is SubjectKind.COUNTERPARTY else []
    cursor.execute(f"CREATE TEMP TABLE subject_counterparties AS {_SEEN[kind]}", [*place, *own_id])
    cursor.execute(_PREFLIGHTS.format(named=_NAMED[kind]), [*place, *place])
    cursor.execute(_ALERTS, place)
    cursor.execute(_ACTIONS, place)
    cursor.execute(_LINKS, place)
    cursor.execute(_CITATIONS)
    cursor.execute(_DELIVERIES, place[:2])
    return _facts(cursor, place, upto)


def _facts(cursor: duckdb.DuckDBPyConnection, place: Sequence[object], upto: int) -> SubjectFacts:
    ((features, scored),) = cursor.execute(_FEATURE_VERSIONS, place).fetchall()
    ((scores,),) = cursor.execute(_SCORE_VERSIONS, place).fetchall()
    return SubjectFacts(
        upto=upto,
        accounts=_texts(cursor, _ACCOUNT_IDS),
        feature_versions=tuple(features or ()),
        score_versions=tuple(sorted({*(scored or ()), *(scores or ())})),
        policies=dict(cursor.execute(_POLICIES, place).fetchall()),
        cited_policies=frozenset(_texts(cursor, _CITED)),
        chains=_texts(cursor, _CHAINS),
    )


def _texts(cursor: duckdb.DuckDBPyConnection, sql: str) -> tuple[str, ...]:
    return tuple(text for (text,) in cursor.execute(sql).fetchall())


ROWID: Final = "rowid"
"""The key of tables that only grow: a row keeps its place (decision 0056)."""

BANK_OBJECTS: Final = "bank_objects"
"""Not a table of the database: the bank's objects, from the log."""

_THINGS: Final = "(SELECT type, id FROM subject_things)"
_OF_TRANSFER: Final = "transfer_id IN (SELECT id FROM subject_transfers)"
_OF_ALERT: Final = "alert_id IN (SELECT id FROM subject_alerts)"
_WITH_ACTION: Final = """"offset" IN (SELECT "offset" FROM actions WHERE id IN (SELECT id FROM subject_actions))"""


class CoveredTable(NamedTuple):
    """``condition`` is of the rows within tenant, program and offset; without ``has_offset`` within the tenant alone.

    ``key`` is what rows are fetched by: their place, or a text in tables whose old rows are deleted.
    """

    name: str
    condition: str
    key: str = ROWID
    has_offset: bool = True

    @property
    def row_type(self) -> type[msgspec.Struct]:
        return _ROW_TYPES[self.name]


_ROW_TYPES: Final = dict(TABLES)
COVERED: Final = (
    CoveredTable("entities", "id IN (SELECT id FROM subject_things WHERE type = 'entity')"),
    CoveredTable("agents", "id IN (SELECT id FROM subject_things WHERE type = 'agent')"),
    CoveredTable(
        "accounts",
        "entity_id IN (SELECT id FROM subject_things WHERE type = 'entity') "
        "OR (entity_id IS NULL AND id IN (SELECT id FROM subject_things WHERE type = 'account'))",
    ),
    CoveredTable("directory", f"(kind, id) IN {_THINGS}"),
    CoveredTable("counterparties", "id IN (SELECT id FROM subject_counterparties)"),
    CoveredTable("bank_events", f"(subject_type, subject_id) IN {_THINGS}"),
    CoveredTable("transfers", "id IN (SELECT id FROM subject_transfers)"),
    CoveredTable("transfer_features", _OF_TRANSFER),
    CoveredTable("shadow_scores", _OF_TRANSFER),
    CoveredTable("rule_matches", _OF_TRANSFER),
    CoveredTable("labels", _OF_TRANSFER),
    CoveredTable("scores", f"(subject_type, subject_id) IN {_THINGS}"),
    CoveredTable("preflights", "id IN (SELECT id FROM subject_preflights)"),
    CoveredTable("preflight_matches", f"{_OF_TRANSFER} OR preflight_id IN (SELECT id FROM subject_preflights)"),
    CoveredTable("alerts", "id IN (SELECT id FROM subject_alerts)"),
    CoveredTable(
        "alert_bodies", f"{_OF_ALERT} OR sha256 IN (SELECT digest FROM subject_citations WHERE of_what = 'alert')"
    ),
    CoveredTable("alert_transfers", _OF_ALERT),
    CoveredTable("alert_notes", _OF_ALERT),
    CoveredTable("alert_assignments", _OF_ALERT),
    CoveredTable("dispositions", _OF_ALERT),
    CoveredTable("decision_results", f"{_OF_ALERT} OR {_OF_TRANSFER} OR {_WITH_ACTION}"),
    CoveredTable("actions", "id IN (SELECT id FROM subject_actions)"),
    CoveredTable("webhook_deliveries", "id IN (SELECT id FROM subject_deliveries)", key="id", has_offset=False),
    CoveredTable(
        "webhook_attempts",
        "delivery_id IN (SELECT id FROM subject_deliveries)",
        key="delivery_id",
        has_offset=False,
    ),
)
POLICIES: Final = "policies"
RECORD_CHECKPOINTS: Final = "record_checkpoints"
LINKS: Final = CoveredTable("record_chain", "rowid IN (SELECT place FROM subject_links)", has_offset=False)

ORDER: Final[Mapping[str, str]] = {
    "entities": "the person or business itself, each version",
    "agents": "what the scan index says of it, where it is an on-chain agent",
    "accounts": "its accounts, each version that names it as the owner or names none",
    "directory": "what the bank's API was asked about it and its accounts",
    "counterparties": "the other sides of its transfers, each version",
    "bank_events": "deliveries of the bank about it, its accounts and its transfers",
    BANK_OBJECTS: "the bank's objects of those deliveries and of its transfers, masked, by offset",
    "transfers": "its transfers, each version, by its accounts too where they name no entity",
    "transfer_features": "each scoring of its transfers: features, score and reasons",
    "shadow_scores": "what a card in shadow made of its transfers",
    "rule_matches": "matches of its transfers by rules that open no alert",
    "labels": "what its transfers turned out to be",
    "scores": "its own scores with reasons and inputs",
    "preflights": "recorded pre-flights about it, with the answers",
    "preflight_matches": "the transfers that landed for pre-flights",
    "alerts": "alerts on it, its accounts and its transfers, and on counterparties where they name it, each version",
    "alert_bodies": "those alerts in their original form, which decisions cite by digest",
    "alert_transfers": "the transfers that those alerts are about or rest on, by their number in the program",
    "alert_notes": "notes on those alerts",
    "alert_assignments": "the persons that those alerts were assigned to",
    "dispositions": "decisions on those alerts",
    "decision_results": "the results of requests on those alerts, transfers and actions",
    "actions": "actions on it and on those alerts, each version",
    "webhook_deliveries": "deliveries to the bank's endpoints about rows of this file; old ones are deleted",
    "webhook_attempts": "how those deliveries went",
    POLICIES: "the policies that links of this file cite by digest",
    RECORD_CHECKPOINTS: "the signed checkpoint over each chain that links of this file are proved to be in",
    "record_chain": "links of the record about it, and of lost parts of the log, each with its inclusion proof",
}
"""The tables in the order of the file, each with its rows there; within a table rows are in log order."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "programs": "the program's own settings; the manifest names the program",
    "kri_snapshots": "indicators of the whole program, which no single subject stands out of",
    "metrics_days": "totals of the whole program",
    "agent_imports": "progress of the service's own work",
    "backfills": "progress of the service's own work",
    "quarantine": "faults of the service, which name no subject; the event itself is in bank_events",
    "log_offsets": "the service's own bookkeeping; the manifest has the offset",
}
