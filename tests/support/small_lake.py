"""A lake of a few rows that a test hands in, written in one round, and a reader of ``analyst.duckdb``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from clearhold.store.analysts.writer import LakeWriter
from clearhold.store.duck.database import BatchWriter
from clearhold.store.ids import new_id
from clearhold.store.tables import row_tables
from tests.support.clock import FrozenClock
from tests.support.duck_rows import AT

Row = dict[str, Any]


class SmallLake:
    """``lake`` is a folder of ``folder``; rows get offsets in their order."""

    def __init__(self, folder: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> None:
        self.lake, self._database, self._clock = folder / "lake", database, clock
        self.lake.mkdir()

    def write(self, rows: Sequence[msgspec.Struct]) -> None:
        by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        for number, row in enumerate(rows):
            by_type.setdefault(type(row), []).append(msgspec.structs.replace(row, offset=number + 1))
        BatchWriter(self._database).commit(row_tables(by_type), {3: len(rows)}, AT)
        writer = LakeWriter(self.lake, self._database, clock=self._clock, new_id=new_id)
        writer.copy()
        writer.close()

    def rows(self, question: str) -> list[Row]:
        with duckdb.connect(str(self.lake / "analyst.duckdb"), read_only=True) as reader:
            answer = reader.execute(f"FROM {question}")
            names = [name for name, *_ in answer.description]
            return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
