"""The one DuckDB file: its schema, opening it, folding its write-ahead log into it, and its one writer.

Tables are one a row type, append-only, with ``<table>_latest`` views in which the newest version wins. No primary keys,
no indexes: both make every append slower the longer the history is. The newest row has the highest ``offset``, which
grows within a program because a program lives in one shard.

The writer commits the rows of a batch and the shards' log offsets in one transaction. A row goes into the table of its
type (``TABLES``). Facts for the record (``ChainFactRow``) have no table: the chain writer turns them into links, which
are committed in the same transaction and appended to the chains' files after.

Unit    sizes in bytes
Errors  ``StartupError`` when the file is no database, or another process has it open. Of a commit, whatever DuckDB
        raises, after a rollback: either all rows of a batch are stored with its offsets, or no row
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.log_entry import FORGED, ChainFactRow
from clearhold.features.core.rows.alerts import (
    ActionRow,
    AlertAssignmentRow,
    AlertBodyRow,
    AlertNoteRow,
    AlertRow,
    AlertTransferRow,
    BackfillRow,
    DispositionRow,
    EntryResultRow,
    LabelRow,
    PolicyRow,
    RuleMatchRow,
)
from clearhold.features.core.rows.events import (
    EventRow,
    PreflightMatchRow,
    PreflightRow,
    QuarantineRow,
    TransferRow,
    WebhookAttemptRow,
    WebhookDeliveryRow,
)
from clearhold.features.core.rows.parties import (
    AccountRow,
    AgentImportRow,
    AgentRow,
    CounterpartyRow,
    DirectoryRow,
    EntityRow,
    KriSnapshotRow,
    MetricsDayRow,
    ProgramRow,
    ScoreRow,
    ShadowScoreRow,
)
from clearhold.features.live.entries import LiveEntryRow
from clearhold.store.errors import StartupError
from clearhold.store.record.chain import ChainWriter
from clearhold.store.record.chain_file import RecordChainRow, RecordCheckpointRow
from clearhold.store.tables import RowTables, columns_of, row_tables, rows_in


class LogOffsetRow(msgspec.Struct, frozen=True, gc=False):
    """A shard's applied offset when a transaction committed, and the epoch of the owner that applied it; the highest of
    each counts.
    """

    shard: int
    offset: int
    epoch: int
    committed_at: int


TABLES: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (
    ("bank_events", EventRow),
    ("transfers", TransferRow),
    ("transfer_features", TransferFeaturesRow),
    ("scores", ScoreRow),
    ("shadow_scores", ShadowScoreRow),
    ("entities", EntityRow),
    ("counterparties", CounterpartyRow),
    ("accounts", AccountRow),
    ("directory", DirectoryRow),
    ("programs", ProgramRow),
    ("agents", AgentRow),
    ("agent_imports", AgentImportRow),
    ("preflights", PreflightRow),
    ("preflight_matches", PreflightMatchRow),
    ("alerts", AlertRow),
    ("alert_bodies", AlertBodyRow),
    ("alert_transfers", AlertTransferRow),
    ("alert_notes", AlertNoteRow),
    ("alert_assignments", AlertAssignmentRow),
    ("dispositions", DispositionRow),
    ("decision_results", EntryResultRow),
    ("labels", LabelRow),
    ("actions", ActionRow),
    ("policies", PolicyRow),
    ("rule_matches", RuleMatchRow),
    ("kri_snapshots", KriSnapshotRow),
    ("metrics_days", MetricsDayRow),
    ("backfills", BackfillRow),
    ("quarantine", QuarantineRow),
    ("webhook_deliveries", WebhookDeliveryRow),
    ("webhook_attempts", WebhookAttemptRow),
    ("record_chain", RecordChainRow),
    ("record_checkpoints", RecordCheckpointRow),
    ("log_offsets", LogOffsetRow),
)

# Rows with equal values here are versions of one thing.
VERSIONED: Final = {
    "transfers": "tenant_id, program_id, id",
    "scores": "tenant_id, program_id, subject_type, subject_id",
    "entities": "tenant_id, program_id, id",
    "counterparties": "tenant_id, program_id, id",
    "accounts": "tenant_id, program_id, id",
    "directory": "tenant_id, program_id, kind, id",
    "programs": "tenant_id, id",
    "agents": "tenant_id, program_id, id",
    "agent_imports": "tenant_id, program_id, id",
    "alerts": "tenant_id, program_id, id",
    "decision_results": "tenant_id, program_id, id",
    "labels": "tenant_id, program_id, transfer_id",
    "actions": "tenant_id, program_id, id",
}


LABEL_ORDER: Final = """("offset", source = 'dispute')"""
"""The order of a transfer's labels, of which the last one counts. If one entry reports a return and decides a dispute,
the label of the dispute comes last.
"""


def newest_of(table: str) -> str:
    """The condition, after QUALIFY, for the newest version of each thing in one of the ``VERSIONED`` tables."""
    order = LABEL_ORDER if table == "labels" else '"offset"'
    return f"row_number() OVER (PARTITION BY {VERSIONED[table]} ORDER BY {order} DESC) = 1"


@cache
def ddl() -> tuple[str, ...]:
    """Every statement of the schema; each may run again on an existing file."""
    tables = tuple(_table(name, row_type) for name, row_type in TABLES)
    return (*tables, *map(_latest, VERSIONED))


def _table(name: str, row_type: type[msgspec.Struct]) -> str:
    return f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(column.definition for column in columns_of(row_type))})"


def _latest(name: str) -> str:
    return f"CREATE OR REPLACE VIEW {name}_latest AS SELECT * FROM {name} QUALIFY {newest_of(name)}"  # noqa: S608 - names above


# A fold inside a commit stops the writer meanwhile (half a second was seen); one from another thread lets commits go
# on. So the commit's own threshold is far above the one of ``fold_wal``.
FOLD_WAL_OVER_BYTES: Final = 64 << 20
FOLD_IN_COMMIT_OVER: Final = "512MB"
THREADS: Final = 1  # A query that takes a second core takes it from the flow and from pre-flights.
MEMORY_LIMIT: Final = "2GB"

# Each transaction adds a row for each shard; only the newest of each shard counts.
_KEEP_NEWEST_OFFSETS: Final = """
    DELETE FROM log_offsets WHERE rowid NOT IN (SELECT arg_max(rowid, "offset") FROM log_offsets GROUP BY shard)
"""

_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "threads": THREADS,
    "memory_limit": MEMORY_LIMIT,
    "wal_autocheckpoint": FOLD_IN_COMMIT_OVER,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_PRESENT_COLUMNS: Final = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
# The value of a new column in existing rows, where it cannot be null.
_NOTHING: Final = {"BIGINT": "0", "DOUBLE": "0", "VARCHAR": "''", "BOOLEAN": "false", "TIMESTAMP": "make_timestamp(0)"}
_PATH: Final = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    """Open or create the file. All DDL happens here; the caller closes the connection."""
    is_new = not path.exists()
    try:
        connection = duckdb.connect(path, config=_CONFIG)
    except duckdb.Error as error:
        cure = "" if "lock" in str(error) else " If it is damaged, clearhold rebuild makes it again from the log."
        raise StartupError(f"{path} cannot be opened: {error}{cure}") from error
    _make_schema(connection)
    if not is_new and _add_columns(connection):
        _make_schema(connection)  # views name their columns when they are created
        connection.execute("CHECKPOINT")  # DuckDB cannot replay such a change of a table from its log
    connection.execute(_KEEP_NEWEST_OFFSETS)
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # a stop is quick; the next start reads the log back
    return connection


def _make_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """All statements in one transaction, which waits for the disk once."""
    connection.execute(";".join(("BEGIN", *ddl(), "COMMIT")))


def open_to_read(path: Path) -> duckdb.DuckDBPyConnection:
    """Open the file of a stopped service read-only. The caller closes the connection."""
    if not path.is_file():
        raise StartupError(f"There is no database at {path}.")
    try:
        return duckdb.connect(path, read_only=True)
    except duckdb.IOException as error:
        if "lock" in str(error):
            raise StartupError(f"{path} is in use: a service has it open.") from error
        raise StartupError(f"{path} is no database that can be read.") from error
    except duckdb.Error as error:
        raise StartupError(f"{path} cannot be opened: {error}") from error


def _add_columns(connection: duckdb.DuckDBPyConnection) -> int:
    """Add the columns that tables of an earlier version lack; returns their number."""
    present = set(connection.execute(_PRESENT_COLUMNS).fetchall())
    missing = [
        (name, column) for name, kind in TABLES for column in columns_of(kind) if (name, column.name) not in present
    ]
    for name, column in missing:
        nothing = "NULL" if column.nullable else _NOTHING[column.sql_type]
        connection.execute(f'ALTER TABLE {name} ADD COLUMN "{column.name}" {column.sql_type} DEFAULT {nothing}')
    return len(missing)


def fold_wal(connection: duckdb.DuckDBPyConnection, *, over_bytes: int = FOLD_WAL_OVER_BYTES) -> bool:
    """Fold the write-ahead log into the file if it has outgrown ``over_bytes``; call it from a thread that may wait."""
    with connection.cursor() as cursor:
        (path,) = cursor.execute(_PATH).fetchall()[0]
        wal = Path(f"{path}.wal")
        if not wal.exists() or wal.stat().st_size <= over_bytes:
            return False
        cursor.execute("CHECKPOINT")
        return True


_INSERTS: Final[Mapping[str, str]] = {
    row_type.__name__: f"INSERT INTO {name} BY NAME SELECT * FROM arrow_rows"  # noqa: S608 - table names are the schema's own
    for name, row_type in TABLES
}
_COMMITTED: Final = 'SELECT shard, max("offset") FROM log_offsets GROUP BY shard ORDER BY shard'
_EPOCHS: Final = "SELECT shard, max(epoch) FROM log_offsets GROUP BY shard ORDER BY shard"
_FORGED: Final = "SELECT count(*) FROM quarantine WHERE error = ?"
NO_EPOCHS: Final[Mapping[int, int]] = {}
_NOT_STORED: Final = frozenset({ChainFactRow.__name__, LiveEntryRow.__name__})
"""Rows for others than the tables."""


class BatchWriter:
    """Owns one cursor and is used from one thread. When ``commit`` returns, the batch survives a power cut."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        chains: ChainWriter | None = None,
        *,
        require_owner: Callable[[], None] = lambda: None,
    ) -> None:
        """Without ``chains``, batches with facts are refused. ``require_owner`` raises when none is allowed."""
        self._require_owner = require_owner
        self._cursor = connection.cursor()
        self._chains = chains
        self._in_doubt = False

    def commit(
        self,
        rows: RowTables,
        offsets: Mapping[int, int],
        committed_at: int,
        *,
        epochs: Mapping[int, int] = NO_EPOCHS,
    ) -> None:
        """Append rows by their type and, for each shard, the offset of the last entry applied and its owner's epoch.

        A failed batch may be passed again: if it was committed after all, it is not written twice.
        """
        if self._in_doubt and self._was_committed(offsets):
            return
        links = self._links_of(rows)
        marks = [
            LogOffsetRow(shard=shard, offset=offset, epoch=epochs.get(shard, 0), committed_at=committed_at)
            for shard, offset in offsets.items()
        ]
        own = row_tables({LogOffsetRow: marks, RecordChainRow: links})
        # Statements are looked up before the transaction opens, so that a row of an unknown type costs nothing.
        tables = [(_INSERTS[name], table) for name, table in (*rows.items(), *own.items()) if name not in _NOT_STORED]
        self._cursor.begin()
        try:
            for insert, table in tables:
                self._append(insert, table)
            self._require_owner()  # as late as possible: the process may have been stopped meanwhile
        except BaseException:
            self._cursor.rollback()
            raise
        self._in_doubt = True  # a failure from here on, as in folding the write-ahead log, may come after the fsync
        self._cursor.commit()
        if links and self._chains is not None:
            self._chains.settle(links)
        self._in_doubt = False

    def _links_of(self, rows: RowTables) -> list[RecordChainRow]:
        facts = rows.get(ChainFactRow.__name__)
        if facts is None:
            return []
        if self._chains is None:
            raise ValueError("This writer has no chains to link facts to.")
        return self._chains.rows_of([*rows_in(ChainFactRow, facts)])

    def _was_committed(self, offsets: Mapping[int, int]) -> bool:
        """Whether the last failed batch is in the tables after all; if so, the chains' files are completed."""
        committed = committed_offsets(self._cursor)
        was_committed = bool(offsets) and all(committed.get(shard, 0) >= offset for shard, offset in offsets.items())
        if was_committed and self._chains is not None:
            self._chains.open()
        self._in_doubt = not was_committed
        return was_committed

    def _append(self, insert: str, arrow_rows: pa.Table) -> None:  # noqa: ARG002 - see below
        """The statement reads ``arrow_rows`` by name from this frame: 1.5 ms a table less than registering a view."""
        self._cursor.execute(insert)


def committed_offsets(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The last committed log offset of each shard; a shard without commits is absent."""
    return dict(connection.cursor().execute(_COMMITTED).fetchall())


def forged_entries(connection: duckdb.DuckDBPyConnection) -> int:
    """The number of committed entries that Clearhold did not write, and did not apply."""
    ((count,),) = connection.cursor().execute(_FORGED, [FORGED]).fetchall()
    return int(count)


def committed_epochs(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The newest epoch with a commit of each shard; 0 for the first owner."""
    return dict(connection.cursor().execute(_EPOCHS).fetchall())
