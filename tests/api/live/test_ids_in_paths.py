"""Ids are the bank's own strings in every path, and where several programs have one, a program must be named."""

from urllib.parse import quote

import pytest

from tests.support.live_feed import DAY, LiveBank, now

ODD = ["inv/7", "a/b/c", "/leading", "trailing/", "../x", "a%2Fb", "q?x=1#y", "pay ment+1", "a//b", "%"]
WIRE_STARTED = "wire.outgoing_transfer.initiated"


@pytest.mark.parametrize("odd", ODD)
def test_given_an_id_with_a_slash_when_read_on_any_route_then_it_is_found(live_bank: LiveBank, odd: str) -> None:
    feed = live_bank.feed()
    feed.send_usual(range(2, 9), entity_id=odd, counterparty_id=odd)
    data = {"id": odd, "amount": 100, "entity_id": odd, "counterparty_id": odd, "bank_account_id": odd}
    feed.send(WIRE_STARTED, data, now() - DAY, event_id=f"ev/{odd}")
    feed.settle()

    path, query = quote(odd, safe=""), f"?programId={feed.id}"
    found = {
        name: live_bank.get(f"/api/{route}/{path}{query}")["id"]
        for name, route in (
            ("transfer", "transfers"),
            ("entity", "entities"),
            ("counterparty", "counterparties"),
            ("entity report", "reports/actor/entity"),
            ("counterparty report", "reports/actor/counterparty"),
        )
    }
    assert found == dict.fromkeys(found, odd)
    assert feed.event(f"ev/{odd}")["subject"] == {"type": "transfer", "id": odd}
    for kind in ("entities", "counterparties"):
        assert live_bank.call("GET", f"/api/{kind}/{path}/export{query}").status_code == 200


@pytest.mark.parametrize(
    "route",
    [
        *("transfers/same", "entities/same", "counterparties/same", "events/same", "entities/same/export"),
        *("counterparties/same/export", "reports/actor/entity/same", "reports/actor/counterparty/same"),
    ],
)
def test_given_an_id_of_two_programs_when_read_without_naming_one_then_the_program_is_required(
    live_bank: LiveBank, route: str
) -> None:
    for _ in range(2):
        feed = live_bank.feed()
        data = {"id": "same", "amount": 5_000, "entity_id": "same", "counterparty_id": "same"}
        feed.send(WIRE_STARTED, data, now(), event_id="same")
        feed.settle()

    answer = live_bank.call("GET", f"/api/{route}")

    assert (answer.status_code, answer.json()["code"]) == (400, "program_required")
    assert live_bank.call("GET", f"/api/{route}?programId={feed.id}").status_code == 200
