"""Changes of ours as actions: what their routes get back, who may approve them, and that the bank hears nothing."""

from typing import Any, Final

import pytest

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService
from clearhold.features.actions.changes import Change
from clearhold.features.core.entries.actions import ActionEntry, ActionType
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.program import ProgramState
from tests.support.acting import FREEZE, Acting
from tests.support.principals import an_operator
from tests.support.running_app import assert_refused

CAP: Final = {"kind": "per_transaction", "capCents": "5000"}


class Caps:
    """One change at a time; one of ``impossible`` can be approved and not be made."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any]] = []

    def objection(self, program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
        return EntryResult.PENDING if program.actions.waiting(entry.type) else None

    def apply(self, program: ProgramState, action: ActionState, _position: EntryPosition, _emit: Emit) -> str | None:
        self.made.append((program.id, action.change))
        return "The cap is gone." if action.target_id == "impossible" else None


@pytest.fixture
def caps(monkeypatch: pytest.MonkeyPatch) -> Caps:
    caps = Caps()
    monkeypatch.setattr(
        "clearhold.features.actions.transitions.CHANGES", {ActionType.SET_LIMIT: Change(caps.objection, caps.apply)}
    )
    return caps


def set_limit(acting: Acting, program_id: str | None, target_id: str = "per_transaction") -> Action:
    service: ActionService = acting.api.services["actions"]

    async def request() -> Action:
        return await service.request_change(
            an_operator(acting.tenant["id"], tenant=acting.tenant["slug"]),
            ActionType.SET_LIMIT,
            program_id=program_id,
            target=("program", target_id),
            change=CAP,
            effect_id=None,
        )

    action: Action = acting.api.on_loop(request)
    return action


@pytest.mark.parametrize("place", ["program", "tenant"])
def test_given_a_change_when_another_person_approves_it_then_it_is_made_at_once_and_nothing_goes_to_the_bank(
    acting: Acting, caps: Caps, place: str
) -> None:
    program_id = acting.program["id"] if place == "program" else None

    waiting = set_limit(acting, program_id)

    assert (waiting.status, waiting.type, waiting.program_id) == ("requested", "set_limit", program_id)
    action = acting.approved(waiting.id)
    assert (action["status"], action["approvedBy"], action["bankResponse"]) == ("executed", "bob", None)
    assert caps.made == [(program_id or acting.tenant["id"], CAP)]
    assert not acting.taken
    links = [each for each in acting.links() if each["actionId"] == waiting.id]
    assert [(each["transition"], each["change"]) for each in links] == [
        (step, CAP) for step in ("requested", "approved", "executed")
    ]
    assert acting.verified()["ok"]


def test_given_a_change_that_cannot_be_made_any_more_when_approved_then_it_failed_and_says_why(
    acting: Acting, caps: Caps
) -> None:
    action = acting.approved(set_limit(acting, acting.program["id"], "impossible").id)

    assert (action["status"], action["error"], len(caps.made)) == ("failed", "The cap is gone.", 1)
    assert acting.verified()["ok"]


def test_given_a_change_that_is_pending_when_requested_again_then_its_route_gets_the_refusal(
    acting: Acting, caps: Caps
) -> None:
    set_limit(acting, acting.program["id"])

    with pytest.raises(ConflictError) as refused:
        set_limit(acting, acting.program["id"])

    assert refused.value.code is ErrorCode.CHANGE_PENDING
    assert len(acting.listed()) == 1
    assert not caps.made


def test_given_a_key_when_it_approves_a_change_then_it_is_refused_though_it_names_a_person(
    acting: Acting, caps: Caps
) -> None:
    waiting, of_tenant = set_limit(acting, acting.program["id"]), set_limit(acting, None)
    headers = acting.api.key(acting.tenant) | {"X-Operator": "bob"}

    refused = acting.approve(waiting.id, headers=headers)

    assert_refused(refused, 403)
    assert refused.json()["code"] == "operator_token_required"
    assert_refused(acting.approve(of_tenant.id, headers=headers), 403)
    listed = acting.api.client.get("/api/actions", headers=headers).json()["data"]
    assert [each["id"] for each in listed] == [waiting.id]
    assert acting.approved(acting.request(FREEZE)["id"], headers=headers)["status"] == "executed"
    assert not caps.made
