"""Score every entry of the ingest log.

ingest log ─▶ by shard ─▶ decoded, applied, scored ─▶ committed with the log offset

Decoding happens inside the stateful step, entry by entry: an entry that cannot be read becomes a quarantine row that
commits with its neighbours, so no order and no offset is lost on a second branch.
"""

from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import Source
from bytewax.operators import KeyedStream
from bytewax.outputs import Sink

from flows.results import ShardChunk, ShardResults
from flows.shard_step import ShardStep, StepContext


def score_bank_events(
    log: Source[ShardChunk], *, context: StepContext, record: Sink[tuple[str, ShardResults]]
) -> Dataflow:
    """The flow; its source and sink are arguments, so that a test feeds a list and reads a list."""
    flow = Dataflow("score_bank_events")
    chunks: Stream[ShardChunk] = op.input("log", flow, log)
    by_shard: KeyedStream[ShardChunk] = op.key_on("by_shard", chunks, lambda chunk: str(chunk.shard))
    results: KeyedStream[ShardResults] = op.stateful_batch("scored", by_shard, lambda _: ShardStep(context))
    op.output("record", results, record)
    return flow
