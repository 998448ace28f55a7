"""Writes the lake for analysts: copies committed rows out of the database into parts, and merges parts.

Tables only grow, and a row keeps its place in them, so the copied share is a number of rows. A round counts the rows of
all tables at one moment, copies the missing ones, and then replaces the list of parts: one list is one state of the
database, over all tables. Commits of the database do no extra work and wait for no round. Parts of days past their
retention end, and their rows are left out.

Crash   unlisted files, unfinished or replaced, are removed at the next start. A table with a listed file that is
        missing or has another length is copied again then
Clock   when it has stepped back, everything listed counts a moment after the next round
Errors  ``OSError`` and ``duckdb.Error``, after which list and readers are unchanged; the next round tries again
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
from msgspec.structs import replace

from clearhold.features.core.instants import HOUR_US, SECOND_US, datetime_of
from clearhold.store.analysts.control_rows import ControlRows, control_tables
from clearhold.store.analysts.parts import (
    FOLDER,
    MOST_ROWS,
    Copied,
    Days,
    EndingDays,
    Part,
    PartList,
    due_for_merging,
    ended_before,
    ended_too_soon,
    in_order,
    read_parts,
    without_ended_days,
    write_parts,
)
from clearhold.store.analysts.tables import DAY, LakeTable, PartMerger, checksum, lake_tables, write_part
from clearhold.store.analysts.views import analyst_sha256, make_analyst_file
from clearhold.store.clock import Clock
from clearhold.store.durable_files import UNFINISHED
from clearhold.store.ids import IdFactory
from clearhold.store.tables import arrow_table, columns_of

LEAD_US: Final = 5 * SECOND_US
"""Delay from listing to counting, so that one query sees one list, however many views it names."""

KEPT_US: Final = HOUR_US
"""Files of replaced parts stay this long, for readers that are still at work."""

SCHEMA_FILE: Final = "day=1970-01-01/schema.parquet"
"""An empty part in every table, so that there is always a file with its columns."""

_SOURCE: Final = "lake_source"
_TABLES: Final = (*lake_tables(), *control_tables())
# ruff: noqa: S608 - statements are built from names of tables and files


class LakeWriter:
    """Belongs to one thread. ``lead_us`` as ``LEAD_US``."""

    def __init__(
        self,
        lake: Path,
        database: duckdb.DuckDBPyConnection,
        *,
        clock: Clock,
        new_id: IdFactory,
        lead_us: int = LEAD_US,
        control: Callable[[], ControlRows] = dict,
        retention: Callable[[], Days] | None = None,
    ) -> None:
        """``control`` returns the rows of tenants' configuration; tables that it leaves out stay unchanged.
        ``retention`` returns the policy in force; without it the last one applies.
        """
        self._lake, self._clock, self._new_id, self._lead_us = lake, clock, new_id, lead_us
        self._cursor = database.cursor()
        self._merger = PartMerger()
        self._source_id = ""
        self._copied_again: set[str] = set()
        self._retention = retention
        self._control, self._control_rows = control, dict[str, Sequence[msgspec.Struct]]()
        self._is_open = False
        self.parts = PartList()

    def open(self) -> None:
        """Read the list, find out which tables have to be copied again, and remove what a crash left."""
        self._source_id = self._read_source_id()
        self.parts = read_parts(self._lake) or PartList(source_id=self._source_id)
        self._copied_again = {table.name for table in lake_tables() if not self._goes_on(table)}
        self._remove_unlisted()
        self._is_open = True

    def apply_retention(self) -> bool:
        """End the days that are over by the policy in force; returns whether the list has changed."""
        if not self._is_open:
            self.open()
        days, now = self.parts.retention_days if self._retention is None else self._retention(), self._clock.now()
        parts = without_ended_days(self.parts, days, now, now + self._lead_us)
        if parts == self.parts:
            return False
        self._write(parts)
        return True

    def copy(self) -> int:
        """One round; returns the number of copied rows."""
        if not self._is_open:
            self.open()
        self._write_schemas()
        as_of, rows = self._clock.now(), self._rows_in_source()
        too_soon = ended_too_soon(self.parts, as_of)
        self._copied_again |= too_soon
        before = ended_before(self.parts, copied_again=self._copied_again, too_soon=too_soon)
        ending = EndingDays(self.parts.retention_days, before)
        written: list[Part] = []
        try:
            for table in lake_tables():
                self._copy_table(table, rows[table.name], written, ending, as_of)
            control = {
                name: of_table for name, of_table in self._control().items() if self._control_rows.get(name) != of_table
            }
            written += (self._written_control(name, of_table) for name, of_table in control.items() if of_table)
            copied = {table.name: self._copied(table, rows[table.name]) for table in lake_tables()}
            self._add(
                written, replaced=self._copied_again | set(control), as_of=as_of, copied=copied, ended=ending.ended
            )
        except BaseException:
            self._remove(part.file for part in written)
            raise
        self._copied_again = set()
        self._control_rows |= control
        self._make_views()
        return sum(part.rows for part in written)

    def merge(self) -> bool:
        """Do the most urgent merge; False when nothing is due."""
        due = due_for_merging(self.parts.parts, self._clock.now())
        if not due:
            return False
        first = due[0]
        table = next(table for table in lake_tables() if table.name == first.table_name)
        files = [self._lake / part.file for part in due]
        merged = self._written(
            lambda path: self._merger.merge(files, table.columns, path),
            Part(
                table_name=table.name,
                day=first.day,
                first_row=min(part.first_row for part in due),
                end_row=max(part.end_row for part in due),
                merges=max(part.merges for part in due) + 1,
            ),
        )
        try:
            _check_rows(merged, due)
            self._add([merged], replaced={part.file for part in due})
        except BaseException:
            self._remove([merged.file])
            raise
        return True

    def remove_replaced(self) -> int:
        """Remove files that have not counted for ``KEPT_US``, replaced or ended; returns their number."""
        over = self._clock.now() - KEPT_US
        old = [part for part in self.parts.parts if part.counts_until is not None and part.counts_until <= over]
        if old:
            gone = {part.file for part in old}
            self._write(replace(self.parts, parts=tuple(part for part in self.parts.parts if part.file not in gone)))
            self._remove(gone)
        return len(old)

    def interrupt(self) -> None:
        """From another thread: the write under way ends with an error."""
        self._cursor.interrupt()
        self._merger.interrupt()

    def close(self) -> None:
        self._cursor.close()

    def _write_schemas(self) -> None:
        for table in _TABLES:
            path = self._lake / FOLDER / table.name / SCHEMA_FILE
            if self.parts.columns.get(table.name) != table.definitions or not path.exists():
                columns = ", ".join(f'CAST(NULL AS {each.sql_type}) AS "{each.name}"' for each in table.columns)
                rows = table.select("false") if table.source else f"SELECT {columns} WHERE false"
                write_part(self._cursor, rows, path)

    def _copy_table(self, table: LakeTable, end: int, written: list[Part], ending: EndingDays, now: int) -> None:
        """Add the new parts of a table; rows of days that are over go to the ended ones."""
        first = 0 if table.name in self._copied_again else self.parts.copied.get(table.name, Copied()).rows
        while first < end:
            upto = min(end, first + MOST_ROWS)
            rows = f"rowid >= {first} AND rowid < {upto}"
            query = f"SELECT DISTINCT {DAY} AS day FROM {table.source} WHERE {rows} ORDER BY day"
            days = self._cursor.execute(query).fetchall()
            for (day,) in days:
                of_day = "" if len(days) == 1 else f" AND {DAY} = DATE '{day}'"
                if ending.has_ended(table.name, day.isoformat(), now):
                    ending.add(table.name, day.isoformat(), rows=self._count(table, rows + of_day))
                    continue
                part = Part(table_name=table.name, day=day.isoformat(), first_row=first, end_row=upto)
                written.append(self._copied_into(part, table.select(rows + of_day)))
            first = upto

    def _written_control(self, name: str, rows: Sequence[msgspec.Struct]) -> Part:
        """The whole table, in a part of the present day."""
        day = datetime_of(self._clock.now()).date().isoformat()
        self._cursor.register("control_rows", arrow_table(columns_of(type(rows[0])), rows))
        part = Part(table_name=name, day=day, first_row=0, end_row=len(rows))
        return self._copied_into(part, "SELECT * FROM control_rows")

    def _copied_into(self, part: Part, select: str) -> Part:
        return self._written(lambda path: write_part(self._cursor, select, path), part)

    def _written(self, write: Callable[[Path], int], part: Part) -> Part:
        """The part with its file, named by a number that no file had before."""
        number = self.parts.next_number
        file = f"{FOLDER}/{part.table_name}/day={part.day}/{number:012d}.parquet"
        path = self._lake / file
        rows = write(path)
        self.parts = replace(self.parts, next_number=number + 1)
        return replace(part, file=file, rows=rows, bytes=path.stat().st_size, crc32=checksum(path))

    def _add(
        self,
        written: Iterable[Part],
        *,
        replaced: set[str],
        **changed: Any,
    ) -> None:
        """From one instant on, count these parts, and no longer those of the ``replaced`` tables or files; ``changed``
        are other fields of the list.
        """
        at = self._clock.now() + self._lead_us
        kept = (
            part.ending_at(at) if part.file in replaced or part.table_name in replaced else part
            for part in (part.not_beyond(at) for part in self.parts.parts)
        )
        new = (replace(part, counts_from=at) for part in written)
        self._write(
            replace(
                self.parts,
                parts=in_order((*kept, *new)),
                source_id=self._source_id,
                columns={table.name: table.definitions for table in _TABLES},
                **changed,
            )
        )

    def _write(self, parts: PartList) -> None:
        write_parts(self._lake, parts)
        self.parts = parts

    def _make_views(self) -> None:
        """Make the file of views again when it is missing or out of date."""
        wanted = analyst_sha256(self._lake)
        if make_analyst_file(self._lake, is_current=self.parts.views_sha256 == wanted):
            self._write(replace(self.parts, views_sha256=wanted))

    def _rows_in_source(self) -> dict[str, int]:
        """The number of rows of each table, at one moment."""
        counts = ", ".join(f"(SELECT count(*) FROM {table.source})" for table in lake_tables())
        row = self._cursor.execute(f"SELECT {counts}").fetchall()[0]
        return dict(zip((table.name for table in lake_tables()), row, strict=True))

    def _count(self, table: LakeTable, condition: str) -> int:
        return int(self._cursor.execute(f"SELECT count(*) FROM ({table.select(condition)})").fetchall()[0][0])

    def _copied(self, table: LakeTable, rows: int) -> Copied:
        last = f'SELECT shard, "offset" FROM {table.source} WHERE rowid = {rows - 1}'
        place = self._cursor.execute(last).fetchone()
        return Copied() if place is None else Copied(rows, *place)

    def _goes_on(self, table: LakeTable) -> bool:
        """Whether the parts of a table are complete, and are the database's first rows, with its columns."""
        parts = (part for part in self.parts.parts if part.table_name == table.name and not part.is_replaced)
        files = ((self._lake / part.file, part.bytes) for part in parts)
        if not all(path.is_file() and path.stat().st_size == size for path, size in files):
            return False
        copied = self.parts.copied.get(table.name, Copied())
        if self.parts.source_id != self._source_id or not _only_added(self.parts.columns.get(table.name, ()), table):
            return False
        return self._copied(table, copied.rows) == copied

    def _read_source_id(self) -> str:
        """The id of this database, minted once: a rebuilt one has its rows in another order."""
        self._cursor.execute(f"CREATE TABLE IF NOT EXISTS {_SOURCE} (id VARCHAR NOT NULL)")
        row = self._cursor.execute(f"SELECT id FROM {_SOURCE}").fetchone()
        if row is None:
            row = (self._new_id(),)
            self._cursor.execute(f"INSERT INTO {_SOURCE} VALUES (?)", row)
        return str(row[0])

    def _remove_unlisted(self) -> None:
        listed = {part.file for part in self.parts.parts}
        for path in (self._lake / FOLDER).glob("*/day=*/*"):
            name = str(path.relative_to(self._lake))
            if path.name.endswith(UNFINISHED) or (name not in listed and not name.endswith(SCHEMA_FILE)):
                path.unlink(missing_ok=True)
        tables = {table.name for table in _TABLES}
        for folder in (self._lake / FOLDER).glob("*"):
            if folder.is_dir() and folder.name not in tables:
                shutil.rmtree(folder)

    def _remove(self, files: Iterable[str]) -> None:
        for file in files:
            with suppress(OSError):  # unlisted, so the next start removes it
                (self._lake / file).unlink(missing_ok=True)


def _check_rows(merged: Part, due: Iterable[Part]) -> None:
    if merged.rows != sum(part.rows for part in due):
        raise OSError(f"The parts merged into {merged.file} do not have the rows that they had.")


def _only_added(before: tuple[str, ...], table: LakeTable) -> bool:
    """Whether parts with these columns can be read beside new ones: missing columns are null in their rows."""
    now = table.definitions
    return (
        bool(before)
        and set(before) <= set(now)
        and all(not each.endswith("NOT NULL") for each in set(now) - set(before))
    )
