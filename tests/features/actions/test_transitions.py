"""The state machine of actions: every step in every state, its link of the record, and what is left alone."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec
import pytest

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.entries.actions import (
    ALWAYS_TWO_APPROVERS,
    CHANGES_OF_OURS,
    PLATFORM,
    ActionEntry,
    ActionStatus,
    ActionType,
    ApprovalAnswer,
    ApprovalEntry,
    OutcomeEntry,
    same_person,
)
from clearhold.features.core.entries.commands import OperatorKind
from clearhold.features.core.instants import HOUR_US, SECOND_US
from clearhold.features.core.log_entry import ChainFactRow, LogEntry
from clearhold.features.core.rows.alerts import ActionRow, DispositionRow, EntryResultRow
from clearhold.features.policy.bodies import ActiveVersion
from clearhold.features.policy.seeds import POLICY_V1
from clearhold.features.shard.shard import ShardState
from tests.support.alert_rows import a_decision
from tests.support.clock import T0
from tests.support.programs import alert_with_status
from tests.support.stories import ShardStory, detector_story

Row = TypeVar("Row", bound=msgspec.Struct)
Step = Callable[[ShardStory], list[msgspec.Struct]]

ID: Final = "act_1"
AT: Final = T0 + SECOND_US
ANSWER: Final = {"dryRun": False, "status": 200}
OF_TWO: Final = ActionType.FREEZE_ACCOUNT
OF_ONE: Final = ActionType.CANCEL_TRANSFER


def a_request(**over: Any) -> ActionEntry:
    values: dict[str, Any] = {
        "id": ID,
        "tenant_id": "tnt_1",
        "alert_id": None,
        "alert_sha256": None,
        "type": OF_TWO,
        "target_type": "account",
        "target_id": "bacc_1",
        "operator": "ann",
        "operator_kind": OperatorKind.PERSON,
        "principal_id": "operator",
        "change": None,
        "at": AT,
    }
    return ActionEntry(**values | over)


def an_approval(approver: str = "bob", **over: Any) -> ApprovalEntry:
    values: dict[str, Any] = {"id": "apr_1", "action_id": ID, "approver": approver, "operator": approver}
    return ApprovalEntry(**values | {"principal_id": "operator", "at": AT} | over)


def an_outcome(error: str | None = None, **over: Any) -> OutcomeEntry:
    values: dict[str, Any] = {"id": "out_1", "action_id": ID, "bank_response": ANSWER, "error": error, "at": AT}
    return OutcomeEntry(**values | over)


def only(kind: type[Row], rows: Iterable[msgspec.Struct]) -> list[Row]:
    return [row for row in rows if isinstance(row, kind)]


STEPS: Final[dict[str, Step]] = {
    "request again": lambda story: story.submit(a_request()),
    "another approves": lambda story: story.submit(an_approval("bob")),
    "requester approves": lambda story: story.submit(an_approval(" ANN ")),
    "another declines": lambda story: story.submit(an_approval("bob", answer=ApprovalAnswer.DECLINE, note="No.")),
    "requester withdraws": lambda story: story.submit(an_approval("ann", answer=ApprovalAnswer.WITHDRAW, note="No.")),
    "done": lambda story: story.submit(an_outcome()),
    "not done": lambda story: story.submit(an_outcome("The bank refused.")),
}
WAYS: Final[dict[str, tuple[str, ...]]] = {
    "requested": (),
    "approved": ("another approves",),
    "executed": ("another approves", "done"),
    "failed": ("another approves", "not done"),
    "refused": ("requester approves",),
    "declined": ("another declines",),
    "withdrawn": ("requester withdraws",),
}
# What each step makes of an action; a state that is not here lets it as it is.
BECOMES: Final[dict[str, dict[str, str]]] = {
    "requested": {
        "another approves": "approved",
        "requester approves": "refused",
        "another declines": "declined",
        "requester withdraws": "withdrawn",
    },
    "approved": {"done": "executed", "not done": "failed"},
}
NOT_TAKEN: Final[dict[str, list[str]]] = {
    "request again": [],
    "another declines": ["not_requested"],
    "requester withdraws": ["not_requested"],
}
"""The results of steps that a state does not take, by step."""


def in_status(status: str) -> ShardStory:
    story = detector_story()
    story.submit(a_request())
    for step in WAYS[status]:
        STEPS[step](story)
    return story


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("status", WAYS)
def test_given_an_action_in_a_status_when_a_step_arrives_then_the_table_says_what_becomes_of_it(
    status: str, step: str
) -> None:
    story = in_status(status)
    assert story.all(ActionRow)[-1].status == status

    rows = STEPS[step](story)

    after = BECOMES.get(status, {}).get(step)
    links = only(ChainFactRow, rows)
    results = [row.result for row in only(EntryResultRow, rows)]
    if after is None:
        assert not only(ActionRow, rows)
        assert not links
        assert results == NOT_TAKEN.get(step, ["not_waiting"])
    else:
        (row,) = only(ActionRow, rows)
        assert (row.status, row.id, results) == (after, ID, ["made"])
        assert [msgspec.json.decode(link.body)["transition"] for link in links] == [after]


@pytest.mark.parametrize("step", ["another approves", "done"])
def test_given_no_such_action_when_a_step_arrives_then_nothing_is_recorded_of_it(step: str) -> None:
    rows = STEPS[step](detector_story())

    assert not only(ActionRow, rows)
    assert not only(ChainFactRow, rows)
    assert [row.result for row in only(EntryResultRow, rows)] == ["unknown" if "approves" in step else "not_waiting"]


@pytest.mark.parametrize("type_", sorted(set(ActionType) - CHANGES_OF_OURS - {ActionType.DECIDE_ALERT}))
def test_given_each_type_when_requested_then_it_waits_for_a_second_person_or_is_approved_at_once(
    type_: ActionType,
) -> None:
    story = detector_story()
    story.wire("enti_1", "cpty_1", 10_00, 0)
    rows = story.submit(a_request(type=type_, target_type="transfer", target_id=story.scoring.transfer_id))

    (row,) = only(ActionRow, rows)
    assert row.status == ("requested" if type_ in ALWAYS_TWO_APPROVERS else "approved")
    assert row.approved_by is None
    assert len(only(ChainFactRow, rows)) == 1  # also of one that is approved at once: nobody approved it


def test_given_an_action_when_carried_out_then_its_row_and_links_say_who_when_and_what_the_bank_said() -> None:
    story = detector_story()
    story.submit(a_request())
    story.submit(an_approval("bob", operator="carl", at=AT + HOUR_US))
    story.submit(an_outcome(at=AT + 2 * HOUR_US))

    row = story.all(ActionRow)[-1]
    assert (row.requested_by, row.approved_by, row.error, row.created_at) == ("ann", "bob", None, AT)
    assert row.bank_response == canonical(ANSWER).decode()
    links = [msgspec.json.decode(link.body) for link in story.all(ChainFactRow)]
    assert [(each["transition"], each["actor"], each["sentBy"]) for each in links] == [
        ("requested", "ann", "ann"),
        ("approved", "bob", "carl"),
        ("executed", PLATFORM, PLATFORM),
    ]
    assert links[0]["id"] == ID
    assert len({each["id"] for each in links}) == 3
    assert [each["bankResponseSha256"] for each in links] == [None, None, digest_of(canonical(ANSWER))]


def test_given_a_note_on_an_approval_when_carried_out_then_the_row_keeps_it_and_the_links_have_it_once() -> None:
    story = detector_story()
    story.submit(a_request())
    story.submit(an_approval("bob", note="Both names were typed."))
    story.submit(an_outcome())

    assert [row.note for row in story.all(ActionRow)] == [None, "Both names were typed.", "Both names were typed."]
    links = [msgspec.json.decode(link.body) for link in story.all(ChainFactRow)]
    assert [each.get("note") for each in links] == [None, "Both names were typed.", None]


@pytest.mark.parametrize("name", ["ann", "ANN", " ann ", "Ann", "aNN  "])
def test_given_the_requesters_name_in_another_spelling_when_approving_then_it_is_refused(name: str) -> None:
    story = in_status("requested")

    (row,) = only(ActionRow, story.submit(an_approval(name)))

    assert (row.status, row.approved_by) == ("refused", None)
    assert same_person("ann", name)


def test_given_a_policy_that_names_a_type_when_requested_then_it_waits_too() -> None:
    story = detector_story()
    body = msgspec.structs.replace(POLICY_V1, version="policy-v2", two_approver_actions=(OF_ONE.value,))
    story.program.policies.activate(
        ActiveVersion(version="policy-v2", body=body, since=T0, action_id="act_0", of_program=True)
    )

    (row,) = only(ActionRow, story.submit(a_request(type=OF_ONE)))

    assert row.status == "requested"


def test_given_an_alert_when_an_action_follows_from_it_then_its_links_cite_alert_and_decision_though_it_is_closed() -> (
    None
):
    story, alert, at = alert_with_status("open")
    story.submit(a_decision(alert, "close", at))
    disposition = story.one(DispositionRow)

    rows = story.submit(a_request(alert_id=alert.id, alert_sha256=alert.alert_sha256, at=at))

    (link,) = only(ChainFactRow, rows)
    body = msgspec.json.decode(link.body)
    assert (body["alertId"], body["alertSha256"]) == (alert.id, alert.alert_sha256)
    assert body["dispositionId"] == disposition.id


def test_given_a_snapshot_between_any_two_steps_when_the_rest_is_replayed_then_the_rows_are_the_same() -> None:
    story = in_status("executed")
    for step in ("another approves", "done", "request again"):
        STEPS[step](story)

    for cut in range(len(story.entries) + 1):
        state = ShardState(0)
        rows = _replayed(state, story.entries[:cut])
        restored = ShardState.loaded(iter([*state.dump()]))
        rows += _replayed(restored, story.entries[cut:])
        assert rows == story.rows, cut


def _replayed(state: ShardState, entries: list[LogEntry]) -> list[msgspec.Struct]:
    rows: list[msgspec.Struct] = []
    for entry in entries:
        state.apply(entry, rows.append)
    return rows


def test_given_the_statuses_then_each_has_its_row_in_the_table() -> None:
    assert set(WAYS) == {status.value for status in ActionStatus}
