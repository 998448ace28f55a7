"""The configuration of the tenant of these tests."""

from typing import Any

import pytest

from tests.support.config_calls import ConfigCalls
from tests.support.running_app import RunningApp


@pytest.fixture
def config(api: RunningApp, tenant: dict[str, Any]) -> ConfigCalls:
    return ConfigCalls(api, tenant)
