"""Changes of a program's autonomy: two persons widen it, one person or a tick narrows it at once.

widen   at most once in 7 days; a granted or withdrawn detector only with evidence that suffices at the request and at
        the approval, while the policy's own detectors need none; a request names the version that it replaces, so only
        one of several waiting requests can be carried out
narrow  by a person at any time; by a tick when persons overturn too much, or an alert that the policy closed turns bad
"""

from collections.abc import Collection
from typing import Any, Final

import msgspec

from clearhold.features.actions.rows import Transition, action_row, link_of_transition
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.actions import (
    PLATFORM,
    ActionEntry,
    ActionStatus,
    ActionType,
    AutonomyBody,
    AutonomyChange,
    AutonomyRequest,
    AutonomyTier,
)
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.landing.policies import emit_composed
from clearhold.features.policy.autonomy import (
    changed,
    closable_but_for_tier,
    closable_detectors,
    is_narrower,
    is_overturned_recently,
    objections,
    tier_under,
    without,
)
from clearhold.features.policy.bodies import PolicyBody
from clearhold.features.policy.in_force import given_policy
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.program import ProgramState

_REPLACED: Final = "The autonomy of the program has changed since the request."
_NOT_ELIGIBLE: Final = "The evidence does not hold any more for: {}."


def objection(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
    """A narrower tier meets no objection; a wider one needs evidence, no waiting request and no recent widening."""
    body = _body_of(program, entry, position)
    current, policy = program.autonomy.body, given_policy(program, position.appended_at)
    if is_narrower(body.tier, current.tier):
        return None
    waiting = program.actions.waiting(ActionType.SET_AUTONOMY)
    if any(_change_of(action).replaced == program.autonomy.version for action in waiting):
        return EntryResult.PENDING
    if not _added(current, body, policy) or (body.tier is AutonomyTier.TRUSTED and not body.granted):
        is_same = body.tier is tier_under(policy, current)
        return EntryResult.UNCHANGED if is_same else EntryResult.NOT_ELIGIBLE
    next_at = program.autonomy.next_widening_at
    return EntryResult.TOO_EARLY if next_at is not None and position.appended_at < next_at else None


def recorded(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> dict[str, Any]:
    """The version that is replaced, and the body that follows from the tier and the evidence."""
    return _recorded(program, _body_of(program, entry, position))


def needs_second(program: ProgramState, action: ActionState, position: EntryPosition) -> bool:
    """One person may narrow."""
    policy = given_policy(program, position.appended_at)
    return bool(_added(program.autonomy.body, _change_of(action).body, policy))


def apply(program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit) -> str | None:
    """The body is in force from this entry on, if the version to replace still is and the evidence suffices."""
    change, at = _change_of(action), position.appended_at
    if change.replaced != program.autonomy.version:
        return _REPLACED
    policy = given_policy(program, at)
    current = program.autonomy.body
    added = _added(current, change.body, policy)
    on_evidence = added - closable_but_for_tier(policy, current)
    lost = sorted(on_evidence - _eligible(program, position)) if on_evidence else ()
    if lost:
        return _NOT_ELIGIBLE.format(", ".join(lost))
    program.autonomy.put_in_force(change.body, at, widens=bool(added))
    emit_composed(program, position, emit)
    return None


def narrow_by_itself(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Withdraw the detectors whose closed alerts turned out wrong, as an executed action that no person requested."""
    evidence = program.closing_evidence
    evidence.pass_time(position.appended_at)
    turned_bad = evidence.take_turned_bad()
    suspects = turned_bad | {name for name, tally in evidence.tallies.items() if is_overturned_recently(tally)}
    if not suspects:
        return
    policy = given_policy(program, position.appended_at)
    withdrawn = suspects & closable_but_for_tier(policy, program.autonomy.body)
    reasons = [_reason(program, name, turned_bad) for name in sorted(withdrawn)]
    if not reasons:
        return
    version, note = program.autonomy.next_version, " ".join(reasons)
    body = without(program.autonomy.body, withdrawn, policy, version=version, note=note)
    action = ActionState(
        id=derived_id(program.id, body.version),
        type=ActionType.SET_AUTONOMY,
        target_type="program",
        target_id=program.id,
        requested_by=PLATFORM,
        status=ActionStatus.REQUESTED,
        change=_recorded(program, body),
        created_at=position.appended_at,
    )
    requested = Transition(status=ActionStatus.REQUESTED, at=position.appended_at)
    emit(link_of_transition(program, action, requested, position))
    program.autonomy.put_in_force(body, position.appended_at, widens=False)
    emit_composed(program, position, emit)
    action.status = ActionStatus.EXECUTED
    step = Transition(status=ActionStatus.EXECUTED, at=position.appended_at)
    emit(link_of_transition(program, action, step, position))
    program.actions.put(action)
    emit(action_row(program, action, position, step))


def _body_of(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> AutonomyBody:
    request = msgspec.convert(entry.change, AutonomyRequest)
    policy = given_policy(program, position.appended_at)
    return changed(
        program.autonomy.body,
        request.tier,
        _eligible(program, position),
        policy,
        version=program.autonomy.next_version,
        note=request.note,
    )


def _reason(program: ProgramState, detector: str, turned_bad: Collection[str]) -> str:
    if detector in turned_bad:
        return f"{detector} is withdrawn: an alert that the policy had closed turned bad."
    tally = program.closing_evidence.tallies[detector]
    return (
        f"{detector} is withdrawn: persons overturned {tally.recent_overturned} of the {tally.recent_reviewed} alerts "
        "that they reviewed in 30 days."
    )


def _recorded(program: ProgramState, body: AutonomyBody) -> dict[str, Any]:
    change: dict[str, Any] = msgspec.to_builtins(AutonomyChange(replaced=program.autonomy.version, body=body))
    return change


def _change_of(action: ActionState) -> AutonomyChange:
    return msgspec.convert(action.change, AutonomyChange)


def _added(current: AutonomyBody, body: AutonomyBody, policy: PolicyBody) -> set[str]:
    """The detectors that become closable."""
    return closable_detectors(policy, body) - closable_detectors(policy, current)


def _eligible(program: ProgramState, position: EntryPosition) -> set[str]:
    program.closing_evidence.pass_time(position.appended_at)
    policy = given_policy(program, position.appended_at)
    tallies = program.closing_evidence.tallies.items()
    return {detector for detector, tally in tallies if not objections(detector, tally, policy)}
