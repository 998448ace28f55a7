"""Reading alerts: the queue, its filters and pages, one alert with what a decision needs, the download."""

import csv
import io
from itertools import pairwise
from typing import Any, Final

import pytest
from msgspec import json

from tests.support.alerting import (
    ALERTING,
    DETECTOR,
    alerts_of,
    an_alert,
    appeal,
    decide,
    deliver,
    outgoing,
    read,
)
from tests.support.running_app import RunningApp, assert_refused

FIELDS: Final = [
    "id",
    "tenantId",
    "programId",
    "detector",
    "severity",
    "subjectType",
    "subjectId",
    "transferId",
    "summary",
    "evidence",
    "scoreAtAlert",
    "bandAtAlert",
    "hardSignal",
    "status",
    "route",
    "policyVersion",
    "openedAt",
    "closedAt",
    "dedupeKey",
    "dueAt",
    "escalatedAt",
    "slaTier",
    "fromHistory",
    "stackId",
    "assignee",
]
"""Those of the interface, then the stack and the person on it."""
HOUR_US: Final = 3_600_000_000


def ids_of(alerts: list[dict[str, Any]]) -> list[str]:
    return [alert["id"] for alert in alerts]


def get(api: RunningApp, tenant: dict[str, Any], path: str, **query: Any) -> Any:
    return api.client.get(path, params=query or None, headers=api.operator(tenant))


def test_given_an_alert_when_listed_then_it_has_the_fields_of_the_interface_and_no_others(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)

    assert list(alert) == FIELDS
    assert alert["tenantId"] == tenant["id"]
    assert alert["programId"] == program["id"]
    assert (alert["subjectType"], alert["subjectId"], alert["transferId"]) == ("transfer", "acht_1", "acht_1")
    assert (alert["status"], alert["route"], alert["hardSignal"]) == ("open", "reviewed", True)
    assert (alert["severity"], alert["slaTier"], alert["policyVersion"]) == ("high", "standard", "policy-v1")
    assert (alert["openedAt"], alert["dueAt"]) == ("2026-03-02T15:00:00.000Z", "2026-03-03T15:00:00.000Z")
    assert (alert["closedAt"], alert["escalatedAt"]) == (None, None)
    assert (alert["evidence"]["routeReason"], alert["evidence"]["autoHold"]) == ("hard_signal", False)


def weight(alert: dict[str, Any]) -> tuple[bool, bool, int]:
    by_severity = ["low", "medium", "high"].index(alert["severity"])
    return alert["hardSignal"], alert["bandAtAlert"] == "hold", by_severity


def test_given_alerts_when_paged_then_each_comes_once_the_worst_first_and_of_equal_ones_the_newest(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    for number in range(7):
        deliver(api, program, outgoing(f"acht_{number}", **ALERTING))
        api.clock.advance(HOUR_US if number % 2 else 0)
    everything = alerts_of(api, tenant)

    by_cursor, by_link = [], []
    answer = get(api, tenant, "/api/alerts", limit=2)
    while True:
        by_cursor += answer.json()["data"]
        cursor = answer.json()["nextCursor"]
        assert answer.json()["hasMore"] is (cursor is not None)
        if cursor is None:
            break
        answer = get(api, tenant, "/api/alerts", limit=2, cursor=cursor)
    answer = get(api, tenant, "/api/alerts", limit=2)
    while True:
        by_link += answer.json()["data"]
        if "next" not in answer.links:
            break
        answer = get(api, tenant, answer.links["next"]["url"])

    assert len(everything) >= 7
    assert by_cursor == by_link == everything
    assert len({weight(alert) for alert in everything}) > 1
    for one, next_one in pairwise(everything):
        places = [(*weight(alert), alert["openedAt"]) for alert in (one, next_one)]
        assert places[0] > places[1] or (places[0] == places[1] and one["id"] < next_one["id"])


def test_given_an_alert_that_is_decided_between_two_pages_when_paged_on_then_no_other_is_lost(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    for number in range(6):
        deliver(api, program, outgoing(f"acht_{number}", **ALERTING))
        api.clock.advance(HOUR_US)
    query = {"detector": DETECTOR, "status": "open"}
    everything = ids_of(alerts_of(api, tenant, **query))

    first = get(api, tenant, "/api/alerts", limit=3, **query).json()
    for alert_id in (everything[2], everything[3]):
        assert decide(api, api.operator(tenant), alert_id).status_code == 201
    second = get(api, tenant, "/api/alerts", limit=3, cursor=first["nextCursor"], **query).json()

    assert [*ids_of(first["data"]), everything[3], *ids_of(second["data"])] == everything


@pytest.fixture
def mixed(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, str]:
    """Names of alerts by their ids: one closed, one held, one open and one of another program, an hour apart."""
    lending = api.create_program(tenant, slug="lending")
    named = {}
    for name, of in (("closed", program), ("held", program), ("open", program), ("elsewhere", lending)):
        alert = an_alert(api, tenant, of, f"acht_{name}", counterparty_id=f"cpty_{name}")
        named[alert["id"]] = name
        api.clock.advance(HOUR_US)
        if name in {"closed", "held"}:
            decision = {"closed": "close", "held": "hold"}[name]
            assert decide(api, api.operator(tenant), alert["id"], decision).status_code == 201
    return named


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["elsewhere", "open", "held", "closed"]),
        ({"status": "open"}, ["elsewhere", "open"]),
        ({"status": "held,closed"}, ["held", "closed"]),
        ({"status": ["held", "closed"]}, ["held", "closed"]),
        ({"route": "automated"}, []),
        ({"route": "reviewed", "severity": "high"}, ["elsewhere", "open", "held", "closed"]),
        ({"severity": "low,medium"}, []),
        ({"slaTier": "standard"}, ["elsewhere", "open", "held", "closed"]),
        ({"slaTier": "complex"}, []),
        ({"slaTier": "appeal"}, []),
        ({"subjectType": "transfer", "subjectId": "acht_held"}, ["held"]),
        ({"subjectType": "entity", "subjectId": "acht_held"}, []),
        ({"transferId": "acht_open"}, ["open"]),
        ({"from": "2026-03-02T16:00:00Z", "to": "2026-03-02T18:00:00Z"}, ["open", "held"]),
        ({"from": "2026-03-03"}, []),
        ({"overdue": "false"}, ["elsewhere", "open", "held", "closed"]),
        ({"overdue": "true"}, []),
    ],
)
def test_given_a_filter_when_listed_and_exported_then_only_those_are_found(
    api: RunningApp, tenant: dict[str, Any], mixed: dict[str, str], query: dict[str, Any], found: list[str]
) -> None:
    listed = alerts_of(api, tenant, detector=DETECTOR, **query)
    exported = get(api, tenant, "/api/alerts/export", detector=DETECTOR, **query)

    assert [mixed[alert["id"]] for alert in listed] == found
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert exported.headers["content-disposition"] == 'attachment; filename="alerts.ndjson"'
    assert [json.decode(line) for line in exported.content.split(b"\n")[:-1]] == listed


@pytest.mark.usefixtures("mixed")
def test_given_time_that_passed_when_asked_for_what_is_overdue_then_only_what_waits(
    api: RunningApp, tenant: dict[str, Any], mixed: dict[str, str]
) -> None:
    api.clock.advance(21 * HOUR_US + 1)  # The clock of the held one ran out, that of the open one did not yet.

    overdue = alerts_of(api, tenant, detector=DETECTOR, overdue="true")
    others = alerts_of(api, tenant, detector=DETECTOR, overdue="false")

    assert [mixed[alert["id"]] for alert in overdue] == ["held"]
    assert [mixed[alert["id"]] for alert in others] == ["elsewhere", "open", "closed"]


@pytest.mark.parametrize(
    "query",
    [
        {"status": "shut"},
        {"status": ""},
        {"overdue": "yes"},
        {"route": "automatic"},
        {"subjectType": "agent"},
        {"from": "2026-02-31"},
        {"programID": "x"},
        {"limit": "101"},
        {"cursor": "bm9uc2Vuc2U"},
    ],
)
def test_given_a_query_that_is_none_when_listed_or_exported_then_400(
    api: RunningApp, tenant: dict[str, Any], query: dict[str, str]
) -> None:
    assert_refused(get(api, tenant, "/api/alerts", **query), 400, next(iter(query)))
    assert_refused(get(api, tenant, "/api/alerts/export", **query), 400, next(iter(query)))


@pytest.mark.parametrize("query", [{}, {"status": "open"}, {"overdue": "true"}])
def test_given_time_that_passes_between_two_pages_when_paged_on_then_the_cursor_still_holds(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], query: dict[str, str]
) -> None:
    deliver(api, program, outgoing("acht_1", **ALERTING), outgoing("acht_2", **ALERTING))
    api.clock.advance(1_000 * HOUR_US)

    first = get(api, tenant, "/api/alerts", limit=1, **query).json()
    api.clock.advance(HOUR_US)
    second = get(api, tenant, "/api/alerts", limit=1, cursor=first["nextCursor"], **query)

    assert second.status_code == 200, second.text
    assert len({alert["id"] for alert in (*first["data"], *second.json()["data"])}) == 2


def test_given_a_cursor_when_used_with_other_filters_then_400(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", **ALERTING), outgoing("acht_2", **ALERTING))
    cursor = get(api, tenant, "/api/alerts", limit=1).json()["nextCursor"]

    assert_refused(get(api, tenant, "/api/alerts", limit=1, cursor=cursor, status="open"), 400, "cursor")


def test_given_an_alert_when_read_then_it_comes_with_its_transfer_reasons_draft_and_decisions(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    assert decide(api, api.operator(tenant), alert["id"], "hold").status_code == 201
    api.clock.advance(HOUR_US)
    assert decide(api, api.operator(tenant, "bob"), alert["id"], "release").status_code == 201

    detail = read(api, tenant, alert["id"].upper())

    assert set(detail) == {
        "alert",
        "transfer",
        "reasons",
        "draft",
        "dispositions",
        "actions",
        "notes",
        "noteCount",
        "assignments",
    }
    assert detail["alert"] == alerts_of(api, tenant, transferId="acht_1", detector=DETECTOR)[0]
    assert detail["transfer"] == get(api, tenant, "/api/transfers/acht_1").json()
    assert detail["reasons"] == detail["transfer"]["scoreInputs"]["reasons"]
    assert detail["alert"]["evidence"]["reasons"][0]["id"] in {reason["id"] for reason in detail["reasons"]}
    assert detail["alert"]["evidence"]["restsOn"] == ["acht_1"]
    assert set(detail["draft"]) == {"narrative", "recommendation", "confidence", "narrativeModel"}
    assert (detail["draft"]["confidence"], detail["draft"]["narrativeModel"]) == (None, None)
    assert [made["decision"] for made in detail["dispositions"]] == ["hold", "release"]
    assert detail["dispositions"] == get(api, tenant, f"/api/alerts/{alert['id']}/dispositions").json()
    assert detail["actions"] == []


def test_given_a_chain_of_transfers_when_its_alert_is_shown_then_its_path_names_them_oldest_first(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    a, b = {"bank_account_id": "bacc_a"}, {"bank_account_id": "bacc_b"}
    deliver(
        api,
        program,
        outgoing("acht_before", at="2026-03-01T09:00:00Z", **b, counterparty_id="cpty_z"),
        outgoing("acht_in", at="2026-03-02T09:00:00Z", **a, counterparty_id="cpty_x", is_incoming=True, amount=200_000),
        outgoing("acht_on", at="2026-03-02T10:00:00Z", **a, counterparty_id="bacc_b", amount=190_000),
        outgoing("acht_out", at="2026-03-02T11:00:00Z", **b, counterparty_id="cpty_y", amount=185_000),
    )

    (alert,) = alerts_of(api, tenant, detector="layering_hops")

    assert alert["transferId"] == "acht_out"
    assert alert["evidence"]["path"]["layeringHops"] == ["acht_in", "acht_on"]
    assert read(api, tenant, alert["id"])["alert"] == alert
    exported = get(api, tenant, "/api/alerts/export", detector="layering_hops")
    assert json.decode(exported.content) == alert


def test_given_alerts_when_exported_as_csv_then_there_is_a_row_each_under_the_fields(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)

    answer = get(api, tenant, "/api/alerts/export", format="csv", detector=DETECTOR)

    names, row = csv.reader(io.StringIO(answer.text, newline=""))
    assert names == [*FIELDS, "simulated"]
    assert row[0] == alert["id"]
    assert json.decode(row[names.index("evidence")]) == alert["evidence"]


def test_given_another_tenant_when_it_reads_then_nothing_is_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    other = api.create_tenant("second-bank")

    assert alerts_of(api, other) == []
    assert get(api, other, "/api/alerts/export").content == b""
    assert_refused(get(api, other, f"/api/alerts/{alert['id']}"), 404, "Unknown alert on this tenant.")
    assert_refused(get(api, other, f"/api/alerts/{alert['id']}/dispositions"), 404, "Unknown alert on this tenant.")
    assert_refused(get(api, other, "/api/alerts", programId=program["id"]), 404, "Unknown program on this tenant.")
    assert_refused(decide(api, api.operator(other), alert["id"]), 404, "Unknown alert on this tenant.")
    assert_refused(appeal(api, api.operator(other), alert["id"]), 404, "Unknown alert on this tenant.")
