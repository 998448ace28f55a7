"""Daily rates are a policy like any other, and a pre-flight counts at them."""

from typing import Any, Final

from tests.api.policies.test_activation import in_force, listed, write
from tests.support.running_app import RunningApp, assert_refused


def a_rate(**over: Any) -> dict[str, Any]:
    return {"currency": "EUR", "day": "2026-03-02", "rate": "1.0871"} | over


INVALID: Final = (
    ("fx-v1", {"rates": [a_rate(currency="Euro")]}, "body.rates[0].currency must"),
    ("fx-v1", {"rates": [a_rate(), a_rate(currency="USD")]}, "body.rates[1].currency must be another currency"),
    ("fx-v1", {"rates": [a_rate(currency="XXX")]}, "body.rates[0].currency must be another currency"),
    ("fx-v1", {"rates": [a_rate(day="2026-02-30")]}, "body.rates[0].day must be a date"),
    ("fx-v1", {"rates": [a_rate(rate="0.000")]}, "body.rates[0].rate must be more than 0"),
    ("fx-v1", {"rates": [a_rate(rate="1,08")]}, "body.rates[0].rate must"),
    ("fx-v1", {"rates": [a_rate(rate="-1")]}, "body.rates[0].rate must"),
    ("fx-v1", {"rates": [a_rate(rate=1.08)]}, "body.rates[0].rate must be a string"),
    ("fx-v1", {"rates": [a_rate(), a_rate(rate="2")]}, "body.rates[1] must be each currency once a day"),
    ("fx-v1", {"rates": [a_rate()] * 2_001}, "body.rates must have at most 2000 items"),
)


def test_given_rates_that_break_a_rule_when_written_then_400_names_it(api: RunningApp, tenant: dict[str, Any]) -> None:
    for version, body, sentence in INVALID:
        assert_refused(write(api, tenant, version, body), 400, sentence)
    assert_refused(write(api, tenant, "fx-v2", {"rates": []}), 409, "the next one is fx-v1")


def test_given_rates_when_two_people_put_them_in_force_then_a_pre_flight_counts_at_them_and_names_them(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    transfer = {"rail": "intl_wire", "direction": "outgoing", "amountCents": "900000", "currency": "EUR"}
    body = {"programId": program["id"], "transfer": transfer}

    before = api.client.post("/api/preflight", json=body, headers=api.operator(tenant)).json()
    in_force(api, tenant, "fx-v1", {"rates": [a_rate()]})
    after = api.client.post("/api/preflight", json=body, headers=api.operator(tenant)).json()

    assert "amount_not_in_usd" in before["degradedReasons"]
    assert "amount_not_in_usd" not in after["degradedReasons"]
    assert (before["usdRate"], after["usdRate"]) == (None, a_rate() | {"version": "fx-v1"})
    assert listed(api, tenant)["fx-v1"]["body"] == {"rates": [a_rate()]}
