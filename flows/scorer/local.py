"""Scoring on a thread of this process: ``clearhold serve --scorers 0``, tests and benchmarks of the stream."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from time import monotonic, perf_counter_ns
from typing import Final, TypeVar

import structlog

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import shard_of
from clearhold.features.shard.questions import Answer, Owner, Question
from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.scoring import Scoring, failure_of, newest_states
from clearhold.flows.scorer.supervisor import Commits
from clearhold.flows.stream.dataflow import Reader
from clearhold.flows.stream.snapshotting import SnapshotWriter
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.offsets import LogProgress
from clearhold.store.state_snapshots import StateSnapshots

AnswerT = TypeVar("AnswerT")

REPLAYING: Final = "The log of this program is being replayed after a start. Nothing was recorded; try again."
_NS_PER_US: Final = 1_000


class LocalOwner:
    """An ``Owner`` for one thread, the API's event loop: it answers under the shard's lock.

    Errors  UnavailableError until the program's shard has replayed the log of the start: an event could be taken twice
    """

    def __init__(self, shards: Shards, tails: Mapping[int, int]) -> None:
        """``tails`` are the offsets of the log's newest entries at the start, by shard; they may be filled in later."""
        self._shards, self._tails = shards, tails

    async def query(self, program_id: str, question: Question[AnswerT]) -> Answer[AnswerT]:
        shard = shard_of(program_id, self._shards.count)
        if self._shards.applied_offset(shard) < self._tails.get(shard, sys.maxsize):
            raise UnavailableError(REPLAYING)
        with self._shards.reading(program_id) as program:  # The lock is held for one answer.
            began = perf_counter_ns()
            value = question.answer(program)
            return Answer(value, (perf_counter_ns() - began) // _NS_PER_US)


log = structlog.get_logger()


class NoQuestions:
    """This thread gets no questions: callers read the state themselves, under the shards' locks."""

    def between_entries(self) -> None:
        """Nothing to do."""

    def pause(self, seconds: float) -> None:
        if seconds:
            time.sleep(seconds)


class LocalScorer:
    """The ``Scorers`` of a service in one process."""

    def __init__(
        self,
        shards: Shards,
        progress: LogProgress,
        *,
        open_reader: Callable[[Sequence[int]], Reader],
        snapshots: StateSnapshots,
        segments: LogSegments,
    ) -> None:
        self.shards = shards
        self._tails: dict[int, int] = {}
        self._owner = LocalOwner(shards, self._tails)
        self._progress, self._open_reader = progress, open_reader
        self._snapshots, self._segments = snapshots, segments
        self._writer = SnapshotWriter(shards, snapshots, committed_offset=progress.committed_offset)
        self._draining, self._stopping = Event(), Event()
        self._failure: str | None = None

    def begin(self) -> None:
        """Nothing: loading on a thread would hold up the rest of this process."""

    def abandon(self) -> None:
        """Nothing was begun."""

    def start(self, commits: Commits) -> None:
        """Restore the state, then score on a thread."""
        owned = range(self.shards.count)
        epochs = {shard: commits.epoch_of(shard) + 1 for shard in owned}
        committed = commits.give_away(epochs)
        scoring = Scoring(self.shards, owned, committed=committed, epochs=epochs, sink=commits, attendant=NoQuestions())
        scoring.restore(newest_states(self._snapshots, owned), self._snapshots)
        reader = self._open_reader(owned)
        self._tails |= {shard: reader.tail(shard) for shard in owned}
        for shard in owned:
            self._progress.mark_applied(shard, self.shards.applied_offset(shard))
        self._writer.begin()
        self._thread = Thread(target=self._run, args=(scoring,), name="flow", daemon=True)
        self._thread.start()

    def on_commit(self, rows: object, offsets: object) -> None:
        """Nothing: ``Progress`` of this process has the offsets."""

    @property
    def owner(self) -> Owner:
        return self._owner

    def applied_offset(self, shard: int) -> int:
        return self.shards.applied_offset(shard)

    @property
    def snapshot_offsets(self) -> Mapping[int, int]:
        return self._writer.written

    @property
    def failure(self) -> str | None:
        return self._failure

    @property
    def ended(self) -> bool:
        return self._failure is not None

    async def disconnect(self) -> None:
        """Nobody is connected."""

    def drain(self, timeout_s: float) -> None:
        self._draining.set()
        self._thread.join(max(0.1, timeout_s))
        self._stopping.set()
        self._thread.join(max(0.1, timeout_s / 4))

    def close(self, timeout_s: float) -> None:
        deadline = monotonic() + timeout_s
        if not self._thread.is_alive():
            for shard in range(self.shards.count):
                is_committed = self._progress.committed_offset(shard) >= self.shards.applied_offset(shard)
                if is_committed and monotonic() < deadline:
                    self._writer.take(shard)
        self._writer.close(max(0.1, deadline - monotonic()))

    def _run(self, scoring: Scoring) -> None:
        try:
            scoring.replay_segments(self._segments, self._writer)
            scoring.run(self._open_reader, self._writer, draining=self._draining, stopping=self._stopping)
        except BaseException as error:  # noqa: BLE001 - Bytewax raises bare BaseExceptions; each means the end of the flow
            self._failure = failure_of(error)
            log.critical("flow_failed", error=self._failure)
