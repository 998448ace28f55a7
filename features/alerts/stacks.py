"""Decides the stack of an alert as it opens: the waiting alerts that a person looks at together, as one story.

The key is the party that the alert accuses: its subject; for an alert on a transfer, the entity that moved the money,
else its account. Alerts on one party are one stack while their transfers are at most two weeks apart
(``features/state/stack_book.py``).

A party that has long dealt with many others says nothing about a single transfer: the employees of a payroll are not
one story because one employer pays them. So an alert on a transfer with a counterparty that such a party already knew,
or with any counterparty once the party knew ``VERY_MANY``, is stacked by the counterparty, and by the transfer itself
where many know the counterparty too. Purchases by card are the holder's whatever their number.

Alone   alerts on the program, by detector; an appeal, by the alert that it is against
Source  the limits are proposed here; docs/decisions/0090-stacks.md has the stacks that they were chosen on
"""

from typing import Final

from clearhold.features.alerts.rows import alert_row, result_row
from clearhold.features.core.entries.commands import EntryResult, ResultKind, SplitEntry
from clearhold.features.core.instants import DAYS_30
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.core.money import CARD_CLASSES
from clearhold.features.core.vocabulary import StackKind, SubjectType
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState
from clearhold.features.state.stack_book import StackKey, stack_id_of
from clearhold.features.windows.edges import NOBODY, node_of_actor
from clearhold.features.windows.series import ALWAYS

KNOWN_FOR_US: Final = DAYS_30
MANY: Final = 10  # parties known for ``KNOWN_FOR_US``
VERY_MANY: Final = 100


def place_in_stack(program: ProgramState, alert: AlertState, at: int, transfer: StoredTransfer | None) -> None:
    """Give an alert that waits its stack; ``transfer`` opened it at ``at``, the transfer's own time."""
    if alert.waits:
        program.alerts.stacks.place(alert, stack_keys(program, alert, at, transfer), at)


def split(program: ProgramState, entry: SplitEntry, position: EntryPosition, emit: Emit) -> None:
    """Take alerts out of a stack, if all of them wait in it and others stay; else nothing changes.

    An entry that was applied before changes nothing.
    """
    book = program.alerts
    if not book.add_command(entry.id):
        return
    alerts = [alert for alert_id in dict.fromkeys(entry.alert_ids) if (alert := book.get(alert_id)) is not None]
    result = EntryResult.MADE
    if len(alerts) < len(set(entry.alert_ids)) or any(not _is_in(alert, entry.stack_id) for alert in alerts):
        result = EntryResult.NOT_IN_STACK
    elif len(alerts) == book.stacks.waiting_in(entry.stack_id):
        result = EntryResult.WHOLE_STACK
    else:
        for alert in alerts:
            alert.stack_id, alert.stack_kind, alert.stack_key = stack_id_of(entry.id), StackKind.SPLIT, entry.stack_id
            book.stacks.note(alert)
            emit(alert_row(program, alert, position))
    emit(result_row(program, position, result, ResultKind.SPLIT, entry.id))


def words_of(kind: StackKind, key: str) -> str:
    """The key of a stack in words."""
    match kind:
        case StackKind.PROGRAM:
            return f"the program itself, {key}"
        case StackKind.APPEAL:
            return f"appeal of alert {key}"
        case StackKind.SPLIT:
            return f"taken out of stack {key}"
    return f"same {kind} {key}"


def _is_in(alert: AlertState, stack_id: str) -> bool:
    return alert.waits and alert.stack_id == stack_id


def stack_keys(
    program: ProgramState, alert: AlertState, at: int, transfer: StoredTransfer | None
) -> tuple[StackKey, ...]:
    """The keys by which the alert may join a stack, the best first; one that it opens has the first."""
    if alert.appeal_of is not None:
        return (StackKey(StackKind.APPEAL, alert.appeal_of),)
    match alert.subject_type:
        case SubjectType.PROGRAM:
            return (StackKey(StackKind.PROGRAM, alert.detector),)
        case SubjectType.COUNTERPARTY:
            return (StackKey(StackKind.COUNTERPARTY, alert.subject_id),)
        case SubjectType.ACCOUNT:
            return _of_account(program, alert.subject_id)
        case SubjectType.ENTITY:
            return _of_entity(alert.subject_id, transfer)
    alone = StackKey(StackKind.TRANSFER, alert.subject_id)
    return (alone,) if transfer is None else _of_transfer(transfer, at, alone)


def _of_account(program: ProgramState, account_id: str) -> tuple[StackKey, ...]:
    """By the owner; a stack by the account may be older than the statement of the owner."""
    account, owner = StackKey(StackKind.ACCOUNT, account_id), program.accounts.owner_of(account_id)
    return (account,) if owner is None else (StackKey(StackKind.ENTITY, owner), account)


def _of_entity(entity_id: str, transfer: StoredTransfer | None) -> tuple[StackKey, ...]:
    """By the entity, or by the account through which it acts here."""
    keys = (StackKey(StackKind.ENTITY, entity_id),)
    if transfer is None or transfer.actor is None or transfer.actor.id != entity_id:
        return keys
    account_id = transfer.account_id()
    return keys if account_id is None else (*keys, StackKey(StackKind.ACCOUNT, account_id))


def _of_transfer(transfer: StoredTransfer, at: int, alone: StackKey) -> tuple[StackKey, ...]:
    program, (actor, counterparty) = transfer.program, transfer.parties()
    other = NOBODY if counterparty is None else counterparty.node
    if actor is not None:
        own = node_of_actor(actor.index)
        is_card = transfer.record.class_id in CARD_CLASSES
        if is_card or other == NOBODY or not _is_one_of_many(program, own, other, at):
            return _of_account(program, actor.id) if actor.is_account else _of_entity(actor.id, transfer)
    if counterparty is None or counterparty.unlisted or _known_by(program, other, at) >= MANY:
        return (alone,)
    return (StackKey(StackKind.COUNTERPARTY, counterparty.id),)


def _is_one_of_many(program: ProgramState, own: int, other: int, at: int) -> bool:
    """Whether the other side is one of the many parties with which the actor deals."""
    known = _known_by(program, own, at)
    if known < MANY:
        return False
    met_at = program.acquaintances.met_at(own, other)
    return known >= VERY_MANY or (met_at is not None and met_at <= at - KNOWN_FOR_US)


def _known_by(program: ProgramState, node: int, at: int) -> int:
    """The number of parties with which it first dealt ``KNOWN_FOR_US`` before ``at``, or earlier."""
    return program.acquaintances.met_between(node, ALWAYS, at - KNOWN_FOR_US)
