"""The subject of a finding: the transfer, one of its parties, a side of its edge in the graph, or the program.

An unknown party, or one without an id from the bank, cannot be named: the subject is then the actor or the transfer.

Bounds  the newest ``NAMED`` transfers are named; where a transfer's amount, type or return decides, the newest
        ``READ`` are read
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from clearhold.features.core.reason import Reason
from clearhold.features.core.vocabulary import SubjectType
from clearhold.features.detectors.detector import AlertSubject, DetectionContext
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import TransferBrief
from clearhold.features.windows.edges import NOBODY


def transfer_subject(context: DetectionContext, _reason: Reason) -> AlertSubject:
    return AlertSubject(SubjectType.TRANSFER, context.transfer_id)


def program_subject(context: DetectionContext, _reason: Reason) -> AlertSubject:
    return AlertSubject(SubjectType.PROGRAM, context.program.id)


def actor_subject(context: DetectionContext, _reason: Reason) -> AlertSubject:
    return _actor_or_transfer(context)


def _actor_or_transfer(context: DetectionContext) -> AlertSubject:
    actor = context.actor
    return AlertSubject(SubjectType.TRANSFER, context.transfer_id) if actor is None else named_actor(actor)


def counterparty_subject(context: DetectionContext, _reason: Reason) -> AlertSubject:
    return counterparty_or_actor(context)


def counterparty_or_actor(context: DetectionContext) -> AlertSubject:
    party = context.counterparty
    return named_counterparty(party) if party is not None and not party.unlisted else _actor_or_transfer(context)


def account_subject(context: DetectionContext, reason: Reason) -> AlertSubject:
    """The transfer's own account, because a card's attempts are counted by account."""
    account_id = context.transfer.account_id()
    if account_id is None:
        return actor_subject(context, reason)
    return AlertSubject(SubjectType.ACCOUNT, account_id)


def payer_subject(context: DetectionContext, reason: Reason) -> AlertSubject:
    return _side(context, reason, 0)


def payee_subject(context: DetectionContext, reason: Reason) -> AlertSubject:
    return _side(context, reason, 1)


def shared_account_subject(context: DetectionContext, reason: Reason) -> AlertSubject:
    """The counterparty with the account; of several names for one account the first one seen."""
    party = context.counterparty
    if party is None:
        return actor_subject(context, reason)
    sharing = context.program.counterparties.sharing(party.routing, party.last4)
    listed = [other for other in sharing if not other.unlisted]
    return named_counterparty(min(listed, key=lambda other: other.index)) if listed else actor_subject(context, reason)


def named_actor(actor: Actor) -> AlertSubject:
    return AlertSubject(SubjectType.ACCOUNT if actor.is_account else SubjectType.ENTITY, actor.id)


def named_counterparty(party: KnownCounterparty) -> AlertSubject:
    return AlertSubject(SubjectType.COUNTERPARTY, party.id)


def _side(context: DetectionContext, reason: Reason, side: int) -> AlertSubject:
    """The node that paid (0) or was paid (1)."""
    program = context.program
    node = context.transfer.nodes()[side]
    if node == NOBODY:
        return actor_subject(context, reason)
    if node % 2 == 0:
        return named_actor(program.actors[node // 2])
    party = program.counterparties.all[node // 2]
    return actor_subject(context, reason) if party.unlisted else named_counterparty(party)


NAMED: Final = 100
READ: Final = 500

Place = tuple[int, int]  # own time and row of a transfer
Places = set[Place]


class SupportingTransfers(NamedTuple):
    """``rows`` are the newest ones, oldest first; ``total`` counts all."""

    rows: tuple[int, ...]
    total: int


def newest_of_program(
    program: ProgramState, after: int, upto: int, keep: Callable[[ProgramState, TransferBrief], bool]
) -> Places:
    """The program's newest transfers in (after, upto], among the newest that it has."""
    places = Places()
    for row in range(len(program.transfers) - 1, max(-1, len(program.transfers) - 1 - READ), -1):
        record = program.transfers.glance(row)
        if after < record.at <= upto and keep(program, record):
            places.add((record.at, row))
            if len(places) == NAMED:
                break
    return places
