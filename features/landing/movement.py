"""What a transfer puts into the windows of its program, its actor, its counterparty and the graph."""

import msgspec

from features.catalogue.thresholds import structuring_zones
from features.state.parties import Actor, Counterparty, series_of_party, times_of, zone_of
from features.state.program import ProgramState
from features.windows.edges import NOBODY
from features.windows.series_kinds import SeriesByKind, SeriesKind, enter, leave


class Movement(msgspec.Struct, frozen=True, gc=False):
    """A transfer's contribution; two equal ones leave the windows as they are."""

    row: int
    actor: Actor | None
    counterparty: Counterparty | None
    source: int
    target: int
    cents: int
    at: int
    class_id: int
    ach_debit: bool
    originated: bool  # an ACH debit that the program sent
    card: bool
    kinds: tuple[SeriesKind, ...]


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """A card transfer, whether it moved money or not; ``card`` is whose attempts it is one of."""

    card: int
    at: int
    kinds: tuple[SeriesKind, ...]


def move(program: ProgramState, before: Movement | None, after: Movement | None, *, known_at: int | None) -> None:
    """Replace one contribution by another; ``known_at`` is None when the transfer is seen for the first time."""
    if before is not None and known_at is not None:
        _take_out(program, before, after, known_at=known_at)
    if after is not None:
        _put_in(program, before, after, known_at=known_at)


def attempt(program: ProgramState, before: Attempt | None, after: Attempt | None, *, known_at: int | None) -> None:
    """The same for what a card transfer adds to its card and its program."""
    if before is not None and known_at is not None:
        for series_by_kind in _attempted(program, before):
            for kind in before.kinds:
                leave(series_by_kind, kind, before.at, 0, known_at=known_at)
    if after is not None:
        for series_by_kind in _attempted(program, after):
            for kind in after.kinds:
                enter(series_by_kind, kind, after.at, 0, known_at=known_at)


def _attempted(program: ProgramState, attempted: Attempt) -> tuple[SeriesByKind, ...]:
    if attempted.card == NOBODY:
        return (program.series_by_kind,)
    return program.series_by_kind, program.cards.setdefault(attempted.card, {})


def _put_in(program: ProgramState, before: Movement | None, after: Movement, *, known_at: int | None) -> None:
    at, cents = after.at, after.cents
    if before is None or before.cents != cents:
        program.baseline.add(at, cents, after.class_id, known_at=known_at)
    if after.originated and (before is None or not before.originated):
        program.originated.add(at, known_at=known_at)
    if before is None or _edge(before) != _edge(after):
        program.graph.add(after.source, after.target, at, after.row, known_at=known_at)
    if SeriesKind.MICRO in after.kinds and (before is None or SeriesKind.MICRO not in before.kinds):
        enter(program.series_by_kind, SeriesKind.MICRO, at, cents, known_at=known_at)
    actor, counterparty = after.actor, after.counterparty
    if actor is not None and _differs(before, after, before.actor if before else None, actor):
        actor.amounts.add_amount(at, cents, known_at=known_at)
        if after.ach_debit:
            times_of(actor, "ach_debits").add(at, known_at=known_at)
        for kind in after.kinds:
            enter(series_of_party(actor), kind, at, cents, known_at=known_at)
        _below(actor, after, known_at=known_at)
    if counterparty is not None and _differs(before, after, before.counterparty if before else None, counterparty):
        counterparty.times.add(at, known_at=known_at)
        _below(counterparty, after, known_at=known_at)


def _below(party: Actor | Counterparty, movement: Movement, *, known_at: int | None) -> None:
    """Enter the amount under the thresholds that it stays just below."""
    for threshold in () if movement.card else structuring_zones(movement.cents):
        zone_of(party, threshold).add(movement.at, known_at=known_at)


def _take_out(program: ProgramState, before: Movement, after: Movement | None, *, known_at: int) -> None:
    at, cents = before.at, before.cents
    if after is None or after.cents != cents:
        program.baseline.remove(at, cents, before.class_id, known_at=known_at)
    if before.originated and (after is None or not after.originated):
        program.originated.remove(at, known_at=known_at)
    if after is None or _edge(before) != _edge(after):
        program.graph.remove(before.source, before.target, at, before.row, known_at=known_at)
    if SeriesKind.MICRO in before.kinds and (after is None or SeriesKind.MICRO not in after.kinds):
        leave(program.series_by_kind, SeriesKind.MICRO, at, cents, known_at=known_at)
    actor, counterparty = before.actor, before.counterparty
    if actor is not None and _differs(after, before, after.actor if after else None, actor):
        actor.amounts.remove_amount(at, cents, known_at=known_at)
        if before.ach_debit:
            times_of(actor, "ach_debits").remove(at, known_at=known_at)
        for kind in before.kinds:
            leave(series_of_party(actor), kind, at, cents, known_at=known_at)
        _no_longer_below(actor, before, known_at=known_at)
    if counterparty is not None and _differs(after, before, after.counterparty if after else None, counterparty):
        counterparty.times.remove(at, known_at=known_at)
        _no_longer_below(counterparty, before, known_at=known_at)


def _no_longer_below(party: Actor | Counterparty, movement: Movement, *, known_at: int) -> None:
    for threshold in () if movement.card else structuring_zones(movement.cents):
        zone_of(party, threshold).remove(movement.at, known_at=known_at)


def _edge(movement: Movement) -> tuple[int, int, int]:
    """An amount that changes is an edge that changes: an earlier instant must still see the old one."""
    return (movement.source, movement.target, movement.cents)


def _differs(other: Movement | None, this: Movement, others_party: object, party: object) -> bool:
    """The party's windows need a change: another party, or the same one with another amount or type."""
    return other is None or others_party is not party or (other.cents, other.ach_debit) != (this.cents, this.ach_debit)
