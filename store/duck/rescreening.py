"""The entities due for screening: never screened although it is required, or longer ago than their band's
cadence.

The band is that of the newest score record, to which ticks add the bands that time has changed; an entity without one
is unscored. Ages are in whole days, as in the score's
signals of screening.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import Band
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.predicate import Predicate

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_DUE: Final = f"""
    WITH newest AS (
        SELECT program_id, id, requires_screening, epoch_us(last_screened_at) AS screened_at FROM entities
        WHERE {{matching}} QUALIFY row_number() OVER (PARTITION BY program_id, id ORDER BY "offset" DESC) = 1
    ), bands AS (
        SELECT program_id, subject_id AS id, arg_max(band, "offset") AS band FROM scores
        WHERE {{matching}} AND subject_type IN ('entity', 'agent') GROUP BY ALL
    ), cadences AS (
        SELECT unnest(?::VARCHAR[]) AS program_id, unnest(?::VARCHAR[]) AS band, unnest(?::BIGINT[]) AS days
    )
    SELECT newest.program_id, id, coalesce(bands.band, '{Band.UNSCORED}') AS band, requires_screening, screened_at, days
    FROM newest LEFT JOIN bands USING (program_id, id)
    JOIN cadences ON cadences.program_id = newest.program_id AND cadences.band = coalesce(bands.band, '{Band.UNSCORED}')
    WHERE (CASE WHEN screened_at IS NULL THEN requires_screening
        ELSE (?::BIGINT - screened_at) // {DAY_US} > days END)
        AND (newest.program_id, id) > (?, ?)
    ORDER BY newest.program_id, id LIMIT ?"""

Place = tuple[str, str]
"""Where a page ended: program and entity of its last row."""

FIRST: Final[Place] = ("", "")


class DueEntity(NamedTuple):
    """An entity that is due; instants are microseconds."""

    program_id: str
    entity_id: str
    band: str
    requires_screening: bool
    screened_at: int | None
    cadence_days: int


class Rescreening(CommittedRows):
    def due(
        self,
        principal: Principal,
        program_ids: tuple[str, ...] | None,
        cadences: Sequence[tuple[str, str, int]],
        after: Place,
        limit: int,
        *,
        now: int,
    ) -> list[DueEntity]:
        """At most ``limit`` entities after ``after``, by program and id; ``cadences`` are program, band, days."""
        predicate = Predicate(principal)
        predicate.among("program_id", program_ids)
        columns = [[*column] for column in zip(*cadences, strict=True)] if cadences else [[], [], []]
        values = [*predicate.values, *predicate.values, *columns, now, *after, limit]
        return [DueEntity(*row) for row in self._read(_DUE.format(matching=predicate.sql), values)]
