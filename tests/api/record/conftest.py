"""A tenant whose chain has five decisions."""

from typing import Any, Final

import pytest

from tests.support.alerting import an_alert, decide
from tests.support.running_app import RunningApp

DECISIONS: Final = ("close", "hold", "escalate", "no_action", "close")


@pytest.fixture
def decided(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> list[dict[str, Any]]:
    """The dispositions as the decisions returned them."""
    made = []
    for number, decision in enumerate(DECISIONS):
        alert = an_alert(api, tenant, program, f"acht_{number}")
        answer = decide(api, api.operator(tenant), alert["id"], decision, f"Explained by letter № {number}.")
        assert answer.status_code == 201, answer.text
        made.append(answer.json())
        api.clock.advance(60_000_000)
    return made
