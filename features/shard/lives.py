"""Entries of one own time in the order of their objects' lives, in which a replay applies them.

Of two snapshots of one instant the one with the later state is the newer one, whichever was delivered first
(``features/bank/status_order.py``). So the one with the earlier state is applied first. Entries of different objects
keep the order of the log, and so do snapshots between which only arrival decides.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.bank.event_types import BankEventType, event_type
from clearhold.features.bank.events import (
    ANY_DECODER,
    EVENT_DECODER,
    AccountSnapshot,
    CounterpartySnapshot,
    EntitySnapshot,
    TypedEvent,
    decode_event,
    decode_object,
)
from clearhold.features.bank.parties import read_account, read_counterparty, read_entity
from clearhold.features.bank.status_order import account_rank, counterparty_rank, entity_rank, transfer_rank
from clearhold.features.bank.transfers import read_transfer
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry, event_time
from clearhold.features.core.money import class_of
from clearhold.features.state.snapshot_order import SnapshotOrder

_BANK: Final = EntryKind.BANK.value

_Life = list[tuple[SnapshotOrder, int]]
"""The snapshots of one object, from the earliest state to the latest, each with its place among the entries."""


class _Snapshot(NamedTuple):
    event_id: str
    object: tuple[object, str]  # the class of a transfer or the family of a party, and the id
    order: SnapshotOrder


def order_of_lives(entries: Iterable[LogEntry]) -> list[int]:
    """The places of entries of one own time, in the order in which they are applied."""
    lives: dict[tuple[object, str], _Life] = {}
    life_of_event: dict[str, _Life] = {}
    places = list[int]()
    for place, entry in enumerate(entries):
        places.append(place)
        snapshot = _snapshot(entry) if entry.kind == _BANK else None
        if snapshot is None:
            continue
        event_id, thing, order = snapshot
        repeated = life_of_event.get(event_id)
        if repeated is not None:
            repeated.append((order, place))  # the first event under an id is the one that takes effect
            continue
        life = life_of_event[event_id] = lives.setdefault(thing, [])
        later = (index for index, (each, _) in enumerate(life) if order.is_before(each))
        life.insert(next(later, len(life)), (order, place))
    for life in lives.values():
        sources = [place for _, place in life]
        for target, source in zip(sorted(sources), sources, strict=True):
            places[target] = source
    return places


def _snapshot(entry: LogEntry) -> _Snapshot | None:
    """The snapshot in a bank event; None without a readable one."""
    try:
        event = decode_event(entry.body)
        created_at = parse_instant(event.created_at)
        if created_at is None:
            return None
        event_at = event_time(created_at, appended_at=entry.appended_at)
        kind = event_type(event.type)
        if kind.kind is None:
            return _of_party(kind, event.id, entry, event_at)
        data = event.data if isinstance(event, TypedEvent) else decode_object(event.data)
        if kind.is_dispute or not kind.has_transfer(data):
            return None
        transfer = read_transfer(kind.kind, data, event_at=event_at, appended_at=entry.appended_at)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # it is set aside when it is applied
    if transfer is None:
        return None
    class_id, status = class_of(transfer.rail, transfer.direction), transfer.status
    rank = 0 if status is None else transfer_rank(class_id, status) + 1  # a word that is not listed has a rank here
    return _Snapshot(event.id, (class_id, transfer.id), SnapshotOrder.of(transfer.updated_at, event_at, rank))


def _of_party(kind: BankEventType, event_id: str, entry: LogEntry, event_at: int) -> _Snapshot | None:
    data: Any = ANY_DECODER.decode(EVENT_DECODER.decode(entry.body).data)
    if not isinstance(data, dict):
        return None
    party: EntitySnapshot | AccountSnapshot | CounterpartySnapshot | None = None
    rank = 0
    match kind.family:
        case "identity":
            party = entity = read_entity(kind.suffix, data, appended_at=entry.appended_at)
            rank = entity_rank(entity.verification_status) if entity is not None else 0
        case "account":
            party = account = read_account(kind.suffix, data, appended_at=entry.appended_at)
            rank = account_rank(account.status) if account is not None else 0
        case "counterparty":
            party = read_counterparty(data, appended_at=entry.appended_at)
            rank = counterparty_rank(kind.suffix)
    if party is None:
        return None
    return _Snapshot(event_id, (kind.family, party.id), SnapshotOrder.of(party.updated_at, event_at, rank))
