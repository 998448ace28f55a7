"""A shard that takes one bank event after the other, and what came of each."""

from typing import TypeVar

import msgspec

from features.catalogue.vector import FeatureVector, TransferFeaturesRow
from features.core.log_entry import EntryKind, LogEntry
from features.core.program import Program
from features.shard.shard import ShardState
from features.state.program import ProgramState
from tests.support.bank_events import Data, a_bank_entry
from tests.support.clock import T0

Row = TypeVar("Row", bound=msgspec.Struct)


class Applied:
    """One program's shard; an event is appended when it was created unless said otherwise."""

    def __init__(self, program_id: str = "prg_1") -> None:
        self.program_id = program_id
        self.state = ShardState(0)
        self.entries: list[LogEntry] = []
        self.rows: list[msgspec.Struct] = []

    @property
    def program(self) -> ProgramState:
        return self.state.program(self.program_id)

    def deliver(self, kind: str, data: object, *, at: int = T0, appended_at: int | None = None) -> "Applied":
        """Apply one event; ``rows`` are then what it led to."""
        entry = a_bank_entry(
            kind, data, offset=self._next(), created_at=at, appended_at=appended_at, program_id=self.program_id
        )
        return self.apply(entry)

    def declare(self, program: Program, *, at: int = T0) -> "Applied":
        body = msgspec.json.encode(program)
        return self.apply(LogEntry(0, self._next(), EntryKind.PROGRAM, self.program_id, at, body))

    def apply(self, entry: LogEntry) -> "Applied":
        self.entries.append(entry)
        self.rows = []
        self.state.apply(entry, self.rows.append)
        return self

    def all(self, kind: type[Row]) -> list[Row]:
        """The rows of one kind that the last entry led to."""
        return [row for row in self.rows if isinstance(row, kind)]

    def one(self, kind: type[Row]) -> Row:
        (row,) = self.all(kind)
        return row

    @property
    def scoring(self) -> TransferFeaturesRow:
        return self.one(TransferFeaturesRow)

    @property
    def vector(self) -> FeatureVector:
        """The vector that the last entry led to."""
        return self.scoring.vector

    def _next(self) -> int:
        return (len(self.entries) + 1) << 20


def changed(data: Data, at: str | None, **over: object) -> Data:
    """A later snapshot of an object."""
    return {**data, "updated_at": at, **over}
