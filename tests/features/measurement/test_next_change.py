"""As time passes, a band that is looked up or recorded equals that of a full evaluation at the same instant."""

from typing import Final

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import band_of
from clearhold.features.measurement.actor_evaluation import band_of_actor, evaluate_actor, evaluate_counterparty
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from tests.support.random_streams import streams

SLOW_IS_FINE: Final = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
waits = st.lists(
    st.one_of(st.integers(0, 100).map(lambda days: days * DAY_US), st.integers(1, 100 * DAY_US)), max_size=6
)


def assert_bands_hold(program: ProgramState, at: int) -> None:
    for actor in program.actors:
        evaluation = evaluate_actor(program, actor, at)
        band = band_of(None if evaluation is None else evaluation.value)
        assert band_of_actor(program, actor, at) == band, (actor.id, at)


@settings(max_examples=80, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=60, least=10), later=waits)
def test_given_a_random_life_when_time_passes_then_a_band_looked_up_is_the_one_evaluated(
    entries: list[LogEntry], later: list[int]
) -> None:
    state = ShardState(0)
    for entry in entries:
        state.apply(entry, lambda _: None)
        assert_bands_hold(state.program("prg_1"), entry.appended_at)
    for wait in later:
        assert_bands_hold(state.program("prg_1"), entries[-1].appended_at + wait)


@settings(max_examples=80, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=50, least=10), gaps=waits)
def test_given_a_random_life_when_ticks_follow_then_each_records_the_bands_of_its_instant(
    entries: list[LogEntry], gaps: list[int]
) -> None:
    state, rows = ShardState(0), list[msgspec.Struct]()
    for entry in entries:
        state.apply(entry, rows.append)
    program, now = state.program("prg_1"), entries[-1].appended_at
    for number, gap in enumerate(gaps):
        now += gap
        state.apply(LogEntry(0, (10_000 + number) << 20, EntryKind.TICK, "", now, b""), rows.append)
        recorded = {(row.subject_type, row.subject_id): row.band for row in rows if isinstance(row, ScoreRow)}
        for actor in program.actors:
            evaluation = evaluate_actor(program, actor, now)
            if evaluation is not None:
                assert recorded.get(("entity", actor.id), "unscored") == band_of(evaluation.value), (actor.id, gap)
        for party in program.counterparties.all:
            evaluation = evaluate_counterparty(program, party, now)
            if evaluation is not None and evaluation.inputs.shared_entities_30d == 0:
                assert recorded.get(("counterparty", party.id), "unscored") == band_of(evaluation.value), party.id


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=30, least=10), part=st.integers(0, 100))
def test_given_ticks_between_entries_when_the_state_is_loaded_midway_then_the_records_are_the_same_bytes(
    entries: list[LogEntry], part: int
) -> None:
    ticked: list[LogEntry] = []
    for number, entry in enumerate(entries):
        later = entry.appended_at + HOUR_US // 2
        ticked += [entry, LogEntry(0, entry.offset + 1, EntryKind.TICK, "", later, b"")]
        if number % 10 == 9:
            ticked.append(LogEntry(0, entry.offset + 2, EntryKind.TICK, "", later + 20 * DAY_US, b""))
    split = len(ticked) * part // 100
    whole, first, second = list[msgspec.Struct](), list[msgspec.Struct](), list[msgspec.Struct]()
    state, started = ShardState(0), ShardState(0)
    for entry in ticked:
        state.apply(entry, whole.append)
    for entry in ticked[:split]:
        started.apply(entry, first.append)
    loaded = ShardState.loaded(iter(list(started.dump())))
    for entry in ticked[split:]:
        loaded.apply(entry, second.append)

    assert msgspec.json.encode(first + second) == msgspec.json.encode(whole)
