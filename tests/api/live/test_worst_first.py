"""The worst alerts are due first and listed first, whatever order they came in."""

from datetime import datetime, timedelta
from itertools import pairwise

from tests.support.live_feed import DAY, WIRE, LiveFeed, now


def many_alerts(feed: LiveFeed) -> None:
    """Hard and soft alerts; hard ones open first, in the middle and last."""
    feed.send_usual(range(3, 40))
    begin = now() - DAY
    parties = ("IR", "US", "DE", "KP", "VN", "US", "DE", "VN", "IR")
    for number, country in enumerate(parties):
        data = {"id": f"wire_{number}", "amount": 900_000 + number, "entity_id": f"enti_{number % 3}"}
        data |= {"counterparty_id": f"cpty_{number}", "beneficiary_address": {"country_code": country}}
        feed.send(WIRE, data, begin + timedelta(minutes=7 * number))
    feed.settle()


def test_given_hard_and_soft_alerts_when_listed_then_no_hard_or_held_one_is_behind_a_lower_one(feed: LiveFeed) -> None:
    many_alerts(feed)

    alerts = [alert for alert in feed.alerts() if alert["status"] in {"open", "held", "escalated"}]

    ranks = [(alert["hardSignal"] or alert["bandAtAlert"] == "hold") for alert in alerts]
    assert {True, False} <= set(ranks)
    assert all(first >= second for first, second in pairwise(ranks)), [
        (alert["detector"], alert["severity"], alert["hardSignal"], alert["bandAtAlert"]) for alert in alerts
    ]


def test_given_hard_and_soft_alerts_when_opened_then_hard_ones_are_due_by_the_standard_clock(feed: LiveFeed) -> None:
    many_alerts(feed)

    tiers: dict[tuple[bool, str], set[tuple[str, timedelta]]] = {}
    for alert in feed.alerts():
        if alert["status"] == "auto_closed":
            continue
        hours = datetime.fromisoformat(alert["dueAt"]) - datetime.fromisoformat(alert["openedAt"])
        tiers.setdefault((alert["hardSignal"], alert["severity"]), set()).add((alert["slaTier"], hours))

    hard = set().union(*(found for (is_hard, _), found in tiers.items() if is_hard))
    soft_high = set().union(*(found for key, found in tiers.items() if key == (False, "high")))
    assert hard == {("standard", timedelta(hours=24))}
    assert soft_high == {("complex", timedelta(hours=72))}
