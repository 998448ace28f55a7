"""The scorecards of the tenant of these tests."""

from typing import Any

import pytest

from tests.support.running_app import RunningApp
from tests.support.scorecard_calls import ScorecardCalls


@pytest.fixture
def cards(api: RunningApp, tenant: dict[str, Any]) -> ScorecardCalls:
    return ScorecardCalls(api, tenant)
