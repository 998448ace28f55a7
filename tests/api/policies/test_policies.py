"""The policies that a tenant starts with, as each reader sees them, and the numbers of a new one."""

from typing import Any

import msgspec
import pytest

from clearhold.features.policy.seeds import CLOCK_V1, KRI_V1, LADDER_V1, POLICY_V1
from tests.support.running_app import RunningApp, assert_refused


def policies(api: RunningApp, tenant: dict[str, Any], **query: str) -> Any:
    return api.client.get("/api/policies", params=query or None, headers=api.operator(tenant))


def versions(answer: Any) -> set[str]:
    assert answer.status_code == 200, answer.text
    return {policy["version"] for policy in answer.json()}


def test_given_a_new_tenant_when_listed_then_it_starts_with_the_documented_defaults(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    listed = {policy["version"]: policy for policy in policies(api, tenant).json()}

    assert set(listed) == {"policy-v1", "clock-v1", "ladder-v1", "thresholds-v1", "kri-v1", "retention-v1"}
    for policy in listed.values():
        assert (policy["tenantId"], policy["programId"], policy["active"]) == (tenant["id"], None, True)
        assert policy["createdAt"] == tenant["createdAt"]
    body, clock = listed["policy-v1"]["body"], listed["clock-v1"]["body"]
    assert body["version"] == "policy-v1"
    assert body["autoClosableDetectors"] == list(POLICY_V1.auto_closable_detectors)
    assert (body["minProgramN"], body["holdBandAutoHold"]) == (POLICY_V1.min_program_n, POLICY_V1.hold_band_auto_hold)
    assert clock == {
        "autoHours": CLOCK_V1.auto_hours,
        "standardHours": CLOCK_V1.standard_hours,
        "complexHours": CLOCK_V1.complex_hours,
        "appealHours": CLOCK_V1.appeal_hours,
    }
    assert listed["ladder-v1"]["body"]["rescreenDays"]["hold"] == LADDER_V1.rescreen_days.hold


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"prefix": "clock"}, {"clock-v1"}),
        ({"prefix": "rules"}, set()),
        ({"prefix": "rules,ladder,clock"}, {"clock-v1", "ladder-v1"}),
        ({"active": "true"}, {"policy-v1", "clock-v1", "ladder-v1", "thresholds-v1", "kri-v1", "retention-v1"}),
        ({"active": "false"}, set()),
    ],
)
def test_given_a_filter_when_listed_then_only_those_are_found(
    api: RunningApp, tenant: dict[str, Any], query: dict[str, str], found: set[str]
) -> None:
    assert versions(policies(api, tenant, **query)) == found


def test_given_a_program_when_named_then_its_own_policies_are_listed_and_a_strangers_is_unknown(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")

    assert versions(policies(api, tenant, programId=program["id"].upper())) == set()
    assert_refused(policies(api, other, programId=program["id"]), 404, "Unknown program on this tenant.")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [({"prefix": "secret"}, "prefix[0] must be one of"), ({"active": "1"}, "active must be true or false")],
)
def test_given_a_filter_that_is_none_when_listed_then_400_says_so(
    api: RunningApp, tenant: dict[str, Any], query: dict[str, str], sentence: str
) -> None:
    assert_refused(policies(api, tenant, **query), 400, sentence)


def test_given_a_policy_when_read_then_it_may_be_kept_privately_and_asked_for_again(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    policy = policies(api, tenant, prefix="ladder").json()[0]
    path = f"/api/policies/{policy['id']}"

    first = api.client.get(path, headers=api.operator(tenant))
    known = api.client.get(path, headers=api.operator(tenant) | {"If-None-Match": first.headers["etag"]})
    outdated = api.client.get(path, headers=api.operator(tenant) | {"If-None-Match": '"other"'})

    assert first.json() == policy
    assert first.headers["cache-control"] == "private, no-cache"
    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["etag"] == first.headers["etag"] == outdated.headers["etag"]
    assert outdated.status_code == 200


def test_given_the_policies_when_listed_then_they_may_be_kept_privately_and_asked_for_again(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    def listed(**sent: str) -> Any:
        return api.client.get("/api/policies", headers=api.operator(tenant) | sent)

    first = listed()
    known = listed(**{"If-None-Match": f'"other", {first.headers["etag"]}'})
    outdated = listed(**{"If-None-Match": '"other"'})

    assert first.headers["cache-control"] == "private, no-cache"
    assert first.headers["content-type"] == "application/json"
    assert first.headers["etag"].startswith('"')
    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["etag"] == first.headers["etag"] == outdated.headers["etag"]
    assert outdated.json() == first.json() != []
    assert policies(api, tenant, prefix="clock").headers["etag"] != first.headers["etag"]


def test_given_two_tenants_when_read_then_neither_sees_the_others(api: RunningApp, tenant: dict[str, Any]) -> None:
    other = api.create_tenant("second-bank")
    mine, theirs = policies(api, tenant).json(), policies(api, other).json()

    assert not {policy["id"] for policy in mine} & {policy["id"] for policy in theirs}
    for unknown in (mine[0]["id"], "not-a-uuid"):
        answer = api.client.get(f"/api/policies/{unknown}", headers=api.operator(other))
        assert_refused(answer, 404, "Unknown policy on this tenant.")


@pytest.mark.parametrize(
    ("version", "seed", "over", "path"),
    [
        ("policy-v2", POLICY_V1, {"version": "policy-v2", "minProgramN": 200.0}, ("minProgramN",)),
        ("kri-v2", KRI_V1, {"minObservations": 3e1}, ("minObservations",)),
        (
            "ladder-v2",
            LADDER_V1,
            {"rescreenDays": {"clear": 365, "review": 90, "hold": 30.0, "unscored": 90}},
            ("rescreenDays", "hold"),
        ),
        ("retention-v2", None, {"tables": [{"table": "alert_versions", "days": 4000.0}]}, ("tables", 0, "days")),
    ],
)
def test_given_a_whole_number_with_a_point_when_written_then_it_is_that_integer(
    api: RunningApp,
    tenant: dict[str, Any],
    version: str,
    seed: msgspec.Struct | None,
    over: dict[str, Any],
    path: tuple[str | int, ...],
) -> None:
    body = ({} if seed is None else msgspec.to_builtins(seed)) | over
    sent = {"version": version, "programId": None, "body": body}
    written = api.client.post("/api/policies", json=sent, headers=api.operator(tenant))

    assert written.status_code == 201, written.text
    shown = written.json()["body"]
    assert shown == msgspec.json.decode(msgspec.json.encode(body))
    for step in path:
        shown = shown[step]
    assert type(shown) is int
