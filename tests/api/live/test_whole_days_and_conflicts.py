"""Periods are whole UTC days and named, a wrong programId is a 400 with its path, and conflicts are refused."""

from typing import Any

import pytest

from tests.support.live_feed import DAY, LiveBank, LiveFeed, now


def test_given_a_report_between_two_times_of_day_when_read_then_it_is_whole_days_and_says_so(feed: LiveFeed) -> None:
    feed.send_usual(range(1, 11))
    feed.settle()
    first, last = now() - 5 * DAY, now() - 2 * DAY

    times = f"from={first.strftime('%Y-%m-%dT%H:%M:%SZ')}&to={last.strftime('%Y-%m-%dT%H:%M:%SZ')}"
    days = f"from={first.date()}&to={last.date() + DAY}"
    path = f"/api/reports/actor/entity/enti_1?programId={feed.id}&"
    by_times, by_days = feed.bank.get(path + times), feed.bank.get(path + days)

    assert by_times["transfers"] == by_days["transfers"]
    assert by_times["transfers"]["count"] == 4
    assert by_times["from"] == f"{first.date()}T00:00:00.000Z"
    assert by_times["to"] == f"{last.date() + DAY}T00:00:00.000Z"


@pytest.mark.parametrize(
    "path",
    [
        *("alerts", "transfers", "events", "labels", "actions", "metrics", "preflight/stats", "rules", "policies"),
        *("reports/actor/entity/enti_1", "transfers/wire_1", "ladder", "ladder/rescreen", "kri/snapshots"),
        *("dispositions", "entities/enti_1", "counterparties/cpty_1", "events/evnt_1"),
    ],
)
def test_given_a_program_id_that_is_no_uuid_when_asked_then_it_is_refused_with_its_path(
    live_bank: LiveBank, path: str
) -> None:
    answer = live_bank.call("GET", f"/api/{path}?programId=x")

    assert answer.status_code == 400, answer.text
    assert [field["path"].removesuffix("[0]") for field in answer.json()["fields"]] == ["programId"]


def test_given_a_tenant_without_agents_when_they_are_listed_then_the_list_is_empty(live_bank: LiveBank) -> None:
    assert live_bank.get("/api/agents") == []


def test_given_a_detector_that_is_closable_and_always_reviewed_when_the_policy_is_written_then_it_conflicts(
    live_bank: LiveBank,
) -> None:
    versions: list[dict[str, Any]] = live_bank.get("/api/policies?prefix=policy")
    body = next(each["body"] for each in versions if each["version"] == "policy-v1")
    closable = [*body["autoClosableDetectors"], body["alwaysReviewed"][0]]

    changed = body | {"version": "policy-v2", "autoClosableDetectors": closable}
    answer = live_bank.call("POST", "/api/policies", {"version": "policy-v2", "body": changed})

    assert answer.status_code == 400
    place = len(body["autoClosableDetectors"])
    field = {"path": f"body.autoClosableDetectors[{place}]", "code": "conflicting"}
    assert answer.json()["fields"] == [field]


@pytest.mark.parametrize("path", ["/api/rules/no-such-rule", "/api/rules/NOT A RULE"])
def test_given_a_rule_that_is_replaced_when_if_match_is_missing_then_that_is_asked_for_first(
    live_bank: LiveBank, path: str
) -> None:
    answer = live_bank.call("PUT", path, {"nonsense": True})

    assert answer.status_code == 400
    assert answer.json()["fields"] == [{"path": "If-Match", "code": "required"}]
