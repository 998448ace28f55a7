"""The scoring of some shards: from their newest snapshots through the log's segments to its tail, then continuously.

It runs on the calling thread and holds the state of the shards; its rows leave through a ``RowSink``. ``LocalScorer``
runs it on a thread of this process: ``clearhold serve --scorers 0``, tests and benchmarks of the stream.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from threading import Event, Thread
from time import monotonic, perf_counter_ns
from typing import Final, Protocol, TypeVar

import structlog
from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.errors import BytewaxRuntimeError
from bytewax.inputs import Source
from bytewax.operators import KeyedStream
from bytewax.outputs import Sink
from bytewax.testing import run_main

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import shard_of
from clearhold.features.shard.questions import Answer, Owner, Question
from clearhold.features.shard.shard import Shards, ShardState
from clearhold.flows.scorer.endpoint import ScorerEndpoint
from clearhold.flows.stream.dataflow import (
    LogSource,
    OfferSnapshot,
    Reader,
    RecordSink,
    RowBatch,
    RowSink,
    ShardChunk,
    ShardResults,
    ShardStep,
    StepContext,
    batch_of,
)
from clearhold.flows.stream.snapshotting import SnapshotWriter, load_state
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.state_snapshots import StateSnapshots


def score_bank_events(
    log: Source[ShardChunk], *, context: StepContext, record: Sink[tuple[str, ShardResults]]
) -> Dataflow:
    """Score every entry of the ingest log; a test hands in a source and a sink that are lists.

    log ─▶ by shard ─▶ one stateful step ─▶ committed with the log offset
                       └ for each entry: decode ▸ dedupe ▸ apply ▸ score ▸ detect ▸ route ▸ match

    The order within the step is that of ``features/shard``. An entry that cannot be decoded becomes a quarantine row
    that commits with its neighbours; a separate branch would need separate offsets.
    """
    flow = Dataflow("score_bank_events")
    chunks: Stream[ShardChunk] = op.input("log", flow, log)
    by_shard: KeyedStream[ShardChunk] = op.key_on("by_shard", chunks, lambda chunk: str(chunk.shard))
    results: KeyedStream[ShardResults] = op.stateful_batch("scored", by_shard, lambda _: ShardStep(context))
    op.output("record", results, record)
    return flow


GC_THRESHOLDS: Final = (10_000, 250, 1_000_000)  # a first collection holds up answers for 2 to 4 ms
_REPLAY_PAGE_ENTRIES: Final = 2_048

log = structlog.get_logger()


def failure_of(error: BaseException) -> str:
    """The error, without Bytewax's words about its place in the flow."""
    while isinstance(error, BytewaxRuntimeError) and error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


def newest_states(snapshots: StateSnapshots, owned: Iterable[int]) -> list[ShardState]:
    """Load each shard's newest snapshot, before the committed offsets are known."""
    gc.set_threshold(*GC_THRESHOLDS)  # a full collection walks all state, and garbage here has no cycles
    gc.disable()  # loaded state is not garbage
    states = [load_state(snapshots, shard) for shard in owned]
    gc.freeze()
    gc.enable()
    return states


class Commits(Protocol):
    """The committer, as scoring and supervision need it."""

    def put(self, batch: RowBatch) -> None: ...

    def epoch_of(self, shard: int) -> int: ...

    def give_away(self, epochs: Mapping[int, int]) -> dict[int, int]: ...


class NoQuestions:
    """This thread gets no questions: callers read the state themselves, under the shards' locks."""

    def between_entries(self) -> None:
        """Nothing to do."""

    def pause(self, seconds: float) -> None:
        if seconds:
            time.sleep(seconds)


Attendant = NoQuestions | ScorerEndpoint
"""The scoring thread's duties between entries: in a separate process, answering questions."""


class Scoring:
    """One run over the ``owned`` shards. ``committed`` holds the offset of each in the tables."""

    def __init__(
        self,
        shards: Shards,
        owned: Sequence[int],
        *,
        committed: Mapping[int, int],
        epochs: Mapping[int, int],
        sink: RowSink,
        attendant: Attendant,
        with_live: bool = False,
    ) -> None:
        """``with_live`` the batches have entries of the live streams."""
        self._shards, self._owned, self._committed, self._with_live = shards, owned, committed, with_live
        self._epochs, self._sink, self._attendant = dict(epochs), sink, attendant

    def restore(self, newest: Iterable[ShardState], snapshots: StateSnapshots) -> None:
        """Start with each shard's newest state; with an older one where the tables are behind that."""
        for state in newest:
            committed = self._committed.get(state.shard, 0)
            is_ahead = state.applied_offset > committed
            self._shards.restore(load_state(snapshots, state.shard, committed_offset=committed) if is_ahead else state)

    def replay_segments(self, segments: LogSegments, offer_snapshot: OfferSnapshot) -> None:
        """Apply the entries after a shard's snapshot that Redis may have dropped."""
        context = self._context(offer_snapshot)
        for shard in self._owned:
            after = self._shards.applied_offset(shard)
            if after >= segments.shard(shard).last_offset:
                continue
            step, entries = ShardStep(context), segments.shard(shard).read(after)
            while page := list(islice(entries, _REPLAY_PAGE_ENTRIES)):
                new = [each for each in step.on_batch([ShardChunk(shard, page)])[0] if not each.is_committed]
                if new:
                    self._sink.put(batch_of(new, self._epochs, with_live=self._with_live))
                self._attendant.pause(0)
            log.info("segments_replayed", shard=shard, after=after, upto=self._shards.applied_offset(shard))

    def run(
        self,
        open_reader: Callable[[Sequence[int]], Reader],
        offer_snapshot: OfferSnapshot,
        *,
        draining: Event,
        stopping: Event,
    ) -> None:
        """Read the log until it is drained or stopped."""
        source = LogSource(
            open_reader,
            shards=self._owned,
            applied=self._shards.applied_offset,
            pause=self._attendant.pause,
            draining=draining,
            stopping=stopping,
        )
        record = RecordSink(
            self._sink, self._epochs, between=self._attendant.between_entries, with_live=self._with_live
        )
        flow = score_bank_events(source, context=self._context(offer_snapshot), record=record)
        run_main(flow)  # type: ignore[no-untyped-call]

    def _context(self, offer_snapshot: OfferSnapshot) -> StepContext:
        return StepContext(
            self._shards,
            committed=self._committed,
            offer_snapshot=offer_snapshot,
            between_entries=self._attendant.between_entries,
        )


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
        self.owner: Owner = LocalOwner(shards, self._tails)
        self._progress, self._open_reader = progress, open_reader
        self._snapshots, self._segments = snapshots, segments
        self._writer = SnapshotWriter(shards, snapshots)
        self._draining, self._stopping = Event(), Event()
        self.failure: str | None = None

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

    def applied_offset(self, shard: int) -> int:
        return self.shards.applied_offset(shard)

    @property
    def snapshot_offsets(self) -> Mapping[int, int]:
        return self._writer.written

    @property
    def ended(self) -> bool:
        return self.failure is not None

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
            scoring.replay_segments(self._segments, self._writer.offer)
            scoring.run(self._open_reader, self._writer.offer, draining=self._draining, stopping=self._stopping)
        except BaseException as error:  # noqa: BLE001 - Bytewax raises bare BaseExceptions; each means the end of the flow
            self.failure = failure_of(error)
            log.critical("flow_failed", error=self.failure)
