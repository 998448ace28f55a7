"""The tables of the lake for analysts, and their columns: those of the database, under names for people.

A versioned thing has a row for each version: the table of versions is named after it, as ``transfer_versions``, and the
view of the current rows has the plain name. Each omitted table has its reason beside it.

A part is a Parquet file of a table. polars reads several in their order and streams them into one. It is loaded by the
first merge, on the thread that merges: a start does not wait for it, and the thread that it computes on inherits the
priority. It computes on one, since the cores are for scoring.

Errors  ``OSError`` from a merge, after which nothing is left of the file; ``InterruptedError`` after ``interrupt``
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import IO, Any, Final, NamedTuple, cast
from zlib import crc32

import duckdb
import msgspec
import pyarrow.parquet as pq

from clearhold.features.bank.masking import NUMBER_IN_TEXT
from clearhold.store.analysts.parts import quoted
from clearhold.store.duck.database import TABLES
from clearhold.store.durable_files import durable_file, durable_name
from clearhold.store.redis_log.reader import SEQ_BITS
from clearhold.store.tables import columns_of

# ruff: noqa: S608 - statements are built from names of tables


LEFT_OUT: Final[Mapping[str, str]] = {
    "alert_bodies": "what dispositions are proved with; the alert itself is there",
    "alert_transfers": "by which alerts and transfers find each other; an alert's evidence names its transfers",
    "decision_results": "answers to requests; their effects are there",
    "agent_imports": "progress of the service's own work",
    "backfills": "progress of the service's own work",
    "quarantine": "quotes entries that could not be read",
    "webhook_deliveries": "old ones are deleted, and their bodies are other rows again",
    "webhook_attempts": "as the deliveries",
    "record_chain": "the record has its own exports, with proofs",
    "record_checkpoints": "as the chain",
    "log_offsets": "the service's own bookkeeping, which is deleted",
}
_NAMES: Final[Mapping[str, tuple[str, str | None]]] = {
    "bank_events": ("events", None),
    "transfers": ("transfer_versions", "transfers"),
    "scores": ("actor_score_versions", "actor_scores"),
    "entities": ("entity_versions", "entities"),
    "counterparties": ("counterparty_versions", "counterparties"),
    "accounts": ("account_versions", "accounts"),
    "directory": ("directory_fetches", None),
    "programs": ("program_versions", "programs"),
    "agents": ("agent_versions", "agents"),
    "alerts": ("alert_versions", "alerts"),
    "labels": ("label_versions", "labels"),
    "actions": ("action_versions", "actions"),
}
"""The name, and that of the view of current rows, of a table that has another name in the database."""

DAY: Final = f'CAST(make_timestamp(("offset" >> {SEQ_BITS}) * 1000) AS DATE)'
"""The UTC day on which the log took the row's entry in."""


class LakeColumn(NamedTuple):
    """A column of a part: ``expression`` computes it from a row of the database, masked."""

    name: str
    sql_type: str
    nullable: bool
    expression: str
    is_masked: bool = False

    @property
    def definition(self) -> str:
        """What parts must agree on; a masked column is copied again when the masking changes."""
        masked = f" masked {crc32(self.expression.encode()):08x}" if self.is_masked else ""
        return f"{self.name}{masked} {self.sql_type}{'' if self.nullable else ' NOT NULL'}"


class LakeTable(NamedTuple):
    """``name`` is that of the folder and of its view; ``current`` the view of newest versions.

    ``reasons``: each row of the database becomes one row for each reason, and columns may use it.
    """

    name: str
    source: str
    row_type: type[msgspec.Struct]
    columns: tuple[LakeColumn, ...]
    current: str | None = None
    reasons: bool = False

    def select(self, condition: str, *, database: str = "") -> str:
        """The statement for a part: the rows of the database that meet a condition."""
        columns = ", ".join(f'{column.expression} AS "{column.name}"' for column in self.columns)
        source = f"{database}{self.source}"
        if self.reasons:
            reasons = f"unnest(from_json(reasons, '{REASONS}')) AS reason"
            return f"SELECT {columns} FROM (SELECT *, {reasons} FROM {source} WHERE {condition})"
        return f"SELECT {columns} FROM {source} WHERE {condition}"

    @property
    def definitions(self) -> tuple[str, ...]:
        return tuple(column.definition for column in self.columns)

    @property
    def names(self) -> str:
        return ", ".join(f'"{column.name}"' for column in self.columns)


REASONS: Final = (
    '[{"id":"VARCHAR","signal":"VARCHAR","weight":"BIGINT","hard":"BOOLEAN","sentence":"VARCHAR","detail":"VARCHAR"}]'
)
# Analysts count reasons of transfers most, and parsing JSON for each count is slow.
_OF_TRANSFER: Final = (
    *("tenant_id", "program_id", "transfer_id", "shard", "offset", "taken_at"),
    *("feature_version", "score_version", "score", "band", "rescored"),
)
_OF_REASON: Final = (
    LakeColumn("reason_id", "VARCHAR", nullable=False, expression="reason.id"),
    LakeColumn("signal", "VARCHAR", nullable=False, expression="reason.signal"),
    LakeColumn("weight", "BIGINT", nullable=False, expression="reason.weight"),
    LakeColumn("hard", "BOOLEAN", nullable=False, expression="reason.hard"),
)

# A pre-flight's request is left out: it has text and numbers as the caller wrote them.
_OF_PREFLIGHT: Final = (
    ("score_version", "VARCHAR", "body ->> '$.answer.version'"),
    ("n", "BIGINT", "CAST(body ->> '$.answer.n' AS BIGINT)"),
    ("confidence", "DOUBLE", "CAST(body ->> '$.answer.confidence' AS DOUBLE)"),
    ("reasons", "VARCHAR", "body ->> '$.answer.reasons'"),
    ("limits_hit", "VARCHAR", "body ->> '$.answer.limitsHit'"),
    ("degraded_reasons", "VARCHAR", "body ->> '$.answer.degradedReasons'"),
    ("rail", "VARCHAR", "body ->> '$.transfer.rail'"),
    ("direction", "VARCHAR", "body ->> '$.transfer.direction'"),
    ("amount_cents", "BIGINT", "TRY_CAST(body ->> '$.transfer.amountCents' AS BIGINT)"),
    ("currency", "VARCHAR", "coalesce(body ->> '$.transfer.currency', 'USD')"),  # left out where it is
    ("entity_id", "VARCHAR", "body ->> '$.resolved.entityId'"),
    ("counterparty_id", "VARCHAR", "body ->> '$.resolved.counterpartyId'"),
    ("counterparty_country", "VARCHAR", "body ->> '$.resolved.counterpartyCountry'"),
)
_IN_PLACE_OF: Final[Mapping[tuple[str, str], tuple[tuple[str, str, str], ...]]] = {
    ("preflights", "body"): _OF_PREFLIGHT,
    ("preflights", "idempotency_key"): (),
}
_FREE_TEXTS: Final = {
    "entities": ("name", "review_reasons", "expected_payment_rails", "legal_type"),
    "counterparties": ("name",),
    "agents": ("name",),
    "alert_notes": ("note", "written_by"),
    "alert_assignments": ("assignee", "assignee_key", "assigned_by"),
    "dispositions": ("narrative", "decided_by"),
    "labels": ("reason", "recorded_by"),
    "actions": ("requested_by", "approved_by", "ended_by", "note", "error"),
    "accounts": ("owner_told_by",),
}
WRITTEN_FREELY: Final = frozenset((table, column) for table, columns in _FREE_TEXTS.items() for column in columns)
"""Columns that may contain a whole account number, typed by a person. The last four digits of a number are kept, as in
``raw``; the record keeps the original text, because its digests are of that."""

JSON_WRITTEN_FREELY: Final = frozenset(
    {
        ("actions", "change"),
        ("actions", "bank_response"),
        ("alerts", "evidence"),
        ("policies", "body"),
        ("programs", "body"),
    }
)
"""JSON columns that may contain one under ``_TEXT_KEYS``: the text is then left out whole."""

_TEXT_KEYS: Final = (
    *("note", "name", "reason", "source", "narrative", "text", "description", "by", "requestedBy", "approvedBy"),
    *("decidedBy", "recordedBy", "requested_by", "approved_by", "decided_by", "operator", "message", "error", "detail"),
)
_GROUPS: Final = "".join(f"\\{number}" for number in range(1, re.compile(NUMBER_IN_TEXT).groups + 1))
_TEXT_WITH_NUMBER: Final = rf'("(?:{"|".join(_TEXT_KEYS)})":")(?:[^"\\]|\\.)*?(?:{NUMBER_IN_TEXT})(?:[^"\\]|\\.)*"'
_ROUTING: Final = "[0-9]{9}|[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?"


@cache
def lake_tables() -> tuple[LakeTable, ...]:
    tables = []
    for source, row_type in TABLES:
        if source not in LEFT_OUT:
            name, current = _NAMES.get(source, (source, None))
            tables.append(LakeTable(name, source, row_type, tuple(_columns(source, row_type)), current))
    scored = next(table for table in tables if table.name == "transfer_features")
    columns = (*(column for column in scored.columns if column.name in _OF_TRANSFER), *_OF_REASON)
    return (*tables, LakeTable("transfer_reasons", scored.source, scored.row_type, columns, reasons=True))


def _columns(source: str, row_type: type[msgspec.Struct]) -> list[LakeColumn]:
    columns: list[LakeColumn] = []
    for each in columns_of(row_type):
        taken_apart = _IN_PLACE_OF.get((source, each.name))
        if taken_apart is None:
            expression = _expression(source, each.name)
            is_masked = expression != f'"{each.name}"'
            columns.append(LakeColumn(each.name, each.sql_type, each.nullable, expression, is_masked=is_masked))
        else:
            columns += (
                LakeColumn(name, kind, nullable=True, expression=expression) for name, kind, expression in taken_apart
            )
    return columns


def _expression(source: str, name: str) -> str:
    """The column as copied, with account numbers masked."""
    masked = f"""regexp_replace("{name}", '{NUMBER_IN_TEXT}', '****{_GROUPS}', 'g')"""
    if (source, name) == ("counterparties", "routing_number"):
        return f"""CASE WHEN regexp_full_match("{name}", '{_ROUTING}') THEN "{name}" ELSE {masked} END"""
    if (source, name) in JSON_WRITTEN_FREELY:
        return f"""regexp_replace("{name}", '{_TEXT_WITH_NUMBER}', '\\1****"', 'g')"""
    return masked if (source, name) in WRITTEN_FREELY else f'"{name}"'


ROWS_PER_GROUP: Final = 50_000
_AT_ONCE: Final = 1 << 20
_COPY: Final = """
    COPY ({select}) TO '{path}'
    (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group}, USE_TMP_FILE false)
"""


def write_part(cursor: duckdb.DuckDBPyConnection, select: str, path: Path) -> int:
    """Write the rows of a SELECT in its order; returns their number."""
    with durable_name(path) as unfinished:
        statement = _COPY.format(select=select, path=quoted(unfinished), group=ROWS_PER_GROUP)
        (rows,) = cursor.execute(statement).fetchall()[0]
    return int(rows)


def checksum(path: Path) -> int:
    """The CRC-32 of a whole file."""
    total = 0
    with path.open("rb") as file:
        while piece := file.read(_AT_ONCE):
            total = crc32(piece, total)
    return total


class PartMerger:
    """One thread's, but for ``interrupt``."""

    def __init__(self) -> None:
        self._interrupted = Event()

    def merge(self, parts: Sequence[Path], columns: Sequence[LakeColumn], path: Path) -> int:
        """Write one file with these columns, null where a part of an older service lacks one; returns its rows."""
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        polars: Any = import_module("polars")
        types = {
            "BIGINT": polars.Int64,
            "BOOLEAN": polars.Boolean,
            "DOUBLE": polars.Float64,
            "TIMESTAMP": polars.Datetime("us"),
            "VARCHAR": polars.String,
        }
        with durable_file(path) as file:
            try:
                polars.scan_parquet(
                    parts,
                    schema={column.name: types[column.sql_type] for column in columns},
                    missing_columns="insert",
                    extra_columns="ignore",
                    hive_partitioning=False,
                ).sink_parquet(cast("IO[bytes]", _Sink(file, self._interrupted)), row_group_size=ROWS_PER_GROUP)
            except polars.exceptions.PolarsError as error:
                if self._interrupted.is_set():
                    raise InterruptedError(f"Merging into {path} was interrupted.") from error
                raise OSError(f"Parts cannot be merged into {path}: {error}") from error
        return int(pq.read_metadata(path).num_rows)

    def interrupt(self) -> None:
        """From another thread: a merge ends with an error at its next write, and so does every later one."""
        self._interrupted.set()


class _Sink:
    """What polars writes to. An error here is the only way to end a query of polars that has begun."""

    def __init__(self, file: IO[bytes], interrupted: Event) -> None:
        self._file, self._interrupted = file, interrupted
        self.flush = file.flush

    def write(self, data: bytes) -> int:
        if self._interrupted.is_set():
            raise InterruptedError
        return self._file.write(data)
