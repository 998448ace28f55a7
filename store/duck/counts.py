"""How much of what each program holds: events by result, transfers by band, quarantined entries."""

from collections.abc import Mapping
from typing import Final

import duckdb
import msgspec

# Quarantined entries carry no tenant: one whose body could not be read belongs to its program's.
_COUNTS: Final = """
    SELECT program_id, 'events', result, count(*) FROM bank_events WHERE tenant_id = ? GROUP BY ALL
    UNION ALL
    SELECT program_id, 'transfers', band, count(*) FROM (
        SELECT program_id, id, coalesce(arg_max_null(score_band, "offset"), 'unscored') AS band
        FROM transfers WHERE tenant_id = ? GROUP BY program_id, id
    ) GROUP BY ALL
    UNION ALL
    SELECT program_id, 'quarantined', '', count(*) FROM quarantine
    WHERE program_id IN (SELECT id FROM programs WHERE tenant_id = ?) GROUP BY ALL
    ORDER BY ALL"""


class ProgramCounts(msgspec.Struct, frozen=True, kw_only=True):
    """``bands`` counts each transfer once, by its newest version; one that has no score yet is unscored."""

    events_by_result: Mapping[str, int]
    transfers: int
    bands: Mapping[str, int]
    quarantined: int

    @property
    def unscored(self) -> int:
        return self.bands.get("unscored", 0)


class Counts:
    """Counts what has been committed. Whoever wires it opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def by_program(self, tenant_id: str) -> dict[str, ProgramCounts]:
        """Every program of the tenant that anything was committed for, by program id."""
        with self._connection.cursor() as cursor:
            found = cursor.execute(_COUNTS, [tenant_id] * 3).fetchall()
        counted: dict[str, dict[str, dict[str, int]]] = {}
        for program_id, subject, word, count in found:
            of_program = counted.setdefault(program_id, {"events": {}, "transfers": {}, "quarantined": {}})
            of_program[subject][word] = count
        return {
            program_id: ProgramCounts(
                events_by_result=of["events"],
                transfers=sum(of["transfers"].values()),
                bands=of["transfers"],
                quarantined=sum(of["quarantined"].values()),
            )
            for program_id, of in counted.items()
        }
