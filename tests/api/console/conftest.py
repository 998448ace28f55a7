"""The console beside the API, and a person who is signed in to it."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running.bank_http import http_client
from tests.support.console import Browser, ConsoleApp
from tests.support.openid_provider import FakeOpenIdProvider
from tests.support.openid_sign_in import Wiring
from tests.support.running_app import RunningApp


@pytest.fixture
def console(api: RunningApp) -> ConsoleApp:
    return ConsoleApp(api)


@pytest.fixture
def browser(console: ConsoleApp, tenant: dict[str, Any]) -> Browser:
    """Signed in as ann with the tenant's operator token."""
    visitor = console.browser()
    assert visitor.sign_in(tenant["operatorToken"]).status_code == 303
    return visitor


@pytest.fixture
def provider(api: RunningApp) -> Iterator[FakeOpenIdProvider]:
    with FakeOpenIdProvider(lambda: api.clock.now() // SECOND_US) as running:
        yield running


@pytest.fixture
def http(api: RunningApp) -> Iterator[httpx.AsyncClient]:
    client = http_client(connections=4)
    yield client
    api.on_loop(client.aclose)


@pytest.fixture
def wiring(api: RunningApp, provider: FakeOpenIdProvider, http: httpx.AsyncClient) -> Wiring:
    return Wiring(api, provider, http)
