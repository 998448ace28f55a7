"""The rows of the lake held against those of the database of a stopped service."""

# ruff: noqa: S608 - statements are put together from the names of our own tables

from contextlib import closing
from pathlib import Path

import duckdb

from clearhold.store.analysts.tables import lake_tables


def differing_rows(data: Path) -> dict[str, int]:
    """By table, how many rows only the database has, or only the lake."""
    differing = {}
    with closing(duckdb.connect(str(data / "lake" / "analyst.duckdb"), read_only=True)) as lake:
        lake.execute(f"ATTACH '{data / 'clearhold.duckdb'}' AS service (READ_ONLY)")
        for table in lake_tables():
            copied = f"SELECT {table.names} FROM {table.name}"
            original = table.select("true", database="service.")
            only_one = f"({copied} EXCEPT ALL {original}) UNION ALL ({original} EXCEPT ALL {copied})"
            differing[table.name] = lake.execute(f"SELECT count(*) FROM ({only_one})").fetchall()[0][0]
    return differing


def views_with_rows(data: Path, text: str = "") -> set[str]:
    """The views that have rows, or rows with a text somewhere in them."""
    with closing(duckdb.connect(str(data / "lake" / "analyst.duckdb"), read_only=True)) as lake:
        names = [name for (name,) in lake.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
        query = 'SELECT count(*) FROM "{0}" AS row WHERE contains(CAST(row AS VARCHAR), ?)'
        return {name for name in names if lake.execute(query.format(name), [text]).fetchall() != [(0,)]}
