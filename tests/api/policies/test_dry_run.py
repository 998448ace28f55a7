"""The dry run of a policy over HTTP: real alerts of real deliveries, against the oracle of the page on policies."""

from typing import Any, Final

import msgspec
import pytest

from clearhold.api.policies import dry_run as service
from clearhold.features.core.instants import DAY_US
from clearhold.features.detectors.table import DETECTOR_OF
from clearhold.features.policy.seeds import POLICY_V1
from tests.api.policies.test_activation import activate, approve, in_force, write
from tests.oracle import dry_runs as oracle
from tests.support.alerting import ALERTING, alerts_of, deliver, outgoing
from tests.support.running_app import RunningApp, assert_refused

SEED: Final[dict[str, Any]] = msgspec.to_builtins(POLICY_V1)
WIDEST: Final[dict[str, Any]] = SEED | {
    "version": "policy-v2",
    "autoClosableDetectors": sorted(set(DETECTOR_OF) - set(SEED["alwaysReviewed"])),
    "autoCloseBands": ["clear", "review"],
    "minProgramN": 0,
}
"""Closes alone what a policy can."""


def run(api: RunningApp, tenant: dict[str, Any], *, status: int = 200, **asked: Any) -> Any:
    answer = api.client.post("/api/policies/dry-run", json=asked, headers=api.operator(tenant))
    assert answer.status_code == status, answer.text
    return answer.json()


def some_alerts(api: RunningApp, program: dict[str, Any], prefix: str = "acht") -> None:
    """Hard ones, ones for a person, and ones that only a thin history keeps from being closed."""
    deliver(
        api,
        program,
        *(outgoing(f"{prefix}_{number}", amount=500_000 + number * 100_000) for number in range(6)),
        outgoing(f"{prefix}_hard", **ALERTING),
        outgoing(f"{prefix}_large", amount=90_000_000, counterparty_id="cpty_2"),
    )


def opened(api: RunningApp) -> list[dict[str, Any]]:
    """The alerts as they opened; the interface has the ones that a later finding joined with that finding."""
    with api.database.cursor() as cursor:
        bodies = cursor.execute("SELECT body FROM alert_bodies").fetchall()
    return [as_asked(msgspec.json.decode(body)) for (body,) in bodies]


def as_asked(alert: dict[str, Any]) -> dict[str, Any]:
    """An alert in the words of the oracle."""
    evidence = alert["evidence"]
    return {
        "id": alert["id"],
        "program": alert["programId"],
        "offset": 0,
        "appeal": False,
        "detector": alert["detector"],
        "severity": alert["severity"],
        "hard": alert["hardSignal"],
        "subject": alert["subjectType"],
        "score": evidence["score"],
        "band": evidence["band"],
        "programN": evidence["programN"],
        "degraded": evidence["degraded"],
        "policyVersion": alert["policyVersion"],
        "stored": (alert["route"], alert["slaTier"], evidence["autoHold"], evidence["routeReason"]),
    }


def test_given_alerts_then_the_dry_run_counts_those_that_the_draft_would_have_routed_otherwise(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    some_alerts(api, program)
    alerts = opened(api)
    versions = {"policy-v1": {"body": SEED, "programId": None}}
    expected, otherwise = oracle.run(alerts, {"body": WIDEST, "programId": None}, versions, {})
    assert len(otherwise) >= 2
    assert expected[oracle.SAME] >= 1

    answer = run(api, tenant, version="policy-v2", body=WIDEST)

    assert (answer["alerts"], answer["same"], answer["otherwise"]) == (
        len(alerts),
        expected[oracle.SAME],
        len(otherwise),
    )
    assert (answer["days"], answer["limitReached"], answer["notConsidered"]) == (30, False, [])
    assert {each["alertId"] for each in answer["examples"]} == set(otherwise)
    for change in answer["changes"]:
        places = tuple(
            (change[side]["route"], change[side]["slaTier"], change[side]["autoHold"]) for side in ("from", "to")
        )
        assert change["alerts"] == expected[places]
    detectors = {each["detector"]: each for each in answer["byDetector"]}
    assert set(detectors) == {each["detector"] for each in alerts}
    assert sum(each["otherwise"] for each in detectors.values()) == len(otherwise)
    (of_program,) = answer["byProgram"]
    assert (of_program["programId"], of_program["otherwise"]) == (program["id"], len(otherwise))
    assert {each["toReason"] for each in answer["examples"]} == {"policy_allows"}


def test_given_a_written_version_then_its_name_is_enough_and_nothing_is_written(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    some_alerts(api, program)
    draft = run(api, tenant, version="policy-v2", body=WIDEST)
    versions = api.client.get("/api/policies", headers=api.operator(tenant)).json()
    assert "policy-v2" not in {each["version"] for each in versions}
    assert write(api, tenant, "policy-v2", WIDEST).status_code == 201

    assert run(api, tenant, version="policy-v2") == draft
    of_itself = run(api, tenant, version="policy-v1")
    assert (of_itself["same"], of_itself["otherwise"]) == (of_itself["alerts"], 0)
    body = api.client.post("/api/policies/dry-run", json={"version": "policy-v3"}, headers=api.operator(tenant))
    assert_refused(body, 404, "Unknown policy version on this tenant.")


def test_given_days_then_older_alerts_are_not_read(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    some_alerts(api, program)
    api.clock.advance(2 * DAY_US)

    assert run(api, tenant, version="policy-v1", days=1)["alerts"] == 0
    assert run(api, tenant, version="policy-v1", days=3)["alerts"] == len(alerts_of(api, tenant))


def test_given_a_program_with_a_policy_of_its_own_then_the_tenants_draft_does_not_reach_its_alerts(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="second-program")
    some_alerts(api, program)
    before = len(alerts_of(api, tenant))
    in_force(api, tenant, "policy-v2", WIDEST, program["id"])
    some_alerts(api, program, "later")
    some_alerts(api, other, "other")
    later = len(alerts_of(api, tenant, programId=program["id"])) - before
    assert later >= 1

    of_tenant = run(api, tenant, version="policy-v3", body=SEED | {"version": "policy-v3"})
    of_program = run(api, tenant, version="policy-v3", body=SEED | {"version": "policy-v3"}, programId=program["id"])

    (left_out,) = of_tenant["notConsidered"]
    assert (left_out["reason"], left_out["alerts"]) == ("own_policy", later)
    assert (of_tenant["same"], of_tenant["otherwise"]) == (of_tenant["alerts"] - later, 0)
    assert (of_program["alerts"], of_program["notConsidered"]) == (before + later, [])
    assert of_program["otherwise"] >= 1
    assert {each["policyVersion"] for each in alerts_of(api, tenant, programId=program["id"])} == {
        "policy-v1",
        "policy-v2",
    }


def test_given_an_alert_whose_stored_answer_is_another_then_it_is_not_considered_and_counted(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    some_alerts(api, program)
    number = len(alerts_of(api, tenant))
    changed = "replace(body, 'routeReason\":\"', 'routeReason\":\"un')"
    with api.database.cursor() as cursor:
        cursor.execute(f"UPDATE alert_bodies SET body = {changed}")  # noqa: S608 - a constant

    answer = run(api, tenant, version="policy-v2", body=WIDEST)

    assert (answer["same"], answer["otherwise"], answer["examples"]) == (0, 0, [])
    assert [(each["reason"], each["alerts"]) for each in answer["notConsidered"]] == [("not_reproduced", number)]


def test_given_more_alerts_than_the_limit_then_the_newest_are_read_and_the_answer_says_so(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    some_alerts(api, program)
    monkeypatch.setattr(service, "MOST_ALERTS", 2)

    answer = run(api, tenant, version="policy-v2", body=WIDEST)

    assert (answer["alerts"], answer["limit"], answer["limitReached"]) == (2, 2, True)


def test_given_an_appeal_then_it_is_not_considered(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    some_alerts(api, program)
    alert = alerts_of(api, tenant)[0]["id"]
    headers = api.operator(tenant)
    decision = {"decision": "close", "narrative": "The program explained it, and its documents agree with that."}
    assert api.client.post(f"/api/alerts/{alert}/decide", json=decision, headers=headers).status_code == 201
    appealed = api.client.post(f"/api/alerts/{alert}/appeal", json={"reason": "It is wrong."}, headers=headers)
    assert appealed.status_code == 201, appealed.text
    api.catch_up()

    answer = run(api, tenant, version="policy-v1")

    assert [(each["reason"], each["alerts"]) for each in answer["notConsidered"]] == [("appeal", 1)]


def test_given_a_draft_in_force_then_new_alerts_go_as_it_said(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    some_alerts(api, program)
    said = {each["detector"] for each in run(api, tenant, version="policy-v2", body=WIDEST)["examples"]}
    policy = write(api, tenant, "policy-v2", WIDEST).json()
    approve(api, tenant, activate(api, tenant, policy["id"]).json()["id"], "second@bank.test")
    api.catch_up()
    api.clock.advance(3 * DAY_US)
    other = api.create_program(tenant, slug="second-program")
    some_alerts(api, other, "later")

    later = alerts_of(api, tenant, programId=other["id"])
    assert {each["detector"] for each in later if each["route"] == "automated"} == said
    assert run(api, tenant, version="policy-v2")["notConsidered"] == []


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"version": "clock-v2"}, "version"),
        ({"version": "policy-v2", "days": 91}, "days"),
        ({"version": "policy-v2", "days": 0}, "days"),
        ({"version": "policy-v2", "programId": "b2e7c5d1-0f3a-5e8b-9d4c-6a1f2e7b8c11"}, "programId"),
        ({"version": "policy-v2", "body": WIDEST | {"minProgramN": -1}}, "body.minProgramN"),
        (
            {"version": "policy-v2", "body": WIDEST | {"autoClosableDetectors": ["spike"]}},
            "body.autoClosableDetectors[0]",
        ),
        ({"version": "policy-v3", "body": WIDEST}, "body.version"),
    ],
)
def test_given_a_mistake_then_its_field_is_named(
    api: RunningApp, tenant: dict[str, Any], asked: dict[str, Any], path: str
) -> None:
    answer = run(api, tenant, status=400, **asked)

    assert [each["path"] for each in answer["fields"]] == [path], answer
