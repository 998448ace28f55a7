"""The rules of the tenant of these tests, and a second program of it."""

from typing import Any

import pytest

from tests.support.rule_calls import RuleCalls
from tests.support.running_app import RunningApp


@pytest.fixture
def rules(api: RunningApp, tenant: dict[str, Any]) -> RuleCalls:
    return RuleCalls(api, tenant)


@pytest.fixture
def other(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    return api.create_program(tenant, slug="lending")
