"""The scorings of a stream, as the stream gives them and as a backfill recomputes them."""

from collections.abc import Iterable
from tempfile import TemporaryFile
from threading import Event

import msgspec

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.backfill import Rescored
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.measurement.rescored import replayed
from clearhold.features.shard.questions import ReadArrivals
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from clearhold.flows.backfill.ordered_log import OrderedLog
from clearhold.flows.backfill.replay import LogReplay


class Streamed:
    """A stream applied to a shard: its program and the newest scoring of each transfer."""

    def __init__(self, entries: Iterable[LogEntry], *, runs_detectors: bool = False) -> None:
        self.entries = list(entries)
        self.state = ShardState(0)
        self.rows: dict[str, TransferFeaturesRow] = {}
        self.program: ProgramState = self.state.program(self.entries[0].program_id)
        self.program.runs_detectors = runs_detectors
        for entry in self.entries:
            self.state.apply(entry, self._keep)

    @property
    def newest(self) -> dict[str, Rescored]:
        """Without the paths, whose offsets are those of one log."""
        return {key: msgspec.structs.replace(replayed(row), paths=None) for key, row in self.rows.items()}

    @property
    def needs_replay(self) -> bool:
        return ReadArrivals().answer(self.program).needs_replay

    def changes(self) -> dict[str, Rescored]:
        """The scorings that a backfill by replay would write."""
        with TemporaryFile() as file, TemporaryFile() as scorings:
            log, never = OrderedLog(file), Event()
            log.read(self.entries, stopping=never)
            replay = LogReplay(0, self.program.id, log, scorings)
            replay.run(stopping=never)
            unknown, _ = replay.compare(self.rows.values(), self.program.scorecards.champion)
            assert not unknown
            results = list(replay.results(0))
        assert len(results) == len(self.rows)
        return {result.transfer_id: result for _, result in results if result is not None}

    def recomputed(self) -> dict[str, Rescored]:
        """The scorings after a backfill, without the paths."""
        changed = {key: msgspec.structs.replace(each, paths=None) for key, each in self.changes().items()}
        return self.newest | changed

    def _keep(self, row: msgspec.Struct) -> None:
        if isinstance(row, TransferFeaturesRow):
            self.rows[row.transfer_id] = row
