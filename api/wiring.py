"""From opened stores to services: who is handed what. Nothing is opened or started here."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import duckdb
import msgspec
import redis.asyncio

from api.admin.service import AdminService
from api.alerts.decisions import DecisionService
from api.alerts.service import AlertService
from api.clocks.service import ClockService
from api.dispositions.service import DispositionService
from api.http.auth import Authenticator
from api.http.gate import Gate
from api.http.http_app import Services
from api.http.idempotency import Idempotency
from api.http.operation import RateClass
from api.http.rate_limits import RateLimits
from api.ingest.service import IngestService
from api.keys.service import KeyService
from api.labels.service import LabelService
from api.lists.exports import Concurrency
from api.log.commands import CommandLog
from api.log.pending_entries import PendingEntries
from api.policies.service import PolicyService
from api.preflight.recorded import RecordedPreflights
from api.preflight.service import PreflightDetails, PreflightLog, PreflightService
from api.programs.service import ProgramService
from api.record.service import RecordService
from api.rescoring.service import Rescoring, RescoringService
from api.system.routes import Readiness
from api.transfers.export import TransferExports
from api.transfers.service import TransferService
from features.core.canonical import canonical
from features.policy.seeds import seeded_policies
from features.shard.shards import Shards
from features.windows.id_index import IdIndex
from store.clock import Clock
from store.control.key_usage import KeyUsage
from store.control.registry import Registry
from store.duck.alerts import Alerts
from store.duck.dispositions import Dispositions
from store.duck.labels import Labels
from store.duck.preflights import Preflights
from store.duck.transfers import Transfers
from store.idempotency import IdempotencyClaims
from store.ids import IdFactory
from store.keys.secrets import SecretBox
from store.keys.signing_keys import KeyPurpose, SigningKeys
from store.lake.log_segments import LogSegments
from store.lake.raw_events import RawEvents
from store.record.checkpoint_log import CheckpointLog
from store.record.checkpoints import RecordCheckpoints
from store.record.reader import RecordReader
from store.record.verification import Verification
from store.redis_log.appender import LogAppender
from store.redis_log.reader import LogReader


class RecordStores(msgspec.Struct, frozen=True, kw_only=True):
    """What the record stands on beside the chains themselves."""

    signing_keys: SigningKeys
    checkpoint_log: CheckpointLog
    checkpoints: RecordCheckpoints


class Stores(msgspec.Struct, frozen=True, kw_only=True):
    """What the services stand on. ``hot`` is Redis as the event loop reaches it, ``process`` an id of this run."""

    clock: Clock
    new_id: IdFactory
    shards: Shards
    box: SecretBox
    process: str
    hot: redis.asyncio.Redis
    key_usage: KeyUsage
    registry: Registry
    appender: LogAppender
    reader: LogReader
    segments: LogSegments
    database: duckdb.DuckDBPyConnection
    record: RecordStores


def wired_services(stores: Stores, readiness: Readiness, rescoring: Rescoring) -> tuple[Services, PreflightLog]:
    """The services, and the pre-flight log, which is opened once the flow has caught up."""
    programs = ProgramService(stores.registry)
    events = RawEvents(stores.reader, stores.segments)
    pending = PendingEntries(stores.shards)
    transfers = Transfers(stores.database)
    read = _Readers(Alerts(stores.database), Dispositions(stores.database), Labels(stores.database), transfers)
    transfer_service = TransferService(programs=programs, transfers=transfers, events=events)
    command_log = CommandLog(appender=stores.appender, shards=stores.shards, pending=pending)
    exports = Concurrency()
    recorded = RecordedPreflights(committed=Preflights(stores.database), events=events, shards=stores.shards)
    preflight_log = PreflightLog(
        appender=stores.appender, recorded=recorded, pending=pending, keyed=IdIndex(), shards=stores.shards
    )
    services = Services(
        admin=AdminService(stores.registry),
        alerts=_alerts(stores, read, programs, transfer_service, exports),
        clocks=ClockService(alerts=read.alerts, clock=stores.clock),
        decisions=_decisions(stores, read, command_log),
        dispositions=DispositionService(programs=programs, dispositions=read.dispositions, limit=exports),
        ingest=IngestService(
            tenancy=stores.registry,
            log=stores.appender,
            shards=stores.shards,
            pending=pending,
            clock=stores.clock,
        ),
        keys=KeyService(stores.registry, stores.key_usage),
        labels=_labels(stores, read, programs, command_log),
        policies=PolicyService(tenancy=stores.registry, programs=programs),
        preflights=PreflightService(
            programs=programs, shards=stores.shards, log=preflight_log, clock=stores.clock, new_id=stores.new_id
        ),
        preflight_details=PreflightDetails(recorded),
        programs=programs,
        readiness=readiness,
        record=_record(stores, exports),
        signing_keys=stores.record.signing_keys,
        rescoring=RescoringService(rescoring),
        transfers=transfer_service,
        transfer_exports=TransferExports(programs=programs, transfers=transfers, limit=exports),
    )
    return services, preflight_log


class _Readers(NamedTuple):
    """What has been committed, as several services read it."""

    alerts: Alerts
    dispositions: Dispositions
    labels: Labels
    transfers: Transfers


def _alerts(
    stores: Stores, read: _Readers, programs: ProgramService, transfers: TransferService, exports: Concurrency
) -> AlertService:
    return AlertService(
        programs=programs,
        alerts=read.alerts,
        dispositions=read.dispositions,
        transfers=transfers,
        clock=stores.clock,
        limit=exports,
    )


def _decisions(stores: Stores, read: _Readers, command_log: CommandLog) -> DecisionService:
    return DecisionService(
        alerts=read.alerts,
        dispositions=read.dispositions,
        command_log=command_log,
        clock=stores.clock,
        new_id=stores.new_id,
    )


def _labels(stores: Stores, read: _Readers, programs: ProgramService, command_log: CommandLog) -> LabelService:
    return LabelService(
        programs=programs,
        labels=read.labels,
        transfers=read.transfers,
        command_log=command_log,
        clock=stores.clock,
        new_id=stores.new_id,
    )


def wired_gate(stores: Stores, *, admin_token: str, limits: Mapping[RateClass, int]) -> Gate:
    """The order of checks over the same stores; ``limits`` are requests a second."""
    authenticator = Authenticator(
        tenancy=stores.registry, admin_token=admin_token, usage=stores.key_usage, clock=stores.clock
    )
    claims = IdempotencyClaims(stores.hot, box=stores.box, process=stores.process)
    return Gate(authenticator, RateLimits(limits, stores.clock), Idempotency(claims))


def wired_record(
    database: duckdb.DuckDBPyConnection,
    folder: Path,
    *,
    signing_keys: SigningKeys,
    clock: Clock,
    registry: Registry,
    base_url: str,
) -> RecordStores:
    """The checkpoints of the tables and of the files in ``folder``, and who signs more of them."""
    checkpoint_log = CheckpointLog(database, folder)
    checkpoint_log.open()
    host = urlsplit(base_url).hostname or base_url

    def origin_of(tenant_id: str, chain: str) -> str:
        tenant = registry.tenant(tenant_id)
        return f"{host}/{tenant_id if tenant is None else tenant.slug}/{chain}"

    checkpoints = RecordCheckpoints(
        database,
        checkpoint_log,
        key=signing_keys.signing(KeyPurpose.CHECKPOINT),
        clock=clock,
        origin_of=origin_of,
    )
    return RecordStores(signing_keys=signing_keys, checkpoint_log=checkpoint_log, checkpoints=checkpoints)


def _record(stores: Stores, exports: Concurrency) -> RecordService:
    public_keys = stores.record.signing_keys.public_keys(KeyPurpose.CHECKPOINT)
    return RecordService(
        reader=RecordReader(stores.database, _policy_bodies),
        verification=Verification(stores.database, stores.record.checkpoint_log, public_keys),
        checkpoints=stores.record.checkpoints,
        exports=exports,
    )


def _policy_bodies(tenant_id: str) -> list[bytes]:
    """The policies that a tenant ever had: those that it started with."""
    return [canonical(policy.body) for policy in seeded_policies(tenant_id, 0)]
