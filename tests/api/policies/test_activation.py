"""Policies written and brought into force over HTTP: two people, every program of the tenant, and nothing edited."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.errors import UnavailableError
from clearhold.features.policy.in_force import clock_in_force, policy_in_force, thresholds_of
from clearhold.features.policy.seeds import CLOCK_V1, KRI_V1, LADDER_V1, POLICY_V1, THRESHOLDS_V1
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from clearhold.flows.engine import restore_lost_policies
from clearhold.store.analysts.parts import days_in_force
from clearhold.store.redis_log.waiting_append import UNAVAILABLE
from tests.support.running_app import SHARDS, RunningApp, assert_refused

CLOCK_V2: Final = {"autoHours": 1, "standardHours": 8, "complexHours": 48.5, "appealHours": 48}


def a_body(seed: msgspec.Struct, **over: Any) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(seed)
    return body | over


LINES: Final = tuple(a_body(KRI_V1)["lines"])


def a_kri_body(lines: Iterable[dict[str, Any]], **over: Any) -> dict[str, Any]:
    return a_body(KRI_V1, lines=list(lines), **over)


def a_retention(**days: int | None) -> dict[str, Any]:
    return {"tables": [{"table": table, "days": number} for table, number in days.items()]}


def write(api: RunningApp, tenant: dict[str, Any], version: str, body: Any, program_id: str | None = None) -> Any:
    return api.client.post(
        "/api/policies",
        json={"version": version, "programId": program_id, "body": body},
        headers=api.operator(tenant),
    )


def activate(api: RunningApp, tenant: dict[str, Any], policy_id: str) -> Any:
    return api.client.post(
        f"/api/policies/{policy_id}/activate", json={"note": "decided in the meeting"}, headers=api.operator(tenant)
    )


def approve(api: RunningApp, tenant: dict[str, Any], action_id: str, approver: str) -> Any:
    return api.client.post(
        f"/api/actions/{action_id}/approve", json={"approverId": approver}, headers=api.operator(tenant)
    )


def in_force(
    api: RunningApp, tenant: dict[str, Any], version: str, body: Any, program_id: str | None = None
) -> dict[str, Any]:
    """A version written, activated and approved; the action at its end."""
    policy = write(api, tenant, version, body, program_id).json()
    action = activate(api, tenant, policy["id"]).json()
    approved: dict[str, Any] = approve(api, tenant, action["id"], "second@bank.test").json()
    api.catch_up()
    return approved


def state_of(api: RunningApp, program_id: str) -> ProgramState:
    with api.shards.reading(program_id) as state:
        return state


def listed(api: RunningApp, tenant: dict[str, Any]) -> Mapping[str, Any]:
    answer = api.client.get("/api/policies", headers=api.operator(tenant))
    return {policy["version"]: policy for policy in answer.json()}


def test_given_a_new_version_when_another_person_approves_its_activation_then_every_program_has_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    second = api.create_program(tenant, slug="second-program")
    created = write(api, tenant, "clock-v2", CLOCK_V2)
    assert created.status_code == 201, created.text
    policy = created.json()
    assert (policy["active"], policy["programId"], policy["body"]) == (False, None, CLOCK_V2)
    assert listed(api, tenant)["clock-v1"]["active"] is True

    requested = activate(api, tenant, policy["id"])
    assert requested.status_code == 201, requested.text
    action = requested.json()
    assert (action["status"], action["type"], action["programId"]) == ("requested", "activate_policy", None)
    assert listed(api, tenant)["clock-v2"]["active"] is False
    done = approve(api, tenant, action["id"], "second@bank.test").json()
    api.catch_up()

    assert (done["status"], done["approvedBy"], done["error"]) == ("executed", "second@bank.test", None)
    shown = listed(api, tenant)
    assert (shown["clock-v2"]["active"], shown["clock-v1"]["active"]) == (True, False)
    for program_id in (program["id"], second["id"], tenant["id"]):
        assert clock_in_force(state_of(api, program_id), api.clock.now()).standard_hours == 8
    overdue = api.client.get("/api/clocks/overdue", headers=api.operator(tenant)).json()
    assert overdue["policy"] == CLOCK_V2
    export = api.client.get("/api/record/export?kinds=policy", headers=api.operator(tenant)).text.splitlines()
    assert CLOCK_V2 in [msgspec.json.decode(line)["body"] for line in export]


def test_given_an_activation_when_its_requester_approves_it_then_it_is_refused_and_nothing_comes_into_force(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    policy = write(api, tenant, "clock-v2", CLOCK_V2).json()
    action = activate(api, tenant, policy["id"]).json()

    refused = approve(api, tenant, action["id"], f" {action['requestedBy'].upper()} ")

    assert (refused.status_code, refused.json()["status"]) == (200, "refused")
    assert listed(api, tenant)["clock-v2"]["active"] is False
    assert clock_in_force(state_of(api, program["id"]), api.clock.now()) == CLOCK_V1


def test_given_an_activation_that_waits_or_is_done_when_requested_again_then_409(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    policy = write(api, tenant, "clock-v2", CLOCK_V2).json()
    action = activate(api, tenant, policy["id"]).json()

    assert_refused(activate(api, tenant, policy["id"]), 409, "waits for its approver")
    approve(api, tenant, action["id"], "second@bank.test")
    api.catch_up()
    assert_refused(activate(api, tenant, policy["id"]), 409, "in force already")
    assert_refused(activate(api, tenant, listed(api, tenant)["ladder-v1"]["id"]), 409, "in force already")
    assert activate(api, tenant, listed(api, tenant)["clock-v1"]["id"]).status_code == 201


def test_given_a_policy_in_force_when_a_program_is_created_then_it_begins_with_it(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    in_force(api, tenant, "clock-v2", CLOCK_V2)
    in_force(api, tenant, "thresholds-v2", a_body(THRESHOLDS_V1, structuringThresholdsCents=["500000"]))

    program = api.create_program(tenant, slug="later-program")
    api.catch_up()

    state = state_of(api, program["id"])
    assert clock_in_force(state, 0).standard_hours == 8
    assert thresholds_of(state, 0).lines.cents == (500_000,)


def test_given_a_policy_of_one_program_when_activated_then_the_others_keep_the_tenants(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="second-program")
    body = a_body(POLICY_V1, version="policy-v2", minProgramN=10)

    done = in_force(api, tenant, "policy-v2", body, program["id"])

    assert (done["status"], done["programId"]) == ("executed", program["id"])
    now = api.clock.now()
    assert policy_in_force(state_of(api, program["id"]), now).policy.min_program_n == 10
    assert policy_in_force(state_of(api, other["id"]), now).policy == POLICY_V1
    shown = listed(api, tenant)
    assert (shown["policy-v1"]["active"], shown["policy-v2"]["active"]) == (True, True)


IN_BOTH: Final = {
    "autoClosableDetectors": ["velocity_spike", "round_trip"],
    "alwaysReviewed": ["round_trip"],
}
INVALID: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("policy-v2", a_body(POLICY_V1), "body.version must be the policy's own version"),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", alwaysReviewed=["astrology"]), "body.alwaysReviewed[0]"),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", autoClosableDetectors=["rule:x"]), "autoClosableDetectors[0]"),
    (
        "policy-v2",
        a_body(POLICY_V1, version="policy-v2", **IN_BOTH),
        "autoClosableDetectors[1] is in alwaysReviewed",
    ),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", autoCloseBands=["hold"]), "body.autoCloseBands[0]"),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", autoCloseBands=["blue"]), "must be one of"),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", minProgramN=-1), "body.minProgramN must be at least 0"),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", minProgramN=2**53), "body.minProgramN must be at most"),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", extra=1), "body.extra is not a known property"),
    ("policy-v2", a_body(POLICY_V1, version="policy-v2", twoApproverActions=["rob"]), "body.twoApproverActions[0]"),
    ("clock-v2", CLOCK_V2 | {"autoHours": -0.5}, "body.autoHours must be at least 0"),
    ("clock-v2", CLOCK_V2 | {"autoHours": 2**53}, "body.autoHours must be at most"),
    ("ladder-v2", a_body(LADDER_V1, rescreenDays={"clear": 0}), "body.rescreenDays"),
    ("thresholds-v2", a_body(THRESHOLDS_V1, structuringThresholdsCents=["0"]), "must be more than 0"),
    ("thresholds-v2", a_body(THRESHOLDS_V1, structuringThresholdsCents=["9007199254740992"]), "must be at most"),
    (
        "thresholds-v2",
        a_body(THRESHOLDS_V1, structuringThresholdsCents=[300000]),
        "structuringThresholdsCents[0] must be a string",
    ),
    (
        "thresholds-v2",
        a_body(THRESHOLDS_V1, callForAction={"asOf": "2026-02-30", "source": "FATF", "countries": ["IR"]}),
        "body.callForAction.asOf must be a date",
    ),
    (
        "thresholds-v2",
        a_body(THRESHOLDS_V1, callForAction={"asOf": "2026-02-13", "source": "FATF", "countries": ["Iran"]}),
        "body.callForAction.countries[0] must be an ISO 3166-1",
    ),
    ("kri-v2", a_kri_body(LINES[1:]), "body.lines must have at least 18 items"),
    ("kri-v2", a_kri_body((LINES[0], *LINES[:-1])), "body.lines[1].kri must be each indicator once"),
    ("kri-v2", a_kri_body(({**LINES[0], "watch": 0.006}, *LINES[1:])), "body.lines[0].watch must be reached before"),
    ("kri-v2", a_kri_body((*LINES[:4], {**LINES[4], "watch": 0.9}, *LINES[5:])), "body.lines[4].watch must be reached"),
    ("kri-v2", a_kri_body(({**LINES[0], "kri": "luck"}, *LINES[1:])), "body.lines[0].kri must be one of"),
    ("kri-v2", a_kri_body(LINES, fleetOverallReturnRate=1.5), "body.fleetOverallReturnRate must be at most 1"),
    ("retention-v2", {}, "body.tables is required"),
    ("retention-v2", a_retention(events=89), "body.tables[0].days must be null or at least 90: features, backtests"),
    ("retention-v2", a_retention(events=90, alert_versions=1826), "body.tables[1].days must be null or at least 1827"),
    ("retention-v2", a_retention(dispositions=0), "body.tables[0].days must be at least 1"),
    ("retention-v2", a_retention(entity_versions=4000), "body.tables[0].days must be null: its rows are written when"),
    ("retention-v2", a_retention(rules=4000), "body.tables[0].days must be null: it is written whole"),
    ("retention-v2", a_retention(transfers=4000), "body.tables[0].table is not a table of the lake"),
    (
        "retention-v2",
        {"tables": [{"table": "events", "days": 90}, {"table": "events", "days": None}]},
        "body.tables[1].table must be each table once",
    ),
    ("autonomy-v2", {}, "is written by POST /api/autonomy/{programId}"),
    ("limits-v2", {}, "is written by POST /api/limits/program/{programId}"),
    ("policy-abc", {}, "version must be a kind of policy and a number"),
    ("policy-v2.autonomy-v1", {}, "version must be a kind of policy and a number"),
    (
        "thresholds-v2",
        a_body(THRESHOLDS_V1, callForAction={"asOf": "2026-02-13", "source": "FATF", "countries": ["XX"]}),
        "body.callForAction.countries[0] must be an ISO 3166-1",
    ),
    ("rules-v2", {}, "is written by POST /api/rules/{id}/activate"),
    ("weather-v2", {}, "version must begin with one of policy, clock, ladder, thresholds, kri, retention"),
)


def test_given_a_body_that_breaks_a_rule_when_written_then_400_names_it_and_nothing_is_stored(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    for version, body, sentence in INVALID:
        assert_refused(write(api, tenant, version, body), 400, sentence)
    assert len(listed(api, tenant)) == 6


def test_given_days_of_the_lake_when_two_people_put_them_in_force_then_they_are_policy_like_any_other(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    days = a_retention(events=90, alert_versions=2000, dispositions=None, entity_versions=None)
    assert_refused(write(api, tenant, "retention-v2", days, program["id"]), 400, "programId must be null: a file")
    write(api, tenant, "retention-v2", days)
    assert days_in_force(api.registry.tenancy) == {}

    policy = listed(api, tenant)["retention-v2"]
    action = activate(api, tenant, policy["id"]).json()
    assert days_in_force(api.registry.tenancy) == {}
    approve(api, tenant, action["id"], "second@bank.test")
    api.catch_up()

    assert days_in_force(api.registry.tenancy) == {"events": 90, "alert_versions": 2000}
    assert days_in_force(api.reloaded_registry().tenancy) == {"events": 90, "alert_versions": 2000}
    shown = listed(api, tenant)
    assert (shown["retention-v2"]["active"], shown["retention-v1"]["active"]) == (True, False)
    assert shown["retention-v1"]["body"] == {"tables": []}
    export = api.client.get("/api/record/export?kinds=policy", headers=api.operator(tenant)).text.splitlines()
    assert days in [msgspec.json.decode(line)["body"] for line in export]
    in_program = "SELECT body FROM policies WHERE version = 'retention-v2' AND program_id = ?"
    rows = api.database.execute(in_program, [program["id"]]).fetchall()
    assert [msgspec.json.decode(body) for (body,) in rows] == [days]

    api.create_tenant(slug="another-bank")
    assert days_in_force(api.registry.tenancy) == {}  # they share the files, and the other one keeps all


def test_given_a_version_that_exists_when_written_again_then_409_and_the_first_stays(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    write(api, tenant, "clock-v2", CLOCK_V2)

    assert_refused(write(api, tenant, "clock-v2", CLOCK_V2 | {"autoHours": 2}), 409, "versions are never edited")
    assert_refused(write(api, tenant, "clock-v1", CLOCK_V2), 409)
    assert_refused(write(api, tenant, "clock-v4", CLOCK_V2), 409, "the next one is clock-v3")
    assert listed(api, tenant)["clock-v2"]["body"] == CLOCK_V2
    assert_refused(write(api, tenant, "clock-v3", CLOCK_V2, "11111111-1111-4111-8111-111111111111"), 404)


def test_given_policies_when_the_control_streams_are_read_back_then_they_are_the_same(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    in_force(api, tenant, "clock-v2", CLOCK_V2)
    write(api, tenant, "ladder-v2", a_body(LADDER_V1))
    before = listed(api, tenant)

    streams = list(api.reader.control())
    lake = list(api.segments.control(tenant["id"]).read(0))
    reloaded = api.reloaded_registry().tenancy.policies[tenant["id"]].all()

    assert [(each.version, each.active) for each in reloaded] == [
        (name, shown["active"]) for name, shown in before.items()
    ]
    in_lake = [(tenant["id"], each.offset, each.kind, each.appended_at, each.body) for each in lake]
    assert in_lake == [entry for entry in streams if entry[0] == tenant["id"]]


@pytest.mark.parametrize("in_log", [False, True], ids=["lost", "confirmation lost"])
def test_given_an_approved_activation_when_the_log_fails_it_then_the_next_process_brings_it_into_force_once(
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    in_log: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    policy = write(api, tenant, "clock-v2", CLOCK_V2).json()
    action = activate(api, tenant, policy["id"]).json()
    append = api.appender.append_control

    async def fail(*args: Any, **sent: Any) -> int:
        if in_log:
            await append(*args, **sent)
        raise UnavailableError(UNAVAILABLE)

    with monkeypatch.context() as patch:
        patch.setattr(api.appender, "append_control", fail)
        assert approve(api, tenant, action["id"], "second@bank.test").status_code == 503
    api.restart()
    taken_up = approve(api, tenant, action["id"], "second@bank.test").json()
    assert taken_up["status"] == "approved"

    api.on_loop(lambda: api.bank_work.executor.conclude(tenant["id"], action["id"], within_s=20))
    api.catch_up()

    done = api.client.get(f"/api/actions/{action['id']}", headers=api.operator(tenant)).json()
    assert done["status"] == "executed"
    for place in (program["id"], tenant["id"]):
        state = state_of(api, place)
        assert [each["version"] for each in state.policies.dump()] == ["clock-v2"]
    rows = api.database.execute("SELECT program_id FROM policies ORDER BY program_id").fetchall()
    assert rows == [(tenant["id"],), (program["id"],)]
    assert listed(api, tenant)["clock-v2"]["active"] is True


def test_given_a_shard_that_lost_its_entries_when_the_service_starts_then_its_policies_come_back(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    in_force(api, tenant, "clock-v2", CLOCK_V2)
    in_force(api, tenant, "policy-v2", a_body(POLICY_V1, version="policy-v2", minProgramN=7), program["id"])

    def restore() -> Any:
        return restore_lost_policies(api.registry, api.stores.owner)

    entries = len(api.entries())
    api.on_loop(restore)
    assert len(api.entries()) == entries
    for shard in range(SHARDS):
        api.shards.restore(ShardState(shard))
    api.on_loop(restore)
    api.catch_up()

    state = state_of(api, program["id"])
    assert clock_in_force(state, api.clock.now()).standard_hours == 8
    assert policy_in_force(state, api.clock.now()).policy.min_program_n == 7
    assert len(api.entries()) == entries + 3


def test_given_a_programs_own_tier_when_policies_are_listed_then_it_is_among_them_and_of_no_other_program(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="second-program")
    for tier in ("supervised", "standard"):
        sent = {"tier": tier, "note": "after the review"}
        answer = api.client.post(f"/api/autonomy/{program['id']}", json=sent, headers=api.operator(tenant))
        assert answer.status_code in {200, 201, 409}, answer.text
    api.catch_up()

    def own(**query: str) -> list[tuple[str, str, bool]]:
        answer = api.client.get("/api/policies", params={"prefix": "autonomy"} | query, headers=api.operator(tenant))
        return [(policy["programId"], policy["version"], policy["active"]) for policy in answer.json()]

    assert own() == own(programId=program["id"]) == [(program["id"], "autonomy-v1", True)]
    assert own(programId=other["id"]) == []
    (policy,) = api.client.get("/api/policies?prefix=autonomy", headers=api.operator(tenant)).json()
    assert policy["body"]["tier"] == "supervised"
    assert api.client.get(f"/api/policies/{policy['id']}", headers=api.operator(tenant)).json() == policy
    listed = api.client.get("/api/policies", headers=api.key(tenant, programId=other["id"]))
    assert listed.status_code == 200, listed.text
    assert {each["programId"] for each in listed.json()} == {None}
    assert_refused(activate(api, tenant, policy["id"]), 404)
