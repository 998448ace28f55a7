"""Compares a transfer, proposed or landed, with the caps of its program, and measures how much of each cap is used.

A cap is crossed when the limited sum, this transfer included, is strictly more. Only transfers that moved
money count, with their US cents, and the caps are the ones in force at the log entry.

Window  day and month are of the calendar (UTC) up to the transfer's own time, as known then; ``entity_velocity_24h``
        looks at 24 hours. A transfer that arrives late, or with another amount, is also compared with its whole period
        as known now, so that no period passes its cap unseen in any order of arrival.
        The use of a cap is up to now; for ``per_transaction`` it is the largest outgoing transfer of the day, and for
        the two kinds on one entity that of the entity which uses most
Cost    of the use of all caps: one look at the transfers that landed in 24 hours
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from clearhold.features.core.entries.actions import ActionType, CapKind, CapVersion
from clearhold.features.core.instants import DAY_US, HOURS_24, datetime_of, month_of_day
from clearhold.features.core.money import ACH_TYPES, OUTGOING_CLASSES, RAIL_CLASSES, USD, money, originates_debit
from clearhold.features.core.vocabulary import Direction, Reason
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.parties import Actor
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import UNPRICED

_OUTGOING: Final = Direction.OUTGOING.value
OR_MORE: Final = " or more (its US dollars are not stated)"
OF_ONE_ENTITY: Final = frozenset({CapKind.ENTITY_DAILY, CapKind.ENTITY_VELOCITY_24H})
_DEBITS: Final = frozenset({CapKind.ACH_DEBIT_DAILY, CapKind.ACH_DEBIT_MONTHLY})


class CappedTransfer(NamedTuple):
    """A transfer as caps see it. ``cents`` are whole; ``is_least`` says that they are a minimum (``whole_cents``)."""

    rail: str
    direction: str
    ach_type: str | None
    cents: int
    is_least: bool
    actor: Actor | None


class CapCrossing(NamedTuple):
    """A cap crossed. ``observed`` is over it, in ``transfers`` transfers, in a window that ends at ``at``.

    ``is_least`` says that the transfer's US cents are not known, so that it may be more. ``after`` and ``until`` are
    the ends of the period that has one alert.
    """

    kind: CapKind
    cap: int
    version: str
    observed: int
    transfers: int
    at: int
    after: int
    until: int
    actor_id: str | None  # for the kinds of cap on one entity
    is_least: bool = False


class _Measure(NamedTuple):
    transfers: int
    value: int
    is_least: bool = False


def crossed_by_proposed(program: ProgramState, transfer: CappedTransfer, at: int) -> Iterator[CapCrossing]:
    """The caps that a transfer would cross if it landed ``at`` that instant."""
    for version in program.caps:
        if not _limits(version.kind, transfer):
            continue
        before = _measured(program, version.kind, transfer.actor, at)
        own = 1 if version.kind is CapKind.ENTITY_VELOCITY_24H else transfer.cents
        measure = _Measure(before.transfers + 1, before.value + own, is_least=transfer.is_least)
        yield from _crossing(version, transfer.actor, measure, at, at)


def crossed_by_landed(program: ProgramState, stored: StoredTransfer, *, now: int) -> Iterator[CapCrossing]:
    """The caps that a transfer crosses, already included in the windows; ``now`` is the time of the log entry."""
    record = stored.record
    if not record.moved:
        return
    currency = program.strings.text(record.currency)
    cents = whole_cents(record.amount, currency, stored.cents())
    least = stored.cents() is None and currency != USD
    transfer = CappedTransfer(*RAIL_CLASSES[record.class_id], ACH_TYPES[record.ach_type], cents, least, stored.actor)
    uncounted = cents - (stored.cents() or 0)  # the part of the amount that the windows lack
    for version in program.caps:
        kind = version.kind
        if not _limits(kind, transfer):
            continue
        if kind is CapKind.PER_TRANSACTION:
            yield from _crossing(version, stored.actor, _Measure(1, cents, least), record.at, record.at)
        elif kind is CapKind.ENTITY_VELOCITY_24H:
            yield from _crossed_velocity(version, stored, now)
        else:
            then, whole = _measured(program, kind, stored.actor, record.at), _whole(program, kind, stored, now)
            count, value, _ = max(then, whole, key=lambda measure: measure.value)
            ends_at = record.at if value == then.value else min(now, period_of(kind, record.at)[1] - 1)
            yield from _crossing(version, stored.actor, _Measure(count, value + uncounted, least), record.at, ends_at)


def whole_cents(amount: int, currency: str | None, counted_cents: int | None) -> int:
    """US cents, with the part that the windows lack; an unknown amount is a cent, which crosses only a used-up cap."""
    if currency is None or currency == USD:
        return amount
    return min(amount, 1) if counted_cents is None else counted_cents


def period_of(kind: CapKind, at: int) -> tuple[int, int]:
    """The period around an instant, as [start, end); for the last two kinds the instant is its middle."""
    if kind is CapKind.PER_TRANSACTION:
        return at, at + 1
    if kind is CapKind.ENTITY_VELOCITY_24H:
        return at + 1 - HOURS_24, at + HOURS_24
    if kind is CapKind.ACH_DEBIT_MONTHLY:
        return month_of_day(at // DAY_US)
    start = at - at % DAY_US
    return start, start + DAY_US


def reason_of(crossing: CapCrossing) -> Reason:
    """The reason of a crossed cap: it is hard and adds no points."""
    name = f"limit:{crossing.kind.value}"
    return Reason(id=name, signal=name, weight=0, hard=True, sentence=sentence_of(crossing))


def sentence_of(crossing: CapCrossing) -> str:
    """The crossing in one sentence, the same before the transfer and after it."""
    of_day, count = datetime_of(crossing.at).strftime("%Y-%m-%d"), crossing.transfers
    is_count = crossing.kind is CapKind.ENTITY_VELOCITY_24H
    return _SENTENCES[crossing.kind].format(
        day=of_day,
        month=of_day[:7],
        actor=crossing.actor_id,
        cents=f"{money(crossing.observed)}{OR_MORE if crossing.is_least else ''}",
        transfers="1 transfer" if count == 1 else f"{count} transfers",
        cap=f"over the program's cap of {crossing.cap if is_count else money(crossing.cap)} ({crossing.version})",
    )


_SENTENCES: Final = {
    CapKind.ACH_DEBIT_DAILY: "ACH debits of {day} (UTC) come to {cents} in {transfers}, {cap}.",
    CapKind.ACH_DEBIT_MONTHLY: "ACH debits of {month} (UTC) come to {cents} in {transfers}, {cap}.",
    CapKind.PER_TRANSACTION: "One outgoing transfer of {cents}, {cap}.",
    CapKind.ENTITY_DAILY: "Outgoing transfers of {actor} on {day} (UTC) come to {cents} in {transfers}, {cap}.",
    CapKind.ENTITY_VELOCITY_24H: "{transfers} of {actor} in 24 hours, {cap}.",
}


def _limits(kind: CapKind, transfer: CappedTransfer) -> bool:
    """Whether a kind of cap limits such a transfer."""
    if kind is CapKind.ENTITY_VELOCITY_24H:
        return transfer.actor is not None
    if kind in _DEBITS:
        return originates_debit(transfer.rail, transfer.direction, transfer.ach_type)
    return transfer.direction == _OUTGOING and (kind is CapKind.PER_TRANSACTION or transfer.actor is not None)


def _crossing(
    version: CapVersion, actor: Actor | None, measure: _Measure, at: int, ends_at: int
) -> Iterator[CapCrossing]:
    kind, cap = version.kind, version.cap
    if cap is None or measure.value <= cap:
        return
    start, end = period_of(kind, at)
    actor_id = actor.id if actor is not None and kind in OF_ONE_ENTITY else None
    is_least = measure.is_least and kind is not CapKind.ENTITY_VELOCITY_24H
    yield CapCrossing(
        kind, cap, version.version, measure.value, measure.transfers, ends_at, start - 1, end, actor_id, is_least
    )


def _measured(program: ProgramState, kind: CapKind, actor: Actor | None, at: int) -> _Measure:
    """The sum that a kind of cap limits in the window that ends at an instant, as known then."""
    if kind is CapKind.PER_TRANSACTION:
        return _Measure(0, 0)
    after = period_of(kind, at)[0] - 1
    if kind in _DEBITS:
        return _Measure(*program.originated.measure(after, at))
    if actor is None:
        return _Measure(0, 0)
    if kind is CapKind.ENTITY_DAILY:
        return _Measure(*actor.outgoing(after, at))
    count = actor.amounts.count(after, at)
    return _Measure(count, count)


def _whole(program: ProgramState, kind: CapKind, stored: StoredTransfer, now: int) -> _Measure:
    """The same over the transfer's whole day or month, as known now."""
    start, end = period_of(kind, stored.record.at)
    upto = min(now, end - 1)
    if kind in _DEBITS:
        return _Measure(*program.originated.measure_now(start - 1, upto))
    return _Measure(0, 0) if stored.actor is None else _Measure(*stored.actor.outgoing(start - 1, upto, now=True))


def _crossed_velocity(version: CapVersion, stored: StoredTransfer, now: int) -> Iterator[CapCrossing]:
    """The 24 hours that end with the transfer, as known then; else the first later 24 hours with it over the cap."""
    actor, at, cap = stored.actor, stored.record.at, version.cap
    if actor is None or cap is None:
        return
    count = actor.amounts.count(at - HOURS_24, at)
    if count > cap:
        yield from _crossing(version, actor, _Measure(count, count), at, at)
        return
    times = actor.amounts.instants()
    for index in range(bisect_right(times, at) - 1, bisect_left(times, min(now + 1, at + HOURS_24))):
        count = index + 1 - bisect_right(times, times[index] - HOURS_24)
        if count > cap:
            yield from _crossing(version, actor, _Measure(count, count), times[index], times[index])
            return


class CapUsage(NamedTuple):
    """The observed use and its number of transfers; None without transfers."""

    observed: int | None
    n: int


UNUSED: Final = CapUsage(None, 0)
_OUTGOING_NUMBERS: Final = sorted(OUTGOING_CLASSES)


def cap_usage(program: ProgramState, now: int, *, entity_id: str | None = None) -> Mapping[CapKind, CapUsage]:
    """The use of every kind of cap, whether one is in force or not. Of caps on one entity it is that of this entity
    or owner of this account, else of the one that uses most.
    """
    moved = program.transfers.moved_in_a_day(now)
    sent = np.isin(moved.class_id, _OUTGOING_NUMBERS) & (moved.at >= now - now % DAY_US) & (moved.cents != UNPRICED)
    actors, cents = moved.actor[sent], moved.cents[sent]
    return {
        CapKind.ACH_DEBIT_DAILY: _debits(program, CapKind.ACH_DEBIT_DAILY, now),
        CapKind.ACH_DEBIT_MONTHLY: _debits(program, CapKind.ACH_DEBIT_MONTHLY, now),
        CapKind.PER_TRANSACTION: CapUsage(int(cents.max()), len(cents)) if len(cents) else UNUSED,
        CapKind.ENTITY_DAILY: _of_one_entity(program, entity_id, actors, cents),
        CapKind.ENTITY_VELOCITY_24H: _of_one_entity(program, entity_id, moved.actor, np.ones_like(moved.cents)),
    }


def _debits(program: ProgramState, kind: CapKind, now: int) -> CapUsage:
    count, cents = program.originated.measure_now(period_of(kind, now)[0] - 1, now)
    return CapUsage(cents, count) if count else UNUSED


def _of_one_entity(
    program: ProgramState, entity_id: str | None, actors: "np.ndarray[Any, Any]", values: "np.ndarray[Any, Any]"
) -> CapUsage:
    """The sum of the entity and its number of transfers, or the highest of one; an account counts as its owner."""
    if entity_id is None:
        return _most_of_one_entity(program, actors, values)
    actor = program.known_actor(entity_id)
    if actor is None:
        return UNUSED
    own = program.merged.get(actor.index, actor.index)
    numbers = [each for each in np.unique(actors) if program.merged.get(int(each), int(each)) == own]
    places = np.isin(actors, numbers)
    return CapUsage(int(values[places].sum()), int(places.sum())) if places.any() else UNUSED


def _most_of_one_entity(
    program: ProgramState, actors: "np.ndarray[Any, Any]", values: "np.ndarray[Any, Any]"
) -> CapUsage:
    known = actors >= 0
    if not known.any():
        return UNUSED
    numbers, places = np.unique(actors[known], return_inverse=True)
    owners = np.array([program.merged.get(int(number), int(number)) for number in numbers])
    _, places = np.unique(owners[places], return_inverse=True)
    sums, counts = np.zeros(places.max() + 1, dtype=np.int64), np.bincount(places)
    np.add.at(sums, places, values[known])
    most = int(sums.argmax())
    return CapUsage(int(sums[most]), int(counts[most]))


class CapUse(msgspec.Struct, frozen=True, kw_only=True):
    """A cap in force with its use now, None without transfers."""

    kind: CapKind
    cap: int
    observed: int | None


def caps_in_use(program: ProgramState, *, at: int) -> tuple[CapUse, ...]:
    """The caps in force with their use. Without a cap no transfer is looked at."""
    usage = cap_usage(program, at) if len(program.caps) else {}
    return tuple(
        CapUse(kind=version.kind, cap=version.cap, observed=usage[version.kind].observed)
        for version in program.caps
        if version.cap is not None
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


def program_limits(program: ProgramState, *, at: int, entity_id: str | None = None) -> ProgramLimits:
    """The caps of a program, their use, and the requested changes."""
    usage = cap_usage(program, at, entity_id=entity_id)
    return ProgramLimits(
        limits=tuple(
            ObservedCap(kind=kind, newest=program.caps.newest(kind), observed=usage[kind].observed, n=usage[kind].n)
            for kind in CapKind
        ),
        pending=program.actions.waiting(ActionType.SET_LIMIT),
        history=tuple(program.caps.history),
    )
