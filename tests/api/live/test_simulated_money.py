"""Simulated money is in no figure over a tenant, unless the caller names the simulated program."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.live_feed import WIRE, LiveBank, LiveFeed, now
from tests.support.running_service import RunningService
from tests.support.waiting import eventually


@pytest.fixture
def bank(live_service: RunningService) -> Iterator[LiveBank]:
    """A new tenant, because other tests would change its figures."""
    with closing(LiveBank(live_service)) as bank:
        yield bank


def programs(bank: LiveBank) -> tuple[LiveFeed, LiveFeed]:
    """One of the bank with a wire of 1,000.00, and a simulated one with a wire of 999,000.00."""
    live, simulated = bank.feed(), bank.feed(source="simulated")
    for feed, cents in ((live, 100_000), (simulated, 99_900_000)):
        data = {"id": f"wire_{cents}", "amount": cents, "entity_id": "enti_1", "counterparty_id": "cpty_1"}
        feed.send(WIRE, data, now())
        feed.settle()
    return live, simulated


def rule_on_large(bank: LiveBank, **over: Any) -> str:
    rule_id = f"large-{bank.tenant['slug']}"
    when = [{"field": "amountCents", "op": "gte", "value": "90000"}]
    rule = {"id": rule_id, "name": "Large", "action": "hold", "severity": "high", "when": when}
    bank.post("/api/rules", rule | over)
    return rule_id


@pytest.mark.parametrize("body", [{"days": 90}, {"days": 90, "full": True}, {}])
def test_given_a_rule_for_every_program_when_backtested_then_simulated_transfers_are_left_out(
    bank: LiveBank, body: dict[str, Any]
) -> None:
    programs(bank)

    report = bank.post(f"/api/rules/{rule_on_large(bank)}/backtest", body)

    assert (report["scanned"], report["matched"], report["sampleTransferIds"]) == (1, 1, ["wire_100000"])
    assert "simulated" not in report


def test_given_a_rule_for_every_program_when_its_activation_is_requested_then_the_approver_sees_real_money_only(
    bank: LiveBank,
) -> None:
    programs(bank)
    rule_id = rule_on_large(bank)
    bank.post(f"/api/rules/{rule_id}/backtest", {"days": 90})

    action = bank.post(f"/api/rules/{rule_id}/activate", {"note": "It was agreed."})

    assert int(action["change"]["caught"]["cents"]) == 100_000


def test_given_a_rule_of_a_simulated_program_when_backtested_then_its_money_counts_and_says_so(bank: LiveBank) -> None:
    _, simulated = programs(bank)

    report = bank.post(f"/api/rules/{rule_on_large(bank, programId=simulated.id)}/backtest", {"days": 90})

    assert (report["matched"], report["sampleTransferIds"]) == (1, ["wire_99900000"])
    assert report["simulated"] is True


def test_given_a_simulated_question_when_the_tenants_statistics_are_read_then_it_is_not_in_them(bank: LiveBank) -> None:
    live, simulated = programs(bank)
    live.ask()
    key = bank.post("/api/keys", {"name": "sandbox", "mode": "test"})["secret"]
    question = {"programId": simulated.id, "transfer": {"rail": "wire", "direction": "outgoing", "amountCents": "1"}}
    for _ in range(3):
        assert bank.call("POST", "/api/preflight", question, token=key).status_code == 201

    own = f"/api/preflight/stats?programId={simulated.id}"
    eventually(lambda: bank.get(own)["count"] == 3)
    eventually(lambda: bank.get("/api/preflight/stats")["count"] == 1)
    assert "simulated" not in bank.get("/api/preflight/stats")
    assert (bank.get(own)["count"], bank.get(own)["simulated"]) == (3, True)
    assert bank.call("GET", "/api/preflight/stats", token=key).json()["simulated"] is True


@pytest.mark.parametrize("path", ["limits/program/{}", "autonomy/{}"])
def test_given_a_simulated_program_when_a_resource_of_it_is_read_then_it_says_so_and_elsewhere_not(
    bank: LiveBank, path: str
) -> None:
    live, simulated = programs(bank)

    assert bank.get(f"/api/{path.format(simulated.id)}")["simulated"] is True
    assert "simulated" not in bank.get(f"/api/{path.format(live.id)}")


def test_given_a_simulated_customer_whose_screening_is_due_when_listed_then_it_says_so(bank: LiveBank) -> None:
    for feed in (bank.feed(), bank.feed(source="simulated")):
        feed.send_usual(range(1, 8))
        entity = {"id": "enti_1", "verification_status": "VERIFIED", "requires_screening": True}
        feed.send("identity.verification.verified", entity, now())
        feed.settle()

        listed = bank.get(f"/api/ladder/rescreen?programId={feed.id}")["data"]

        is_simulated = feed.program["source"] == "simulated"
        assert [each.get("simulated", False) for each in listed] == [is_simulated]
