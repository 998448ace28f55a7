"""Makes ``analyst.duckdb``: views over the lake with a comment on each and on every column, and no rows.

It is made once, and again when its statements change: after an update, or in a directory that was moved. It is never
written to afterwards, so any number of processes may open it; DuckDB from 1.2 on reads its format.

Errors  ``OSError`` and ``duckdb.Error``; the former file stays
"""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb

from clearhold.features.core.measured import Z_95
from clearhold.store.analysts.meanings import FEATURE_MEANINGS, MEANINGS, meaning_of
from clearhold.store.analysts.parts import quoted
from clearhold.store.analysts.questions import QUESTIONS
from clearhold.store.analysts.views import views_of
from clearhold.store.durable_files import durable_name

_SQUARE: Final = Z_95 * Z_95
_MIDDLE: Final = f"(part / n + {_SQUARE / 2!r} / n)"
_HALF: Final = f"({Z_95!r} * sqrt((part / n * (1 - part / n) + {_SQUARE / 4!r} / n) / n))"
_WILSON: Final = (
    ("wilson_low", f"CASE WHEN n > 0 THEN if(part = 0, 0.0, ({_MIDDLE} - {_HALF}) / (1 + {_SQUARE!r} / n)) END"),
    ("wilson_high", f"CASE WHEN n > 0 THEN if(part = n, 1.0, ({_MIDDLE} + {_HALF}) / (1 + {_SQUARE!r} / n)) END"),
)
_OF_WILSON: Final = "A bound of Wilson's 95 % interval of the share that part is of n; null when n is 0."

# Only names that DuckDB 1.4 knows are used, and none of an extension.
STATEMENTS: Final[tuple[str, ...]] = (
    *(f"CREATE MACRO {name}(part, n) AS {body}" for name, body in _WILSON),
    *(f"COMMENT ON MACRO {name} IS '{quoted(_OF_WILSON)}'" for name, _ in _WILSON),
    *(
        statement
        for each in QUESTIONS
        for statement in (
            f"CREATE MACRO {each.name}({each.parameters}) AS TABLE {each.select}",
            f"COMMENT ON MACRO TABLE {each.name} IS '{quoted(each.comment)}'",
        )
    ),
)


FILE: Final = "analyst.duckdb"
STORAGE_VERSION: Final = "v1.2.0"
_READ_ONLY: Final = 0o440
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {"threads": 1, "autoload_known_extensions": False}
_COLUMNS: Final = (
    "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND database_name = 'analyst'"
)


def statements(lake: Path) -> Iterator[str]:
    """The statements that create the views and macros for a lake, in any database, without comments on columns."""
    for view in views_of(lake):
        yield f"CREATE VIEW {view.name} AS {view.select}"
        yield f"COMMENT ON VIEW {view.name} IS '{quoted(view.comment)}'"
    yield from STATEMENTS


def analyst_sha256(lake: Path) -> str:
    """The digest of everything that determines the file's contents."""
    meanings = (f"{name} {meaning}" for name, meaning in (*MEANINGS.items(), *FEATURE_MEANINGS.items()))
    return hashlib.sha256("\n".join((STORAGE_VERSION, *statements(lake), *meanings)).encode()).hexdigest()


def make_analyst_file(lake: Path, *, is_current: bool) -> bool:
    """Make the file unless it is current; returns whether it was made. The list of parts must exist."""
    path = lake / FILE
    if is_current and path.exists():
        return False
    with durable_name(path) as unfinished:
        unfinished.unlink(missing_ok=True)
        with closing(duckdb.connect(config=_CONFIG)) as connection:
            connection.execute(f"ATTACH '{quoted(unfinished)}' AS analyst (STORAGE_VERSION '{STORAGE_VERSION}')")
            connection.execute("USE analyst")
            connection.begin()  # one wait for the disk, not one a statement
            for statement in statements(lake):
                connection.execute(statement)
            for view, column in connection.execute(_COLUMNS).fetchall():
                meaning = meaning_of(view, column)
                if meaning is not None:
                    connection.execute(f"COMMENT ON COLUMN {view}.\"{column}\" IS '{quoted(meaning)}'")
            connection.commit()
            connection.execute("USE memory")
            connection.execute("DETACH analyst")
        unfinished.chmod(_READ_ONLY)
    return True
