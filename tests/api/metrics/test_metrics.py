"""Metrics over HTTP: which programs they are of, which days they cover, and what was stored of days that ended."""

from typing import Any, Final

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from tests.support.alerting import alerts_of, an_alert, decide, deliver, outgoing
from tests.support.bank_events import an_event, rfc3339
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import SHARDS, RunningApp, assert_refused

REPORTS: Final = ["reports"]


def read(api: RunningApp, headers: dict[str, str], path: str = "/api/metrics", **query: Any) -> dict[str, Any]:
    api.catch_up()
    answer = api.client.get(path, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    metrics: dict[str, Any] = answer.json()
    return metrics


def history(api: RunningApp, headers: dict[str, str], **query: Any) -> list[dict[str, Any]]:
    days: list[dict[str, Any]] = read(api, headers, "/api/metrics/history", **query)["data"]
    return days


def tick(api: RunningApp) -> None:
    """A minute passes in every shard."""

    async def append_all() -> None:
        for shard in range(SHARDS):
            await api.appender.append(shard, EntryKind.TICK, "", api.clock.now(), b"")

    api.on_loop(append_all)
    api.catch_up()


def counted(metrics: dict[str, Any]) -> int:
    """How many transfers the metrics are of."""
    n: int = metrics["coverage"]["transfers"]["n"]
    return n


def test_given_transfers_alerts_labels_and_decisions_then_every_field_says_so(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program, "acht_1")
    deliver(api, program, outgoing("acht_2"), an_event("loan.created", {"id": "loan_1"}))
    for transfer_id, label in (("acht_1", "bad"), ("acht_2", "ok")):
        body = {"transferId": transfer_id, "label": label, "reason": "It is known."}
        assert api.client.post("/api/labels", json=body, headers=api.operator(tenant)).status_code == 201
    api.clock.advance(3 * HOUR_US)
    assert decide(api, api.operator(tenant), alert["id"]).status_code == 201

    metrics = read(api, api.operator(tenant))

    assert (metrics["asOf"], metrics["windowDays"]) == ("2026-03-02T18:00:00.000Z", 30)
    assert (metrics["from"], metrics["to"]) == ("2026-02-01T00:00:00.000Z", "2026-03-03T00:00:00.000Z")
    assert (metrics["calibration"]["unscored"]["value"], metrics["calibration"]["unscored"]["n"]) == (0.5, 2)
    assert metrics["labelMaturity"]["value"] == 0.5  # the label ok may yet turn bad
    assert (metrics["coverage"]["transfers"]["value"], counted(metrics)) == (0.0, 2)
    assert (metrics["coverage"]["programs"]["value"], metrics["coverage"]["programs"]["n"]) == (0.0, 1)
    assert metrics["holdBand"]["precision"]["value"] is None
    assert (metrics["holdBand"]["recall"]["value"], metrics["holdBand"]["fn"]) == (0.0, 1)
    assert (metrics["autoClosed"]["value"], metrics["autoClosed"]["n"]) == (0.0, len(alerts_of(api, tenant)))
    assert (metrics["overturned"]["value"], metrics["overturned"]["n"]) == (1.0, 1)
    assert metrics["timeToDecisionHours"]["reviewed"] == {"median": 3.0, "p90": 3.0, "n": 1}
    assert metrics["approvedWithoutWaiting"] == {"count": 0, "cents": "0", "n": 0}
    assert metrics["eventCoverage"] == {
        "value": 0.5,
        "n": 2,
        "seen": ["ach", "loan"],
        "byFamily": [
            {"family": "ach", "result": "applied", "count": 2},
            {"family": "loan", "result": "stored", "count": 1},
        ],
    }


def test_given_programs_of_each_kind_then_each_caller_gets_the_metrics_of_those_within_its_reach(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    simulated = api.create_program(tenant, slug="simulated", source="simulated")
    other = api.create_tenant("second-bank")
    theirs = api.create_program(other, slug="theirs")
    for count, each in ((1, program), (2, lending), (4, simulated), (8, theirs)):
        deliver(api, each, *(outgoing(f"acht_{number}") for number in range(count)))

    def n(headers: dict[str, str], **query: Any) -> tuple[int, int, Any]:
        metrics = read(api, headers, **query)
        return counted(metrics), metrics["coverage"]["programs"]["n"], metrics.get("simulated", "absent")

    ann = api.operator(tenant)
    assert n(ann) == (3, 2, "absent")
    assert n(ann, programId=lending["id"]) == (2, 1, "absent")
    assert n(ann, programId=f"{lending['id']},{lending['id'].upper()}") == (2, 1, "absent")
    assert n(ann, programId=simulated["id"]) == (4, 1, True)
    both = {"programId": f"{program['id']},{simulated['id']}"}
    assert_refused(api.client.get("/api/metrics", params=both, headers=ann), 400, "programId must name simulated")
    assert n(api.operator(other)) == (8, 1, "absent")
    assert n(api.key(tenant, scopes=REPORTS)) == (3, 2, "absent")
    assert n(api.key(tenant, programId=program["id"], scopes=REPORTS)) == (1, 1, "absent")
    assert n(api.key(tenant, mode="test", scopes=REPORTS)) == (4, 1, True)
    assert n(api.operator(api.create_tenant("third-bank"))) == (0, 0, "absent")
    for program_id in (theirs["id"], UNKNOWN_ID):
        refused = api.client.get("/api/metrics", params={"programId": program_id}, headers=ann)
        assert_refused(refused, 404)


def test_given_a_window_then_its_days_are_whole_ones_in_utc_and_today_is_the_last(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    midnight = api.clock.now() // DAY_US * DAY_US
    times = (midnight - 29 * DAY_US, midnight - 29 * DAY_US - 1, midnight - 30 * DAY_US - 1, midnight)
    deliver(api, program, *(outgoing(f"acht_{number}", at=rfc3339(at)) for number, at in enumerate(times)))

    counts = {days: counted(read(api, api.operator(tenant), days=days)) for days in (1, 29, 30, 31, 32)}

    assert counts == {1: 1, 29: 1, 30: 2, 31: 3, 32: 4}


@pytest.mark.parametrize("days", ["0", "366", "-1", "1.5", "all"])
def test_given_days_out_of_range_then_they_are_refused(api: RunningApp, tenant: dict[str, Any], days: str) -> None:
    assert_refused(api.client.get("/api/metrics", params={"days": days}, headers=api.operator(tenant)), 400, "days")


def test_given_days_that_ended_then_the_history_is_what_was_known_then(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    api.create_program(tenant, slug="simulated", source="simulated")
    ann = api.operator(tenant)
    deliver(api, program, outgoing("acht_1"))
    tick(api)
    assert history(api, ann) == []
    for number in range(3):
        api.clock.advance(DAY_US)
        tick(api)
        deliver(api, lending, outgoing(f"acht_{number}"))  # each is late, and of the first day

    days = history(api, ann)

    ends = [f"2026-03-0{day}T00:00:00.000Z" for day in (5, 4, 3)]
    assert [(day["to"], counted(day), day["windowDays"]) for day in days] == [
        (end, count, 30) for end, count in zip(ends, (3, 2, 1), strict=True)
    ]
    assert days[0]["asOf"] == "2026-03-05T15:00:00.000Z"
    assert days[0]["from"] == "2026-02-03T00:00:00.000Z"
    assert days[0]["coverage"]["programs"]["n"] == 2
    assert [counted(day) for day in history(api, ann, programId=lending["id"])] == [2, 1, 0]
    assert [counted(day) for day in history(api, api.key(tenant, programId=program["id"], scopes=REPORTS))] == [1, 1, 1]
    assert [day["to"] for day in history(api, ann, **{"from": "2026-03-03", "to": "2026-03-04"})] == ends[1:2]


def test_given_bounds_within_days_when_the_history_is_read_then_their_days_are_whole(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1"))
    for _ in range(4):
        tick(api)
        api.clock.advance(DAY_US)
    ann, whole = api.operator(tenant), {"from": "2026-03-03", "to": "2026-03-05"}

    days = history(api, ann, **whole)

    assert len(days) == 2
    assert history(api, ann, **{"from": "2026-03-03T23:00:00Z", "to": "2026-03-04T00:00:01Z"}) == days
    assert history(api, ann, **{"from": "2026-03-03T02:00:00+02:00", "to": "2026-03-04T19:00:00-05:00"}) == days


def test_given_more_days_than_a_page_then_the_cursor_leads_through_them(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    tick(api)
    api.clock.advance(5 * DAY_US)
    tick(api)
    headers, query, seen = api.operator(tenant), {"limit": "2", "programId": program["id"]}, list[str]()
    while True:
        page = read(api, headers, "/api/metrics/history", **query)
        seen += [day["to"] for day in page["data"]]
        if not page["hasMore"]:
            break
        query["cursor"] = page["nextCursor"]

    assert seen == [f"2026-03-0{day}T00:00:00.000Z" for day in (7, 6, 5, 4, 3)]
    other = api.client.get("/api/metrics/history", params=query | {"from": "2026-01-01"}, headers=headers)
    assert_refused(other, 400, "same filters")


@pytest.mark.parametrize("moment", ["2026-03-02T00:00:01", "2026-02-30", "yesterday", "2026-03-02T24:00:01Z"])
def test_given_a_bound_that_is_no_moment_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], moment: str
) -> None:
    refused = api.client.get("/api/metrics/history", params={"from": moment}, headers=api.operator(tenant))

    assert_refused(refused, 400, "from must be")
