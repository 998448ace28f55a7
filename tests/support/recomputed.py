"""The scorings that a stream writes, and those that a backfill recomputes."""

from collections.abc import Iterable
from random import Random
from tempfile import TemporaryFile
from threading import Event

import msgspec

from clearhold.features.catalogue.vector import FEATURE_VERSION, TransferFeaturesRow
from clearhold.features.core.entries.commands import BackfillStep, Progress, Rescored, Subjects
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.measurement.assessment import replayed
from clearhold.features.shard.backfill import OwnTimes
from clearhold.features.shard.questions import ReadArrivals
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from clearhold.flows.backfill.replay import LogReplay, OrderedLog


class Streamed:
    """A stream applied to a shard: its program and the newest scoring of each transfer."""

    def __init__(self, entries: Iterable[LogEntry], *, runs_detectors: bool = False) -> None:
        self.entries = list(entries)
        self.state = ShardState(0)
        self.rows: dict[str, TransferFeaturesRow] = {}
        self.program: ProgramState = self.state.program(self.entries[0].program_id)
        self.program.runs_detectors = runs_detectors
        for entry in self.entries:
            self.state.apply(entry, self._keep)  # as ``deliver``, of entries that are there already

    @property
    def newest(self) -> dict[str, Rescored]:
        """Without the paths, because their offsets differ between logs."""
        return {key: msgspec.structs.replace(replayed(row), paths=None) for key, row in self.rows.items()}

    @property
    def needs_replay(self) -> bool:
        return ReadArrivals().answer(self.program).needs_replay

    def changes(self) -> dict[str, Rescored]:
        """The scorings that a backfill by replay would write."""
        with TemporaryFile() as file, TemporaryFile() as scorings:
            log, never = OrderedLog(file), Event()
            log.read(self.entries, stopping=never)
            arrived = ReadArrivals().answer(self.program)
            replay = LogReplay(0, self.program.id, log, scorings, reads_scores=arrived.reads_scores)
            replay.run(stopping=never, progressed=lambda _: None)
            unknown, _ = replay.compare(self.rows.values(), self.program.scorecards.champion)
            assert not unknown
            results = list(replay.results(0))
        assert len(results) == len(self.rows)
        return {result.transfer_id: result for _, result in results if result is not None}

    def recomputed(self) -> dict[str, Rescored]:
        """The scorings after a backfill, without the paths."""
        changed = {key: msgspec.structs.replace(each, paths=None) for key, each in self.changes().items()}
        return self.newest | changed

    def rescore(self) -> None:
        """Apply the results as the steps of a backfill are."""
        progress = Progress(
            id="bf_1",
            subjects=Subjects.TRANSFERS,
            feature_version=FEATURE_VERSION,
            score_version=self.program.scorecards.champion.version,
            started_offset=self.entries[-1].offset,
        )
        self.append(EntryKind.BACKFILL, BackfillStep(progress=progress, rescored=tuple(self.changes().values())))

    def append(self, kind: EntryKind, body: object) -> None:
        last = self.entries[-1]
        encoded = msgspec.json.encode(body)
        self.deliver(LogEntry(0, last.offset + 1, kind, last.program_id, last.appended_at, encoded))

    def deliver(self, entry: LogEntry) -> None:
        self.entries.append(entry)
        self.state.apply(entry, self._keep)

    def _keep(self, row: msgspec.Struct) -> None:
        if isinstance(row, TransferFeaturesRow):
            self.rows[row.transfer_id] = row


def renumbered(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """The entries with offsets in their present order."""
    return [msgspec.structs.replace(entry, offset=number) for number, entry in enumerate(entries, 1)]


def in_own_order(entries: Iterable[LogEntry]) -> list[LogEntry]:
    own_times = OwnTimes()
    return renumbered(sorted(entries, key=own_times.of))


def shuffled(entries: list[LogEntry], chance: Random) -> list[LogEntry]:
    """Bank events in random order. Events of one own time keep theirs; owners come last, and the rest is there before.

    Operators' statements have no own time, and between two of one own time only arrival decides.
    """
    own_times = OwnTimes()
    groups: dict[int, list[LogEntry]] = {}
    for entry in entries:
        own_at = own_times.of(entry)
        if entry.kind == EntryKind.BANK:
            groups.setdefault(own_at, []).append(entry)
    order = [own_at for own_at, group in groups.items() for _ in group]
    chance.shuffle(order)
    its_next = {own_at: iter(group) for own_at, group in groups.items()}
    owners = [entry for entry in entries if entry.kind == EntryKind.OWNER]
    others = [entry for entry in entries if entry.kind not in (EntryKind.BANK, EntryKind.OWNER)]
    return renumbered([*others, *(next(its_next[own_at]) for own_at in order), *owners])
