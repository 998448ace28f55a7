"""A bad screening outcome opens an alert at delivery if the entity moved money in the last 90 days."""

from typing import Any

import pytest

from tests.support.live_feed import LiveFeed, now


@pytest.mark.parametrize(
    ("over", "wanted"),
    [
        ({"verification_status": "DENIED"}, True),
        ({"pep_status": "yes"}, True),
        ({"review_reasons": ["fraud_risk"]}, True),
        ({"verification_status": "VERIFIED"}, False),
    ],
)
@pytest.mark.parametrize("days_ago", [20, 100])
def test_given_a_customer_that_moved_money_when_its_screening_turns_out_bad_then_an_alert_opens_at_once(
    feed: LiveFeed, over: dict[str, Any], days_ago: int, *, wanted: bool
) -> None:
    feed.send_usual(range(days_ago, days_ago + 10))
    feed.settle()
    before = {alert["id"] for alert in feed.alerts_of_events()}

    entity = {"id": "enti_1", "type": "PERSON", "verification_status": "MANUAL_REVIEW", "created_at": None}
    feed.send("identity.verification.manual_review", entity | over, now())
    feed.settle()

    opened = [alert for alert in feed.alerts_of_events() if alert["id"] not in before]
    assert bool(opened) is (wanted and days_ago < 90)
    assert {(alert["subjectType"], alert["subjectId"]) for alert in opened} <= {("entity", "enti_1")}
