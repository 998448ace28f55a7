"""Decisions and appeals: who may make which, what they leave behind, and that a repeat makes nothing twice."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

import httpx
import pytest
import rfc8785
from msgspec import json

from clearhold.api.log import commands as committed
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from tests.support.alerting import (
    DETECTOR,
    NARRATIVE,
    alerts_of,
    an_alert,
    appeal,
    decide,
    deliver,
    outgoing,
    read,
)
from tests.support.running_app import RunningApp, assert_refused, content_of_201

FIELDS: Final = [
    "id",
    "tenantId",
    "alertId",
    "decidedBy",
    "decision",
    "narrative",
    "narrativeModel",
    "recommendation",
    "confidence",
    "policyVersion",
    "overturnsDraft",
    "seq",
    "prevHash",
    "hash",
    "createdAt",
    "actionId",
    "warnings",
    "identity",
]
BECOMES: Final = {
    "close": "closed",
    "no_action": "closed",
    "release": "closed",
    "hold": "held",
    "escalate": "escalated",
}
ALLOWED: Final = {
    "open": {"close", "hold", "escalate", "no_action"},
    "held": {"release", "close", "escalate", "no_action"},
    "escalated": {"close", "hold", "no_action"},
    "closed": set(),
}
LEADS_TO: Final = {"open": None, "held": "hold", "escalated": "escalate", "closed": "close"}
HISTORY: Final = 210


def entries_of(api: RunningApp, kind: EntryKind) -> int:
    return sum(entry.kind == kind for entry in api.entries())


@pytest.mark.parametrize("status", ALLOWED)
@pytest.mark.parametrize("decision", BECOMES)
def test_given_an_alert_when_decided_then_its_state_allows_it_or_stands_against_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], status: str, decision: str
) -> None:
    alert = an_alert(api, tenant, program)
    before = LEADS_TO[status]
    if before is not None:
        content_of_201(decide(api, api.operator(tenant), alert["id"], before))
    api.clock.advance(1_000_000)

    answer = decide(api, api.operator(tenant, "bob"), alert["id"], decision)

    now = read(api, tenant, alert["id"])["alert"]
    if decision in ALLOWED[status]:
        disposition = content_of_201(answer)
        assert (disposition["decision"], disposition["alertId"]) == (decision, alert["id"])
        assert now["status"] == BECOMES[decision]
        assert now["closedAt"] == (disposition["createdAt"] if now["status"] == "closed" else None)
    else:
        assert_refused(answer, 409)
        assert now["status"] == status


def test_given_a_decision_when_made_then_the_disposition_says_who_what_and_why(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    draft = read(api, tenant, alert["id"])["draft"]

    disposition = content_of_201(
        decide(api, api.operator(tenant, "Ann  Lee"), alert["id"], "close", "Seen é \u2028 it, with its papers.")
    )

    assert list(disposition) == FIELDS
    assert disposition["tenantId"] == tenant["id"]
    assert disposition["decidedBy"] == "operator:Ann Lee"
    assert disposition["narrative"] == "Seen é \u2028 it, with its papers."
    assert (disposition["narrativeModel"], disposition["confidence"]) == (None, None)
    assert disposition["recommendation"] == draft["recommendation"] == "escalate"
    assert disposition["overturnsDraft"] is True
    assert disposition["policyVersion"] == "policy-v1"
    assert disposition["createdAt"] == "2026-03-02T15:00:00.000Z"
    got = api.client.get(f"/api/dispositions/{disposition['id'].upper()}", headers=api.operator(tenant))
    assert got.json() == disposition


def test_given_decisions_when_made_then_each_is_a_link_of_the_tenants_chain(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = [an_alert(api, tenant, program, f"acht_{number}") for number in range(3)]

    dispositions = [content_of_201(decide(api, api.operator(tenant), alert["id"], "hold")) for alert in alerts]

    with api.stores.database.cursor() as cursor:
        links = cursor.execute("SELECT id, body FROM record_chain WHERE chain = 'dispositions' ORDER BY seq").fetchall()
    hashes = [None, *(each["hash"] for each in dispositions)]
    assert [link[0] for link in links] == [each["id"] for each in dispositions]
    for disposition, before, (_, body) in zip(dispositions, hashes, links, strict=False):
        content = json.decode(body)
        assert disposition["prevHash"] == before
        assert disposition["hash"] == sha256((before or "").encode() + rfc8785.dumps(content)).hexdigest()
        shown = {name: value for name, value in disposition.items() if name not in {"seq", "prevHash", "hash"}}
        assert {name: content[name] for name in shown} == shown
        assert set(content) - set(shown) == {"alertSha256", "policySha256"}


@pytest.mark.parametrize(
    ("narrative", "sentence"),
    [
        ("", "narrative must not be empty"),
        (" \n\t\u3000", "narrative must have more than spaces"),
        ("x" * 8_001, "narrative must have at most 8000 characters"),
        ("a\0b", "narrative must not have NUL characters"),
        (None, "narrative must be a string"),
        (5, "narrative must be a string"),
    ],
)
def test_given_a_narrative_that_is_none_when_decided_then_400_and_nothing_is_appended(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], narrative: Any, sentence: str
) -> None:
    alert = an_alert(api, tenant, program)

    assert_refused(decide(api, api.operator(tenant), alert["id"], "close", narrative), 400, sentence)
    assert entries_of(api, EntryKind.DECISION) == 0


def test_given_a_narrative_of_the_greatest_length_when_decided_then_it_is_kept_whole(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    narrative = "é" * 8_000

    assert content_of_201(decide(api, api.operator(tenant), alert["id"], "close", narrative))["narrative"] == narrative


def test_given_an_alert_for_a_person_when_a_key_decides_then_it_has_to_name_one(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    key = api.key(tenant)

    assert_refused(decide(api, key, alert["id"]), 400, "person")
    assert entries_of(api, EntryKind.DECISION) == 0
    assert content_of_201(decide(api, key | {"X-Operator": "carol"}, alert["id"]))["decidedBy"] == "operator:carol"


def an_automated_alert(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    """One that the policy closed alone: a large first payment of a program with a long and quiet history."""
    usual = [
        outgoing(f"acht_{number}", at=f"2026-02-{1 + number // 12:02d}T{number % 12 + 8:02d}:00:00Z")
        for number in range(HISTORY)
    ]
    first = outgoing("acht_large", at="2026-02-20T09:00:00Z", counterparty_id="cpty_new", amount=600_000)
    deliver(api, program, *usual, first)
    return alerts_of(api, tenant, route="automated")[0]


def test_given_an_alert_that_the_policy_closed_when_decided_then_a_key_may_and_a_hold_overturns_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_automated_alert(api, tenant, program)
    policys = read(api, tenant, alert["id"])["dispositions"]
    key = api.key(tenant)

    released = decide(api, api.operator(tenant), alert["id"], "release")
    held = content_of_201(decide(api, key, alert["id"], "hold"))

    assert (alert["status"], alert["slaTier"]) == ("auto_closed", "auto")
    assert [(each["decidedBy"], each["decision"]) for each in policys] == [("policy:policy-v1", "close")]
    assert_refused(released, 409, "held")
    assert held["decidedBy"] == f"key:{key['Authorization'][7:19]}"
    assert held["overturnsDraft"] is True
    assert read(api, tenant, alert["id"])["alert"]["status"] == "held"


@pytest.mark.parametrize("alert_id", ["0b0c4a53-0000-4000-8000-000000000001", "not-a-uuid", "x" * 400])
def test_given_an_unknown_alert_when_decided_or_appealed_then_404_and_nothing_is_appended(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], alert_id: str
) -> None:
    an_alert(api, tenant, program)
    before = len(api.entries())

    assert_refused(decide(api, api.operator(tenant), alert_id), 404, "Unknown alert on this tenant.")
    assert_refused(appeal(api, api.operator(tenant), alert_id), 404, "Unknown alert on this tenant.")
    assert len(api.entries()) == before


def test_given_an_idempotency_key_when_a_decision_is_repeated_then_it_is_answered_the_same(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "once"}

    first = decide(api, headers, alert["id"])
    again = decide(api, headers, alert["id"])
    other = decide(api, headers, alert["id"], "hold")

    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert_refused(other, 409, "Idempotency-Key")
    assert entries_of(api, EntryKind.DECISION) == 1


@pytest.mark.parametrize("what", ["decision", "appeal"])
def test_given_an_answer_that_was_lost_when_asked_again_then_what_it_made_is_found(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "lost"}
    if what == "appeal":
        content_of_201(decide(api, api.operator(tenant), alert["id"]))
    asks: dict[str, Callable[..., httpx.Response]] = {"decision": decide, "appeal": appeal}
    ask = asks[what]
    append = api.appender.append

    async def answer_lost(*entry: Any) -> int:
        await append(*entry)
        raise UnavailableError("The answer got lost.")

    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "append", answer_lost)
        assert_refused(ask(api, headers, alert["id"]), 503)
    api.restart()
    first = content_of_201(ask(api, headers, alert["id"]))
    again = ask(api, headers, alert["id"])

    assert content_of_201(again) == first
    assert again.headers["idempotent-replayed"] == "true"
    detail = read(api, tenant, alert["id"])
    assert [each["id"] for each in detail["dispositions"]] == [first["id"]] or what == "appeal"
    assert len(alerts_of(api, tenant, slaTier="appeal")) == (what == "appeal")


def test_given_a_flow_that_stands_still_when_decided_then_503_and_the_repeat_finds_it_made_once(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "late"}
    monkeypatch.setattr(committed, "COMMITTED_WITHIN_S", 0.05)

    api.appender.stands_still = True
    refused = [decide(api, headers, alert["id"], "hold") for _ in range(2)]
    api.appender.stands_still = False
    api.catch_up()
    content_of_201(decide(api, api.operator(tenant, "bob"), alert["id"], "escalate"))
    answer = content_of_201(decide(api, headers, alert["id"], "hold"))

    assert_refused(refused[0], 503, "Idempotency-Key")
    assert refused[0].headers["retry-after"] == "1"
    decisions = read(api, tenant, alert["id"])["dispositions"]
    assert [each["decision"] for each in decisions] == ["hold", "escalate"]
    assert answer == decisions[0]


def test_given_a_decision_that_was_refused_when_its_cause_is_gone_then_the_same_request_is_made(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "release"}

    assert_refused(decide(api, headers, alert["id"], "release"), 409, "held")
    content_of_201(decide(api, api.operator(tenant), alert["id"], "hold"))

    assert content_of_201(decide(api, headers, alert["id"], "release"))["decision"] == "release"


def test_given_a_closed_alert_when_appealed_then_a_new_one_waits_for_a_person_and_points_to_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    assert_refused(appeal(api, api.operator(tenant), alert["id"]), 409, "closed")
    content_of_201(decide(api, api.operator(tenant), alert["id"]))

    opened = content_of_201(appeal(api, api.operator(tenant, "bob"), alert["id"], "The recipients are new."))

    assert opened["id"] != alert["id"]
    assert (opened["status"], opened["route"], opened["slaTier"]) == ("open", "reviewed", "appeal")
    assert (opened["detector"], opened["transferId"]) == (DETECTOR, alert["transferId"])
    assert opened["evidence"]["appeal"]["alertId"] == alert["id"]
    assert opened["evidence"]["appeal"]["reason"] == "The recipients are new."
    assert opened["evidence"]["appeal"]["by"] == "operator:bob"
    detail = read(api, tenant, opened["id"])
    assert detail["alert"] == opened
    assert detail["reasons"] == detail["transfer"]["scoreInputs"]["reasons"] != []
    assert (detail["draft"], detail["dispositions"]) == (None, [])
    assert read(api, tenant, alert["id"])["alert"]["status"] == "closed"
    assert_refused(appeal(api, api.operator(tenant), alert["id"]), 409)
    assert content_of_201(decide(api, api.operator(tenant), opened["id"], "hold"))["alertId"] == opened["id"]


@pytest.mark.parametrize("reason", ["", "   ", "x" * 8_001, "a\0b", None])
def test_given_a_reason_that_is_none_when_appealed_then_400(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], reason: Any
) -> None:
    alert = an_alert(api, tenant, program)

    assert_refused(appeal(api, api.operator(tenant), alert["id"], reason), 400, "reason")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["3", "2", "1"]),
        ({"decision": "hold,escalate"}, ["3", "2"]),
        ({"decidedBy": "operator:bob"}, ["2"]),
        ({"decidedBy": "bob"}, []),
        ({"overturned": "true"}, ["2", "1"]),  # The draft says escalate.
        ({"overturned": "false"}, ["3"]),
        ({"from": "2026-03-02T15:00:01Z", "to": "2026-03-02T15:00:02Z"}, ["2"]),
    ],
)
def test_given_a_filter_when_dispositions_are_listed_and_exported_then_only_those_are_found(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], query: dict[str, str], found: list[str]
) -> None:
    decided = {}
    for number, (name, decision) in enumerate((("ann", "close"), ("bob", "hold"), ("ann", "escalate")), 1):
        alert = an_alert(api, tenant, program, f"acht_{number}")
        decided[content_of_201(decide(api, api.operator(tenant, name), alert["id"], decision))["id"]] = str(number)
        api.clock.advance(1_000_000)

    listed = api.client.get("/api/dispositions", params=query, headers=api.operator(tenant)).json()
    exported = api.client.get("/api/dispositions/export", params=query, headers=api.operator(tenant))

    assert [decided[each["id"]] for each in listed["data"] if each["id"] in decided] == found
    assert [json.decode(line) for line in exported.content.split(b"\n")[:-1]] == listed["data"]
    assert exported.headers["content-disposition"] == 'attachment; filename="dispositions.ndjson"'


def test_given_dispositions_when_paged_and_narrowed_then_each_comes_once_and_to_its_tenant_only(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alerts = [an_alert(api, tenant, program, f"acht_{number}") for number in range(3)]
    decisions = {content_of_201(decide(api, api.operator(tenant), alert["id"]))["id"] for alert in alerts}
    other = api.create_tenant("second-bank")
    headers = api.operator(tenant)

    first = api.client.get("/api/dispositions", params={"limit": 2}, headers=headers)
    second = api.client.get(first.links["next"]["url"], headers=headers)
    of_one = api.client.get("/api/dispositions", params={"alertId": alerts[0]["id"]}, headers=headers).json()["data"]

    pages = [each["id"] for page in (first, second) for each in page.json()["data"]]
    assert len(pages) == 3
    assert set(pages) == decisions
    assert [each["alertId"] for each in of_one] == [alerts[0]["id"]]
    assert api.client.get("/api/dispositions", headers=api.operator(other)).json()["data"] == []
    assert api.client.get("/api/dispositions/export", headers=api.operator(other)).content == b""
    unknown = api.client.get(f"/api/dispositions/{pages[0]}", headers=api.operator(other))
    assert_refused(unknown, 404, "Unknown disposition on this tenant.")
    narrowed = api.client.get("/api/dispositions", params={"alertId": "nonsense"}, headers=headers)
    assert_refused(narrowed, 400, "alertId[0] must be a UUID")


def test_given_two_tenants_when_they_decide_then_each_has_a_chain_of_its_own(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    theirs = api.create_program(other, slug="theirs")

    ours = content_of_201(decide(api, api.operator(tenant), an_alert(api, tenant, program)["id"]))
    others = content_of_201(decide(api, api.operator(other), an_alert(api, other, theirs)["id"]))

    assert ours["prevHash"] is None
    assert others["prevHash"] is None
    assert ours["narrative"] == NARRATIVE
