"""Whom a hit is about: the transfer, one of its parties, a side of its edge in the graph, or the program.

A party that is not known, or that the bank never gave an id, cannot be named: then the actor is, else the transfer.
"""

from features.core.reason import Reason
from features.core.vocabulary import SubjectType
from features.detectors.detector import Scene, Subject
from features.landing.stored_transfer import CLASSES, nodes_of
from features.state.parties import Actor, Counterparty
from features.windows.edges import NOBODY


def the_transfer(scene: Scene, _reason: Reason) -> Subject:
    return Subject(SubjectType.TRANSFER, scene.transfer_id)


def the_program(scene: Scene, _reason: Reason) -> Subject:
    return Subject(SubjectType.PROGRAM, scene.program.id)


def the_actor(scene: Scene, reason: Reason) -> Subject:
    return named_actor(scene.actor) if scene.actor is not None else the_transfer(scene, reason)


def the_counterparty(scene: Scene, reason: Reason) -> Subject:
    party = scene.counterparty
    return named_counterparty(party) if party is not None and not party.unlisted else the_actor(scene, reason)


def the_account(scene: Scene, reason: Reason) -> Subject:
    """The transfer's own account, as a card's attempts are counted by it."""
    account = scene.program.transfers.read(scene.landed.place).account
    if account < 0:
        return the_actor(scene, reason)
    return Subject(SubjectType.ACCOUNT, scene.program.account_ids[account])


def the_payer(scene: Scene, reason: Reason) -> Subject:
    return _side(scene, reason, 0)


def the_payee(scene: Scene, reason: Reason) -> Subject:
    return _side(scene, reason, 1)


def the_shared_account(scene: Scene, reason: Reason) -> Subject:
    """The counterparty that carries the account; of several names for one account the one that was met first."""
    party = scene.counterparty
    if party is None:
        return the_actor(scene, reason)
    sharing = scene.program.counterparties.sharing(party.routing, party.last4)
    listed = [other for other in sharing if not other.unlisted]
    return named_counterparty(min(listed, key=lambda other: other.index)) if listed else the_actor(scene, reason)


def named_actor(actor: Actor) -> Subject:
    return Subject(SubjectType.ACCOUNT if actor.is_account else SubjectType.ENTITY, actor.id)


def named_counterparty(party: Counterparty) -> Subject:
    return Subject(SubjectType.COUNTERPARTY, party.id)


def _side(scene: Scene, reason: Reason, side: int) -> Subject:
    """The node that paid (0) or was paid (1)."""
    program = scene.program
    _, direction = CLASSES[program.transfers.read(scene.landed.place).class_id]
    node = nodes_of(program, direction, scene.actor, scene.counterparty)[side]
    if node == NOBODY:
        return the_actor(scene, reason)
    if node % 2 == 0:
        return named_actor(program.actors[node // 2])
    party = program.counterparties.all[node // 2]
    return the_actor(scene, reason) if party.unlisted else named_counterparty(party)
