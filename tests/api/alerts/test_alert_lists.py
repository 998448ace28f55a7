"""Lists of alerts in several orders, in slim rows, and by account."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.alerting import DETECTOR, alerts_of, an_alert, decide, deliver, outgoing, party
from tests.support.running_app import RunningApp, assert_refused

HOUR_US = 3_600_000_000


def summaries(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    """All pages, by the links of the answers."""
    path, found = "/api/alerts/summaries", list[dict[str, Any]]()
    params: dict[str, Any] | None = {"limit": 2} | query
    while path:
        answer = api.client.get(path, params=params, headers=api.operator(tenant))
        assert answer.status_code == 200, answer.text
        found += answer.json()["data"]
        path, params = answer.links.get("next", {}).get("url", ""), None
    return found


def test_given_alerts_when_their_summaries_are_read_then_they_are_the_list_without_evidence(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("identity", "enti_1", name="Ada Example", type="PERSON", status="VERIFIED"))
    for number in range(3):
        an_alert(api, tenant, program, f"acht_{number}", entity_id="enti_1")
        api.clock.advance(HOUR_US)
    whole = alerts_of(api, tenant)

    rows = summaries(api, tenant)

    assert len(rows) > 2
    assert [row["id"] for row in rows] == [alert["id"] for alert in whole]
    for row, alert in zip(rows, whole, strict=True):
        shared = set(row) & set(alert)
        assert {name: row[name] for name in shared} == {name: alert[name] for name in shared}
        evidence = alert["evidence"]
        assert (row["sentence"], row["amountCents"]) == (evidence["finding"], evidence["amountCents"])
        assert (row["transferCount"], row["transferIds"]) == (evidence["restsOnCount"], evidence["transferIds"])
        assert "evidence" not in row
    assert {row["subjectName"] for row in rows if row["subjectType"] == "entity"} <= {"Ada Example"}


@pytest.mark.parametrize("sort", ["worst", "dueAt", "score", "openedAt"])
def test_given_an_order_when_listed_then_both_lists_have_it_and_share_their_cursors(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], sort: str
) -> None:
    for number in range(3):
        an_alert(api, tenant, program, f"acht_{number}")
        api.clock.advance(HOUR_US)
    query: dict[str, Any] = {"sort": sort, "status": "open", "limit": 1}
    headers = api.operator(tenant)

    rows = summaries(api, tenant, **query)
    first = api.client.get("/api/alerts", params=query, headers=headers).json()
    cursor = first["nextCursor"]
    second = api.client.get("/api/alerts/summaries", params=query | {"cursor": cursor}, headers=headers).json()

    assert [row["id"] for row in rows] == [alert["id"] for alert in alerts_of(api, tenant, sort=sort, status="open")]
    assert [first["data"][0]["id"], second["data"][0]["id"]] == [row["id"] for row in rows[:2]]
    keys: dict[str, Callable[[Any], Any]] = {
        "dueAt": lambda row: row["dueAt"],
        "score": lambda row: -1 if row["scoreAtAlert"] is None else row["scoreAtAlert"],
        "openedAt": lambda row: row["openedAt"],
        "worst": lambda row: row["hardSignal"],
    }
    values = [keys[sort](row) for row in rows]
    assert values == sorted(values, reverse=sort != "dueAt")
    others = query | {"cursor": cursor, "sort": "score" if sort != "score" else "dueAt"}
    assert_refused(api.client.get("/api/alerts", params=others, headers=headers), 400, "same filters")


def test_given_decisions_between_pages_when_listed_by_due_time_then_each_waiting_alert_comes_once(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    for number in range(4):
        an_alert(api, tenant, program, f"acht_{number}")
        api.clock.advance(HOUR_US)
    headers = api.operator(tenant)
    ids = [row["id"] for row in summaries(api, tenant, sort="dueAt", detector=DETECTOR)]
    query: dict[str, Any] = {"sort": "dueAt", "detector": DETECTOR, "limit": 2}
    first = api.client.get("/api/alerts/summaries", params=query, headers=headers).json()
    assert decide(api, headers, ids[0]).status_code == 201  # listed and gone
    assert decide(api, headers, ids[2]).status_code == 201  # gone before it is listed

    rest = api.client.get(
        "/api/alerts/summaries", params=query | {"cursor": first["nextCursor"]}, headers=headers
    ).json()

    assert [row["id"] for row in first["data"]] == ids[:2]
    assert [row["id"] for row in rest["data"]] == ids[3:]
    assert not rest["hasMore"]


def test_given_wrong_parameters_when_listed_then_each_is_named(api: RunningApp, tenant: dict[str, Any]) -> None:
    headers = api.operator(tenant)

    for path in ("/api/alerts", "/api/alerts/summaries"):
        for query, field in (
            ("sort=dueat", "sort"),
            ("sort=due_at", "sort"),
            ("sort=dueAt&status=open,closed", "sort"),
            ("sort=score&sort=score", "sort"),
            ("accountID=bacc_1", "accountID"),
            ("band=purple", "band[0]"),
        ):
            answer = api.client.get(f"{path}?{query}", headers=headers)
            assert_refused(answer, 400, field)
            assert [each["path"] for each in answer.json()["fields"]] == [field]
    answer = api.client.get("/api/alerts?accountID=bacc_1", headers=headers)
    assert "accountId" in answer.json()["error"]


def test_given_an_account_when_its_alerts_are_listed_then_they_are_about_it_or_rest_on_its_transfers(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(
        api,
        program,
        outgoing("acht_1", beneficiary_address={"country_code": "IR"}, bank_account_id="bacc_1"),
        outgoing(
            "acht_2", beneficiary_address={"country_code": "IR"}, bank_account_id="bacc_2", counterparty_id="cpty_2"
        ),
    )

    for status in ({}, {"status": "open"}):
        expected = {
            alert["id"]
            for alert in alerts_of(api, tenant, **status)
            if "acht_1" in {*alert["evidence"]["transferIds"], *alert["evidence"]["restsOn"]}
        }
        assert {alert["id"] for alert in alerts_of(api, tenant, accountId="bacc_1", **status)} == expected
        assert expected
    assert alerts_of(api, tenant, accountId="bacc_9") == []


def test_given_bands_when_alerts_are_listed_then_only_alerts_opened_in_them_are_found(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    an_alert(api, tenant, program)
    everything = alerts_of(api, tenant)
    bands = {alert["bandAtAlert"] for alert in everything}

    for band in ("clear", "review", "hold", "unscored"):
        expected = [alert["id"] for alert in everything if alert["bandAtAlert"] == band]
        assert [alert["id"] for alert in alerts_of(api, tenant, band=band)] == expected
        waiting = [alert["id"] for alert in everything if alert["bandAtAlert"] == band and alert["status"] == "open"]
        assert [alert["id"] for alert in alerts_of(api, tenant, band=band, status="open")] == waiting
    assert bands
