"""Which engine writes parts of the lake as one, and scans stored vectors: DuckDB or polars?

Both do the same work in one run, each turn in a new process, and the figures are medians: processor time, and by how
much the process grew. The merges are those of the lake: eight parts of the table of vectors, of the size that a
round of copying leaves and of the size before a day is over, and eight with long texts. The scan is that of a backtest:
DuckDB over its own table, polars over what DuckDB hands it.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import duckdb

from bench.harness import Figure, Run
from bench.lake import fill
from bench.workbench import PREFIX
from clearhold.store.analysts.parts import FAN_IN
from clearhold.store.analysts.tables import LakeColumn, PartMerger, lake_tables, write_part
from clearhold.store.duck.database import open_database

_DUCKDB: Final[dict[str, str | bool | int | float | list[str]]] = {"threads": 1, "memory_limit": "512MB"}
_VECTORS: Final = next(table for table in lake_tables() if table.name == "transfer_features")
_TEXTS: Final = (
    LakeColumn("offset", "BIGINT", nullable=False, expression="i"),
    LakeColumn(
        "body", "VARCHAR", nullable=False, expression="(SELECT string_agg(sha256(i || '-' || j)) FROM range(15) r(j))"
    ),
)
_RULE: Final = "velocity_24h_count >= 200 AND velocity_24h_sum_cents > 500 AND entity_count_30d < 600"
_SCANNED: Final = "program_id, transfer_id, taken_at, band, amount_cents"
# ruff: noqa: S608 - statements are put together from names of the lake's tables


class _Cost(NamedTuple):
    cpu_s: float
    grown_mb: float
    result: int  # bytes written, or rows that match


def run(run: Run) -> Iterator[Figure]:
    transfers, turns = run.size(500_000, 60_000), run.size(5, 1)
    with TemporaryDirectory(prefix=PREFIX) as name:
        folder = Path(name)
        with open_database(folder / "clearhold.duckdb") as database:
            fill(run, database, transfers)
            sets = {
                "small parts": _parts(database, folder / "small", 300),
                "large parts": _parts(database, folder / "large", transfers // 10),
                "long texts": _texts(database, folder / "texts", run.size(40_000, 4_000)),
            }
        for what, parts in sets.items():
            columns = _TEXTS if what == "long texts" else _VECTORS.columns
            ways = {"DuckDB": partial(_by_duckdb, parts, folder), "polars": partial(_by_polars, parts, columns, folder)}
            yield from _figures(run, f"merge of {FAN_IN}, {what}", ways, turns)
        database_file = folder / "clearhold.duckdb"
        ways = {"DuckDB": partial(_scan_duckdb, database_file), "polars": partial(_scan_polars, database_file)}
        yield from _figures(run, "scan of a backtest", ways, turns)


def _figures(run: Run, name: str, ways: Mapping[str, Callable[[], _Cost]], turns: int) -> Iterator[Figure]:
    run.say(name)
    costs: dict[str, list[_Cost]] = {way: [] for way in ways}
    for _ in range(turns):
        for way, act in ways.items():
            with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
                costs[way].append(process.submit(act).result())
    ours, theirs = (_Cost(*(median(each) for each in zip(*costs[way], strict=True))) for way in ("polars", "DuckDB"))
    yield Figure(
        name=f"{name}, polars",
        value=ours.cpu_s * 1_000,
        unit="ms of processor time",
        ratio=ours.cpu_s / theirs.cpu_s,
        beside=f"DuckDB {theirs.cpu_s * 1_000:.0f} ms, {theirs.grown_mb:.0f} MB of memory, result {theirs.result:,}",
        note=f"{ours.grown_mb:.0f} MB of memory, result {ours.result:,}",
    )


def _measured(act: Callable[[], int]) -> _Cost:
    """The engine is loaded, and has done it once in small, before this."""
    before, began = _most_mb(), time.process_time()
    result = act()
    return _Cost(time.process_time() - began, _most_mb() - before, result)


def _by_duckdb(parts: list[Path], folder: Path) -> _Cost:
    merger, path = duckdb.connect(config=_DUCKDB), folder / "by_duckdb.parquet"
    files = ", ".join(f"'{part}'" for part in parts)
    select = f"SELECT * FROM read_parquet([{files}], union_by_name=true, hive_partitioning=false)"
    write_part(merger, "SELECT 1", path)

    def act() -> int:
        write_part(merger.cursor(), select, path)
        return path.stat().st_size

    return _measured(act)


def _by_polars(parts: list[Path], columns: tuple[LakeColumn, ...], folder: Path) -> _Cost:
    merger, path = PartMerger(), folder / "by_polars.parquet"
    merger.merge([parts[0].with_name("none.parquet")], columns, path)

    def act() -> int:
        merger.merge(parts, columns, path)
        return path.stat().st_size

    return _measured(act)


def _scan_duckdb(database: Path) -> _Cost:
    with duckdb.connect(str(database), config={"threads": 1}) as connection:
        query = f"CREATE TEMP TABLE matches AS SELECT {_SCANNED} FROM transfer_features WHERE {_RULE}"
        return _measured(lambda: int(connection.execute(query).fetchall()[0][0]))


def _scan_polars(database: Path) -> _Cost:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl  # noqa: PLC0415 - after its number of threads is set

    rule = (pl.col("velocity_24h_count") >= 200) & (pl.col("velocity_24h_sum_cents") > 500)
    rule &= pl.col("entity_count_30d") < 600
    query = f"SELECT {_SCANNED}, velocity_24h_count, velocity_24h_sum_cents, entity_count_30d FROM transfer_features"
    with duckdb.connect(str(database), config={"threads": 1}) as connection:

        def act() -> int:
            batches = connection.execute(query).to_arrow_reader(100_000)
            return pl.concat([pl.DataFrame(batch).filter(rule) for batch in batches]).height

        return _measured(act)


def _parts(database: duckdb.DuckDBPyConnection, folder: Path, rows: int) -> list[Path]:
    write_part(database, _VECTORS.select("false"), folder / "none.parquet")
    paths = [folder / f"{number}.parquet" for number in range(FAN_IN)]
    for number, path in enumerate(paths):
        write_part(database, _VECTORS.select(f"rowid >= {number * rows} AND rowid < {(number + 1) * rows}"), path)
    return paths


def _texts(database: duckdb.DuckDBPyConnection, folder: Path, rows: int) -> list[Path]:
    columns = ", ".join(f'{column.expression} AS "{column.name}"' for column in _TEXTS)
    paths = [folder / f"{number}.parquet" for number in range(FAN_IN)]
    write_part(database, f"SELECT {columns} FROM range(0) s(i)", folder / "none.parquet")
    for number, path in enumerate(paths):
        write_part(database, f"SELECT {columns} FROM range({number * rows}, {(number + 1) * rows}) s(i)", path)
    return paths


def _most_mb() -> float:
    """The most memory that this process has had."""
    line = next(line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1_024
