"""A tenant with endpoints over real tables, a dispatcher that a test drives, and a sender that answers as scripted."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from clearhold.features.core.entries.actions import PLATFORM
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.events import WebhookDeliveryRow
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.features.webhooks.delivery import Attempt, answered, secret_of
from clearhold.features.webhooks.payloads import EventType
from clearhold.flows.webhooks.dispatcher import WebhookDispatcher
from clearhold.flows.webhooks.outbox import WebhookCounts, WebhookOutbox
from clearhold.store.control.entries import (
    ControlEntry,
    ControlKind,
    ProgramEntry,
    TenantEntry,
    WebhookChangedEntry,
    WebhookEntry,
    WebhookSecretEntry,
)
from clearhold.store.control.registry import Registry
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.duck.webhooks import StoredDelivery, WebhookDeliveries
from clearhold.store.keys import SecretBox
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import connect_async
from clearhold.store.tables import RowTables, row_tables
from tests.support.clock import FrozenClock, SequentialIds

TENANT: Final = "00000000-0000-4000-8000-00000000a001"
PROGRAM: Final = "00000000-0000-4000-8000-00000000b001"
SIMULATED: Final = "00000000-0000-4000-8000-00000000b002"
SHARDS: Final = 4
OK: Final = answered(200)
WITHIN_S: Final = 60.0


class Sent(NamedTuple):
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def delivery_id(self) -> str:
        return self.headers["Score-Delivery"]


class ScriptedSender:
    """``answer`` gives the outcome of each attempt."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.answer: Callable[[Sent], Awaitable[Attempt]] = self.accept
        self.at_once: dict[str, int] = {}
        self.most_at_once: dict[str, int] = {}

    async def accept(self, _: Sent) -> Attempt:
        return OK

    def always(self, attempt: Attempt) -> None:
        async def answer(_: Sent) -> Attempt:
            return attempt

        self.answer = answer

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        sent = Sent(url, headers, body)
        self.sent.append(sent)
        self.at_once[url] = self.at_once.get(url, 0) + 1
        self.most_at_once[url] = max(self.at_once[url], self.most_at_once.get(url, 0))
        try:
            return await self.answer(sent)
        finally:
            self.at_once[url] -= 1


class WebhookBank:
    """One tenant with two programs; opened within a running event loop."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.sender, self.new_id = FrozenClock(), ScriptedSender(), SequentialIds()
        self.box = SecretBox(bytes(range(32)))
        self.registry = self._new_registry(folder)
        self.tenancy = self.registry.tenancy
        self.add_tenant(TENANT, "first-bank", {PROGRAM: ProgramSource.BANK, SIMULATED: ProgramSource.SIMULATED})
        self.database = open_database(folder / "clearhold.duckdb")
        self.table = WebhookDeliveries(self.database)
        self._writer, self._committing = BatchWriter(self.database), threading.Lock()
        self.outbox = WebhookOutbox(self.tenancy, clock=self.clock, counts=WebhookCounts())
        self.dispatcher = self.new_dispatcher()

    async def __aenter__(self) -> Self:
        self.dispatcher.rows.attach(self.commit)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with closing(self.database):
            await self.dispatcher.stop()

    def _new_registry(self, folder: Path) -> Registry:
        """Over a log that is not there: what is to change here is applied, not written."""

        def copy(_: str) -> None:
            raise AssertionError("nothing is written")

        def read(_: str, __: int) -> Iterator[ControlEntry]:
            raise AssertionError("nothing is read")

        log = LogAppender(connect_async(folder / "redis.sock"), shards=SHARDS)
        return Registry(
            log=log, read=read, copy=copy, box=self.box, clock=self.clock, new_id=self.new_id, shards=SHARDS
        )

    def new_dispatcher(self) -> WebhookDispatcher:
        return WebhookDispatcher(
            tenancy=self.tenancy,
            table=self.table,
            sender=self.sender,  # type: ignore[arg-type]  # what it has of one
            slow_sender=self.sender,  # type: ignore[arg-type]
            disable=self.disable,
            clock=self.clock,
            counts=WebhookCounts(),
            allow_local=False,
        )

    async def restart(self) -> None:
        """A dispatcher as the next process has it, without a word from the one before."""
        await self.dispatcher.stop()
        self.dispatcher = self.new_dispatcher()
        self.dispatcher.rows.attach(self.commit)

    def commit(self, rows: RowTables) -> None:
        with self._committing:
            self._writer.commit(rows, {}, self.clock.now())
        self.dispatcher.rows.on_commit(rows)

    def add_tenant(self, tenant_id: str, slug: str, programs: Mapping[str, ProgramSource]) -> None:
        tenant = TenantEntry(
            id=tenant_id, slug=slug, name=slug, created_at=format_instant(0), operator_token_sha256=tenant_id
        )
        self._apply(tenant_id, ControlKind.TENANT, tenant)
        for program_id, source in programs.items():
            program = Program(id=program_id, tenant_id=tenant_id, slug=program_id, name="A program", source=source)
            entry = ProgramEntry(**msgspec.structs.asdict(program), sealed_ingest_secret=self.box.seal("whsec_x"))
            self._apply(tenant_id, ControlKind.PROGRAM, entry)

    def register(
        self, *events: EventType, program_id: str | None = None, tenant_id: str = TENANT, url: str | None = None
    ) -> Endpoint:
        endpoint_id = self.new_id()
        entry = WebhookEntry(
            id=endpoint_id,
            program_id=program_id,
            url=url or f"https://hooks.bank.example/{endpoint_id}",
            events=events,
            description=None,
            created_at=format_instant(self.clock.now()),
            created_by="ann",
            sealed_secret=self.box.seal(secret_of(endpoint_id[-12:].encode() * 3)),
        )
        self._apply(tenant_id, ControlKind.WEBHOOK, entry)
        return self.endpoint(endpoint_id)

    def endpoint(self, endpoint_id: str) -> Endpoint:
        endpoint = self.tenancy.webhooks.of_id(endpoint_id)
        assert endpoint is not None
        return endpoint

    def change(self, endpoint_id: str, *, enabled: bool, by: str = "ann") -> None:
        endpoint = self.endpoint(endpoint_id)
        entry = WebhookChangedEntry(
            id=endpoint.id,
            url=endpoint.url,
            events=endpoint.events,
            description=None,
            enabled=enabled,
            changed_at=format_instant(self.clock.now()),
            changed_by=by,
        )
        self._apply(endpoint.tenant_id, ControlKind.WEBHOOK_CHANGED, entry)

    async def disable(self, endpoint_id: str) -> None:
        self.change(endpoint_id, enabled=False, by=PLATFORM)

    def rotate(self, endpoint_id: str, *, until: int) -> str:
        secret, replaced = secret_of(b"new" * 11), self.endpoint(endpoint_id).secrets[0].value
        entry = WebhookSecretEntry(
            endpoint_id=endpoint_id,
            sealed_secret=self.box.seal(secret),
            sealed_replaced=self.box.seal(replaced),
            others_until=until,
        )
        self._apply(TENANT, ControlKind.WEBHOOK_SECRET, entry)
        return secret

    def waiting(self, endpoint: Endpoint, count: int, *, first: int = 0) -> list[str]:
        """So many new deliveries, a microsecond apart, committed; their ids."""
        rows = [self.delivery_row(endpoint, number) for number in range(first, first + count)]
        self.commit(row_tables({WebhookDeliveryRow: rows}))
        return [row.id for row in rows]

    def delivery_row(self, endpoint: Endpoint, number: int) -> WebhookDeliveryRow:
        return WebhookDeliveryRow(
            tenant_id=endpoint.tenant_id,
            program_id=PROGRAM,
            id=f"{endpoint.id[-4:]}0000-0000-5000-8000-{number:012x}",
            endpoint_id=endpoint.id,
            event=EventType.LABEL_RECORDED.value,
            event_id=f"00000000-0000-5000-8000-{number:012x}",
            body=f'{{"id":"{number}"}}',
            created_at=self.clock.now() - 1_000_000 + number,
        )

    def state(self, endpoint: Endpoint, delivery_id: str) -> StoredDelivery:
        stored = self.table.find(endpoint.tenant_id, endpoint.id, delivery_id)
        assert stored is not None
        return stored

    async def until(self, holds: Callable[[], object]) -> None:
        """Rounds until it holds."""
        async with asyncio.timeout(WITHIN_S):
            while not holds():
                await self.dispatcher.round()
                await asyncio.sleep(0.002)

    async def until_sent(self, count: int) -> None:
        await self.until(lambda: len(self.sender.sent) >= count)

    async def idle(self) -> None:
        """Rounds until nothing is in flight or unwritten, and a look at the tables would find nothing due."""
        for _ in range(3):
            await self.dispatcher.round()
            await asyncio.sleep(0.002)
            await self.until(lambda: not self.dispatcher._tasks and self._is_written())

    def _is_written(self) -> bool:
        exchange = self.dispatcher.rows
        tasks = (exchange._writing, exchange._taking)
        return not exchange._unwritten and all(task is None or task.done() for task in tasks)

    def _apply(self, tenant_id: str, kind: ControlKind, entry: msgspec.Struct) -> None:
        self.tenancy.apply(tenant_id, kind, msgspec.json.encode(entry), offset=0)
