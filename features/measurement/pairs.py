"""The part of the vector on what the actor had with this party before, measured only where a signal could fire on it.

Unit    transfers that moved
Window  the actor's newest 64 before the transfer's instant that moved money the same way
Null    without an actor; below 60 earlier transfers of the actor, or 5 of the program with the counterparty
"""

from typing import Final

from clearhold.features.catalogue.amounts import Activity, Relationship
from clearhold.features.catalogue.thresholds import CLEAN_TRANSFERS, KNOWN_PARTY_TRANSFERS
from clearhold.features.catalogue.weeks import PairPast
from clearhold.features.measurement.subject import Subject, Surroundings
from clearhold.features.windows.edges import node_of_actor
from clearhold.features.windows.series import ALWAYS

_NOT_ASKED: Final = PairPast(None)


def pair_past_of(
    subject: Subject, around: Surroundings, activity: Activity, relationship: Relationship, at: int
) -> PairPast:
    """The actor's own past with the party: a merchant that the whole program knows may be new to it."""
    actor = subject.actor
    if (
        actor is None
        or activity.entity_prior_transfers < CLEAN_TRANSFERS
        or relationship.counterparty_n < KNOWN_PARTY_TRANSFERS
    ):
        return _NOT_ASKED
    is_paid_by_actor = subject.source == node_of_actor(actor.index)
    edges, other = (around.out_of_own, subject.target) if is_paid_by_actor else (around.into_own, subject.source)
    if edges is None:
        return PairPast(0)
    return PairPast(edges.near(ALWAYS, at - 1, but=subject.own.row, as_of=at).others.count(other))
