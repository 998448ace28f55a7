"""The bank's events of one run, collected in any order and sorted into the bank's order."""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.core.instants import DAY_US, MINUTE_US, SECOND_US, format_instant
from clearhold.features.core.program import Program
from clearhold.features.core.vocabulary import Rail
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.casting import Casting
from clearhold.features.sandbox.lives import life_of, reports_of
from clearhold.features.sandbox.parties import FAMILY_OF_RAIL, EventFamily, Other, Party, PlannedTransfer

KNOWN_FOR_US: Final = 70 * DAY_US
SHOPS: Final = 4
"""Payer and payee who each met four others are no rare pair."""
PAYMENTS_A_LARGE_ONE: Final = 20
"""At one large wire in 21 the 95th percentile of wires stays ordinary after any number of runs."""

_HABITS_BEGIN_US: Final = 60 * DAY_US
_HABITS_END_US: Final = 31 * DAY_US  # before the 30 days over which a usual pace is taken


class ComposedEvents(NamedTuple):
    """The bodies of events in order, their ids, and the id of their transfer, if they are about one."""

    bodies: tuple[bytes, ...]
    event_ids: tuple[str, ...]
    transfer_id: str | None


class Feed:
    """Everything ends at ``at``; later events are left out."""

    def __init__(self, casting: Casting, at: int, program: Program) -> None:
        self.casting, self.at, self.program = casting, at, program
        self._habit = _habit_of(program)
        self.transfer_id: str | None = None  # of the newest transfer that is more than a habit
        self._events: list[tuple[int, str, dict[str, Any]]] = []

    def add(self, event_type: str, data: dict[str, Any], at: int) -> None:
        self._events.append((at, event_type, data))

    def customer(self, *, large_payments: int = 0) -> Party:
        """A verified person with a known account, who paid four shops and was paid by four others.

        The bank sends nothing when an account is opened; ``account.unfrozen`` is the event that names its owner. The
        habits make the next party one of many, so that only the scenario itself is unusual. Small wires go before
        ``large_payments``, which are wires.
        """
        party = self.casting.customer()
        born = self.at - KNOWN_FOR_US
        self.identity(party, "PENDING", born, created_at=born)
        self.identity(party, "VERIFIED", born + 30 * SECOND_US, created_at=born)
        opened = born + MINUTE_US
        self.add("account.unfrozen", objects.account(party, at=opened), opened)
        for number, at in enumerate(self._spread(2 * SHOPS)):
            self._pay(party, self.casting.shop(), self._habit, at, incoming=number % 2 == 1)
        if large_payments:
            supplier = self.casting.shop()
            for at in self._spread(PAYMENTS_A_LARGE_ONE * large_payments):
                self._pay(party, supplier, EventFamily.WIRE, at, incoming=False)
        return party

    def usual_cents(self) -> int:
        """An unremarkable amount."""
        return self.casting.draw.between(9_000, 11_000)

    def identity(self, party: Party, status: str, at: int, *, created_at: int) -> None:
        """The entity in one state of its verification, and its event."""
        data = objects.entity(party, status=status, created_at=created_at, updated_at=at)
        self.add("identity.created" if status == "PENDING" else f"identity.verification.{status.lower()}", data, at)

    def transfer(self, planned: PlannedTransfer) -> None:
        """All events of a transfer that begins at its own time."""
        self.transfer_id = self._report(planned)

    def concluded(self, planned: PlannedTransfer) -> None:
        """All events of a transfer that ends at its own time."""
        lag_us = life_of(planned)[-1].lag_us
        self.transfer(msgspec.structs.replace(planned, at=planned.at - lag_us))

    def composed(self) -> ComposedEvents:
        """The events, oldest first."""
        return compose_events(self.casting.tag, sorted(self._events, key=lambda event: event[0]), self.transfer_id)

    def _spread(self, count: int) -> Iterator[int]:
        """``count`` instants in the months before, oldest first."""
        for number in range(count):
            yield self.at - _HABITS_BEGIN_US + number * (_HABITS_BEGIN_US - _HABITS_END_US) // count

    def _pay(self, party: Party, other: Other, family: EventFamily, at: int, *, incoming: bool) -> None:
        """A small payment; of cards, an incoming one is a refund."""
        cents = self.usual_cents()
        self._report(PlannedTransfer(at=at, family=family, party=party, other=other, cents=cents, incoming=incoming))

    def _report(self, planned: PlannedTransfer) -> str:
        transfer_id = self.casting.fresh_id(objects.PREFIX_OF[planned.family])
        instants = (planned.at + step.lag_us for step in life_of(planned))
        self._events += reports_of(planned, transfer_id, takewhile(lambda at: at <= self.at, instants))
        return transfer_id


def compose_events(
    tag: str, events: Iterable[tuple[int, str, dict[str, Any]]], transfer_id: str | None
) -> ComposedEvents:
    """The bodies of events, each given as time, type and data, with ids that count up under the tag."""
    bodies, event_ids = [], []
    for number, (at, event_type, data) in enumerate(events, 1):
        event_ids.append(event_id(tag, number))
        envelope = {"id": event_ids[-1], "created_at": format_instant(at), "type": event_type, "data": data}
        bodies.append(msgspec.json.encode(envelope))
    return ComposedEvents(tuple(bodies), tuple(event_ids), transfer_id)


def event_id(tag: str, number: int = 1) -> str:
    """The id of the event of that number under a tag."""
    return f"evnt_{tag}{number:04d}"


def _habit_of(program: Program) -> EventFamily:
    """The rail of a customer's habits: cards, unless the program declares its rails without them."""
    declared = program.declared_rails
    return EventFamily.CARD if Rail.CARD in declared or not declared else FAMILY_OF_RAIL[Rail(declared[0])]
