"""Statistics of pre-flights: repeats count once, labels grade, callers see their own programs."""

from typing import Any, Final

from clearhold.api.preflight.service import to_stats
from clearhold.features.core.instants import DAY_US
from clearhold.store.duck.inputs import PreflightCounts
from tests.support.alerting import deliver, outgoing
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import RunningApp, assert_refused

PLAIN: Final[dict[str, Any]] = {
    "rail": "ach",
    "direction": "outgoing",
    "type": "CREDIT",
    "amountCents": "10000",
    "counterpartyId": "cpty_1",
}
HELD: Final = PLAIN | {"counterpartyId": "cpty_2", "counterparty": {"name": "Far Supplies", "countryCode": "IR"}}
NOTHING: Final = {
    "count": 0,
    "byDecision": {"clear": 0, "review": 0, "hold": 0},
    "latencyMs": {"p50": None, "p90": None, "n": 0},
    "matched": {"value": None, "n": 0},
    "degraded": {"value": None, "n": 0},
    "graded": {"n": 0, "holdAndBad": 0, "holdAndOk": 0, "notHoldAndBad": 0, "notHoldAndOk": 0}
    | {"holdPrecision": None, "holdRecall": None},
}


def ask(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], transfer: Any, **over: Any) -> dict[str, Any]:
    body = {"programId": program["id"], "transfer": transfer} | over
    answer = api.client.post("/api/preflight", json=body, headers=api.operator(tenant))
    assert answer.status_code in {200, 201}, answer.text
    given: dict[str, Any] = answer.json()
    return given


def stats(api: RunningApp, headers: dict[str, str], **query: Any) -> dict[str, Any]:
    api.catch_up()
    answer = api.client.get("/api/preflight/stats", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def label(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], transfer_id: str, value: str) -> None:
    body = {"transferId": transfer_id, "programId": program["id"], "label": value, "reason": "It is known."}
    assert api.client.post("/api/labels", json=body, headers=api.operator(tenant)).status_code == 201


def test_given_preflights_that_landed_and_were_labelled_when_counted_then_every_field_says_so(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    held = ask(api, tenant, program, HELD, idempotencyKey="k")
    for _ in range(3):  # Repeats are no observations.
        assert ask(api, tenant, program, HELD, idempotencyKey="k")["idempotent"]
    passed = ask(api, tenant, program, PLAIN)
    ask(api, tenant, program, PLAIN | {"amountCents": "77"})
    assert (held["decision"], passed["decision"]) == ("hold", "review")
    landed = {"at": "2026-03-02T15:00:01Z"}
    api.clock.advance(2_000_000)
    deliver(api, program, outgoing("acht_1", **landed), outgoing("acht_2", counterparty_id="cpty_2", **landed))
    label(api, tenant, program, "acht_1", "bad")
    label(api, tenant, program, "acht_2", "ok")
    label(api, tenant, program, "acht_2", "bad")

    found = stats(api, api.operator(tenant))

    assert found == {
        "windowDays": 30,
        "count": 3,
        "byDecision": {"clear": 0, "review": 2, "hold": 1},
        "latencyMs": {"p50": 0, "p90": 0, "n": 3},  # The clock stands still.
        "matched": {"value": 0.6667, "n": 3},
        "degraded": {"value": 1, "n": 3},
        "graded": {"n": 2, "holdAndBad": 1, "holdAndOk": 0, "notHoldAndBad": 1, "notHoldAndOk": 0}
        | {"holdPrecision": 1, "holdRecall": 0.5},
    }
    label(api, tenant, program, "acht_2", "ok")
    graded = stats(api, api.operator(tenant))["graded"]
    assert (graded["holdAndOk"], graded["holdPrecision"], graded["holdRecall"]) == (1, 0, 0)


def test_given_two_programs_when_counted_then_each_caller_sees_its_own(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    simulated = api.create_program(tenant, slug="simulated", source="simulated")
    other = api.create_tenant("second-bank")
    theirs = api.create_program(other, slug="theirs")
    ask(api, tenant, program, PLAIN)
    for _ in range(2):
        ask(api, tenant, simulated, PLAIN)
    for _ in range(4):
        ask(api, other, theirs, PLAIN)
    operator = api.operator(tenant)

    assert stats(api, operator)["count"] == 1
    assert stats(api, operator, programId=simulated["id"])["count"] == 2
    both = {"programId": f"{program['id']},{simulated['id']}"}
    assert_refused(api.client.get("/api/preflight/stats", params=both, headers=operator), 400)
    assert stats(api, api.key(tenant))["count"] == 1
    assert stats(api, api.key(tenant, mode="test"))["count"] == 2
    assert stats(api, api.key(tenant, programId=program["id"], scopes=["preflight"]))["count"] == 1
    for headers, program_id, status in (
        (operator, theirs["id"], 404),
        (operator, UNKNOWN_ID, 404),
        (api.key(tenant), simulated["id"], 403),
        (api.key(tenant, scopes=["labels"]), program["id"], 403),
    ):
        refused = api.client.get("/api/preflight/stats", params={"programId": program_id}, headers=headers)
        assert_refused(refused, status)


def test_given_days_when_counted_then_the_window_is_so_long_and_nothing_is_null_not_zero(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    ask(api, tenant, program, PLAIN)
    operator = api.operator(tenant)
    api.clock.advance(DAY_US)
    assert stats(api, operator, days=1)["count"] == 1
    api.clock.advance(1)

    assert stats(api, operator, days=1) == NOTHING | {"windowDays": 1}
    assert stats(api, operator, days=2)["count"] == stats(api, operator, days=365)["count"] == 1


def test_given_days_that_are_none_when_counted_then_400(api: RunningApp, tenant: dict[str, Any]) -> None:
    for days in ("0", "366", "-1", "1.5", "", "x", "1e1"):
        answer = api.client.get("/api/preflight/stats", params={"days": days}, headers=api.operator(tenant))
        assert_refused(answer, 400, "days")


def test_given_a_quantile_between_two_waits_when_told_then_its_decimals_are_few() -> None:
    counts = PreflightCounts(43, 43, 0, 0, 0, 0, 2.0, 2.8000000000000043, 0, 0, 0, 0)
    latency = to_stats(counts, days=30).latency_ms
    assert (latency.p50, latency.p90, latency.n) == (2.0, 2.8, 43)
