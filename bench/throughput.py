"""How many events a second go from the log to a committed score, and what do they cost against storing them unscored?

The log is filled first; the clock runs from the engine's start until everything is committed. Beside it the same
entries are read, decoded and appended to one table in transactions of the same size, by one thread and nothing else.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import duckdb
import pyarrow as pa

from bench.harness import Figure, Promise, Run
from bench.log_feed import append_all, interleaved
from bench.stream_events import YEAR_START
from bench.workbench import MarkedProgress, Workbench, programs, wait_until_caught_up
from clearhold.features.bank.events import EVENT_DECODER, decode_object
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.flows.stream.dataflow import BATCH_ENTRIES
from clearhold.store.duck.database import THREADS
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import LogReader, shard_key

EVENTS_PER_S: Final = Promise(7_000, at_least=True)
PROGRAMS: Final = 8
_WITHIN_S: Final = 600
_STOP_WITHIN_S: Final = 60
_COPY_DB: Final = 1
_SAME_COMMIT_US: Final = 100  # the marks of one commit's shards are made within microseconds
_RAW_TABLE: Final = """
    CREATE TABLE raw_events (
        shard INTEGER, "offset" BIGINT, program_id VARCHAR, appended_at TIMESTAMP, event_id VARCHAR, type VARCHAR,
        transfer_id VARCHAR, amount_cents BIGINT, body BLOB
    )
"""
_RAW_FIELDS: Final[tuple[tuple[str, pa.DataType], ...]] = (
    ("shard", pa.int32()),
    ("offset", pa.int64()),
    ("program_id", pa.string()),
    ("appended_at", pa.timestamp("us")),
    ("event_id", pa.string()),
    ("type", pa.string()),
    ("transfer_id", pa.string()),
    ("amount_cents", pa.int64()),
    ("body", pa.binary()),
)


def run(run: Run) -> Iterator[Figure]:
    count = run.size(300_000, 60_000)
    with Workbench() as bench:
        feeds = programs(PROGRAMS, entities=500, counterparties=2_500, start_at=YEAR_START, step_us=300_000_000)
        appended_at = time.time_ns() // 1_000
        bench.declare(feeds, appended_at=appended_at)
        with run.counting("filling the log", count) as done:
            append_all(bench.redis, interleaved(feeds, count=count), appended_at=appended_at, done=done)
        for feed in feeds:
            key = shard_key(feed.shard)
            bench.redis.execute_command("COPY", key, key, "DB", _COPY_DB)
        run.say("scoring")
        progress = MarkedProgress(bench.data_dir.shards)
        scored_s = _scored(bench, progress)
        transactions = len({at // _SAME_COMMIT_US for _, _, at in progress.marks})
        run.say(f"the same without scoring, in {transactions} transactions as well")
        unscored_s = _unscored(bench, [feed.shard for feed in feeds], -(-count // transactions))
    yield Figure(
        name="log to committed",
        value=count / scored_s,
        unit="events/s",
        promise=EVENTS_PER_S,
        note=f"{count:,} events of {PROGRAMS} programs, {count // transactions:,} a transaction",
    )
    yield Figure(
        name="cost against unscored",
        value=scored_s / unscored_s,
        unit="times",
        ratio=scored_s / unscored_s,
        beside=f"read, decoded and appended unscored: {count / unscored_s:,.0f} events/s",
    )


def _scored(bench: Workbench, progress: MarkedProgress) -> float:
    engine = bench.engine(progress)
    started = time.perf_counter()
    engine.start()
    try:
        wait_until_caught_up(engine, within_s=_WITHIN_S)
        return time.perf_counter() - started
    finally:
        engine.stop(_STOP_WITHIN_S)


def _unscored(bench: Workbench, busy: list[int], per_transaction: int) -> float:
    """From a copy of the log, since the engine lets Redis forget what it has recorded."""
    with (
        closing(connect_sync(f"unix://{bench.socket}?db={_COPY_DB}")) as client,
        duckdb.connect(bench.data_dir.path / "raw.duckdb", config={"threads": THREADS}) as raw,
    ):
        raw.execute(_RAW_TABLE)
        reader, after = LogReader(client, busy), dict.fromkeys(busy, 0)
        gathered: list[LogEntry] = []
        started = time.perf_counter()
        while batches := reader.read(after, count=BATCH_ENTRIES // len(busy), block_ms=0):
            for shard, entries in batches:
                after[shard] = entries[-1].offset
                gathered += (entry for entry in entries if entry.kind == EntryKind.BANK)
            if len(gathered) >= per_transaction:
                raw_rows = _rows(gathered)
                raw.execute("INSERT INTO raw_events SELECT * FROM raw_rows")
                gathered = []
        if gathered:
            raw_rows = _rows(gathered)
            raw.execute("INSERT INTO raw_events SELECT * FROM raw_rows")
        del raw_rows
        return time.perf_counter() - started


def _rows(entries: list[LogEntry]) -> pa.Table:
    """The entries decoded, envelope and object, and as the table's columns."""
    rows = []
    for entry in entries:
        event = EVENT_DECODER.decode(entry.body)
        envelope = decode_object(event.data)
        rows.append(
            (
                entry.shard,
                entry.offset,
                entry.program_id,
                entry.appended_at,
                event.id,
                event.type,
                envelope.id,
                envelope.amount,
                entry.body,
            )
        )
    arrays = [pa.array(cells, type=kind) for cells, (_, kind) in zip(zip(*rows, strict=True), _RAW_FIELDS, strict=True)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in _RAW_FIELDS])
