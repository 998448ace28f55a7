"""The work of the service beside the requests, on their event loop, from its start to its end."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from anyio import to_thread

from clearhold.api.area import Stores
from clearhold.api.console.openid import CALLBACK, OpenIdSignIn
from clearhold.api.console.way_back import SIGN_IN
from clearhold.api.settings import Settings
from clearhold.features.core.log_entry import shard_of
from clearhold.flows.agents.service import AgentImporter
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.backfill.step_log import StepLog
from clearhold.flows.bank_work import BankWork, Webhooks
from clearhold.flows.engine import Engine, restore_lost_policies, tick_every_minute
from clearhold.flows.hand_over import HandOver
from clearhold.flows.live.feed import CommitFeed
from clearhold.flows.live.log_history import LogHistory
from clearhold.flows.live.missed import MissedEvents
from clearhold.flows.openid.provider import OpenIdClient, OpenIdProvider
from clearhold.flows.roles import Roles, Succession, Successor
from clearhold.flows.running.bank_http import http_client
from clearhold.flows.running.supervision import Supervision, Work
from clearhold.flows.webhooks.shared import DeliveryTail, SharedDeliveries, Write
from clearhold.store.control.tail import ControlTail
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.live_rows import CommittedLiveRows
from clearhold.store.nodes.members import Membership
from clearhold.store.nodes.watch import OwnerWatch
from clearhold.store.openid_logins import OpenIdLogins
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.owner import ANSWERS_WITHIN_S
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.replicas import require_confirmed
from clearhold.store.seals import EntrySeals

WATCH_S: Final = 0.5
PROVIDER_CONNECTIONS: Final = 16


def bank_work_of(stores: Stores, settings: Settings) -> BankWork:
    return BankWork(
        settings.bank_url,
        per_second=settings.bank_rate,
        database=stores.database,
        registry=stores.registry,
        appender=stores.appender,
        progress=stores.progress,
        clock=stores.clock,
        new_id=stores.new_id,
        require_owner=stores.require_owner,
    )


def webhooks_of(stores: Stores, *, allow_local: bool) -> Webhooks:
    return Webhooks(
        stores.registry.tenancy,
        stores.webhook_registry,
        stores.database,
        clock=stores.clock,
        allow_local=allow_local,
        require_owner=stores.require_owner,
    )


def membership_of(stores: Stores, target: str | Path, opened: ExitStack, roles: Roles) -> Membership | None:
    """Among the members of a log in a named Redis."""
    if stores.ownership is None:
        return None
    client = opened.enter_context(closing(connect_sync(target)))
    membership = Membership(client, stores.ownership, shards=stores.progress.shards, version=version("clearhold"))
    membership.role = lambda: roles.role
    return membership


def backfills_of(stores: Stores, data_dir: DataDir, target: str | Path, opened: ExitStack) -> BackfillService:
    reading, seals = opened.enter_context(closing(connect_sync(target))), data_dir.entry_seals()
    step_log = StepLog(
        stores.progress,
        appender=stores.appender,
        segments=stores.segments,
        open_reader=lambda: LogReader(reading, range(data_dir.shards), seals=seals),
        clock=stores.clock,
    )
    return BackfillService(
        step_log, owner=stores.owner, database=stores.database, new_id=stores.new_id, folder=data_dir.path
    )


def agent_importer(stores: Stores, root: str | None) -> AgentImporter:
    """``root`` is the URL of the scan index."""
    return AgentImporter(
        root,
        database=stores.database,
        programs=stores.registry.tenancy.programs,
        appender=stores.appender,
        shards=stores.progress.shards,
        settle=stores.progress.committed,
        clock=stores.clock,
        new_id=stores.new_id,
    )


def openid_sign_in(stores: Stores, settings: Settings, base_url: str) -> OpenIdSignIn | None:
    """Sign-in by the bank's OpenID provider, if one is set; ``base_url`` is the service's for browsers."""
    config = settings.console_openid
    if config is None:
        return None
    client = OpenIdClient(
        issuer=config.issuer,
        client_id=config.client_id,
        client_secret=config.client_secret(),
        scopes=config.scopes,
        redirect_uri=base_url + CALLBACK,
        signed_out_uri=base_url + SIGN_IN,
        allow_local=settings.allow_local,
    )
    http = http_client(connections=PROVIDER_CONNECTIONS, authorities=config.authorities())
    provider = OpenIdProvider(client, http, stores.clock)
    return OpenIdSignIn(config, provider, OpenIdLogins(stores.hot, stores.box, stores.clock), stores.clock)


def live_feed(stores: Stores, data_dir: DataDir) -> CommitFeed:
    """The tenant's own actions are in the shard of its id."""
    programs, shards = stores.registry.tenancy.programs, stores.progress.shards

    def shards_of(tenant_id: str) -> set[int]:
        return {shard_of(each, shards) for each in (tenant_id, *programs.ids_of_tenant(tenant_id))}

    rows = CommittedLiveRows(stores.database)
    history = LogHistory(data_dir.identity.log_id, data_dir.ancestors)
    missed = MissedEvents(rows, stores.progress, history, shards_of=shards_of, is_simulated=programs.is_simulated)
    return CommitFeed(missed, shards=shards)


class WorkName(StrEnum):
    """The names of background work, in the log, the metrics and ``/readyz``."""

    BACKFILLS = "backfills"
    LOST_POLICIES = "lost_policies"
    ACTIONS = "actions"
    DIRECTORY = "directory"
    WEBHOOKS = "webhooks"
    AGENTS = "agents"
    TICKS = "ticks"
    REDIS_MEMORY = "redis_memory"
    KEY_USAGE = "key_usage"
    FLOW_WATCH = "flow_watch"
    LIVE_FEED = "live_feed"
    WAITING_ALERTS = "waiting_alerts"


class NodeWork(StrEnum):
    """Further names, of the nodes of a log in a named Redis."""

    CONTROL_TAIL = "control_tail"
    DELIVERY_TAIL = "delivery_tail"
    SUCCESSION = "succession"
    HAND_OVER = "hand_over"


class BackgroundFlows(NamedTuple):
    """The flows that run beside the requests."""

    engine: Engine
    backfills: BackfillService
    bank_work: BankWork
    webhooks: Webhooks
    importer: AgentImporter
    feed: CommitFeed


def supervised_work(stores: Stores, flows: BackgroundFlows, roles: Roles) -> Supervision:
    """All background work. Each piece can restart: its next task follows from the log and the tables.

    Work that reads the last run's results waits until the log that the start found is committed; work with effects
    outside of the node's own files, until the node owns the log.
    """
    engine, bank_work, has_policies = flows.engine, flows.bank_work, asyncio.Event()

    async def restore_policies() -> None:
        await restore_lost_policies(stores.registry, stores.owner)
        has_policies.set()

    async def carry_out_actions() -> None:
        """Starts once lost policies are restored: a later restore would replace a newer activation."""
        await has_policies.wait()
        await bank_work.executor.run()

    as_owner = roles.as_owner

    def caught_up(run: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def run_when_caught_up() -> None:
            while not engine.caught_up():  # noqa: ASYNC110 - the engine's threads have no event of this loop
                await asyncio.sleep(WATCH_S)
            await run()

        return run_when_caught_up

    async def read_into_memory() -> None:
        await to_thread.run_sync(stores.waiting_alerts.warm)
        await to_thread.run_sync(stores.parties.warm)

    def tick() -> Awaitable[None]:
        return tick_every_minute(stores.appender, shards=stores.progress.shards, clock=stores.clock)

    works: dict[str, Work] = {
        WorkName.BACKFILLS: Work(as_owner(caught_up(flows.backfills.resume_all)), may_finish=True),
        WorkName.LOST_POLICIES: Work(as_owner(caught_up(restore_policies)), may_finish=True),
        WorkName.ACTIONS: Work(as_owner(carry_out_actions)),
        WorkName.DIRECTORY: Work(as_owner(caught_up(bank_work.fetch_parties)), may_finish=True),  # without an address
        WorkName.WEBHOOKS: Work(as_owner(caught_up(flows.webhooks.dispatcher.run))),
        WorkName.AGENTS: Work(as_owner(caught_up(flows.importer.run)), may_finish=True),  # without a scan index
        WorkName.TICKS: Work(as_owner(tick)),
        WorkName.REDIS_MEMORY: Work(lambda: stores.memory.read_regularly(stores.hot)),
        WorkName.KEY_USAGE: Work(lambda: stores.key_usage.flush_regularly(stores.hot)),
        WorkName.WAITING_ALERTS: Work(caught_up(read_into_memory), may_finish=True),
        WorkName.LIVE_FEED: Work(flows.feed.run),
        WorkName.FLOW_WATCH: Work(lambda: _stop_when_ended(engine, roles), may_finish=True),
    }
    return Supervision(works)


def succession(
    roles: Roles,
    stores: Stores,
    engine: Engine,
    supervision: Supervision,
    hooks: tuple[Callable[[], None], Callable[[], int]],
    at: tuple[str | Path, int, EntrySeals, ExitStack],
) -> Write:
    """The watch of a standby, its following of registries and deliveries, and an owner's hand-over, as further work.

    ``hooks`` open the log of pre-flights and count requests under way. Returns what writes the rows of deliveries.
    """
    ownership, (open_preflights, under_way), (target, replicas, seals, opened) = roles.ownership, hooks, at
    if ownership is None:
        return engine.put_rows
    sharing = opened.enter_context(closing(connect_sync(target, answers_within_s=ANSWERS_WITHIN_S)))
    shared = SharedDeliveries(sharing, engine.put_rows)
    handing = opened.enter_context(closing(connect_sync(target, answers_within_s=ANSWERS_WITHIN_S)))
    hand_over = HandOver(roles, ownership, handing, under_way)
    supervision.add(NodeWork.HAND_OVER, Work(hand_over.run, may_finish=True))
    if roles.is_open:
        return shared.write
    client = opened.enter_context(closing(connect_sync(target, answers_within_s=ANSWERS_WITHIN_S)))
    shards = range(stores.progress.shards)
    keys = stores.record.signing_keys
    tail = ControlTail(stores.registry, LogReader(client, shards, seals=seals), keys.follow)
    deliveries = DeliveryTail(client, stores.database, engine.put_rows)
    successor = Successor(
        engine=engine,
        reader=LogReader(client, shards, seals=seals),
        appender=stores.appender,
        control_copy=stores.control_copy,
        control_tail=tail,
        delivery_tail=deliveries,
        require_confirmed=lambda: require_confirmed(client, replicas) if replicas else None,
        compare_clock=stores.clock.compare,
        open_preflights=open_preflights,
    )
    watch = OwnerWatch(client, ownership.node.id)
    roles.owner = watch.look()  # before the first request, whose answer names it
    work = Succession(roles, ownership, watch, successor)
    supervision.add(NodeWork.CONTROL_TAIL, Work(lambda: tail.run(lambda: not roles.is_open)))
    supervision.add(NodeWork.DELIVERY_TAIL, Work(lambda: deliveries.run(lambda: not roles.is_open)))
    supervision.add(NodeWork.SUCCESSION, Work(work.run, may_finish=True))
    return shared.write


@asynccontextmanager
async def in_background(
    stores: Stores, flows: BackgroundFlows, supervision: Supervision, roles: Roles, write_deliveries: Write
) -> AsyncIterator[None]:
    """Run the supervised work beside the requests; it ends before the connections of the event loop are closed."""
    engine, backfills, bank_work, webhooks, importer, _ = flows
    if stores.ownership is None or stores.ownership.is_owner:  # a standby connects when it takes the log
        await stores.appender.connect()
    rows = webhooks.dispatcher.rows
    if roles.is_open:
        rows.attach(write_deliveries)
    else:
        roles.on_open.append(lambda: rows.attach(write_deliveries))
    supervision.begin()
    try:
        yield
    finally:
        await supervision.stop()
        await backfills.stop()
        await importer.stop()
        await bank_work.stop()
        await webhooks.dispatcher.stop()
        await engine.scorers.disconnect()
        await stores.key_usage.flush(stores.hot)
        await stores.hot.aclose()


async def _stop_when_ended(engine: Engine, roles: Roles) -> None:
    """End the service with the flow: a restart is better than accepting events without scoring them. End a standby that
    could not take over.
    """
    while not engine.ended and roles.refused is None:  # noqa: ASYNC110 - the engine's threads have no event of this loop
        await asyncio.sleep(WATCH_S)
    signal.raise_signal(signal.SIGTERM)
