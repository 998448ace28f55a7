"""Requests of actions: what is carried out at once, what waits, what is refused, and what the bank is sent."""

from typing import Any, Final

import pytest

from clearhold.demo.bank_api import TEST_KEY
from clearhold.features.core.entries.actions import PLATFORM
from tests.support.acting import CANCEL, EXECUTED_AT_ONCE, FREEZE, OF_TWO, Acting
from tests.support.alerting import an_alert, decide, deliver, outgoing, read
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import assert_refused

HOSTILE: Final = (
    "acht_../cancel",
    "acht_1/../../keys",
    "acht_%2e%2e",
    "../acht_1",
    "..",
    "acht_1?x=1",
    "acht_\N{LATIN SMALL LETTER E WITH ACUTE}",
    "xyz_1",
)


def of(type_: str, target: tuple[str, str, str]) -> dict[str, Any]:
    return {"type": type_, "targetType": target[0], "targetId": target[1]}


@pytest.mark.parametrize("type_", EXECUTED_AT_ONCE)
def test_given_an_action_of_one_approver_when_requested_then_the_bank_carries_it_out_under_its_id(
    acting: Acting, type_: str
) -> None:
    target = EXECUTED_AT_ONCE[type_]
    if type_ == "clear_hold":
        deliver(acting.api, acting.program, outgoing(target[1]))

    action = acting.request(of(type_, target))

    assert (action["status"], action["requestedBy"], action["approvedBy"]) == ("executed", "ann", None)
    assert action["bankResponse"] == {
        "dryRun": False,
        "request": {"method": "POST", "path": target[2]},
        "status": 200,
        "attempts": 1,
        "body": {"id": target[1], "account_number": "6789", "status": "DONE"},
    }
    (taken,) = acting.taken
    assert (taken.path, taken.idempotency_key) == (target[2], action["id"])
    assert acting.steps(action["id"]) == [("requested", "ann"), ("executed", PLATFORM)]
    assert acting.read(action["id"]) == action
    assert acting.verified()["ok"]


@pytest.mark.parametrize("type_", OF_TWO)
def test_given_an_action_of_two_approvers_when_requested_then_it_waits_and_a_second_person_has_it_carried_out(
    acting: Acting, type_: str
) -> None:
    target = OF_TWO[type_]

    waiting = acting.request(of(type_, target))

    assert (waiting["status"], waiting["approvedBy"], waiting["bankResponse"]) == ("requested", None, None)
    assert not acting.taken
    action = acting.approved(waiting["id"])
    assert (action["status"], action["approvedBy"], action["hash"]) == ("executed", "bob", waiting["hash"])
    (taken,) = acting.taken
    assert (taken.path, taken.idempotency_key) == (target[2], waiting["id"])
    assert acting.steps(action["id"]) == [("requested", "ann"), ("approved", "bob"), ("executed", PLATFORM)]


def test_given_no_key_when_requested_then_it_is_a_recorded_dry_run_that_says_so(acting: Acting) -> None:
    acting.remove_key()

    action = acting.request(CANCEL)

    assert action["status"] == "executed"
    assert action["bankResponse"]["dryRun"] is True
    assert action["bankResponse"]["reason"] == "no_bank_key"
    assert "dry run" in action["bankResponse"]["note"]
    assert action["bankResponse"]["request"] == {"method": "POST", "path": "/transfers/ach/acht_1/cancel"}
    assert not acting.taken
    assert TEST_KEY not in str(acting.links())


def test_given_a_simulated_program_when_requested_then_it_is_a_dry_run_whatever_key_there_is(acting: Acting) -> None:
    simulated = acting.api.create_program(acting.tenant, slug="simulated", source="simulated")

    action = acting.request(CANCEL | {"programId": simulated["id"]})

    assert (action["status"], action["simulated"], action["bankResponse"]["reason"]) == (
        "executed",
        True,
        "simulated_program",
    )
    assert not acting.taken
    assert "simulated" not in acting.request()


@pytest.mark.parametrize("type_", ["request_to_program", "periodic_review"])
def test_given_a_type_without_an_endpoint_when_carried_out_then_it_stands_on_the_record_alone(
    acting: Acting, type_: str
) -> None:
    action = acting.request({"type": type_, "targetType": "program", "targetId": acting.program["id"]})
    if action["status"] == "requested":
        action = acting.approved(action["id"])

    assert action["status"] == "executed"
    assert action["bankResponse"]["dryRun"] is False
    assert not acting.taken


def test_given_an_alert_when_an_action_follows_from_it_then_alert_record_and_list_have_it(acting: Acting) -> None:
    alert = an_alert(acting.api, acting.tenant, acting.program)
    disposition = decide(acting.api, acting.api.operator(acting.tenant), alert["id"]).json()

    first = acting.request(CANCEL | {"alertId": alert["id"].upper()})
    acting.api.clock.advance(1_000_000)
    second = acting.request(FREEZE | {"alertId": alert["id"]})

    assert first["alertId"] == alert["id"]
    assert read(acting.api, acting.tenant, alert["id"])["actions"] == [first, second]
    assert acting.listed(alertId=alert["id"]) == [second, first]
    link = next(each for each in acting.links() if each["id"] == first["id"])
    assert link["dispositionId"] == disposition["id"]
    assert acting.verified()["ok"]


def test_given_an_alert_of_another_program_when_named_then_it_is_unknown(acting: Acting) -> None:
    lending = acting.api.create_program(acting.tenant, slug="lending")
    alert = an_alert(acting.api, acting.tenant, lending)

    assert_refused(acting.send(CANCEL | {"alertId": alert["id"]}), 404, "Unknown alert")
    assert acting.listed() == []


BROKEN: Final[tuple[tuple[dict[str, Any], str], ...]] = (
    ({"type": "set_limit"}, "type"),
    ({"type": "activate_policy"}, "type"),
    ({"type": "Cancel_Transfer"}, "type"),
    ({"type": "wire_money"}, "type"),
    ({"type": None}, "type"),
    ({"targetType": "account"}, "targetType"),
    ({"targetType": "TRANSFER"}, "targetType"),
    ({"targetType": ""}, "targetType"),
    ({"targetId": ""}, "targetId"),
    ({"targetId": "   "}, "targetId"),
    ({"targetId": "acht_1\n"}, "targetId"),
    ({"targetId": "a" * 256}, "targetId"),
    ({"targetId": 7}, "targetId"),
    ({"programId": "payroll"}, "programId"),
    ({"programId": None}, "programId"),
    ({"alertId": "acht_1"}, "alertId"),
    ({"amountCents": "1"}, "amountCents"),
    ({"change": {}}, "change"),
    ({"requestedBy": "bob"}, "requestedBy"),
)


def test_given_a_request_that_breaks_a_rule_when_sent_then_nothing_is_recorded(acting: Acting) -> None:
    before = len(acting.api.entries())

    for change, path in BROKEN:
        answer = acting.send(CANCEL | change)
        assert_refused(answer, 400, path)
        assert [field["path"] for field in answer.json()["fields"]] == [path]

    assert len(acting.api.entries()) == before
    assert not acting.taken


def test_given_an_unknown_program_when_named_then_it_is_a_404(acting: Acting) -> None:
    assert_refused(acting.send(CANCEL | {"programId": UNKNOWN_ID}), 404, "program")


def test_given_an_id_that_is_not_the_banks_when_carried_out_then_nothing_is_sent_and_it_failed(acting: Acting) -> None:
    before = len(acting.bank.requests)

    for target in HOSTILE:
        action = acting.request(CANCEL | {"targetId": target})
        assert (action["status"], action["bankResponse"]["attempts"]) == ("failed", 0), target
        assert "no endpoint" in action["error"]

    assert not [each for each in acting.bank.requests[before:] if each.method == "POST"]
    assert acting.verified()["ok"]


def test_given_an_idempotency_key_when_repeated_then_there_is_one_action_and_one_effect(acting: Acting) -> None:
    headers = acting.api.operator(acting.tenant) | {"Idempotency-Key": "k-1"}

    first, again = (acting.send(CANCEL, headers=headers) for _ in range(2))
    other = acting.send(CANCEL | {"targetId": "acht_2"}, headers=headers)

    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert_refused(other, 409)
    assert len(acting.taken) == len(acting.listed()) == 1


def test_given_actions_when_listed_then_filters_and_pages_narrow_them(acting: Acting) -> None:
    lending = acting.api.create_program(acting.tenant, slug="lending")
    made = []
    for body in (CANCEL, FREEZE, CANCEL | {"programId": lending["id"]}, FREEZE):
        acting.api.clock.advance(1_000_000)
        made.append(acting.request(body)["id"])
    refused = acting.approved(made[3], by="Ann")

    def ids(**query: Any) -> list[str]:
        return [each["id"] for each in acting.listed(**query)]

    assert ids() == made[::-1]
    assert ids(status="executed") == [made[2], made[0]]
    assert ids(status="requested,refused") == [made[3], made[1]]
    assert ids(status="approved") == []
    assert ids(type="freeze_account") == [made[3], made[1]]
    assert ids(programId=lending["id"]) == [made[2]]
    assert ids(**{"from": acting.read(made[1])["createdAt"], "to": refused["createdAt"]}) == [made[2], made[1]]
    headers = acting.api.operator(acting.tenant)
    page = acting.api.client.get("/api/actions?limit=3", headers=headers).json()
    rest = acting.api.client.get(f"/api/actions?limit=3&cursor={page['nextCursor']}", headers=headers).json()
    assert [each["id"] for each in page["data"] + rest["data"]] == made[::-1]
    assert_refused(acting.api.client.get("/api/actions?kind=x", headers=headers), 400)


def test_given_keys_when_they_request_then_scope_and_mode_hold_and_the_record_names_the_key(acting: Acting) -> None:
    live = acting.api.key(acting.tenant)

    action = acting.request(headers=live)

    assert action["requestedBy"] == f"key:{live['Authorization'][7:19]}"
    assert_refused(acting.send(CANCEL, headers=acting.api.key(acting.tenant, mode="test")), 403)
    assert_refused(acting.send(CANCEL, headers=acting.api.key(acting.tenant, scopes=["labels"])), 403, "scope")


def test_given_the_platforms_own_name_when_a_person_gives_it_then_it_is_refused(acting: Acting) -> None:
    assert_refused(acting.send(CANCEL, by=PLATFORM), 400, "X-Operator")
