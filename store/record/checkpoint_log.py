"""The signed checkpoints of all chains: in a table for reading, and in a file a tenant for rebuilding the table.

They are written to the file first. At the start each of the two gets the checkpoints that only the other has.

Errors  ``OSError`` when the disk refuses; ``StartupError`` for a line that is no checkpoint
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import duckdb
import msgspec

from clearhold.store.errors import StartupError
from clearhold.store.record.chain_file import append_durably, cut_torn_line
from clearhold.store.record.rows import RecordCheckpointRow
from clearhold.store.tables.columns import row_builder, select_list

FILE: Final = "checkpoints.ndjson"

_ROW: Final = row_builder(RecordCheckpointRow)
# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_ALL: Final = f"SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints ORDER BY created_at, tenant_id, chain"
_INSERT: Final = "INSERT INTO record_checkpoints VALUES (?, ?, ?, ?, ?, make_timestamp(?))"
_LATEST: Final = f"""
    SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints
    WHERE tenant_id = ? AND chain = ? ORDER BY size DESC, created_at DESC LIMIT 1
"""
_OF_SIZE: Final = f"""
    SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints
    WHERE tenant_id = ? AND chain = ? AND size = ? ORDER BY created_at DESC LIMIT 1
"""
_PAGE: Final = f"""
    SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints
    WHERE tenant_id = ? AND (? IS NULL OR chain = ?)
      AND (? IS NULL OR (created_at, chain, size) < (make_timestamp(?), ?, ?))
    ORDER BY created_at DESC, chain DESC, size DESC LIMIT ?
"""

CheckpointPlace = tuple[int, str, int]
"""Where a page ended: created_at, chain and size of its last checkpoint."""


class CheckpointLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    chain: str
    created_at_us: int
    note: str
    root: str
    size: int


class CheckpointLog:
    """Appends and reads. The caller opens and closes the connection, and appends from one thread at a time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection, self._folder = connection, folder
        self._newest: dict[str, int] = {}

    @property
    def newest(self) -> Mapping[str, int]:
        """The time of the newest checkpoint of any tenant, by chain; a chain without one is absent."""
        return self._newest

    def open(self) -> None:
        """Give the table and the files the same checkpoints."""
        with self._connection.cursor() as cursor:
            in_table = set(map(_ROW, cursor.execute(_ALL).fetchall()))
            in_files = set(_rows_in_files(self._folder))
            for row in sorted(in_files - in_table, key=_created_at):
                _insert(cursor, row)
            for row in sorted(in_table - in_files, key=_created_at):
                self._append_line(row)
            for row in in_table | in_files:
                self._note(row)

    def append(self, row: RecordCheckpointRow) -> None:
        self._append_line(row)
        with self._connection.cursor() as cursor:
            _insert(cursor, row)
        self._note(row)

    def latest(self, tenant_id: str, chain: str) -> RecordCheckpointRow | None:
        """The one over the most links."""
        return self._one(_LATEST, tenant_id, chain)

    def of_size(self, tenant_id: str, chain: str, size: int) -> RecordCheckpointRow | None:
        return self._one(_OF_SIZE, tenant_id, chain, size)

    def page(
        self, tenant_id: str, chain: str | None, after: CheckpointPlace | None, limit: int
    ) -> list[RecordCheckpointRow]:
        """Newest first, after ``after``; ``chain`` None is all of the tenant's."""
        at, of_chain, size = after or (None, None, None)
        with self._connection.cursor() as cursor:
            result = cursor.execute(_PAGE, [tenant_id, chain, chain, at, at, of_chain, size, limit]).fetchall()
        return list(map(_ROW, result))

    def _one(self, sql: str, *values: object) -> RecordCheckpointRow | None:
        with self._connection.cursor() as cursor:
            result = cursor.execute(sql, values).fetchone()
        return None if result is None else _ROW(result)

    def _note(self, row: RecordCheckpointRow) -> None:
        self._newest[row.chain] = max(row.created_at, self._newest.get(row.chain, 0))

    def _append_line(self, row: RecordCheckpointRow) -> None:
        line = CheckpointLine(
            chain=row.chain, created_at_us=row.created_at, note=row.note, root=row.root, size=row.size
        )
        append_durably(_path(self._folder, row.tenant_id), msgspec.json.encode(line) + b"\n")


def _path(folder: Path, tenant_id: str) -> Path:
    return folder / quote(tenant_id, safe="") / FILE


def _rows_in_files(folder: Path) -> Iterator[RecordCheckpointRow]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        tenant_id = unquote(path.parent.name)
        cut_torn_line(path)
        try:
            for line in msgspec.json.Decoder(CheckpointLine).decode_lines(path.read_bytes()):
                yield RecordCheckpointRow(tenant_id, line.chain, line.size, line.root, line.note, line.created_at_us)
        except msgspec.MsgspecError as error:
            raise StartupError(f"{path} is damaged: {error}.") from error


def _insert(cursor: duckdb.DuckDBPyConnection, row: RecordCheckpointRow) -> None:
    cursor.execute(_INSERT, msgspec.structs.astuple(row))


def _created_at(row: RecordCheckpointRow) -> int:
    return row.created_at
