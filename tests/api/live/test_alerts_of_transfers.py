"""An alert is found by every transfer that it rests on, and a transfer names its alerts."""

from datetime import timedelta

import pytest

from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now


def assert_found_both_ways(feed: LiveFeed) -> set[str]:
    """Each transfer and the alerts that rest on it name each other; the detectors of these alerts are returned."""
    alerts = {alert["id"]: alert for alert in feed.alerts()}
    detectors = set()
    for transfer_id, transfer in feed.transfers().items():
        covering = {
            id_
            for id_, alert in alerts.items()
            if transfer_id in {alert["transferId"], *alert["evidence"].get("restsOn", ())}
        }
        found = {alert["id"] for alert in feed.alerts(transferId=transfer_id)}
        assert found == covering, transfer_id
        assert set(transfer["alertIds"]) == covering, transfer_id
        assert transfer["scoreBand"] not in {"review", "hold"} or covering, transfer_id
        detectors |= {alerts[id_]["detector"] for id_ in covering}
    return detectors


def test_given_a_burst_to_new_payees_when_read_then_each_wire_finds_the_alerts_that_rest_on_it(feed: LiveFeed) -> None:
    feed.send_usual(range(1, 41))
    begin = now() - timedelta(hours=1)
    for number in range(8):
        data = {"id": f"wire_new_{number}", "amount": 100_000 + number, "entity_id": "enti_1"}
        feed.send(WIRE, data | {"counterparty_id": f"cpty_new_{number}"}, begin + timedelta(minutes=number))
    feed.settle()

    assert len(assert_found_both_ways(feed)) >= 2
    assert feed.transfer("wire_new_7")["scoreBand"] in {"review", "hold"}


def test_given_split_amounts_when_the_pattern_is_found_then_the_first_ones_name_the_alert_too(feed: LiveFeed) -> None:
    feed.send_usual(range(2, 12))
    for number in range(4):
        data = {"id": f"wire_{number}", "amount": 950_000 + number, "entity_id": "enti_1", "counterparty_id": "cpty_1"}
        feed.send(WIRE, data, now() - timedelta(hours=5 - number))
    feed.settle()

    assert "structuring_pattern" in assert_found_both_ways(feed)
    assert {alert["detector"] for alert in feed.alerts(transferId="wire_0")} >= {"structuring_pattern"}


@pytest.mark.parametrize(
    ("kind", "cap"),
    [
        ("per_transaction", {"capCents": "50000"}),
        ("entity_daily", {"capCents": "50000"}),
        ("entity_velocity_24h", {"capCount": 0}),
    ],
)
def test_given_a_cap_when_a_wire_crosses_it_then_the_alert_is_found_by_the_wire(
    live_bank: LiveBank, kind: str, cap: dict[str, object]
) -> None:
    feed = live_bank.feed()
    change = live_bank.post(f"/api/limits/program/{feed.id}", {"kind": kind, "note": "Agreed."} | cap)
    live_bank.post(f"/api/actions/{change['id']}/approve", {"approverId": "ben"})

    data = {"id": "wire_1", "amount": 60_000, "entity_id": "enti_1", "counterparty_id": "cpty_1"}
    feed.send(WIRE, data, now())
    feed.settle()

    assert [alert["detector"] for alert in feed.alerts(transferId="wire_1")] == ["program_limit_breach"]
    assert len(feed.transfer("wire_1")["alertIds"]) == 1


def test_given_a_transfer_of_another_program_when_its_id_is_asked_for_then_only_its_own_alerts_are_found(
    live_bank: LiveBank,
) -> None:
    feeds = [live_bank.feed(), live_bank.feed()]
    for feed in feeds:
        data = {"id": "wire_1", "amount": 60_000, "entity_id": "enti_1", "counterparty_id": "cpty_1"}
        feed.send(WIRE, data | {"beneficiary_address": {"country_code": "IR"}}, now() - DAY)
        feed.settle()

    for feed in feeds:
        assert {alert["programId"] for alert in feed.alerts(transferId="wire_1")} == {feed.id}
        assert_found_both_ways(feed)


def test_given_a_quiet_transfer_when_read_then_it_names_no_alert(feed: LiveFeed) -> None:
    feed.send_usual(range(1, 12))
    feed.settle()

    assert all(transfer["alertIds"] == [] for transfer in feed.transfers().values())
