"""All programs in one read: as the reports, lists and limits of each program have it."""

from collections import Counter
from typing import Any

import pytest

from clearhold.api.overview.routes import POINTS, nearly_used
from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.errors import UnavailableError
from clearhold.features.limits.caps import CapUse
from tests.support.alerting import alerts_of, an_alert, deliver, outgoing
from tests.support.running_app import RunningApp, assert_refused

HOUR_US = 3_600_000_000
MINUTE_US = 60_000_000


def overview(api: RunningApp, headers: dict[str, str], query: str = "") -> list[dict[str, Any]]:
    answer = api.client.get(f"/api/programs/overview{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["programs"]
    return rows


def snapshot(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    bearer = {"Authorization": f"Bearer {tenant['operatorToken']}"}
    taken = api.client.post(f"/api/kri/snapshot/{program['id']}", headers=bearer)
    assert taken.status_code == 200, taken.text
    answer = api.client.get(f"/api/kri/snapshots/{taken.json()['snapshotId']}", headers=api.operator(tenant))
    body: dict[str, Any] = answer.json()
    return body


def test_given_programs_when_read_at_once_then_each_is_as_its_snapshot_and_its_lists_have_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers, lending = api.operator(tenant), api.create_program(tenant, slug="lending")
    first = overview(api, headers)
    for number in range(30):
        an_alert(api, tenant, program, f"acht_{number}", type="DEBIT")
    snapshot(api, tenant, program)
    api.clock.advance(24 * HOUR_US)
    snapshot(api, tenant, program)
    api.clock.advance(HOUR_US)
    newest = snapshot(api, tenant, program)

    rows = {row["programId"]: row for row in overview(api, headers)}

    row, empty = rows[program["id"]], rows[lending["id"]]
    assert {each["programId"]: each["asOf"] for each in first} == {program["id"]: None, lending["id"]: None}
    assert (row["score"], row["n"], row["asOf"]) == (newest["programScore"], newest["programScoreN"], newest["asOf"])
    assert row["kris"] == {name: kri["status"] for name, kri in newest["kris"].items()}
    assert len(row["kris"]) == 18
    assert (row["history"][-1], row["history"][:-2]) == (newest["programScore"], [None] * (POINTS - 2))
    assert (row["slug"], row["name"]) == (program["slug"], program["name"])
    of_program = {"programId": program["id"], "status": "open,held,escalated"}
    assert row["waiting"] == min(100, len(alerts_of(api, tenant, **of_program))) > 0
    assert row["overdue"] == len(alerts_of(api, tenant, overdue="true", **of_program)) > 0
    assert (empty["waiting"], empty["overdue"], empty["kris"], empty["history"]) == (0, 0, {}, [None] * POINTS)
    assert [each["programId"] for each in overview(api, headers, f"?programId={lending['id']}")] == [lending["id"]]


def test_given_a_cap_when_it_is_used_over_four_fifths_then_it_is_shown(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    body = {"kind": "per_transaction", "capCents": "12000", "note": "A cap."}
    change = api.client.post(f"/api/limits/program/{program['id']}", json=body, headers=headers).json()
    approved = api.client.post(f"/api/actions/{change['id']}/approve", headers=api.operator(tenant, "bob"))
    assert approved.status_code == 200, approved.text
    (unused,) = overview(api, headers)
    deliver(api, program, outgoing("acht_1", at="2026-03-02T15:00:00Z"))

    (used,) = overview(api, headers)

    assert unused["caps"] == []
    assert used["caps"] == [{"kind": "per_transaction", "cap": "12000", "observed": "10000", "share": 0.8333}]


def test_given_uses_of_caps_then_those_over_four_fifths_are_named_the_most_used_first() -> None:
    def use(cap: int, observed: int | None) -> CapUse:
        return CapUse(kind=CapKind.ACH_DEBIT_DAILY, cap=cap, observed=observed)

    near = nearly_used([use(100, 80), use(100, 81), use(100, None), use(100, 250), use(0, 0), use(0, 3)])

    assert [(each.cap, each.observed, each.share) for each in near] == [
        ("0", "3", 3.0),
        ("100", "250", 2.5),
        ("100", "81", 0.81),
    ]


def test_given_a_state_without_an_owner_when_read_then_its_caps_are_not_measured(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        raise UnavailableError("The program's state has no owner.")

    monkeypatch.setattr(type(api.stores.owner), "query", unavailable)

    (row,) = overview(api, api.operator(tenant))

    assert (row["programId"], row["caps"]) == (program["id"], None)


def test_given_other_tenants_and_narrow_keys_when_read_then_each_has_its_own_programs_only(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    simulated = api.create_program(tenant, slug="sim", source="simulated")
    other = api.create_tenant("second-bank")

    rows = overview(api, api.operator(tenant))

    assert {row["programId"]: row.get("simulated", False) for row in rows} == {
        program["id"]: False,
        lending["id"]: False,
        simulated["id"]: True,
    }
    assert overview(api, api.operator(other)) == []
    assert [row["programId"] for row in overview(api, api.key(tenant, programId=lending["id"]))] == [lending["id"]]
    theirs = api.client.get(f"/api/programs/overview?programId={program['id']}", headers=api.operator(other))
    assert_refused(theirs, 404, "program")
    assert_refused(api.client.get("/api/programs/overview?program=x", headers=api.operator(tenant)), 400, "program")


def test_given_events_and_scores_then_those_of_the_last_minutes_and_of_the_last_hour_count(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers, lending = api.operator(tenant), api.create_program(tenant, slug="lending")
    other = api.create_tenant("second-bank")
    theirs = api.create_program(other, slug="theirs")
    deliver(api, theirs, outgoing("acht_1"))
    deliver(api, program, *(outgoing(f"acht_{number}") for number in range(7)))
    api.clock.advance(2 * MINUTE_US)
    again = outgoing("acht_1", status="POSTED").replace(b"evnt_acht_1", b"evnt_acht_1_posted")
    deliver(api, program, outgoing("acht_late"), again)

    rows = {row["programId"]: row for row in overview(api, headers)}
    row = rows[program["id"]]
    assert row["eventsPerMinute"] == 9 / 5
    assert sum(row["scoredLastHour"].values()) == 8
    newest = api.client.get("/api/transfers?limit=100", headers=headers).json()["data"]
    assert {band: n for band, n in row["scoredLastHour"].items() if n} == Counter(each["scoreBand"] for each in newest)
    assert rows[lending["id"]]["eventsPerMinute"] == 0
    assert rows[lending["id"]]["scoredLastHour"] == {"unscored": 0, "clear": 0, "review": 0, "hold": 0}

    api.clock.advance(4 * MINUTE_US)
    assert {row["eventsPerMinute"] for row in overview(api, headers)} == {2 / 5, 0}
    api.clock.advance(HOUR_US)
    assert not any(number for row in overview(api, headers) for number in row["scoredLastHour"].values())
