"""What goes on beside the requests, on their event loop: from the start of the service to its end."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from clearhold.api.stores import Stores
from clearhold.flows.agents.service import AgentImporter
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.bank_work import BankWork
from clearhold.flows.engine import Engine
from clearhold.flows.lost_policies import restore_lost_policies
from clearhold.flows.ticks import tick_every_minute
from clearhold.flows.webhooks.dispatcher import WebhookDispatcher
from clearhold.store.redis_log.commit_waiter import CommitWaiter

WATCH_S: Final = 0.5


def agent_importer(stores: Stores, root: str | None) -> AgentImporter:
    """``root`` is the URL of the scan index."""
    return AgentImporter(
        root,
        database=stores.database,
        programs=stores.registry.tenancy.programs,
        appender=stores.appender,
        shards=stores.progress.shards,
        settle=CommitWaiter(stores.progress.committed_offset).wait,
        clock=stores.clock,
        new_id=stores.new_id,
    )


@asynccontextmanager
async def in_background(
    stores: Stores,
    engine: Engine,
    backfills: BackfillService,
    bank_work: BankWork,
    dispatcher: WebhookDispatcher,
    importer: AgentImporter,
) -> AsyncIterator[None]:
    """What goes on beside the requests, on their event loop; it ends before the loop's connections are closed."""
    await stores.appender.connect()
    dispatcher.attach(engine.put_rows)
    tasks = [
        asyncio.create_task(_resume_when_caught_up(engine, backfills)),
        asyncio.create_task(_work_when_caught_up(stores, engine, bank_work)),
        asyncio.create_task(_deliver_when_caught_up(engine, dispatcher)),
        asyncio.create_task(_import_when_caught_up(engine, importer)),
        asyncio.create_task(tick_every_minute(stores.appender, shards=stores.progress.shards, clock=stores.clock)),
        asyncio.create_task(stores.memory.read_regularly(stores.hot)),
        asyncio.create_task(stores.key_usage.flush_regularly(stores.hot)),
        asyncio.create_task(_stop_when_ended(engine)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await backfills.stop()
        await importer.stop()
        await bank_work.stop()
        await dispatcher.stop()
        await engine.scorers.disconnect()
        await stores.key_usage.flush(stores.hot)
        await stores.hot.aclose()


async def _stop_when_ended(engine: Engine) -> None:
    """End the service with the flow: one that takes events and scores none is worse than one that is restarted."""
    while not engine.ended:  # noqa: ASYNC110 - the engine's threads have no event of this loop
        await asyncio.sleep(WATCH_S)
    signal.raise_signal(signal.SIGTERM)


async def _resume_when_caught_up(engine: Engine, backfills: BackfillService) -> None:
    await _caught_up(engine)
    await backfills.resume()


async def _deliver_when_caught_up(engine: Engine, dispatcher: WebhookDispatcher) -> None:
    """What the log holds of the last run's outcomes is committed; what is still waiting is read from the tables."""
    await _caught_up(engine)
    await dispatcher.run()


async def _import_when_caught_up(engine: Engine, importer: AgentImporter) -> None:
    """How far the last import came is committed; what it appended would be read again."""
    await _caught_up(engine)
    await importer.run()


async def _work_when_caught_up(stores: Stores, engine: Engine, bank_work: BankWork) -> None:
    """What the log holds of the bank's answers and is not committed yet would be asked for again."""
    await _caught_up(engine)
    await restore_lost_policies(stores.registry, stores.owner)
    await bank_work.run()


async def _caught_up(engine: Engine) -> None:
    while not engine.caught_up():  # noqa: ASYNC110 - the engine's threads have no event of this loop
        await asyncio.sleep(WATCH_S)
