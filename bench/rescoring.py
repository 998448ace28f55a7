"""How many transfers a second get their score again, from stored vectors and by a replay of the facts?

The engine has scored and recorded one program's transfers and runs on. First nothing differs; beside that stand the
same vectors scored in memory by one thread and nothing else. Then every stored score is wrong, so that each is written
to the log, applied and committed again; then every vector is of another version, so that the log is replayed. Last, one
transfer comes that is older than all others, so that the log is replayed in the order of own time.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from bench.harness import Figure, Promise, Run
from bench.log_feed import Feed, append_all, interleaved
from bench.stream_events import YEAR_START, ach_payment
from bench.workbench import TENANT, Workbench, programs, wait_until_caught_up
from clearhold.features.catalogue.vector import FEATURE_VERSION
from clearhold.features.core.instants import DAY_US
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.backfill.step_log import StepLog
from clearhold.flows.engine import Engine
from clearhold.store.clock import SystemClock
from clearhold.store.duck.scorings.backfills import NewestScorings
from clearhold.store.ids import new_id
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import connect_async
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader

TRANSFERS_PER_S: Final = Promise(50_000, at_least=True)
ENTITIES: Final = 500
COUNTERPARTIES: Final = 1_000
_EVENTS_A_TRANSFER: Final = 2
_PAGE: Final = 16_384
_WITHIN_S: Final = 600
_STOP_WITHIN_S: Final = 60
_POLL_S: Final = 0.01
_WRONG: Final = "UPDATE transfer_features SET score = 1, confidence = 0.01"
_OLD: Final = "UPDATE transfer_features SET feature_version = 'features-v0'"


def run(run: Run) -> Iterator[Figure]:
    transfers = run.size(200_000, 30_000)
    with Workbench() as bench:
        (feed,) = programs(
            1,
            entities=ENTITIES,
            counterparties=COUNTERPARTIES,
            start_at=YEAR_START,
            step_us=60_000_000,
            in_order=True,
        )
        appended_at = time.time_ns() // 1_000
        bench.declare([feed], appended_at=appended_at)
        events = transfers * _EVENTS_A_TRANSFER
        with run.counting("filling the log", events) as done:
            append_all(bench.redis, interleaved([feed], count=events), appended_at=appended_at, done=done)
        run.say("scoring for the first time")
        engine = bench.engine(LogProgress(bench.data_dir.shards))
        engine.start()
        try:
            wait_until_caught_up(engine, within_s=_WITHIN_S)
            yield from _figures(run, bench, engine, feed)
        finally:
            engine.stop(_STOP_WITHIN_S)


def _figures(run: Run, bench: Workbench, engine: Engine, feed: Feed) -> Iterator[Figure]:
    program_id = feed.program_id
    alone = _scored_alone(bench, program_id)
    run.say("the same scores again")
    stored = _rescored(bench, engine, program_id)
    yield Figure(
        name="from stored vectors",
        value=stored,
        unit="transfers/s",
        promise=TRANSFERS_PER_S,
        ratio=stored / alone,
        beside=f"{alone:,.0f} transfers/s scored in memory",
    )
    for name, statement in (("from stored vectors, all different", _WRONG), ("by a replay of the log", _OLD)):
        run.say(name)
        bench.database.execute(statement)
        bench.database.execute("CHECKPOINT")
        yield Figure(name=name, value=_rescored(bench, engine, program_id), unit="transfers/s", note="each recorded")
    run.say("a fact that came late")
    oldest = ach_payment(1, entity="oldest", counterparty="oldest", cents=100_00, at=YEAR_START - DAY_US)
    committed = engine.progress.committed_offset(feed.shard)
    append_all(bench.redis, [(feed, oldest)], appended_at=time.time_ns() // 1_000, done=lambda _: None)
    while engine.progress.committed_offset(feed.shard) == committed:
        time.sleep(_POLL_S)
    late = _rescored(bench, engine, program_id)
    yield Figure(name="by a replay, after a late fact", value=late, unit="transfers/s", note="changes recorded")


def _rescored(bench: Workbench, engine: Engine, program_id: str) -> float:
    """Transfers a second from the question to the answer."""

    async def main() -> int:
        client = connect_async(bench.socket)
        step_log = StepLog(
            engine.progress,
            appender=LogAppender(client, shards=engine.progress.shards),
            segments=LogSegments(bench.data_dir.lake_dir),
            open_reader=lambda: LogReader(bench.redis, range(engine.progress.shards)),
            clock=SystemClock(),
        )
        backfills = BackfillService(
            step_log, owner=engine.scorers.owner, database=bench.database, new_id=new_id, folder=bench.data_dir.path
        )
        try:
            return await backfills.rescore_transfers(TENANT, program_id, None)
        finally:
            await backfills.stop()
            await client.aclose()

    began = time.perf_counter()
    scored = asyncio.run(main())
    return scored / (time.perf_counter() - began)


def _scored_alone(bench: Workbench, program_id: str) -> float:
    """Transfers a second that one thread scores, with their vectors at hand."""
    with NewestScorings(
        bench.database, tenant_id=TENANT, program_id=program_id, upto=2**62, feature_version=FEATURE_VERSION
    ) as newest:
        newest.find()
        page = newest.page(0, _PAGE)
        rows = [] if page is None else list(page.rows)
    began = time.perf_counter()
    for row in rows:
        trs_v1.DEFAULT.score(row.vector, degraded=row.degraded)
    return len(rows) / (time.perf_counter() - began)
