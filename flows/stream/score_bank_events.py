"""Score every entry of the ingest log.

ingest log ─▶ by shard ─▶ one stateful step ─▶ committed with the log offset
                          │
                          └ for each entry: decode ▸ dedupe ▸ apply ▸ score ▸ detect ▸ route ▸ match

The order within the step is that of ``features/shard``, which decides the meaning of each entry. An entry that cannot
be decoded becomes a quarantine row that commits with its neighbours; a separate branch would need separate offsets.
"""

from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import Source
from bytewax.operators import KeyedStream
from bytewax.outputs import Sink

from clearhold.flows.stream.shard_step import ShardChunk, ShardResults, ShardStep, StepContext


def score_bank_events(
    log: Source[ShardChunk], *, context: StepContext, record: Sink[tuple[str, ShardResults]]
) -> Dataflow:
    """Source and sink are arguments, so that a test feeds a list and reads a list."""
    flow = Dataflow("score_bank_events")
    chunks: Stream[ShardChunk] = op.input("log", flow, log)
    by_shard: KeyedStream[ShardChunk] = op.key_on("by_shard", chunks, lambda chunk: str(chunk.shard))
    results: KeyedStream[ShardResults] = op.stateful_batch("scored", by_shard, lambda _: ShardStep(context))
    op.output("record", results, record)
    return flow
