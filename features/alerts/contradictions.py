"""Warnings of decisions that contradict an action which was executed on the same transfer, card or account."""

from collections.abc import Iterator, Mapping
from typing import Final

from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.entries.commands import DecisionWarning
from clearhold.features.core.vocabulary import AlertDecision, SubjectType
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState

_STOPPED: Final = (
    ActionType.CANCEL_TRANSFER,
    ActionType.FREEZE_ACCOUNT,
    ActionType.PAUSE_CARD,
    ActionType.SUSPEND_CARD_ACCOUNT,
)
_LET_GO: Final = (ActionType.CLEAR_HOLD,)
_AGAINST: Final[Mapping[AlertDecision, tuple[ActionType, ...]]] = {
    AlertDecision.CLOSE: _STOPPED,
    AlertDecision.NO_ACTION: _STOPPED,
    AlertDecision.RELEASE: _STOPPED,
    AlertDecision.HOLD: _LET_GO,
    AlertDecision.ESCALATE: _LET_GO,
}
_SENTENCE: Final = (
    "This decision contradicts the action {action_id}, {type} of {target_type} {target_id}, which was executed: "
    "the decision does not undo it."
)


def warnings_of(program: ProgramState, alert: AlertState, decision: AlertDecision) -> tuple[DecisionWarning, ...]:
    """One for each executed action that the decision contradicts, the newest of each type and target."""
    if not program.actions.has_executed:
        return ()
    return tuple(
        DecisionWarning(
            action_id=action_id,
            type=action_type,
            target_type=target_type,
            target_id=target_id,
            sentence=_SENTENCE.format(
                action_id=action_id, type=action_type, target_type=target_type, target_id=target_id
            ),
        )
        for target_type, target_id in sorted(set(_targets(program, alert)))
        for action_type, action_id in sorted(program.actions.executed_on(target_type, target_id).items())
        if action_type in _AGAINST[decision]
    )


def _targets(program: ProgramState, alert: AlertState) -> Iterator[tuple[str, str]]:
    """The targets that an action on the alert's subject and transfers may have."""
    if alert.subject_type is SubjectType.ACCOUNT:
        yield from _account(alert.subject_id)
    for transfer_id in alert.transfers:
        yield "transfer", transfer_id
        transfer = StoredTransfer.find(program, transfer_id)
        if transfer is None:
            continue
        account_id, card_id = transfer.account_id(), program.card_table.id_of(transfer.record.card)
        if account_id is not None:
            yield from _account(account_id)
        if card_id is not None:
            yield "card", card_id


def _account(account_id: str) -> Iterator[tuple[str, str]]:
    yield "account", account_id
    yield "card_account", account_id
