"""The console beside the API, and a person who is signed in to it."""

from typing import Any

import pytest

from tests.support.console import Browser, ConsoleApp
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
