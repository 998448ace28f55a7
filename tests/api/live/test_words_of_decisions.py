"""Narratives: hard alerts need a least length, and a decision that contradicts an executed action gets a warning."""

from typing import Any

import msgspec
import pytest

from tests.support.live_feed import DAY, WIRE, WORDS, LiveFeed, now


def an_alert(feed: LiveFeed, country: str) -> dict[str, Any]:
    feed.send_usual(range(2, 12))
    data = {"id": "wire_1", "amount": 10_010, "entity_id": "enti_1", "counterparty_id": "cpty_usual"}
    feed.send(WIRE, data | {"beneficiary_address": {"country_code": country}}, now() - DAY / 2)
    feed.settle()
    hard = country in {"IR", "KP", "MM"}
    return next(alert for alert in feed.alerts(transferId="wire_1") if alert["hardSignal"] is hard)


@pytest.mark.parametrize(
    ("words", "status"), [("ok", 400), ("x" * 19, 400), ("  " + "x" * 18 + "  ", 400), (WORDS, 201)]
)
def test_given_a_hard_alert_when_decided_with_few_words_then_it_is_refused(
    feed: LiveFeed, words: str, status: int
) -> None:
    alert = an_alert(feed, "IR")

    answer = feed.bank.call("POST", f"/api/alerts/{alert['id']}/decide", {"decision": "escalate", "narrative": words})

    assert answer.status_code == status, answer.text
    if status == 400:
        assert [field["path"] for field in answer.json()["fields"]] == ["narrative"]


def test_given_a_soft_alert_when_decided_with_few_words_then_it_is_decided(feed: LiveFeed) -> None:
    alert = an_alert(feed, "VN")

    answer = feed.bank.call("POST", f"/api/alerts/{alert['id']}/decide", {"decision": "escalate", "narrative": "ok"})

    assert answer.status_code == 201, answer.text


def test_given_a_canceled_transfer_when_its_alert_is_closed_as_harmless_then_the_answer_warns(feed: LiveFeed) -> None:
    alert = an_alert(feed, "IR")
    cancel = {"programId": feed.id, "type": "cancel_transfer", "targetType": "transfer", "targetId": "wire_1"}
    action = feed.bank.post("/api/actions", cancel)
    assert action["status"] == "executed"

    answer = feed.bank.post(f"/api/alerts/{alert['id']}/decide", {"decision": "close", "narrative": WORDS})

    assert [(each["type"], each["actionId"]) for each in answer["warnings"]] == [("cancel_transfer", action["id"])]
    export = feed.bank.call("GET", "/api/record/export?kinds=disposition").content
    bodies = [msgspec.json.decode(line)["body"] for line in export.splitlines()]
    assert [body["warnings"] for body in bodies if body.get("id") == answer["id"]] == [answer["warnings"]]
