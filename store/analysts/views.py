"""The views over the lake, of each table, of current rows, and of JSON contents as rows; and ``analyst.duckdb``.

A view of a table reads all its files and keeps the rows of the parts that count now. It looks these up in the list of
parts at the time of the query's transaction, so all views of a query see one state, before or after a merge.

File    ``analyst.duckdb`` has the views with a comment on each and on every column, the ready questions, and no rows.
        It is made once, and again when its statements change: after an update, or in a directory that was moved. It is
        never written to afterwards, so any number of processes may open it; DuckDB from 1.2 on reads its format
Errors  ``OSError`` and ``duckdb.Error``; the former file stays
"""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import duckdb

from clearhold.features.core.measured import Z_95
from clearhold.store.analysts.alert_questions import COMMENTS as OF_ALERTS
from clearhold.store.analysts.alert_questions import VIEWS as ALERT_VIEWS
from clearhold.store.analysts.control_rows import control_tables
from clearhold.store.analysts.meanings import FEATURE_MEANINGS, MEANINGS, meaning_of
from clearhold.store.analysts.parts import FILE, FOLDER, quoted
from clearhold.store.analysts.questions import QUESTIONS
from clearhold.store.analysts.tables import REASONS, LakeTable, lake_tables
from clearhold.store.duck.database import newest_of
from clearhold.store.durable_files import durable_name

# ruff: noqa: S608 - statements are built from names of tables and files


_PART: Final = (
    '{"table_name":"VARCHAR","day":"DATE","file":"VARCHAR","first_row":"BIGINT","end_row":"BIGINT","rows":"BIGINT",'
    '"bytes":"BIGINT","merges":"BIGINT","counts_from":"BIGINT","counts_until":"BIGINT"}'
)
_PARTS: Final = """
    SELECT part.table_name, part.day, '{path}/' || part.file AS file, part.first_row, part.end_row, part.rows,
        part.bytes, part.merges, make_timestamp(part.counts_from) AS counts_from,
        make_timestamp(part.counts_until) AS counts_until
    FROM (
        SELECT from_json(rtrim(line, ','), '{part}') AS part
        FROM (
            SELECT unnest(string_split(content, chr(10))) AS line FROM read_text('{lake}/{file}')
        ) WHERE starts_with(line, '{{"table_name":"{table}')
    )
    WHERE part.counts_from <= epoch_us(now()) AND (part.counts_until IS NULL OR epoch_us(now()) < part.counts_until)"""
_OF_TABLE: Final = """
    SELECT {names} FROM read_parquet('{lake}/{folder}/{table}/day=*/*.parquet',
        union_by_name=true, filename=true, hive_partitioning=true, hive_types={{'day': DATE}})
    WHERE (filename IN (SELECT file FROM ({parts}))) IS TRUE"""
# IS TRUE keeps DuckDB 1.5 from turning the newest row of each thing (row_number() = 1, as in the views below and in
# queries of analysts) into a join by position in the file, which loses rows over a plain IN. It has no other effect.
_CURRENT: Final = """
    SELECT * FROM {table} QUALIFY {newest}"""
_REASONS: Final = """
    SELECT {columns}, reason.id AS reason_id, reason.signal, reason.weight, reason.hard, reason.sentence,
        reason.detail, day
    FROM (SELECT {columns}, unnest(from_json(reasons, '{reason}')) AS reason, day FROM {table})"""
_KRI: Final = (
    '{"value":"DOUBLE","n":"BIGINT","unit":"VARCHAR","threshold":"DOUBLE","status":"VARCHAR","note":"VARCHAR"}'
)
_KRI_VALUES: Final = f"""
    SELECT tenant_id, program_id, snapshot_id, "offset", as_of_at, kri, measured.value, measured.n, measured.unit,
        measured.threshold, measured.status, measured.note, day
    FROM (
        SELECT *, from_json(kris -> kri, '{_KRI}') AS measured
        FROM (SELECT *, id AS snapshot_id, unnest(json_keys(kris)) AS kri FROM kri_snapshots)
    )"""
_STATUS: Final = """
    SELECT table_name, count(*) AS parts, CAST(sum(rows) AS BIGINT) AS rows, CAST(sum(bytes) AS BIGINT) AS bytes,
        (SELECT make_timestamp(CAST(content ->> '$.as_of' AS BIGINT)) FROM read_text('{lake}/{file}')) AS as_of
    FROM lake_parts GROUP BY table_name"""
_SCORINGS: Final = """
    SELECT tenant_id, program_id, transfer_id, shard, "offset", taken_at, scored_at, feature_version, score_version,
        score, band, n, confidence, hard, degraded, reasons, rescored, day
    FROM transfer_features"""

_LIMITS: Final = """
    SELECT tenant_id, program_id, version, in_force_at, cap,
        CAST(json_extract_string(body, '$.' || cap) AS BIGINT) AS value
    FROM (SELECT *, unnest(json_keys(body)) AS cap FROM policies WHERE starts_with(version, 'limits-'))"""

_COMMENTS: Final = {
    "lake_parts": "The files that count now; other Parquet readers can find them in parts.json.",
    "lake_status": "The size of each table, and up to when it is complete.",
    "events": "Deliveries of bank events, each with its result.",
    "transfer_versions": "Transfers, one row after each event that changed them; the highest offset is the newest.",
    "transfers": "Transfers, the newest version of each.",
    "transfer_features": "Every scoring of a transfer: the score, its reasons and the whole feature vector.",
    "transfer_scores": "Every scoring of a transfer without the vector; NOT rescored is the first of each.",
    "transfer_reasons": "One row a reason of every scoring of a transfer; their sentences are in transfer_scores.",
    "actor_score_versions": "Scores of entities, counterparties, agents and programs, written when they changed.",
    "actor_scores": "Scores of entities, counterparties, agents and programs, the newest of each.",
    "actor_reasons": "One row a reason of every score of an actor.",
    "shadow_scores": "Scores of transfers by the card in shadow, beside those of the card in force.",
    "entity_versions": "People and businesses on the programs' side, as each event left them.",
    "entities": "People and businesses on the programs' side, as they are.",
    "counterparty_versions": "The other sides of transfers, as each event left them.",
    "counterparties": "The other sides of transfers, as they are.",
    "account_versions": "Accounts of the programs, as each event left them.",
    "accounts": "Accounts of the programs, as they are.",
    "directory_fetches": "Fetches from the bank's directory, and when.",
    "program_versions": "Programs, as each change left them.",
    "programs": "Programs as they are.",
    "agent_versions": "On-chain agents, as each import left them.",
    "agents": "On-chain agents, as the scan index last described them.",
    "preflights": "Recorded pre-flights with their answer; of the request, the fields that were read.",
    "preflight_reasons": "One row a reason of every pre-flight.",
    "preflight_matches": "Pre-flights and the transfers that landed for them within 24 hours.",
    "alert_versions": "Alerts, as each change left them.",
    "alerts": "Alerts as they are, with their evidence.",
    "alert_notes": "Notes on alerts.",
    "alert_assignments": "Assignments of alerts to persons; the newest of an alert counts.",
    "dispositions": "Decisions on alerts.",
    "label_versions": "Labels of transfers, all that were ever set.",
    "labels": "Labels of transfers that count.",
    "action_versions": "Actions, as each step left them.",
    "actions": "Actions as they are.",
    "tenants": "The banks.",
    "policy_versions": "Every version of a policy as written, in force or not, including scorecards.",
    "scorecard_reports": "Reports of calibrations on scorecards.",
    "rules": "The rules of the bank as last written, whatever their status.",
    "rule_backtests": "Backtests of rules, the newest hundred of each.",
    "limits": "Caps of programs, one a row, as they came into force; the newest of a cap counts.",
    "policies": "Versions of policies that came into force: limits, rules, scorecards, clocks, ladders, thresholds.",
    "rule_matches": "The first match of each transfer by a rule that opens no alert.",
    "kri_snapshots": "Key risk indicators of programs, all of one instant in a row.",
    "kri_values": "Key risk indicators of programs, one a row.",
    "metrics_days": "Totals of programs by day, as known at the beginning of the next day.",
    **OF_ALERTS,
}


class View(NamedTuple):
    name: str
    select: str
    comment: str


def views_of(lake: Path) -> tuple[View, ...]:
    """All views, each after the views that it reads."""
    selects = [("lake_parts", _parts_of(lake, "")), ("lake_status", _STATUS.format(lake=_pattern(lake), file=FILE))]
    selects += ((table.name, _of_table(lake, table, day=", day")) for table in lake_tables())
    selects += ((table.name, _of_table(lake, table, day="")) for table in control_tables())
    selects += (
        (table.current, _CURRENT.format(table=table.name, newest=newest_of(table.source)))
        for table in lake_tables()
        if table.current is not None
    )
    selects += _taken_apart()
    return tuple(View(name, select, _COMMENTS.get(name, "")) for name, select in selects)


def _of_table(lake: Path, table: LakeTable, *, day: str) -> str:
    parts = _parts_of(lake, f'{table.name}"')
    names = table.names + day
    return _OF_TABLE.format(names=names, lake=_pattern(lake), folder=FOLDER, table=table.name, parts=parts)


def _parts_of(lake: Path, table: str) -> str:
    """The parts that count now, from lines whose first field begins with ``table``."""
    return _PARTS.format(path=quoted(lake), lake=_pattern(lake), file=FILE, part=_PART, table=table)


def _taken_apart() -> list[tuple[str, str]]:
    """Contents of JSON columns, as rows."""
    of_actor = 'tenant_id, program_id, id, subject_type, subject_id, "offset", scored_at, version, score, band'
    of_preflight = 'tenant_id, program_id, id, "offset", created_at, decision, score, band'
    return [
        ("transfer_scores", _SCORINGS),
        ("actor_reasons", _REASONS.format(reason=REASONS, columns=of_actor, table="actor_score_versions")),
        ("preflight_reasons", _REASONS.format(reason=REASONS, columns=of_preflight, table="preflights")),
        ("kri_values", _KRI_VALUES),
        ("limits", _LIMITS),
        *ALERT_VIEWS,
    ]


def _pattern(lake: Path) -> str:
    """The path for DuckDB's patterns, with special characters escaped."""
    return quoted("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(lake)))


_SQUARE: Final = Z_95 * Z_95
_MIDDLE: Final = f"(part / n + {_SQUARE / 2!r} / n)"
_HALF: Final = f"({Z_95!r} * sqrt((part / n * (1 - part / n) + {_SQUARE / 4!r} / n) / n))"
_WILSON: Final = (
    ("wilson_low", f"CASE WHEN n > 0 THEN if(part = 0, 0.0, ({_MIDDLE} - {_HALF}) / (1 + {_SQUARE!r} / n)) END"),
    ("wilson_high", f"CASE WHEN n > 0 THEN if(part = n, 1.0, ({_MIDDLE} + {_HALF}) / (1 + {_SQUARE!r} / n)) END"),
)
_OF_WILSON: Final = "A bound of Wilson's 95 % interval of the share that part is of n; null when n is 0."

# Only names that DuckDB 1.4 knows are used, and none of an extension.
STATEMENTS: Final[tuple[str, ...]] = (
    *(f"CREATE MACRO {name}(part, n) AS {body}" for name, body in _WILSON),
    *(f"COMMENT ON MACRO {name} IS '{quoted(_OF_WILSON)}'" for name, _ in _WILSON),
    *(
        statement
        for each in QUESTIONS
        for statement in (
            f"CREATE MACRO {each.name}({each.parameters}) AS TABLE {each.select}",
            f"COMMENT ON MACRO TABLE {each.name} IS '{quoted(each.comment)}'",
        )
    ),
)


ANALYST_FILE: Final = "analyst.duckdb"
STORAGE_VERSION: Final = "v1.2.0"
_READ_ONLY: Final = 0o440
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {"threads": 1, "autoload_known_extensions": False}
_COLUMNS: Final = (
    "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND database_name = 'analyst'"
)


def statements(lake: Path) -> Iterator[str]:
    """The statements that create the views and macros for a lake, in any database, without comments on columns."""
    for view in views_of(lake):
        yield f"CREATE VIEW {view.name} AS {view.select}"
        yield f"COMMENT ON VIEW {view.name} IS '{quoted(view.comment)}'"
    yield from STATEMENTS


def analyst_sha256(lake: Path) -> str:
    """The digest of everything that determines the file's contents."""
    meanings = (f"{name} {meaning}" for name, meaning in (*MEANINGS.items(), *FEATURE_MEANINGS.items()))
    return hashlib.sha256("\n".join((STORAGE_VERSION, *statements(lake), *meanings)).encode()).hexdigest()


def make_analyst_file(lake: Path, *, is_current: bool) -> bool:
    """Make the file unless it is current; returns whether it was made. The list of parts must exist."""
    path = lake / ANALYST_FILE
    if is_current and path.exists():
        return False
    with durable_name(path) as unfinished:
        unfinished.unlink(missing_ok=True)
        with closing(duckdb.connect(config=_CONFIG)) as connection:
            connection.execute(f"ATTACH '{quoted(unfinished)}' AS analyst (STORAGE_VERSION '{STORAGE_VERSION}')")
            connection.execute("USE analyst")
            connection.begin()  # one wait for the disk, not one a statement
            for statement in statements(lake):
                connection.execute(statement)
            for view, column in connection.execute(_COLUMNS).fetchall():
                meaning = meaning_of(view, column)
                if meaning is not None:
                    connection.execute(f"COMMENT ON COLUMN {view}.\"{column}\" IS '{quoted(meaning)}'")
            connection.commit()
            connection.execute("USE memory")
            connection.execute("DETACH analyst")
        unfinished.chmod(_READ_ONLY)
    return True
