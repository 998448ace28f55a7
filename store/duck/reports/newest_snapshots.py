"""The newest KRI snapshot of every program, of all tenants, for metrics.

Errors  ``duckdb.Error`` when the database does not answer
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.entries.kris import KriValue

# Rows are only added, so rows since the last read have a higher rowid.
_SINCE: Final = """
    SELECT rowid, program_id, epoch_us(as_of_at), program_score, program_score_n, kris FROM kri_snapshots
    WHERE rowid > ? QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY "offset" DESC) = 1
"""
_KRIS: Final = msgspec.json.Decoder(dict[str, KriValue])


class NewestSnapshot(NamedTuple):
    """A program's newest snapshot; ``as_of_at`` in microseconds."""

    as_of_at: int
    score: int | None
    score_n: int
    kris: Mapping[str, KriValue]


class NewestSnapshots:
    """Used by one thread. A read costs as much as the new rows; the first one reads the whole table."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._read_upto = -1
        self._by_program: dict[str, NewestSnapshot] = {}

    def by_program(self) -> Mapping[str, NewestSnapshot]:
        with self._connection.cursor() as cursor:
            rows = cursor.execute(_SINCE, [self._read_upto]).fetchall()
        for rowid, program_id, as_of_at, score, score_n, kris in rows:
            self._by_program[program_id] = NewestSnapshot(as_of_at, score, score_n, _KRIS.decode(kris))
            self._read_upto = max(self._read_upto, rowid)
        return self._by_program
