"""A program's past multiplied in the tables of a service that is stopped.

Feeding millions of transfers through the log takes the better part of an hour, and reports read tables: what was fed
once stands there many times afterwards. A copy has ids of its own, and the time, amount, band and status of the row
that it was made from. The first copy is one log offset behind that row, the second two. Copies are stored in the order
of the log, so that DuckDB may leave out row groups by time as it does for rows that were fed.

What is not copied: the state of the program's owner, so that days are totalled over what was fed; the log, the
record's chains; the tables that are not named.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.harness import Run
from bench.service import Service
from clearhold.store.duck.database import open_database

# Of each table the columns by which a row is told from its copies, and those that hold offsets. A program's own score
# stays its own: a program with ten times the transfers has ten times the changes of it.
_COPIED: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "transfers": (("id", "entity_id", "account_id", "counterparty_id"), ("offset", "scored_offset", "raw_offset")),
    "scores": (("id", "subject_id"), ("offset",)),
    "alerts": (("id", "subject_id", "transfer_id", "dedupe_key", "appeal_of"), ("offset",)),
    "dispositions": (("id", "alert_id"), ("offset",)),
    "kri_snapshots": (("id",), ("offset",)),
    "transfer_features": (("transfer_id",), ("offset",)),
}
REPORTED: Final = ("transfers", "scores", "alerts", "dispositions", "kri_snapshots")
"""What reports of a program, and metrics, read."""

BACKTESTED: Final = ("transfer_features", "alerts")
"""What backtests read."""


def multiply(path: Path, program_id: str, times: int, *, tables: Sequence[str] = REPORTED) -> dict[str, int]:
    """Have each row of the program so many times in these tables; how many rows each of them then has of it."""
    with closing(open_database(path)) as database:
        database.execute("SET enable_progress_bar = false")
        for table in tables:
            ids, offsets = _COPIED[table]
            database.execute(_copying(table, ids, offsets), [times, program_id])
        database.execute("CHECKPOINT")
        counted = {
            table: database.execute(f"SELECT count(*) FROM {table} WHERE program_id = ?", [program_id]).fetchall()  # noqa: S608 - a name above
            for table in tables
        }
    return {table: count for table, ((count,),) in counted.items()}


def multiply_in(
    run: Run, service: Service, program_id: str, times: int, *, tables: Sequence[str] = REPORTED
) -> dict[str, int]:
    """The same in a service, which is stopped for it and started again."""
    run.say(f"copying what was fed until it stands there {times} times")
    service.stop()
    rows = multiply(service.database_path, program_id, times, tables=tables)
    service.start()
    return rows


def _copying(table: str, ids: tuple[str, ...], offsets: tuple[str, ...]) -> str:
    own = [f"CASE WHEN {name} = program_id THEN {name} ELSE {name} || '_' || copy END AS {name}" for name in ids]
    behind = [f'"{name}" + copy AS "{name}"' for name in offsets]
    return f"""
        INSERT INTO {table} BY NAME SELECT * EXCLUDE (copy) REPLACE ({", ".join([*own, *behind])})
        FROM (SELECT *, unnest(range(1, ?)) AS copy FROM {table} WHERE program_id = ?)"""  # noqa: S608 - names above
