"""A program's past multiplied in the tables of a service that is stopped.

Feeding millions of transfers through the log takes the better part of an hour, and reports read tables, so the fed rows
are copied many times. A copy has its id, and the time, amount, band and status of its row. The first copy is one log
offset after the row, the second two. Copies are stored in the order of the log, so that DuckDB may skip row groups by
time as for fed rows.

Not copied: the state of the program's owner, so that days are totalled over the fed rows; the log, the
record's chains; the tables that are not named.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.harness import Run
from bench.service import Service
from clearhold.store.duck.database import open_database

# For each table, the columns that identify a row, and those with offsets. A program's score is not copied: a program
# with ten times the transfers has ten times the changes of it.
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
    """Copy each row of the program in these tables ``times`` times; returns its rows in each table."""
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
    run.say(f"copying the fed rows until each is stored {times} times")
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
