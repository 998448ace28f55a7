"""Does an event at a hub of 100,000 parties cost more than one at a hub of a thousand, or than an ordinary one?

One program has a counterparty that many entities have paid, an entity that has paid many counterparties, and
ordinary entities with a few payees each. All of it lies within 90 days. Events of each kind come in short turns in the
same run, with all their rows, and their CPU times are compared; between the sizes the state grows without rows.

Unit    microseconds of processor time an event
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Final

import msgspec

from bench.harness import Figure, Promise, Run
from bench.stream_events import YEAR_START, ach_payment
from clearhold.features.core.log_entry import EntryKind, LogEntry, no_rows
from clearhold.features.shard.shard import ShardState
from clearhold.flows.scorer.scoring import GC_THRESHOLDS

SMALL: Final = 1_000
TIMES_SMALL: Final = Promise(1.15)
ORDINARY_ENTITIES: Final = 1_000
PAYEES: Final = 4
WINDOWS: Final = 7
QUICK_WINDOWS: Final = 3
TURN_EVENTS: Final = 200
_STEP_US: Final = 20_000_000  # 300,000 transfers in 70 days
_APPENDED_AT: Final = 1_900_000_000_000_000


class Hubs:
    """The program's state, and the next payer and payee. The same numbers come for the same calls."""

    def __init__(self) -> None:
        self.state = ShardState(0)
        self.size = 0
        self._random = Random(0)
        self._numbers, self._new = count(1), count()

    def grow(self, size: int, done: Callable[[int], None]) -> None:
        """Continue until each hub has ``size`` parties; for each of them an ordinary entity pays too."""
        while self.size < size:
            self._replay(f"e{self.size}", "hub")
            self._replay("hub", f"c{self.size}")
            self._replay(*self.ordinary())
            self.size += 1
            done(1)

    def ordinary(self) -> tuple[str, str]:
        entity = self._random.randrange(ORDINARY_ENTITIES)
        return f"o{entity}", f"p{entity * PAYEES + self._random.randrange(PAYEES)}"

    def ordinary_with_new_payee(self) -> tuple[str, str]:
        return f"o{self._random.randrange(ORDINARY_ENTITIES)}", f"new{next(self._new)}"

    def known_payer(self) -> tuple[str, str]:
        return f"e{self._random.randrange(self.size)}", "hub"

    def new_payer(self) -> tuple[str, str]:
        return f"new{next(self._new)}", "hub"

    def known_payee(self) -> tuple[str, str]:
        return "hub", f"c{self._random.randrange(self.size)}"

    def new_payee(self) -> tuple[str, str]:
        return "hub", f"new{next(self._new)}"

    def cost_us(self, pair: Callable[[], tuple[str, str]]) -> float:
        """Microseconds of an event, the mean of a turn."""
        entries = [self._entry(*pair()) for _ in range(TURN_EVENTS)]
        rows: list[msgspec.Struct] = []
        emit, apply = rows.append, self.state.apply
        began = time.thread_time()
        for entry in entries:
            apply(entry, emit)
        return (time.thread_time() - began) / TURN_EVENTS * 1e6

    def _replay(self, entity: str, counterparty: str) -> None:
        self.state.apply(self._entry(entity, counterparty), no_rows)

    def _entry(self, entity: str, counterparty: str) -> LogEntry:
        number = next(self._numbers)
        body = ach_payment(
            number,
            entity=entity,
            counterparty=counterparty,
            cents=int(self._random.lognormvariate(10, 0.3)) + 1,
            at=YEAR_START + number * _STEP_US,
        )
        return LogEntry(0, number, EntryKind.BANK.value, "program-1", _APPENDED_AT, body)


def run(run: Run) -> Iterator[Figure]:
    gc.set_threshold(*GC_THRESHOLDS)
    hubs, size = Hubs(), run.size(100_000, 4_000)
    kinds: dict[str, Callable[[], tuple[str, str]]] = {
        "ordinary": hubs.ordinary,
        "ordinary, a new payee": hubs.ordinary_with_new_payee,
        "hub counterparty, a known payer": hubs.known_payer,
        "hub counterparty, a new payer": hubs.new_payer,
        "hub entity, a known payee": hubs.known_payee,
        "hub entity, a new payee": hubs.new_payee,
    }
    costs = []
    for parties in (SMALL, size):
        with run.counting(f"growing to hubs of {parties:,}", parties - hubs.size) as done:
            hubs.grow(parties, done)
        gc.collect()
        gc.freeze()
        costs.append(_costs(hubs, kinds, run.size(WINDOWS, QUICK_WINDOWS)))
    small, large = costs
    for name in kinds:
        reference = "ordinary, a new payee" if "new" in name else "ordinary"
        grown, slower = large[name] / small[name], large[reference] / small[reference]
        yield Figure(
            name=f"{name}, at {size:,}",
            value=grown / slower,
            unit=f"times {SMALL:,}'s",
            promise=None if name == reference else TIMES_SMALL,
            ratio=large[name] / large[reference],
            beside=f"{large[name]:.0f} µs, at {SMALL:,} {small[name]:.0f} µs; ordinary {large[reference]:.0f} µs",
        )


def _costs(hubs: Hubs, kinds: dict[str, Callable[[], tuple[str, str]]], windows: int) -> dict[str, float]:
    """The median of several turns of each kind, one kind after the other; the first round warms up."""
    turns: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(windows + 1):
        for name, pair in kinds.items():
            turns[name].append(hubs.cost_us(pair))
    return {name: statistics.median(costs[1:]) for name, costs in turns.items()}
