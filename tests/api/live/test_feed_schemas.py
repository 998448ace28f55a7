"""Each event of the feed against the schema that the document has for it, and the events that no schema admits."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import httpx
import jsonschema_rs
import msgspec
import pytest

from clearhold.features.live.payloads import LiveKind
from clearhold.flows.live.positions import Position, ShardPlace
from tests.support.listening import Listener, Told
from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now
from tests.support.running_service import RunningService
from tests.support.waiting import eventually

AHEAD: Final = Position({0: ShardPlace(2**62, 1)}).id_after()
WORDS: Final = "The invoice and the contract agree with the payment."


@pytest.fixture(scope="module")
def document(live_service: RunningService) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"http://127.0.0.1:{live_service.port}/openapi.json", timeout=60).json()
    return found


@pytest.fixture(scope="module")
def held_against(document: dict[str, Any]) -> Callable[[Told], None]:
    """Holds an event against its schema. The document's objects are open; here a property more is a fault, too."""
    answer = document["paths"]["/api/live"]["get"]["responses"]["200"]["content"]["text/event-stream"]
    components = closed(document["components"]["schemas"])
    schemas = {
        name: jsonschema_rs.validator_for(schema | {"components": {"schemas": components}}, validate_formats=True)
        for name, schema in answer["x-eventSchemas"].items()
    }
    assert schemas.keys() == {*LiveKind, "resync", "end"}
    return lambda told: schemas[told.kind].validate(told.data)


def closed(node: Any) -> Any:
    if isinstance(node, list):
        return [closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    further = {"additionalProperties": False} if isinstance(node.get("properties"), dict) else {}
    return further | {name: closed(each) for name, each in node.items()}


def wires(feed: LiveFeed, count: int, country: str) -> Iterator[tuple[str, dict[str, Any], Any]]:
    for number in range(count):
        data = {"id": f"wire_{feed.id[:8]}_{number}", "amount": 900_000 + number, "entity_id": f"enti_{number % 2}"}
        data |= {"counterparty_id": f"cpty_{number}", "beneficiary_address": {"country_code": country}}
        yield WIRE, data, now() - DAY + timedelta(minutes=number)


def decide_and_act(feed: LiveFeed) -> None:
    (first, *_) = (alert for alert in feed.alerts() if alert["status"] in {"open", "held"})
    feed.bank.post(f"/api/alerts/{first['id']}/decide", {"decision": "close", "narrative": WORDS})
    action = {"programId": feed.id, "type": "freeze_account", "targetType": "account", "targetId": "bacc_1"}
    feed.bank.post("/api/actions", action)


@pytest.mark.parametrize("source", ["bank", "simulated"])
def test_given_every_kind_of_event_when_read_then_each_is_as_the_document_says(
    live_service: RunningService, live_bank: LiveBank, held_against: Callable[[Told], None], source: str
) -> None:
    feed, token = live_bank.feed(source=source), live_bank.tenant["operatorToken"]
    with Listener(live_service.port, token, f"?programId={feed.id}") as listener:
        feed.send_all(wires(feed, 30, "IR"))
        feed.settle()
        decide_and_act(feed)
        feed.bank.call("POST", f"/api/kri/snapshot/{feed.id}")
        eventually(lambda: {"kri.snapshot", "action.changed", "disposition.created"} <= kinds_of(listener))
        begin = listener.told[0].id
    with Listener(live_service.port, token, f"?programId={feed.id}", last_id=begin) as again:
        eventually(lambda: len(again.events) >= len(listener.events) - 1)

    assert kinds_of(listener) >= {kind.value for kind in LiveKind} - {"program.scored"}
    for told in (*listener.told, *again.told):
        held_against(told)
        assert told.data["kind"] == told.kind


def kinds_of(listener: Listener) -> set[str]:
    return {each.kind for each in listener.told}


def test_given_the_feeds_own_events_when_read_then_they_are_as_the_document_says(
    live_service: RunningService, live_bank: LiveBank, held_against: Callable[[Told], None]
) -> None:
    key = live_bank.post("/api/keys", {"name": "k", "mode": "live"})
    with Listener(live_service.port, key["secret"], last_id=AHEAD) as listener:
        live_bank.call("DELETE", f"/api/keys/{key['id']}")
        eventually(lambda: listener.is_done)

    assert [each.kind for each in listener.told] == ["resync", "end"]
    for told in listener.told:
        held_against(told)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("kind", "alert.moved"),
        ("at", "yesterday"),
        ("band", None),
        ("data.status", "done"),
        ("data.hardSignal", "no"),
        ("data.name", "Ada Example"),
        ("data.alertId", None),
        ("programId", "payroll"),
    ],
)
def test_given_an_event_with_a_wrong_part_then_the_schema_does_not_admit_it(
    document: dict[str, Any], held_against: Callable[[Told], None], path: str, value: Any
) -> None:
    answer = document["paths"]["/api/live"]["get"]["responses"]["200"]["content"]["text/event-stream"]
    (sent,) = re.findall(r"^data: (.+)$", answer["example"], re.MULTILINE)
    event = msgspec.json.decode(sent)
    held_against(Told("1-0", "alert.opened", event))
    part, _, name = path.rpartition(".")
    (event[part] if part else event)[name] = value

    with pytest.raises(jsonschema_rs.ValidationError):
        held_against(Told("1-0", "alert.opened", event))
