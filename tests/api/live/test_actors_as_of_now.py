"""The score of an actor is computed when it is read: points fade with time, and observations count up to now."""

from typing import Any

import pytest

from tests.support.live_feed import DAY, WIRE, WORDS, Data, LiveFeed, now, reason_ids

USUAL = {"entityId": "enti_1", "counterpartyId": "cpty_usual", "amountCents": "10050"}


def pay_much_to_germany(feed: LiveFeed, days_ago: int) -> None:
    """A history of small wires, and one wire of 49,850.00 to a new payee that is held."""
    feed.send_usual(range(days_ago + 1, days_ago + 36))
    big = {"id": "wire_big", "amount": 4_985_000, "entity_id": "enti_1", "counterparty_id": "cpty_new"}
    feed.send(WIRE, big | {"beneficiary_address": {"country_code": "DE"}}, now() - days_ago * DAY)
    feed.settle()
    assert feed.transfer("wire_big")["scoreBand"] == "hold"


def release_alerts(feed: LiveFeed) -> None:
    for alert in feed.alerts(transferId="wire_big", status="held"):
        feed.bank.post(f"/api/alerts/{alert['id']}/decide", {"decision": "release", "narrative": WORDS})


def label_ok(feed: LiveFeed) -> None:
    label = {"transferId": "wire_big", "programId": feed.id, "label": "ok", "reason": "The customer is known."}
    feed.bank.post("/api/labels", label)


def clear_hold(feed: LiveFeed) -> None:
    clear = {"programId": feed.id, "type": "clear_hold", "targetType": "transfer", "targetId": "wire_big"}
    assert feed.bank.post("/api/actions", clear)["status"] == "executed"


def halved(points: int, days: float) -> float:
    """Points after some days, halved every 14 days."""
    return float(points * 0.5 ** (days / 14))


@pytest.mark.parametrize("days_ago", [30, 45, 80])
def test_given_a_held_wire_long_ago_when_nothing_came_since_then_the_entity_is_clear_by_time_alone(
    feed: LiveFeed, days_ago: int
) -> None:
    pay_much_to_germany(feed, days_ago)
    points = feed.transfer("wire_big")["score"]

    answer, current, proof = (
        feed.ask(**USUAL),
        feed.actor("entity", "enti_1")["current"],
        feed.proof("entity", "enti_1"),
    )

    assert (answer["decision"], answer["limitsHit"]) == ("clear", [])
    assert int(halved(points, days_ago + 1)) <= current["score"] <= halved(points, days_ago) + 0.5
    assert (current["band"], proof["band"]) == ("clear", "clear")
    assert (proof["score"], proof["n"]) == (current["score"], current["n"])


def test_given_a_held_wire_of_yesterday_when_nobody_explained_it_then_the_entity_is_in_hold(feed: LiveFeed) -> None:
    pay_much_to_germany(feed, 1)

    answer = feed.ask(**USUAL)

    assert answer["decision"] == "hold"
    assert {hit["band"] for hit in answer["limitsHit"]} == {"hold"}
    assert feed.proof("entity", "enti_1")["band"] == "hold"


@pytest.mark.parametrize("explain", [release_alerts, label_ok, clear_hold])
def test_given_a_held_wire_of_yesterday_when_a_person_explains_it_then_its_points_end(
    feed: LiveFeed, explain: Any
) -> None:
    pay_much_to_germany(feed, 1)

    explain(feed)

    answer, current = feed.ask(**USUAL), feed.actor("entity", "enti_1")["current"]
    assert (answer["decision"], answer["limitsHit"]) == ("clear", [])
    assert (current["score"], current["band"]) == (0, "clear")
    assert feed.proof("entity", "enti_1")["score"] == 0


def test_given_a_wire_labelled_ok_when_it_is_then_labelled_bad_then_its_points_are_back(feed: LiveFeed) -> None:
    pay_much_to_germany(feed, 1)
    label_ok(feed)

    bad = {"transferId": "wire_big", "programId": feed.id, "label": "bad", "reason": "It was a fraud."}
    feed.bank.post("/api/labels", bad)

    assert feed.actor("entity", "enti_1")["current"]["band"] == "hold"


def test_given_two_held_wires_when_one_is_explained_then_the_other_ones_points_stand(feed: LiveFeed) -> None:
    pay_much_to_germany(feed, 9)
    second = {"id": "wire_second", "amount": 7_000_000, "entity_id": "enti_1", "counterparty_id": "cpty_other"}
    feed.send(WIRE, second | {"beneficiary_address": {"country_code": "FR"}}, now() - 8 * DAY)
    feed.settle()
    points = feed.transfer("wire_second")["score"]

    label_ok(feed)

    current = feed.actor("entity", "enti_1")["current"]
    assert points > 30
    assert int(halved(points, 9)) <= current["score"] <= halved(points, 7) + 0.5


def test_given_an_explained_wire_when_everything_is_rescored_then_its_points_stay_away(feed: LiveFeed) -> None:
    pay_much_to_germany(feed, 1)
    label_ok(feed)

    feed.bank.post(f"/api/skoor/backfill/{feed.id}")
    feed.bank.post(f"/api/skoor/actors/backfill/{feed.id}")

    assert feed.actor("entity", "enti_1")["current"]["score"] == 0
    assert feed.ask(**USUAL)["limitsHit"] == []


@pytest.mark.parametrize(("kind", "actor_id"), [("counterparty", "cpty_usual"), ("entity", "enti_1")])
def test_given_clean_transfers_for_months_when_an_actor_is_read_then_all_of_them_are_observations(
    feed: LiveFeed, kind: str, actor_id: str
) -> None:
    feed.send_usual(range(1, 61))
    feed.settle()

    current, proof = feed.actor(kind, actor_id)["current"], feed.proof(kind, actor_id)

    assert (current["n"], current["confidence"]) == (60, 0.75)
    assert (proof["n"], proof["confidence"]) == (60, 0.75)


def test_given_transfers_older_than_90_days_when_an_entity_is_read_then_they_are_no_observations(
    feed: LiveFeed,
) -> None:
    feed.send_usual(range(70, 121))
    feed.settle()

    current = feed.actor("entity", "enti_1")["current"]

    assert current["n"] in (20, 21)  # days 70 to 89, and day 90 until its own time of day has passed


@pytest.mark.parametrize(("first", "wanted"), [(3, "CRS-CPY-01"), (12, "CRS-CPY-02"), (40, None)])
def test_given_a_payee_that_was_new_once_when_it_is_read_then_it_is_as_new_as_it_is_now(
    feed: LiveFeed, first: int, wanted: str | None
) -> None:
    feed.send_usual([first] * 4)
    feed.settle()

    reasons = reason_ids(feed.actor("counterparty", "cpty_usual")["current"]["reasons"])

    assert [reason for reason in reasons if reason.startswith("CRS-CPY-0")] == ([wanted] if wanted else [])


@pytest.mark.parametrize(("days_ago", "wanted"), [(10, True), (70, False)])
def test_given_debits_that_came_back_as_unauthorized_when_60_days_are_over_then_they_accuse_nobody(
    feed: LiveFeed, days_ago: int, *, wanted: bool
) -> None:
    feed.send_usual(range(days_ago + 1, days_ago + 9))
    for number in range(2):
        debit = {"id": f"acht_{number}", "type": "DEBIT", "amount": 5_000, "entity_id": "enti_1"}
        debit |= {"counterparty_id": f"cpty_{number}", "is_incoming": False}
        feed.send("ach.outgoing_transfer.settled", debit | {"status": "SETTLED"}, now() - (days_ago + 2) * DAY)
        back: Data = {"status": "RETURNED", "return_details": [{"return_code": "R10"}]}
        back |= {"created_at": None, "updated_at": None}
        feed.send("ach.outgoing_transfer.returned", debit | back, now() - days_ago * DAY)
    feed.settle()

    reasons = reason_ids(feed.actor("entity", "enti_1")["current"]["reasons"])

    assert ("ERS-RET-02" in reasons) is wanted
