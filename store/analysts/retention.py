"""Ends the days of the lake that are past their retention, and finds the tables to copy again when a clock that was
ahead ended them too soon.

Whole days of a table end at one instant for all readers, as merged parts do; the files stay for readers that are still
at work. Rows of the database are never deleted: those of an ended day count as copied, and are left out.

An ended day stays ended while the list of parts exists, even when a later policy keeps more.

Unit    days after the day of a part
"""

from collections.abc import Collection, Mapping
from typing import Final

from msgspec.structs import replace

from clearhold.features.core.instants import DAY_US
from clearhold.features.policy.bodies import RETENTION, RetentionBody
from clearhold.features.policy.retention import longest_of
from clearhold.store.analysts.parts import Ended, Part, PartList, end_of_day
from clearhold.store.control.tenancy import Tenancy

Days = Mapping[str, int]
"""By table; a table without an entry is kept for good."""

SLACK_US: Final = DAY_US
"""An ended day comes back only when it is this far from being over: a clock that is set back a little has no effect."""


def days_in_force(tenancy: Tenancy) -> Days:
    """The retention that the policies of all tenants allow; another thread may extend the projections meanwhile."""
    policies = (tenancy.policies.of_tenant(tenant.id).in_force(RETENTION) for tenant in tenancy.tenants.list_all())
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


def ended_before(listed: PartList, *, anew: Collection[str], too_soon: Collection[str]) -> Mapping[str, Ended]:
    """The ended days before a round, without those of tables whose days ended too soon; tables that are copied
    ``anew`` are counted again.
    """
    return {
        table: replace(ended, rows=0, bytes=0) if table in anew else ended
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
