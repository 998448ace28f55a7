"""Operator tokens issued to persons: who may use one, dual control with them, and what the record says."""

from typing import Any, Final

import pytest
from msgspec import json
from structlog.testing import capture_logs

from clearhold.features.core.instants import DAY_US, format_instant
from tests.support.alerting import an_alert
from tests.support.running_app import RunningApp, assert_refused, content_of_201

NARRATIVE: Final = "It was explained by the program's documents."


class Desk:
    """A tenant with a shared token, whose persons have tokens of their own."""

    def __init__(self, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> None:
        self.api, self.tenant, self.program = api, tenant, program
        self.path = f"/api/admin/tenants/{tenant['id']}/operator-tokens"

    def issue(self, name: str, **over: Any) -> Any:
        body = {"name": name, "expiresAt": "2026-06-01"} | over
        return self.api.client.post(self.path, json=body, headers=self.api.admin)

    def person(self, name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {content_of_201(self.issue(name))['token']}"}

    def claim(self, name: str) -> dict[str, str]:
        return self.api.operator(self.tenant, name)

    def request(self, headers: dict[str, str], kind: str = "freeze_account") -> Any:
        body = {"programId": self.program["id"], "type": kind, "targetType": "account", "targetId": "bacc_1"}
        return content_of_201(self.api.client.post("/api/actions", json=body, headers=headers))

    def approve(self, action: dict[str, Any], headers: dict[str, str], **body: str) -> Any:
        return self.api.client.post(f"/api/actions/{action['id']}/approve", json=body, headers=headers)

    def end(self, action: dict[str, Any], how: str, headers: dict[str, str]) -> Any:
        body = {"note": "Not needed any more."}
        return self.api.client.post(f"/api/actions/{action['id']}/{how}", json=body, headers=headers)

    def links(self, kind: str) -> list[dict[str, Any]]:
        answer = self.api.client.get(f"/api/record/export?kinds={kind}", headers=self.claim("ann"))
        lines: list[dict[str, Any]] = [json.decode(line) for line in answer.content.splitlines()]
        return [line for line in lines if line["kind"] == kind]


@pytest.fixture
def desk(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> Desk:
    return Desk(api, tenant, program)


def test_given_a_token_of_a_person_when_issued_then_it_is_shown_once_listed_without_and_in_no_log(desk: Desk) -> None:
    with capture_logs() as logs:
        answer = desk.issue("Ann  Lee ")

    issued = content_of_201(answer)
    token = issued.pop("token")
    assert token.startswith("op_")
    assert len(token) == 46
    assert issued == {
        "id": issued["id"],
        "tenantId": desk.tenant["id"],
        "name": "Ann Lee",
        "prefix": token[:12],
        "createdAt": format_instant(desk.api.clock.now()),
        "createdBy": "root",
        "expiresAt": "2026-06-01T00:00:00.000Z",
        "revokedAt": None,
    }
    assert desk.api.client.get(desk.path, headers=desk.api.admin).json() == [issued]
    assert token not in repr(logs)
    stored = desk.api.sync_redis.xrange(f"log:tenant:{desk.tenant['id']}")
    assert token not in repr(stored)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "key:ann"}, "name"),
        ({"name": " "}, "name"),
        ({"name": "Ann\u00e9"}, "name"),
        ({"expiresAt": "2026-03-02T14:59:59Z"}, "expiresAt"),
        ({"expiresAt": "2027-03-04"}, "expiresAt"),
        ({"expiresAt": "2026-02-30"}, "expiresAt"),
        ({"expiresAt": "2026-06-01T10:00:00"}, "expiresAt"),
    ],
)
def test_given_a_name_or_an_end_that_breaks_its_rule_when_issued_then_400(
    desk: Desk, body: dict[str, Any], path: str
) -> None:
    refused = desk.issue(**({"name": "ann"} | body))

    assert_refused(refused, 400, path)
    assert [field["path"] for field in refused.json()["fields"]] == [path]


@pytest.mark.parametrize("sent", [None, "Ann Lee", " ann  LEE "])
def test_given_a_persons_token_when_it_acts_then_the_name_is_the_persons_however_it_is_sent(
    desk: Desk, sent: str | None
) -> None:
    headers = desk.person("Ann Lee") | ({} if sent is None else {"X-Operator": sent})

    action = desk.request(headers)

    assert (action["requestedBy"], action["requestedIdentity"]) == ("Ann Lee", "person")


def test_given_a_persons_token_when_another_name_is_sent_then_403_and_nothing_is_written(desk: Desk) -> None:
    ann, before = desk.person("ann"), desk.api.stored()
    body = {"programId": desk.program["id"], "type": "freeze_account", "targetType": "account", "targetId": "bacc_1"}

    refused = desk.api.client.post("/api/actions", json=body, headers=ann | {"X-Operator": "bob"})
    read = desk.api.client.get("/api/programs", headers=ann | {"X-Operator": "bob"})

    for answer in (refused, read):
        assert_refused(answer, 403, "another person")
        assert answer.json()["code"] == "operator_mismatch"
    assert desk.api.stored() == before


def test_given_an_ended_token_when_used_then_401_says_how_it_ended(desk: Desk) -> None:
    end = format_instant(desk.api.clock.now() + DAY_US)
    short, long = desk.issue("ann", expiresAt=end).json(), desk.issue("bob").json()
    ann, bob = ({"Authorization": f"Bearer {each['token']}"} for each in (short, long))
    assert [desk.api.client.get("/api/keys", headers=each).status_code for each in (ann, bob)] == [200, 200]

    desk.api.clock.advance(DAY_US)
    revoked = desk.api.client.delete(f"{desk.path}/{long['id']}", headers=desk.api.admin)
    again = desk.api.client.delete(f"{desk.path}/{long['id'].upper()}", headers=desk.api.admin)

    assert revoked.json()["revokedAt"] == format_instant(desk.api.clock.now())
    assert again.json() == revoked.json()
    answers = [desk.api.client.get("/api/keys", headers=each) for each in (ann, bob)]
    for answer in answers:
        assert_refused(answer, 401)
    assert [answer.json()["code"] for answer in answers] == ["token_expired", "token_revoked"]


def test_given_the_next_process_when_it_reads_the_log_then_tokens_are_as_before(desk: Desk) -> None:
    kept, gone = desk.issue("ann").json(), desk.issue("bob").json()
    desk.api.client.delete(f"{desk.path}/{gone['id']}", headers=desk.api.admin)

    tokens = desk.api.reloaded_registry().tenancy.person_tokens

    for secret, name, is_valid in ((kept["token"], "ann", True), (gone["token"], "bob", False)):
        token = tokens.of_secret(secret)
        assert token is not None
        assert (token.entry.name, token.is_valid(desk.api.clock.now())) == (name, is_valid)


def test_given_a_token_of_another_tenant_when_revoked_here_then_404(desk: Desk) -> None:
    other = desk.api.create_tenant("second-bank")
    theirs = desk.issue("ann").json()["id"]

    path = f"/api/admin/tenants/{other['id']}/operator-tokens/{theirs}"
    assert_refused(desk.api.client.delete(path, headers=desk.api.admin), 404)
    assert desk.api.client.get(f"/api/admin/tenants/{other['id']}/operator-tokens", headers=desk.api.admin).json() == []


def test_given_two_persons_when_one_requests_and_the_other_approves_then_the_record_says_so(desk: Desk) -> None:
    ann, bob = desk.person("ann"), desk.person("bob")
    action = desk.request(ann)

    approved = desk.approve(action, bob)

    assert approved.status_code == 200, approved.text
    assert approved.json()["status"] == "executed"
    assert (approved.json()["approvedBy"], approved.json()["approvedIdentity"]) == ("bob", "person")
    steps = {line["body"]["transition"]: line["body"] for line in desk.links("action")}
    assert [(steps[step]["actor"], steps[step]["identity"]) for step in ("requested", "approved", "executed")] == [
        ("ann", "person"),
        ("bob", "person"),
        ("policy:platform", None),
    ]
    verified = desk.api.client.get("/api/record/verify", headers=ann).json()
    assert verified["ok"], verified


@pytest.mark.parametrize("name", ["bob", "ann", "carol"])
def test_given_a_persons_request_when_approved_under_the_shared_token_then_403_and_it_still_waits(
    desk: Desk, name: str
) -> None:
    action = desk.request(desk.person("ann"))
    key = desk.api.key(desk.tenant)

    for headers in (desk.claim(name), key | {"X-Operator": name}):
        refused = desk.approve(action, headers)
        assert_refused(refused, 403, "claim")
        assert refused.json()["code"] == "person_token_required"

    assert desk.approve(action, desk.person("dora")).json()["status"] == "executed"


def test_given_a_persons_request_when_ended_by_a_claim_then_403_and_under_tokens_it_is_ended(desk: Desk) -> None:
    ann, bob = desk.person("ann"), desk.person("bob")
    first, second, claimed = desk.request(ann), desk.request(ann), desk.request(desk.claim("carol"))

    for action, how, name in ((first, "withdraw", "ann"), (first, "decline", "dora"), (claimed, "withdraw", "carol")):
        refused = desk.end(action, how, desk.claim(name))
        assert_refused(refused, 403, "claim")
        assert refused.json()["code"] == "person_token_required"
    ended = [desk.end(first, "withdraw", ann), desk.end(second, "decline", bob), desk.end(claimed, "decline", bob)]

    assert [(each.json()["status"], each.json()["endedBy"], each.json()["endedIdentity"]) for each in ended] == [
        ("withdrawn", "ann", "person"),
        ("declined", "bob", "person"),
        ("declined", "bob", "person"),
    ]


def test_given_a_person_when_approving_their_own_request_then_it_is_refused_for_good(desk: Desk) -> None:
    first, second = desk.person("ann"), desk.person("ANN")  # two tokens of one person
    action = desk.request(first)

    refused = desk.approve(action, second)

    assert (refused.status_code, refused.json()["status"]) == (200, "refused")


def test_given_a_persons_token_when_approver_id_names_another_then_403(desk: Desk) -> None:
    action, bob = desk.request(desk.person("ann")), desk.person("bob")

    refused = desk.approve(action, bob, approverId="carol")

    assert_refused(refused, 403, "approverId")
    assert refused.json()["code"] == "operator_mismatch"
    assert desk.approve(action, bob, approverId="Bob").json()["approvedBy"] == "bob"


def test_given_two_persons_with_tokens_then_claims_count_for_nothing_in_dual_control(desk: Desk) -> None:
    claimed = [desk.request(desk.claim("carol")) for _ in range(2)]
    ann, bob = desk.person("ann"), desk.person("bob")

    by_claim = desk.approve(claimed[0], desk.claim("dora"))
    by_person = desk.approve(claimed[0], ann)

    assert_refused(by_claim, 403, "needs a person whose name is proven")
    assert_refused(by_person, 403, "The requester is a claim")
    of_key = desk.request(desk.api.key(desk.tenant))
    assert desk.approve(of_key, bob).json()["status"] == "executed"
    assert of_key["requestedIdentity"] is None


def test_given_no_persons_with_tokens_then_two_claimed_names_are_enough_and_recorded_as_claims(desk: Desk) -> None:
    action = desk.request(desk.claim("ann"))

    approved = desk.approve(action, desk.claim("bob")).json()

    assert (approved["status"], approved["requestedIdentity"], approved["approvedIdentity"]) == (
        "executed",
        "claimed",
        "claimed",
    )


def test_given_decisions_when_signed_then_disposition_and_record_say_how_the_person_is_known(desk: Desk) -> None:
    signers = (desk.person("ann"), desk.claim("ann"))
    alerts = [an_alert(desk.api, desk.tenant, desk.program, f"acht_{number}") for number in range(2)]
    body = {"decision": "close", "narrative": NARRATIVE}

    decided = [
        content_of_201(desk.api.client.post(f"/api/alerts/{alert['id']}/decide", json=body, headers=headers))
        for alert, headers in zip(alerts, signers, strict=True)
    ]

    assert [(each["decidedBy"], each["identity"]) for each in decided] == [
        ("operator:ann", "person"),
        ("operator:ann", "claimed"),
    ]
    bodies = {line["body"]["id"]: line["body"]["identity"] for line in desk.links("disposition")}
    assert [bodies[each["id"]] for each in decided] == ["person", "claimed"]
    assert desk.api.client.get("/api/record/verify", headers=signers[0]).json()["ok"]
