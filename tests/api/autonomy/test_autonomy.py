"""The autonomy of programs over HTTP: who may read and change it, and what an answer says."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from msgspec import json
from redis import Redis

from clearhold.features.alerts.rows import alert_id_of
from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.instants import DAYS_7
from clearhold.features.core.log_entry import EntryKind, LogEntry, shard_of
from clearhold.store.redis_log.connect import EmbeddedRedis
from tests.support.alerting import alerts_of, deliver
from tests.support.autonomy import ABROAD, CANDIDATE, AutonomyStory
from tests.support.bank_events import a_wire, rfc3339
from tests.support.clock import T0
from tests.support.running_app import SHARDS, RunningApp, assert_refused

NOTE: Final = "The program pays its suppliers abroad."


class AutonomyApi:
    """``ann`` requests and ``bob`` approves."""

    def __init__(self, api: RunningApp) -> None:
        self.api = api
        self.tenant = api.create_tenant()
        self.program = api.create_program(self.tenant)

    def read(self) -> dict[str, Any]:
        answer = self.api.client.get(self._path, headers=self.api.operator(self.tenant))
        assert answer.status_code == 200, answer.text
        autonomy: dict[str, Any] = answer.json()
        return autonomy

    def request(self, tier: str, *, by: str = "ann", **headers: str) -> httpx.Response:
        headers = self.api.operator(self.tenant, by) | headers
        return self.api.client.post(self._path, json={"tier": tier, "note": NOTE}, headers=headers)

    def approve(self, action_id: str, by: str = "bob") -> dict[str, Any]:
        answer = self.api.client.post(f"/api/actions/{action_id}/approve", headers=self.api.operator(self.tenant, by))
        assert answer.status_code == 200, answer.text
        action: dict[str, Any] = answer.json()
        return action

    def earn(self) -> None:
        """Replay a story that earns the candidate into the program's log."""
        story = AutonomyStory()
        story.earn()
        program_id, appender = self.program["id"], self.api.appender
        ids = {row.id: alert_id_of(program_id, row.dedupe_key or "") for row in story.story.alerts(CANDIDATE)}

        async def append(entry: LogEntry) -> None:
            body = entry.body
            if entry.kind == EntryKind.DECISION:
                decision = json.decode(body)
                body = json.encode(decision | {"alertId": ids[decision["alertId"]]})
            shard = shard_of(program_id, SHARDS)
            await appender.append(shard, EntryKind(entry.kind), program_id, entry.appended_at, body)

        async def append_all() -> None:
            await asyncio.gather(*map(append, story.story.entries[1:]))  # the program declared itself

        appender.stands_still = True
        self.api.on_loop(append_all)
        appender.stands_still = False
        self.api.catch_up()
        self.api.clock.at = T0 + story.now

    @property
    def _path(self) -> str:
        return f"/api/autonomy/{self.program['id']}"


@pytest.fixture
def autonomy(tmp_path: Path, redis_server: EmbeddedRedis, log_redis: Redis) -> Iterator[AutonomyApi]:
    assert log_redis.dbsize() == 0
    with ExitStack() as opened:
        yield AutonomyApi(RunningApp(tmp_path, redis_server.socket_path, opened))


def test_given_a_new_program_then_the_policy_holds_as_it_stands_and_nothing_is_earned(autonomy: AutonomyApi) -> None:
    read = autonomy.read()

    assert (read["programId"], read["tier"], read["version"]) == (autonomy.program["id"], "standard", None)
    assert (read["lastChangeAt"], read["nextChangeAllowedAt"], read["history"]) == (None, None, [])
    assert read["effective"]["version"] == "policy-v1"
    assert {each["detector"] for each in read["eligibility"]} == set(read["effective"]["autoClosableDetectors"])
    assert all(each["closable"] and each["badRateBound"] is None for each in read["eligibility"])
    listed = autonomy.api.client.get("/api/autonomy", headers=autonomy.api.operator(autonomy.tenant))
    assert listed.json() == [read]


def test_given_one_person_when_narrowing_then_it_is_in_force_at_once_and_on_the_record(autonomy: AutonomyApi) -> None:
    headers = {"Idempotency-Key": "narrow-1"}
    answer = autonomy.request("supervised", **headers)

    assert answer.status_code == 200, answer.text
    assert answer.json() == autonomy.read()
    assert (answer.json()["tier"], answer.json()["effective"]["autoClosableDetectors"]) == ("supervised", [])
    assert answer.json()["history"][0]["body"]["note"] == NOTE
    assert autonomy.request("supervised", **headers).json() == answer.json()
    (action,) = autonomy.api.client.get("/api/actions", headers=autonomy.api.operator(autonomy.tenant)).json()["data"]
    assert (action["type"], action["status"], action["requestedBy"], action["approvedBy"]) == (
        "set_autonomy",
        "executed",
        "ann",
        None,
    )
    report = autonomy.api.client.get("/api/record/verify", headers=autonomy.api.operator(autonomy.tenant)).json()
    assert report["ok"], report


def test_given_a_narrowing_by_mistake_then_it_warns_and_a_second_person_leads_back(autonomy: AutonomyApi) -> None:
    narrowed = autonomy.request("supervised").json()
    assert narrowed["warnings"][0].startswith("Nothing is closed without a person on this program.")

    back = autonomy.request("standard")
    assert (back.status_code, back.json()["status"]) == (201, "requested")
    assert autonomy.read()["tier"] == "supervised"
    assert autonomy.approve(back.json()["id"])["status"] == "executed"
    read = autonomy.read()
    assert (read["tier"], read["effective"]["version"], read["warnings"]) == ("standard", "policy-v1", [])


def test_given_no_evidence_when_widening_then_409_says_why(autonomy: AutonomyApi) -> None:
    refused = autonomy.request("trusted")

    assert_refused(refused, 409, "The evidence lets no further detector be closed without a person.")
    assert refused.json()["code"] == "autonomy_not_eligible"
    assert autonomy.request("standard").json()["code"] == "autonomy_unchanged"
    assert autonomy.api.client.get("/api/actions", headers=autonomy.api.operator(autonomy.tenant)).json()["data"] == []


def test_given_evidence_when_widened_by_two_persons_then_granted_alerts_close_and_cite_what_allows_it(
    autonomy: AutonomyApi,
) -> None:
    autonomy.earn()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: autonomy.request("trusted"), range(4)))

    (requested,) = (answer.json() for answer in answers if answer.status_code == 201)
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    assert {answer.json().get("code") for answer in answers} == {None, "change_pending"}
    assert (requested["type"], requested["status"]) == ("set_autonomy", "requested")
    body = {"version": "autonomy-v1", "tier": "trusted", "granted": [CANDIDATE], "withdrawn": [], "note": NOTE}
    assert requested["change"] == {"from": None, "body": body}
    assert autonomy.read()["tier"] == "standard"
    assert autonomy.approve(requested["id"])["status"] == "executed"
    read = autonomy.read()
    assert (read["tier"], read["granted"]) == ("trusted", [CANDIDATE])
    alert = abroad(autonomy)
    assert (alert["status"], alert["policyVersion"]) == ("auto_closed", "policy-v1.autonomy-v1")
    detail = autonomy.api.client.get(f"/api/alerts/{alert['id']}", headers=autonomy.api.operator(autonomy.tenant))
    (disposition,) = detail.json()["dispositions"]
    assert disposition["decidedBy"] == "policy:policy-v1.autonomy-v1"
    assert disposition["policyVersion"] == read["effective"]["version"]

    assert autonomy.request("standard", by="zoe").status_code == 200
    autonomy.api.clock.advance(DAYS_7 - 1)
    assert autonomy.request("trusted").json()["code"] == "autonomy_too_early"
    lines = exported(autonomy)
    cited = {line["body"]["policySha256"] for line in lines if line["chain"] is not None}
    policies = {digest_of(canonical(line["body"])): line["body"] for line in lines if line["kind"] == "policy"}
    assert cited == set(policies)
    assert read["effective"] in policies.values()


def abroad(autonomy: AutonomyApi) -> dict[str, Any]:
    """The alert of a new transfer to a country that the program did not declare."""
    at = rfc3339(autonomy.api.clock.now())
    wire = a_wire(
        id="trf_new",
        entity_id="enti_1",
        counterparty_id="cpty_1",
        amount=123_00,
        beneficiary_address={"country_code": ABROAD},
        created_at=at,
        updated_at=at,
        originator_name=None,
        originator_account_number=None,
        beneficiary_name=None,
        beneficiary_account_number=None,
        creditor_agent_routing_number=None,
        bank_account_id=None,
    )
    event = {"id": "evnt_new", "created_at": at, "type": "wire.outgoing_transfer.completed", "data": wire}
    deliver(autonomy.api, autonomy.program, json.encode(event))
    (alert,) = (
        each
        for each in alerts_of(autonomy.api, autonomy.tenant, transferId="trf_new", detector=CANDIDATE)
        if each["subjectType"] == "transfer"
    )
    return alert


def exported(autonomy: AutonomyApi) -> list[dict[str, Any]]:
    answer = autonomy.api.client.get("/api/record/export", headers=autonomy.api.operator(autonomy.tenant))
    assert answer.status_code == 200, answer.text
    return [json.decode(line) for line in answer.content.splitlines()]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"tier": "wide", "note": NOTE}, "tier must be one of"),
        ({"tier": "standard"}, "note"),
        ({"tier": "standard", "note": " "}, "note"),
        ({"tier": "standard", "note": NOTE, "granted": []}, "granted"),
    ],
)
def test_given_a_body_that_is_none_when_requested_then_400_says_so(
    autonomy: AutonomyApi, body: dict[str, Any], sentence: str
) -> None:
    headers = autonomy.api.operator(autonomy.tenant)

    assert_refused(
        autonomy.api.client.post(f"/api/autonomy/{autonomy.program['id']}", json=body, headers=headers), 400, sentence
    )
    assert autonomy.read()["version"] is None


def test_given_callers_then_keys_read_within_their_reach_and_only_operators_of_the_tenant_change(
    autonomy: AutonomyApi,
) -> None:
    api, other = autonomy.api, autonomy.api.create_tenant("second-bank")
    simulated = api.create_program(autonomy.tenant, slug="sandbox", source="simulated")
    key = api.key(autonomy.tenant, scopes=["policies"])
    path = f"/api/autonomy/{autonomy.program['id']}"

    assert [each["programId"] for each in api.client.get("/api/autonomy", headers=key).json()] == [
        autonomy.program["id"]
    ]
    assert api.client.get(path, headers=key).status_code == 200
    assert api.client.get(f"/api/autonomy/{simulated['id']}", headers=key).status_code == 403
    assert api.client.post(path, json={"tier": "supervised", "note": NOTE}, headers=key).status_code == 403
    assert_refused(api.client.get(path, headers=api.operator(other)), 404, "Unknown program on this tenant.")
    narrowing = {"tier": "supervised", "note": NOTE}
    assert api.client.post(path, json=narrowing, headers=api.operator(other)).status_code == 404
    assert api.client.get("/api/autonomy", headers=api.operator(other)).json() == []
    assert autonomy.read()["tier"] == "standard"


def test_given_a_policy_that_bears_the_name_of_one_that_autonomy_changed_when_written_then_400(
    autonomy: AutonomyApi,
) -> None:
    version = "policy-v1.autonomy-v1"
    body = {"version": version, "body": autonomy.read()["effective"] | {"version": version}}
    refused = autonomy.api.client.post("/api/policies", json=body, headers=autonomy.api.operator(autonomy.tenant))

    assert_refused(refused, 400, "version must be a kind of policy and a number")
