"""The bank's reports of transfers. Most arrive once and in order; some arrive twice, or one place late."""

from random import Random
from typing import Any, Final

import msgspec

from clearhold.demo.moves import Move
from clearhold.demo.parties import Other
from clearhold.features.core.instants import SECOND_US, format_instant
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.feed import life_of, reports_of
from clearhold.features.sandbox.parties import EventFamily

TWICE_IN: Final = 60
LATE_IN: Final = 80
LEAST_LAG_US: Final = SECOND_US // 5


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One event for a program's endpoint, with the bytes that are signed."""

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
        """Whether a transfer with the move's counterparty was reported before."""
        return (move.program, move.other.id) in self._known

    def on_file(self, earlier: "Reporter") -> None:
        """Take over the known counterparties of an earlier reporter."""
        self._known |= earlier._known
        self._newcomers += earlier.newcomers()

    def newcomers(self) -> list[tuple[Other, int]]:
        """The new counterparties since the last call, each with its time."""
        newcomers, self._newcomers = self._newcomers, []
        return newcomers

    def report(self, move: Move) -> list[Delivery]:
        """Every event of the move, the first one at the move's own time."""
        self._meet(move)
        self._transfers += 1
        transfer_id = f"{objects.PREFIX_OF[move.family]}_{self._tag}{self._transfers:07d}"
        instants = [
            move.at + max(step.lag_us // self._haste, LEAST_LAG_US * number)
            for number, step in enumerate(life_of(move))
        ]
        deliveries = [
            msgspec.structs.replace(self.event(move.program, kind, data, at), transfer_id=transfer_id, move=move)
            for at, kind, data in reports_of(move, transfer_id, instants)
        ]
        return self._as_they_arrive(deliveries)

    def event(self, program: str, event_type: str, data: dict[str, Any], at: int) -> Delivery:
        self._events += 1
        envelope = {"id": f"evnt_{self._tag}{self._events:08d}", "created_at": format_instant(at), "type": event_type}
        body = msgspec.json.encode({**envelope, "data": data})
        return Delivery(program=program, due_at=at, body=body)

    def _meet(self, move: Move) -> None:
        if move.family not in (EventFamily.CARD, EventFamily.BOOK) and not self.knows(move):
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
