"""The real application over a real Redis and a real DuckDB; the flow is stood in for by ``catch_up``, on demand."""

import hashlib
import hmac
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from litestar.testing import TestClient
from redis import Redis

from clearhold.api.area import RecordStores, Resources, Stores
from clearhold.api.areas import services_of, wired_checks, wired_gate
from clearhold.api.background import live_feed
from clearhold.api.http.head import Origins
from clearhold.api.http.operation import RateClass
from clearhold.api.opening import wired_record
from clearhold.api.telemetry.readiness import Readiness
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.shard import Shards
from clearhold.flows.agents.service import AgentImporter
from clearhold.flows.backfill.service import BackfillService
from clearhold.flows.backfill.step_log import StepLog
from clearhold.flows.backtests import BacktestRunner
from clearhold.flows.bank_work import BankWork, Webhooks
from clearhold.flows.scorer.scoring import LocalOwner
from clearhold.store.control.credentials import KeyUsage
from clearhold.store.control.registry import Registry
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.data_dir import DataDir, Layout
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.duck.inputs import idempotent_ids
from clearhold.store.duck.party_index import PartyIndex
from clearhold.store.duck.waiting_alerts import WaitingAlertIndex
from clearhold.store.keys import KeyPurpose, SecretBox, SigningKeys
from clearhold.store.lake.log_segments import ControlCopy, LogSegments
from clearhold.store.record.chain import ChainWriter
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import RedisMemory, connect_async, connect_sync
from clearhold.store.redis_log.health import RedisHealth
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader, control_key, shard_key
from clearhold.store.seals import EntrySeals
from clearhold.store.tables import RowTables, joined_by_type, row_tables
from tests.support.app_shells import lent_app
from tests.support.clock import FrozenClock, SequentialIds
from tests.support.error_answers import DeclaredErrors, error_of

T = TypeVar("T")

SHARDS: Final = 4
ADMIN_TOKEN: Final = "adm_of_the_tests_0123456789"
MASTER_KEY: Final = bytes(range(32))
SEALS: Final = EntrySeals.under(MASTER_KEY)
BASE_URL: Final = "https://risk.example.test"
WAITED_FOR: Final = {
    EntryKind.DECISION,
    EntryKind.DECISIONS,
    EntryKind.SPLIT,
    EntryKind.NOTE,
    EntryKind.ASSIGN,
    EntryKind.APPEAL,
    EntryKind.LABEL,
    EntryKind.SNAPSHOT,
    EntryKind.OWNER,
    EntryKind.ACTION,
    EntryKind.APPROVAL,
    EntryKind.OUTCOME,
}


_SANDBOX: Final = b'{"id":"evnt_sbx'  # how an event of the sandbox begins, whose commit is waited for


def signature(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def assert_refused(answer: Any, status: int, sentence: str | None = None) -> None:
    """An error is the envelope and nothing else, under the headers that every answer has."""
    assert answer.status_code == status, answer.text
    envelope = error_of(answer.status_code, answer.content)
    assert envelope["requestId"] == answer.headers["x-request-id"]
    assert_stamped(answer)
    if sentence is not None:
        assert sentence in envelope["error"]


def content_of_201(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 201, answer.text
    content: dict[str, Any] = answer.json()
    return content


def assert_stamped(answer: Any) -> None:
    assert answer.headers["score-version"] == "2026-09-17"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "cache-control" in answer.headers


class AppliedAtOnce(LogAppender):
    """Lets the flow's stand-in apply at once what a caller waits for."""

    def __init__(self, client: Any, *, catch_up: Callable[[], None]) -> None:
        super().__init__(client, shards=SHARDS, seals=SEALS)
        self._catch_up = catch_up
        self.stands_still = False

    async def append(self, shard: int, kind: EntryKind, program_id: str, appended_at: int, body: bytes) -> int:
        offset = await super().append(shard, kind, program_id, appended_at, body)
        if (kind in WAITED_FOR or _SANDBOX in body) and not self.stands_still:
            self._catch_up()
        return offset

    async def append_events(
        self,
        shard: int,
        program_id: str,
        appended_at: int,
        bodies: Sequence[bytes],
        *,
        kind: EntryKind = EntryKind.BANK,
    ) -> list[int]:
        offsets = await super().append_events(shard, program_id, appended_at, bodies, kind=kind)
        if _SANDBOX in bodies[0] and not self.stands_still:
            self._catch_up()
        return offsets


def _data_dir(folder: Path) -> DataDir:
    layout = Layout(version=1, log_id="the log of the test", shards=SHARDS, master_key_sha256="")
    return DataDir(folder, layout=layout, lock=None, master_key_path=folder / "master.key")


class RunningApp:
    """One application with its stores, and the calls that tests make of it."""

    def __init__(self, folder: Path, socket: str | Path, opened: ExitStack, **urls: str) -> None:
        """``urls`` are ``bank_url`` and ``scan_index_url``."""
        self._folder, self._urls = folder, urls
        self.clock = FrozenClock()
        self.new_id = SequentialIds()
        self.shards = Shards(SHARDS)
        self.progress = LogProgress(SHARDS)
        self.limits = dict.fromkeys(RateClass, 1_000_000)  # The clock stands still, so a bucket never fills again.
        self.checks = {"database": True, "redis": True, "flow": True}
        self.sync_redis: Redis = opened.enter_context(closing(connect_sync(socket)))
        self._appending = connect_async(socket)
        self.appender = AppliedAtOnce(self._appending, catch_up=self.catch_up)
        self.reader = LogReader(self.sync_redis, range(SHARDS), seals=SEALS)
        self.segments = LogSegments(folder / "lake", seals=SEALS)
        self.control_copy = ControlCopy(self.reader, self.segments)
        self.registry = self._new_registry()
        self.database = opened.enter_context(closing(open_database(folder / "clearhold.duckdb")))
        self.stores = Stores(
            clock=self.clock,
            new_id=self.new_id,
            owner=LocalOwner(self.shards, dict.fromkeys(range(SHARDS), 0)),
            progress=self.progress,
            box=SecretBox(MASTER_KEY),
            process="the first process",
            hot=self._appending,
            memory=RedisMemory(),
            redis_health=RedisHealth(self.sync_redis),
            key_usage=KeyUsage.read_from(self.sync_redis),
            registry=self.registry,
            appender=self.appender,
            reader=self.reader,
            segments=self.segments,
            control_copy=self.control_copy,
            database=self.database,
            waiting_alerts=WaitingAlertIndex(self.database),
            parties=PartyIndex(self.database),
            record=self._record(folder),
            sealed_backup=lambda: (chunk for chunk in (b"sealed",)),
        )
        chains = ChainWriter(self.database, folder / "record")
        chains.open()
        self._applying = threading.Lock()
        self._writer = BatchWriter(self.database, chains)
        checks: dict[str, Callable[[], bool]] = {name: partial(self.checks.__getitem__, name) for name in self.checks}
        readiness = Readiness(checks, kept_s=0.0)
        self._readiness = readiness
        self._folder = folder
        self.opened = opened
        self._start()

    def restart(self) -> None:
        """New services over the same stores, as the next process would have them."""
        self.on_loop(self._appending.aclose)  # A connection belongs to one event loop.
        process, record = f"after {self.stores.process}", self._record(self._folder)
        waiting, parties = WaitingAlertIndex(self.database), PartyIndex(self.database)
        self.stores = msgspec.structs.replace(
            self.stores, process=process, record=record, waiting_alerts=waiting, parties=parties
        )
        self._start()

    def _start(self) -> None:
        self.backfills = self._new_backfills()
        self.bank_work = BankWork(
            self._urls.get("bank_url"),
            per_second=1,
            database=self.database,
            registry=self.registry,
            appender=self.appender,
            progress=self.progress,
            clock=self.clock,
            new_id=self.new_id,
        )
        self.bank_work.executor.begin()
        self.webhooks = self._new_webhooks()
        self.resources = Resources(
            self.stores,
            readiness=self._readiness,
            rescoring=self.backfills,
            executor=self.bank_work.executor,
            webhook_dispatch=self.webhooks.dispatcher,
            backtests=BacktestRunner(self.database, self.clock),
            agent_importer=self._new_importer(),
            feed=live_feed(self.stores, _data_dir(self._folder)),
            issuer=BASE_URL,
        )
        self.services: Mapping[str, Any] = services_of(self.resources)
        self.resources.preflight_log.open(idempotent_ids(self.stores.database))
        checks = wired_checks(self.stores, Origins(BASE_URL), admin_token=ADMIN_TOKEN, limits=self.limits)
        gate = wired_gate(self.stores, checks)
        self.app = lent_app(self.opened, self.services, gate, base_url=BASE_URL)
        self.client = self.opened.enter_context(TestClient(self.app, raise_server_exceptions=False))
        self.client.event_hooks = {"response": [DeclaredErrors(self.app)]}
        self.opened.callback(lambda: self.on_loop(self._appending.aclose))
        self.opened.callback(lambda: self.on_loop(self.bank_work.stop))
        self.on_loop(self._attach_dispatcher)
        self.opened.callback(lambda: self.on_loop(self.webhooks.dispatcher.stop))

    def _new_webhooks(self) -> Webhooks:
        registry = WebhookRegistry(self.registry, box=self.stores.box, clock=self.clock, new_id=self.new_id)
        return Webhooks(
            self.registry.tenancy,
            registry,
            self.database,
            clock=self.clock,
            allow_local=True,
        )

    async def _attach_dispatcher(self) -> None:
        self.webhooks.dispatcher.rows.attach(self._commit_rows)

    def _commit_rows(self, rows: RowTables) -> None:
        with self._applying:
            self._writer.commit(rows, {}, self.clock.now())
        self.webhooks.dispatcher.rows.on_commit(rows)

    def _record(self, folder: Path) -> RecordStores:
        keys = SigningKeys.open(
            folder / "signing-keys.json",
            box=SecretBox(MASTER_KEY),
            clock=self.clock,
            purposes=KeyPurpose,
        )
        return wired_record(
            self.database,
            folder / "record",
            signing_keys=keys,
            clock=self.clock,
            registry=self.registry,
            base_url=BASE_URL,
        )

    def _new_backfills(self) -> BackfillService:
        """Over the same log; what waits for the flow lets it catch up."""

        async def settle(_shard: int, _offset: int) -> None:
            self.catch_up()

        step_log = StepLog(
            self.progress,
            appender=self.appender,
            segments=self.stores.segments,
            open_reader=lambda: LogReader(self.sync_redis, range(SHARDS), seals=SEALS),
            clock=self.clock,
            settle=settle,
        )
        return BackfillService(
            step_log, owner=self.stores.owner, database=self.stores.database, new_id=self.new_id, folder=self._folder
        )

    def _new_importer(self) -> AgentImporter:
        """Over the same log; what waits for the flow lets it catch up."""

        async def settle(_shard: int, _offset: int) -> None:
            self.catch_up()

        self.slept: list[float] = []  # what would be waited for the index

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        return AgentImporter(
            self._urls.get("scan_index_url"),
            database=self.database,
            programs=self.registry.tenancy.programs,
            appender=self.appender,
            shards=SHARDS,
            settle=settle,
            clock=self.clock,
            new_id=self.new_id,
            sleep=sleep,
        )

    def _new_registry(self) -> Registry:
        box = SecretBox(MASTER_KEY)
        registry = Registry(
            log=self.appender,
            read=self.reader.control_of,
            copy=self.control_copy.copy,
            box=box,
            clock=self.clock,
            new_id=self.new_id,
            shards=SHARDS,
        )
        registry.tenancy.load(self.reader.control())
        return registry

    def reloaded_registry(self) -> Registry:
        """The registry as the next process would find it."""
        return self._new_registry()

    def on_loop(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run something on the application's own event loop."""
        with self.client.portal() as portal:
            return portal.call(call)

    @property
    def admin(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}

    def create_tenant(self, slug: str = "first-bank") -> dict[str, Any]:
        body = {"slug": slug, "name": "First Bank"}
        return content_of_201(self.client.post("/api/admin/tenants", json=body, headers=self.admin))

    def create_program(self, tenant: dict[str, Any], **over: Any) -> dict[str, Any]:
        body = {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"} | over
        return content_of_201(self.client.post("/api/admin/programs", json=body, headers=self.admin))

    def operator(self, tenant: dict[str, Any], name: str = "ann") -> dict[str, str]:
        return {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": name}

    def key(self, tenant: dict[str, Any], **over: Any) -> dict[str, str]:
        """The headers of a new key: a live one of the whole tenant, unless told otherwise."""
        answer = self.client.post("/api/keys", json={"name": "k", "mode": "live"} | over, headers=self.operator(tenant))
        return {"Authorization": f"Bearer {content_of_201(answer)['secret']}"}

    def deliver(self, program: dict[str, Any], body: bytes, **headers: str) -> Any:
        """Post a bank event as the bank would."""
        signed = {"Bank-Signature": signature(program["ingestSecret"], body)} | headers
        return self.client.post(f"/api/ingest/bank/{program['id']}", content=body, headers=signed)

    def entries(self, after: Callable[[int], int] = lambda _: 0) -> list[LogEntry]:
        """Everything in the log, shard by shard, each behind its offset."""
        return [
            entry
            for shard in range(SHARDS)
            for entry in self.reader.range(shard, after(shard), self.reader.tail(shard), count=9_999)
        ]

    def stored(self) -> tuple[int, int]:
        """How many entries the log of the programs and the control log hold."""
        streams = [*map(shard_key, range(SHARDS)), *map(control_key, self.reader.tenants())]
        with self.sync_redis.pipeline(transaction=False) as pipeline:
            for stream in streams:
                pipeline.xlen(stream)
            lengths = pipeline.execute()
        return sum(lengths[:SHARDS]), sum(lengths[SHARDS:])

    def catch_up(self, *, commit: bool = True) -> None:
        """Apply what is in the log and was not applied, and commit what came of it."""
        with self._applying:
            self._catch_up(commit=commit)

    def _catch_up(self, *, commit: bool) -> None:
        rows: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        offsets: dict[int, int] = {}
        for entry in self.entries(self.shards.applied_offset):
            self.shards.apply(entry, lambda row: rows.setdefault(type(row), []).append(row))
            offsets[entry.shard] = entry.offset
            self.progress.mark_applied(entry.shard, entry.offset)
        if commit:
            tables = row_tables(rows)
            tables = joined_by_type((tables, self.webhooks.outbox.deliveries_for(tables)))
            self._writer.commit(tables, offsets, self.clock.now())
            self.webhooks.dispatcher.rows.on_commit(tables)
            self.progress.mark_committed(offsets)
