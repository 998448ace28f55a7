"""An application beside a simulated scan index, for a module of tests; a tenant with a program of agents for each."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any, Final

import httpx
import pytest

from clearhold.demo.scan_index import ScanIndex
from clearhold.store.redis_log.connect import EmbeddedRedis
from tests.support.running_app import RunningApp

_NUMBERS: Final = count(1)


class Agents:
    """One tenant's program of agents, and the index that it imports from."""

    def __init__(self, api: RunningApp, index: ScanIndex) -> None:
        self.api, self.index = api, index
        self.tenant: dict[str, Any] = api.create_tenant(f"bank-{next(_NUMBERS)}")
        self.program = api.create_program(self.tenant, slug="agents", name="Agents")
        self.headers = api.operator(self.tenant)

    def get(self, path: str, **params: str) -> httpx.Response:
        return self.api.client.get(path, params=params, headers=self.headers)

    def post(self, path: str = "/api/agents/import", *, body: object = None, **headers: str) -> httpx.Response:
        return self.api.client.post(path, json=body, headers=self.headers | headers)

    def run_import(self, body: object = None) -> dict[str, Any]:
        """Import, and return the counters without the program's id."""
        answer = self.post(body=body)
        assert answer.status_code == 200, answer.text
        counters: dict[str, Any] = answer.json()
        assert counters.pop("programId") == self.program["id"]
        return counters

    def listed(self, **params: str) -> list[str]:
        """The entity ids in one part of the list."""
        return [agent["entityId"] for agent in self.get("/api/agents", **params).json()]

    def counts(self) -> tuple[int, int, int]:
        """Transfers, counterparties and counterparties that are agents, of an import now."""
        counters = self.run_import()
        return counters["transfers"], counters["counterparties"], counters["agentCounterparties"]

    def agent(self, entity_id: str) -> dict[str, Any]:
        answer = self.get(f"/api/agents/{entity_id}")
        assert answer.status_code == 200, answer.text
        agent: dict[str, Any] = answer.json()
        return agent

    def state(self) -> dict[str, Any]:
        """What is said of the last import."""
        state: dict[str, Any] = self.get("/api/agents/import").json()
        return state

    def transfer(self, transfer_id: str) -> dict[str, Any]:
        answer = self.get(f"/api/transfers/{transfer_id}")
        assert answer.status_code == 200, answer.text
        transfer: dict[str, Any] = answer.json()
        return transfer


@pytest.fixture(scope="module")
def app_and_index(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[RunningApp, ScanIndex]]:
    folder = tmp_path_factory.mktemp("agents")
    with ExitStack() as opened:
        index = opened.enter_context(ScanIndex())
        server = EmbeddedRedis(folder)
        server.start()
        opened.callback(server.stop)
        yield RunningApp(folder, server.socket_path, opened, scan_index_url=index.url), index


@pytest.fixture
def agents(app_and_index: tuple[RunningApp, ScanIndex]) -> Agents:
    """A new tenant, and an index that is empty and well."""
    api, index = app_and_index
    index.reset()
    api.slept.clear()
    return Agents(api, index)
