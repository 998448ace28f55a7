"""Changes of a program's caps, each requested by one person and in force once a second one approves it."""

from typing import Any

import msgspec

from clearhold.features.core.entries.actions import (
    ActionEntry,
    ActionType,
    CapKind,
    CapVersion,
    LimitChange,
    cap_of,
    digits_of,
)
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.landing.policies import bring_into_force
from clearhold.features.limits.caps import cap_usage
from clearhold.features.policy.bodies import ActiveVersion, LimitsBody
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.program import ProgramState


def change_of(change: dict[str, Any] | None) -> LimitChange:
    """What an action of type ``set_limit`` changes."""
    return msgspec.convert(change, LimitChange)


def objection(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """Objects when another change of the kind waits, or the cap already has the requested value."""
    change = change_of(entry.change)
    waiting = program.actions.waiting(ActionType.SET_LIMIT)
    if any(change_of(each.change).kind is change.kind for each in waiting):
        return EntryResult.PENDING
    return EntryResult.SAME_CAP if cap_of(change.to) == program.caps.cap(change.kind) else None


def recorded(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> dict[str, Any] | None:
    """With the cap in force, so that the second person sees the change."""
    change = change_of(entry.change)
    cap = digits_of(program.caps.cap(change.kind))
    with_cap: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(change, from_=cap))
    return with_cap


def apply(program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit) -> str | None:
    """The cap counts from this entry on, also as a line that amounts may be split to stay under."""
    change = change_of(action.change)
    version = CapVersion(
        kind=change.kind,
        cap=cap_of(change.to),
        before=cap_of(change.from_),
        version=program.caps.next_version,
        requested_by=action.requested_by,
        approved_by=action.approved_by or "",
        since=position.appended_at,
        note=change.note,
        action_id=action.id,
    )
    program.caps.put(version)
    active = ActiveVersion(
        version=version.version,
        body=_body_of(program),
        since=version.since,
        action_id=action.id,
        of_program=True,
    )
    bring_into_force(program, active, position, emit)
    return None


def _body_of(program: ProgramState) -> LimitsBody:
    """All caps in force as one body."""
    caps = {kind: digits_of(program.caps.cap(kind)) for kind in CapKind}
    return LimitsBody(
        ach_debit_daily_cents=caps[CapKind.ACH_DEBIT_DAILY],
        ach_debit_monthly_cents=caps[CapKind.ACH_DEBIT_MONTHLY],
        per_transaction_cents=caps[CapKind.PER_TRANSACTION],
        entity_daily_cents=caps[CapKind.ENTITY_DAILY],
        entity_velocity_24h_count=caps[CapKind.ENTITY_VELOCITY_24H],
    )


class ObservedCap(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of cap with its use now. ``newest`` is its last change, None for a kind that never had a cap."""

    kind: CapKind
    newest: CapVersion | None
    observed: int | None
    n: int


class ProgramLimits(msgspec.Struct, frozen=True, kw_only=True):
    """All five kinds, the actions that wait with a change, and every approved change, oldest first."""

    limits: tuple[ObservedCap, ...]
    pending: tuple[ActionState, ...]
    history: tuple[CapVersion, ...]


def program_limits(program: ProgramState, *, at: int) -> ProgramLimits:
    """The caps of a program, their use, and the requested changes."""
    usage = cap_usage(program, at)
    return ProgramLimits(
        limits=tuple(
            ObservedCap(kind=kind, newest=program.caps.newest(kind), observed=usage[kind].observed, n=usage[kind].n)
            for kind in CapKind
        ),
        pending=program.actions.waiting(ActionType.SET_LIMIT),
        history=tuple(program.caps.history),
    )
