"""The composition root: opens the stores, wires the service, serves, and closes everything in reverse order.

                            ┌▶ Redis ──┐
data directory ─▶ socket ─▶ ┼▶ DuckDB ─┼▶ lake ─▶ registry ─▶ flow ─▶ HTTP
                            └▶ scorers ┘
"""

import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import structlog
import uvloop
from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

from clearhold.api.area import Resources, Stores
from clearhold.api.areas import wired_checks
from clearhold.api.background import (
    BackgroundFlows,
    agent_importer,
    backfills_of,
    bank_work_of,
    in_background,
    live_feed,
    membership_of,
    openid_sign_in,
    succession,
    supervised_work,
    webhooks_of,
)
from clearhold.api.console.app import application
from clearhold.api.console.standing_by import standing_by
from clearhold.api.http.limits import Connections, raise_file_limit
from clearhold.api.http.server import address_of, listening_socket, serve_until_signalled
from clearhold.api.http.standby import StandbyGate
from clearhold.api.log.commands import PendingEntries
from clearhold.api.opening import (
    OpenedScoring,
    begun_log,
    begun_scoring,
    joined_database,
    open_stores,
    opened_readiness,
)
from clearhold.api.proofs.routes import VERDICTS
from clearhold.api.settings import Settings
from clearhold.api.telemetry.metrics import (
    ConnectionCollector,
    ControlCollector,
    ProgramCollector,
    ProgramName,
    RecordCollector,
    metrics_served,
    metrics_socket,
)
from clearhold.api.telemetry.readiness import READY
from clearhold.api.telemetry.requests import Observed, RequestLog, RequestMetrics, measure_process
from clearhold.features.core.instants import HOUR_US
from clearhold.flows.backtests import BacktestRunner
from clearhold.flows.bank_work import Webhooks
from clearhold.flows.commit.linking import opened_link_log, publish_checkpoints
from clearhold.flows.engine import Engine
from clearhold.flows.lake.copying import LakeCollector, LakeCopying, opened_lake
from clearhold.flows.live.committed import LiveCommits
from clearhold.flows.live.feed import CommitFeed, FeedCollector
from clearhold.flows.live.log_history import log_mark
from clearhold.flows.live.publishing import LIVE, LiveCollector, LivePublishing, opened_live
from clearhold.flows.roles import Role, RoleCollector, Roles
from clearhold.flows.running.supervision import Supervision
from clearhold.flows.scorer.scorers import ScorerCollector
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.inputs import idempotent_ids
from clearhold.store.duck.no_pandas import spare_search_for_pandas
from clearhold.store.duck.reports.scores import NewestSnapshots
from clearhold.store.errors import StartupError
from clearhold.store.ids import new_token
from clearhold.store.live.streams import LiveBounds
from clearhold.store.logs import configure_logs
from clearhold.store.record.chain import ChainWriter
from clearhold.store.record.linked_chains import chain_writer
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.scheduling import SHORT_NS, set_time_slice
from clearhold.store.tables import RowTables

ADMIN_TOKEN_PREFIX: Final = "adm_"  # noqa: S105 - a prefix that shows what a token opens
FLOW_STOP_WITHIN_S: Final = 3.8
ENDED: Final = "The flow ended unexpectedly; its log has the cause. Start the service again to continue."

log = structlog.get_logger()


def serve(settings: Settings, *, on_ready: Callable[[str, str], None]) -> None:
    """Run until a signal; ``on_ready`` gets address and role, again when a standby takes over. Else StartupError."""
    _start_process()
    connections = Connections(raise_file_limit())
    with ExitStack() as opened:
        data_dir = opened.enter_context(DataDir.open(settings.data, master_key=settings.master_key_file))
        listening = opened.enter_context(closing(listening_socket(settings.host, settings.port)))
        address = address_of(listening)
        metrics_listening = opened.enter_context(metrics_socket(settings.metrics_host, settings.metrics_port))
        base_url, issuer = settings.public_urls(address)
        begun = begun_log(settings, data_dir, base_url, opened)
        scoring = begun_scoring(settings, data_dir, begun, opened)
        database = joined_database(data_dir, begun, scoring.segments, opened, accept_loss=settings.accept_loss)
        stores = open_stores(data_dir, begun, database, base_url, scoring, opened)
        bank_work, webhooks = bank_work_of(stores, settings), webhooks_of(stores, allow_local=settings.allow_local)
        feed, importer = live_feed(stores, data_dir), agent_importer(stores, settings.scan_index_url)
        roles = Roles(stores.ownership)
        follow = (roles.while_open(bank_work.offer), webhooks.dispatcher.rows.on_commit)
        rest = (feed, webhooks, settings, roles)
        started = _started_flow(scoring, stores, data_dir, begun.target, opened, follow, *rest)
        backfills = backfills_of(stores, data_dir, begun.target, opened)
        flows = BackgroundFlows(started.engine, backfills, bank_work, webhooks, importer, feed)
        supervision = supervised_work(stores, flows, roles)
        resources = _resources(stores, flows, partial(_degraded_work, supervision, started.live), issuer, roles)
        gated = _gated_app(stores, resources, settings, data_dir, base_url, roles)
        hooks = (partial(_open_preflights, stores, resources), lambda: gated.under_way)
        at = (begun.target, begun.replicas, data_dir.entry_seals(), opened)
        shared = succession(roles, stores, started.engine, supervision, hooks, at)
        metrics = _metrics(stores, started, flows, resources.pending, supervision, connections, settings, roles)
        request_log = RequestLog(stores.clock)
        observed = Observed(gated, RequestMetrics(metrics, verdicts=VERDICTS), request_log)
        opened.enter_context(metrics_served(metrics_listening, metrics))
        roles.on_open.append(lambda: on_ready(address, Role.OWNER))
        background = in_background(stores, flows, supervision, roles, shared)
        answering = serve_until_signalled(
            observed,
            listening,
            connections,
            is_ready=_ready_check(stores, flows.engine, resources, roles),
            on_ready=lambda: on_ready(address, roles.role),
            on_stop=(backfills.cancel, bank_work.executor.leave, importer.cancel, feed.stop),
        )
        spare_search_for_pandas()
        uvloop.run(_within(background, answering))
        request_log.flush()
        log.info("stopping")
        failure = roles.refused or (StartupError(ENDED) if flows.engine.ended else None)
    log.info("stopped")
    if failure is not None:
        raise failure


def _gated_app(
    stores: Stores, resources: Resources, settings: Settings, data_dir: DataDir, base_url: str, roles: Roles
) -> StandbyGate:
    """The API and the console, as far as the node's role lets them answer."""
    admin_token = settings.admin_token or data_dir.admin_token(lambda: new_token(ADMIN_TOKEN_PREFIX))
    checks = wired_checks(stores, settings.origins(base_url), admin_token=admin_token, limits=settings.rate_limits)
    openid = openid_sign_in(stores, settings, base_url)
    return StandbyGate(
        application(resources, checks, base_url=base_url, identity=settings.console_identity, openid=openid),
        may_answer=lambda: roles.may_answer,
        owner_url=lambda: roles.owner_url,
        page_of=standing_by,
        passes_on=settings.proxy,
    )


async def _within(background: AbstractAsyncContextManager[None], answering: Coroutine[Any, Any, None]) -> None:
    async with background:
        await answering


def _start_process() -> None:
    """Set up the process: logs, SIGTERM, and time slices, which the threads and processes that it starts inherit."""
    configure_logs()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until the server handles it
    has_short_slices = set_time_slice(SHORT_NS)
    log.info("starting", version=version("clearhold"), short_slices=has_short_slices)


class _StartedFlow(NamedTuple):
    """The flow, with the readers of its commits that have threads."""

    engine: Engine
    lake: LakeCopying
    live: LivePublishing


def _started_flow(
    scoring: OpenedScoring,
    stores: Stores,
    data_dir: DataDir,
    target: str | Path,
    opened: ExitStack,
    follow: Sequence[Callable[[RowTables], None]],
    feed: CommitFeed,
    webhooks: Webhooks,
    settings: Settings,
    roles: Roles,
) -> _StartedFlow:
    """The lake reads the tables before the flow starts; lake and live streams end after it. Each of ``follow`` gets the
    rows of every commit; the feed and the streams get its events.
    """
    tenancy = stores.registry.tenancy
    lake = opened_lake(
        data_dir.lake_dir, stores.database, tenancy, opened, clock=stores.clock, every_s=settings.lake_seconds
    )
    is_simulated = tenancy.programs.is_simulated
    bounds = LiveBounds(settings.live_entries, settings.live_hours * HOUR_US) if settings.live else None
    mark, clock = log_mark(data_dir.identity.log_id), stores.clock
    live = opened_live(bounds, target, stores.database, stores.progress, is_simulated, opened, clock=clock, mark=mark)
    commits = LiveCommits(is_simulated, before=(live.before_commit,), after=(feed.on_commit, live.on_commit))

    def on_commit(rows: RowTables) -> None:
        for each in (*follow, commits.on_commit):
            each(rows)

    engine = Engine(
        scoring.scorers,
        stores.progress,
        open_redis=lambda: connect_sync(target),
        database=stores.database,
        segments=stores.segments,
        chains=_chains(stores, data_dir, target, opened, replicas=settings.redis_replicas),
        clock=stores.clock,
        copy_control=stores.control_copy.copy_all,
        maintenance_tasks=(stores.record.checkpoints.sign_due, webhooks.forget_when_due),
        before_commit=commits.before_commit,
        on_commit=on_commit,
        outbox=webhooks.outbox.deliveries_for,
        ownership=stores.ownership,
        membership=membership_of(stores, target, opened, roles),
    )
    engine.start()
    opened.callback(engine.stop, FLOW_STOP_WITHIN_S)
    lake.start(engine.caught_up)
    live.start(lambda: roles.is_open and engine.caught_up(), stores.require_owner)
    return _StartedFlow(engine, lake, live)


def _chains(stores: Stores, data_dir: DataDir, target: str | Path, opened: ExitStack, *, replicas: int) -> ChainWriter:
    """The writer of the record's chains, with the log of links where there is one."""
    ownership, record = stores.ownership, stores.record
    link_log = opened_link_log(
        target, ownership, opened, replicas=replicas, is_owner=lambda: ownership is None or ownership.is_owner
    )
    publish_checkpoints(record.checkpoints, link_log)
    return chain_writer(stores.database, data_dir.record_dir, link_log, record.holes, record.checkpoint_log.append)


def _degraded_work(supervision: Supervision, live: LivePublishing) -> list[str]:
    """The names of failing background work, for the readiness report."""
    return [*supervision.degraded(), *([LIVE] if live.is_degraded else [])]


def _resources(
    stores: Stores,
    flows: BackgroundFlows,
    degraded_work: Callable[[], Sequence[str]],
    issuer: str | None,
    roles: Roles,
) -> Resources:
    return Resources(
        stores,
        readiness=opened_readiness(stores, flows.engine, degraded_work, roles),
        rescoring=flows.backfills,
        executor=flows.bank_work.executor,
        webhook_dispatch=flows.webhooks.dispatcher,
        backtests=BacktestRunner(stores.database, stores.clock),
        agent_importer=flows.importer,
        feed=flows.feed,
        issuer=issuer,
    )


def _metrics(
    stores: Stores,
    started: _StartedFlow,
    flows: BackgroundFlows,
    pending: PendingEntries,
    supervision: Supervision,
    connections: Connections,
    settings: Settings,
    roles: Roles,
) -> CollectorRegistry:
    """The metrics of everything but the requests."""
    metrics, engine = CollectorRegistry(), flows.engine
    measure_process(metrics, stores.appender, stores.memory, stores.clock)
    for collector in (
        engine.collector(waiting=pending.entries),
        flows.backfills.counts,
        *flows.bank_work.collectors,
        flows.webhooks.collector,
        flows.importer.counts,
        FeedCollector(flows.feed),
        ScorerCollector(engine.scorers),
        LakeCollector(started.lake, stores.clock),
        LiveCollector(started.live),
        supervision,
        ConnectionCollector(connections),
        RoleCollector(roles),
        *_stored_collectors(stores, settings, links=engine.chains.sizes),
    ):
        metrics.register(collector)
    return metrics


def _stored_collectors(
    stores: Stores, settings: Settings, *, links: Callable[[], Mapping[str, int]]
) -> Iterator[Collector]:
    """The metrics of stored data; ``links`` counts the links of each chain."""
    yield RecordCollector(
        links=links,
        checkpoint_log=stores.record.checkpoint_log,
        checkpoints=stores.record.checkpoints,
        verifications=stores.record.verifications,
        folder=settings.data,
        clock=stores.clock,
    )
    yield ControlCollector(stores.reader, stores.control_copy)
    if not settings.program_metrics:
        return
    tenancy = stores.registry.tenancy

    def name_of(program_id: str) -> ProgramName | None:
        program = tenancy.programs.of_any_tenant(program_id)
        tenant = None if program is None else tenancy.tenants.find(program.tenant_id)
        return None if program is None or tenant is None else ProgramName(tenant.slug, program.slug, program.source)

    snapshots = NewestSnapshots(stores.database)
    yield ProgramCollector(snapshots, name_of=name_of, most=settings.program_metrics, clock=stores.clock)


def _open_preflights(stores: Stores, resources: Resources) -> None:
    resources.preflight_log.open(idempotent_ids(stores.database))


def _ready_check(stores: Stores, engine: Engine, resources: Resources, roles: Roles) -> Callable[[], bool]:
    """Whether requests can be accepted; the pre-flight log opens once the flow has caught up. A standby is started when
    it has caught up.
    """
    preflight_log, readiness = resources.preflight_log, resources.readiness
    readiness.add("preflights", lambda: preflight_log.is_open)

    def is_ready() -> bool:
        if not roles.is_open:
            return engine.caught_up()
        if not preflight_log.is_open and engine.caught_up():
            _open_preflights(stores, resources)
        return preflight_log.is_open and readiness.report().status == READY

    return is_ready
