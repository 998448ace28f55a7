"""What a transfer that moved money puts into the windows of its program, its actor and its counterparty."""

import msgspec

from features.state.parties import Actor, Counterparty, times_of, zone_of
from features.state.program import ProgramState
from features.thresholds import structuring_zones


class Movement(msgspec.Struct, frozen=True, gc=False):
    """A transfer's contribution; two equal ones leave the windows as they are."""

    actor: Actor | None
    counterparty: Counterparty | None
    cents: int
    at: int
    class_id: int
    ach_debit: bool
    originated: bool  # an ACH debit that the program sent
    card: bool


def move(program: ProgramState, before: Movement | None, after: Movement | None, *, known_at: int | None) -> None:
    """Replace one contribution by another; ``known_at`` is None when the transfer is seen for the first time."""
    if before is not None and known_at is not None:
        _take_out(program, before, after, known_at=known_at)
    if after is not None:
        _put_in(program, before, after, known_at=known_at)


def _put_in(program: ProgramState, before: Movement | None, after: Movement, *, known_at: int | None) -> None:
    at, cents = after.at, after.cents
    zones = () if after.card else structuring_zones(cents)
    if before is None or before.cents != cents:
        program.baseline.add(at, cents, after.class_id, known_at=known_at)
    if after.originated and (before is None or not before.originated):
        program.originated.add(at, known_at=known_at)
    actor, counterparty = after.actor, after.counterparty
    if actor is not None and _differs(before, after, before.actor if before else None, actor):
        actor.amounts.add_amount(at, cents, known_at=known_at)
        if after.ach_debit:
            times_of(actor, "ach_debits").add(at, known_at=known_at)
        for threshold in zones:
            zone_of(actor, threshold).add(at, known_at=known_at)
    if counterparty is not None and _differs(before, after, before.counterparty if before else None, counterparty):
        counterparty.times.add(at, known_at=known_at)
        for threshold in zones:
            zone_of(counterparty, threshold).add(at, known_at=known_at)


def _take_out(program: ProgramState, before: Movement, after: Movement | None, *, known_at: int) -> None:
    at, cents = before.at, before.cents
    zones = () if before.card else structuring_zones(cents)
    if after is None or after.cents != cents:
        program.baseline.remove(at, cents, before.class_id, known_at=known_at)
    if before.originated and (after is None or not after.originated):
        program.originated.remove(at, known_at=known_at)
    actor, counterparty = before.actor, before.counterparty
    if actor is not None and _differs(after, before, after.actor if after else None, actor):
        actor.amounts.remove_amount(at, cents, known_at=known_at)
        if before.ach_debit:
            times_of(actor, "ach_debits").remove(at, known_at=known_at)
        for threshold in zones:
            zone_of(actor, threshold).remove(at, known_at=known_at)
    if counterparty is not None and _differs(after, before, after.counterparty if after else None, counterparty):
        counterparty.times.remove(at, known_at=known_at)
        for threshold in zones:
            zone_of(counterparty, threshold).remove(at, known_at=known_at)


def _differs(other: Movement | None, this: Movement, others_party: object, party: object) -> bool:
    """The party's windows need a change: another party, or the same one with another amount or type."""
    return other is None or others_party is not party or (other.cents, other.ach_debit) != (this.cents, this.ach_debit)
