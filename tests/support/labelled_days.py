"""A database with labels on days of the log, and its lake, written by a clock that a test moves."""

from pathlib import Path

import duckdb

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.store.analysts.parts import Part
from clearhold.store.analysts.writer import LEAD_US, LakeWriter
from clearhold.store.duck.database import BatchWriter
from clearhold.store.ids import new_id
from clearhold.store.redis_log.reader import SEQ_BITS
from clearhold.store.tables import row_tables
from tests.support.clock import FrozenClock

TABLE = "label_versions"


class LabelledDays:
    """``lake`` is a folder of ``folder``; a round of copying has to be asked for.
    ``kept_days`` is the policy of retention.
    """

    def __init__(self, folder: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> None:
        self.lake, self.database, self.clock = folder / "lake", database, clock
        self.lake.mkdir(exist_ok=True)
        self.labels, self.kept_days = 0, dict[str, int]()
        self.writer = self.opened()

    def opened(self, *, knows_policy: bool = True) -> LakeWriter:
        """A writer as after a start of the service; one of a rebuild knows no policy."""
        retention = (lambda: self.kept_days) if knows_policy else None
        writer = LakeWriter(self.lake, self.database, clock=self.clock, new_id=new_id, retention=retention)
        writer.open()
        return writer

    def label(self, count: int, *, days_ago: int = 0) -> None:
        """Commit so many labels whose entries the log took in then."""
        at = self.clock.now() - days_ago * DAY_US
        rows = [self._row(self.labels + number, at) for number in range(count)]
        BatchWriter(self.database).commit(row_tables({LabelRow: rows}), {1: rows[-1].offset}, self.clock.now())
        self.labels += count

    def copy(self, *, until_it_counts: bool = True) -> int:
        rows = self.writer.copy()
        if until_it_counts:
            self.clock.advance(LEAD_US)
        return rows

    def round(self) -> None:
        """One round as the service does it, merging all that is due, until what it wrote counts."""
        self.writer.apply_retention()
        self.writer.remove_replaced()
        self.writer.copy()
        self.clock.advance(LEAD_US)
        while self.writer.merge():
            self.clock.advance(LEAD_US)

    def parts(self) -> list[Part]:
        """Those of labels that count by the clock."""
        return [part for part in self.writer.parts.counting_at(self.clock.now()) if part.table_name == TABLE]

    def ids(self, parts: list[Part] | None = None) -> list[str]:
        """What a reader of these parts, or of those that count now, gets."""
        files = [str(self.lake / part.file) for part in (self.parts() if parts is None else parts)]
        if not files:
            return []
        with duckdb.connect() as reader:
            return [
                each for (each,) in reader.execute("SELECT id FROM read_parquet(?) ORDER BY id", [files]).fetchall()
            ]

    def all_ids(self) -> list[str]:
        return [f"label-{number:05d}" for number in range(self.labels)]

    def view(self, query: str) -> list[tuple[object, ...]]:
        """Ask the views, which go by the machine's clock."""
        with duckdb.connect(str(self.lake / "analyst.duckdb"), read_only=True) as reader:
            return reader.execute(query).fetchall()

    def _row(self, number: int, at: int) -> LabelRow:
        return LabelRow(
            tenant_id="t",
            program_id="p",
            id=f"label-{number:05d}",
            shard=1,
            offset=(at // 1_000 << SEQ_BITS) + number,
            transfer_id=f"transfer-{number}",
            label="bad",
            reason="",
            source="analyst",
            recorded_by="ann",
            created_at=at,
        )
