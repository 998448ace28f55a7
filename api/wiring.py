"""From opened stores to the resources of the areas, the gate and the record. Nothing is opened or started here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
from prometheus_client.registry import Collector

from clearhold.api.area import ActionConcluder, AgentImporting, Backtests, Rescoring, Resources, WebhookDispatch
from clearhold.api.http.auth import Authenticator
from clearhold.api.http.gate import Gate
from clearhold.api.http.idempotency import Idempotency
from clearhold.api.http.operation import RateClass
from clearhold.api.http.origins import Origins
from clearhold.api.http.rate_limits import Floods, RateLimits
from clearhold.api.lists.exports import Downloads
from clearhold.api.log.commands import CommandLog
from clearhold.api.log.pending_entries import PendingEntries
from clearhold.api.log.preflight_log import PreflightLog
from clearhold.api.log.recorded_preflights import RecordedPreflights
from clearhold.api.settings import Settings
from clearhold.api.stores import RecordStores, Stores
from clearhold.api.telemetry.program_collector import ProgramCollector, ProgramName
from clearhold.api.telemetry.readiness import Readiness, Replay
from clearhold.api.telemetry.record_collector import RecordCollector
from clearhold.features.windows.id_index import IdIndex
from clearhold.store.clock import Clock
from clearhold.store.control.registry import Registry
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.duck.alerts import EntryResults
from clearhold.store.duck.preflights import Preflights
from clearhold.store.duck.reports.scores import NewestSnapshots
from clearhold.store.idempotency import IdempotencyClaims
from clearhold.store.keys.signing_keys import SigningKeys
from clearhold.store.lake.log_segments import RawEvents
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.reading import LastVerifications
from clearhold.store.redis_log.offsets import CommitWaiter


def wired_resources(
    stores: Stores,
    readiness: Readiness,
    rescoring: Rescoring,
    executor: ActionConcluder,
    webhook_registry: WebhookRegistry,
    webhook_dispatch: WebhookDispatch,
    backtests: Backtests,
    agent_importer: AgentImporting,
    *,
    issuer: str | None,
) -> Resources:
    """The resources of the areas; the pre-flight log among them is opened once the flow has caught up."""
    progress = stores.progress
    events = RawEvents(stores.reader, stores.segments)
    pending = PendingEntries(progress)
    recorded = RecordedPreflights(committed=Preflights(stores.database), events=events, progress=progress)
    return Resources(
        stores=stores,
        events=events,
        pending=pending,
        command_log=CommandLog(
            appender=stores.appender,
            shards=progress.shards,
            pending=pending,
            waiter=CommitWaiter(progress.committed_offset),
            results=EntryResults(stores.database),
            clock=stores.clock,
            new_id=stores.new_id,
        ),
        preflight_log=PreflightLog(
            appender=stores.appender, recorded=recorded, pending=pending, keyed=IdIndex(), shards=progress.shards
        ),
        recorded_preflights=recorded,
        downloads=Downloads(),
        readiness=readiness,
        rescoring=rescoring,
        executor=executor,
        issuer=issuer,
        webhook_registry=webhook_registry,
        webhook_dispatch=webhook_dispatch,
        backtests=backtests,
        agent_importer=agent_importer,
    )


def wired_gate(stores: Stores, origins: Origins, *, admin_token: str, limits: Mapping[RateClass, int]) -> Gate:
    """The request checks in their order; ``limits`` are requests a second."""
    authenticator = Authenticator(
        tenancy=stores.registry.tenancy, admin_token=admin_token, usage=stores.key_usage, clock=stores.clock
    )
    claims = IdempotencyClaims(stores.hot, box=stores.box, process=stores.process, memory=stores.memory)
    return Gate(authenticator, RateLimits(limits, stores.clock), Idempotency(claims), stores.clock, Floods(), origins)


def wired_readiness(
    stores: Stores,
    *,
    flow: Callable[[], bool],
    catch_up: Callable[[], tuple[int, int, int, int] | None],
    degraded_work: Callable[[], Sequence[str]],
) -> Readiness:
    """Checks of the parts that run from the start; ``catch_up`` is the replay's progress, None at its end."""

    def database() -> bool:
        with stores.database.cursor() as cursor:
            return cursor.execute("SELECT 1").fetchone() is not None

    def replay() -> Replay | None:
        at = catch_up()
        return None if at is None else Replay.of(*at)

    def redis() -> bool:
        return stores.reader.identity() == stores.appender.identity

    return Readiness({"database": database, "redis": redis, "flow": flow}, replay=replay, degraded_work=degraded_work)


def wired_record(
    database: duckdb.DuckDBPyConnection,
    folder: Path,
    *,
    signing_keys: SigningKeys,
    clock: Clock,
    registry: Registry,
    base_url: str,
) -> RecordStores:
    """The checkpoints in the tables and in the files of ``folder``, and their signer."""
    checkpoint_log = CheckpointLog(database, folder)
    checkpoint_log.open()
    host = urlsplit(base_url).hostname or base_url

    def origin_of(tenant_id: str, chain: str) -> str:
        tenant = registry.tenancy.tenants.find(tenant_id)
        return f"{host}/{tenant_id if tenant is None else tenant.slug}/{chain}"

    checkpoints = RecordCheckpoints(
        database,
        checkpoint_log,
        signing_keys=signing_keys,
        clock=clock,
        origin_of=origin_of,
    )
    return RecordStores(
        signing_keys=signing_keys,
        checkpoint_log=checkpoint_log,
        checkpoints=checkpoints,
        verifications=LastVerifications(clock),
    )


def wired_collectors(
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
    if not settings.program_metrics:
        return
    tenancy = stores.registry.tenancy

    def name_of(program_id: str) -> ProgramName | None:
        program = tenancy.programs.of_any_tenant(program_id)
        tenant = None if program is None else tenancy.tenants.find(program.tenant_id)
        return None if program is None or tenant is None else ProgramName(tenant.slug, program.slug, program.source)

    snapshots = NewestSnapshots(stores.database)
    yield ProgramCollector(snapshots, name_of=name_of, most=settings.program_metrics, clock=stores.clock)
