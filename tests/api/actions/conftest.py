"""One application beside a simulated bank for a module, and a tenant of its own, with a key, for every test."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from clearhold.demo.bank_api import BankApi
from clearhold.store.redis_log.connect import EmbeddedRedis
from tests.support.acting import Acting
from tests.support.running_app import RunningApp

Served = tuple[RunningApp, BankApi]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("actions")
    (folder / "redis").mkdir()
    server = EmbeddedRedis(folder / "redis")
    server.start()
    try:
        with BankApi() as bank, ExitStack() as opened:
            yield RunningApp(folder, server.socket_path, opened, bank_url=bank.url), bank
    finally:
        server.stop()


@pytest.fixture
def acting(served: Served) -> Acting:
    return Acting(*served)
