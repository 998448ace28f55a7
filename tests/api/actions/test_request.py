"""Requests of actions: what is carried out at once, what waits, what is refused, and what the bank is sent."""

from typing import Any

import pytest

from tests.support.acting import CANCEL, EXECUTED_AT_ONCE, OF_TWO, Acting
from tests.support.bank_api import TEST_KEY


def of(type_: str, target: tuple[str, str, str]) -> dict[str, Any]:
    return {"type": type_, "targetType": target[0], "targetId": target[1]}


@pytest.mark.parametrize("type_", EXECUTED_AT_ONCE)
def test_given_an_action_of_one_approver_when_requested_then_the_bank_carries_it_out_under_its_id(
    acting: Acting, type_: str
) -> None:
    target = EXECUTED_AT_ONCE[type_]

    action = acting.request(of(type_, target))

    assert (action["status"], action["requestedBy"], action["approvedBy"]) == ("executed", "ann", None)
    assert action["bankResponse"] == {
        "dryRun": False,
        "request": {"method": "POST", "path": target[2]},
        "status": 200,
        "attempts": 1,
        "body": {"id": target[1], "account_number": "6789", "status": "DONE"},
    }
    (taken,) = acting.bank.actions
    assert (taken.path, taken.idempotency_key) == (target[2], action["id"])
    assert acting.steps(action["id"]) == [("requested", "ann"), ("executed", "platform")]
    assert acting.read(action["id"]) == action
    assert acting.verified()["ok"]


@pytest.mark.parametrize("type_", OF_TWO)
def test_given_an_action_of_two_approvers_when_requested_then_it_waits_and_a_second_person_has_it_carried_out(
    acting: Acting, type_: str
) -> None:
    target = OF_TWO[type_]

    waiting = acting.request(of(type_, target))

    assert (waiting["status"], waiting["approvedBy"], waiting["bankResponse"]) == ("requested", None, None)
    assert not acting.bank.actions
    action = acting.approved(waiting["id"])
    assert (action["status"], action["approvedBy"], action["hash"]) == ("executed", "bob", waiting["hash"])
    (taken,) = acting.bank.actions
    assert (taken.path, taken.idempotency_key) == (target[2], waiting["id"])
    assert acting.steps(action["id"]) == [("requested", "ann"), ("approved", "bob"), ("executed", "platform")]


def test_given_no_key_when_requested_then_it_is_a_recorded_dry_run_that_says_so(acting: Acting) -> None:
    acting.remove_key()

    action = acting.request(CANCEL)

    assert action["status"] == "executed"
    assert action["bankResponse"]["dryRun"] is True
    assert action["bankResponse"]["reason"] == "no_bank_key"
    assert "dry run" in action["bankResponse"]["note"]
    assert action["bankResponse"]["request"] == {"method": "POST", "path": "/transfers/ach/acht_1/cancel"}
    assert not acting.bank.actions
    assert TEST_KEY not in str(acting.links())
