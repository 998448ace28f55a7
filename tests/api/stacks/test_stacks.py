"""Stacks over HTTP: one row for one story, in several orders; alerts taken out of one; many decided at once."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import httpx
import pytest

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.errors import StartupError
from clearhold.store.joining.joining import check_decisions
from tests.support.alerting import ALERTING, NARRATIVE, alerts_of, deliver, outgoing
from tests.support.running_app import SHARDS, RunningApp, assert_refused, content_of_201
from tests.support.stacking import decide_many, stacks, story

UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"


def chain_of(api: RunningApp) -> list[tuple[str, str | None, str]]:
    with api.stores.database.cursor() as cursor:
        sql = "SELECT id, prev_hash, hash FROM record_chain WHERE chain = 'dispositions' ORDER BY seq"
        return cursor.execute(sql).fetchall()


def entries_of(api: RunningApp, kind: EntryKind) -> int:
    return sum(entry.kind == kind for entry in api.entries())


def verified(api: RunningApp, tenant: dict[str, Any]) -> bool:
    answer = api.client.get("/api/record/verify", headers=api.operator(tenant)).json()
    return bool(answer["ok"])


def test_given_alerts_of_two_accounts_then_each_is_one_row_with_its_figures(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    small, large = story(api, tenant, program, "bacc_1", 1), story(api, tenant, program, "bacc_2", 3)

    rows = {row["key"]: row for row in stacks(api, tenant)}

    assert {key: row["size"] for key, row in rows.items()} == {"bacc_1": len(small), "bacc_2": len(large)}
    row = rows["bacc_2"]
    assert (row["kind"], row["words"]) == ("account", "same account bacc_2")
    assert row["who"] == {"type": "account", "id": "bacc_2", "name": None}
    assert sorted(row["alertIds"]) == sorted(alert["id"] for alert in large)
    assert {alert["stackId"] for alert in large} == {row["id"]}
    assert row["dueAt"] == min(alert["dueAt"] for alert in large)
    assert row["hardSignal"] is any(alert["hardSignal"] for alert in large)
    assert sum(row["detectors"].values()) == sum(row["statuses"].values()) == row["size"] == row["waiting"]
    assert row["programId"] == program["id"]
    assert {alert["id"] for alert in alerts_of(api, tenant, stackId=row["id"])} == set(row["alertIds"])
    assert len(alerts_of(api, tenant, stackId=row["id"], status="open,held", sort="dueAt")) == row["size"]


def test_given_held_alerts_then_the_money_of_a_transfer_counts_once(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 2)
    content = decide_many(api, api.operator(tenant), [alert["id"] for alert in alerts], "hold").json()
    assert content["refused"] == sum(alert["status"] == "held" for alert in alerts)

    (row,) = stacks(api, tenant)

    assert row["heldCents"] == str(2 * 10_000)
    assert stacks(api, tenant, sort="heldCents") == [row]


@pytest.mark.parametrize("sort", ["worst", "dueAt", "score", "size", "heldCents"])
def test_given_an_order_then_pages_of_one_have_every_stack_once_in_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], sort: str
) -> None:
    for number in range(5):
        api.clock.advance(60_000_000)
        story(api, tenant, program, f"bacc_{number}", number % 3 + 1)
    whole = stacks(api, tenant, sort=sort)
    found, cursor = [], None
    while True:
        query: dict[str, Any] = {"sort": sort, "limit": 1, "kind": "account,split"}
        query |= {} if cursor is None else {"cursor": cursor}
        page = api.client.get("/api/stacks", params=query, headers=api.operator(tenant)).json()
        found += page["data"]
        cursor = page["nextCursor"]
        if cursor is None:
            break

    assert found == whole
    assert len({row["id"] for row in found}) == 5
    if sort == "size":
        assert all(one["size"] >= other["size"] for one, other in pairwise(found))
    if sort == "dueAt":
        assert all(one["dueAt"] <= other["dueAt"] for one, other in pairwise(found))
    other_order = {"sort": "size" if sort != "size" else "score", "cursor": _cursor(api, tenant, sort)}
    assert_refused(api.client.get("/api/stacks", params=other_order, headers=api.operator(tenant)), 400)


def _cursor(api: RunningApp, tenant: dict[str, Any], sort: str) -> str:
    query: dict[str, Any] = {"sort": sort, "limit": 1}
    cursor: str = api.client.get("/api/stacks", params=query, headers=api.operator(tenant)).json()["nextCursor"]
    return cursor


def test_given_filters_then_a_stack_is_listed_whose_alerts_pass_them(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 2)
    story(api, tenant, program, "bacc_2", 1)
    (one,) = stacks(api, tenant, subjectId=alerts[0]["subjectId"])

    assert one["size"] == len(alerts)
    assert [row["key"] for row in stacks(api, tenant, transferId="acht_bacc_2_0")] == ["bacc_2"]
    assert stacks(api, tenant, detector="no_such") == stacks(api, tenant, kind="entity") == []
    assert len(stacks(api, tenant, kind="account", programId=program["id"])) == 2
    assert stacks(api, tenant, status="closed") == []
    decide_many(api, api.operator(tenant), [alert["id"] for alert in alerts])
    (closed,) = stacks(api, tenant, status="closed")
    assert (closed["key"], closed["size"], closed["waiting"]) == ("bacc_1", len(alerts), 0)
    assert [row["key"] for row in stacks(api, tenant)] == ["bacc_2"]


def test_given_a_stack_then_it_is_read_with_its_alerts_without_evidence(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 2)
    (row,) = stacks(api, tenant)

    detail = api.client.get(f"/api/stacks/{row['id'].upper()}", headers=api.operator(tenant)).json()

    assert detail["stack"] == row
    assert {alert["id"] for alert in detail["alerts"]} == {alert["id"] for alert in alerts}
    assert all("evidence" not in alert and alert["stackId"] == row["id"] for alert in detail["alerts"])
    assert_refused(api.client.get(f"/api/stacks/{UNKNOWN}", headers=api.operator(tenant)), 404, "Unknown stack")


def test_given_alerts_that_a_person_takes_out_then_there_are_two_stacks(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 3)
    (row,) = stacks(api, tenant)
    path, body = f"/api/stacks/{row['id']}/split", {"alertIds": [alerts[0]["id"]]}
    headers = api.operator(tenant) | {"Idempotency-Key": "split"}

    taken = content_of_201(api.client.post(path, json=body, headers=headers))
    again = api.client.post(path, json=body, headers=headers)
    elsewhere = api.client.post(path, json=body, headers=api.operator(tenant))
    everything = {"alertIds": [alert["id"] for alert in alerts[1:]]}

    assert (taken["kind"], taken["key"], taken["alertIds"]) == ("split", row["id"], [alerts[0]["id"]])
    assert taken["words"] == f"taken out of stack {row['id']}"
    assert again.json() == taken
    assert {each["id"]: each["size"] for each in stacks(api, tenant)} == {taken["id"]: 1, row["id"]: len(alerts) - 1}
    assert_refused(elsewhere, 409, "does not wait in this stack")
    assert_refused(api.client.post(path, json=everything, headers=api.operator(tenant)), 409, "Name only those")
    assert entries_of(api, EntryKind.SPLIT) == 3


def test_given_a_stack_when_decided_then_each_alert_has_a_disposition_on_the_chain(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 3)
    (row,) = stacks(api, tenant)
    body = {"decision": "close", "narrative": NARRATIVE}

    answer = api.client.post(f"/api/stacks/{row['id']}/decide", json=body, headers=api.operator(tenant))

    content = answer.json()
    assert answer.status_code == 200
    assert (content["decided"], content["requested"], content["refused"]) == (len(alerts), 0, 0)
    assert {result["alertId"] for result in content["results"]} == {alert["id"] for alert in alerts}
    links = chain_of(api)
    assert [(each["dispositionId"], each["prevHash"], each["hash"]) for each in content["results"]] == links
    assert all(before[2] == after[1] for before, after in pairwise(links))
    for result in content["results"]:
        path = f"/api/dispositions/{result['dispositionId']}"
        disposition = api.client.get(path, headers=api.operator(tenant)).json()
        assert (disposition["narrative"], disposition["alertId"]) == (NARRATIVE, result["alertId"])
    assert entries_of(api, EntryKind.DECISIONS) == 1
    assert stacks(api, tenant) == []
    assert verified(api, tenant)


def test_given_named_alerts_of_a_stack_then_the_others_stay_and_strangers_are_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 3)
    stranger, *others = story(api, tenant, program, "bacc_2", 1)
    row = next(each for each in stacks(api, tenant) if each["key"] == "bacc_1")
    body = {"decision": "close", "narrative": NARRATIVE, "alertIds": [alerts[0]["id"], stranger["id"]]}

    content = api.client.post(f"/api/stacks/{row['id']}/decide", json=body, headers=api.operator(tenant)).json()

    results = {result["alertId"]: result for result in content["results"]}
    assert results[alerts[0]["id"]]["result"] == "decided"
    assert results[stranger["id"]]["error"]["code"] == "alert_not_in_stack"
    assert sorted(each["size"] for each in stacks(api, tenant)) == sorted([1 + len(others), len(alerts) - 1])


def test_given_two_hundred_alerts_half_of_which_are_closed_or_unknown_then_the_other_half_is_decided(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    ids: list[str] = []
    number = 0
    while len(ids) < 150:
        for _ in range(10):
            deliver(api, program, outgoing(f"acht_{number}", bank_account_id=f"bacc_{number}", **ALERTING))
            number += 1
        first = api.client.get("/api/alerts?limit=100&status=open,held", headers=api.operator(tenant)).json()
        ids = [alert["id"] for alert in first["data"]]
        if first["nextCursor"] is not None:
            ids += [alert["id"] for alert in alerts_of(api, tenant, status="open,held", cursor=first["nextCursor"])]
    ids = ids[:150]
    closed = ids[:50]
    assert decide_many(api, api.operator(tenant), closed).json()["decided"] == 50
    unknown = [f"00000000-0000-4000-8000-{each:012d}" for each in range(50)]
    headers = api.operator(tenant, "bob") | {"Idempotency-Key": "many"}

    answer = decide_many(api, headers, [*ids, *unknown])
    again = decide_many(api, headers, [*ids, *unknown])

    content = answer.json()
    assert (content["decided"], content["requested"], content["refused"]) == (100, 0, 100)
    codes = [result["error"] and result["error"]["code"] for result in content["results"]]
    assert codes == [*["alert_closed"] * 50, *[None] * 100, *["alert_not_found"] * 50]
    assert again.content == answer.content
    assert len(chain_of(api)) == 150
    assert entries_of(api, EntryKind.DECISIONS) == 2
    assert verified(api, tenant)


def test_given_more_than_two_hundred_alerts_then_nothing_is_decided(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    (alert, *_) = story(api, tenant, program, "bacc_1", 1)
    many = [alert["id"], *(f"00000000-0000-4000-8000-{each:012d}" for each in range(200))]

    assert_refused(decide_many(api, api.operator(tenant), many), 400, "at most 200")
    assert entries_of(api, EntryKind.DECISIONS) == 0


def test_given_alerts_of_two_programs_then_each_program_has_an_entry(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="lending")
    ids = [
        alert["id"]
        for number, each in enumerate((program, other))
        for alert in story(api, tenant, each, f"bacc_{number}", 1)
    ]

    content = decide_many(api, api.operator(tenant), ids).json()

    assert [result["alertId"] for result in content["results"]] == ids
    assert content["decided"] == len(ids)
    assert entries_of(api, EntryKind.DECISIONS) == 2
    assert verified(api, tenant)


def test_given_alerts_of_another_tenant_then_they_are_unknown_and_stay(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("other-bank")
    theirs = story(api, other, api.create_program(other, slug="theirs"), "bacc_9", 1)
    mine = story(api, tenant, program, "bacc_1", 1)

    content = decide_many(api, api.operator(tenant), [theirs[0]["id"], mine[0]["id"]]).json()

    unknown, made = content["results"]
    assert (unknown["result"], unknown["error"]["code"]) == ("refused", "alert_not_found")
    assert made["result"] == "decided"
    (row,) = stacks(api, other)
    assert row["size"] == len(theirs)
    assert_refused(api.client.get(f"/api/stacks/{row['id']}", headers=api.operator(tenant)), 404)


@pytest.mark.parametrize("route", ["alerts", "stack"])
def test_given_an_answer_that_was_lost_when_asked_again_then_its_results_are_those_of_the_first(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 2)
    (row,) = stacks(api, tenant)
    headers = api.operator(tenant) | {"Idempotency-Key": "lost"}
    body = {"decision": "close", "narrative": NARRATIVE}
    asks: dict[str, Callable[[], httpx.Response]] = {
        "alerts": lambda: decide_many(api, headers, [alert["id"] for alert in alerts]),
        "stack": lambda: api.client.post(f"/api/stacks/{row['id']}/decide", json=body, headers=headers),
    }
    append = api.appender.append

    async def answer_lost(*entry: Any) -> int:
        await append(*entry)
        raise UnavailableError("The answer got lost.")

    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "append", answer_lost)
        assert_refused(asks[route](), 503)
    api.restart()
    story(api, tenant, program, "bacc_2", 1)
    content = asks[route]().json()

    assert content["decided"] == len(content["results"]) == len(alerts)
    assert {result["alertId"] for result in content["results"]} == {alert["id"] for alert in alerts}
    assert entries_of(api, EntryKind.DECISIONS) == 1
    assert len(chain_of(api)) == len(alerts)
    assert verified(api, tenant)


def test_given_simulated_money_then_its_stacks_say_so(api: RunningApp, tenant: dict[str, Any]) -> None:
    simulated = api.create_program(tenant, slug="simulated", source="simulated")
    story(api, tenant, simulated, "bacc_1", 1)

    (row,) = stacks(api, tenant, programId=simulated["id"])

    assert row["simulated"] is True


@pytest.mark.parametrize("table", ["dispositions", "record_chain"])
def test_given_one_of_many_decisions_that_was_erased_when_the_log_still_has_them_then_the_start_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], table: str
) -> None:
    alerts = story(api, tenant, program, "bacc_1", 2)
    (decided, *_) = decide_many(api, api.operator(tenant), [alert["id"] for alert in alerts]).json()["results"]
    committed = {shard: api.reader.tail(shard) for shard in range(SHARDS)}
    check_decisions(api.reader, api.database, committed)

    erased = [decided["dispositionId"]]
    api.database.execute(f"CREATE OR REPLACE TABLE put_by AS SELECT * FROM {table} WHERE id = ?", erased)  # noqa: S608 - our own tables
    api.database.execute(f"DELETE FROM {table} WHERE id = ?", erased)  # noqa: S608 - as above

    with pytest.raises(StartupError, match="a decision"):
        check_decisions(api.reader, api.database, committed)
    api.database.execute(f"INSERT INTO {table} SELECT * FROM put_by")  # noqa: S608 - as above
    check_decisions(api.reader, api.database, committed)
