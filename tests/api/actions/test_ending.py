"""An action that waits for a second person is declined by another person, or withdrawn by its requester."""

from typing import Any

import pytest

from tests.support.acting import CANCEL, ENDING, FREEZE, Acting
from tests.support.running_app import assert_refused


def ended(acting: Acting, action_id: str, how: str, by: str, **over: Any) -> dict[str, Any]:
    answer = acting.end(action_id, how, by, **over)
    assert answer.status_code == 200, answer.text
    action: dict[str, Any] = answer.json()
    return action


@pytest.mark.parametrize(("how", "by", "status"), [("decline", "bob", "declined"), ("withdraw", "ANN", "withdrawn")])
def test_given_a_waiting_action_when_it_is_ended_then_nothing_is_carried_out_and_the_note_is_a_link_of_the_record(
    acting: Acting, how: str, by: str, status: str
) -> None:
    waiting, calls = acting.request(FREEZE), len(acting.taken)

    action = ended(acting, waiting["id"], how, by)

    told = {"status": status, "endedBy": by, "endedIdentity": "claimed", "note": ENDING["note"]}
    assert {name: action[name] for name in told} == told
    assert (action["approvedBy"], action["executedAt"], action["bankResponse"], action["error"]) == (None,) * 4
    assert acting.read(waiting["id"]) == action
    assert len(acting.taken) == calls
    request, link = acting.links()[-2:]
    assert (request["transition"], link["transition"], link["actionId"]) == ("requested", status, waiting["id"])
    assert (link["actor"], link["note"]) == (told["endedBy"], told["note"])
    assert "note" not in request
    assert acting.verified()["ok"]


def test_given_the_wrong_person_when_ending_then_it_is_said_who_may_and_the_action_waits_on(acting: Acting) -> None:
    waiting, links = acting.request(FREEZE), acting.links()

    own, other = acting.end(waiting["id"], "decline", "ANN"), acting.end(waiting["id"], "withdraw", "bob")

    for answer, code in ((own, "own_action"), (other, "not_the_requester")):
        assert_refused(answer, 409)
        assert answer.json()["code"] == code
    assert acting.read(waiting["id"]) == waiting
    assert acting.links() == links
    assert acting.approved(waiting["id"])["status"] == "executed"


@pytest.mark.parametrize("how", ["decline", "withdraw"])
def test_given_an_action_that_is_decided_when_ended_then_409_and_it_stays(acting: Acting, how: str) -> None:
    executed, refused, gone = acting.request(CANCEL), acting.request(FREEZE), acting.request(FREEZE)
    acting.approved(refused["id"], by="ann")
    ended(acting, gone["id"], "withdraw", "ann")

    for action in (executed, refused, gone):
        before = acting.read(action["id"])
        answer = acting.end(action["id"], how, "bob" if how == "decline" else "ann")
        assert_refused(answer, 409)
        assert answer.json()["code"] == "action_not_waiting"
        assert acting.read(action["id"]) == before


def test_given_a_declined_action_when_approved_then_it_is_answered_as_it_is(acting: Acting) -> None:
    action = ended(acting, acting.request(FREEZE)["id"], "decline", "bob")

    assert acting.approved(str(action["id"]), by="carol") == action
    assert acting.verified()["ok"]


def test_given_a_repeat_under_its_key_when_declined_then_there_is_one_link(acting: Acting) -> None:
    waiting = acting.request(FREEZE)

    first, again = (ended(acting, waiting["id"], "decline", "bob", key="k-1") for _ in range(2))

    assert first == again
    assert [link["transition"] for link in acting.links()].count("declined") == 1


@pytest.mark.parametrize("body", [None, {}, {"note": ""}, {"note": "   "}, {"note": "x", "by": "bob"}])
def test_given_no_note_when_ending_then_it_is_refused(acting: Acting, body: dict[str, str] | None) -> None:
    waiting = acting.request(FREEZE)

    assert_refused(acting.end(waiting["id"], "decline", "bob", json=body), 400)

    assert acting.read(waiting["id"]) == waiting


def test_given_a_key_when_ending_then_it_names_a_person_unless_it_withdraws_its_own(acting: Acting) -> None:
    of_person, key = acting.request(FREEZE), acting.api.key(acting.tenant)
    of_key = acting.request(FREEZE, headers=key)

    for action, how in ((of_person, "decline"), (of_person, "withdraw"), (of_key, "decline")):
        refused = acting.end(action["id"], how, headers=key)
        assert_refused(refused, 400, "X-Operator")
        assert refused.json()["code"] == "person_required"
    assert ended(acting, of_key["id"], "withdraw", "", headers=key)["endedBy"] == of_key["requestedBy"]
    assert ended(acting, of_person["id"], "decline", "", headers=key | {"X-Operator": "bob"})["endedBy"] == "bob"


def test_given_an_action_then_it_says_its_place_in_the_chain(acting: Acting) -> None:
    first, second = acting.request(FREEZE), acting.request(FREEZE)

    assert (first["seq"], second["seq"]) == (0, 1)
    assert acting.links()[second["seq"]]["id"] == second["id"]
