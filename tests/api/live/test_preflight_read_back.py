"""A transfer matches its pre-flight within five seconds of clock difference; the stored latency is the answered one."""

from datetime import datetime, timedelta

import pytest

from tests.support.live_feed import WIRE, LiveFeed, now
from tests.support.waiting import eventually


@pytest.mark.parametrize(("seconds", "matched"), [(-3, True), (0, True), (-20, False)])
def test_given_a_bank_whose_clock_is_behind_when_the_transfer_lands_then_it_matches_within_five_seconds(
    feed: LiveFeed, seconds: int, *, matched: bool
) -> None:
    asked = feed.ask(entityId="enti_1", counterpartyId="cpty_1", amountCents="4321")

    asked_at = datetime.fromisoformat(feed.bank.get(f"/api/preflight/{asked['preflightId']}")["createdAt"])
    created = (asked_at + timedelta(seconds=seconds)).isoformat()
    data = {"id": "wire_1", "amount": 4_321, "entity_id": "enti_1", "counterparty_id": "cpty_1"}
    feed.send(WIRE, data | {"created_at": created, "updated_at": None}, now())
    feed.settle()

    detail = feed.bank.get(f"/api/preflight/{asked['preflightId']}")
    assert detail["matchedTransferId"] == ("wire_1" if matched else None)


def test_given_a_preflight_when_read_back_then_its_latency_is_the_one_that_was_answered(feed: LiveFeed) -> None:
    answers = [feed.ask(amountCents=str(1_000 + number)) for number in range(10)]

    read = [feed.bank.get(f"/api/preflight/{answer['preflightId']}") for answer in answers]

    assert [each["latencyMs"] for each in read] == [answer["latencyMs"] for answer in answers]
    path = f"/api/preflight/stats?programId={feed.id}"
    eventually(lambda: feed.bank.get(path)["count"] == len(answers))
    stats = feed.bank.get(path)["latencyMs"]
    assert stats["n"] == len(answers)
    assert min(a["latencyMs"] for a in answers) <= stats["p50"] <= max(a["latencyMs"] for a in answers)
