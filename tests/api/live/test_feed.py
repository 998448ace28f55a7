"""What is committed is told to readers of the feed, to each what it may see and wants."""

from datetime import timedelta

from tests.support.listening import Listener
from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now
from tests.support.running_service import RunningService
from tests.support.waiting import eventually


def send_wires(feed: LiveFeed, numbers: range, country: str = "US") -> None:
    for number in numbers:
        data = {"id": f"wire_{feed.id[:4]}_{number}", "amount": 900_000 + number, "entity_id": "enti_1"}
        data |= {"counterparty_id": "cpty_1", "beneficiary_address": {"country_code": country}}
        feed.send(WIRE, data, now() - DAY + timedelta(minutes=number))
    feed.settle()


def test_given_a_reader_when_transfers_are_scored_then_it_is_told_of_each_once_and_of_their_alerts(
    live_service: RunningService, live_bank: LiveBank, feed: LiveFeed
) -> None:
    with Listener(live_service.port, live_bank.tenant["operatorToken"], f"?programId={feed.id}") as listener:
        send_wires(feed, range(5))
        alerts = {alert["id"] for alert in feed.alerts()}
        eventually(lambda: len(listener.of("transfer.scored")) == 5)

    assert [each.data["data"]["transferId"] for each in listener.of("transfer.scored")] == [
        f"wire_{feed.id[:4]}_{number}" for number in range(5)
    ]
    assert {each.data["data"]["alertId"] for each in listener.of("alert.opened")} <= alerts
    assert listener.headers["content-type"] == "text/event-stream"
    assert listener.headers["x-accel-buffering"] == "no"
    assert listener.headers["cache-control"] == "no-store"
    assert listener.parser.retry is not None
    assert len({each.id for each in listener.events}) == len(listener.events)
