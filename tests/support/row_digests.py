"""Applies the same streams in a process of its own; prints a digest of each one's rows and of the state it ends in.

Run by ``tests/features/test_compiled.py`` once with each build of ``features``.
"""

import gc
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from random import Random
from typing import Final

import msgspec

from bench.stream_events import Traffic
from features.core.build import BUILD
from features.core.in_memory import InMemory
from features.core.log_entry import EntryKind, LogEntry
from features.policy.bodies import Body, ChallengerBody, RulesBody, ScorecardBody
from features.shard.shard import ShardState
from tests.oracle.random_streams import stream_of
from tests.support.clock import T0
from tests.support.policies import policy_entry
from tests.support.rules import a_condition
from tests.support.rules_in_force import an_active_rule
from tests.support.scorecards import a_card

EVENTS: Final = 4_000
STEPS_US: Final = {"ordinary": 300_000_000, "alert-dense": 8_000_000}
RANDOM_STREAMS: Final = 60
RANDOM_ENTRIES: Final = 80
_YEAR_US: Final = 366 * 86_400 * 1_000_000


class Digest(msgspec.Struct, frozen=True):
    """Of one stream, halfway in which the state is dumped and loaded: its rows, and its state, to the byte."""

    stream: str
    rows: dict[str, int]
    rows_sha256: str
    state_sha256: str


class Digests(msgspec.Struct, frozen=True):
    """Of all streams."""

    build: str
    in_memory: dict[str, bool]  # each class of the state's memory: True when garbage collection passes its objects by
    streams: tuple[Digest, ...]


def main() -> None:
    digests = tuple(_digest(name, entries) for name, entries in _streams())
    in_memory = {kind.__name__: not gc.is_tracked(_any(kind)) for kind in _below(InMemory)}
    print(msgspec.json.encode(Digests(BUILD, in_memory, digests)).decode())


def _below(kind: type[InMemory]) -> Iterator[type[InMemory]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _any(kind: type[InMemory]) -> InMemory:
    return kind(*((gc,) * len(kind.__struct_fields__)))  # whose fields do not matter, if only one could be tracked


def _streams() -> Iterator[tuple[str, Iterator[LogEntry]]]:
    for name, step_us in STEPS_US.items():
        yield name, _traffic(step_us)
    for seed in range(RANDOM_STREAMS):
        yield f"bank-shaped {seed}", iter(stream_of(Random(seed), RANDOM_ENTRIES))


def _traffic(step_us: int) -> Iterator[LogEntry]:
    rules = (
        an_active_rule("large", a_condition("amountCents", "between", (1_000_00, 2_000_00))),
        an_active_rule("abroad", a_condition("counterpartyCountry", "not_in", ("US", "DE")), action="log"),
        an_active_rule("counted", a_condition("amountCents", "between", (1_000_00, 2_000_00)), action="log"),
    )
    bodies: dict[str, Body] = {
        "rules-v1": RulesBody(rules=rules),
        "scorecard-v1": ScorecardBody(card=a_card()),
        "challenger-v1": ChallengerBody(version="scorecard-v2", card=a_card(points=25)),
    }
    for version, body in bodies.items():
        yield LogEntry(0, 0, EntryKind.POLICY.value, "prg_1", T0, policy_entry(version, body))
    traffic = Traffic("compiled", entities=100, counterparties=400, start_at=T0, step_us=step_us)
    for offset, event in enumerate(islice(traffic.events(), EVENTS), start=1):
        yield LogEntry(0, offset, EntryKind.BANK.value, "prg_1", T0 + _YEAR_US, event.body)


def _digest(name: str, entries: Iterator[LogEntry]) -> Digest:
    state, rows, counts = ShardState(0), sha256(), dict[str, int]()

    def emit(row: msgspec.Struct) -> None:
        kind = type(row).__name__
        counts[kind] = counts.get(kind, 0) + 1
        rows.update(kind.encode() + msgspec.msgpack.encode(row))

    listed = list(entries)
    for number, entry in enumerate(listed):
        if number == len(listed) // 2:
            state = ShardState.loaded(iter(list(state.dump())))
        state.apply(entry, emit)
    return Digest(name, counts, rows.hexdigest(), sha256(b"".join(state.dump())).hexdigest())


if __name__ == "__main__":
    main()
