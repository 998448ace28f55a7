"""Caps of a program, put in force as the log's entries do: a request by one person, and another one's approval."""

import msgspec

from clearhold.features.core.entries.actions import (
    ActionEntry,
    ActionType,
    ApprovalEntry,
    CapKind,
    LimitChange,
    digits_of,
)
from clearhold.features.core.entries.commands import OperatorKind
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.alerts import EntryResultRow
from tests.support.stories import PROGRAM, ShardStory


def request(
    story: ShardStory, kind: CapKind, to: int | None, *, at: int, action_id: str = "act_1", note: str | None = None
) -> str:
    """Request a change of the cap in force; the result of the entry."""
    change = LimitChange(kind=kind, to=digits_of(to), note=note)
    entry = ActionEntry(
        id=action_id,
        tenant_id="ten_1",
        alert_id=None,
        alert_sha256=None,
        type=ActionType.SET_LIMIT,
        target_type="program",
        target_id=PROGRAM,
        operator="ann",
        operator_kind=OperatorKind.PERSON,
        principal_id="operator",
        change=msgspec.to_builtins(change),
        at=at,
    )
    story.append(EntryKind.ACTION, msgspec.json.encode(entry), at=at)
    return story.one(EntryResultRow).result


def approve(story: ShardStory, *, at: int, action_id: str = "act_1", approver: str = "bob") -> str:
    entry = ApprovalEntry(
        id=f"app_{action_id}_{at}",
        action_id=action_id,
        approver=approver,
        operator=approver,
        principal_id="operator",
        at=at,
    )
    story.append(EntryKind.APPROVAL, msgspec.json.encode(entry), at=at)
    return story.one(EntryResultRow).result


def set_cap(story: ShardStory, kind: CapKind, to: int | None, *, at: int) -> None:
    """Put a cap in force."""
    action_id = f"act_{len(story.entries)}"
    assert request(story, kind, to, at=at, action_id=action_id) == "made"
    assert approve(story, at=at, action_id=action_id) == "made"
