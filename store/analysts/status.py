"""The state of the lake, from its list of parts alone: with or without a running service."""

from pathlib import Path

import msgspec

from clearhold.features.core.instants import SECOND_US, format_instant
from clearhold.store.analysts.control_rows import control_tables
from clearhold.store.analysts.part_merger import checksum
from clearhold.store.analysts.parts import Part, PartList, read_parts
from clearhold.store.analysts.retention import due_parts, parts_to_remove
from clearhold.store.analysts.tables import lake_tables


class TableStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The counting parts of one table; ``days`` have rows, ``newest_day`` is None without any.

    ``kept_days`` is the retention that was applied last, None for good. ``ended_through`` is the newest ended day; the
    rows and bytes are of all ended days. ``due_rows`` are of days that are over and still count,
    ``unremoved_bytes`` of files of ended days that wait for their readers.
    """

    table: str
    rows: int
    parts: int
    bytes: int
    days: int
    newest_day: str | None
    kept_days: int | None
    ended_through: str | None
    ended_rows: int
    ended_bytes: int
    due_rows: int
    unremoved_bytes: int


class LakeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``as_of``: the lake has everything committed before. ``replaced`` files wait to be removed, including those of
    ended days.
    """

    folder: str
    as_of: str
    behind_seconds: float
    is_late: bool
    replaced_parts: int
    replaced_bytes: int
    tables: tuple[TableStatus, ...]


def damaged_files(lake: Path) -> tuple[str, ...]:
    """Files of present and future parts that are missing or changed; each file is read whole.

    For files of an older service only the size is known.
    """
    listed = read_parts(lake)
    kept = () if listed is None else (part for part in listed.parts if not part.is_replaced)
    return tuple(part.file for part in kept if not _is_as_written(lake, part))


def _is_as_written(lake: Path, part: Part) -> bool:
    path = lake / part.file
    try:
        return path.stat().st_size == part.bytes and part.crc32 in {None, checksum(path)}
    except OSError:
        return _is_gone_from_list(lake, part)


def _is_gone_from_list(lake: Path, part: Part) -> bool:
    """Whether a part was replaced, and its file removed, since the list was read."""
    listed = read_parts(lake)
    return listed is None or all(each.file != part.file or each.is_replaced for each in listed.parts)


def lake_status(lake: Path, now: int, *, late_after_s: float) -> LakeStatus | None:
    """The lake as of an instant; None before its first copy."""
    listed = read_parts(lake)
    if listed is None or not listed.as_of:
        return None
    behind_s = max(0, now - listed.as_of) / SECOND_US
    replaced = [part for part in listed.parts if part.is_replaced]
    due, unremoved = due_parts(listed, now), parts_to_remove(listed, now)
    return LakeStatus(
        folder=str(lake),
        as_of=format_instant(listed.as_of),
        behind_seconds=round(behind_s, 1),
        is_late=behind_s > late_after_s,
        replaced_parts=len(replaced),
        replaced_bytes=sum(part.bytes for part in replaced),
        tables=tuple(
            _of_table(listed, table.name, now, due, unremoved) for table in (*lake_tables(), *control_tables())
        ),
    )


def _of_table(listed: PartList, table: str, now: int, due: list[Part], unremoved: list[Part]) -> TableStatus:
    parts = [part for part in listed.counting_at(now) if part.table_name == table]
    days = {part.day for part in parts}
    ended = listed.ended.get(table)
    return TableStatus(
        table=table,
        rows=sum(part.rows for part in parts),
        parts=len(parts),
        bytes=sum(part.bytes for part in parts),
        days=len(days),
        newest_day=max(days, default=None),
        kept_days=listed.retention_days.get(table),
        ended_through=ended.through if ended else None,
        ended_rows=ended.rows if ended else 0,
        ended_bytes=ended.bytes if ended else 0,
        due_rows=sum(part.rows for part in due if part.table_name == table),
        unremoved_bytes=sum(part.bytes for part in unremoved if part.table_name == table),
    )
