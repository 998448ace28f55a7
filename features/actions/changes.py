"""The changes of programs and tenants that actions make, one row a type of action; decisions that close a hard alert,
where the policy asks for a second person: signed with the approval; and holds that end with their reason.

The executor of actions carries out an approved activation: it writes it to the log, because it reaches the shards of
all programs of the tenant, and records the outcome. It also checks whether a rule or a card may be activated, because
rules and reports are not in the state of a program.

An executed ``clear_hold`` releases the held alerts on its transfer. A held alert of several transfers stays held while
a different one of them is in the hold band and was not cleared, unless the action names the alert.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.actions import autonomy
from clearhold.features.alerts.decisions import CLOSING, result_of, sign
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.actions import (
    COUNTED_KINDS,
    ActionEntry,
    ActionType,
    CapKind,
    CapVersion,
    DecisionChange,
    LimitChange,
    PolicyEntry,
    cap_of,
    digits_of,
)
from clearhold.features.core.entries.commands import DecisionEntry, EntryResult, OperatorKind
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.core.principal import is_key_operator
from clearhold.features.core.vocabulary import AlertDecision, Band, band_of
from clearhold.features.landing.policies import bring_into_force
from clearhold.features.policy.bodies import ActiveVersion, LimitsBody, prefix_of
from clearhold.features.policy.in_force import policy_in_force
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import UNSCORED

_TRANSFER: Final = "transfer"
_NOT_ALLOWED: Final = "The alert was decided since the request, and its status does not allow this decision any more."


def needs_second_person(
    program: ProgramState, alert: AlertState, decision: AlertDecision, position: EntryPosition
) -> bool:
    policy = policy_in_force(program, position.appended_at).policy
    return alert.hard and decision in CLOSING and policy.hard_needs_second_person is True


def objection_if_waiting(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """Objects while an action of the type waits on the target: another decision, or a version under activation."""
    waiting = program.actions.waiting(entry.type)
    return EntryResult.PENDING if any(action.target_id == entry.target_id for action in waiting) else None


def sign_pending(program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit) -> str | None:
    """Sign the decision in the name of its requester, if the alert's status still allows it."""
    change = msgspec.convert(action.change, DecisionChange)
    alert = program.alerts.get(action.target_id)
    entry = DecisionEntry(
        id=derived_id(action.id, action.target_id),
        alert_id=action.target_id,
        decision=change.decision,
        narrative=change.narrative,
        operator=action.requested_by,
        operator_kind=OperatorKind.PERSON,
        at=position.appended_at,
        identity=action.requested_identity,
    )
    if alert is None or result_of(program, alert, entry, position) is not EntryResult.MADE:
        return _NOT_ALLOWED
    sign(program, alert, entry, position, emit, action_id=action.id)
    return None


_NARRATIVE: Final = (
    "Released by the action {action_id}: clear_hold of transfer {transfer_id}, requested by {requested_by}{approved}, "
    "was executed."
)


def objection_to_clearing(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
    """Objects to an unknown transfer, and to a key that would release an alert in place of a person."""
    if program.transfers.row_of(entry.target_id) is None:
        return EntryResult.UNKNOWN
    if entry.operator_kind is OperatorKind.KEY and any(_released_by(program, entry)):
        policy = policy_in_force(program, position.appended_at).policy
        if ActionType.CLEAR_HOLD not in policy.two_approver_actions:
            return EntryResult.NEEDS_PERSON
    return None


def clears_hard(program: ProgramState, action: ActionState) -> bool:
    """Whether the action would release a hard alert."""
    return any(alert.hard for alert in _released_by(program, action))


def release_cleared(
    program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit, *, at: int
) -> tuple[str, ...]:
    """Release the alerts that the executed action clears, each with a disposition; their ids."""
    released = tuple(_released_by(program, action))
    signer, identity = action.requested_by, action.requested_identity
    if is_key_operator(signer) and action.approved_by is not None:
        signer, identity = action.approved_by, action.approved_identity
    narrative = _NARRATIVE.format(
        action_id=action.id,
        transfer_id=action.target_id,
        requested_by=action.requested_by,
        approved="" if action.approved_by is None else f" and approved by {action.approved_by}",
    )
    for alert in released:
        decision = DecisionEntry(
            id=derived_id(action.id, alert.id),
            alert_id=alert.id,
            decision=AlertDecision.RELEASE,
            narrative=narrative,
            operator=signer,
            operator_kind=OperatorKind.KEY if is_key_operator(signer) else OperatorKind.PERSON,
            at=at,
            identity=identity,
        )
        sign(program, alert, decision, position, emit, action_id=action.id)
    return tuple(alert.id for alert in released)


def _released_by(program: ProgramState, action: ActionEntry | ActionState) -> Iterator[AlertState]:
    """The held alerts that a ``clear_hold`` releases once it is executed."""
    row = program.transfers.row_of(action.target_id)
    for alert in program.alerts.held_alerts():
        if alert.id == action.alert_id or (
            row is not None
            and (alert.has_older(row) or action.target_id in alert.transfers)
            and not _is_held_by_another(program, alert, row)
        ):
            yield alert


def _is_held_by_another(program: ProgramState, alert: AlertState, cleared: int) -> bool:
    """Whether a different transfer of the alert is in the hold band and was not cleared. Only of its newest findings
    does the alert have the ids.
    """
    rows = {program.transfers.row_of(each): each for each in alert.transfers}
    in_hold = {row for row in (*rows, *alert.older()) if _is_in_hold(program, row)}
    in_hold.discard(cleared)
    if any(not _is_cleared(program, rows[row]) for row in in_hold & rows.keys()):
        return True
    older = in_hold - rows.keys()
    if not older:
        return False
    targets = program.actions.executed_targets()
    return not older <= {program.transfers.row_of(each) for kind, each in targets if _is_cleared(program, each, kind)}


def _is_cleared(program: ProgramState, target_id: str, target_type: str = _TRANSFER) -> bool:
    return target_type == _TRANSFER and ActionType.CLEAR_HOLD in program.actions.executed_on(target_type, target_id)


def _is_in_hold(program: ProgramState, row: int | None) -> bool:
    score = UNSCORED if row is None else program.transfers.read(row).score
    return score != UNSCORED and band_of(score) is Band.HOLD


def objection_to_activation(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
    """Objects when the version is in force already, or waits for its approver."""
    version = str((entry.change or {}).get("version", ""))
    current = program.policies.in_force(prefix_of(version), position.appended_at)
    is_in_force = current is not None and current.version == version
    return objection_if_waiting(program, entry, position) or (EntryResult.IN_FORCE if is_in_force else None)


def objection_to_rule_change(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """Objects when the same change of the same rule is under way; a rule rewritten since may be activated beside it."""
    for action in program.actions.waiting(entry.type):
        if action.target_id == entry.target_id and _sha256_in(action.change) == _sha256_in(entry.change):
            return EntryResult.PENDING
    return None


def _sha256_in(change: dict[str, Any] | None) -> str:
    return str((change or {}).get("ruleSha256", ""))


def limit_change_of(change: dict[str, Any] | None) -> LimitChange:
    """What an action of type ``set_limit`` changes."""
    return msgspec.convert(change, LimitChange)


def objection_to_limit(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """Objects when another change of the kind waits, or the cap already has the requested value."""
    change = limit_change_of(entry.change)
    waiting = program.actions.waiting(ActionType.SET_LIMIT)
    if any(limit_change_of(each.change).kind is change.kind for each in waiting):
        return EntryResult.PENDING
    return EntryResult.SAME_CAP if cap_of(change.to) == program.caps.cap(change.kind) else None


def recorded_limit(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> dict[str, Any] | None:
    """With the cap in force, so that the second person sees the change."""
    change = limit_change_of(entry.change)
    cap = digits_of(program.caps.cap(change.kind))
    with_cap: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(change, from_=cap))
    return with_cap


def apply_limit(program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit) -> str | None:
    """The cap counts from this entry on, also as a line that amounts may be split to stay under."""
    change = limit_change_of(action.change)
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
    _put_caps(program, [version], position, emit)
    return None


def apply_limits(program: ProgramState, entry: PolicyEntry, position: EntryPosition, emit: Emit) -> None:
    """All caps of a program, as an applied configuration has them: one version for all that change."""
    body, signers = msgspec.convert(entry.body, LimitsBody), entry.signers
    assert signers is not None, "limits come with their signers"
    if program.policies.knows(entry.action_id):
        return
    caps = {kind: cap_of(_cap_in(body, kind)) for kind in CapKind}
    changed = [kind for kind in CapKind if caps[kind] != program.caps.cap(kind)]
    if not changed:
        return
    version = program.caps.version_after(len(changed))
    versions = [
        CapVersion(
            kind=kind,
            cap=caps[kind],
            before=program.caps.cap(kind),
            version=version,
            requested_by=signers.requested_by,
            approved_by=signers.approved_by,
            since=position.appended_at,
            note=signers.note,
            action_id=entry.action_id,
        )
        for kind in changed
    ]
    _put_caps(program, versions, position, emit)


def only_narrows(action: ActionState) -> bool:
    """Whether an application of a configuration has no change that needs a second person, as its request states."""
    return (action.change or {}).get("needsSecondPerson") is False


def _put_caps(program: ProgramState, versions: Sequence[CapVersion], position: EntryPosition, emit: Emit) -> None:
    """Caps that come into force together, under the version of the last of them."""
    for version in versions:
        program.caps.put(version)
    last = versions[-1]
    active = ActiveVersion(
        version=last.version, body=_limits_of(program), since=last.since, action_id=last.action_id, of_program=True
    )
    bring_into_force(program, active, position, emit)


def _cap_in(body: LimitsBody, kind: CapKind) -> str | None:
    cap: str | None = getattr(body, f"{kind}_{'count' if kind in COUNTED_KINDS else 'cents'}")
    return cap


def _limits_of(program: ProgramState) -> LimitsBody:
    """All caps in force as one body."""
    caps = {kind: digits_of(program.caps.cap(kind)) for kind in CapKind}
    return LimitsBody(
        ach_debit_daily_cents=caps[CapKind.ACH_DEBIT_DAILY],
        ach_debit_monthly_cents=caps[CapKind.ACH_DEBIT_MONTHLY],
        per_transaction_cents=caps[CapKind.PER_TRANSACTION],
        entity_daily_cents=caps[CapKind.ENTITY_DAILY],
        entity_velocity_24h_count=caps[CapKind.ENTITY_VELOCITY_24H],
    )


Recorded = dict[str, Any] | None


def as_requested(_program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> Recorded:
    """The change as requested: the state adds nothing to it."""
    return entry.change


def always(_program: ProgramState, _action: ActionState, _position: EntryPosition) -> bool:
    return True


class Change(NamedTuple):
    """A kind of change.

    ``objection`` says why it cannot be requested, None when it can. ``recorded`` is the change as its action shows it.
    ``apply`` makes the approved change and emits its rows, or returns a sentence when it cannot be made any more.
    """

    objection: Callable[[ProgramState, ActionEntry, EntryPosition], EntryResult | None]
    apply: Callable[[ProgramState, ActionState, EntryPosition, Emit], str | None]
    recorded: Callable[[ProgramState, ActionEntry, EntryPosition], Recorded] = as_requested
    needs_second: Callable[[ProgramState, ActionState, EntryPosition], bool] = always


CHANGES: Final[Mapping[ActionType, Change]] = {
    ActionType.SET_AUTONOMY: Change(
        autonomy.objection, autonomy.apply, recorded=autonomy.recorded, needs_second=autonomy.needs_second
    ),
    ActionType.SET_LIMIT: Change(objection_to_limit, apply_limit, recorded=recorded_limit),
    ActionType.DECIDE_ALERT: Change(objection_if_waiting, sign_pending),
}
"""Changes that are made with the entry of the approval."""

OBJECTIONS: Final[Mapping[ActionType, Callable[[ProgramState, ActionEntry, EntryPosition], EntryResult | None]]] = {
    ActionType.ACTIVATE_POLICY: objection_to_activation,
    ActionType.ACTIVATE_RULE: objection_to_rule_change,
    ActionType.PAUSE_RULE: objection_to_rule_change,
    ActionType.ACTIVATE_SCORECARD: objection_if_waiting,
    ActionType.APPLY_CONFIG: objection_if_waiting,
    ActionType.CLEAR_HOLD: objection_to_clearing,
}
"""Objections to actions that are carried out outside of the program: by the executor, or at the bank."""
