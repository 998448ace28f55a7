"""What became of bank events, as a caller reads it: result, sentence, field, what it led to, and every delivery."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

import pytest
from msgspec import json

from clearhold.features.core.log_entry import EventResult
from tests.support import bank_events as bank
from tests.support.alerting import ALERTING, deliver, outgoing
from tests.support.running_app import RunningApp, assert_refused

WIRE: Final = "wire.outgoing_transfer.initiated"


def listed(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    answer = api.client.get("/api/events", params=query, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def read(api: RunningApp, tenant: dict[str, Any], event_id: str, **query: Any) -> Any:
    return api.client.get(f"/api/events/{event_id}", params=query or None, headers=api.operator(tenant))


def a_wire(event_id: str, kind: str = WIRE, **over: Any) -> bytes:
    return bank.an_event(kind, bank.a_wire(**over), event_id=event_id)


def test_given_an_event_that_opened_an_alert_when_read_then_it_names_its_transfer_and_its_alerts(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", **ALERTING))
    alerts = api.client.get("/api/alerts", params={"transferId": "acht_1"}, headers=api.operator(tenant)).json()["data"]

    event = read(api, tenant, "evnt_acht_1").json()

    assert (event["result"], event["subject"]) == ("applied", {"type": "transfer", "id": "acht_1"})
    assert alerts
    assert {alert["id"] for alert in alerts} <= set(event["alertIds"])
    assert (event["programId"], event["type"]) == (program["id"], "ach.outgoing_transfer.initiated")
    assert [each["result"] for each in event["deliveries"]] == ["applied"]


def test_given_an_unusable_event_and_its_correction_when_read_then_the_one_that_took_effect_counts_and_both_are_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, a_wire("evnt_1", amount=9850.5))
    wrong = read(api, tenant, "evnt_1").json()
    deliver(api, program, a_wire("evnt_1", amount=985000))
    deliver(api, program, a_wire("evnt_1", amount=7))
    right = read(api, tenant, "evnt_1").json()

    assert (wrong["result"], wrong["path"], wrong["corrects"]) == ("unusable", "data.amount", False)
    assert "whole cents" in wrong["reason"]
    assert (right["result"], right["path"], right["corrects"]) == ("applied", None, True)
    assert [each["result"] for each in right["deliveries"]] == ["conflicting", "applied", "unusable"]


@pytest.mark.parametrize(
    ("kind", "data", "subject"),
    [
        (WIRE, bank.a_wire(id="wire_7"), {"type": "transfer", "id": "wire_7"}),
        (WIRE, {"id": None}, None),
        (WIRE, [], None),
        ("identity.updated", bank.an_entity(id="enti_7"), {"type": "entity", "id": "enti_7"}),
        ("counterparty.updated", bank.a_counterparty(id="cpty_7"), {"type": "counterparty", "id": "cpty_7"}),
        ("account.updated", {"id": "bacc_7", "status": "OPEN"}, {"type": "account", "id": "bacc_7"}),
        ("card.dispute.won", {"transaction_id": "crdt_7", "status": "WON"}, {"type": "transfer", "id": "crdt_7"}),
        ("loan.updated", {"id": "loan_7"}, None),
    ],
)
def test_given_an_event_under_a_used_id_then_it_has_no_effect_and_is_listed_by_what_it_names(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], kind: str, data: object, subject: Any
) -> None:
    deliver(api, program, a_wire("evnt_1", id="wire_1"))
    deliver(api, program, bank.an_event(kind, data, event_id="evnt_1"))
    (conflicting,) = listed(api, tenant, result="conflicting")
    assert conflicting["subject"] == subject
    if subject is not None:
        wanted = {"subjectType": subject["type"], "subjectId": subject["id"]}
        assert [each["result"] for each in listed(api, tenant, **wanted)] == ["conflicting"]


@pytest.mark.parametrize(
    ("body", "result", "path"),
    [
        (a_wire("evnt_1", kind="sepa.outgoing_transfer.initiated"), "unknown", "type"),
        (a_wire("evnt_1", kind=WIRE.upper()), "unknown", "type"),
        (a_wire("evnt_1", amount=-985000), "unusable", "data.amount"),
        (a_wire("evnt_1", amount=None), "unusable", "data.amount"),
        (a_wire("evnt_1", id=None), "unusable", "data.id"),
        (bank.an_event(WIRE, None, event_id="evnt_1"), "unusable", "data"),
        (bank.an_event(WIRE, {}, event_id="evnt_1"), "unusable", "data.id"),
        (a_wire("evnt_1", kind="wire.outgoing_tranfer.initiated", id="w1"), "stored", "type"),
        (a_wire("evnt_1", kind="wire.outgoing_tranfer.initiated"), "applied", "type"),
        (a_wire("evnt_1", currency_code="EURO"), "applied", "data.currency_code"),
        (a_wire("evnt_1", created_at="2036-01-01T00:00:00Z"), "applied", "data.created_at"),
    ],
)
def test_given_a_senders_mistake_when_the_event_is_read_then_result_and_field_say_what_became_of_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], body: bytes, result: str, path: str
) -> None:
    deliver(api, program, body)

    event = read(api, tenant, "evnt_1").json()

    assert (event["result"], event["path"]) == (result, path)
    assert event["reason"]


def test_given_events_of_several_results_when_listed_then_filters_narrow_and_pages_meet(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="lending")
    for number in range(7):
        deliver(api, program, a_wire(f"evnt_{number}", id=f"wire_{number}", amount=1 if number % 2 else 1.5))
        api.clock.advance(1_000)
    deliver(api, other, a_wire("evnt_other", kind="sepa.x.y"))

    everything = listed(api, tenant)
    paged: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 3}
    while True:
        page = api.client.get("/api/events", params=query, headers=api.operator(tenant)).json()
        paged += page["data"]
        if page["nextCursor"] is None:
            break
        query["cursor"] = page["nextCursor"]

    assert [each["id"] for each in everything] == ["evnt_other", *(f"evnt_{number}" for number in range(6, -1, -1))]
    assert paged == everything
    assert [each["id"] for each in listed(api, tenant, result="unknown")] == ["evnt_other"]
    assert len(listed(api, tenant, result="unknown,unusable")) == 5
    assert len(listed(api, tenant, programId=program["id"], result="applied")) == 3
    assert len(listed(api, tenant, **{"from": everything[2]["receivedAt"]})) == 3


def test_given_events_about_several_things_when_filtered_by_subject_then_only_theirs_of_this_tenant_are_listed(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant(slug="other")
    deliver(api, api.create_program(other, slug="payroll"), a_wire("evnt_theirs", id="wire_1"))
    for number in range(3):
        deliver(api, program, a_wire(f"evnt_{number}", id=f"wire_{number}"))
    deliver(
        api, program, a_wire("evnt_again", kind="wire.outgoing_transfer.completed", id="wire_1", status="COMPLETED")
    )
    deliver(api, program, a_wire("evnt_nothing", id=None))

    def ids(**query: str) -> list[str]:
        return [each["id"] for each in listed(api, tenant, **query)]

    assert ids(subjectId="wire_1") == ["evnt_again", "evnt_1"]
    assert ids(subjectId="wire_0,wire_2") == ["evnt_2", "evnt_0"]
    assert ids(subjectType="transfer") == ["evnt_again", "evnt_2", "evnt_1", "evnt_0"]
    assert ids(subjectType="entity", subjectId="wire_1") == []
    assert [each["id"] for each in listed(api, other, subjectId="wire_1")] == ["evnt_theirs"]
    first = api.client.get("/api/events", params={"subjectId": "wire_1", "limit": 1}, headers=api.operator(tenant))
    query = {"subjectId": "wire_1", "limit": 1, "cursor": first.json()["nextCursor"]}
    second = api.client.get("/api/events", params=query, headers=api.operator(tenant)).json()
    assert ([each["id"] for each in second["data"]], second["nextCursor"]) == (["evnt_1"], None)
    refused = api.client.get("/api/events", params=query | {"subjectId": "wire_2"}, headers=api.operator(tenant))
    assert_refused(refused, 400, "cursor")
    unknown = api.client.get("/api/events", params={"subjectType": "alert"}, headers=api.operator(tenant))
    assert_refused(unknown, 400, "subjectType")


def test_given_one_event_id_on_two_programs_when_read_then_the_program_must_be_named(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="lending")
    for each in (program, other):
        deliver(api, each, a_wire("evnt_1"))

    assert_refused(read(api, tenant, "evnt_1"), 400, "programId")
    assert read(api, tenant, "evnt_1", programId=other["id"]).json()["programId"] == other["id"]
    assert_refused(read(api, tenant, "evnt_2"), 404, "a moment later")


@pytest.mark.parametrize("offset", ["x", "-1", "9" * 30, "9" * 19, ""])
def test_given_a_cursor_with_a_strange_offset_when_it_is_used_then_400(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], offset: str
) -> None:
    deliver(api, program, a_wire("evnt_1"), a_wire("evnt_2", kind="x.y"))
    page = api.client.get("/api/events", params={"limit": 1}, headers=api.operator(tenant)).json()
    version, filters, place = json.decode(urlsafe_b64decode(page["nextCursor"] + "==="))
    cursor = urlsafe_b64encode(json.encode([version, filters, [place[0], offset, place[2]]])).rstrip(b"=").decode()

    answer = api.client.get("/api/events", params={"limit": 1, "cursor": cursor}, headers=api.operator(tenant))

    assert_refused(answer, 400, "cursor")


def test_given_the_results_then_each_can_be_asked_for(api: RunningApp, tenant: dict[str, Any]) -> None:
    assert listed(api, tenant, result=",".join(EventResult)) == []


def test_given_an_unusable_event_when_read_then_the_banks_object_is_there_as_sent_and_masked(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, a_wire("evnt_1", amount=9850.5, account_number="123456789012"))

    raw = read(api, tenant, "evnt_1").json()["raw"]

    assert raw["amount"] == 9850.5
    assert "123456789012" not in str(raw)
    assert "9012" in raw["account_number"]


def test_given_an_event_whose_data_is_no_object_when_read_then_nothing_of_it_is_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, json.encode(json.decode(a_wire("evnt_1")) | {"data": ["x"]}))

    assert read(api, tenant, "evnt_1").json()["raw"] == {}
