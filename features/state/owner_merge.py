"""An account's first owner: the account's history as an actor becomes the entity's.

From the log entry that states the owner, every question is answered as if the entity had been the actor from the
beginning; earlier scores stay until the next scoring. A later change of owner affects later transfers only. Alerts stay
with their subjects, and card attempts with their cards.

Cost  once, of the account's own history; stored transfers are not rewritten but read through ``ProgramState.merged``
"""

from typing import Any, Final, NamedTuple

from clearhold.features.state.parties import Actor
from clearhold.features.state.party_details import SnapshotOrder
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import Edges, node_of_actor
from clearhold.features.windows.series import EventTimes
from clearhold.features.windows.series_kinds import SeriesByKind

_OF_ITS_OWN: Final = frozenset({"id", "index", "is_account", "profile", "earlier_profiles"})
_HISTORY: Final = tuple(slot for slot in Actor.__struct_fields__ if slot not in _OF_ITS_OWN)


class OwnerLearnt(NamedTuple):
    """The result of a statement on an account's owner."""

    is_stored: bool  # False when a newer statement is stored, or no owner was stated
    given_history: Actor | None  # the entity that the account's history has just joined


NOTHING_LEARNT: Final = OwnerLearnt(is_stored=False, given_history=None)


def set_first_owner(program: ProgramState, account_id: str, entity_id: str | None, order: SnapshotOrder) -> OwnerLearnt:
    """Store the stated owner of an account; the first one takes over the account's history."""
    if entity_id is None:
        return NOTHING_LEARNT
    is_first = program.accounts.owner_of(account_id) is None
    if not program.set_owner(account_id, entity_id, order):
        return NOTHING_LEARNT
    account = program.account_actor(account_id) if is_first else None
    named = (program.counterparties.get(party_id) for party_id in (account_id, entity_id))
    if account is not None or (is_first and any(named)):
        program.arrivals.is_late = True  # the account was the owner's before this was stated
    if account is None:
        return OwnerLearnt(is_stored=True, given_history=None)
    entity = program.entity_or_new(entity_id)
    _merge(program, account, entity)
    return OwnerLearnt(is_stored=True, given_history=entity)


def _merge(program: ProgramState, account: Actor, entity: Actor) -> None:
    old, new = node_of_actor(account.index), node_of_actor(entity.index)
    paid, payers = program.graph.neighbours(old)
    program.acquaintances.merge_node(old, new, paid=paid, payers=payers)
    program.graph.merge_node(old, new)
    party = program.counterparties.get(account.id)
    if party is not None and party.same_as == account.index:
        party.same_as = entity.index
    for slot in _HISTORY:
        setattr(entity, slot, merged(getattr(entity, slot), getattr(account, slot)))
    program.scores.transfers.merge(account.index, into=entity.index)
    program.clearings.merge_node(old, new)
    program.card_table.join(account.index, entity.index)
    program.mark_merged(account, entity)


def merged(mine: Any, theirs: Any) -> Any:
    """The merge of two histories of one kind: series, and series by a key."""
    if theirs is None or mine is None:
        return mine if theirs is None else theirs
    if isinstance(mine, (EventTimes, AmountSeries, Edges)):
        mine.absorb(theirs)
    elif isinstance(mine, (dict, SeriesByKind)):
        mine.update({key: merged(mine.get(key), series) for key, series in theirs.items()})
    elif isinstance(mine, set):
        mine.update(theirs)
    else:
        raise TypeError(f"no way to merge {type(mine).__name__}")
    return mine
