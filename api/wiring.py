"""From opened stores to services: who is handed what. Nothing is opened or started here."""

from collections.abc import Mapping

import duckdb
import msgspec
import redis.asyncio

from api.admin.service import AdminService
from api.auth import Authenticator
from api.exports import Concurrency
from api.gate import Gate
from api.http import Services
from api.idempotency import Idempotency
from api.ingest.service import IngestService
from api.keys.service import KeyService
from api.operation import RateClass
from api.preflight.recorded import RecordedPreflights
from api.preflight.service import PreflightDetails, PreflightLog, PreflightService
from api.programs.service import ProgramService
from api.rate_limits import RateLimits
from api.system.routes import Readiness
from api.transfers.export import TransferExports
from api.transfers.service import TransferService
from api.unapplied import Unapplied
from features.state.id_index import IdIndex
from features.state.shards import Shards
from store.clock import Clock
from store.duck.preflights import Preflights
from store.duck.transfers import Transfers
from store.idempotency import IdempotencyClaims
from store.ids import IdFactory
from store.key_usage import KeyUsage
from store.lake.log_segments import LogSegments
from store.raw_events import RawEvents
from store.redis_log.appender import LogAppender
from store.redis_log.reader import LogReader
from store.registry import Registry
from store.secrets import SecretBox


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


def wired_services(stores: Stores, readiness: Readiness) -> tuple[Services, PreflightLog]:
    """The services, and the pre-flight log, which is opened once the flow has caught up."""
    programs = ProgramService(stores.registry)
    events = RawEvents(stores.reader, stores.segments)
    unapplied = Unapplied(stores.shards)
    transfers = Transfers(stores.database)
    recorded = RecordedPreflights(committed=Preflights(stores.database), events=events, shards=stores.shards)
    preflight_log = PreflightLog(
        appender=stores.appender, recorded=recorded, unapplied=unapplied, keyed=IdIndex(), shards=stores.shards
    )
    services = Services(
        admin=AdminService(stores.registry),
        ingest=IngestService(
            tenancy=stores.registry,
            log=stores.appender,
            shards=stores.shards,
            unapplied=unapplied,
            clock=stores.clock,
        ),
        keys=KeyService(stores.registry, stores.key_usage),
        preflights=PreflightService(
            programs=programs, shards=stores.shards, log=preflight_log, clock=stores.clock, new_id=stores.new_id
        ),
        preflight_details=PreflightDetails(recorded),
        programs=programs,
        readiness=readiness,
        transfers=TransferService(programs=programs, transfers=transfers, events=events),
        transfer_exports=TransferExports(programs=programs, transfers=transfers, limit=Concurrency()),
    )
    return services, preflight_log


def wired_gate(stores: Stores, *, admin_token: str, limits: Mapping[RateClass, int]) -> Gate:
    """The order of checks over the same stores; ``limits`` are requests a second."""
    authenticator = Authenticator(
        tenancy=stores.registry, admin_token=admin_token, usage=stores.key_usage, clock=stores.clock
    )
    claims = IdempotencyClaims(stores.hot, box=stores.box, process=stores.process)
    return Gate(authenticator, RateLimits(limits, stores.clock), Idempotency(claims))
