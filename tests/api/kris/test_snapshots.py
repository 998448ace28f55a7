"""Snapshots over HTTP: who may take one, what is stored, and what a repeat is."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from msgspec import json

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.instants import DAY_US, IsoWeek, format_instant, week_of
from clearhold.features.core.principal import Principal
from clearhold.store.duck.reports.scores import KriSnapshots
from tests.support.alerting import alerts_of, appeal, decide, deliver, outgoing, read
from tests.support.principals import an_operator
from tests.support.running_app import ADMIN_TOKEN, RunningApp, assert_refused

UNKNOWN = "0b0c4a53-0000-4000-8000-000000000001"


@pytest.fixture
def operator(tenant: dict[str, Any]) -> Principal:
    return an_operator(tenant["id"])


def take(api: RunningApp, program: str, token: str | None, **more: str) -> httpx.Response:
    headers = ({} if token is None else {"Authorization": f"Bearer {token}"}) | more
    return api.client.post(f"/api/kri/snapshot/{program}", headers=headers)


def stored_ids(api: RunningApp) -> list[str]:
    return [id_ for (id_,) in api.stores.database.execute("SELECT id FROM kri_snapshots ORDER BY id").fetchall()]


def test_given_the_owners_token_alone_when_a_snapshot_is_taken_then_it_is_stored_before_the_answer(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], operator: Principal
) -> None:
    answer = take(api, program["id"].upper(), tenant["operatorToken"])

    assert answer.status_code == 200
    stored = KriSnapshots(api.stores.database).newest(operator, program["id"])
    assert stored is not None
    assert answer.json() == {"snapshotId": stored.id}
    assert (stored.cause, stored.program_score, stored.band) == ("requested", None, "unscored")


def test_given_one_key_when_sent_twice_also_after_its_answer_was_lost_then_there_is_one_snapshot(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    token = tenant["operatorToken"]
    first = take(api, program["id"], token, **{"Idempotency-Key": "once"})
    replayed = take(api, program["id"], token, **{"Idempotency-Key": "once"})
    for key in api.sync_redis.keys("idem:*"):
        api.sync_redis.delete(key)
    api.clock.advance(1)
    again = take(api, program["id"], token, **{"Idempotency-Key": "once"})
    other = take(api, program["id"], token)

    assert [each.status_code for each in (first, replayed, again, other)] == [200] * 4
    assert first.json() == replayed.json() == again.json() != other.json()
    assert replayed.headers["idempotent-replayed"] == "true"
    assert stored_ids(api) == sorted(each.json()["snapshotId"] for each in (first, other))


def test_given_many_at_once_when_they_are_taken_then_each_is_a_snapshot_of_its_own(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: take(api, program["id"], tenant["operatorToken"]), range(16)))

    assert {answer.status_code for answer in answers} == {200}
    assert stored_ids(api) == sorted({answer.json()["snapshotId"] for answer in answers})
    assert len(stored_ids(api)) == 16


def test_given_anyone_else_or_another_program_when_one_is_requested_then_401_and_nothing_is_stored(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    made = api.client.post("/api/keys", json={"name": "k", "mode": "live"}, headers=api.operator(tenant))
    refused = [
        take(api, program["id"], other["operatorToken"]),
        take(api, UNKNOWN, tenant["operatorToken"]),
        take(api, program["id"], None),
        take(api, program["id"], made.json()["secret"]),
        take(api, program["id"], ADMIN_TOKEN, **{"X-Operator": "root"}),
    ]

    for answer in refused:
        assert_refused(answer, 401)
    assert_refused(take(api, "not-a-uuid", tenant["operatorToken"]), 400)
    assert stored_ids(api) == []


def test_given_an_alert_of_a_snapshot_then_it_is_read_listed_exported_decided_appealed_and_verified_like_any_other(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    at = "2026-03-02T14:00:00Z"
    event = {"id": "evnt_frozen", "created_at": at, "type": "account.frozen"}
    deliver(api, program, json.encode(event | {"data": {"id": "bacc_1", "status": "frozen", "updated_at": at}}))
    snapshot_id = take(api, program["id"], tenant["operatorToken"]).json()["snapshotId"]

    (alert,) = alerts_of(api, tenant, detector="overdraft_or_freeze")
    detail = read(api, tenant, alert["id"])
    exported = api.client.get("/api/alerts/export", headers=headers)
    decision = decide(api, headers, alert["id"])
    objection = appeal(api, headers, alert["id"])
    record = api.client.get("/api/record/verify", headers=headers).json()

    assert (detail["transfer"], detail["reasons"]) == (None, [])
    assert {name: detail["alert"]["evidence"][name] for name in ("snapshotId", "kri", "actorIds", "restsOn")} == {
        "snapshotId": snapshot_id,
        "kri": "freeze_events",
        "actorIds": ["bacc_1"],
        "restsOn": [],
    }
    assert detail["draft"]["recommendation"] == "escalate"
    assert alert["id"] in exported.text
    assert (decision.status_code, objection.status_code) == (201, 201)
    assert (record["ok"], record["rows"]["differences"]) == (True, [])


def test_given_returns_over_the_line_when_a_snapshot_is_taken_then_the_alert_names_the_returned_transfers(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    at = "2026-03-02T14:00:00Z"
    back = [{"code": "R10", "returned_at": at}]
    for number in range(2, 21):
        deliver(api, program, outgoing(f"acht_{number}", type="DEBIT"))
    deliver(api, program, outgoing("acht_1", type="DEBIT", status="RETURNED", return_details=back))
    take(api, program["id"], tenant["operatorToken"])

    (alert,) = alerts_of(api, tenant, detector="unauthorized_return_rate")

    assert (alert["evidence"]["restsOn"], alert["transferId"], alert["hardSignal"]) == (["acht_1"], None, True)


def test_given_a_snapshot_when_read_then_it_is_whole_and_the_one_that_was_taken(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", type="DEBIT"))
    snapshot_id = take(api, program["id"], tenant["operatorToken"]).json()["snapshotId"]

    read_back = api.client.get(f"/api/kri/snapshots/{snapshot_id.upper()}", headers=api.operator(tenant)).json()
    listed = api.client.get("/api/kri/snapshots", headers=api.operator(tenant)).json()["data"]

    assert listed == [read_back]
    kris = read_back.pop("kris")
    assert list(kris) == [name.value for name in KriName]
    assert kris["ach_overall_return_rate"] == {
        "value": 0.0,
        "n": 1,
        "unit": "ratio",
        "threshold": 0.15,
        "status": "unmeasured",
        "note": "Not measured: 1 of 20 needed.",
    }
    assert read_back == {
        "id": snapshot_id,
        "tenantId": tenant["id"],
        "programId": program["id"],
        "cause": "requested",
        "asOf": read_back["createdAt"],
        "windowDays": 60,
        "programScore": None,
        "programScoreN": read_back["programScoreN"],
        "programScoreVersion": "prs-v1",
        "band": "unscored",
        "createdAt": read_back["createdAt"],
    }


def test_given_snapshots_when_listed_by_pages_then_they_go_by_the_instant_of_their_figures_and_filters_hold(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    days = [f"2026-02-{day:02d}T14:00:00Z" for day in range(1, 8)]
    deliver(api, program, *(outgoing(f"acht_{number}", at=at) for number, at in enumerate(days)))
    taken = take(api, program["id"], tenant["operatorToken"]).json()["snapshotId"]

    def page(**query: Any) -> dict[str, Any]:
        answer = api.client.get("/api/kri/snapshots", params={"programId": program["id"]} | query, headers=headers)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    everything = page()["data"]
    assert [each["cause"] for each in everything] == ["requested"] + ["history"] * 6
    assert [each["asOf"] for each in everything[1:]] == [f"2026-02-{day:02d}T23:59:59.999Z" for day in range(6, 0, -1)]
    assert everything[0]["id"] == taken
    first = page(limit=3)
    second = page(limit=3, cursor=first["nextCursor"])
    assert [*first["data"], *second["data"]] == everything[:6]
    assert page(cause="history", to="2026-02-03T00:00:00Z")["data"] == everything[-2:]
    api.clock.advance(1)
    again = take(api, program["id"], tenant["operatorToken"]).json()["snapshotId"]
    by_day = page(every="day", limit=2)
    assert [each["id"] for each in by_day["data"]] == [again, everything[1]["id"]]
    rest = page(every="day", cursor=by_day["nextCursor"])["data"]
    assert rest == everything[2:]
    assert page(every="day", cause="history", to="2026-02-03T00:00:00Z")["data"] == everything[-2:]
    assert page()["data"][:2] == [*by_day["data"][:1], everything[0]]
    for path in ("/api/kri/snapshots/x", f"/api/kri/snapshots/{tenant['id']}"):
        assert_refused(api.client.get(path, headers=headers), 404)


def test_given_history_that_was_loaded_then_the_weekly_report_of_a_past_week_has_its_figures(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    days = [f"2026-02-{day:02d}T14:00:00Z" for day in range(1, 20)]
    deliver(api, program, *(outgoing(f"acht_{number}", at=at) for number, at in enumerate(days)))
    taken = take(api, program["id"], tenant["operatorToken"]).json()["snapshotId"]

    report = api.client.get(f"/api/reports/weekly/{program['id']}?week=2026-W07", headers=api.operator(tenant)).json()

    kri = next(each for each in report["kris"] if each["name"] == "counterparty_concentration")
    assert (kri["value"], kri["prior"], kri["n"]) == (1.0, 1.0, 1)
    program_report = api.client.get(f"/api/reports/program/{program['id']}", headers=api.operator(tenant)).json()
    instants = [each["asOf"] for each in program_report["history"]]
    assert (instants, len(instants)) == (sorted(instants), 19)
    assert program_report["snapshotId"] == taken


@pytest.mark.parametrize(("before_us", "in_first", "in_second"), [(0, False, False), (1, True, True)])
def test_given_a_snapshot_at_the_first_instant_of_a_week_then_it_belongs_to_that_week_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], before_us: int, *, in_first: bool, in_second: bool
) -> None:
    """As the current figures of the week before, and as the prior figures of the week itself."""
    first = week_of(api.clock.at)
    api.clock.at = first.end - DAY_US
    deliver(api, program, outgoing("acht_1", at=format_instant(api.clock.at - DAY_US)))
    api.clock.at = first.end - before_us
    take(api, program["id"], tenant["operatorToken"])
    api.clock.at = first.end + DAY_US
    take(api, program["id"], tenant["operatorToken"])

    def figures(week: IsoWeek, name: str) -> set[str]:
        path = f"/api/reports/weekly/{program['id']}?week={week}"
        kris = api.client.get(path, headers=api.operator(tenant)).json()["kris"]
        return {each["name"] for each in kris if each[name] is not None}

    assert ("counterparty_concentration" in figures(first, "value")) is in_first
    assert ("counterparty_concentration" in figures(week_of(first.end), "prior")) is in_second
    assert "counterparty_concentration" in figures(week_of(first.end), "value")
