"""Reads the daily totals of programs.

How     The days of a page are found from one narrow column; only their totals are read, and added up here.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from clearhold.features.core.measured import DayTotals, sum_of
from clearhold.features.core.principal import Principal
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.predicate import TEXTS, Predicate, listed

_TOTALS: Final = msgspec.json.Decoder(DayTotals)

_DAYS: Final = """
    SELECT DISTINCT epoch_us(day_at) AS day_us FROM metrics_days WHERE {matching} ORDER BY day_us DESC LIMIT ?"""
_TOTALS_OF_DAYS: Final = """
    SELECT epoch_us(day_at), any_value(window_days), epoch_us(max(as_of_at)), list(totals)
    FROM metrics_days WHERE {matching} GROUP BY day_at ORDER BY day_at DESC"""


class StoredDay(NamedTuple):
    """The totals of several programs together, over the days up to the end of the one that began at ``day_at``."""

    day_at: int
    window_days: int
    as_of_at: int
    totals: DayTotals


class MetricsDays(CommittedRows):
    def list_page(
        self,
        principal: Principal,
        program_ids: Sequence[str],
        *,
        from_: int | None,
        to: int | None,
        before: int | None,
        limit: int,
    ) -> list[StoredDay]:
        """The days of these programs within [from, to) and before ``before``, newest first."""
        predicate = Predicate(principal)
        predicate.add(f"program_id IN {TEXTS}", listed(program_ids))
        predicate.between("day_at", from_, to)
        predicate.between("day_at", None, before)
        with self._connection.cursor() as cursor:
            days = cursor.execute(_DAYS.format(matching=predicate.sql), [*predicate.values, limit]).fetchall()
            if not days:
                return []
            predicate.between("day_at", days[-1][0], None)
            page = cursor.execute(_TOTALS_OF_DAYS.format(matching=predicate.sql), predicate.values).fetchall()
        return [
            StoredDay(day_at, window_days, as_of_at, sum_of(map(_TOTALS.decode, totals)))
            for day_at, window_days, as_of_at, totals in page
        ]
