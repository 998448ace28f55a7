"""A fetcher over real stores and a simulated bank, driven round by round under a clock that a test moves."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import httpx
import msgspec
from msgspec import json

from clearhold.demo.bank_api import BankApi
from clearhold.features.core.entries.directory import DirectoryEntry
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, DirectoryRow, EntityRow
from clearhold.flows.directory.fetcher import CONCURRENT_FETCHES, DirectoryFetcher
from clearhold.flows.directory.waiting import FirstSeen
from clearhold.flows.running.bank_http import BankClient, http_client
from clearhold.store.duck.parties import DirectoryTable
from clearhold.store.tables import row_builder, row_tables, select_list
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.running_app import RunningApp

T = TypeVar("T")
Row = TypeVar("Row", bound=msgspec.Struct)

RATE = 1_000
_MAX_ROUNDS = 40
_PARTIES: Final = (("accounts", AccountRow), ("entities", EntityRow), ("counterparties", CounterpartyRow))


class Fetching:
    """``restart`` makes the fetcher of the next process, which remembers nothing."""

    def __init__(self, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], served: BankApi) -> None:
        self.api, self.tenant, self.program, self.bank = api, tenant, program, served
        self._http: httpx.AsyncClient = self._on_loop(_opened)
        self._events = 0
        self._offered: dict[str, int] = {}
        self.restart()

    def restart(self) -> None:
        api, keys = self.api, self.api.registry.tenancy.bank_keys
        self.first_seen = FirstSeen(has_key=lambda tenant_id: keys.of_tenant(tenant_id) is not None)
        self.fetcher = DirectoryFetcher(
            BankClient(self.bank.url, self._http, api.clock),
            table=DirectoryTable(api.database),
            first_seen=self.first_seen,
            keys=keys,
            appender=api.appender,
            progress=api.progress,
            clock=api.clock,
            per_second=RATE,
        )
        self.counts = self.fetcher.counts

    def close(self) -> None:
        self._on_loop(self._http.aclose)

    def put_key(self, key: str, tenant: dict[str, Any] | None = None) -> None:
        path = f"/api/admin/tenants/{(tenant or self.tenant)['id']}/bank-key"
        assert self.api.client.put(path, json={"key": key}, headers=self.api.admin).status_code == 204

    def wire(
        self, account: str = "bacc_1", counterparty: str = "cpty_1", program: dict[str, Any] | None = None
    ) -> None:
        """A wire is delivered, applied and committed."""
        self._events += 1
        data = bank.a_wire(
            id=f"wire_{self._events}",
            bank_account_id=account,
            counterparty_id=counterparty,
            beneficiary_name=None,
            beneficiary_account_number=None,
            creditor_agent_routing_number=None,
            created_at=bank.rfc3339(T0 + self._events),
        )
        data.pop("entity_id", None)
        event = {"id": f"evnt_{self._events}", "created_at": bank.rfc3339(T0)}
        body = json.encode(event | {"type": "wire.outgoing_transfer.completed", "data": data})
        assert self.api.deliver(program or self.program, body).status_code == 200
        self.api.catch_up()

    def offer(self) -> None:
        """Offer every stored party, as the commits that stored them did."""
        self._offered = {}
        self._offer_new()

    def _offer_new(self) -> None:
        """Offer the parties that were stored since, as their commit does."""
        rows: dict[type[msgspec.Struct], list[Any]] = {}
        for name, row_type in _PARTIES:
            stored: list[Any] = self.table(name, row_type)
            rows[row_type] = stored[self._offered.get(name, 0) :]
            self._offered[name] = len(stored)
        self.first_seen.offer(row_tables(rows))

    def table(self, name: str, row_type: type[Row]) -> list[Row]:
        query = f"SELECT {select_list(row_type)} FROM {name} ORDER BY rowid"  # noqa: S608 - names of the schema
        with self.api.database.cursor() as cursor:
            return [*map(row_builder(row_type), cursor.execute(query).fetchall())]

    def round(self) -> bool:
        return self._on_loop(self.fetcher.round)

    def rounds(self, *, commit: bool = True) -> None:
        """Rounds until there is nothing to do."""
        for _ in range(_MAX_ROUNDS):
            is_busy = self.round()
            if commit:
                self.api.catch_up()
                self._offer_new()
            if not is_busy:
                return
        raise AssertionError("the rounds do not end")

    @property
    def entries(self) -> list[DirectoryEntry]:
        """The directory's entries, in the order in which they were appended."""
        logged = [entry for entry in self.api.entries() if entry.kind == EntryKind.DIRECTORY]
        return [json.decode(entry.body, type=DirectoryEntry) for entry in sorted(logged, key=lambda each: each.offset)]

    @property
    def fetched(self) -> list[tuple[str, str, str]]:
        return [(entry.kind.value, entry.id, entry.result.value) for entry in self.entries]

    @property
    def recorded(self) -> list[DirectoryRow]:
        return self.table("directory", DirectoryRow)

    @property
    def asked_for(self) -> list[str]:
        return [request.path for request in self.bank.requests]

    def _on_loop(self, call: Callable[[], Awaitable[T]]) -> T:
        return self.api.on_loop(call)


async def _opened() -> httpx.AsyncClient:
    await asyncio.sleep(0)
    return http_client(connections=CONCURRENT_FETCHES)
