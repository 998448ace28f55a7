"""Approvals: by another person once, never by the requester under any spelling, never by a key alone."""

from typing import Any, Final

import pytest

from tests.support.acting import CANCEL, FREEZE, Acting
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import assert_refused

REQUESTER: Final = "j. lee@Bank.example"
NOBODY: Final = (
    "key:live_1",
    "KEY:x",
    "policy:policy-v1",
    " operator:bob",
    "",
    "  ",
    "b\N{CYRILLIC SMALL LETTER O}b",
    "b\tb",
    7,
)
BROKEN: Final[tuple[Any, ...]] = ({"approver": "bob"}, {"approverId": "bob", "status": "executed"}, [], "bob")


@pytest.mark.parametrize(
    ("name", "way"),
    [
        (REQUESTER, "X-Operator"),
        ("J. LEE@BANK.EXAMPLE", "X-Operator"),
        ("  j.   lee@bank.example ", "approverId"),
        ("j. lee@bank.EXAMPLE", "approverId sent by another"),
    ],
)
def test_given_the_requesters_own_name_when_approving_then_it_is_refused_for_good(
    acting: Acting, name: str, way: str
) -> None:
    waiting = acting.request(FREEZE, by=REQUESTER)

    if way == "X-Operator":
        action = acting.approved(waiting["id"], by=name)
    else:
        action = acting.approved(waiting["id"], by="bob" if "another" in way else name, json={"approverId": name})

    assert (action["status"], action["approvedBy"], action["bankResponse"]) == ("refused", None, None)
    assert action["error"] == "The requester of an action may not approve it."
    assert acting.approved(waiting["id"], by="bob") == action
    assert [step for step, _ in acting.steps(waiting["id"])] == ["requested", "refused"]
    assert not acting.taken
    assert acting.verified()["ok"]


def test_given_an_approver_in_the_body_when_approving_then_both_names_are_on_the_record(acting: Acting) -> None:
    waiting = acting.request(FREEZE)

    action = acting.approved(waiting["id"], by="ann", json={"approverId": "  Bob   B. "})

    assert (action["status"], action["approvedBy"]) == ("executed", "Bob B.")
    link = next(each for each in acting.links() if each["transition"] == "approved")
    assert (link["actor"], link["sentBy"], link["principalId"]) == ("Bob B.", "ann", acting.links()[0]["principalId"])


def test_given_an_approver_that_is_no_persons_name_when_approving_then_nothing_is_recorded(acting: Acting) -> None:
    waiting = acting.request(FREEZE)
    before = len(acting.api.entries())

    for name in NOBODY:
        assert_refused(acting.approve(waiting["id"], json={"approverId": name}), 400, "approverId")
    for body in BROKEN:
        assert_refused(acting.approve(waiting["id"], json=body), 400)

    assert len(acting.api.entries()) == before
    assert acting.read(waiting["id"]) == waiting


def test_given_a_key_when_approving_then_it_has_to_name_a_person(acting: Acting) -> None:
    waiting = acting.request(FREEZE)
    headers = acting.api.key(acting.tenant)

    for body in (None, {"approverId": "bob"}):
        refused = acting.approve(waiting["id"], headers=headers, json=body)
        assert_refused(refused, 400, "X-Operator")
        assert refused.json()["code"] == "person_required"
    assert acting.approved(waiting["id"], headers=headers | {"X-Operator": "bob"})["approvedBy"] == "bob"


@pytest.mark.parametrize("status", ["executed", "failed", "refused"])
def test_given_an_action_that_does_not_wait_when_approved_then_it_is_answered_as_it_is(
    acting: Acting, status: str
) -> None:
    if status == "failed":
        acting.bank.fail_next(status=422, method="POST")
    action = acting.request(FREEZE if status == "refused" else CANCEL)
    if status == "refused":
        action = acting.approved(action["id"], by="ann")
    assert action["status"] == status
    calls, links = len(acting.taken), acting.links()

    assert acting.approved(action["id"]) == action

    assert len(acting.taken) == calls
    assert acting.links() == links


def test_given_no_approver_in_the_body_when_approving_then_the_operator_is_the_approver(acting: Acting) -> None:
    for body in (None, {}, {"approverId": None}):
        assert acting.approved(acting.request(FREEZE)["id"], json=body)["approvedBy"] == "bob"


def test_given_another_tenants_action_when_approved_then_it_is_unknown_and_waits_on(acting: Acting) -> None:
    waiting = acting.request(FREEZE)
    other = acting.api.operator(acting.api.create_tenant("second-bank"), "mallory")

    theirs, nobodys = (acting.approve(each, headers=other) for each in (waiting["id"], UNKNOWN_ID))

    assert_refused(theirs, 404)
    assert theirs.json()["error"] == nobodys.json()["error"]
    assert acting.read(waiting["id"]) == waiting


def test_given_an_idempotency_key_when_an_approval_is_repeated_then_the_answer_is_replayed(acting: Acting) -> None:
    waiting = acting.request(FREEZE)
    headers = acting.api.operator(acting.tenant, "bob") | {"Idempotency-Key": "k-1"}

    first, again = (acting.approve(waiting["id"], headers=headers) for _ in range(2))

    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert len(acting.taken) == 1
