"""The results of a decision on several alerts: one for each, also of one that waits for a second person, and of a
request that is repeated after its answer was lost.
"""

from typing import Any

import pytest

from clearhold.features.core.errors import UnavailableError
from tests.support.alerting import NARRATIVE
from tests.support.running_app import RunningApp, assert_refused
from tests.support.stacking import decide_many, stacks, story, two_persons_for_hard_alerts


@pytest.mark.parametrize("route", ["alerts", "stack"])
def test_given_hard_alerts_that_wait_for_a_second_person_when_decided_again_then_each_is_refused_by_its_id(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], route: str
) -> None:
    two_persons_for_hard_alerts(api, tenant)
    hard = [alert["id"] for alert in story(api, tenant, program, "bacc_1", 2) if alert["hardSignal"]]
    (row,) = stacks(api, tenant)
    first = decide_many(api, api.operator(tenant), hard).json()
    assert first["requested"] == len(hard) > 0
    assert {result["alertId"] for result in first["results"]} == set(hard)

    if route == "alerts":
        again = decide_many(api, api.operator(tenant, "bob"), hard).json()
    else:
        body = {"decision": "close", "narrative": NARRATIVE, "alertIds": hard}
        path = f"/api/stacks/{row['id']}/decide"
        again = api.client.post(path, json=body, headers=api.operator(tenant, "bob")).json()

    results = {result["alertId"]: result["error"]["code"] for result in again["results"]}
    assert results == dict.fromkeys(hard, "change_pending")
    assert again["refused"] == len(again["results"]) == len(hard)


def test_given_an_alert_that_left_the_stack_since_a_lost_answer_when_asked_again_then_it_has_one_result(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = alerts = [alert["id"] for alert in story(api, tenant, program, "bacc_1", 2)]
    (row,) = stacks(api, tenant)
    headers = api.operator(tenant) | {"Idempotency-Key": "lost"}
    body = {"decision": "escalate", "narrative": NARRATIVE, "alertIds": alerts}
    append = api.appender.append

    async def answer_lost(*entry: Any) -> int:
        await append(*entry)
        raise UnavailableError("The answer got lost.")

    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "append", answer_lost)
        assert_refused(api.client.post(f"/api/stacks/{row['id']}/decide", json=body, headers=headers), 503)
    api.catch_up()
    split = api.client.post(f"/api/stacks/{row['id']}/split", json={"alertIds": [first]}, headers=api.operator(tenant))
    assert split.status_code == 201, split.text

    content = api.client.post(f"/api/stacks/{row['id']}/decide", json=body, headers=headers).json()

    assert sorted(result["alertId"] for result in content["results"]) == sorted(alerts)
    assert (content["decided"], content["refused"]) == (len(alerts), 0)
