"""Timelines of transfers, alerts, parties and accounts."""

from functools import partial
from typing import Any

from tests.support.alerting import alerts_of, assign, deliver, note, outgoing, party
from tests.support.running_app import RunningApp, assert_refused

IRAN: dict[str, Any] = {"beneficiary_address": {"country_code": "IR"}}


def rows(api: RunningApp, tenant: dict[str, Any], subject: str, **query: Any) -> list[dict[str, Any]]:
    """Every row, page by page."""
    found = list[dict[str, Any]]()
    while True:
        answer = api.client.get(f"/api/timeline/{subject}", params=query, headers=api.operator(tenant))
        assert answer.status_code == 200, answer.text
        found += answer.json()["data"]
        if not answer.json()["hasMore"]:
            return found
        query["cursor"] = answer.json()["nextCursor"]


def close(api: RunningApp, tenant: dict[str, Any], alert_id: str) -> str:
    body = {"decision": "close", "narrative": "The bank explained this transfer to us."}
    path = f"/api/alerts/{alert_id}/decide"
    answer = api.client.post(path, json=body, headers=api.operator(tenant))
    assert answer.status_code == 201, answer.text
    api.catch_up()
    disposition_id: str = answer.json()["id"]
    return disposition_id


def note_and_assign(api: RunningApp, tenant: dict[str, Any], alert_id: str) -> list[str]:
    """The sentences of these rows, newest first."""
    steps = [
        ("Note by ann.", partial(note, api, api.operator(tenant), alert_id)),
        ("Alert assigned to bob by ann.", partial(assign, api, api.operator(tenant), alert_id, "bob")),
        ("Alert unassigned by ann.", partial(assign, api, api.operator(tenant), alert_id, None)),
    ]
    for _, send in steps:
        api.clock.advance(1_000_000)
        assert send().status_code == 201
    return [sentence for sentence, _ in reversed(steps)]


def test_given_a_transfer_with_alerts_decided_and_labelled_when_read_then_each_is_a_row_newest_first(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", bank_account_id="bacc_1", **IRAN))
    waiting = [alert["id"] for alert in alerts_of(api, tenant) if alert["status"] in {"open", "pending_hold"}]
    api.clock.advance(1_000_000)
    disposition_id = close(api, tenant, waiting[0])
    api.clock.advance(1_000_000)
    body = {"transferId": "acht_1", "label": "ok", "reason": "Known.", "source": "person"}
    label = api.client.post("/api/labels", json=body, headers=api.operator(tenant))
    assert label.status_code == 201, label.text
    api.catch_up()
    noted = note_and_assign(api, tenant, waiting[0])

    everything = rows(api, tenant, "transfer/acht_1")
    found = everything[len(noted) :]

    assert [row["at"] for row in found] == sorted((row["at"] for row in found), reverse=True)
    kinds = [row["kind"] for row in found]
    assert [row["sentence"] for row in everything[: len(noted)]] == noted
    assert {row["ids"]["alertId"] for row in rows(api, tenant, "transfer/acht_1", kind="note,assigned")} == {waiting[0]}
    assert kinds[:2] == ["label", "decision"]
    assert kinds[-1] == "money"
    assert found[1]["ids"]["dispositionId"] == disposition_id
    assert found[1]["ids"]["alertId"] == waiting[0]
    assert (found[-1]["amountCents"], found[-1]["currency"], found[-1]["ids"]) == (
        "10000",
        "USD",
        {"transferId": "acht_1"},
    )
    assert found[-1]["sentence"].startswith("Outgoing ach CREDIT transfer of USD 100.00, now ")
    assert {row["ids"]["alertId"] for row in found if row["kind"] == "alert"} == {
        alert["id"] for alert in alerts_of(api, tenant)
    }
    assert next(row for row in found if row["kind"] == "score")["ids"] == {"transferId": "acht_1"}
    assert rows(api, tenant, "transfer/acht_1", limit=1) == everything
    assert rows(api, tenant, "transfer/acht_1", kind="label,decision") == found[:2]
    of_account = rows(api, tenant, "account/bacc_1")
    assert of_account == [row for row in everything if row["kind"] != "score"]
    of_alert = rows(api, tenant, f"alert/{waiting[0]}")
    assert [row["ids"]["alertId"] for row in of_alert if row["kind"] == "alert"] == [waiting[0]]
    assert {row["kind"] for row in of_alert} == {"money", "score", "alert", "decision", "label"} | {"note", "assigned"}


def test_given_an_entity_with_an_account_when_read_then_money_of_before_the_owner_was_known_is_on_its_line(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(
        api,
        program,
        outgoing("acht_1", bank_account_id="bacc_1", **IRAN),
        party("identity", "enti_1", name="Ada Example", type="PERSON", status="VERIFIED"),
        party("account", "bacc_1", entity_id="enti_1", account_number="744-5678-99", type="checking", status="open"),
        *(outgoing(f"acht_{number}", bank_account_id="bacc_1", **IRAN) for number in range(2, 8)),
        outgoing("acht_9", bank_account_id="bacc_2"),
    )

    found = rows(api, tenant, "entity/enti_1", limit=3)

    money = {row["ids"]["transferId"] for row in found if row["kind"] == "money"}
    assert money == {f"acht_{number}" for number in range(1, 8)}
    assert len({str(row) for row in found}) == len(found)
    (first, *_) = [row for row in reversed(found) if row["kind"] == "score"]
    assert first["sentence"].startswith("Band of entity enti_1 changed from unscored to ")


def test_given_a_program_when_read_then_everything_on_it_is_a_row_and_nothing_of_another_program(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    deliver(api, lending, outgoing("acht_other", **IRAN))
    deliver(api, program, outgoing("acht_1", bank_account_id="bacc_1", **IRAN), outgoing("acht_2"))
    (first, *_) = [alert["id"] for alert in alerts_of(api, tenant) if alert["programId"] == program["id"]]
    api.clock.advance(1_000_000)
    disposition_id = close(api, tenant, first)

    found = rows(api, tenant, f"program/{program['id']}", limit=2)

    assert [row["at"] for row in found] == sorted((row["at"] for row in found), reverse=True)
    assert {row["ids"]["transferId"] for row in found if row["kind"] == "money"} == {"acht_1", "acht_2"}
    assert {row["ids"]["alertId"] for row in found if row["kind"] == "alert"} == {
        alert["id"] for alert in alerts_of(api, tenant) if alert["programId"] == program["id"]
    }
    assert disposition_id in {row["ids"].get("dispositionId") for row in found}
    assert {row["programId"] for row in found} == {program["id"]}
    assert len({str(row) for row in found}) == len(found)


def test_given_hostile_requests_when_read_then_each_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    other = api.create_tenant("second-bank")
    for each in (program, lending):
        deliver(api, each, outgoing("acht_1", bank_account_id="bacc_1"))
    deliver(api, program, outgoing("acht_2", bank_account_id="bacc_2"))

    def refused(path: str, status: int, word: str, owner: dict[str, Any] = tenant) -> None:
        assert_refused(api.client.get(f"/api/timeline/{path}", headers=api.operator(owner)), status, word)

    for kind, id_ in (("transfer", "acht_1"), ("account", "bacc_1")):
        refused(f"{kind}/{id_}", 400, "programId")
        found = rows(api, tenant, f"{kind}/{id_}", programId=lending["id"])
        assert {row["programId"] for row in found} == {lending["id"]}
    refused("transfer/acht_2", 404, "Unknown transfer", other)
    refused("alert/x'%20OR%201=1", 404, "Unknown alert")
    refused("bank/x", 400, "subjectType")
    refused("program/x", 400, "subjectId")
    refused(f"program/{program['id']}", 404, "Unknown program", other)
    refused(f"program/{program['id']}?programId={lending['id']}", 400, "programId")
    refused("transfer/acht_2?kind=none", 400, "kind")
    refused("transfer/acht_2?limit=101", 400, "limit")
    refused("transfer/acht_2?cursor=e30", 400, "cursor")
    first = api.client.get("/api/timeline/transfer/acht_2?limit=1", headers=api.operator(tenant)).json()
    refused(f"account/bacc_2?limit=1&cursor={first['nextCursor']}", 400, "cursor")
