"""A hold ends with its reason, and an appeal of a held alert is held."""

from typing import Any

from tests.support.live_feed import DAY, WIRE, WORDS, LiveFeed, now


def held_alert(feed: LiveFeed) -> dict[str, Any]:
    """The alert on a wire to Iran, which is in the hold band and held by the policy."""
    feed.send_usual(range(2, 40))
    big = {"id": "wire_big", "amount": 4_985_000, "entity_id": "enti_1", "counterparty_id": "cpty_new"}
    feed.send(WIRE, big | {"beneficiary_address": {"country_code": "IR"}}, now() - DAY / 2)
    feed.settle()
    held = [alert for alert in feed.alerts(transferId="wire_big") if alert["bandAtAlert"] == "hold"]
    assert held
    assert {alert["status"] for alert in held} == {"held"}
    return held[0]


def test_given_a_held_alert_when_the_hold_of_its_transfer_is_cleared_then_the_hold_ends_and_both_name_each_other(
    feed: LiveFeed,
) -> None:
    alert = held_alert(feed)

    clear = {"programId": feed.id, "alertId": alert["id"], "type": "clear_hold"}
    action = feed.bank.post("/api/actions", clear | {"targetType": "transfer", "targetId": "wire_big"})

    assert action["status"] == "executed"
    assert "held" not in {each["status"] for each in feed.alerts(transferId="wire_big")}
    shown = feed.bank.get(f"/api/alerts/{alert['id']}")
    assert alert["id"] in action["releasedAlertIds"]
    assert [each["id"] for each in shown["actions"]] == [action["id"]]
    assert [each["actionId"] for each in shown["dispositions"]] == [action["id"]]


def test_given_a_closed_alert_of_the_hold_band_when_appealed_then_the_appeal_is_held(feed: LiveFeed) -> None:
    alert = held_alert(feed)
    feed.bank.post(f"/api/alerts/{alert['id']}/decide", {"decision": "close", "narrative": WORDS})

    answer = feed.bank.post(f"/api/alerts/{alert['id']}/appeal", {"reason": "The customer objects to the decision."})

    appeal = feed.bank.get(f"/api/alerts/{answer['id']}")["alert"]
    assert appeal["evidence"]["appeal"]["alertId"] == alert["id"]
    assert (appeal["status"], appeal["slaTier"]) == ("held", "appeal")
