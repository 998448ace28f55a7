"""Nothing a sender sends is swallowed: each event with a mistake has its answer, and its correction takes effect."""

from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US, SECOND_US
from tests.support.bank_events import rfc3339
from tests.support.mutated_events import Sender, find_out
from tests.support.running_app import RunningApp

CASES = 400


@pytest.mark.parametrize("seed", [1, 2])
def test_given_events_with_mistakes_when_they_are_sent_then_each_can_be_found_out_and_corrected(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], seed: int
) -> None:
    api.clock.advance(400 * DAY_US)  # The examples lie in the past then, whatever a mistake makes of their times.
    sender = Sender(api.client, program, api.operator(tenant), api.catch_up)

    def later() -> str:
        api.clock.advance(SECOND_US)
        return rfc3339(api.clock.now())

    found = find_out(sender, CASES, seed=seed, now=later)

    assert found.complaints == []
    assert sum(found.results.values()) == CASES
    assert found.results.keys() >= {"applied", "refused", "stored", "unknown", "unusable"}
    assert found.corrected_under_the_same_id > CASES / 4
