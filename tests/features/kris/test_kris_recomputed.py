"""On any stream the running counters give what a recomputation over everything gives, also after a restart."""

from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_60
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.kris.measure import measure_kris
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from tests.oracle import random_streams as as_a_bank_sends_them
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.kris_recomputed import Recomputed
from tests.support.random_streams import streams

PROGRAM = "prg_1"


def reserve_of(cents: int) -> list[LogEntry]:
    """A program that names a reserve account, and its balance."""
    declared = a_program(
        program_reserve_account_id="bacc_reserve", declared_monthly_volume_cents="500000", declared_rails=("ach",)
    )
    balances = {"available_balance": cents, "locked_balance": "7"}
    account = bank.an_account(id="bacc_reserve", type="PROGRAM_RESERVE", balances=balances)
    return [
        LogEntry(0, 1, EntryKind.PROGRAM, PROGRAM, T0, msgspec.json.encode(declared)),
        bank.a_bank_entry("account.unfrozen", account, offset=2, program_id=PROGRAM, event_id="evnt_reserve"),
    ]


def reloaded(state: ShardState) -> ShardState:
    return ShardState.loaded(iter(list(state.dump())))


def values_of(program: ProgramState, now: int) -> dict[KriName, tuple[float | None, int]]:
    return {name: (value.value, value.n) for name, value in measure_kris(program, now).items()}


def assert_counted_right(entries: list[LogEntry], restarts: set[int], step: int) -> None:
    state, rows = ShardState(0), list[msgspec.Struct]()
    now = 0
    for place, entry in enumerate(entries):
        state.apply(entry, rows.append)
        now = max(now, entry.appended_at)
        if place in restarts:
            state = reloaded(state)
        if place % step == 0 or place == len(entries) - 1:
            program = state.program(PROGRAM)
            assert values_of(program, now) == Recomputed(program, entries[: place + 1], rows, now).answers()
    for later in (DAY_US, DAYS_30 - 1, DAYS_30, DAYS_60):
        program = state.program(PROGRAM)
        assert values_of(program, now + later) == Recomputed(program, entries, rows, now + later).answers()
    replayed = ShardState(0)
    for entry in entries:
        replayed.apply(entry, rows.append)
    assert values_of(replayed.program(PROGRAM), now + DAYS_60) == values_of(state.program(PROGRAM), now + DAYS_60)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    entries=streams(most=25, least=1),
    reserve=st.integers(-10_000, 100_000).map(reserve_of) | st.just([]),
    restarts=st.sets(st.integers(0, 60), max_size=2),
)
def test_given_any_stream_when_measured_at_any_moment_then_every_indicator_is_the_recomputed_one(
    entries: list[LogEntry], reserve: list[LogEntry], restarts: set[int]
) -> None:
    every = [*reserve, *entries]
    if every:
        assert_counted_right(every, restarts, step=1 + len(every) // 12)


@pytest.mark.parametrize("seed", range(6))
def test_given_a_stream_as_a_bank_sends_it_when_measured_then_every_indicator_is_the_recomputed_one(seed: int) -> None:
    entries = [*reserve_of(2_000_00), *as_a_bank_sends_them.stream_of(Random(seed), 60)]

    assert_counted_right(entries, {len(entries) // 2}, step=1 + len(entries) // 12)
