"""What the bank reports of a transfer from beginning to end, and how the reports arrive.

Most come once and in order; now and then one comes twice, or after the one that follows it.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec

from demo import objects
from demo.cast import Other
from demo.moves import DAY_US, HOUR_US, SECOND_US, Ending, Family, Move

TWICE_IN: Final = 60
LATE_IN: Final = 80
LEAST_LAG_US: Final = SECOND_US // 5

_UNAUTHORIZED_LAG_US: Final = 9 * DAY_US


class Step(msgspec.Struct, frozen=True):
    """An event of a life: its type after the family, the status then, the field that says when, and how much later."""

    type: str
    status: str
    field: str
    lag_us: int = 0


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One event on its way to a program's endpoint, as the bytes that get signed."""

    program: str
    due_at: int
    body: bytes
    transfer_id: str | None = None
    move: Move | None = None


class Reporter:
    """Numbers transfers and events, and writes them down. ``haste`` divides the bank's waiting times."""

    def __init__(self, rng: Random, *, tag: str, haste: int = 1) -> None:
        self._rng = rng
        self._tag = tag
        self._haste = haste
        self._events = 0
        self._transfers = 0
        self._known: set[tuple[str, str]] = set()
        self._newcomers: list[tuple[Other, int]] = []

    def knows(self, move: Move) -> bool:
        """Whether the move's counterparty has been dealt with before."""
        return (move.program, move.other.id) in self._known

    def on_file(self, earlier: "Reporter") -> None:
        """Take over whom an earlier reporter has met."""
        self._known |= earlier._known
        self._newcomers += earlier.newcomers()

    def newcomers(self) -> list[tuple[Other, int]]:
        """The counterparties met since this was last asked, each with the time."""
        newcomers, self._newcomers = self._newcomers, []
        return newcomers

    def report(self, move: Move) -> list[Delivery]:
        """Every event of the move, the first one at the move's own time."""
        self._meet(move)
        self._transfers += 1
        transfer_id = f"{objects.PREFIX_OF[move.family]}_{self._tag}{self._transfers:07d}"
        times = {"created_at": move.at}
        at = move.at
        deliveries: list[Delivery] = []
        for step in life_of(move):
            if step.lag_us:
                at = move.at + max(step.lag_us // self._haste, LEAST_LAG_US * len(deliveries))
            times = {**times, step.field: at}
            data = objects.transfer(move, transfer_id, status=step.status, times=times)
            told = self.event(move.program, f"{move.family}.{step.type}", data, at)
            deliveries.append(msgspec.structs.replace(told, transfer_id=transfer_id, move=move))
        return self._as_they_arrive(deliveries)

    def event(self, program: str, event_type: str, data: dict[str, Any], at: int) -> Delivery:
        self._events += 1
        envelope = {"id": f"evnt_{self._tag}{self._events:08d}", "created_at": objects.stamp(at), "type": event_type}
        body = msgspec.json.encode({**envelope, "data": data})
        return Delivery(program=program, due_at=at, body=body)

    def _meet(self, move: Move) -> None:
        if move.family not in (Family.CARD, Family.BOOK) and not self.knows(move):
            self._known.add((move.program, move.other.id))
            self._newcomers.append((move.other, move.at))

    def _as_they_arrive(self, deliveries: list[Delivery]) -> list[Delivery]:
        arriving = list(deliveries)
        if len(deliveries) > 1 and self._rng.randrange(LATE_IN) == 0:
            place = self._rng.randrange(len(deliveries) - 1)
            late_at = deliveries[place + 1].due_at + LEAST_LAG_US
            arriving[place] = msgspec.structs.replace(deliveries[place], due_at=late_at)
        if self._rng.randrange(TWICE_IN) == 0:
            again = self._rng.choice(deliveries)
            arriving.append(msgspec.structs.replace(again, due_at=again.due_at + 60 * SECOND_US // self._haste))
        return arriving


def life_of(move: Move) -> tuple[Step, ...]:
    """The steps of a move: created first, then how it ends."""
    return _LIFE_OF[move.family](move)


def _ach_life(move: Move) -> tuple[Step, ...]:
    way = "incoming_transfer" if move.incoming else "outgoing_transfer"
    begun = (
        Step(f"{way}.scheduled", "SCHEDULED", "created_at")
        if move.incoming
        else Step(f"{way}.initiated", "INITIATED", "initiated_at")
    )
    settled = Step(f"{way}.settled", "SETTLED", "settled_at", 18 * HOUR_US)
    if move.ending is Ending.RETURNED:
        lag = _UNAUTHORIZED_LAG_US if move.code in ("R07", "R10") else 2 * DAY_US
        return begun, settled, Step(f"{way}.returned", "RETURNED", "returned_at", lag)
    return begun, settled, Step(f"{way}.completed", "COMPLETED", "completed_at", 3 * DAY_US)


def _wire_life(move: Move) -> tuple[Step, ...]:
    if move.incoming:
        return (Step("incoming_transfer.completed", "COMPLETED", "completed_at"),)
    return (
        Step("outgoing_transfer.initiated", "INITIATED", "initiated_at"),
        Step("outgoing_transfer.completed", "COMPLETED", "completed_at", 600 * SECOND_US),
    )


def _realtime_life(move: Move) -> tuple[Step, ...]:
    if move.incoming:
        return (Step("incoming_transfer.completed", "completed", "completed_at"),)
    begun = Step("outgoing_transfer.initiated", "initiated", "initiated_at")
    if move.ending is Ending.REJECTED:
        return begun, Step("outgoing_transfer.rejected", "rejected", "rejected_at", 3 * SECOND_US)
    return begun, Step("outgoing_transfer.completed", "completed", "completed_at", 3 * SECOND_US)


def _check_life(move: Move) -> tuple[Step, ...]:
    if move.incoming:  # The names describe the debit: a deposited check is an outgoing debit, and money in.
        begun = Step("outgoing_debit.initiated", "initiated", "initiated_at")
        if move.ending is Ending.RETURNED:
            return begun, Step("outgoing_debit.returned", "returned", "returned_at", 4 * DAY_US)
        return begun, Step("outgoing_debit.settled", "settled", "settled_at", 2 * DAY_US)
    return (
        Step("incoming_debit.issued", "issued", "issued_at"),
        Step("incoming_debit.settled", "settled", "settled_at", 5 * DAY_US),
    )


def _swift_life(_move: Move) -> tuple[Step, ...]:
    return (
        Step("outgoing_transfer.initiated", "INITIATED", "initiated_at"),
        Step("outgoing_transfer.submitted", "SUBMITTED", "submitted_at", 30 * SECOND_US),
        Step("outgoing_transfer.completed", "COMPLETED", "completed_at", 20 * HOUR_US),
    )


def _book_life(_move: Move) -> tuple[Step, ...]:
    return (Step("transfer.completed", "COMPLETED", "created_at"),)


def _card_life(move: Move) -> tuple[Step, ...]:
    if move.ending is Ending.DECLINED:
        return (Step("authorization.declined", "DECLINED", "created_at"),)
    return (
        Step("authorization.approved", "PENDING", "created_at"),
        Step("transaction.settled", "SETTLED", "settled_at", 30 * HOUR_US),
    )


_LIFE_OF: Final[dict[Family, Callable[[Move], tuple[Step, ...]]]] = {
    Family.ACH: _ach_life,
    Family.WIRE: _wire_life,
    Family.SWIFT: _swift_life,
    Family.REALTIME: _realtime_life,
    Family.BOOK: _book_life,
    Family.CHECK: _check_life,
    Family.CARD: _card_life,
}
