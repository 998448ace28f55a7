"""The scoring of some shards: from their newest snapshots through the log's segments to its tail, then continuously.

It runs on the calling thread and holds the state of the shards; its rows leave through a ``RowSink``.
"""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from threading import Event
from typing import Final, Protocol

import structlog
from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.errors import BytewaxRuntimeError
from bytewax.inputs import Source
from bytewax.operators import KeyedStream
from bytewax.outputs import Sink
from bytewax.testing import run_main

from clearhold.features.shard.shard import Shards, ShardState
from clearhold.flows.stream.dataflow import (
    LogSource,
    Reader,
    RecordSink,
    RowSink,
    ShardChunk,
    ShardResults,
    ShardStep,
    Snapshots,
    StepContext,
    batch_of,
)
from clearhold.flows.stream.snapshotting import load_state
from clearhold.store.lake.log_segments import LogSegments
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


class Attendant(Protocol):
    """The scoring thread's duties between entries: in a separate process, answering questions."""

    def between_entries(self) -> None:
        """Called before each entry, and before each column of rows, so it must cost next to nothing when idle."""
        ...

    def pause(self, seconds: float) -> None:
        """Called instead of sleeping."""
        ...


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
    ) -> None:
        self._shards, self._owned, self._committed = shards, owned, committed
        self._epochs, self._sink, self._attendant = dict(epochs), sink, attendant

    def restore(self, newest: Iterable[ShardState], snapshots: StateSnapshots) -> None:
        """Start with each shard's newest state; with an older one where the tables are behind that."""
        for state in newest:
            committed = self._committed.get(state.shard, 0)
            is_ahead = state.applied_offset > committed
            self._shards.restore(load_state(snapshots, state.shard, committed_offset=committed) if is_ahead else state)

    def replay_segments(self, segments: LogSegments, snapshots: Snapshots) -> None:
        """Apply the entries after a shard's snapshot that Redis may have dropped."""
        context = self._context(snapshots)
        for shard in self._owned:
            after = self._shards.applied_offset(shard)
            if after >= segments.last_offset(shard):
                continue
            step, entries = ShardStep(context), segments.read(shard, after)
            while page := list(islice(entries, _REPLAY_PAGE_ENTRIES)):
                new = [each for each in step.on_batch([ShardChunk(shard, page)])[0] if not each.is_committed]
                if new:
                    self._sink.put(batch_of(new, self._epochs))
                self._attendant.pause(0)
            log.info("segments_replayed", shard=shard, after=after, upto=self._shards.applied_offset(shard))

    def run(
        self, open_reader: Callable[[Sequence[int]], Reader], snapshots: Snapshots, *, draining: Event, stopping: Event
    ) -> None:
        """Read the log until it is drained or stopped."""
        source = LogSource(
            open_reader,
            start={shard: self._shards.applied_offset(shard) for shard in self._owned},
            pause=self._attendant.pause,
            draining=draining,
            stopping=stopping,
        )
        record = RecordSink(self._sink, self._epochs, between=self._attendant.between_entries)
        flow = score_bank_events(source, context=self._context(snapshots), record=record)
        run_main(flow)  # type: ignore[no-untyped-call]

    def _context(self, snapshots: Snapshots) -> StepContext:
        return StepContext(
            self._shards,
            committed=self._committed,
            snapshots=snapshots,
            between_entries=self._attendant.between_entries,
        )
