"""The bank's events of one run, collected in any order and sorted into the bank's order; and the events on a transfer
from beginning to end, step by step.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US, SECOND_US, format_instant
from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import Rail
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.parties import (
    FAMILY_OF_RAIL,
    Casting,
    Ending,
    EventFamily,
    Other,
    Party,
    PlannedTransfer,
)

STEP_US: Final = 1_000
"""The least time between two steps with different instants: the bank's times have milliseconds."""

_LATE_CODES: Final = frozenset({"R05", "R07", "R10", "R11"})  # Consumers have 60 days for these.
_LATE_US: Final = 9 * DAY_US


class Step(NamedTuple):
    """An event of a life: its type after the family, the status, the field with the time, and the delay."""

    type: str
    status: str
    field: str
    lag_us: int = 0


def _step(event_type: str, lag_us: int = 0) -> Step:
    """A step whose status and field are named like the last part of its type."""
    state = event_type.rpartition(".")[2]
    return Step(event_type, state.upper(), f"{state}_at", lag_us)


def _small(step: Step) -> Step:
    """The same on a rail whose statuses are in small letters."""
    return step._replace(status=step.status.lower())


def _ach_lives(begun: Step, way: str) -> dict[Ending, tuple[Step, ...]]:
    settled = _step(f"{way}.settled", 18 * HOUR_US)
    unfunded = Step(f"{way}.nsf", "SCHEDULED", "updated_at", 12 * HOUR_US)
    return {
        Ending.GOOD: (begun, settled, _step(f"{way}.completed", 3 * DAY_US)),
        Ending.RETURNED: (begun, settled, _step(f"{way}.returned", 2 * DAY_US)),
        Ending.UNFUNDED: (begun, unfunded, _step(f"{way}.returned", DAY_US)),
    }


_WIRED: Final = _step("incoming_transfer.completed")
_BEGUN: Final = _step("outgoing_transfer.initiated")
_BOOKED: Final = (Step("transfer.completed", "COMPLETED", "created_at"),)
_DEPOSITED: Final = _small(_step("outgoing_debit.initiated"))
_LIVES: Final[Mapping[tuple[EventFamily, bool], Mapping[Ending, tuple[Step, ...]]]] = {
    (EventFamily.ACH, False): _ach_lives(_BEGUN, "outgoing_transfer"),
    (EventFamily.ACH, True): _ach_lives(
        Step("incoming_transfer.scheduled", "SCHEDULED", "created_at"), "incoming_transfer"
    ),
    (EventFamily.WIRE, False): {Ending.GOOD: (_BEGUN, _step("outgoing_transfer.completed", 600 * SECOND_US))},
    (EventFamily.WIRE, True): {Ending.GOOD: (_WIRED,)},
    (EventFamily.SWIFT, False): {
        Ending.GOOD: (
            _BEGUN,
            _step("outgoing_transfer.submitted", 30 * SECOND_US),
            _step("outgoing_transfer.completed", 20 * HOUR_US),
        )
    },
    (EventFamily.SWIFT, True): {
        Ending.GOOD: (_step("incoming_transfer.initiated"), _step("incoming_transfer.completed", 20 * HOUR_US))
    },
    (EventFamily.REALTIME, False): {
        Ending.GOOD: (_small(_BEGUN), _small(_step("outgoing_transfer.completed", 3 * SECOND_US))),
        Ending.REJECTED: (_small(_BEGUN), _small(_step("outgoing_transfer.rejected", 3 * SECOND_US))),
    },
    (EventFamily.REALTIME, True): {Ending.GOOD: (_small(_WIRED),)},
    (EventFamily.BOOK, False): {Ending.GOOD: _BOOKED},
    (EventFamily.BOOK, True): {Ending.GOOD: _BOOKED},
    (EventFamily.CHECK, False): {
        Ending.GOOD: (_small(_step("incoming_debit.issued")), _small(_step("incoming_debit.settled", 5 * DAY_US)))
    },
    (EventFamily.CHECK, True): {  # The names describe the debit: a deposited check is an outgoing debit, and money in.
        Ending.GOOD: (_DEPOSITED, _small(_step("outgoing_debit.settled", 2 * DAY_US))),
        Ending.RETURNED: (_DEPOSITED, _small(_step("outgoing_debit.returned", 4 * DAY_US))),
    },
    (EventFamily.CARD, False): {
        Ending.GOOD: (
            Step("authorization.approved", "PENDING", "created_at"),
            _step("transaction.settled", 30 * HOUR_US),
        ),
        Ending.DECLINED: (Step("authorization.declined", "DECLINED", "created_at"),),
    },
    (EventFamily.CARD, True): {Ending.GOOD: (Step("transaction.refunded", "REFUNDED", "created_at"),)},
}
"""By family, and whether the transfer comes in: an ending that is not listed is good."""


def life_of(transfer: PlannedTransfer) -> tuple[Step, ...]:
    lives = _LIVES[transfer.family, transfer.incoming]
    *before, last = lives.get(transfer.ending, lives[Ending.GOOD])
    is_late = transfer.family is EventFamily.ACH and transfer.ending is Ending.RETURNED and transfer.code in _LATE_CODES
    return (*before, last._replace(lag_us=_LATE_US) if is_late else last)


def reports_of(
    planned: PlannedTransfer, transfer_id: str, instants: Iterable[int]
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The bank's events of the steps, each as time, type and data, for the steps with an instant."""
    times: dict[str, int] = {}
    for step, at in zip(life_of(planned), instants, strict=False):
        times = {"created_at": at, **times, step.field: at}
        data = objects.transfer(planned, transfer_id, status=step.status, times=times)
        yield at, f"{planned.family}.{step.type}", data


KNOWN_FOR_US: Final = 70 * DAY_US
SHOPS: Final = 4
"""Payer and payee who each met four others are no rare pair."""
PAYMENTS_A_LARGE_ONE: Final = 20
"""At one large wire in 21 the 95th percentile of wires stays ordinary after any number of runs."""

_SPANS_US: Final = {True: (29 * DAY_US, 12 * DAY_US), False: (60 * DAY_US, 31 * DAY_US)}
"""When habits begin and end, by whether they are cards: these count as new parties of 30 days at the next payment, and
others must not, since they would be rare first payments themselves.
"""


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
        for number, at in enumerate(self._spread(2 * SHOPS, *_SPANS_US[self._habit is EventFamily.CARD])):
            self._pay(party, self.casting.shop(), self._habit, at, incoming=number % 2 == 1)
        if large_payments:
            suppliers = [self.casting.shop() for _ in range(SHOPS * large_payments)]
            for number, at in enumerate(self._spread(PAYMENTS_A_LARGE_ONE * large_payments, *_SPANS_US[False])):
                self._pay(party, suppliers[number % len(suppliers)], EventFamily.WIRE, at, incoming=False)
        return party

    def usual_cents(self) -> int:
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

    def _spread(self, count: int, begin_us: int, end_us: int) -> Iterator[int]:
        """``count`` instants between two spans before the end, oldest first."""
        for number in range(count):
            yield self.at - begin_us + number * (begin_us - end_us) // count

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
    return f"evnt_{tag}{number:04d}"


def _habit_of(program: Program) -> EventFamily:
    """The rail of a customer's habits: cards, unless the program declares its rails without them."""
    declared = program.declared_rails
    return EventFamily.CARD if Rail.CARD in declared or not declared else FAMILY_OF_RAIL[Rail(declared[0])]
