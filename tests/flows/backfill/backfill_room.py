"""Backfills over the engine of an engine room, on an event loop of their own."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from itertools import count
from typing import Any, Final, TypeVar

from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.policy.bodies import ScorecardBody
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.backfill.step_log import StepLog
from clearhold.flows.engine import Engine
from clearhold.store.clock import SystemClock
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import connect_async
from clearhold.store.redis_log.reader import LogReader
from tests.flows.engine_room import SHARDS, EngineRoom
from tests.support.clock import T0
from tests.support.policies import policy_entry

T = TypeVar("T")

PROGRAM: Final = "3f0c8a52-0000-4000-8000-000000000001"
TENANT: Final = "t1"
WITHIN_S: Final = 60.0


async def until(holds: Callable[[], object]) -> None:
    """Return when it holds."""
    async with asyncio.timeout(WITHIN_S):
        while not holds():  # noqa: ASYNC110 - what is looked at belongs to other threads
            await asyncio.sleep(0.001)


class BackfillRoom:
    """Where backfills can be asked for again and again beside one engine after the other."""

    def __init__(self, room: EngineRoom, socket: Any) -> None:
        self.room, self._socket = room, socket
        self._numbers = count(1)

    def run(self, engine: Engine, work: Callable[[BackfillService], Awaitable[T]]) -> T:
        """What the work comes to, with backfills that end with it as with a process."""

        async def main() -> T:
            client = connect_async(self._socket)
            reading = self.room.open_redis()
            backfills = BackfillService(
                StepLog(
                    engine.progress,
                    appender=LogAppender(client, shards=SHARDS),
                    segments=engine._segments,
                    open_reader=lambda: LogReader(reading, range(SHARDS)),
                    clock=SystemClock(),
                ),
                owner=engine.scorers.owner,
                database=engine._database,
                new_id=lambda: f"backfill_{next(self._numbers)}",
                folder=self.room.folder,
            )
            with closing(reading):
                try:
                    return await work(backfills)
                finally:
                    await backfills.stop()
                    await client.aclose()

        return asyncio.run(main())

    async def card_in_force(self, engine: Engine, card: Scorecard | None, version: str) -> None:
        """Bring a card into force, None for the default one, and wait until it scores."""
        client = connect_async(self._socket)
        body = policy_entry(version, ScorecardBody(card=card))
        shard = shard_of(PROGRAM, SHARDS)
        offset = await LogAppender(client, shards=SHARDS).append(shard, EntryKind.POLICY, PROGRAM, T0, body)
        await client.aclose()
        await until(lambda: engine.progress.committed_offset(shard) >= offset)

    def transfers(self, engine: Engine, program_id: str) -> int:
        """Rescore a program's transfers; how many that were."""
        return self.run(engine, lambda backfills: backfills.rescore_transfers(TENANT, program_id, None))
