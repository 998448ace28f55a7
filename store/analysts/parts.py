"""The parts of the lake and their list: which files count, and from when until when; and the end of a part's retention.

A part is an immutable Parquet file with rows of one table and one day of the log. Readers take the parts that count at
one instant: every row is in exactly one of them. A new part is complete on disk before it is listed, and counts only a
moment after that; the parts that it replaces stop counting at the same instant, and their files stay.

Whole days of a table past their retention end at one instant for all readers, as merged parts do. Rows of the database
are never deleted: those of an ended day count as copied, and are left out. An ended day stays ended while the list
exists, even when a later policy keeps more. A clock that was ahead ends days too soon: their tables are copied again.

File    ``parts.json``, replaced whole, never changed. It is one JSON object with a line for each part, so a reader
        needs one read and decodes only the lines of its table. It is not Parquet, which DuckDB reads in several steps:
        they could mix two lists
Unit    microseconds since the epoch; retention in days after the day of a part
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.features.policy.bodies import RETENTION, RetentionBody
from clearhold.features.policy.seeds import longest_of
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.durable_files import durable_file

FILE: Final = "parts.json"
FOLDER: Final = "tables"
VERSION: Final = 1
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Rows ``first_row`` to just under ``end_row`` of a table, those of one ``day``, such as 2026-11-22.

    ``file`` is its path in the lake. It counts from ``counts_from`` to just before ``counts_until``, None for good;
    ``merges`` counts how often its rows were rewritten. ``crc32`` is of the whole file, None where an older service
    wrote it. The defaults are those of a part that is not written yet.
    """

    table_name: str
    day: str
    file: str = ""
    first_row: int
    end_row: int
    rows: int = 0
    bytes: int = 0
    merges: int = 0
    counts_from: int = 0
    counts_until: int | None = None
    crc32: int | None = None

    def counts_at(self, instant: int) -> bool:
        return self.counts_from <= instant and (self.counts_until is None or instant < self.counts_until)

    def counts_beyond(self, instant: int) -> bool:
        """Whether it counts at any instant from this one on."""
        return self.counts_until is None or self.counts_until > max(instant, self.counts_from)

    def ending_at(self, instant: int) -> "Part":
        """The part, ending at an instant; one that begins later never counts."""
        return replace(self, counts_until=max(instant, self.counts_from)) if self.counts_beyond(instant) else self

    def not_beyond(self, instant: int) -> "Part":
        """The part with all changes after an instant moved to it: the clock was ahead when it was listed.

        If all parts are treated so, a row is still in exactly one at every instant.
        """
        until = None if self.counts_until is None else min(self.counts_until, instant)
        return replace(self, counts_from=min(self.counts_from, instant), counts_until=until)

    @property
    def is_replaced(self) -> bool:
        return self.counts_until is not None


class Copied(msgspec.Struct, frozen=True):
    """The copied share of a table: its first ``rows`` rows; ``shard`` and ``offset`` are of the last of them."""

    rows: int = 0
    shard: int = 0
    offset: int = 0


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The days of a table that retention has ended: all up to ``through``, which was kept for ``days``.

    ``rows`` and ``bytes`` count since the table was copied from its first row on; rows that were never copied because
    their day had ended have no bytes.
    """

    through: str
    days: int
    rows: int
    bytes: int


class PartList(msgspec.Struct, frozen=True, kw_only=True):
    """All parts, sorted by table, day and row. They have everything committed before ``as_of``.

    ``source_id`` names the copied database, ``columns`` its columns by table; ``next_number`` is for the next file.
    ``retention_days`` is the policy that was applied last, and ``ended`` its effect.
    """

    version: int = VERSION
    as_of: int = 0
    source_id: str = ""
    next_number: int = 1
    views_sha256: str = ""
    copied: Mapping[str, Copied] = msgspec.field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    retention_days: Mapping[str, int] = msgspec.field(default_factory=dict)
    ended: Mapping[str, Ended] = msgspec.field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    def counting_at(self, instant: int) -> list[Part]:
        return [part for part in self.parts if part.counts_at(instant)]


def end_of_day(day: str) -> int:
    """The end of a day, such as 2026-11-22."""
    return (date.fromisoformat(day).toordinal() - _EPOCH_DAY + 1) * DAY_US


def in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: (part.table_name, part.day, part.first_row, part.counts_from)))


def write_parts(lake: Path, parts: PartList) -> None:
    """Replace the list, durably and atomically."""
    head = msgspec.json.encode(replace(parts, parts=())).removesuffix(b"]}")
    lines = b",\n".join(map(msgspec.json.encode, parts.parts))
    with durable_file(lake / FILE) as file:
        file.write(head + b"\n" + lines + b"\n]}\n")


def read_parts(lake: Path) -> PartList | None:
    """The stored list; None without one of this version."""
    try:
        parts = msgspec.json.decode((lake / FILE).read_bytes(), type=PartList)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return parts if parts.version == VERSION else None


FAN_IN: Final = 8
MOST_ROWS: Final = 500_000
"""A larger part is not written again."""

DAY_OVER_AFTER_US: Final = HOUR_US
"""Entries from the end of a day are committed soon after it."""

_QUIET_US: Final = 10 * MINUTE_US
"""Rows of a past day may still arrive while a long log is replayed."""


def due_for_merging(parts: Iterable[Part], now: int) -> list[Part]:
    """Neighbouring parts of one table and day, in order, that one part can replace; empty when nothing is due.

    An open day gets a part in each round of copying that has rows of it. Eight parts with equally many merges become
    one, so a day never has more than a few dozen. A day that is over becomes one part, or several above ``MOST_ROWS``
    rows.
    """
    counting = [part for part in parts if part.counts_at(now) and not part.is_replaced]
    for _, of_day in groupby(counting, key=lambda part: (part.table_name, part.day)):
        small = [part for part in of_day if part.rows < MOST_ROWS]
        is_over = bool(small) and now >= end_of_day(small[0].day) + DAY_OVER_AFTER_US
        due = _due_of_closed(small, now) if is_over else _due_of_open(small)
        if due:
            return due
    return []


def _due_of_open(small: Sequence[Part]) -> list[Part]:
    """The parts with the fewest merges, once there are enough of them."""
    for merges in sorted({part.merges for part in small}):
        alike = [part for part in small if part.merges == merges]
        if len(alike) >= FAN_IN:
            return _first_of(alike)
    return []


def _due_of_closed(small: Sequence[Part], now: int) -> list[Part]:
    if len(small) < 2 or max(part.counts_from for part in small) > now - _QUIET_US:  # noqa: PLR2004 - one part is merged
        return []
    return _first_of(small)


def _first_of(parts: Sequence[Part]) -> list[Part]:
    """The first parts that together make one of at most ``MOST_ROWS``, and at least two."""
    chosen, rows = list(parts[:2]), sum(part.rows for part in parts[:2])
    for part in parts[2:]:
        rows += part.rows
        if rows > MOST_ROWS:
            break
        chosen.append(part)
    return chosen


def quoted(path: Path | str) -> str:
    """A path for use between quotes in SQL."""
    return str(path).replace("'", "''")


Days = Mapping[str, int]
"""By table; a table without an entry is kept for good."""

SLACK_US: Final = DAY_US
"""An ended day comes back only when it is this far from being over: a clock that is set back a little has no effect."""


def days_in_force(tenancy: Tenancy) -> Days:
    """The retention that the policies of all tenants allow; another thread may extend the projections meanwhile."""
    policies = (tenancy.policies[tenant.id].in_force(RETENTION) for tenant in tenancy.tenants.list_all())
    return longest_of(each.body for each in policies if each is not None and isinstance(each.body, RetentionBody))


class EndingDays:
    """The days of tables to end, and the ended ones, by the days that a policy keeps."""

    def __init__(self, days: Days, ended: Mapping[str, Ended]) -> None:
        self._days, self.ended = days, dict(ended)

    def has_ended(self, table: str, day: str, now: int) -> bool:
        """Whether a day is over, or once was: a policy that keeps more applies to later days."""
        ended, kept = self.ended.get(table), self._days.get(table)
        return (ended is not None and day <= ended.through) or (kept is not None and _over_at(day, kept) <= now)

    def add(self, table: str, day: str, *, rows: int, size: int = 0) -> None:
        """Add rows of a day that has ended."""
        ended = self.ended.get(table)
        if ended is None:
            ended = Ended(through=day, days=self._days[table], rows=0, bytes=0)
        elif day > ended.through:
            ended = replace(ended, through=day, days=self._days[table])
        self.ended[table] = replace(ended, rows=ended.rows + rows, bytes=ended.bytes + size)


def without_ended_days(listed: PartList, days: Days, now: int, at: int) -> PartList:
    """The list with all days ended that are over at ``now``: their parts count until ``at``, and never after.

    Tables with a day that ended too soon are unchanged until they are copied again.
    """
    ending, too_soon = EndingDays(days, listed.ended), ended_too_soon(listed, now)
    parts: list[Part] = []
    for part in listed.parts:
        if part.table_name not in too_soon and ending.has_ended(part.table_name, part.day, now):
            parts.append(part.ending_at(at))
            if not part.is_replaced:  # a row is in one such part alone
                ending.add(part.table_name, part.day, rows=part.rows, size=part.bytes)
        else:
            parts.append(part)
    return replace(listed, parts=tuple(parts), retention_days=dict(days), ended=ending.ended)


def ended_too_soon(listed: PartList, now: int) -> set[str]:
    """Tables of which a day ended that is not over: the clock was ahead. They must be copied again."""
    return {table for table, ended in listed.ended.items() if now + SLACK_US < _over_at(ended.through, ended.days)}


def ended_before(listed: PartList, *, copied_again: Collection[str], too_soon: Collection[str]) -> Mapping[str, Ended]:
    """The ended days before a round, without those of tables whose days ended too soon; the tables
    ``copied_again`` are counted from 0.
    """
    return {
        table: replace(ended, rows=0, bytes=0) if table in copied_again else ended
        for table, ended in listed.ended.items()
        if table not in too_soon
    }


def due_parts(listed: PartList, now: int) -> list[Part]:
    """Parts of days that are over and have not ended yet: the next round ends them."""
    ending = EndingDays(listed.retention_days, listed.ended)
    return [
        part
        for part in listed.counting_at(now)
        if not part.is_replaced and ending.has_ended(part.table_name, part.day, now)
    ]


def parts_to_remove(listed: PartList, now: int) -> list[Part]:
    """Parts of ended days, whose files wait until no reader uses them."""
    return [
        part
        for part in listed.parts
        if part.table_name in listed.ended
        and part.day <= listed.ended[part.table_name].through
        and not part.counts_beyond(now)
    ]


def _over_at(day: str, days: int) -> int:
    return end_of_day(day) + days * DAY_US
